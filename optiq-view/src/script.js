// What the scripts of pages share: the data, elements, numbers in words, colours, the tooltip.

const data = JSON.parse(document.getElementById("data").textContent);
const namespace = document.getElementById("seed").namespaceURI;
const dark = window.matchMedia("(prefers-color-scheme: dark)");

// --- elements and numbers

function fillElement(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children);
  return node;
}
function el(tag, attributes, ...children) {
  return fillElement(document.createElement(tag), attributes, children);
}
function svg(tag, attributes, ...children) {
  return fillElement(document.createElementNS(namespace, tag), attributes, children);
}
function number(n) {
  return n.toLocaleString("en-US");
}
function digits(value) {
  return value === 0 ? "0" : value.toFixed(value >= 100 ? 0 : value >= 10 ? 1 : 2);
}
function unitOf(value) {
  const units = data.binary_units
    ? [["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10], ["B", 1]]
    : [["TB", 1e12], ["GB", 1e9], ["MB", 1e6], ["kB", 1e3], ["B", 1]];
  const [name, factor] = units.find(([, factor]) => value >= factor) || units[4];
  return { name, bytes: factor };
}
function bytes(value) {
  const unit = unitOf(value);
  return unit.bytes === 1 ? `${Math.round(value)} B` : `${(value / unit.bytes).toFixed(2)} ${unit.name}`;
}
function seconds(value) {
  if (value === 0) return "0 s";
  const [factor, name] = value < 1e-3 ? [1e6, "\u00b5s"] : value < 1 ? [1e3, "ms"] : [1, "s"];
  return `${digits(value * factor)} ${name}`;
}
function rate(value) {
  const [factor, name] = [[1e9, "GB/s"], [1e6, "MB/s"], [1e3, "kB/s"], [1, "B/s"]].find(([f]) => value >= f) || [1, "B/s"];
  return `${Number((value / factor).toPrecision(4))} ${name}`;
}
function percent(share) {
  return `${(share * 100).toFixed(1)} %`;
}
function count(n, what) {
  return `${number(n)} ${what}${n === 1 ? "" : "s"}`;
}

// --- colours: viridis, turned so that heavy loads stand out from the paper

function rgb(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}
function colourAt(share) {
  const printing = window.matchMedia("print").matches;
  const place = (dark.matches && !printing ? 0.25 + 0.75 * share : 0.92 * (1 - share)) * (VIRIDIS.length - 1);
  const low = Math.min(VIRIDIS.length - 2, Math.floor(place));
  const [a, b] = [rgb(VIRIDIS[low]), rgb(VIRIDIS[low + 1])];
  return a.map((from, i) => Math.round(from + (b[i] - from) * (place - low)));
}
function colour(share) {
  return `rgb(${colourAt(share).join(" ")})`;
}

// --- the tooltip

const tip = document.getElementById("tip");

function pointer(event) {
  return new DOMRect(event.clientX, event.clientY, 0, 0);
}
function moveTip(place) {
  if (tip.hidden) return;
  const gap = 14;
  const over = place.right + gap + tip.offsetWidth > window.innerWidth;
  const under = place.bottom + gap + tip.offsetHeight > window.innerHeight;
  tip.style.left = `${Math.max(4, over ? place.left - gap - tip.offsetWidth : place.right + gap)}px`;
  tip.style.top = `${Math.max(4, under ? place.top - gap - tip.offsetHeight : place.bottom + gap)}px`;
}
function showTip(title, head, rows, place) {
  const row = (cells, tag) => el("tr", {}, ...cells.map((cell) => el(tag, {}, cell)));
  const body = rows.map((cells) => row(cells, "td"));
  tip.replaceChildren(el("strong", {}, title), el("table", {}, ...(head.length ? [row(head, "th")] : []), ...body));
  tip.hidden = false;
  moveTip(place);
}

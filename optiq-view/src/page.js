// The page: its data, what all parts of it share, and their assembly.

const capacity = data.unit_capacity_bytes_per_second;

// A plan of the planner "direct" is compared with nothing.
const shown = data.planner === "direct" ? [0] : [0, 1];
const loads = data.loads.map((load, series) => {
  // Bytes per unit link: a link of twice the capacity counts half.
  const unit = load.bytes.map((b, i) => b / data.links.capacity_units[i]);
  return { ...load, unit, worst: unit.reduce((a, b) => Math.max(a, b), 0) };
});
const worstOfAll = Math.max(...shown.map((series) => loads[series].worst));
const sources = new Set(data.sources);
const destinations = new Set(data.destinations);

function roleOf(v) {
  if (sources.has(v)) return destinations.has(v) ? "both" : "source";
  return destinations.has(v) ? "destination" : "idle";
}

// --- elements and numbers

function key(series) {
  return el("i", { class: `key ${series === 0 ? "direct" : "plan"}` });
}
function vertexName(v) {
  const name = data.names[v];
  if (!data.grid_lengths.length || v >= data.hosts) return name;
  const coordinates = [];
  let rest = v;
  for (const length of [...data.grid_lengths].reverse()) {
    coordinates.unshift(rest % length);
    rest = Math.floor(rest / length);
  }
  return `${name} (${coordinates.join(",")})`;
}
function linkName(i) {
  return `${vertexName(data.links.from[i])} \u2192 ${vertexName(data.links.to[i])}`;
}

// --- the scale of colours

// A plan that is many times lighter than direct would be pale all over on a linear scale.
const ROOT = shown.length > 1 && loads[1].worst < 0.3 * loads[0].worst;
/** Where a load lies on the colour scale, 0 to 1. */
function scaled(load) {
  const share = worstOfAll > 0 ? load / worstOfAll : 0;
  return ROOT ? Math.sqrt(share) : share;
}
/** The load at a place of the colour scale. */
function unscaled(place) {
  return worstOfAll * (ROOT ? place * place : place);
}

// --- the tooltip, and the link that is chosen in all panels

let panels = [];

/** `shared` is how many links are in the place that was pointed at. */
function choose(link, place, shared = 1) {
  panels.forEach((p) => p.mark(link));
  if (link === null) {
    tip.hidden = true;
    return;
  }
  const lanes = data.links.lanes[link];
  const each = (cell) => shown.map((series) => cell(loads[series]));
  const rows = [
    ["bytes", ...each((load) => bytes(load.bytes[link]))],
    ["share of its worst link", ...each((load) => percent(load.worst > 0 ? load.unit[link] / load.worst : 0))],
    ["time at capacity", ...each((load) => seconds(load.unit[link] / capacity))],
    ["paths", ...each((load) => number(load.paths[link]))],
  ];
  if (lanes > 1) rows.push(["parallel links", ...each(() => number(lanes))]);
  if (shared > 1) rows.push(["links in this cell; this is the most loaded", ...each(() => number(shared))]);
  showTip(linkName(link), ["", ...each((load) => load.name)], rows, place);
}
function describeVertex(v, place) {
  panels.forEach((p) => p.mark(null));
  const roles = { source: "sends", destination: "receives", both: "sends and receives", idle: "neither sends nor receives" };
  const rows = [[v < data.hosts ? roles[roleOf(v)] : "switch"]];
  if (data.forwarding.includes(v)) rows.push([`forwards in the plan of ${data.planner}`]);
  showTip(vertexName(v), [], rows, place);
}

// --- the parts

function header() {
  const beside = shown.length > 1 ? `${data.planner} beside direct` : "direct";
  document.getElementById("title").textContent = `${data.title}, ${data.demands}: ${beside}`;
  document.getElementById("subtitle").textContent = [count(data.demand_count, "demand"), `${bytes(data.demand_bytes)} in all`,
    count(data.hosts, "host"), `${number(data.links.lanes.reduce((a, b) => a + b, 0))} links one way`,
    `${rate(capacity)} each`].join(" \u00b7 ");
}

function cards() {
  const card = (what, value, more, ...keys) =>
    el("div", { class: "card" }, el("div", { class: "what" }, ...keys, what), el("b", {}, value), el("div", { class: "more" }, more));
  const [direct, plan] = loads;
  const list = [card("worst link, direct routes", bytes(direct.worst), seconds(direct.congestion_seconds), key(0))];
  if (shown.length > 1) {
    const times = plan.worst > 0 ? direct.worst / plan.worst : 1;
    list.push(card(`worst link, ${plan.name}`, bytes(plan.worst),
      `${seconds(plan.congestion_seconds)}, ${digits(times)} times lighter`, key(1)));
  }
  const gap = data.bound_seconds > 0 ? loads[shown.at(-1)].congestion_seconds / data.bound_seconds - 1 : 0;
  list.push(card("bound: no routing is below", bytes(data.bound_seconds * capacity),
    `${seconds(data.bound_seconds)}; ${loads[shown.at(-1)].name} is ${percent(gap)} above it`));
  list.push(card("paths", number(data.paths), `${count(data.forwarders, "host")} ${data.forwarders === 1 ? "forwards" : "forward"}`));
  document.getElementById("cards").replaceChildren(...list);
}

function legend() {
  const stops = Array.from({ length: 11 }, (_, i) => colour(i / 10)).join(", ");
  const tick = (place) => el("span", {}, place > 0 ? bytes(unscaled(place)) : "0", el("br", {}),
    seconds(unscaled(place) / capacity));
  const scale = el("div", { class: "scale" },
    el("div", { class: "bar", style: `background: linear-gradient(to right, ${stops})` }),
    el("div", { class: "ticks" }, tick(0), tick(0.5), tick(1)),
    ...(ROOT ? [el("div", { class: "quiet" }, "square-root scale")] : []));
  const symbol = (...shapes) => svg("svg", { viewBox: "0 0 16 16", "aria-hidden": "true" }, ...shapes);
  const circle = (kind, width, r = 5.5, dash = "") =>
    svg("circle", { class: `node ${kind}`, cx: 8, cy: 8, r, "stroke-width": width, "stroke-dasharray": dash });
  const roles = [el("span", {}, el("i", { class: "idle-key" }), "idle link")];
  if (data.layout) {
    const present = new Set(data.names.slice(0, data.hosts).map((_, v) => roleOf(v)));
    const white = { class: "node", cx: 8, cy: 8, r: 4.6, "stroke-width": 1, "fill-opacity": 0, style: "stroke: var(--paper)" };
    const kinds = [["source", "source", circle("source", 1)], ["destination", "destination", circle("", 2.5)],
      ["both", "source and destination", circle("both", 1, 6.5), svg("circle", white)], ["idle", "neither", circle("idle", 1)]];
    for (const [role, label, ...shapes] of kinds) {
      if (present.has(role)) roles.push(el("span", {}, symbol(...shapes), label));
    }
    if (data.forwarding.length) roles.push(el("span", {}, symbol(circle("", 1, 7, "2.5 2"), circle("idle", 1, 4.5)), "forwards"));
    if (data.names.length > data.hosts) {
      roles.push(el("span", {}, symbol(svg("rect", { class: "node idle", x: 3, y: 3, width: 10, height: 10, rx: 1 })), "switch"));
    }
  }
  document.getElementById("legend").replaceChildren(scale, el("div", { class: "roles" }, ...roles));
  const how = data.layout
    ? "Every link is drawn once for each direction and keeps to its right-hand side; colour and width show its load on one scale "
      + `for both pictures.${data.grid_lengths.length ? " Links that close a ring are stubs, one at each end." : ""}`
    : `One map for each ${data.grid_lengths.length ? "direction of travel (dimensions are A, B, C, ... in the order of the "
      + "specification): a cell is the link that leaves a vertex that way. " : "kind of link: a cell is a link, or several links "
      + "that join the same two parts of the network, coloured as the most loaded of them. "}`
      + `${data.maps.maps.every((map) => map.means) ? "" : `Along columns: ${data.maps.columns_mean}; along rows: ${data.maps.rows_mean}${
        data.grid_lengths.length ? " (the last dimension varies fastest)" : ""}. `}One colour scale for all maps. Click on a map to see it `
      + "as wide as its panel.";
  document.getElementById("reading").textContent = `${how} Bytes are per link of unit capacity: where several links run side by `
    + "side, each carries its part. Point at a link for its numbers, or choose a picture with the tab key and go through its links "
    + "with the arrow keys.";
}

function tables() {
  const table = (series) => {
    const load = loads[series];
    const order = load.unit.map((_, i) => i).filter((i) => load.unit[i] > 0)
      .sort((a, b) => load.unit[b] - load.unit[a] || a - b).slice(0, 8);
    const head = el("tr", {}, ...["link", "bytes per unit link", "time", "share", "paths"].map((h) => el("th", { scope: "col" }, h)));
    const rows = order.map((i) => el("tr", {}, ...[linkName(i), bytes(load.unit[i]), seconds(load.unit[i] / capacity),
      percent(load.unit[i] / load.worst), number(load.paths[i])].map((cell) => el("td", {}, cell))));
    return el("div", { class: "panel scroll" }, el("h3", {}, key(series), load.name), el("table", {}, head, ...rows));
  };
  document.getElementById("tables").replaceChildren(...shown.map(table));
}

function footer() {
  document.getElementById("footer").textContent = `The bound is set by ${data.binding}. Topology ${data.topology}, network `
    + `fingerprint ${data.network_fingerprint}, demands fingerprint ${data.demands_fingerprint}; made by optiq `
    + `${data.optiq_version}. The numbers are in this page's block "data" as JSON.`;
}

function paint() {
  legend();
  panels.forEach((p) => p.paint());
}

header();
cards();
panels = shown.map(panel);
document.getElementById("panels").replaceChildren(...panels.map((p) => p.box));
paint();
tables();
footer();
const target = document.getElementById("histogram");
let drawn = 0;
function fit() {
  const width = Math.max(320, Math.round(target.clientWidth));
  if (width !== drawn) histogram(target, (drawn = width));
}
fit();
// Not at once: drawing changes the height that is being observed.
new ResizeObserver(() => requestAnimationFrame(fit)).observe(target);
dark.addEventListener("change", paint);
window.matchMedia("print").addEventListener("change", paint);
document.addEventListener("scroll", () => choose(null), { passive: true });
document.documentElement.dataset.drawn = "true";

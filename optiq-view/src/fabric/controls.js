// What the page of a fabric does when it is used: frames, moving about, pointing, searching, choosing parts, printing.

const pictures = [];
let pointed = null;
let requested = false;
/** What was done, for those who measure: see the book. */
const counts = { frames: 0, items: 0, itemsMost: 0, calls: 0, callsMost: 0, sheets: 0 };

function request() {
  if (requested) return;
  requested = true;
  requestAnimationFrame(() => {
    requested = false;
    const share = Math.ceil(ITEMS_PER_FRAME / pictures.length);
    let [items, calls] = [0, 0];
    for (const one of pictures) {
      const before = one.sheet;
      items += one.work(share);
      calls += one.show();
      if (one.sheet !== before) counts.sheets += 1;
    }
    Object.assign(counts, { frames: counts.frames + 1, items, itemsMost: Math.max(counts.itemsMost, items), calls,
      callsMost: Math.max(counts.callsMost, calls) });
    const pending = pictures.some((one) => one.next || !one.isCurrent(one.sheet, 0.5));
    document.documentElement.dataset.drawn = pending ? "moving" : "true";
    if (pending) request();
  });
}

// --- moving about

function bound() {
  const { width, height } = pictures[0].size();
  const least = fitted(width, height).scale / 2;
  view.scale = Math.min(400, Math.max(least, view.scale));
  view.x = Math.min(xs.high, Math.max(xs.low, view.x));
  // What is fitted may lie a little beside the middle.
  const beside = height / 4 / view.scale;
  view.y = Math.min(ys.high + beside, Math.max(ys.low - beside, view.y));
  request();
}
function fit() {
  const { width, height } = pictures[0].size();
  Object.assign(view, fitted(width, height));
  request();
}
/** Larger by a factor; what is at `at`, in pixels from the middle of the window, stays there. */
function zoom(factor, at = [0, 0]) {
  const before = view.scale;
  view.scale *= factor;
  bound();
  view.x += at[0] * (1 / before - 1 / view.scale);
  view.y += at[1] * (1 / before - 1 / view.scale);
  bound();
}
function move(dx, dy) {
  view.x += dx / view.scale;
  view.y += dy / view.scale;
  bound();
}
const KEYS = {
  ArrowLeft: () => move(-60, 0), ArrowRight: () => move(60, 0), ArrowUp: () => move(0, -60), ArrowDown: () => move(0, 60),
  "+": () => zoom(1.4), "=": () => zoom(1.4), "-": () => zoom(1 / 1.4), 0: fit, f: fit,
  Escape: () => { mark(null); point(null); },
};

function listen(one, canvas) {
  const at = (event) => {
    const box = canvas.getBoundingClientRect();
    return [event.clientX - box.left - box.width / 2, event.clientY - box.top - box.height / 2];
  };
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const lines = event.deltaMode === 1 ? 16 : 1;
    zoom(Math.exp(-Math.max(-300, Math.min(300, event.deltaY * lines)) / 400), at(event));
  }, { passive: false });
  let from = null;
  canvas.addEventListener("pointerdown", (event) => {
    from = { x: event.clientX, y: event.clientY, moved: 0 };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!from) {
      point(pick(one, at(event)), one, pointer(event));
      return;
    }
    move(from.x - event.clientX, from.y - event.clientY);
    from = { x: event.clientX, y: event.clientY, moved: from.moved + Math.abs(from.x - event.clientX) + Math.abs(from.y - event.clientY) };
    if (from.moved > 3) point(null);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (from && from.moved <= 3) {
      const found = pick(one, at(event));
      mark(found?.vertex ?? null);
      point(found, one, pointer(event));
    }
    from = null;
  });
  canvas.addEventListener("pointercancel", () => { from = null; });
  canvas.addEventListener("pointerleave", () => point(null));
  canvas.addEventListener("dblclick", (event) => zoom(2, at(event)));
  canvas.addEventListener("keydown", (event) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? null : KEYS[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  });
}

// --- pointing

/** The vertex or the end of a link at a place, in pixels from the middle: the nearest within a few pixels. */
function pick(one, [px, py]) {
  const [x, y] = [view.x + px / view.scale, view.y + py / view.scale];
  let [vertex, least] = [null, 9 / view.scale];
  for (let v = 0; v < names.length; v += 1) {
    const distance = Math.hypot(X[v] - x, Y[v] - y);
    if (distance < least) [vertex, least] = [v, distance];
  }
  if (vertex !== null) return { vertex };
  let end = null;
  least = 7 / view.scale;
  for (let e = 0; e < endCount; e += 1) {
    if (!isCableShown[e >> 1]) continue;
    const i = 4 * e;
    const [dx, dy] = [halves[i + 2] - halves[i], halves[i + 3] - halves[i + 1]];
    const along = Math.min(1, Math.max(0, ((x - halves[i]) * dx + (y - halves[i + 1]) * dy) / (dx * dx + dy * dy || 1)));
    const distance = Math.hypot(halves[i] + along * dx - x, halves[i + 1] + along * dy - y);
    if (distance < least) [end, least] = [e, distance];
  }
  return end === null ? null : { end };
}

function point(found, one, place) {
  const same = (found?.vertex === pointed?.vertex && found?.end === pointed?.end) && (found === null) === (pointed === null);
  pointed = found;
  if (!found) tip.hidden = true;
  else if (same && !tip.hidden) moveTip(place);
  else describe(found, one, place);
  if (!same) request();
}

function describe(found, one, place) {
  if (found.vertex !== undefined) {
    const v = found.vertex;
    const rows = [[v < hosts ? "host" : `switch${data.level[v] > 0 ? ` on level ${data.level[v]}` : ""}${
      data.rails > 1 ? `, rail ${data.rail[v] + 1}` : ""}`, ""]];
    for (const { name, sent } of loads) {
      const sum = (ends) => ends.reduce((total, end) => total + sent[end], 0);
      rows.push([`sends, ${name}`, bytes(sum(ofVertex[v]))], [`receives, ${name}`, bytes(sum(ofVertex[v].map(otherEnd)))]);
    }
    showTip(names[v], [], rows, place);
    return;
  }
  // The end that was pointed at first.
  const ends = [found.end, otherEnd(found.end)];
  const way = (end) => `from ${names[vertexAt(end)]}`;
  const rows = [];
  const all = (what, cell) => rows.push([what, ...ends.map(cell)]);
  for (const { name, sent, time } of loads) {
    const behind = loads.length > 1 ? `, ${name}` : "";
    all(`bytes${behind}`, (end) => bytes(sent[end]));
    all(`time at capacity${behind}`, (end) => seconds(time[end]));
    all(`share of the busiest end${behind}`, (end) => percent(worst > 0 ? time[end] / worst : 0));
  }
  all("capacity", (end) => rate(capacityAt[end]));
  if (cables.lanes[found.end >> 1] > 1) all("parallel links", () => number(cables.lanes[found.end >> 1]));
  const makers = data.series[one.series]?.makers;
  if (makers) {
    for (let i = 0; i < makers.most; i += 1) {
      const cell = (end) => {
        const maker = makersOf(makers, end)[i];
        return maker ? `${names[maker[0]]} \u2192 ${names[maker[1]]} ${bytes(maker[2])}` : "";
      };
      if (ends.some((end) => cell(end))) all(i > 0 ? "" : isPart() ? `made by, all ${filter.region === null ? "jobs" : "regions"}` : "made by", cell);
    }
    all("pairs of hosts", (end) => number(makers.pairs[end]));
  }
  showTip(`${names[vertexAt(found.end)]} \u2013 ${names[vertexAt(otherEnd(found.end))]}`, ["", ...ends.map(way)], rows, place);
}
/** The pairs that send most over an end: source, destination, bytes. */
function makersOf(makers, end) {
  const first = makers.first[end];
  return Array.from({ length: makers.first[end + 1] - first }, (_, i) => makers.all.slice(3 * (first + i), 3 * (first + i) + 3));
}

// --- searching

function mark(v) {
  marked = v;
  request();
}
/** What has this name, or begins with it, or has it in it. */
function search(words) {
  const wanted = words.trim().toLowerCase();
  const found = document.getElementById("found");
  if (!wanted) {
    found.textContent = "";
    mark(null);
    return;
  }
  const lower = names.map((name) => name.toLowerCase());
  const tests = [(name) => name === wanted, (name) => name.startsWith(wanted), (name) => name.includes(wanted)];
  const matches = tests.map((test) => lower.map((name, v) => (test(name) ? v : -1)).filter((v) => v >= 0)).find((all) => all.length) ?? [];
  if (!matches.length) {
    found.textContent = "no host or switch has this in its name";
    mark(null);
    return;
  }
  const [v] = matches;
  found.textContent = matches.length > 1 ? `${names[v]}; ${number(matches.length - 1)} more` : names[v];
  Object.assign(view, { x: X[v], y: Y[v], scale: Math.max(view.scale, 14) });
  mark(v);
  bound();
}

// --- the parts of the page

function option(value, words) {
  return el("option", { value }, words);
}
function chooser(label, options, act) {
  const select = el("select", { "aria-label": label }, ...options);
  select.addEventListener("change", () => act(select.value));
  return el("label", {}, `${label} `, select);
}
function controls() {
  const box = document.getElementById("controls");
  const input = el("input", { type: "search", id: "search", placeholder: "host or switch", "aria-label": "Find a host or a switch" });
  input.addEventListener("input", () => search(input.value));
  box.append(el("label", {}, "Find ", input), el("span", { id: "found", role: "status" }));
  const button = (words, label, act) => {
    const made = el("button", { type: "button", "aria-label": label }, words);
    made.addEventListener("click", act);
    return made;
  };
  box.append(el("span", { class: "buttons" }, button("+", "larger", () => zoom(1.6)), button("\u2212", "smaller", () => zoom(1 / 1.6)),
    button("fit", "the whole picture", fit)));
  const part = (change) => {
    Object.assign(filter, change);
    choosePart();
    legend();
    request();
  };
  const jobs = data.series[0]?.jobs ?? [];
  if (jobs.length > 1) {
    box.append(chooser("Job", [option("all", "all"), ...jobs.map(({ name }, i) => option(i, name))],
      (value) => part({ job: value === "all" ? null : Number(value) })));
  }
  const regions = [...new Set(data.series.flatMap((series) => series.regions.map(({ name }) => name)))];
  if (regions.length > 1 || data.regions_left_out) {
    box.append(chooser("Region", [option("all", "all"), ...regions.map((name, i) => option(i, name || "(in no region)"))],
      (value) => part({ region: value === "all" ? null : regions[value] })));
  }
  const pairs = [...new Set(Array.from({ length: cableCount }, (_, cable) => levelPair(cable)))].sort();
  if (pairs.length > 1) {
    const words = (pair) => pair.split("-").map((level) => (level === "0" ? "hosts" : `level ${level}`)).join(" to ");
    box.append(chooser("Links", [option("all", "all"), ...pairs.map((pair) => option(pair, words(pair)))], (level) => part({ level })));
  }
  if (data.rails > 1) {
    box.append(chooser("Rail", [option("all", "all"), ...Array.from({ length: data.rails }, (_, i) => option(i, `${i + 1}`))],
      (rail) => part({ rail })));
  }
}

function legend() {
  const box = document.getElementById("legend");
  if (!loads.length) {
    box.hidden = true;
    return;
  }
  const stops = Array.from({ length: 11 }, (_, i) => colour(i / 10)).join(", ");
  const tick = (share) => el("span", {}, seconds(share * worst));
  box.replaceChildren(el("div", { class: "scale" }, "time at capacity for what is sent at an end",
    el("div", { class: "bar", style: `background: linear-gradient(to right, ${stops})` }),
    el("div", { class: "ticks" }, tick(0), tick(0.5), tick(1))),
  el("div", { class: "roles" }, el("span", {}, el("i", { class: "idle-key" }), "nothing")));
}

function busiest() {
  const box = document.getElementById("busiest");
  if (!box) return;
  const tables = loads.map(({ name, sent, time }) => {
    const order = Array.from({ length: endCount }, (_, end) => end).filter((end) => time[end] > 0)
      .sort((a, b) => time[b] - time[a] || a - b).slice(0, 10);
    const head = el("tr", {}, ...["end of a link", "bytes", "time at capacity"].map((words) => el("th", { scope: "col" }, words)));
    const rows = order.map((end) => el("tr", {}, ...[`${names[vertexAt(end)]} \u2192 ${names[vertexAt(otherEnd(end))]}`, bytes(sent[end]),
      seconds(time[end])].map((words) => el("td", {}, words))));
    return el("div", { class: "panel scroll" }, el("h3", {}, name), el("table", {}, head, ...rows));
  });
  box.replaceChildren(...tables);
}

function start() {
  const box = document.getElementById("pictures");
  const shown = data.series.length ? data.series.map(({ name }) => name) : ["the network"];
  for (const [series, name] of shown.entries()) {
    const canvas = el("canvas", { tabindex: "0", role: "img", "data-picture": series,
      "aria-label": `${name}: drag or use the arrow keys to move, the wheel or + and - to zoom` });
    box.append(el("div", { class: "panel" }, ...(shown.length > 1 ? [el("h3", {}, name)] : []), canvas));
    const one = picture(series, canvas);
    pictures.push(one);
    listen(one, canvas);
  }
  chooseInk();
  choosePart();
  controls();
  legend();
  busiest();
  fit();
  // Not at once: drawing may change sizes that are being observed.
  new ResizeObserver(() => requestAnimationFrame(() => { version += 1; bound(); })).observe(box);
  const repaint = () => { chooseInk(); legend(); request(); };
  dark.addEventListener("change", repaint);
  // Paper waits for no frames: all is drawn at once, as it is seen, in the colours of paper.
  const whole = () => {
    chooseInk();
    legend();
    for (const one of pictures) {
      one.begin(true);
      one.work(Infinity);
      one.show();
    }
  };
  window.addEventListener("beforeprint", whole);
  window.matchMedia("print").addEventListener("change", (event) => (event.matches ? whole() : repaint()));
  window.addEventListener("afterprint", repaint);
  // For those who look at the page with a program: places are in pixels of the window.
  const onPage = (x, y) => {
    const box = pictures[0].canvas.getBoundingClientRect();
    return [(x - view.x) * view.scale + box.left + box.width / 2, (y - view.y) * view.scale + box.top + box.height / 2];
  };
  const placeOf = (name) => onPage(X[names.indexOf(name)], Y[names.indexOf(name)]);
  const placeOfEnd = (from, to, share = 0.5) => {
    const end = ofVertex[names.indexOf(from)].find((e) => names[vertexAt(otherEnd(e))] === to);
    const [x0, y0, x1, y1] = halves.slice(4 * end, 4 * end + 4);
    return onPage(x0 + (x1 - x0) * share, y0 + (y1 - y0) * share);
  };
  window.optiqFabric = { view, counts, move, zoom, fit, placeOf, placeOfEnd };
}

start();

// The page of a fabric: its links on a canvas, each end in the colour of what is sent there.
//
// A picture is drawn once into a sheet that is larger than the window; moving about shows another part of the sheet. A new sheet is
// begun when the window comes near its rim or when sizes change, and is drawn a part in each frame, so that the work of a frame does not
// grow with the network.

/** Links' ends and vertices that are drawn in a frame, at most: a few milliseconds of a processor that draws without help. */
const ITEMS_PER_FRAME = 3000;
/** Items that are drawn at once; the next ones wait for the next frame once a frame has taken as long as this, in milliseconds. */
const ITEMS_AT_ONCE = 100;
const LONGEST_WORK = 6;
/** How far a sheet reaches beyond the window, in parts of the window on each side. */
const MARGIN = 0.4;
/** Shades of the scale. */
const SHADES = 20;
/** Pixels between hosts below which the links of a switch to its hosts are drawn as one bundle. */
const BUNDLED = 2.5;
/** The most names in a picture. */
const MOST_NAMES = 400;

const { names, hosts, cables } = data;
const cableCount = cables.a.length;
const [X, Y] = [data.x, data.y].map((all) => Float64Array.from(all, (v) => v / 100));
// An end of a cable is a number: twice the cable, and 1 more at its second vertex. What is sent there goes to the other one.
const endCount = 2 * cableCount;
const vertexAt = (end) => (end % 2 === 0 ? cables.a : cables.b)[end >> 1];
const otherEnd = (end) => end ^ 1;
const capacityAt = Float64Array.from({ length: endCount }, (_, end) => data.capacities[cables.capacity[end]]);
const stubs = new Set(cables.stubs);
const ofVertex = names.map(() => []);
for (let end = 0; end < endCount; end += 1) ofVertex[vertexAt(end)].push(end);

// --- what is shown

const filter = { region: null, job: null, level: "all", rail: "all" };
const view = { x: 0, y: 0, scale: 1 };
let marked = null;
let version = 0;

/** Bytes that are sent at each end: all, or those of one job, or in one region and those inside it. */
function bytesOf(series) {
  if ((filter.region === null && filter.job === null) || !series.regions.length) return Float64Array.from(series.bytes);
  const sums = new Float64Array(endCount);
  for (const { name, job, ends, bytes: amounts } of filter.region === null ? series.jobs : series.regions) {
    const inside = filter.region === null || name === filter.region || (filter.region !== "" && name.startsWith(`${filter.region}/`));
    if (!inside || (filter.job !== null && job !== filter.job)) continue;
    let end = 0;
    ends.forEach((step, i) => { sums[(end += step)] += amounts[i]; });
  }
  return sums;
}
function levelPair(cable) {
  const [a, b] = [data.level[cables.a[cable]], data.level[cables.b[cable]]];
  return `${Math.min(a, b)}-${Math.max(a, b)}`;
}
function railOf(cable) {
  return Math.max(data.rail[cables.a[cable]], data.rail[cables.b[cable]]);
}
function isShown(cable) {
  return (filter.level === "all" || levelPair(cable) === filter.level) && (filter.rail === "all" || railOf(cable) === Number(filter.rail));
}

/** Whether a job or a region is shown alone. */
function isPart() {
  return filter.region !== null || filter.job !== null;
}

let loads = [];
let worst = 0;
let isCableShown = [];
function choosePart() {
  isCableShown = Array.from({ length: cableCount }, (_, cable) => isShown(cable));
  loads = data.series.map((series) => {
    const sent = bytesOf(series);
    // What planned paths carry is not known by region or job.
    const all = isPart() && !series.regions.length ? `, all ${filter.region === null ? "jobs" : "regions"}` : "";
    return { name: series.name + all, sent, time: sent.map((b, end) => b / capacityAt[end]) };
  });
  worst = 0;
  for (const { time } of loads) for (const t of time) worst = Math.max(worst, t);
  for (const load of loads) load.shade = Uint8Array.from(load.time, shadeOf);
  version += 1;
}
/** Where the time of an end lies on the scale: 0 for nothing, else 1 to SHADES. */
function shadeOf(time) {
  return time > 0 && worst > 0 ? Math.max(1, Math.ceil(time / worst * SHADES)) : 0;
}

// --- colours

const ink = { shades: [], idle: "", ink: "", paper: "", soft: "", mark: "" };
function chooseInk() {
  const style = getComputedStyle(document.documentElement);
  const of = (name) => style.getPropertyValue(`--${name}`).trim();
  Object.assign(ink, { idle: of("idle"), ink: of("ink"), paper: of("paper"), soft: of("soft"), mark: of("direct") });
  ink.shades = Array.from({ length: SHADES + 1 }, (_, i) => colour(i / SHADES));
  version += 1;
}

// --- places

/** The two points between which the half of a link at this end is drawn. */
function halfAt(end) {
  const [v, w] = [vertexAt(end), vertexAt(otherEnd(end))];
  const [dx, dy] = [X[w] - X[v], Y[w] - Y[v]];
  if (!stubs.has(end >> 1)) return [X[v], Y[v], X[v] + dx / 2, Y[v] + dy / 2];
  const length = Math.hypot(dx, dy) || 1;
  return [X[v], Y[v], X[v] - 0.45 * dx / length, Y[v] - 0.45 * dy / length];
}
// Per end: its half as four numbers.
const halves = new Float64Array(4 * endCount);
for (let end = 0; end < endCount; end += 1) halves.set(halfAt(end), 4 * end);
const isHostCable = Array.from({ length: cableCount }, (_, c) => (cables.a[c] < hosts) !== (cables.b[c] < hosts));
// Per switch with hosts: the middle of these, and the ends at the switch and at the hosts.
const bundles = [];
for (let v = hosts; v < names.length; v += 1) {
  const own = ofVertex[v].filter((end) => vertexAt(otherEnd(end)) < hosts);
  if (own.length < 2) continue;
  const middle = [X, Y].map((at) => own.reduce((sum, end) => sum + at[vertexAt(otherEnd(end))], 0) / own.length);
  bundles.push({ v, middle, own });
}

const xs = { low: X.reduce((a, b) => Math.min(a, b), Infinity), high: X.reduce((a, b) => Math.max(a, b), -Infinity) };
const ys = { low: Y.reduce((a, b) => Math.min(a, b), Infinity), high: Y.reduce((a, b) => Math.max(a, b), -Infinity) };
// Hosts side by side have room for names that are turned; for others they are written across.
const isTurned = data.rows.length > 0 && data.rails === 1;
const NAMES_FROM = isTurned ? 11 : 22;
const longestName = names.slice(0, hosts).reduce((most, name) => Math.max(most, Math.min(28, name.length)), 0);
/** The view of everything, with room for the names of hosts where they are written. */
function fitted(width, height) {
  const margin = Math.min(70, width / 12);
  const of = (below) => Math.min((width - 2 * margin) / Math.max(xs.high - xs.low, 1e-9), (height - 90 - below) / Math.max(ys.high - ys.low, 1e-9), 90);
  let below = isTurned ? 6.4 * longestName : 0;
  if (of(below) <= NAMES_FROM) below = 0;
  return { x: (xs.low + xs.high) / 2, y: (ys.low + ys.high) / 2 + below / 2 / of(below), scale: of(below) };
}

// --- sheets

/** What is drawn of a picture with a view, in the order of drawing: bundles, ends from light to heavy, vertices. */
function itemsOf(load, sheet) {
  const { view: at, width, height } = sheet;
  const [left, right] = [-1, 1].map((side) => at.x + side * width / 2 / at.scale);
  const [top, bottom] = [-1, 1].map((side) => at.y + side * height / 2 / at.scale);
  const bundled = at.scale < BUNDLED;
  const seen = new Int32Array(endCount);
  const ofShade = new Int32Array(SHADES + 2);
  const shade = load ? load.shade : new Uint8Array(endCount);
  let count = 0;
  for (let end = 0; end < endCount; end += 1) {
    if (!isCableShown[end >> 1] || (bundled && isHostCable[end >> 1] && bundles.length)) continue;
    const i = 4 * end;
    if (Math.max(halves[i], halves[i + 2]) < left || Math.min(halves[i], halves[i + 2]) > right
      || Math.max(halves[i + 1], halves[i + 3]) < top || Math.min(halves[i + 1], halves[i + 3]) > bottom) continue;
    seen[count] = end;
    count += 1;
    ofShade[shade[end] + 1] += 1;
  }
  // Sorted by counting: where the ends of each shade begin.
  for (let i = 0; i <= SHADES; i += 1) ofShade[i + 1] += ofShade[i];
  const ends = new Int32Array(count);
  for (let i = 0; i < count; i += 1) {
    const bucket = shade[seen[i]];
    ends[ofShade[bucket]] = seen[i];
    ofShade[bucket] += 1;
  }
  const wide = bundled ? bundles.filter(({ own }) => isCableShown[own[0] >> 1]) : [];
  const vertices = [];
  for (let v = 0; v < names.length; v += 1) {
    if (X[v] >= left - 1 && X[v] <= right + 1 && Y[v] >= top - 1 && Y[v] <= bottom + 1) vertices.push(v);
  }
  return { wide, ends, shade, vertices };
}

function lineWidth(shade, scale) {
  const thick = Math.min(3, Math.max(1, scale / 6));
  return shade === 0 ? 0.6 * thick : (0.7 + 1.3 * shade / SHADES) * thick;
}

/** Draws items from `from` on, at most `most`; returns how many. */
function drawItems(sheet, load, from, most) {
  const { context, items, view: at, width, height } = sheet;
  const [across, down] = [width / 2 - at.x * at.scale, height / 2 - at.y * at.scale];
  const until = Math.min(sheet.total, from + most);
  let [drawn, style] = [from, null];
  const begin = (next, shade, wide = lineWidth(shade, at.scale)) => {
    if (next === style) return;
    if (style !== null) context.stroke();
    style = next;
    context.beginPath();
    // Without traffic all links are alike.
    context.strokeStyle = !load ? ink.soft : shade === 0 ? ink.idle : ink.shades[shade];
    context.lineWidth = !load ? 0.5 * lineWidth(0, at.scale) + 0.2 : wide;
  };
  const line = (x0, y0, x1, y1) => {
    context.moveTo(x0 * at.scale + across, y0 * at.scale + down);
    context.lineTo(x1 * at.scale + across, y1 * at.scale + down);
  };
  for (; drawn < until && drawn < items.wide.length; drawn += 1) {
    const { v, middle, own } = items.wide[drawn];
    const most = (ends) => load ? ends.reduce((m, end) => Math.max(m, load.time[end]), 0) : 0;
    const [away, back] = [most(own), most(own.map(otherEnd))].map(shadeOf);
    const half = [(X[v] + middle[0]) / 2, (Y[v] + middle[1]) / 2];
    const thick = Math.min(8, 1.5 + own.length / 6);
    begin(`bundle ${drawn} away`, away, thick);
    line(X[v], Y[v], ...half);
    begin(`bundle ${drawn} back`, back, thick);
    line(...middle, ...half);
  }
  for (; drawn < until && drawn < items.wide.length + items.ends.length; drawn += 1) {
    const end = items.ends[drawn - items.wide.length];
    begin(items.shade[end], items.shade[end]);
    const i = 4 * end;
    line(halves[i], halves[i + 1], halves[i + 2], halves[i + 3]);
  }
  if (style !== null) context.stroke();
  const size = { host: Math.min(9, Math.max(1.2, 0.34 * at.scale)), other: Math.min(16, Math.max(2.4, 0.55 * at.scale)) };
  for (const isHost of [true, false]) {
    context.beginPath();
    for (let i = drawn; i < until; i += 1) {
      const v = items.vertices[i - items.wide.length - items.ends.length];
      if ((v < hosts) !== isHost) continue;
      const [x, y] = [X[v] * at.scale + across, Y[v] * at.scale + down];
      const r = (isHost ? size.host : size.other) / 2;
      context.rect(x - r, y - r, 2 * r, 2 * r);
    }
    context.fillStyle = isHost ? ink.soft : ink.ink;
    context.fill();
  }
  return until - from;
}

/** A picture: the canvas that is seen, the sheet that it shows a part of, and the sheet that is being drawn. */
function picture(series, canvas) {
  const own = { series, canvas, sheet: null, next: null };
  own.size = () => ({ width: canvas.clientWidth, height: canvas.clientHeight });
  own.begin = (all) => {
    const { width, height } = own.size();
    const ratio = window.devicePixelRatio || 1;
    const factor = all ? 1 : 1 + 2 * MARGIN;
    // The sheet that was seen before the last one is drawn over.
    const sheet = { canvas: own.spare ?? document.createElement("canvas"), view: { ...view }, version,
      width: Math.ceil(width * factor), height: Math.ceil(height * factor), done: 0 };
    own.spare = null;
    sheet.canvas.width = sheet.width * ratio;
    sheet.canvas.height = sheet.height * ratio;
    sheet.context = sheet.canvas.getContext("2d");
    sheet.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    sheet.context.lineCap = "butt";
    sheet.items = itemsOf(loads[series], sheet);
    sheet.total = sheet.items.wide.length + sheet.items.ends.length + sheet.items.vertices.length;
    own.next = sheet;
  };
  /** Whether the window is inside of a sheet, with `rest` of its margin to spare. */
  own.fits = (sheet, rest) => {
    const { width, height } = own.size();
    const inside = (at, of, window, whole) => Math.abs(at - of) * sheet.view.scale + window / 2 * sheet.view.scale / view.scale
      <= whole / 2 - rest * MARGIN * window;
    return inside(view.x, sheet.view.x, width, sheet.width) && inside(view.y, sheet.view.y, height, sheet.height);
  };
  own.isCurrent = (sheet, rest) => sheet && sheet.version === version && Math.abs(sheet.view.scale / view.scale - 1) < 1e-6
    && own.fits(sheet, rest);
  /** Draws a part of the next sheet, if there is one to be drawn; returns how many items. */
  own.work = (most) => {
    const { next } = own;
    const stale = next && (next.version !== version || Math.max(next.view.scale / view.scale, view.scale / next.view.scale) > 1.4
      || !own.fits(next, 0));
    if ((!next && !own.isCurrent(own.sheet, 0.5)) || stale) {
      if (stale) own.spare = next.canvas;
      own.begin(false);
    }
    if (!own.next) return 0;
    const [from, start] = [own.next.done, performance.now()];
    const until = Math.min(own.next.total, from + most);
    do {
      own.next.done += drawItems(own.next, loads[series], own.next.done, Math.min(ITEMS_AT_ONCE, until - own.next.done));
      // Browsers note what is drawn and do it when the canvas is used first: a whole sheet in one frame, a tenth of a second. A pixel
      // that is read has it done now, where its time is seen.
      own.next.context.getImageData(0, 0, 1, 1);
    } while (own.next.done < until && (most === Infinity || performance.now() - start < LONGEST_WORK));
    const drawn = own.next.done - from;
    if (own.next.done >= own.next.total) own.finish();
    return drawn;
  };
  own.finish = () => {
    own.spare = own.sheet?.canvas ?? null;
    own.sheet = own.next;
    own.next = null;
  };
  own.show = () => {
    const { width, height } = own.size();
    const ratio = window.devicePixelRatio || 1;
    if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
      canvas.width = Math.round(width * ratio);
      canvas.height = Math.round(height * ratio);
    }
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = ink.paper;
    context.fillRect(0, 0, width, height);
    if (own.sheet) {
      const { sheet } = own;
      const larger = view.scale / sheet.view.scale;
      const [w, h] = [sheet.width * larger, sheet.height * larger];
      context.drawImage(sheet.canvas, (sheet.view.x - view.x) * view.scale + width / 2 - w / 2,
        (sheet.view.y - view.y) * view.scale + height / 2 - h / 2, w, h);
    }
    const calls = 2 + drawMarks(context, width, height) + drawNames(context, width, height);
    return calls;
  };
  return own;
}

// --- marks and names, which are drawn in each frame

function onScreen(v, width, height) {
  return [(X[v] - view.x) * view.scale + width / 2, (Y[v] - view.y) * view.scale + height / 2];
}
function drawMarks(context, width, height) {
  let calls = 0;
  const ends = pointed && pointed.end !== undefined ? [pointed.end, otherEnd(pointed.end)] : marked !== null ? ofVertex[marked].slice(0, 64) : [];
  if (ends.length) {
    context.beginPath();
    for (const end of ends) {
      const i = 4 * end;
      const place = (x, y) => [(x - view.x) * view.scale + width / 2, (y - view.y) * view.scale + height / 2];
      context.moveTo(...place(halves[i], halves[i + 1]));
      context.lineTo(...place(halves[i + 2], halves[i + 3]));
    }
    context.strokeStyle = ink.mark;
    context.globalAlpha = 0.45;
    context.lineWidth = 6;
    context.stroke();
    context.globalAlpha = 1;
    calls += 1;
  }
  if (marked !== null) {
    context.beginPath();
    context.arc(...onScreen(marked, width, height), 11, 0, 2 * Math.PI);
    context.strokeStyle = ink.mark;
    context.lineWidth = 2.5;
    context.stroke();
    calls += 1;
  }
  return calls;
}

/** Names of what is seen, as long as they do not lie on each other; and what the rows of a tree are, at the left. */
function drawNames(context, width, height) {
  const taken = new Set();
  const free = (x, y, w, h) => {
    const cells = [];
    for (let i = Math.floor(x / 12); i <= Math.floor((x + w) / 12); i += 1) {
      for (let j = Math.floor(y / 12); j <= Math.floor((y + h) / 12); j += 1) cells.push(4096 * i + j);
    }
    if (cells.some((cell) => taken.has(cell))) return false;
    cells.forEach((cell) => taken.add(cell));
    return true;
  };
  let calls = 0;
  context.font = "11px system-ui, sans-serif";
  context.textBaseline = "middle";
  const write = (words, x, y, colour, turned) => {
    context.save();
    context.translate(x, y);
    if (turned) context.rotate(Math.PI / 2);
    context.strokeStyle = ink.paper;
    context.lineWidth = 3;
    context.lineJoin = "round";
    context.strokeText(words, 0, 0);
    context.fillStyle = colour;
    context.fillText(words, 0, 0);
    context.restore();
    calls += 2;
  };
  for (const [words, at] of data.rows) {
    const y = (at - view.y) * view.scale + height / 2 - 10;
    if (y > 8 && y < height - 8 && free(6, y - 7, 6.2 * words.length, 14)) write(words, 6, y, ink.soft, false);
  }
  const one = (v, turned) => {
    const [x, y] = onScreen(v, width, height);
    if (x < -20 || x > width + 20 || y < -20 || y > height + 20) return;
    const words = names[v].length > 28 ? `${names[v].slice(0, 27)}\u2026` : names[v];
    const wide = context.measureText(words).width;
    if (turned && free(x - 2, y + 8, 4, wide)) write(words, x, y + 9, ink.ink, true);
    if (!turned && free(x - wide / 2, y - 24, wide, 12)) write(words, x - wide / 2, y - 17, ink.ink, false);
  };
  if (marked !== null) one(marked, false);
  for (let v = hosts; v < names.length && calls < MOST_NAMES && view.scale > 1; v += 1) if (v !== marked) one(v, false);
  for (let v = 0; v < hosts && calls < MOST_NAMES && view.scale > NAMES_FROM; v += 1) if (v !== marked) one(v, isTurned);
  return calls;
}

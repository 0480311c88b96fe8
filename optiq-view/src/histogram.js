// How many physical links carry how many bytes (thesis figure 9).

/** The next of 1, 2, 2.5, 5 times a power of ten. */
function nice(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 2.5, 5, 10].find((f) => f * power >= value * (1 - 1e-9)) * power;
}

/**
 * Counts of links per range of load, for each load shown; idle links apart. A range has its upper end and not its lower one, and
 * the bound is the end of one: what keeps to the bound stands to the left of its line, what exceeds it to the right.
 */
function binned() {
  const unit = unitOf(worstOfAll);
  const round = nice(worstOfAll / unit.bytes / 44) * unit.bytes;
  const bound = data.bound_seconds * capacity;
  const below = Math.round(bound / round);
  const step = below > 0 ? bound / below : round;
  // Less than a part in a billion is rounding.
  const bins = Math.max(1, Math.ceil(worstOfAll / step * (1 - 1e-9)));
  const counts = shown.map((series) => {
    const count = { used: 0, idle: 0, bins: new Array(bins).fill(0) };
    loads[series].unit.forEach((load, i) => {
      const lanes = data.links.lanes[i];
      if (load > 0) {
        count.used += lanes;
        count.bins[Math.max(0, Math.min(bins, Math.ceil(load / step * (1 - 1e-9))) - 1)] += lanes;
      } else {
        count.idle += lanes;
      }
    });
    return count;
  });
  return { unit, step, bins, bound, counts };
}

/** Ticks of a linear or logarithmic axis from 0 (or below 1) to `top`. */
function countAxis(counts) {
  const values = counts.flatMap((c) => c.bins).filter((n) => n > 0);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  if (most / least < 60) {
    const step = Math.max(1, nice(most / 5));
    const top = Math.ceil(most / step) * step;
    const ticks = Array.from({ length: Math.round(top / step) + 1 }, (_, i) => i * step);
    return { ticks, share: (n) => n / top, label: "physical links" };
  }
  const [low, top] = [0.6, Math.log10(most * 1.3)];
  const ticks = Array.from({ length: Math.floor(top) + 1 }, (_, i) => 10 ** i);
  const share = (n) => (n < 1 ? 0 : (Math.log10(n) - Math.log10(low)) / (top - Math.log10(low)));
  return { ticks, share, label: "physical links (log scale)" };
}

/** Draws the histogram, `width` pixels wide. */
function histogram(target, width) {
  if (worstOfAll === 0) {
    target.replaceChildren(el("p", { class: "note" }, "No link carries anything."));
    return;
  }
  const { unit, step, bins, bound, counts } = binned();
  const [left, right, top, bottom] = [70, 14, 26, 46];
  const height = 300;
  const axis = countAxis(counts);
  const x = (load) => left + (load / (bins * step)) * (width - left - right);
  const y = (n) => height - bottom - axis.share(n) * (height - top - bottom);
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    "aria-label": "Histogram: physical links by the bytes that they carry" });

  for (const tick of axis.ticks) {
    root.append(svg("line", { class: "grid", x1: left, x2: width - right, y1: y(tick), y2: y(tick) }),
      svg("text", { class: "tick", x: left - 7, y: y(tick) + 4, "text-anchor": "end" }, number(tick)));
  }
  // Labels at round loads, whatever the ends of the ranges are.
  const mark = nice((bins * step * 56) / (width - left - right) / unit.bytes) * unit.bytes;
  for (let at = 0; at <= bins * step * (1 + 1e-9); at += mark) {
    root.append(svg("line", { class: "axis", x1: x(at), x2: x(at), y1: height - bottom, y2: height - bottom + 5 }),
      svg("text", { class: "tick", x: x(at), y: height - bottom + 18, "text-anchor": "middle" },
        String(Number((at / unit.bytes).toPrecision(6)))));
  }
  root.append(svg("line", { class: "axis", x1: left, x2: width - right, y1: height - bottom, y2: height - bottom }),
    svg("text", { x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle" },
      `bytes on a link, ${unit.name} (1 ${unit.name} takes ${seconds(unit.bytes / capacity)})`),
    svg("text", { x: 14, y: (top + height - bottom) / 2, "text-anchor": "middle",
      transform: `rotate(-90 14 ${(top + height - bottom) / 2})` }, axis.label));

  const slot = x(step) - x(0);
  const bar = (0.84 * slot) / shown.length;
  for (let b = 0; b < bins; b += 1) {
    shown.forEach((series, s) => {
      const n = counts[s].bins[b];
      if (n > 0) {
        root.append(svg("rect", { class: series === 0 ? "direct" : "plan", x: x(b * step) + 0.08 * slot + s * bar, y: y(n),
          width: Math.max(1, bar - 1), height: height - bottom - y(n) }));
      }
    });
    const area = svg("rect", { class: "bin", "data-bin": b, x: x(b * step), y: top, width: slot, height: height - top - bottom });
    const range = `over ${bytes(b * step)}, up to ${bytes((b + 1) * step)}`;
    const rows = shown.map((series, s) => [loads[series].name, count(counts[s].bins[b], "link")]);
    area.addEventListener("mousemove", (event) => showTip(range, [], rows, pointer(event)));
    area.addEventListener("mouseleave", () => choose(null));
    root.append(area);
  }
  if (bound > 0 && bound <= bins * step * (1 + 1e-9)) {
    const late = x(bound) > width - 190;
    root.append(svg("line", { class: "bound", x1: x(bound), x2: x(bound), y1: top - 8, y2: height - bottom }),
      svg("text", { x: x(bound) + (late ? -6 : 6), y: top - 10, "text-anchor": late ? "end" : "start" },
        `bound on the worst link: ${bytes(bound)}`));
  }
  const legend = shown.map((series, s) => el("span", {}, key(series),
    `${loads[series].name}: ${count(counts[s].used, "link")} loaded, ${number(counts[s].idle)} idle (not in the bars)`));
  target.replaceChildren(el("div", { class: "histogram-legend" }, ...legend), root);
}

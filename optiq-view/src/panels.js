// The load of every link, one panel for each load: a small network as it is, a large one as maps of its directions.

/** A panel with everything that is needed to show a link in it: `place(link)` is its box on the screen. */
function panel(series) {
  const load = loads[series];
  const box = el("div", { class: "panel", tabindex: "0", "data-panel": series, role: "group",
    "aria-label": `Link loads, ${load.name}; arrow keys go through the links, heaviest first` });
  box.append(el("h3", {}, key(series), `${load.name}: worst link ${bytes(load.worst)}, ${seconds(load.congestion_seconds)}`));
  const view = data.layout ? network(series) : maps(series);
  box.append(view.node);
  if (markedWords(load)) box.append(el("p", { class: "rings" }, markedWords(load)));

  // Heaviest first; the order among equals is that of the links.
  const order = load.unit.map((_, i) => i).filter((i) => load.unit[i] > 0).sort((a, b) => load.unit[b] - load.unit[a] || a - b);
  let at = -1;
  box.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") {
      choose(null);
    } else if (step && order.length) {
      event.preventDefault();
      at = (at + step + order.length) % order.length;
      choose(order[at], view.place(order[at]));
    }
  });
  box.addEventListener("blur", () => choose(null));
  box.addEventListener("mouseleave", () => choose(null));
  return { box, paint: view.paint, mark: view.mark };
}

/** The network as it is: a path for each link, a circle for each vertex. */
function network(series) {
  const load = loads[series];
  const { width, height, spacing, radius, x, y, paths } = data.layout;
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "data-links": paths.length,
    "aria-label": `The network with its link loads, ${load.name}` });
  const lines = paths.map((d, i) => svg("path", { class: "link", d, "data-link": i }));
  // The lightest first, so that heavy links lie on top; and wide invisible lines above all to point at.
  const order = lines.map((_, i) => i).sort((a, b) => load.unit[a] - load.unit[b] || a - b);
  const hits = paths.map((d, i) => svg("path", { class: "hit", d, "data-link": i, "stroke-width": 0.13 * spacing }));
  const halos = markedLinks(load)
    .map((i) => svg("path", { class: "halo", d: paths[i], "stroke-width": 0.12 * spacing }));
  root.append(svg("g", {}, ...halos), svg("g", {}, ...order.map((i) => lines[i])), svg("g", {}, ...hits));

  const forwarding = new Set(series === 0 ? [] : data.forwarding);
  // About a pixel, so that nothing vanishes where vertices are close.
  const hair = width / 560;
  const centre = y.reduce((a, b) => a + b, 0) / y.length;
  const inside = data.names.every((name) => name.length <= 3);
  const size = inside ? 0.8 * radius : Math.min(0.14 * spacing, 0.024 * width);
  data.names.forEach((name, v) => {
    const role = roleOf(v);
    const group = svg("g", { "data-vertex": v });
    if (forwarding.has(v)) {
      group.append(svg("circle", { class: "node", cx: x[v], cy: y[v], r: radius * 1.4, "stroke-width": Math.max(0.018 * spacing, 0.7 * hair),
        "stroke-dasharray": `${0.04 * spacing} ${0.03 * spacing}`, "fill-opacity": 0 }));
    }
    const ring = role === "destination" || role === "both" ? 0.045 : 0.016;
    if (v < data.hosts) {
      group.append(svg("circle", { class: `node ${role}`, cx: x[v], cy: y[v], r: radius, "stroke-width": Math.max(ring * spacing, (ring > 0.02 ? 1.6 : 0.7) * hair) }));
    } else {
      group.append(svg("rect", { class: "node idle", x: x[v] - radius, y: y[v] - radius, width: 2 * radius,
        height: 2 * radius, rx: 0.2 * radius, "stroke-width": ring * spacing }));
    }
    if (role === "both") {
      group.append(svg("circle", { class: "node", cx: x[v], cy: y[v], r: radius * 0.82, "stroke-width": 0.02 * spacing,
        "fill-opacity": 0, style: "stroke: var(--paper)" }));
    }
    if (spacing >= 45) {
      const filled = inside && (role === "source" || role === "both");
      group.append(svg("text", { class: `label ${filled ? "inverse" : role === "idle" ? "quiet" : ""}`, x: x[v],
        y: inside ? y[v] + 0.35 * size : y[v] < centre ? y[v] - 1.5 * radius - 0.2 * size : y[v] + 1.5 * radius + 0.9 * size,
        "font-size": size, "stroke-width": inside ? 0 : 0.35 * size }, name));
    }
    root.append(group);
  });

  const linkOf = (event) => event.target.closest?.("[data-link]");
  root.addEventListener("mouseover", (event) => {
    const vertex = event.target.closest("[data-vertex]");
    if (linkOf(event)) choose(Number(linkOf(event).dataset.link), pointer(event));
    else if (vertex) describeVertex(Number(vertex.dataset.vertex), pointer(event));
    else choose(null);
  });
  root.addEventListener("mousemove", (event) => moveTip(pointer(event)));
  return {
    node: el("div", { class: "zoomable" }, zoomButtons(root, width, height), root),
    place: (i) => lines[i].getBoundingClientRect(),
    paint: () => lines.forEach((line, i) => {
      const share = scaled(load.unit[i]);
      line.setAttribute("stroke", load.bytes[i] > 0 ? colour(share) : "var(--idle)");
      line.setAttribute("stroke-width", load.bytes[i] > 0 ? Math.max((0.022 + 0.05 * share) * spacing, 1.2 * hair) : Math.max(0.012 * spacing, 0.6 * hair));
    }),
    mark: (i) => lines.forEach((line, j) => line.classList.toggle("chosen", i === j)),
  };
}

/** The links that are as loaded as the worst one of `load`, or nearly. */
function worstLinks(load) {
  return load.worst === 0 ? [] : load.unit.map((_, i) => i).filter((i) => load.unit[i] >= load.worst * 0.999);
}
/** Those of them that are marked in a picture: none, if marks would hide each other, or stand at most of what is loaded. */
function markedLinks(load) {
  const worst = worstLinks(load);
  return worst.length <= 40 && 2 * worst.length <= load.unit.filter((unit) => unit > 0).length ? worst : [];
}
/** The same in words. */
function markedWords(load) {
  const [worst, marked] = [worstLinks(load).length, markedLinks(load).length];
  return worst === 0 ? "" : `${count(worst, "link")} within 0.1 % of the worst${marked ? ", marked by rings or borders" : ""}`;
}

/** Buttons that show a part of a picture larger; it is moved by dragging. */
function zoomButtons(root, width, height) {
  let view = { x: 0, y: 0, scale: 1 };
  const show = (scale, x, y) => {
    const bounded = Math.min(12, Math.max(1, scale));
    const [w, h] = [width / bounded, height / bounded];
    view = { scale: bounded, x: Math.min(width - w, Math.max(0, x)), y: Math.min(height - h, Math.max(0, y)) };
    root.setAttribute("viewBox", `${view.x} ${view.y} ${w} ${h}`);
    root.classList.toggle("movable", bounded > 1);
  };
  const zoom = (factor) => {
    const scale = Math.min(12, Math.max(1, view.scale * factor));
    const middle = [view.x + width / view.scale / 2, view.y + height / view.scale / 2];
    show(scale, middle[0] - width / scale / 2, middle[1] - height / scale / 2);
  };
  root.addEventListener("pointerdown", (event) => {
    if (view.scale === 1) return;
    const [from, pixel] = [{ ...view }, root.getScreenCTM().a];
    const move = (next) => show(from.scale, from.x - (next.clientX - event.clientX) / pixel, from.y - (next.clientY - event.clientY) / pixel);
    root.setPointerCapture(event.pointerId);
    root.addEventListener("pointermove", move);
    root.addEventListener("pointerup", () => root.removeEventListener("pointermove", move), { once: true });
  });
  const button = (words, label, act) => {
    const made = el("button", { type: "button", "aria-label": label }, words);
    made.addEventListener("click", act);
    return made;
  };
  return el("div", { class: "zoom" }, button("+", "larger", () => zoom(1.6)), button("\u2212", "smaller", () => zoom(1 / 1.6)),
    button("fit", "the whole picture", () => show(1, 0, 0)));
}

/** One map for each direction or kind, with a cell for each link, or for several, of which it shows the most loaded one. */
function maps(series) {
  const load = loads[series];
  const { maps: sheets, map, cell } = data.maps;
  const root = el("div", { class: sheets.length < 4 ? "maps few" : "maps", "data-links": map.length });
  const worst = markedLinks(load);
  const views = sheets.map(({ label, columns, rows, means }, m) => {
    const canvas = el("canvas", { width: columns, height: rows, "data-map": m, role: "img",
      "aria-label": `Loads of the links ${label}` });
    const marker = el("div", { class: "marker", hidden: "" });
    const links = new Int32Array(columns * rows).fill(-1);
    const shared = new Int32Array(columns * rows);
    let most = 0;
    map.forEach((of, i) => {
      if (of !== m) return;
      shared[cell[i]] += 1;
      const before = links[cell[i]];
      if (before < 0 || load.unit[i] > load.unit[before]) links[cell[i]] = i;
      most = Math.max(most, load.unit[i]);
    });
    const rings = worst.filter((i) => map[i] === m).map((i) => el("div", { class: "ring",
      style: `left: ${((cell[i] % columns) + 0.5) / columns * 100}%; top: ${(Math.floor(cell[i] / columns) + 0.5) / rows * 100}%` }));
    const sheet = el("div", { class: "sheet" }, canvas, marker, ...rings);
    const caption = el("figcaption", {}, el("span", {}, label), el("span", {}, most > 0 ? `max ${bytes(most)}` : "idle"));
    if (means) caption.append(el("span", { class: "means" }, `across: ${means[0]}; down: ${means[1]}`));
    const figure = el("figure", { class: columns > 3 * rows ? "map wide" : "map" }, caption, sheet);
    root.append(figure);
    // A click shows it as wide as the panel, another one as it was.
    canvas.addEventListener("click", () => figure.classList.toggle("zoomed"));
    canvas.addEventListener("mousemove", (event) => {
      const r = canvas.getBoundingClientRect();
      const column = Math.min(columns - 1, Math.max(0, Math.floor((event.clientX - r.left) / r.width * columns)));
      const row = Math.min(rows - 1, Math.max(0, Math.floor((event.clientY - r.top) / r.height * rows)));
      const at = row * columns + column;
      choose(links[at] >= 0 ? links[at] : null, pointer(event), shared[at]);
    });
    return { canvas, marker, links, columns, rows };
  });
  const box = (i) => {
    const { canvas, columns, rows } = views[map[i]];
    const r = canvas.getBoundingClientRect();
    const [w, h] = [r.width / columns, r.height / rows];
    return new DOMRect(r.left + (cell[i] % columns) * w, r.top + Math.floor(cell[i] / columns) * h, w, h);
  };
  return {
    node: root,
    place: box,
    paint: () => {
      const idle = rgb(getComputedStyle(document.documentElement).getPropertyValue("--idle").trim());
      for (const { canvas, links, columns, rows } of views) {
        const context = canvas.getContext("2d");
        const image = context.createImageData(columns, rows);
        links.forEach((link, place) => {
          if (link < 0) return;
          image.data.set([...(load.bytes[link] > 0 ? colourAt(scaled(load.unit[link])) : idle), 255], 4 * place);
        });
        context.putImageData(image, 0, 0);
      }
    },
    mark: (i) => views.forEach(({ canvas, marker, columns, rows }, m) => {
      marker.hidden = i === null || map[i] !== m;
      if (marker.hidden) return;
      const [w, h] = [canvas.clientWidth / columns, canvas.clientHeight / rows];
      Object.assign(marker.style, { left: `${(cell[i] % columns) * w - 3}px`, top: `${Math.floor(cell[i] / columns) * h - 3}px`,
        width: `${w + 6}px`, height: `${h + 6}px` });
    }),
  };
}

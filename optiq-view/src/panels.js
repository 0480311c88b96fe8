// The load of every link, one panel for each load: a small network as it is, a large one as maps of its directions.

/** A panel with everything that is needed to show a link in it: `place(link)` is its box on the screen. */
function panel(series) {
  const load = loads[series];
  const box = el("div", { class: "panel", tabindex: "0", "data-panel": series, role: "group",
    "aria-label": `Link loads, ${load.name}; arrow keys go through the links, heaviest first` });
  box.append(el("h3", {}, key(series), `${load.name}: worst link ${bytes(load.worst)}, ${seconds(load.congestion_seconds)}`));
  const view = data.layout ? network(series) : maps(series);
  box.append(view.node);

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
  const { width, height, spacing, x, y, paths } = data.layout;
  const root = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "data-links": paths.length,
    "aria-label": `The network with its link loads, ${load.name}` });
  const lines = paths.map((d, i) => svg("path", { class: "link", d, "data-link": i }));
  // The lightest first, so that heavy links lie on top; and wide invisible lines above all to point at.
  const order = lines.map((_, i) => i).sort((a, b) => load.unit[a] - load.unit[b] || a - b);
  const hits = paths.map((d, i) => svg("path", { class: "hit", d, "data-link": i, "stroke-width": 0.13 * spacing }));
  root.append(svg("g", {}, ...order.map((i) => lines[i])), svg("g", {}, ...hits));

  const radius = 0.13 * spacing;
  const forwarding = new Set(series === 0 ? [] : data.forwarding);
  // About a pixel, so that nothing vanishes where vertices are close.
  const hair = width / 560;
  const centre = y.reduce((a, b) => a + b, 0) / y.length;
  const inside = data.names.every((name) => name.length <= 3);
  const size = inside ? 0.105 * spacing : Math.min(0.14 * spacing, 0.024 * width);
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
    node: root,
    place: (i) => lines[i].getBoundingClientRect(),
    paint: () => lines.forEach((line, i) => {
      const share = scaled(load.unit[i]);
      line.setAttribute("stroke", load.bytes[i] > 0 ? colour(share) : "var(--idle)");
      line.setAttribute("stroke-width", load.bytes[i] > 0 ? Math.max((0.022 + 0.05 * share) * spacing, 1.2 * hair) : Math.max(0.012 * spacing, 0.6 * hair));
    }),
    mark: (i) => lines.forEach((line, j) => line.classList.toggle("chosen", i === j)),
  };
}

/** One map for each direction, with a pixel for each link that goes that way. */
function maps(series) {
  const load = loads[series];
  const { maps: sheets, map, cell } = data.maps;
  const root = el("div", { class: sheets.length < 4 ? "maps few" : "maps", "data-links": map.length });
  const views = sheets.map(({ label, columns, rows }, m) => {
    const canvas = el("canvas", { width: columns, height: rows, "data-map": m, role: "img",
      "aria-label": `Loads of the links ${label}` });
    const marker = el("div", { class: "marker", hidden: "" });
    const links = new Int32Array(columns * rows).fill(-1);
    let worst = 0;
    map.forEach((of, i) => {
      if (of === m) {
        links[cell[i]] = i;
        worst = Math.max(worst, load.unit[i]);
      }
    });
    const sheet = el("div", { class: "sheet" }, canvas, marker);
    root.append(el("figure", { class: "map" },
      el("figcaption", {}, el("span", {}, label), el("span", {}, worst > 0 ? `max ${bytes(worst)}` : "idle")), sheet));
    canvas.addEventListener("mousemove", (event) => {
      const r = canvas.getBoundingClientRect();
      const column = Math.min(columns - 1, Math.max(0, Math.floor((event.clientX - r.left) / r.width * columns)));
      const row = Math.min(rows - 1, Math.max(0, Math.floor((event.clientY - r.top) / r.height * rows)));
      const link = links[row * columns + column];
      choose(link >= 0 ? link : null, pointer(event));
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

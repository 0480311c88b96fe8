//! A network as it is, as an SVG within a page that needs no script: its links in the colours of what they carry, or alike.

use crate::heat;
use crate::layout::Layout;
use crate::page::escape;
use maud::{Markup, PreEscaped};
use optiq_net::{Network, NodeId};
use std::fmt::Write;

/// What a sketch looks like, for a page that has [`heat::style`].
pub const STYLE: &str = "\
.sketch path { fill: none; stroke-linecap: round; stroke-linejoin: round; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.sketch .plain { stroke: var(--soft); }
.sketch .none { stroke: var(--idle); }
.sketch .marked { stroke: var(--direct); stroke-opacity: .45; }
.sketch circle, .sketch rect { fill: var(--paper); stroke: var(--ink); }
.sketch .switch { stroke: var(--soft); }
.sketch .end { fill: var(--ink); }
.sketch text { font-family: system-ui, sans-serif; fill: var(--ink); text-anchor: middle; paint-order: stroke; stroke: var(--panel); }
.sketch .inverse { fill: var(--paper); stroke: none; }
";

/// What is drawn.
pub struct Sketch<'a> {
    /// The network.
    pub net: &'a Network,
    /// A sentence that stands in for the picture where there is none.
    pub label: String,
    /// Per link: where what it carries lies between nothing, 0, and the end of the scale, 1, with its words; empty if all are alike.
    pub loads: Vec<(f64, String)>,
    /// Links with a border.
    pub marked: Vec<usize>,
    /// Vertices that stand out.
    pub ends: Vec<NodeId>,
}

impl Sketch<'_> {
    /// The picture; `None` of a network that is too large.
    pub fn svg(&self) -> Option<Markup> {
        let layout = Layout::of(self.net)?;
        let (width, height, spacing) = (layout.width, layout.height, layout.spacing);
        let mut text = String::new();
        for &link in &self.marked {
            // Writing to a string does not fail.
            let wide = 0.14 * spacing;
            let _ = write!(text, "<path class=\"marked\" stroke-width=\"{wide:.1}\" d=\"{}\"/>", layout.paths[link]);
        }
        // Heavy links lie on top.
        let mut order: Vec<usize> = (0..layout.paths.len()).collect();
        order.sort_by(|&a, &b| self.load(a).total_cmp(&self.load(b)));
        for link in order {
            let (class, share) = match self.loads.get(link) {
                None => ("plain".to_owned(), 0.2),
                Some((load, _)) => match heat::shade(*load) {
                    0 => ("none".to_owned(), 0.0),
                    shade => (format!("h{shade}"), load.min(1.0)),
                },
            };
            let wide = (0.016 + 0.05 * share) * spacing;
            let l = &self.net.links()[link];
            let words = self.loads.get(link).map_or_else(String::new, |(_, words)| format!(": {words}"));
            let title = escape(&format!("{} \u{2192} {}{words}", self.net.name(l.from), self.net.name(l.to)));
            let d = &layout.paths[link];
            let _ = write!(
                text,
                "<path class=\"{class}\" stroke-width=\"{wide:.2}\" d=\"{d}\"><title>{title}</title></path>"
            );
        }
        self.vertices(&layout, &mut text);
        let label = escape(&self.label);
        Some(PreEscaped(format!(
            "<svg class=\"sketch\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{label}\">{text}</svg>"
        )))
    }

    fn load(&self, link: usize) -> f64 {
        self.loads.get(link).map_or(0.0, |l| l.0)
    }

    fn vertices(&self, layout: &Layout, text: &mut String) {
        let (spacing, radius) = (layout.spacing, layout.radius);
        let names: Vec<&str> = (0..self.net.vertices() as u32).map(|v| self.net.name(NodeId(v))).collect();
        let inside = names.iter().all(|name| name.chars().count() <= 3);
        let size = if inside { 0.8 * radius } else { (0.14 * spacing).min(0.024 * layout.width) };
        for (v, name) in names.iter().enumerate() {
            let (x, y, line, name) = (layout.x[v], layout.y[v], 0.018 * spacing, escape(name));
            let end = self.ends.contains(&NodeId(v as u32));
            let class = if end {
                "end"
            } else if v < self.net.hosts() {
                "host"
            } else {
                "switch"
            };
            let _ = match v < self.net.hosts() {
                true => write!(
                    text,
                    "<circle class=\"{class}\" stroke-width=\"{line:.2}\" cx=\"{x}\" cy=\"{y}\" r=\"{radius:.1}\">"
                ),
                false => write!(
                    text,
                    "<rect class=\"{class}\" stroke-width=\"{line:.2}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{2:.1}\" height=\"{2:.1}\">",
                    x - radius,
                    y - radius,
                    2.0 * radius
                ),
            };
            let _ = write!(text, "<title>{name}</title></{}>", if v < self.net.hosts() { "circle" } else { "rect" });
            // Names below 45 units apart would lie on each other.
            if spacing >= 45.0 {
                let at = if inside { y + 0.35 * size } else { y + 1.5 * radius + 0.9 * size };
                let (class, border) =
                    if inside && end { ("inverse", 0.0) } else { ("name", if inside { 0.0 } else { 0.35 * size }) };
                let _ = write!(
                    text,
                    "<text class=\"{class}\" x=\"{x}\" y=\"{at:.1}\" font-size=\"{size:.1}\" stroke-width=\"{border:.1}\">{name}</text>"
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn loads_have_the_colours_of_the_scale_and_large_networks_are_left_out() {
        let net = Network::from_spec("mesh:1x2").unwrap();
        let loads = vec![(1.0, "8 <B>".to_owned()), (0.0, "0 B".to_owned())];
        let sketch = Sketch { net: &net, label: "<l>".into(), loads, marked: vec![0], ends: vec![NodeId(0)] };
        let svg = sketch.svg().unwrap().into_string();
        assert_eq!((svg.matches("class=\"h20\"").count(), svg.matches("class=\"none\"").count()), (1, 1), "{svg}");
        assert!(svg.contains("h0 \u{2192} h1: 8 &lt;B&gt;") && svg.contains("aria-label=\"&lt;l&gt;\""), "{svg}");
        assert_eq!((svg.matches("class=\"marked\"").count(), svg.matches("class=\"end\"").count()), (1, 1));
        let large = Network::from_spec("bgq:512").unwrap();
        assert!(Sketch { net: &large, loads: Vec::new(), marked: Vec::new(), ..sketch }.svg().is_none());
    }
}

//! Where the vertices and links of a small network lie in the picture.
//!
//! Grids of up to four dimensions that are longer than one are projected: the last dimension to the right, the one
//! before it downwards, the third obliquely into the gaps (as a cube is drawn), the fourth as copies side by side,
//! slightly lowered so that no two links of different rows coincide. A single ring is a circle. Links that close a ring
//! are drawn as two stubs, one where they leave and one where they arrive. Trees of switches and dragonflies are drawn
//! in layers and rings ([`crate::layers`]). Any other graph is laid out by stress majorization (Gansner, Koren, North:
//! Graph drawing by stress majorization, 2004): distances in the picture approach distances in hops.
//!
//! Links keep to their right-hand side, so that both directions show, and end in half an arrowhead.

use crate::layers;
use optiq_net::{Grid, Link, Network, NodeId};
use serde::Serialize;
use std::f64::consts::TAU;
use std::fmt::Write;

/// The most vertices that are drawn one by one.
const MAX_VERTICES: usize = 128;
/// The most links that are drawn one by one.
const MAX_LINKS: usize = 1024;
/// The most hosts in a row.
const MAX_ROW: u32 = 16;
/// Length of the unit vectors of the projection, in the units of the picture.
const UNIT: f64 = 100.0;
/// Rounds of stress majorization.
const ROUNDS: usize = 300;

/// A drawing, in units of its own.
#[derive(Serialize)]
pub struct Layout {
    pub(crate) width: f64,
    pub(crate) height: f64,
    /// Distance of the nearest two vertices: what sizes are measured by.
    pub(crate) spacing: f64,
    /// Of a vertex: larger, beside that distance, where links are much longer, as in trees.
    pub(crate) radius: f64,
    pub(crate) x: Vec<f64>,
    pub(crate) y: Vec<f64>,
    /// Per link: SVG path data.
    pub(crate) paths: Vec<String>,
}

type Point = (f64, f64);

/// How a link is drawn.
enum LinkShape {
    Line,
    /// Closes a ring: leaves in this direction, and arrives in it.
    Stubs(Point),
}

impl Layout {
    /// The drawing of `net`, if it is small enough for one.
    pub fn of(net: &Network) -> Option<Self> {
        if net.vertices() > MAX_VERTICES || net.links().len() > MAX_LINKS {
            return None;
        }
        match net.geometry().grid() {
            Some(grid) => of_grid(net, grid),
            None => {
                let places = layers::places(net, UNIT).unwrap_or_else(|| stress(net));
                let shapes = net.links().iter().map(|_| LinkShape::Line).collect();
                Some(Layout::new(net, places, shapes))
            }
        }
    }

    /// Draws the links and moves everything into view.
    fn new(net: &Network, mut places: Vec<Point>, shapes: Vec<LinkShape>) -> Self {
        let margin = if shapes.iter().any(|w| matches!(w, LinkShape::Stubs(_))) { 0.62 * UNIT } else { 0.4 * UNIT };
        let low = places.iter().fold((f64::INFINITY, f64::INFINITY), |m, p| (m.0.min(p.0), m.1.min(p.1)));
        for p in &mut places {
            *p = (p.0 - low.0 + margin, p.1 - low.1 + margin);
        }
        let high = places.iter().fold((0.0, 0.0), |m: Point, p| (m.0.max(p.0), m.1.max(p.1)));
        // Where there are few vertices, they and their links need not fill the picture.
        let spacing = spacing(&places).min((high.0 + margin).max(high.1 + margin) / 4.5);
        let length = |l: &Link| {
            let (a, b) = (places[l.from.index()], places[l.to.index()]);
            (a.0 - b.0).hypot(a.1 - b.1)
        };
        let shortest = net.links().iter().map(length).fold(f64::INFINITY, f64::min);
        let radius = if net.geometry().grid().is_some() {
            0.13 * spacing
        } else {
            (0.13 * shortest).clamp(0.13 * spacing, 0.26 * spacing)
        };
        let pen = Pen { spacing, radius };
        let path = |(l, shape): (&Link, &LinkShape)| {
            let (a, b) = (places[l.from.index()], places[l.to.index()]);
            match shape {
                LinkShape::Line => pen.line(a, b),
                LinkShape::Stubs(direction) => pen.stubs(a, b, *direction),
            }
        };
        Layout {
            width: round(high.0 + margin),
            height: round(high.1 + margin),
            spacing: round(spacing),
            radius: round(radius),
            paths: net.links().iter().zip(&shapes).map(path).collect(),
            x: places.iter().map(|p| round(p.0)).collect(),
            y: places.iter().map(|p| round(p.1)).collect(),
        }
    }
}

/// A tenth of a unit is less than a pixel.
fn round(v: f64) -> f64 {
    (v * 10.0).round() / 10.0
}

fn spacing(places: &[Point]) -> f64 {
    let mut least = UNIT;
    for (i, a) in places.iter().enumerate() {
        for b in &places[..i] {
            least = least.min((a.0 - b.0).hypot(a.1 - b.1));
        }
    }
    least.max(0.08 * UNIT)
}

fn of_grid(net: &Network, grid: &Grid) -> Option<Layout> {
    // From the last dimension on, those that are longer than one.
    let dims: Vec<usize> = (0..grid.dims().len()).rev().filter(|&d| grid.dims()[d] > 1).collect();
    let length = |i: usize| dims.get(i).map_or(1, |&d| grid.dims()[d]);
    let ring = dims.len() == 1 && grid.wrap()[dims[0]] && length(0) > 2;
    if ring {
        let n = f64::from(length(0));
        let radius = UNIT * (n / TAU).max(1.0);
        let place = |v: u32| {
            let angle = TAU * f64::from(v) / n;
            (radius * angle.sin(), -radius * angle.cos())
        };
        let places = (0..grid.nodes() as u32).map(place).collect();
        return Some(Layout::new(net, places, net.links().iter().map(|_| LinkShape::Line).collect()));
    }
    let across = length(0).saturating_mul(length(3));
    if dims.len() > 4 || across > MAX_ROW || length(1) > MAX_ROW || length(2) > 8 {
        return None;
    }
    let depth = 1.0 / f64::from(length(2)).max(2.5);
    let extent = f64::from(length(0)) + depth * f64::from(length(2) - 1) + 0.35;
    let vectors: [Point; 4] =
        [(UNIT, 0.0), (0.0, UNIT), (0.92 * depth * UNIT, -0.78 * depth * UNIT), (extent * UNIT, 0.5 * depth * UNIT)];
    let place = |v: u32| {
        dims.iter().zip(&vectors).fold((0.0, 0.0), |p, (&d, vector)| {
            let c = f64::from(grid.coordinate(NodeId(v), d));
            (p.0 + c * vector.0, p.1 + c * vector.1)
        })
    };
    let shape = |l: &Link| {
        for (&d, vector) in dims.iter().zip(&vectors) {
            let (a, b) = (grid.coordinate(l.from, d), grid.coordinate(l.to, d));
            if a.abs_diff(b) > 1 {
                // From the last to the first vertex of a ring the link leaves in the direction of the dimension.
                let sign = if a > b { 1.0 } else { -1.0 };
                return LinkShape::Stubs((sign * vector.0, sign * vector.1));
            }
        }
        LinkShape::Line
    };
    let places = (0..grid.nodes() as u32).map(place).collect();
    Some(Layout::new(net, places, net.links().iter().map(shape).collect()))
}

/// Stress majorization with weights `distance^-2`, from a circle on; parts that are not connected are kept apart as
/// if they were a little farther than any two vertices that are.
fn stress(net: &Network) -> Vec<Point> {
    let n = net.vertices();
    let mut hops: Vec<Vec<f64>> = Vec::with_capacity(n);
    let mut farthest = 1.0f64;
    for v in 0..n as u32 {
        let row: Vec<f64> = net
            .distances_to(NodeId(v))
            .iter()
            .map(|&d| if d == u32::MAX { f64::INFINITY } else { f64::from(d) })
            .collect();
        farthest = row.iter().copied().filter(|d| d.is_finite()).fold(farthest, f64::max);
        hops.push(row);
    }
    // A link in one direction only is a link all the same.
    let distance = |i: usize, j: usize| hops[i][j].min(hops[j][i]).min(farthest + 1.0);
    let radius = farthest / 2.0;
    let mut places: Vec<Point> = (0..n)
        .map(|i| {
            let angle = TAU * i as f64 / n as f64;
            (radius * angle.sin(), -radius * angle.cos())
        })
        .collect();
    for _ in 0..ROUNDS {
        for i in 0..n {
            let (mut x, mut y, mut weights) = (0.0, 0.0, 0.0);
            for j in (0..n).filter(|&j| j != i) {
                let d = distance(i, j).max(1.0);
                let (dx, dy) = (places[i].0 - places[j].0, places[i].1 - places[j].1);
                let scale = d / dx.hypot(dy).max(1e-9);
                let w = 1.0 / (d * d);
                x += w * (places[j].0 + dx * scale);
                y += w * (places[j].1 + dy * scale);
                weights += w;
            }
            if weights > 0.0 {
                places[i] = (x / weights, y / weights);
            }
        }
    }
    // Many leaves around one hub crowd its circle: spread everything until neighbours are apart.
    let nearest = spacing(&places.iter().map(|p| (p.0 * UNIT, p.1 * UNIT)).collect::<Vec<_>>()) / UNIT;
    let scale = UNIT * (0.6 / nearest).max(1.0);
    places.iter().map(|p| (p.0 * scale, p.1 * scale)).collect()
}

/// Draws links as SVG path data.
struct Pen {
    spacing: f64,
    /// Of a vertex.
    radius: f64,
}

impl Pen {
    /// Half the distance between the two directions.
    fn offset(&self) -> f64 {
        0.055 * self.spacing
    }

    /// The space that a vertex takes.
    fn radius(&self) -> f64 {
        1.08 * self.radius
    }

    /// From vertex `a` to vertex `b`.
    fn line(&self, a: Point, b: Point) -> String {
        let (e, length) = direction(a, b);
        let (o, r) = (self.offset(), self.radius().min(length / 3.0));
        let start = along(a, e, r, o);
        let end = along(a, e, length - r, o);
        let mut path = format!("M{}L{}", point(start), point(end));
        self.barb(&mut path, end, e);
        path
    }

    /// Out of `a` in direction `v`, and from there into `b`.
    fn stubs(&self, a: Point, b: Point, v: Point) -> String {
        let (e, length) = direction((0.0, 0.0), v);
        let (o, r) = (self.offset(), self.radius());
        let reach = r + 0.4 * length.min(UNIT);
        // Both ends bend away from the other direction's stub.
        let (start, knee, tip) = (along(a, e, r, o), along(a, e, 0.7 * reach, o), along(a, e, reach, 3.0 * o));
        let mut path = format!("M{}Q{} {}", point(start), point(knee), point(tip));
        let (tip, knee, end) = (along(b, e, -reach, 3.0 * o), along(b, e, -0.7 * reach, o), along(b, e, -r, o));
        // Writing to a string does not fail.
        let _ = write!(path, "M{}Q{} {}", point(tip), point(knee), point(end));
        self.barb(&mut path, end, e);
        path
    }

    /// Half an arrowhead on the outer side of a line that ends at `tip` in direction `e`.
    fn barb(&self, path: &mut String, tip: Point, e: Point) {
        let size = 0.16 * self.spacing;
        let _ = write!(path, "L{}", point(along(tip, e, -size, 0.5 * size)));
    }
}

/// Unit vector from `a` to `b`, and their distance.
fn direction(a: Point, b: Point) -> (Point, f64) {
    let (dx, dy) = (b.0 - a.0, b.1 - a.1);
    let length = dx.hypot(dy).max(1e-9);
    ((dx / length, dy / length), length)
}

/// `forward` along the unit vector `e` from `p`, and `right` to its right-hand side (`y` points down).
fn along(p: Point, e: Point, forward: f64, right: f64) -> Point {
    (p.0 + e.0 * forward - e.1 * right, p.1 + e.1 * forward + e.0 * right)
}

fn point(p: Point) -> String {
    format!("{} {}", round(p.0), round(p.1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(spec: &str) -> Option<Layout> {
        Layout::of(&Network::from_spec(spec).unwrap())
    }

    /// Every vertex in the picture, no two at the same place, a path for every link.
    fn check(spec: &str) -> Layout {
        let net = Network::from_spec(spec).unwrap();
        let layout = Layout::of(&net).unwrap();
        assert_eq!(layout.x.len(), net.vertices());
        assert_eq!(layout.paths.len(), net.links().len());
        for i in 0..net.vertices() {
            assert!((0.0..=layout.width).contains(&layout.x[i]) && (0.0..=layout.height).contains(&layout.y[i]));
            for j in 0..i {
                assert!((layout.x[i] - layout.x[j]).hypot(layout.y[i] - layout.y[j]) > 5.0, "{spec}: {i} and {j}");
            }
        }
        layout
    }

    #[test]
    fn torus_rows_and_columns() {
        let layout = check("torus:4x4");
        // h5 is (1,1): one unit right of and below h0.
        assert_eq!((layout.x[5] - layout.x[0], layout.y[5] - layout.y[0]), (UNIT, UNIT));
        // Of 64 links, two directions times two dimensions times four rings close a ring: two stubs each.
        assert_eq!(layout.paths.iter().filter(|p| p.matches('Q').count() == 2).count(), 16);
    }

    #[test]
    fn links_keep_right() {
        let net = Network::from_spec("mesh:1x2").unwrap();
        let layout = Layout::of(&net).unwrap();
        // h0 -> h1 goes right, so it lies below the line between the two (y points down), and its barb below that.
        let (x, y) = (layout.x[0], layout.y[0]);
        assert_eq!(
            layout.paths[0],
            format!("M{} {}L{} {}L{} {}", x + 5.6, y + 2.2, x + 94.4, y + 2.2, x + 88.0, round(y + 5.4))
        );
    }

    #[test]
    fn all_shapes_that_are_small() {
        for spec in ["torus:4x4x4", "torus:8", "mesh:8", "torus:2x2x2x2", "star:8", "star:100", "mesh:1", "torus:4x1x4"]
            .into_iter()
            .chain(["fattree:k=4", "fattree:4x4x2:1x4x2", "fattree:2x2:1x1", "dragonfly:p=2,a=4,h=2"])
            .chain(["dragonfly:p=1,a=2,h=1", "dragonfly+:p=2,l=2,s=2,h=2", "dragonfly+:p=1,l=3,s=3,h=1,g=2"])
        {
            check(spec);
        }
    }

    #[test]
    fn large_networks_are_not_drawn() {
        for spec in ["bgq:512", "torus:2x2x2x2x2", "mesh:2x40", "star:128"] {
            assert!(layout(spec).is_none(), "{spec}");
        }
    }

    #[test]
    fn a_star_is_drawn_around_its_switch() {
        let layout = check("star:8");
        let hub = (layout.x[8], layout.y[8]);
        let radius: Vec<f64> = (0..8).map(|i| (layout.x[i] - hub.0).hypot(layout.y[i] - hub.1)).collect();
        assert!(radius.iter().all(|r| (r - radius[0]).abs() < 2.0), "{radius:?}");
    }
}

//! The picture of a fabric as an SVG file of its own, for papers: white background, one path for each shade.
//!
//! Pictures of several series stand one above the other, with one scale.

use super::data::{Cable, FabricPicture, LinkSeries};
use crate::colours::{self, EDGE, INK, PAPER, SOFT};
use crate::svg::{Anchor, Drawing, Point, shortened, through};
use crate::table;
use std::fmt::Write;

const WIDTH: f64 = 1200.0;
const MARGIN: f64 = 24.0;
/// Where the words of rows stand.
const LEFT: f64 = 110.0;
const TITLE: f64 = 30.0;
const LEGEND: f64 = 56.0;
const SHADES: usize = 20;
/// The most vertices whose names are written.
const MAX_NAMES: usize = 90;
/// Of a name.
const MOST_CHARACTERS: usize = 14;

impl FabricPicture<'_> {
    /// The file.
    pub fn svg(&self) -> String {
        let scene = Scene::of(self);
        let panels = self.series.len().max(1);
        let head = if self.series.len() > 1 { 22.0 } else { 0.0 };
        let legend = if self.series.is_empty() { 0.0 } else { LEGEND };
        let panel = head + scene.height + MARGIN;
        let height = TITLE + panel * panels as f64 + legend;
        let mut drawing = Drawing::default();
        drawing.words("title", Anchor::Start, (MARGIN, 20.0), &shortened(self.title, 110));
        for i in 0..panels {
            let top = TITLE + panel * i as f64;
            let series = self.series.get(i);
            if let Some(series) = series.filter(|_| head > 0.0) {
                drawing.words("strong", Anchor::Start, (MARGIN, top + 14.0), &series.name);
            }
            drawing.raw(&format!("<g transform=\"translate(0 {:.1})\">\n", top + head));
            scene.draw(series, &mut drawing);
            drawing.raw("</g>\n");
        }
        if !self.series.is_empty() {
            scene.legend(&mut drawing, height - LEGEND + 6.0);
        }
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height:.0}\" width=\"{WIDTH}\" height=\"{height:.0}\" \
             role=\"img\" aria-label=\"{}\">\n<style>{}</style>\n<rect class=\"paper\" width=\"{WIDTH}\" height=\"{height:.0}\"/>\n{}</svg>\n",
            crate::page::escape(self.title),
            style(),
            drawing.into_text()
        )
    }
}

fn style() -> String {
    let mut text = format!(
        "text{{font:11px system-ui,sans-serif;fill:{ink}}}.title{{font-size:15px;font-weight:600}}.strong{{font-size:13px;font-weight:600}}\
         .soft{{fill:{soft}}}.paper{{fill:{paper}}}path{{fill:none}}.plain{{stroke:{soft};stroke-width:.5}}.h0{{stroke:{edge};stroke-width:.5}}\
         .host{{fill:{soft}}}.switch{{fill:{ink}}}.name{{font-size:9px;paint-order:stroke;stroke:{paper};stroke-width:2.5px}}.frame{{fill:none;stroke:{edge}}}",
        ink = INK.0,
        soft = SOFT.0,
        paper = PAPER.0,
        edge = EDGE.0,
    );
    for shade in 1..=SHADES {
        let share = shade as f64 / SHADES as f64;
        // Writing to a string does not fail.
        let _ = write!(text, ".h{shade}{{stroke:{};stroke-width:{:.2}}}", colours::amount(share), 0.6 + 1.4 * share);
        let _ = write!(text, ".k{shade}{{fill:{}}}", colours::amount(share));
    }
    text
}

/// The vertices in the units of the file, and the ends of cables.
struct Scene<'a> {
    picture: &'a FabricPicture<'a>,
    cables: Vec<Cable>,
    places: Vec<Point>,
    /// Units of the file in a unit of the layout.
    scale: f64,
    height: f64,
    /// The longest time of an end, in seconds.
    worst: f64,
}

impl<'a> Scene<'a> {
    fn of(picture: &'a FabricPicture<'a>) -> Self {
        let (low, high) = picture.layout.bounds();
        let left = if picture.rows().is_empty() { MARGIN } else { LEFT };
        let (wide, high) = ((high.0 - low.0).max(1e-9), (high.1 - low.1).max(1e-9));
        let scale = ((WIDTH - left - MARGIN) / wide).min(900.0 / high).min(120.0);
        let start = left + (WIDTH - left - MARGIN - wide * scale) / 2.0;
        let place = |p: &Point| (start + (p.0 - low.0) * scale, 20.0 + (p.1 - low.1) * scale);
        let time = |series: &LinkSeries| {
            let links = picture.net.links().iter().zip(&series.bytes);
            links.map(|(link, bytes)| *bytes as f64 / link.capacity).fold(0.0, f64::max)
        };
        Scene {
            picture,
            cables: picture.cables(),
            places: picture.layout.places.iter().map(place).collect(),
            scale,
            height: high * scale + 44.0,
            worst: picture.series.iter().map(time).fold(0.0, f64::max),
        }
    }

    fn draw(&self, series: Option<&LinkSeries>, drawing: &mut Drawing) {
        let mut paths = vec![String::new(); SHADES + 1];
        for cable in &self.cables {
            for (i, link) in cable.links.iter().enumerate() {
                let shade = match (series, link) {
                    (Some(series), Some(link)) => {
                        let time = series.bytes[link.index()] as f64 / self.picture.net.link(*link).capacity;
                        if time > 0.0 {
                            ((time / self.worst * SHADES as f64).ceil() as usize).clamp(1, SHADES)
                        } else {
                            0
                        }
                    }
                    _ => 0,
                };
                let path = &mut paths[shade];
                path.push('M');
                path.push_str(&through(&self.half(cable, i)));
            }
        }
        for (shade, path) in paths.iter().enumerate().filter(|(_, path)| !path.is_empty()) {
            let class = if series.is_some() { format!("h{shade}") } else { "plain".to_owned() };
            drawing.path(&class, path, None);
        }
        self.vertices(drawing);
        let ((_, low), _) = self.picture.layout.bounds();
        for (words, y) in self.picture.rows() {
            let y = 20.0 + (y - low) * self.scale;
            drawing.words("soft", Anchor::Start, (MARGIN, y + 4.0), &words);
        }
    }

    /// The line from an end to the middle of its cable.
    fn half(&self, cable: &Cable, end: usize) -> [Point; 2] {
        let [a, b] = [cable.ends[end], cable.ends[1 - end]].map(|v| self.places[v.index()]);
        let is_stub = cable.links.iter().flatten().any(|link| self.picture.layout.stubs[link.index()]);
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        if !is_stub {
            return [a, (a.0 + dx / 2.0, a.1 + dy / 2.0)];
        }
        let reach = 0.45 * self.scale / dx.hypot(dy).max(1e-9);
        [a, (a.0 - dx * reach, a.1 - dy * reach)]
    }

    fn vertices(&self, drawing: &mut Drawing) {
        let net = self.picture.net;
        let size =
            |host: bool| if host { (0.3 * self.scale).clamp(1.0, 8.0) } else { (0.5 * self.scale).clamp(2.5, 12.0) };
        for (v, place) in (0..).map(optiq_net::NodeId).zip(&self.places) {
            let size = size(net.is_host(v));
            let class = if net.is_host(v) { "host" } else { "switch" };
            let few = self.places.len() <= MAX_NAMES;
            let title = few.then(|| net.name(v));
            drawing.rect(class, (place.0 - size / 2.0, place.1 - size / 2.0), (size, size), title);
            if few {
                let name = shortened(net.name(v), MOST_CHARACTERS);
                let below = net.is_host(v) && place.1 > self.height / 2.0;
                let y = if below { place.1 + size / 2.0 + 10.0 } else { place.1 - size / 2.0 - 4.0 };
                drawing.words("name", Anchor::Middle, (place.0, y), &name);
            }
        }
    }

    fn legend(&self, drawing: &mut Drawing, top: f64) {
        let wide = 16.0;
        for shade in 1..=SHADES {
            drawing.rect(&format!("k{shade}"), (MARGIN + wide * (shade - 1) as f64, top), (wide, 10.0), None);
        }
        let end = MARGIN + wide * SHADES as f64;
        for (share, anchor) in [(0.0, Anchor::Start), (0.5, Anchor::Middle), (1.0, Anchor::End)] {
            let x = MARGIN + (end - MARGIN) * share;
            drawing.words("soft", anchor, (x, top + 23.0), &table::seconds(share * self.worst));
        }
        let what = "time at capacity for what is sent at an end of a link; pale: nothing";
        drawing.words("", Anchor::Start, (end + 14.0, top + 9.0), what);
    }
}

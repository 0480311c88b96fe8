//! The page of simulated runs: their figures, and what happened over time. It needs no script.

use crate::bars::{self, Bars};
use crate::curves::{self, Curves};
use crate::heat::{self, Heat};
use crate::page::{self, Drawn};
use crate::table;
use maud::{Markup, html};

/// A run, in the order of the colours of its curves.
pub struct Run {
    /// Its name.
    pub name: String,
    /// Why it was ended before its end, if it was.
    pub ended: Option<String>,
    /// The links that carried the most, and those at whose ends the most waited.
    pub links: [LinkMap; 2],
    /// The fullest queues, a table for each kind of them; `None` if they were not recorded.
    pub queues: Option<Vec<QueueTable>>,
}

impl Run {
    /// Its name, and whether it is partial.
    pub fn marked(&self) -> String {
        marked(&self.name, self.ended.is_some())
    }
}

/// The name of a run in all pictures.
pub fn marked(name: &str, partial: bool) -> String {
    if partial { format!("{name} (partial)") } else { name.to_owned() }
}

/// Links over time.
pub struct LinkMap {
    /// What these links did: `carried something`.
    pub what: &'static str,
    /// How many did.
    pub all: usize,
    /// Those that are shown; `None` if there are none.
    pub heat: Option<Heat>,
}

/// Queues of one kind.
pub struct QueueTable {
    /// What is above it.
    pub heading: String,
    /// The names of its columns.
    pub heads: [&'static str; 3],
    /// The queues, the fullest first.
    pub rows: Vec<Vec<String>>,
}

/// What the page shows.
pub struct Report<'a> {
    /// What was simulated, on what.
    pub heading: String,
    /// How: what else there is to know.
    pub subtitle: String,
    /// The title of the model.
    pub model: &'a str,
    /// The figures: a row of names, then one for each figure, which begins with what it is.
    pub figures: &'a [Vec<String>],
    /// How long the runs took, against their bounds.
    pub times: Bars,
    /// What hosts received, useful and forwarded, and what links carried for it.
    pub moved: Bars,
    /// What all links carry together.
    pub throughput: Curves,
    /// What there is to say about it.
    pub throughput_note: String,
    /// How many hosts were done by when.
    pub done: Curves,
    /// What share of packets and of messages took at most how long.
    pub latency: Curves,
    /// The most bytes that waited at the end of a link, which is the end of the second scale.
    pub most_waiting: f64,
    /// The runs.
    pub runs: Vec<Run>,
}

impl Report<'_> {
    /// The page.
    pub fn page(&self) -> String {
        let title = format!("OPTIQ simulation: {}; model {}", self.heading, self.model);
        let style = curves::style() + &bars::style() + &heat::style() + include_str!("report.css");
        let (heads, rows) = self.figures.split_first().map_or((&[][..], &[][..]), |(heads, rows)| (&heads[..], rows));
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let several = self.runs.len() > 1;
        let body = html! {
            main {
                header {
                    h1 #title { (self.heading) }
                    p #subtitle { (self.subtitle) }
                    @for run in &self.runs {
                        @if let Some(why) = &run.ended { p.note.partial { (partial(&run.name, why)) } }
                    }
                }
                (section("times-heading", "Time against the bound", self.times.svg(), TIMES))
                (section("moved-heading", "Useful and forwarded bytes", self.moved.svg(), MOVED))
                @if several {
                    div.runs.roles {
                        @for (i, run) in self.runs.iter().enumerate() { span { (curves::key(i)) (run.marked()) } }
                    }
                }
                (section("throughput-heading", "How busy the links are", self.throughput.svg(), &self.throughput_note))
                (section("done-heading", "When hosts were done", self.done.svg(), DONE))
                (section("latency-heading", "Latency", self.latency.svg(), LATENCY))
                section aria-labelledby="links-heading" {
                    h2 #links-heading { "Links and their buffers over time" }
                    div.legend { (scales(self.most_waiting)) }
                    p.note { (LINKS) }
                    @for run in &self.runs {
                        @if several { h3.run { (run.marked()) } }
                        div.panels { @for map in &run.links { div.panel { (links(map)) } } }
                        @if let Some(queues) = &run.queues { div.panels { @for kind in queues { (queue_table(kind)) } } }
                    }
                }
                section aria-labelledby="figures-heading" {
                    h2 #figures-heading { "All figures" }
                    div.scroll.figures { (table::markup(&heads, heads.len(), rows.iter().cloned())) }
                }
            }
        };
        page::page(&title, Drawn::Already, &style, body)
    }
}

fn partial(name: &str, why: &str) -> String {
    format!(
        "{name} is partial: it was ended before its end ({why}). All that is shown of it is what had happened by then."
    )
}

/// A picture with a heading and a note.
fn section(id: &str, heading: &str, picture: Option<Markup>, note: &str) -> Markup {
    html! {
        section aria-labelledby=(id) {
            h2 id=(id) { (heading) }
            div.panel.wide {
                @match picture {
                    Some(svg) => (svg),
                    None => p.note { "Nothing was recorded." },
                }
            }
            p.note { (note) }
        }
    }
}

/// The scales of both maps.
fn scales(most_waiting: f64) -> Markup {
    let (half, most) = (table::bytes(most_waiting / 2.0), table::bytes(most_waiting));
    html! {
        (heat::legend("bytes, as a share of what the link can carry", "50 %", "100 %"))
        (heat::legend("bytes that wait in the buffers at the link's end", &half, &most))
    }
}

fn links(map: &LinkMap) -> Markup {
    let (all, what) = (table::count(map.all, "link"), map.what);
    html! {
        @match &map.heat {
            Some(heat) => {
                @let shown = heat.rows.len();
                h4 { @if shown < map.all { (shown) " of " } (all) " that " (what) }
                (heat.svg())
            }
            None => p.note { "No link " (what) "." }
        }
    }
}

fn queue_table(queues: &QueueTable) -> Markup {
    html! {
        div.panel.scroll {
            h4 { (queues.heading) }
            (table::markup(&queues.heads, queues.heads.len(), queues.rows.iter().cloned()))
        }
    }
}

const TIMES: &str = "A bar is the time until the last host was done. The thick line in it is the run's own bound: the busiest link's \
    bytes over its capacity, with headers and protocol; no execution along the same paths is faster.";

const MOVED: &str = "Full: the bytes of the demands that arrived where they belong, which are the same for every run that came to its \
    end. Pale: bytes that hosts received only to send them on. A path that is longer without a host that forwards makes neither \
    more; behind each bar is what links carried in all, headers included, a byte once on each link.";

const DONE: &str = "A host that has nothing to do is done at once; in a partial run this is not known, and not shown.";

const LATENCY: &str = "Packets: from the first bit out of the source's memory to the last one in the destination's. Messages: \
    from the order to send until the receiver's processor has dealt with it.";

const LINKS: &str = "A row is a link, the one with the most in all on top; each run has its own choice of links, and its own \
    time axis. All runs have the same colours. A packet counts where it \
    begins, which leaves gaps where intervals are not much longer than a packet takes. Pointing at a row tells its mean. \
    Tables have the queues in which the most waited at any time: packets in the buffer of a virtual channel, at a link's end or \
    between a host's memory and its router, and messages in a host's memory until they are put on the link.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::curves::{Curve, Panel};

    fn no_bars() -> Bars {
        let bar = |number| bars::Bar {
            name: "<run>".into(),
            number,
            parts: vec![1.0],
            least: None,
            words: String::new(),
            tip: String::new(),
        };
        Bars {
            label: "l".into(),
            horizontal: "h".into(),
            measure: bars::Measure::Time,
            bars: vec![bar(0)],
            bound: None,
        }
    }

    fn curves(points: Vec<(f64, f64)>) -> Curves {
        let curve = Curve { number: 0, name: "<run>".into(), points, end: 2.0 };
        Curves {
            label: "l".into(),
            vertical: "v".into(),
            horizontal: "h".into(),
            logarithmic: false,
            high: None,
            panels: vec![Panel { title: String::new(), curves: vec![curve] }],
        }
    }

    #[test]
    fn names_are_escaped_and_partial_runs_say_so() {
        let map = |what| LinkMap { what, all: 0, heat: None };
        let run = |ended: Option<&str>| Run {
            name: "<run>".into(),
            ended: ended.map(String::from),
            links: [map("carried something"), map("had something wait")],
            queues: None,
        };
        let figures = [vec!["".to_string(), "<run>".into()], vec!["time".to_string(), "2 s".into()]];
        let report = |runs| Report {
            heading: "h".into(),
            subtitle: "s".into(),
            model: "bgq",
            figures: &figures,
            times: no_bars(),
            moved: no_bars(),
            throughput: curves(vec![(0.0, 1.0)]),
            throughput_note: "n".into(),
            done: curves(Vec::new()),
            latency: curves(Vec::new()),
            most_waiting: 0.0,
            runs,
        };
        let page = report(vec![run(Some("--until"))]).page();
        assert!(
            page.contains("is partial: it was ended before its end (--until)") && !page.contains("<run>"),
            "{page}"
        );
        assert_eq!((page.matches("Nothing was recorded").count(), page.matches("No link carried").count()), (2, 1));
        assert!(!page.contains("class=\"runs roles\""));
        // Pictures first, numbers last.
        let at = |part: &str| page.find(&format!("id=\"{part}-heading\"")).unwrap_or(0);
        assert!(
            at("times") > 0
                && at("times") < at("moved")
                && at("moved") < at("throughput")
                && at("links") < at("figures")
        );
        assert!(report(vec![run(None), run(None)]).page().contains("class=\"runs roles\""));
    }
}

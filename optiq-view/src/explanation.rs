//! The page of a plan that is explained: which links bind and who crosses them, and which paths the bytes of each demand take.
//! It needs no script.

use crate::bars::{self, Bar, Bars, Measure};
use crate::page::{self, Drawn, card};
use crate::sketch::{self, Sketch};
use crate::{colours, curves, heat, table};
use maud::{Markup, html};
use optiq_net::Network;

/// More demands than these are not shown.
const MAX_DEMANDS: usize = 64;

/// One of the most loaded links.
pub struct LoadedLink {
    /// Its ends.
    pub name: String,
    /// How long it is busy, in seconds.
    pub seconds: f64,
    /// How long it would be on the network's own routes, in seconds.
    pub direct_seconds: f64,
    /// The demands that cross it, with their bytes.
    pub crossing: Vec<(String, u64)>,
}

/// A path of a demand.
pub struct ExplainedPath {
    /// Its bytes.
    pub bytes: u64,
    /// The vertices in order, hosts that forward in brackets.
    pub line: String,
    /// How long it is, how many hosts forward, and what its slowest link is.
    pub words: String,
}

/// A demand with its paths.
pub struct ExplainedDemand {
    /// From whom, to whom, and what.
    pub heading: String,
    /// The network's own route.
    pub direct_route: String,
    /// In the order of the plan.
    pub paths: Vec<ExplainedPath>,
}

/// What the page shows.
pub struct Explanation<'a> {
    /// The network.
    pub net: &'a Network,
    /// Demands and network.
    pub heading: String,
    /// The planner, and what else there is to know.
    pub subtitle: String,
    /// Congestion of the plan, of the network's own routes, and the bound, in seconds.
    pub seconds: [f64; 3],
    /// How far the plan is above the bound: 0.01 is 1 %.
    pub gap: f64,
    /// Why: a sentence each.
    pub why: Vec<String>,
    /// Per link of the network: bytes.
    pub bytes: &'a [u64],
    /// The most loaded links, the worst first.
    pub links: Vec<LoadedLink>,
    /// The demands.
    pub demands: Vec<ExplainedDemand>,
}

impl Explanation<'_> {
    /// The page.
    pub fn page(&self) -> String {
        let [plan, direct, bound] = self.seconds;
        let times = if plan > 0.0 { direct / plan } else { 1.0 };
        let gap = format!("the plan is {} above it", table::percent(self.gap));
        let more = self.demands.len().saturating_sub(MAX_DEMANDS);
        let body = html! {
            main {
                header {
                    h1 #title { (self.heading) }
                    p #subtitle { (self.subtitle) }
                }
                section.cards aria-label="Headline numbers" {
                    (card(&table::seconds(plan), "the worst link is busy", Some(&format!("{times:.2} times lighter than the own routes"))))
                    (card(&table::seconds(direct), "on the network's own routes", None))
                    (card(&table::seconds(bound), "bound: no routing is below", Some(&gap)))
                }
                section aria-labelledby="why-heading" {
                    h2 #why-heading { "Why" }
                    ul { @for why in &self.why { li { (why) } } }
                }
                section aria-labelledby="picture-heading" {
                    h2 #picture-heading { "Where the bytes go" }
                    (self.picture())
                }
                section aria-labelledby="links-heading" {
                    h2 #links-heading { "The most loaded links" }
                    @if let Some(svg) = self.loaded().svg() { div.panel { (svg) } }
                    p.note {
                        "A bar is how long the link is busy under the plan; the thick line in it, on the network's own routes; \
                         the dashed line is the bound."
                    }
                    @for link in &self.links { (crossing(link)) }
                }
                section aria-labelledby="demands-heading" {
                    h2 #demands-heading { "Which paths the bytes take" }
                    @for demand in self.demands.iter().take(MAX_DEMANDS) { (paths(demand)) }
                    @if more > 0 { p.note { (table::count(more, "demand")) " more; --from and --to pick them." } }
                }
                footer #footer { "optiq " (env!("CARGO_PKG_VERSION")) ", network fingerprint " (self.net.fingerprint().to_string()) }
            }
        };
        let style =
            [&colours::series(), &curves::style(), &heat::style(), &bars::style(), sketch::STYLE, STYLE].concat();
        page::page(&format!("OPTIQ explains: {}", self.heading), Drawn::Already, &style, body)
    }

    /// Every link by how long it is busy.
    fn picture(&self) -> Markup {
        let seconds = || self.net.links().iter().zip(self.bytes).map(|(link, &bytes)| bytes as f64 / link.capacity);
        let worst = seconds().fold(0.0, f64::max);
        let load = |(busy, &bytes): (f64, &u64)| {
            let share = if worst > 0.0 { busy / worst } else { 0.0 };
            (share, format!("{}, {}", table::bytes(bytes as f64), table::seconds(busy)))
        };
        let sketch = Sketch {
            net: self.net,
            label: "The network with the load of every link".into(),
            loads: seconds().zip(self.bytes).map(load).collect(),
            marked: Vec::new(),
            ends: Vec::new(),
        };
        match sketch.svg() {
            Some(svg) => html! {
                div.legend { (heat::legend("how long a link is busy", &table::seconds(worst / 2.0), &table::seconds(worst))) }
                div.panel { (svg) }
            },
            None => html! {
                p.note { "The network is too large to be drawn link by link; optiq plan --html shows the loads of all links as maps." }
            },
        }
    }

    fn loaded(&self) -> Bars {
        let bar = |link: &LoadedLink| {
            let [plan, direct] = [link.seconds, link.direct_seconds].map(table::seconds);
            let words = format!("{plan}, on own routes {direct}; {}", table::count(link.crossing.len(), "demand"));
            Bar {
                name: link.name.clone(),
                number: 3,
                parts: vec![link.seconds],
                least: Some(link.direct_seconds),
                tip: format!("{}: {words}", link.name),
                words,
            }
        };
        let bound = self.seconds[2];
        Bars {
            label: "How long the most loaded links are busy".into(),
            horizontal: "time that the link is busy".into(),
            measure: Measure::Time,
            bars: self.links.iter().map(bar).collect(),
            bound: (bound > 0.0).then(|| (bound, format!("bound: {}", table::seconds(bound)))),
        }
    }
}

/// Who crosses a link.
fn crossing(link: &LoadedLink) -> Markup {
    let rows = link.crossing.iter().map(|(demand, bytes)| vec![demand.clone(), table::bytes(*bytes as f64)]);
    html! {
        details {
            summary { (link.name) ": " (table::count(link.crossing.len(), "demand")) (if link.crossing.len() == 1 { " crosses it" } else { " cross it" }) }
            div.scroll.facts { (table::markup(&["demand", "bytes"], 2, rows)) }
        }
    }
}

/// The paths of a demand: a bar of their shares, and a line each.
fn paths(demand: &ExplainedDemand) -> Markup {
    let bars = Bars {
        label: format!("Bytes by path: {}", demand.heading),
        horizontal: "bytes".into(),
        measure: Measure::Bytes,
        bars: (demand.paths.iter().enumerate())
            .map(|(i, path)| Bar {
                name: format!("path {}", i + 1),
                number: 3,
                parts: vec![path.bytes as f64],
                least: None,
                words: format!("{}, {}", table::bytes(path.bytes as f64), path.words),
                tip: path.line.clone(),
            })
            .collect(),
        bound: None,
    };
    html! {
        div.panel.demand {
            h3 { (demand.heading) }
            p.note { "the network's own route: " (demand.direct_route) }
            @if demand.paths.len() > 1 { @if let Some(svg) = bars.svg() { (svg) } }
            ol { @for path in &demand.paths { li { code { (path.line) } @if demand.paths.len() == 1 { ": " (path.words) } } } }
        }
    }
}

const STYLE: &str = "\
.demand { margin-top: 12px; }
.demand ol { margin: 6px 0 0; padding-left: 1.6em; font-size: 0.88rem; overflow-wrap: anywhere; }
details { margin-top: 6px; font-size: 0.9rem; }
summary { cursor: pointer; }
.facts table { width: auto; }
@media print { details::details-content { content-visibility: visible; height: auto; } }
";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn a_page_has_links_paths_and_reasons_and_names_stay_text() {
        let net = Network::from_spec("mesh:1x3").unwrap();
        let path = |line: &str| ExplainedPath { bytes: 4, line: line.into(), words: "2 hops".into() };
        let page = |demands: usize| {
            let explanation = Explanation {
                net: &net,
                heading: "<h>".into(),
                subtitle: "s".into(),
                seconds: [2.0, 3.0, 1.0],
                gap: 1.0,
                why: vec!["the bound is due to <a cut>".into()],
                bytes: &[8, 0, 4, 0],
                links: vec![LoadedLink {
                    name: "h0 \u{2192} h1".into(),
                    seconds: 2.0,
                    direct_seconds: 3.0,
                    crossing: vec![("h0 \u{2192} h2".into(), 8)],
                }],
                demands: (0..demands)
                    .map(|i| ExplainedDemand {
                        heading: format!("demand {i}"),
                        direct_route: "h0 h1 h2".into(),
                        paths: vec![path("h0 [h1] h2"), path("h0 <b> h2")],
                    })
                    .collect(),
            };
            explanation.page()
        };
        let shown = page(1);
        assert!(
            shown.contains("&lt;h&gt;") && shown.contains("&lt;a cut&gt;") && shown.contains("h0 &lt;b&gt; h2"),
            "{shown}"
        );
        assert!(!shown.contains("<b> h2") && !shown.contains("NaN") && !shown.contains("http"));
        assert!(shown.contains("1.50 times lighter") && shown.contains("the plan is 100.0 % above it"));
        assert_eq!((shown.matches("class=\"demand").count(), shown.matches("class=\"panel demand\"").count()), (0, 1));
        let many = page(MAX_DEMANDS + 2);
        assert!(many.contains("2 demands more") && many.matches("panel demand").count() == MAX_DEMANDS);
    }
}

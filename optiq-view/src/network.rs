//! The page of a network: what it is made of, how it looks, how far hosts are from each other. It needs no script.

use crate::axis::number;
use crate::bars::{self, Bar, Bars, Measure};
use crate::maps::Maps;
use crate::page::{self, Drawn, card};
use crate::sketch::{self, Sketch};
use crate::{colours, curves, heat, table};
use maud::{Markup, html};
use optiq_net::{LinkId, Network, NodeId, units};

/// A route in the picture.
pub struct Route {
    /// What it is, in a sentence.
    pub words: String,
    /// Its links.
    pub links: Vec<LinkId>,
}

/// What the page shows.
pub struct NetworkPage<'a> {
    /// The network.
    pub net: &'a Network,
    /// Facts about it, each with its name: `["routing", "dimension by dimension"]`.
    pub facts: &'a [Vec<String>],
    /// The longest distance between two hosts, in hops.
    pub diameter: u32,
    /// A route that was asked for.
    pub route: Option<Route>,
}

impl NetworkPage<'_> {
    /// The page.
    pub fn page(&self) -> String {
        let net = self.net;
        let capacity: f64 = net.links().iter().map(|l| l.capacity).sum();
        let numbers = [
            (net.hosts().to_string(), "hosts"),
            ((net.vertices() - net.hosts()).to_string(), "switches"),
            (net.physical_links().to_string(), "links one way"),
            (gigabytes(capacity), "all links in sum"),
            (table::count(self.diameter as usize, "hop"), "the longest distance of two hosts"),
        ];
        let body = html! {
            main {
                header {
                    h1 #title { (net.title()) }
                    p #subtitle { (net.spec()) }
                }
                section.cards aria-label="Headline numbers" { @for (number, what) in &numbers { (card(number, what, None)) } }
                section aria-labelledby="picture-heading" {
                    h2 #picture-heading { "The network" }
                    @if let Some(route) = &self.route { p #route { (route.words) } }
                    (self.picture())
                }
                section aria-labelledby="distances-heading" {
                    h2 #distances-heading { "How far hosts are" }
                    @if let Some(svg) = self.distances().svg() { div.panel { (svg) } }
                }
                section aria-labelledby="links-heading" {
                    h2 #links-heading { "Links" }
                    div.scroll { (self.links()) }
                }
                section aria-labelledby="facts-heading" {
                    h2 #facts-heading { "All facts" }
                    div.scroll.facts { (table::markup(&["", ""], 1, self.facts.iter().cloned())) }
                }
                footer #footer { "optiq " (env!("CARGO_PKG_VERSION")) ", network fingerprint " (net.fingerprint().to_string()) }
            }
        };
        let style =
            [&colours::series(), &curves::style(), &heat::style(), &bars::style(), sketch::STYLE, STYLE].concat();
        page::page(&format!("OPTIQ network: {}", net.title()), Drawn::Already, &style, body)
    }

    fn picture(&self) -> Markup {
        let links = self.route.as_ref().map_or(&[][..], |route| &route.links[..]);
        let ends = links.first().zip(links.last()).map(|(a, b)| [self.net.link(*a).from, self.net.link(*b).to]);
        let sketch = Sketch {
            net: self.net,
            label: format!("The network {}", self.net.title()),
            loads: Vec::new(),
            marked: links.iter().map(|l| l.index()).collect(),
            ends: ends.map_or_else(Vec::new, |ends| ends.to_vec()),
        };
        let circles = "Circles are hosts, squares switches. Every link is drawn once for each direction and keeps to its right-hand \
                       side; links that close a ring are stubs, one at each end.";
        match sketch.svg() {
            Some(svg) => html! { div.panel { (svg) } p.note { (circles) } },
            None => {
                html! { p.note { "It is too large to be drawn link by link; its links are listed by kind below." } }
            }
        }
    }

    /// How many hosts are how far from the first one.
    fn distances(&self) -> Bars {
        let net = self.net;
        let mut hosts = vec![0usize; 1];
        // Towards the first host, which is the same distance on every network that is not built of one-way links.
        let distances = if net.hosts() > 0 { net.distances_to(NodeId(0)) } else { Vec::new() };
        for &hops in distances.iter().take(net.hosts()).skip(1).filter(|&&hops| hops != u32::MAX) {
            hosts.resize(hosts.len().max(hops as usize + 1), 0);
            hosts[hops as usize] += 1;
        }
        let bar = |(hops, &count): (usize, &usize)| Bar {
            name: table::count(hops, "hop"),
            number: 3,
            parts: vec![count as f64],
            least: None,
            words: table::count(count, "host"),
            tip: format!("{} at {} to {}", table::count(count, "host"), table::count(hops, "hop"), net.name(NodeId(0))),
        };
        Bars {
            label: "Hosts by their distance to the first one".into(),
            horizontal: format!(
                "hosts by their distance to {}",
                if net.hosts() > 0 { net.name(NodeId(0)) } else { "a host" }
            ),
            measure: Measure::Count,
            bars: hosts.iter().enumerate().filter(|(_, count)| **count > 0).map(bar).collect(),
            bound: None,
        }
    }

    /// A row for each direction or kind of links.
    fn links(&self) -> Markup {
        let maps = Maps::of(self.net);
        let rows = maps.kinds().into_iter().map(|(label, links)| {
            let links = || links.iter().map(|&link| &self.net.links()[link]);
            let lane = || links().map(|l| l.capacity / f64::from(l.lanes));
            let (low, high) = lane().fold((f64::INFINITY, 0.0f64), |(low, high), v| (low.min(v), high.max(v)));
            let rate = match low < high {
                true => format!("{} to {}", units::format_rate(low), units::format_rate(high)),
                false => units::format_rate(high),
            };
            let lanes: u64 = links().map(|l| u64::from(l.lanes)).sum();
            let all = gigabytes(links().map(|l| l.capacity).sum());
            vec![label.to_owned(), lanes.to_string(), rate, all]
        });
        let what = if self.net.geometry().grid().is_some() { "direction" } else { "from, to" };
        table::markup(&[what, "links", "capacity of a link", "in sum"], 4, rows)
    }
}

/// A sum of rates, in bytes per second, for people.
fn gigabytes(rate: f64) -> String {
    format!("{} GB/s", number(rate / 1e9))
}

const STYLE: &str =
    ".facts td:first-child { width: 12em; }\n.facts th, .facts td { text-align: left; white-space: normal; }\n";

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn page(spec: &str, route: Option<Route>) -> String {
        let net = Network::from_spec(spec).unwrap();
        let facts = vec![vec!["routing".to_string(), "<a>".into()]];
        NetworkPage { net: &net, facts: &facts, diameter: net.diameter(), route }.page()
    }

    #[test]
    fn a_torus_has_its_picture_its_distances_and_its_directions() {
        let page = page("torus:4x4", Some(Route { words: "h0 to h1".into(), links: vec![LinkId(0)] }));
        assert!(page.contains("class=\"sketch\"") && page.contains("&lt;a&gt;") && !page.contains("NaN"), "{page}");
        assert_eq!(page.matches("class=\"marked\"").count(), 1);
        // From 1 to 4 hops: 4, 6, 4 and 1 of 15 hosts.
        for words in
            ["4 hosts at 1 hop to h0", "6 hosts at 2 hops to h0", "4 hosts at 3 hops to h0", "1 host at 4 hops to h0"]
        {
            assert!(page.contains(words), "{words}");
        }
        assert_eq!(page.matches("<td>16</td>").count(), 4, "{page}");
    }

    #[test]
    fn large_and_tiny_networks() {
        for spec in ["fattree:k=12", "dragonfly:p=4,a=8,h=4", "bgq:512", "mesh:1", "star:3"] {
            let page = page(spec, None);
            assert!(page.contains("links-heading") && !page.contains("NaN") && !page.contains("inf "), "{spec}");
        }
    }
}

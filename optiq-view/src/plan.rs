//! The page of a plan: one self-contained HTML page with the link loads of the network's own routes beside the plan's, and how
//! bytes spread over links (thesis figure 9).
//!
//! The page holds its data in one block `<script type="application/json" id="data">`, which other tools can read, and
//! draws it in the browser. Where the vertices lie is computed here: a network that is small enough is drawn as it
//! is (`layout`), a larger one as one map for each direction of travel (`maps`). How the planner closed
//! its gap is a chart of its own (`gap`).

use crate::context::Context;
use crate::layout::Layout;
use crate::maps::Maps;
use crate::page::{self, Drawn};
use crate::{gap, table};
use maud::{Markup, html};
use optiq_net::{LinkLoad, Network, NodeId};
use optiq_solver::{Plan, Report};
use serde::Serialize;
use std::io;
use thiserror::Error;

/// The most bundles of links in a picture; a page with more is of no use to anybody.
const MAX_LINKS: usize = 1 << 18;

/// A network that is too large to be drawn.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
#[error("the network has {found} links in different places; a picture can show at most {MAX_LINKS}")]
pub struct TooManyLinks {
    /// Bundles of links of the network.
    pub found: usize,
}

/// Refuses networks that are too large to be drawn, before any work is done.
///
/// # Errors
/// [`TooManyLinks`], which says how many it has and how many can be shown.
pub fn check_size(net: &Network) -> Result<(), TooManyLinks> {
    match net.links().len() {
        found if found > MAX_LINKS => Err(TooManyLinks { found }),
        _ => Ok(()),
    }
}

/// What the page shows.
#[derive(Serialize)]
pub struct Picture<'a> {
    format: &'static str,
    optiq_version: &'static str,
    #[serde(flatten)]
    context: &'a Context,
    title: &'a str,
    /// Sizes are shown with binary units.
    binary_units: bool,
    planner: &'a str,
    demand_count: usize,
    paths: usize,
    forwarders: usize,
    bound_seconds: f64,
    gap: f64,
    binding: &'a str,
    unit_capacity_bytes_per_second: f64,
    /// Host names, then switch names.
    names: Vec<&'a str>,
    hosts: usize,
    /// Lengths of the grid's dimensions, for coordinates; empty if there is no grid.
    grid_lengths: &'a [u32],
    /// Vertices that send, receive, forward.
    sources: Vec<NodeId>,
    destinations: Vec<NodeId>,
    forwarding: Vec<NodeId>,
    links: Links,
    loads: [Load<'a>; 2],
    layout: Option<Layout>,
    maps: Option<Maps>,
    /// How the gap closed; not among the data.
    #[serde(skip)]
    gap_chart: Option<Markup>,
}

/// Bundles of links, one column for each property.
#[derive(Serialize)]
struct Links {
    from: Vec<u32>,
    to: Vec<u32>,
    lanes: Vec<u32>,
    /// Of the whole bundle, in units of the slowest link's capacity.
    capacity_units: Vec<f64>,
}

/// What lies on the links.
#[derive(Serialize)]
struct Load<'a> {
    name: &'a str,
    congestion_seconds: f64,
    bytes: &'a [u64],
    paths: &'a [u64],
}

impl<'a> Picture<'a> {
    /// The picture of a plan with its report.
    pub fn new(net: &'a Network, context: &'a Context, plan: &'a Plan, report: &'a Report) -> Self {
        let unit = if net.links().is_empty() { 1.0 } else { net.unit_capacity() };
        let layout = Layout::of(net);
        let maps = if layout.is_none() { Some(Maps::of(net)) } else { None };
        let load = |name, congestion_seconds, load: &'a LinkLoad| Load {
            name,
            congestion_seconds,
            bytes: &load.bytes,
            paths: &load.paths,
        };
        let moving = || plan.demands.iter().filter(|d| d.bytes > 0);
        let between = |stops: &'a [NodeId]| stops.get(1..stops.len().saturating_sub(1)).unwrap_or_default();
        Picture {
            format: "optiq picture 1",
            optiq_version: env!("CARGO_PKG_VERSION"),
            context,
            title: net.title(),
            binary_units: table::has_binary_units(),
            planner: &plan.planner,
            demand_count: report.demand_count,
            paths: report.paths,
            forwarders: report.forwarders,
            bound_seconds: plan.bound_seconds,
            gap: plan.gap(),
            binding: &plan.binding,
            unit_capacity_bytes_per_second: unit,
            names: (0..net.vertices() as u32).map(|v| net.name(NodeId(v))).collect(),
            hosts: net.hosts(),
            grid_lengths: net.geometry().grid().map_or(&[], |g| g.dims()),
            sources: sorted(moving().map(|d| d.src)),
            destinations: sorted(moving().map(|d| d.dst)),
            forwarding: sorted(plan.flows.iter().flatten().flat_map(|f| between(&f.stops)).copied()),
            links: Links {
                from: net.links().iter().map(|l| l.from.0).collect(),
                to: net.links().iter().map(|l| l.to.0).collect(),
                lanes: net.links().iter().map(|l| l.lanes).collect(),
                capacity_units: net.links().iter().map(|l| l.capacity / unit).collect(),
            },
            loads: [
                load("direct", plan.direct_congestion_seconds, &report.direct_load),
                load(&plan.planner, plan.congestion_seconds, &report.load),
            ],
            layout,
            maps,
            gap_chart: None,
        }
    }

    /// The picture with how the planner closed its gap: seconds since its start, and the congestion and the bound that it
    /// had by then, both in seconds; `goal` is the gap that was asked for (0.01 is 1 %). Nothing is added for no moments.
    pub fn with_trace(self, moments: &[(f64, f64, f64)], goal: f64) -> Self {
        Picture { gap_chart: gap::chart(moments, goal), ..self }
    }

    /// The page.
    ///
    /// # Errors
    /// If the data cannot be serialised, which only a number that is not finite could bring about.
    pub fn page(&self) -> io::Result<String> {
        let data = page::data(self)?;
        let title = format!("{}: {} beside direct", self.title, self.planner);
        let body = html! {
            main {
                header {
                    h1 #title {}
                    p #subtitle {}
                }
                section.cards #cards aria-label="Headline numbers" {}
                section aria-labelledby="loads-heading" {
                    h2 #loads-heading { "Load of every link" }
                    div.legend #legend {}
                    div.panels #panels {}
                    p.note #reading {}
                }
                section aria-labelledby="histogram-heading" {
                    h2 #histogram-heading { "How the bytes spread over the links" }
                    div #histogram {}
                }
                @if let Some(chart) = &self.gap_chart {
                    section aria-labelledby="trace-heading" {
                        h2 #trace-heading { "How the gap closed" }
                        (chart)
                    }
                }
                section aria-labelledby="tables-heading" {
                    h2 #tables-heading { "Most loaded links" }
                    div.panels #tables {}
                }
                footer #footer {}
            }
            (page::drawing(&data, &[include_str!("panels.js"), include_str!("histogram.js"), include_str!("page.js")]))
        };
        Ok(page::page(&title, Drawn::ByScript, gap::STYLE, body))
    }
}

fn sorted(nodes: impl Iterator<Item = NodeId>) -> Vec<NodeId> {
    let mut nodes: Vec<NodeId> = nodes.collect();
    nodes.sort_unstable();
    nodes.dedup();
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_has_a_section_of_its_own() {
        let net = Network::from_spec("torus:4x4").unwrap();
        let demands = optiq_solver::demands::parse("pattern:disjoint", &net, 1 << 20).unwrap();
        let planned = optiq_solver::pipeline::run(&net, &demands, &Default::default()).unwrap();
        let context = Context::new(&net, "pattern:disjoint", &demands);
        let picture = || Picture::new(&net, &context, &planned.plan, &planned.report);
        assert!(!picture().page().unwrap().contains("trace-heading"));
        assert!(!picture().with_trace(&[], 0.01).page().unwrap().contains("trace-heading"));
        let page = picture().with_trace(&[(0.0, 2e-3, 1e-3), (0.4, 1e-3, 1e-3)], 0.01).page().unwrap();
        assert_eq!(page.matches("id=\"trace-heading\"").count(), 1);
        assert!(page.contains("the gap falls to 0 %.") && !page.contains("{{"));
    }
}

//! What is explained, as a page.

use super::document::{DemandDocument, ExplainDocument, LinkDocument, PathDocument};
use crate::arguments::beside;
use optiq_net::Network;
use optiq_view::explanation::{ExplainedDemand, ExplainedPath, Explanation, LoadedLink};
use optiq_view::table;

impl ExplainDocument {
    /// The page; `bytes` are those on each link.
    pub fn page(&self, net: &Network, bytes: &[u64]) -> String {
        let context = &self.context;
        let beside = beside(context);
        let binding = match self.binding_links {
            1 => "1 link has the worst load".to_owned(),
            n => format!("{n} links have the worst load"),
        };
        let why = vec![binding, format!("the bound is due to {}", self.binding), self.why().trim_end().to_owned()];
        Explanation {
            net,
            heading: format!("{} on {}{beside}", context.demands, context.topology),
            subtitle: format!("planner {}; {} in all", self.planner, table::bytes(context.demand_bytes as f64)),
            seconds: [self.congestion_seconds, self.direct_congestion_seconds, self.bound_seconds],
            gap: self.gap,
            why,
            bytes,
            links: self.most_loaded_links.iter().map(LinkDocument::shown).collect(),
            demands: self.demands_explained.iter().map(DemandDocument::shown).collect(),
        }
        .page()
    }
}

/// From one end to the other.
fn between(from: &str, to: &str) -> String {
    format!("{from} \u{2192} {to}")
}

impl LinkDocument {
    fn shown(&self) -> LoadedLink {
        LoadedLink {
            name: between(&self.from, &self.to),
            seconds: self.seconds,
            direct_seconds: self.direct_seconds,
            crossing: self.demands.iter().map(|d| (between(&d.from, &d.to), d.bytes)).collect(),
        }
    }
}

impl DemandDocument {
    fn shown(&self) -> ExplainedDemand {
        let (bytes, paths) = (table::bytes(self.bytes as f64), table::count(self.paths.len(), "path"));
        ExplainedDemand {
            heading: format!("{}: {bytes} on {paths}", between(&self.from, &self.to)),
            direct_route: self.direct_route.join(" "),
            paths: self.paths.iter().map(PathDocument::shown).collect(),
        }
    }
}

impl PathDocument {
    fn shown(&self) -> ExplainedPath {
        let [from, to] = &self.slowest_link;
        let slowest = format!("slowest {} for {}", between(from, to), table::seconds(self.slowest_link_seconds));
        let words = format!("{}, {}", table::count(self.hops, "hop"), slowest);
        ExplainedPath { bytes: self.bytes, line: self.line.clone(), words }
    }
}

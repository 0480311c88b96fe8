//! What is explained, as a document and as text.

use crate::arguments::{beside, default_mark};
use crate::failure::Failure;
use crate::names;
use optiq_net::{BusyLink, LinkId, LinkLoad, Network, NodeId};
use optiq_solver::{ClassFigures, Flow, Plan};
use optiq_view::context::Context;
use optiq_view::table;
use serde::Serialize;
use std::collections::BTreeMap;

/// Demands whose paths are printed for people, and demands named at a link.
const SHOWN: usize = 6;
/// A link whose load is within this share of the worst one's binds, too.
const BINDING: f64 = 1e-3;

#[derive(Serialize)]
pub(super) struct ExplainDocument {
    #[serde(flatten)]
    pub(super) context: Context,
    pub(super) planner: String,
    pub(super) congestion_seconds: f64,
    pub(super) direct_congestion_seconds: f64,
    pub(super) bound_seconds: f64,
    pub(super) gap: f64,
    pub(super) binding: String,
    pub(super) classes: Vec<ClassFigures>,
    #[serde(flatten)]
    pub(super) times: Times,
    /// Bundles whose load is the worst there is.
    pub(super) binding_links: usize,
    pub(super) most_loaded_links: Vec<LinkDocument>,
    pub(super) demands_explained: Vec<DemandDocument>,
    /// As the file of background load says.
    pub(super) links_taken_for_busy: Vec<BusyDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) html: Option<String>,
}

/// Where the plan came from, and how long that took.
#[derive(Clone, Copy, Serialize)]
#[serde(untagged)]
pub(super) enum Times {
    /// From a plan file.
    Read { read_seconds: f64 },
    /// Planned now; candidates are searched or read from their file.
    Planned { candidates_seconds: f64, plan_seconds: f64, total_seconds: f64 },
}

#[derive(Serialize)]
pub(super) struct LinkDocument {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) lanes: u32,
    pub(super) bytes: u64,
    pub(super) direct_bytes: u64,
    pub(super) seconds: f64,
    #[serde(skip)]
    pub(super) direct_seconds: f64,
    pub(super) share_of_worst: f64,
    pub(super) paths: u64,
    pub(super) demands: Vec<CrossingDocument>,
}

#[derive(Serialize)]
pub(super) struct CrossingDocument {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) bytes: u64,
}

/// A link that a program took for busy.
#[derive(Serialize)]
pub(super) struct BusyDocument {
    from: String,
    to: String,
    share_left: f64,
    /// In UTC.
    since: String,
}

#[derive(Serialize)]
pub(super) struct DemandDocument {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) bytes: u64,
    pub(super) direct_route: Vec<String>,
    pub(super) paths: Vec<PathDocument>,
}

#[derive(Serialize)]
pub(super) struct PathDocument {
    pub(super) bytes: u64,
    pub(super) share: f64,
    pub(super) hops: usize,
    pub(super) nodes: Vec<String>,
    pub(super) forwarders: Vec<String>,
    /// The vertices of each stretch that the network carries by itself.
    pub(super) legs: Vec<Vec<String>>,
    /// The most loaded link on the path.
    pub(super) slowest_link: [String; 2],
    /// How long that link is busy, with all that it carries.
    pub(super) slowest_link_seconds: f64,
    #[serde(skip)]
    pub(super) line: String,
}

/// A plan with its loads.
pub(super) struct Explainer<'a> {
    pub(super) net: &'a Network,
    pub(super) plan: &'a Plan,
    pub(super) load: LinkLoad,
    pub(super) direct: LinkLoad,
}

impl<'a> Explainer<'a> {
    pub(super) fn new(net: &'a Network, plan: &'a Plan) -> Result<Self, Failure> {
        let direct = net.route_load(plan.demands.iter().map(|d| (d.src, d.dst, d.bytes)))?;
        Ok(Explainer { net, plan, load: plan.link_load(net)?, direct })
    }

    fn seconds(&self, link: LinkId) -> f64 {
        self.load.bytes[link.index()] as f64 / self.net.link(link).capacity
    }

    pub(super) fn document(
        &self,
        context: Context,
        times: Times,
        chosen: &[usize],
        links: usize,
    ) -> Result<ExplainDocument, Failure> {
        let plan = self.plan;
        let worst = plan.congestion_seconds;
        let binds = |l: &LinkId| worst > 0.0 && self.seconds(*l) >= worst * (1.0 - BINDING);
        let all = || (0..self.net.links().len() as u32).map(LinkId);
        let mut heaviest: Vec<LinkId> = all().filter(|l| self.load.bytes[l.index()] > 0).collect();
        heaviest.sort_by(|a, b| self.seconds(*b).total_cmp(&self.seconds(*a)).then(a.cmp(b)));
        heaviest.truncate(links);
        let demands = chosen.iter().map(|&i| self.demand(i)).collect::<Result<_, Failure>>()?;
        Ok(ExplainDocument {
            context,
            planner: plan.planner.clone(),
            congestion_seconds: worst,
            direct_congestion_seconds: plan.direct_congestion_seconds,
            bound_seconds: plan.bound_seconds,
            gap: plan.gap(),
            binding: plan.binding.clone(),
            classes: plan.classes(self.net)?,
            times,
            binding_links: all().filter(binds).count(),
            most_loaded_links: self.links(&heaviest),
            demands_explained: demands,
            links_taken_for_busy: Vec::new(),
            html: None,
        })
    }

    /// The links, with the demands that cross each, the largest first.
    fn links(&self, links: &[LinkId]) -> Vec<LinkDocument> {
        let mut crossing: BTreeMap<LinkId, BTreeMap<usize, u64>> =
            links.iter().map(|&l| (l, BTreeMap::new())).collect();
        for (i, flows) in self.plan.flows.iter().enumerate() {
            for flow in flows {
                for link in &flow.links {
                    if let Some(demands) = crossing.get_mut(link) {
                        let bytes = demands.entry(i).or_default();
                        *bytes = bytes.saturating_add(flow.bytes);
                    }
                }
            }
        }
        let document = |&id: &LinkId| {
            let link = self.net.link(id);
            let mut demands: Vec<(usize, u64)> = crossing.remove(&id).unwrap_or_default().into_iter().collect();
            demands.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
            let crossing = |(i, bytes): (usize, u64)| CrossingDocument {
                from: self.name(self.plan.demands[i].src),
                to: self.name(self.plan.demands[i].dst),
                bytes,
            };
            LinkDocument {
                from: self.name(link.from),
                to: self.name(link.to),
                lanes: link.lanes,
                bytes: self.load.bytes[id.index()],
                direct_bytes: self.direct.bytes[id.index()],
                seconds: self.seconds(id),
                direct_seconds: self.direct.bytes[id.index()] as f64 / link.capacity,
                share_of_worst: self.seconds(id) / self.plan.congestion_seconds,
                paths: self.load.paths[id.index()],
                demands: demands.into_iter().map(crossing).collect(),
            }
        };
        links.iter().map(document).collect()
    }

    pub(super) fn busy(&self, links: &[BusyLink]) -> Vec<BusyDocument> {
        let of = |busy: &BusyLink| {
            let link = self.net.link(busy.link);
            let (from, to) = (self.name(link.from), self.name(link.to));
            BusyDocument { from, to, share_left: 1.0 - busy.share_used, since: busy.since.clone() }
        };
        links.iter().map(of).collect()
    }

    fn demand(&self, i: usize) -> Result<DemandDocument, Failure> {
        let d = &self.plan.demands[i];
        let mut route = Vec::new();
        self.net.route(d.src, d.dst, &mut route)?;
        Ok(DemandDocument {
            from: self.name(d.src),
            to: self.name(d.dst),
            bytes: d.bytes,
            direct_route: names::along(self.net, &route),
            paths: self.plan.flows[i].iter().map(|flow| self.path(flow, d.bytes)).collect(),
        })
    }

    fn path(&self, flow: &Flow, of: u64) -> PathDocument {
        let nodes = names::along(self.net, &flow.links);
        // Paths have no loops, so each end of a leg is where its name is; consecutive legs share one.
        let ends = names::of(self.net, &flow.stops);
        let at: Vec<usize> = ends.iter().filter_map(|s| nodes.iter().position(|n| n == s)).collect();
        let slowest = flow.links.iter().copied().reduce(|a, b| if self.seconds(b) > self.seconds(a) { b } else { a });
        let slowest_ends = slowest.map(|l| [self.name(self.net.link(l).from), self.name(self.net.link(l).to)]);
        PathDocument {
            bytes: flow.bytes,
            share: flow.bytes as f64 / of as f64,
            hops: flow.links.len(),
            forwarders: ends.get(1..ends.len().saturating_sub(1)).unwrap_or_default().to_vec(),
            legs: at.windows(2).map(|leg| nodes[leg[0]..=leg[1]].to_vec()).collect(),
            nodes,
            slowest_link: slowest_ends.unwrap_or_default(),
            slowest_link_seconds: slowest.map_or(0.0, |l| self.seconds(l)),
            line: names::line(self.net, &flow.links, &flow.stops),
        }
    }

    fn name(&self, v: NodeId) -> String {
        self.net.name(v).to_owned()
    }
}

impl ExplainDocument {
    pub(super) fn text(&self) -> String {
        let beside = beside(&self.context);
        let planner = default_mark(&self.context.defaults, "planner");
        let mut text = format!(
            "{}, planner {}{planner}, on {}{beside}\n",
            self.context.demands, self.planner, self.context.topology
        );
        text.push_str(&match self.times {
            Times::Read { read_seconds } => format!("read in {}\n", table::seconds(read_seconds)),
            Times::Planned { candidates_seconds, plan_seconds, total_seconds } => format!(
                "candidate paths {}, planning {}, {} in all\n",
                table::seconds(candidates_seconds),
                table::seconds(plan_seconds),
                table::seconds(total_seconds)
            ),
        });
        text.push_str(&format!(
            "\ncongestion {}: {} the worst load; the network's own routes have {}\n",
            table::seconds(self.congestion_seconds),
            match self.binding_links {
                1 => "1 link has".to_owned(),
                n => format!("{n} links have"),
            },
            table::seconds(self.direct_congestion_seconds)
        ));
        text.push_str(&format!(
            "bound {}: {}; the plan is {} above it\n",
            table::seconds(self.bound_seconds),
            self.binding,
            table::percent(self.gap)
        ));
        text.push_str(&self.why());
        if self.classes.len() > 1 {
            text.push_str("\npriority classes, if more urgent ones go first on every link\n");
            for c in &self.classes {
                text.push_str(&format!(
                    "  class {}: {}, {}, done after {}; on the network's own routes after {}\n",
                    c.class,
                    table::count(c.demands, "demand"),
                    table::bytes(c.bytes as f64),
                    table::seconds(c.congestion_seconds),
                    table::seconds(c.direct_congestion_seconds)
                ));
            }
        }
        if !self.links_taken_for_busy.is_empty() {
            text.push_str("\ntaken for busy by a program\n");
            text.extend(self.links_taken_for_busy.iter().map(BusyDocument::text));
        }
        text.push_str("\nmost loaded links\n");
        for link in &self.most_loaded_links {
            text.push_str(&link.text());
        }
        for demand in self.demands_explained.iter().take(SHOWN) {
            text.push_str(&demand.text());
        }
        let more = self.demands_explained.len().saturating_sub(SHOWN);
        if more > 0 {
            text.push_str(&format!("\n{more} more; --from and --to pick them, --json prints all\n"));
        }
        if let Some(file) = &self.html {
            text.push_str(&format!("\nwritten: {file}\n"));
        }
        text
    }

    /// Whether bytes or paths are what is left to be improved.
    pub(super) fn why(&self) -> String {
        if self.congestion_seconds == 0.0 {
            "there is nothing to move\n".into()
        } else if self.gap < BINDING {
            "no routing can be better: the bound is reached\n".into()
        } else {
            "what is above the bound may be due to the candidate paths, to the planner, or to a cut that the bound does not \
             see\n"
                .into()
        }
    }
}

impl BusyDocument {
    fn text(&self) -> String {
        format!("  {} -> {}  {} left, since {}\n", self.from, self.to, table::percent(self.share_left), self.since)
    }
}

impl LinkDocument {
    fn text(&self) -> String {
        let named = |d: &CrossingDocument| format!("{} -> {} {}", d.from, d.to, table::bytes(d.bytes as f64));
        let mut demands: Vec<String> = self.demands.iter().take(SHOWN).map(named).collect();
        if self.demands.len() > SHOWN {
            demands.push(format!("and {} more", self.demands.len() - SHOWN));
        }
        format!(
            "  {} -> {}  {}, {}, {} of the worst (own routes {})\n    {}: {}\n",
            self.from,
            self.to,
            table::bytes(self.bytes as f64),
            table::seconds(self.seconds),
            table::percent(self.share_of_worst),
            table::bytes(self.direct_bytes as f64),
            table::count(self.paths as usize, "path"),
            demands.join(", ")
        )
    }
}

impl DemandDocument {
    fn text(&self) -> String {
        let mut rows = Vec::with_capacity(self.paths.len());
        for path in &self.paths {
            rows.push(vec![
                format!("  {}", table::percent(path.share)),
                table::bytes(path.bytes as f64),
                table::count(path.hops, "hop"),
                table::seconds(path.slowest_link_seconds),
                path.line.clone(),
            ]);
        }
        format!(
            "\n{} -> {}: {} on {}; the network's own route is {}\n{}",
            self.from,
            self.to,
            table::bytes(self.bytes as f64),
            table::count(self.paths.len(), "path"),
            self.direct_route.join(" "),
            table::list(&rows)
        )
    }
}

//! `optiq explain`: which paths the bytes take, which links bind, and why.

mod page;

use crate::arguments::{MESSAGE, Planning, Topology, default_mark};
use crate::failure::Failure;
use crate::output::Schema;
use crate::progress::Progress;
use crate::target::Target;
use crate::{names, output};
use clap::Args;
use optiq_net::{LinkId, LinkLoad, Network, NodeId, units};
use optiq_solver::pipeline::{self, Timings};
use optiq_solver::{ClassFigures, Flow, Plan, demands};
use optiq_view::context::Context;
use optiq_view::table;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

/// Explain a plan: which paths the bytes from one host to another take, which links bind, and why
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq plan --topology torus:4x4 --demands pattern:disjoint --output plan.json
  optiq explain plan.json --topology torus:4x4
  optiq explain plan.json --topology torus:4x4 --from h0 --to h8 --json
  optiq explain --topology torus:4x4 --demands pattern:overlap --planner heu1
  optiq explain --topology torus:4x4 --demands pattern:disjoint --html why.html")]
pub struct Arguments {
    /// A plan file (`optiq plan --output`); without one, the demands are planned now
    #[arg(value_name = "PLAN", required_unless_present = "demands")]
    plan: Option<PathBuf>,
    #[command(flatten)]
    topology: Topology,
    /// The demands to plan, if there is no plan file: pattern:NAME or the path of a file
    #[arg(long, value_name = "DEMANDS", conflicts_with = "plan")]
    demands: Option<String>,
    /// Bytes of each demand of a pattern
    #[arg(long, value_name = "SIZE", default_value = MESSAGE, value_parser = units::parse_bytes)]
    message: u64,
    #[command(flatten)]
    planning: Planning,
    /// Only the demands of this source
    #[arg(long, value_name = "A")]
    from: Option<String>,
    /// Only the demands of this destination
    #[arg(long, value_name = "B")]
    to: Option<String>,
    /// How many of the most loaded links to show
    #[arg(long, value_name = "N", default_value_t = 5)]
    links: usize,
    /// Write a page with the network, its most loaded links, and the paths of each demand
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Demands whose paths are printed for people, and demands named at a link.
const SHOWN: usize = 6;
/// A link whose load is within this share of the worst one's binds, too.
const BINDING: f64 = 1e-3;

#[derive(Serialize)]
struct ExplainDocument {
    #[serde(flatten)]
    context: Context,
    planner: String,
    congestion_seconds: f64,
    direct_congestion_seconds: f64,
    bound_seconds: f64,
    gap: f64,
    binding: String,
    classes: Vec<ClassFigures>,
    #[serde(flatten)]
    times: Times,
    /// Bundles whose load is the worst there is.
    binding_links: usize,
    most_loaded_links: Vec<LinkDocument>,
    demands_explained: Vec<DemandDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<String>,
}

/// Where the plan came from, and how long that took.
#[derive(Clone, Copy, Serialize)]
#[serde(untagged)]
enum Times {
    /// From a plan file.
    Read { read_seconds: f64 },
    /// Planned now; candidates are searched or read from their file.
    Planned { candidates_seconds: f64, plan_seconds: f64, total_seconds: f64 },
}

#[derive(Serialize)]
struct LinkDocument {
    from: String,
    to: String,
    lanes: u32,
    bytes: u64,
    direct_bytes: u64,
    seconds: f64,
    #[serde(skip)]
    direct_seconds: f64,
    share_of_worst: f64,
    paths: u64,
    demands: Vec<CrossingDocument>,
}

#[derive(Serialize)]
struct CrossingDocument {
    from: String,
    to: String,
    bytes: u64,
}

#[derive(Serialize)]
struct DemandDocument {
    from: String,
    to: String,
    bytes: u64,
    direct_route: Vec<String>,
    paths: Vec<PathDocument>,
}

#[derive(Serialize)]
struct PathDocument {
    bytes: u64,
    share: f64,
    hops: usize,
    nodes: Vec<String>,
    forwarders: Vec<String>,
    /// The vertices of each stretch that the network carries by itself.
    legs: Vec<Vec<String>>,
    /// The most loaded link on the path.
    slowest_link: [String; 2],
    /// How long that link is busy, with all that it carries.
    slowest_link_seconds: f64,
    #[serde(skip)]
    line: String,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let html = self.html.as_deref().map(Target::new).transpose()?;
        let progress = Progress::start("");
        let net = self.topology.load(&progress)?;
        let end = |text: &Option<String>| text.as_deref().map(|t| names::host(&net, t)).transpose();
        let (from, to) = (end(&self.from)?, end(&self.to)?);
        let (plan, text, times) = self.plan(&net, &progress)?;
        progress.now("explaining");
        let chosen: Vec<usize> = (0..plan.demands.len())
            .filter(|&i| {
                let d = &plan.demands[i];
                from.is_none_or(|v| v == d.src) && to.is_none_or(|v| v == d.dst)
            })
            .collect();
        if chosen.is_empty() && (from.is_some() || to.is_some()) {
            let name = |v: Option<NodeId>| v.map_or("any host", |v| net.name(v));
            return Err(Failure::Input(format!("the plan has no demand from {} to {}", name(from), name(to))));
        }
        let background = self.topology.background();
        let planner = self.planning.defaults().filter(|_| self.plan.is_none());
        let defaults = self.topology.defaults().into_iter().chain(planner).collect();
        let context = Context { background, defaults, ..Context::new(&net, &text, &plan.demands) };
        let explainer = Explainer::new(&net, &plan)?;
        let mut document = explainer.document(context, times, &chosen, self.links)?;
        if let Some(target) = &html {
            progress.now("drawing the picture");
            let page = document.page(&net, &explainer.load.bytes);
            target.write(|out| out.write_all(page.as_bytes()))?;
            document.html = Some(target.path().display().to_string());
        }
        drop(progress);
        if self.json {
            output::print_json(Schema::Explain, &document)?
        } else {
            output::print(&document.text())?
        }
        Ok(ExitCode::SUCCESS)
    }

    /// The plan from the file or made now, and where its demands come from.
    fn plan(&self, net: &Network, progress: &Progress) -> Result<(Plan, String, Times), Failure> {
        if let Some(file) = &self.plan {
            progress.now(format!("reading {}", file.display()));
            let reading = Instant::now();
            let plan = Plan::load(file, net)?;
            let times = Times::Read { read_seconds: reading.elapsed().as_secs_f64() };
            return Ok((plan, format!("plan {}", file.display()), times));
        }
        let Some(text) = &self.demands else {
            return Err(Failure::Input("a plan file or --demands is expected".into()));
        };
        let demands = demands::parse(text, net, self.message)?;
        progress.now(format!("planning {}", table::count(demands.len(), "demand")));
        let planned = pipeline::run(net, &demands, &self.planning.options(self.planning.planner()))?;
        let Timings { candidates_seconds, plan_seconds, total_seconds } = planned.timings;
        Ok((planned.plan, text.clone(), Times::Planned { candidates_seconds, plan_seconds, total_seconds }))
    }
}

/// A plan with its loads.
struct Explainer<'a> {
    net: &'a Network,
    plan: &'a Plan,
    load: LinkLoad,
    direct: LinkLoad,
}

impl<'a> Explainer<'a> {
    fn new(net: &'a Network, plan: &'a Plan) -> Result<Self, Failure> {
        let direct = net.route_load(plan.demands.iter().map(|d| (d.src, d.dst, d.bytes)))?;
        Ok(Explainer { net, plan, load: plan.link_load(net)?, direct })
    }

    fn seconds(&self, link: LinkId) -> f64 {
        self.load.bytes[link.index()] as f64 / self.net.link(link).capacity
    }

    fn document(
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
        // Paths have no loops, so a stop is where its name is; consecutive legs share a stop.
        let stops = names::of(self.net, &flow.stops);
        let at: Vec<usize> = stops.iter().filter_map(|s| nodes.iter().position(|n| n == s)).collect();
        let slowest = flow.links.iter().copied().reduce(|a, b| if self.seconds(b) > self.seconds(a) { b } else { a });
        let ends = slowest.map(|l| [self.name(self.net.link(l).from), self.name(self.net.link(l).to)]);
        PathDocument {
            bytes: flow.bytes,
            share: flow.bytes as f64 / of as f64,
            hops: flow.links.len(),
            forwarders: stops.get(1..stops.len().saturating_sub(1)).unwrap_or_default().to_vec(),
            legs: at.windows(2).map(|ends| nodes[ends[0]..=ends[1]].to_vec()).collect(),
            nodes,
            slowest_link: ends.unwrap_or_default(),
            slowest_link_seconds: slowest.map_or(0.0, |l| self.seconds(l)),
            line: names::line(self.net, &flow.links, &flow.stops),
        }
    }

    fn name(&self, v: NodeId) -> String {
        self.net.name(v).to_owned()
    }
}

impl ExplainDocument {
    fn text(&self) -> String {
        let beside = self.context.background.as_ref().map_or_else(String::new, |file| format!(" beside {file}"));
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
            text.push_str("\nclasses, if more urgent ones go first on every link\n");
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
    fn why(&self) -> String {
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

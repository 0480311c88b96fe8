//! `optiq explain`: which paths the bytes take, which links bind, and why.

mod document;
mod page;

use crate::arguments::{MESSAGE, Planning, Topology};
use crate::failure::Failure;
use crate::output::Schema;
use crate::progress::Progress;
use crate::target::Target;
use crate::{names, output};
use clap::Args;
use document::{Explainer, Times};
use optiq_net::{Network, NodeId, units};
use optiq_solver::pipeline::{self, Timings};
use optiq_solver::{Plan, demands};
use optiq_view::context::Context;
use optiq_view::table;
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
  optiq explain --topology torus:4x4 --demands pattern:disjoint --html why.html

With --background FILE, links are named that a program took for busy and wrote into the file (OPTIQ_BACKGROUND=measure, OPTIQ_BUSY_LINKS=FILE)")]
pub struct Arguments {
    /// A plan file (`optiq plan --output`), or - for standard input; without one, the demands are planned now
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
    /// Write a page with the network, its most loaded links, and the paths of each demand; - is standard output
    #[arg(long, value_name = "FILE.html")]
    html: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let html = self.html.as_deref().map(Target::new).transpose()?;
        let progress = Progress::start("");
        let (net, busy) = self.topology.load_with_busy_links(&progress)?;
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
        document.links_taken_for_busy = explainer.busy(&busy);
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

//! `optiq plan`.

mod links;

use crate::arguments::{Demands, Planning, Topology, beside, default_mark};
use crate::commands::topology::routing;
use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::progress::Progress;
use crate::target::{self, Target};
use clap::Args;
use optiq_files::input::STANDARD;
use optiq_net::{LoadStatistics, Network};
use optiq_solver::demands::Demand;
use optiq_solver::pipeline::{self, Planned};
use optiq_solver::planner::optimal::Progress as Moment;
use optiq_solver::{
    CandidateMethod, ClassFigures, Plan, PlanError, PlannerName, PlannerOptions, Report, candidates, planner,
};
use optiq_view::context::Context;
use optiq_view::plan::{self as picture, Picture};
use optiq_view::table;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

/// Plan which bytes take which paths, so that the most loaded link is as light as possible
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq plan --topology torus:4x4 --demands pattern:disjoint --message 4MB
  optiq plan --topology bgq:512 --demands pattern:disjoint --k 20 --html plan.html
  optiq plan --topology torus:4x4 --demands pattern:overlap --output plan.optiq
  optiq plan --topology torus:4x4 --demands pattern:overlap --links links.csv
  OPTIQ_TOPOLOGY=torus:4x4 optiq plan --demands pattern:random,count=40 --compare
  optiq plan --topology star:8 --demands pattern:alltoall --planner direct --json
  optiq plan --topology torus:4x4 --demands pattern:random,classes=3 --planner optimal --gap 2% --time-limit 5

A file of background load has lines such as `h0 h1 50%`, `(0,1) * 100Mbit/s` (all links that leave) and `* * 1%`.
The plan file is JSON if its name ends in .json, and binary otherwise; `optiq explain` reads both.
In the JSON document, bytes_per_link_max is bytes on a link of the slowest link's capacity.")]
pub struct Arguments {
    #[command(flatten)]
    topology: Topology,
    #[command(flatten)]
    demands: Demands,
    #[command(flatten)]
    planning: Planning,
    /// Show all planners of this build side by side, on the same candidate paths
    #[arg(long)]
    compare: bool,
    /// Write the plan to a file, or to standard output if it is -: JSON if the name ends in .json or is -, else binary
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write what every link carries, under the plan and on the network's own routes: JSON if the name ends in .json, else
    /// CSV; - is standard output
    #[arg(long, value_name = "FILE")]
    links: Option<PathBuf>,
    /// Write a picture of the link loads, one HTML page; - is standard output
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// The figures of one plan. Its keys are a contract with scripts.
#[derive(Serialize)]
struct PlanDocument<'a> {
    #[serde(flatten)]
    context: &'a Context,
    message_bytes: u64,
    k: usize,
    method: CandidateMethod,
    maxload: u32,
    chunk_bytes: u64,
    gap_wanted: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_limit_seconds: Option<f64>,
    slack: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    paths_file: Option<String>,
    unit_capacity_bytes_per_second: f64,
    #[serde(flatten)]
    report: &'a Report,
    direct_bytes_per_link_max: f64,
    direct_paths_per_link_max: u64,
    direct_paths_per_link_mean: f64,
    /// Making the network and the demands.
    input_seconds: f64,
    /// Searching the candidate paths, or reading their file.
    candidates_seconds: f64,
    plan_seconds: f64,
    total_seconds: f64,
    /// Whether forwarding can help.
    #[serde(skip_serializing_if = "Option::is_none")]
    verdict: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    direct_suffices: Option<bool>,
    /// Congestion and bound over time, of `optimal`.
    #[serde(skip_serializing_if = "<[Moment]>::is_empty")]
    trace: &'a [Moment],
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    links_file: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    compared: Vec<PlanDocument<'a>>,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let start = Instant::now();
        target::check_distinct(&[("--output", &self.output), ("--links", &self.links), ("--html", &self.html)])?;
        let output = self.output.as_deref().map(Target::new).transpose()?;
        let links = self.links.as_deref().map(Target::new).transpose()?;
        let html = self.html.as_deref().map(Target::new).transpose()?;
        let progress = Progress::start("");
        // A planner that this build lacks is refused before a large network is built.
        let parameters = PlannerOptions { maxload: self.planning.maxload, chunk: self.planning.chunk };
        planner::create(self.planning.planner(), &parameters)?;
        let net = self.topology.load(&progress)?;
        if html.is_some() {
            picture::check_size(&net)?;
        }
        let demands = self.demands.load(&net, &progress)?;
        let input_seconds = start.elapsed().as_secs_f64();
        let runs = self.plans(&net, &demands, &progress)?;
        let Some(chosen) = runs.iter().find(|r| r.plan.planner == self.planning.planner().as_str()) else {
            return Err(Failure::Work(format!("planner {} gave no plan", self.planning.planner())));
        };
        let background = self.topology.background();
        let defaults = self.topology.defaults().into_iter().chain(self.planning.defaults()).collect();
        let context = Context { background, defaults, ..Context::new(&net, &self.demands.demands, &demands) };
        if let Some(target) = &output {
            progress.now("writing the plan");
            write_plan(target, &chosen.plan)?;
        }
        if let Some(target) = &links {
            progress.now("writing what links carry");
            links::write(target, &net, &chosen.report)?;
        }
        if let Some(target) = &html {
            progress.now("drawing the picture");
            let moments: Vec<(f64, f64, f64)> =
                chosen.trace.iter().map(|m| (m.seconds, m.congestion_seconds, m.bound_seconds)).collect();
            let picture =
                Picture::new(&net, &context, &chosen.plan, &chosen.report).with_trace(&moments, self.planning.gap);
            target.write(|out| out.write_all(picture.page()?.as_bytes()))?;
        }
        drop(progress);
        let mut document = self.document(&net, &context, chosen, input_seconds);
        document.output = output.map(|t| t.path().display().to_string());
        document.links_file = links.map(|t| t.path().display().to_string());
        document.html = html.map(|t| t.path().display().to_string());
        if self.compare {
            document.compared = runs.iter().map(|r| self.document(&net, &context, r, input_seconds)).collect();
        }
        if self.json {
            output::print_json(Schema::Plan, &document)?
        } else {
            output::print(&document.text(&net, &runs))?
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Candidate paths per pair, at most; where planners are compared, for all of them as published.
    fn k(&self, net: &Network, demands: &[Demand]) -> usize {
        match self.planning.search.k.0 {
            None if self.compare => pipeline::K,
            _ => self.planning.options(self.planning.planner()).k_for(net, demands),
        }
    }

    /// The plan asked for, or those of all planners.
    fn plans(&self, net: &Network, demands: &[Demand], progress: &Progress) -> Result<Vec<Planned>, Failure> {
        let count = table::count(demands.len(), "demand");
        if !self.compare {
            let planner = self.planning.planner();
            let options = self.planning.options(planner);
            if let Some(sentence) = pipeline::announcement(net, demands, &options)? {
                log::warn!("{sentence}");
            }
            progress.now(format!("planning {count} with {planner}"));
            return Ok(vec![pipeline::run(net, demands, &options)?]);
        }
        progress.now(format!("finding candidate paths for {count}"));
        let search = Instant::now();
        let found = match &self.planning.paths {
            Some(file) => candidates::file::read(file, net)?.for_demands(net, demands)?,
            None => pipeline::candidates(net, demands, self.k(net, demands), self.planning.search.method)?,
        };
        let candidates_seconds = search.elapsed().as_secs_f64();
        let mut runs = Vec::new();
        for name in PlannerName::ALL {
            progress.now(format!("planning {count} with {name}"));
            match pipeline::run_with(net, demands, &self.planning.options(name), Some(&found)) {
                Ok(mut planned) => {
                    let timings = &mut planned.timings;
                    // The search was shared: count it for each planner that needed it, in place of looking at it again.
                    if timings.candidates_seconds > 0.0 {
                        timings.total_seconds += candidates_seconds - timings.candidates_seconds;
                        timings.candidates_seconds = candidates_seconds;
                    }
                    runs.push(planned);
                }
                Err(PlanError::LeftOut { planner, feature }) => {
                    log::info!("planner {planner} is not compared, as this build lacks the feature {feature}");
                }
                Err(e) => return Err(e.into()),
            }
        }
        Ok(runs)
    }

    fn document<'a>(
        &self,
        net: &Network,
        context: &'a Context,
        run: &'a Planned,
        input_seconds: f64,
    ) -> PlanDocument<'a> {
        let direct = run.report.direct_load.statistics(net);
        let unit = net.unit_capacity();
        PlanDocument {
            context,
            message_bytes: self.demands.message,
            k: self.k(net, &run.plan.demands),
            method: self.planning.search.method.resolve(net),
            maxload: self.planning.maxload,
            chunk_bytes: self.planning.chunk,
            gap_wanted: self.planning.gap,
            time_limit_seconds: self.planning.time_limit.map(|limit| limit.as_secs_f64()),
            slack: self.planning.slack,
            paths_file: self.planning.paths.as_deref().map(display),
            unit_capacity_bytes_per_second: unit,
            report: &run.report,
            direct_bytes_per_link_max: run.report.direct_congestion_seconds * unit,
            direct_paths_per_link_max: direct.paths_per_link_max,
            direct_paths_per_link_mean: direct.paths_per_link_mean,
            input_seconds,
            candidates_seconds: run.timings.candidates_seconds,
            plan_seconds: run.timings.plan_seconds,
            total_seconds: input_seconds + run.timings.total_seconds,
            verdict: run.verdict.as_ref().map(|v| v.text.as_str()),
            direct_suffices: run.verdict.as_ref().map(|v| v.direct_suffices),
            trace: &run.trace,
            output: None,
            links_file: None,
            html: None,
            compared: Vec::new(),
        }
    }
}

fn display(path: &Path) -> String {
    path.display().to_string()
}

/// JSON or binary, by the name of the file, as [`Plan::save`] has it; JSON to standard output, which may be a terminal.
fn write_plan(target: &Target, plan: &Plan) -> Result<(), Failure> {
    let path = target.path();
    let json = path.extension().is_some_and(|e| e == "json") || path.as_os_str() == STANDARD;
    let contents = if json { plan.to_json()?.into_bytes() } else { plan.to_bytes()? };
    target.write(|out| out.write_all(&contents))
}

impl PlanDocument<'_> {
    fn text(&self, net: &Network, runs: &[Planned]) -> String {
        let defaults = &self.context.defaults;
        let mut text = format!(
            "{} on {}{}: {}, {}\n{}, {} one way at {}{} each{}\nplanner {}{}; routing {}{}\n\n",
            self.context.demands,
            self.context.topology,
            beside(self.context),
            table::count(self.report.demand_count, "demand"),
            table::bytes(self.context.demand_bytes as f64),
            table::count(self.report.hosts, "host"),
            table::count(self.report.links, "link"),
            optiq_net::units::format_rate(self.unit_capacity_bytes_per_second),
            default_mark(defaults, "capacity"),
            if self.context.background.is_some() { " without the load of others" } else { "" },
            self.report.planner,
            default_mark(defaults, "planner"),
            routing(net.routing()),
            default_mark(defaults, "routing"),
        );
        // The network's own routes stand first, whether or not `direct` was among the planners.
        let unit = self.unit_capacity_bytes_per_second;
        let mut columns = vec![Column::direct(self.report, net, unit)];
        columns.extend(Column::striped(self.report, net, unit));
        columns
            .extend(runs.iter().filter(|r| r.plan.planner != PlannerName::Direct.as_str()).map(|r| Column::of(r, net)));
        text.push_str(&columns_text(&columns, self.paths_file.is_some()));
        if self.report.classes.len() > 1 {
            text.push_str(&classes_text(&self.report.planner, &self.report.classes));
        }
        text.push_str(&format!(
            "\nbound: no routing is below {}, because of {}\n",
            table::seconds(self.report.bound_seconds),
            self.report.binding
        ));
        let lighter = match self.report.planner == PlannerName::Direct.as_str() {
            true => "the network's own routes".to_owned(),
            // No fabric routes like that, so a ratio would say nothing.
            false if net.unused_equal_paths().is_some() => "beside routes that leave equal paths unused".to_owned(),
            false => format!("{:.2} times lighter than the network's own routes", self.report.improvement),
        };
        let striped = self.report.striped_congestion_seconds.filter(|_| self.report.congestion_seconds > 0.0);
        let striped = striped.map(|seconds| seconds / self.report.congestion_seconds);
        let lighter = match striped {
            Some(ratio) => format!("{lighter}, {ratio:.2} times lighter than messages striped across all rails"),
            None => lighter,
        };
        text.push_str(&format!(
            "{}: {lighter}, gap to the bound {}\n",
            self.report.planner,
            table::percent(self.report.gap)
        ));
        if let Some(verdict) = self.verdict {
            text.push_str(&format!("verdict: {verdict}\n"));
        }
        for file in [&self.output, &self.links_file, &self.html].into_iter().flatten() {
            text.push_str(&format!("written: {file}\n"));
        }
        text
    }
}

/// One planner in the table for people.
struct Column {
    name: String,
    bytes_max: f64,
    bytes_mean: f64,
    congestion: f64,
    gap: f64,
    links_used: u64,
    /// Not known of routes that MPI libraries choose.
    paths: Option<(usize, usize, f64)>,
    paths_per_link: (u64, f64),
    forwarders: usize,
    forwarded: u64,
    seconds: Option<[f64; 3]>,
}

impl Column {
    fn of(run: &Planned, net: &Network) -> Self {
        let r = &run.report;
        Column {
            name: r.planner.clone(),
            bytes_max: r.bytes_per_link_max,
            bytes_mean: r.bytes_per_link_mean,
            congestion: r.congestion_seconds,
            gap: r.gap,
            links_used: r.load.statistics(net).links_used,
            paths: Some((r.paths, r.paths_per_demand_max, r.paths_per_demand_mean)),
            paths_per_link: (r.paths_per_link_max, r.paths_per_link_mean),
            forwarders: r.forwarders,
            forwarded: r.forwarded_bytes,
            seconds: Some([run.timings.candidates_seconds, run.timings.plan_seconds, run.timings.total_seconds]),
        }
    }

    fn direct(report: &Report, net: &Network, unit: f64) -> Self {
        let congestion = report.direct_congestion_seconds;
        Self::of_routes(PlannerName::Direct.as_str(), report, congestion, &report.direct_load.statistics(net), unit)
    }

    /// The network's own routes with messages striped across the rails of their sources, where those have several.
    fn striped(report: &Report, net: &Network, unit: f64) -> Option<Self> {
        let (load, congestion) = (report.striped_load.as_ref()?, report.striped_congestion_seconds?);
        let striped = load.statistics(net);
        Some(Self { paths: None, ..Self::of_routes("direct, striped", report, congestion, &striped, unit) })
    }

    fn of_routes(name: &str, report: &Report, congestion: f64, load: &LoadStatistics, unit: f64) -> Self {
        Column {
            name: name.to_owned(),
            bytes_max: congestion * unit,
            bytes_mean: load.bytes_per_link_mean,
            congestion,
            gap: if report.bound_seconds > 0.0 { congestion / report.bound_seconds - 1.0 } else { 0.0 },
            links_used: load.links_used,
            paths: Some((
                report.demand_count,
                usize::from(report.demand_count > 0),
                if report.demand_count > 0 { 1.0 } else { 0.0 },
            )),
            paths_per_link: (load.paths_per_link_max, load.paths_per_link_mean),
            forwarders: 0,
            forwarded: 0,
            seconds: None,
        }
    }
}

fn columns_text(columns: &[Column], from_file: bool) -> String {
    let row = |label: &str, cell: &dyn Fn(&Column) -> String| {
        std::iter::once(label.to_owned()).chain(columns.iter().map(cell)).collect::<Vec<_>>()
    };
    let time = |c: &Column, which: usize| c.seconds.map_or("-".into(), |s| table::seconds(s[which]));
    table::table(&[
        row("", &|c| c.name.clone()),
        row("bytes on the worst link", &|c| table::bytes(c.bytes_max)),
        row("bytes on a used link, mean", &|c| table::bytes(c.bytes_mean)),
        row("congestion", &|c| table::seconds(c.congestion)),
        row("gap to the bound", &|c| table::percent(c.gap)),
        row("links that some path takes", &|c| c.links_used.to_string()),
        row("paths", &|c| c.paths.map_or("-".into(), |(all, ..)| all.to_string())),
        row("paths per demand, most", &|c| c.paths.map_or("-".into(), |(_, most, _)| most.to_string())),
        row("paths per demand, mean", &|c| c.paths.map_or("-".into(), |(.., mean)| format!("{mean:.2}"))),
        row("paths per link, most", &|c| c.paths_per_link.0.to_string()),
        row("paths per link, mean", &|c| format!("{:.2}", c.paths_per_link.1)),
        row("hosts that forward", &|c| c.forwarders.to_string()),
        row("bytes forwarded", &|c| table::bytes(c.forwarded as f64)),
        row(if from_file { "time to read candidates" } else { "time for candidates" }, &|c| time(c, 0)),
        row("time for planning", &|c| time(c, 1)),
        row("time in all, with bound and report", &|c| time(c, 2)),
    ])
}

/// One class a line, the most urgent first.
fn classes_text(planner: &str, classes: &[ClassFigures]) -> String {
    let mut rows =
        vec![["class", "demands", "bytes", "done on the network's own routes", planner].map(str::to_owned).to_vec()];
    rows.extend(classes.iter().map(|c| {
        let done = [c.direct_congestion_seconds, c.congestion_seconds].map(table::seconds);
        let mut row = vec![c.class.to_string(), c.demands.to_string(), table::bytes(c.bytes as f64)];
        row.extend(done);
        row
    }));
    format!("\nwhen each class is done, if more urgent ones go first on every link\n{}", table::table(&rows))
}

//! `optiq simulate`.

pub mod checkpoint;
mod document;
mod goal;
pub mod interrupt;
pub mod jobs;
mod queues;
mod report;
mod results;
pub mod run;
mod shown;
mod steps;

use crate::arguments::{Demands, MESSAGE, Planning, Topology, duration};
use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::progress::Progress;
use clap::{Args, ValueEnum};
use document::ExchangeDocument;
use optiq_lower::choices::{DirectOrder, LegsChoice};
use optiq_net::{Network, Routing, units};
use optiq_sim::model::Carry;
use optiq_sim::simulated_exchange::method::{Executor, MpiAlgorithm, TransferMethod};
use optiq_sim::simulated_exchange::run::{ExchangeSetting, SimulatedRun};
use optiq_sim::time::Time;
use optiq_sim::{Limits, Model, Policy, RunOptions};
use optiq_solver::PlanError;
use optiq_solver::demands;
use optiq_solver::planner::{self, PlannerName};
use optiq_solver::{PlannerOptions, pipeline};
use optiq_transport::{ChunkRule, PUTS_IN_FLIGHT_PART, ScheduleOptions};
use optiq_view::context::Context;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use steps::Steps;

/// Simulate an exchange packet by packet: OPTIQ's scheduler along planned paths, and MPI's own algorithms
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq simulate --topology torus:4x4 --demands pattern:disjoint --message 4MB
  optiq simulate --topology bgq:512 --demands pattern:overlap --planner heu2 --json
  optiq simulate --topology bgq:1024 --demands pattern:overlap --legs planned --transport two-sided --threads 2
  optiq simulate --topology torus:4x4 --demands pattern:subset --compare --report report.html
  optiq simulate --topology torus:4x4 --demands pattern:subset --links links.csv --series series.csv --histogram latency.csv
  optiq simulate --topology torus:4x4 --demands pattern:subset --queues queues.csv
  optiq simulate --topology fattree:k=4 --demands pattern:alltoall --message 64KiB --mpi pairwise
  optiq simulate --topology torus:4x4 --demands pattern:disjoint --model my.toml --until 10
  optiq simulate --topology dragonfly:p=2,a=4,h=2 --demands pattern:random --mpi linear --routing ugal
  optiq simulate --topology torus:4x4 --goal data/goal/ring-allreduce-16.goal
  optiq simulate --jobs jobs.toml --report jobs.html
  optiq simulate --topology bgq:1024 --demands pattern:disjoint --checkpoint run.ckpt --every 600
  optiq simulate --topology bgq:1024 --demands pattern:disjoint --resume run.ckpt

The model says how packets, links, routers and hosts behave: bgq, mira, bgq-pipeline, fattree-12.5, brown1296, dragonfly+3456, kang3456, edison, cab18,
lab, lab-jobs, or a TOML file with the same keys. One rank runs on each host. wire_bound_seconds is the link bound, with what headers and protocols take of the
links: no execution is faster. Ctrl-C ends a run; what was found by then is shown, and marked.

A job file says which jobs share a network; each is simulated alone, and all together. This one takes a second:
  network = \"fattree:4x4x3:1x4x2:1x1x2\"
  [[job]]
  name = \"solver\"
  hosts = 20
  program = \"pairs,message=256KB,think=50us,jitter=5%,samples=20\"
  [[job]]
  name = \"checkpoint\"
  hosts = 16
  servers = \"spread-target:8\"
  program = \"io-write,request=256KB,samples=20\"")]
pub struct Arguments {
    #[command(flatten)]
    topology: Topology,
    /// Which bytes go where, as for `optiq plan`
    #[arg(long, value_name = "DEMANDS", required_unless_present_any = ["goal", "jobs"])]
    demands: Option<String>,
    /// Bytes of each demand of a pattern
    #[arg(long, value_name = "SIZE", default_value = MESSAGE, value_parser = units::parse_bytes, allow_hyphen_values = true)]
    message: u64,
    /// Replay a GOAL schedule (the text form of LogGOPSim and ATLAHS) instead, one rank on each host; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["demands", "compare", "mpi", "planner"])]
    goal: Option<PathBuf>,
    /// Simulate the jobs of a file, each alone and all together; the file says what network and model are; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = NOT_WITH_JOBS)]
    jobs: Option<PathBuf>,
    /// Of --jobs, simulate only each job alone, or only all jobs together; then there are no slowdowns
    #[arg(long, value_name = "RUNS")]
    only: Option<jobs::Only>,
    /// Of --jobs, how many of the busiest links are listed [default: 8]
    #[arg(long, value_name = "NUMBER")]
    most: Option<usize>,
    /// With --jobs, end the ranks of measured jobs after their samples, in place of having them go on until all measured jobs have
    /// theirs: faster, but late samples meet an emptier network
    #[arg(long)]
    finite: bool,
    #[command(flatten)]
    planning: Planning,
    /// The machine: a preset or a TOML file; auto is the preset that fits the topology
    #[arg(long, value_name = "MODEL", default_value = "auto")]
    model: String,
    /// Simulate MPI instead of planned paths
    #[arg(long, value_name = "ALGORITHM", conflicts_with = "compare")]
    mpi: Option<Mpi>,
    /// The pieces in which messages travel along planned paths: auto, thesis, or a size such as 64KiB
    #[arg(long, value_name = "RULE", default_value = "auto", value_parser = chunks)]
    chunks: ChunkRule,
    /// Where chunks are stored and forwarded: where the plan says so (planned), at every host that they pass (hops), or where
    /// the cost model of the simulated machine says that it is faster (auto)
    #[arg(long, value_name = "WHERE", default_value = "auto", value_parser = legs)]
    legs: LegsChoice,
    /// Who sends to whom when, where a plan has no forwarders: in step with a timetable in which no port serves two others at one
    /// time (the shortest that is found, timetable; shifts, xor, or exact stages), when receivers grant it (credits), all at once
    /// (proportion), or by the network's rate and the messages' sizes and balance, as the library does (auto)
    #[arg(long, value_name = "ORDER", default_value = "proportion", value_parser = direct_order)]
    direct_order: DirectOrder,
    /// What carries chunks: messages, by rendezvous where they are large (two-sided), puts into memory that was promised
    /// (one-sided), or what the model says of the machine (auto)
    #[arg(long, value_name = "TRANSPORT", default_value = "auto")]
    transport: Transport,
    /// In-flight limit of puts: the N-th part of what the busiest leg carries; 0 leaves it to the windows
    #[arg(long = "in-flight-part", alias = "under-way", value_name = "N", default_value_t = PUTS_IN_FLIGHT_PART)]
    in_flight_part: u64,
    /// Simulate only the plan, without MPI's exchange of all messages at once beside it; so do --checkpoint and --resume
    #[arg(long, conflicts_with_all = ["compare", "mpi"])]
    plan_only: bool,
    /// Simulate all planners of this build and MPI's algorithms, side by side
    #[arg(long)]
    compare: bool,
    /// End a run after this many seconds of simulated time
    #[arg(long, value_name = "SECONDS", value_parser = positive)]
    until: Option<f64>,
    /// End a run after this many events
    #[arg(long, value_name = "EVENTS")]
    events: Option<u64>,
    /// End a run after it took this many seconds
    #[arg(long, value_name = "SECONDS", value_parser = duration)]
    wall: Option<Duration>,
    /// How routers choose: fabric (the topology's own routes), adaptive (torus, minimal), random-up or adaptive-up (fat tree),
    /// valiant, ugal or par (dragonfly), fpar or fpar=THRESHOLD (Dragonfly+) [default: fabric]
    #[arg(long, value_name = "POLICY")]
    routing: Option<Policy>,
    /// Threads of the simulator; results are the same with any number [default: 1, or with --jobs as many as processors]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    threads: Option<u8>,
    /// The seed of random choices [default: 1, or what the job file says]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    checkpoints: checkpoint::Checkpointing,
    // Boxed, as all commands take the memory of the largest one.
    #[command(flatten)]
    results: Box<results::Results>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// What a job file says itself, and what is about an exchange.
const NOT_WITH_JOBS: [&str; 28] = [
    "topology",
    "background",
    "demands",
    "message",
    "goal",
    "k",
    "method",
    "planner",
    "maxload",
    "chunk",
    "paths",
    "gap",
    "time_limit",
    "slack",
    "model",
    "mpi",
    "chunks",
    "legs",
    "direct_order",
    "transport",
    "in_flight_part",
    "plan_only",
    "compare",
    "routing",
    "links",
    "series",
    "queues",
    "histogram",
];

/// What carries chunks from rank to rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Transport {
    /// The model's `chunks_by`
    Auto,
    /// As by MPI_Isend and MPI_Irecv
    TwoSided,
    /// As by MPI_Put, or PAMI_Put in the thesis
    OneSided,
}

impl Transport {
    fn on(self, model: &Model) -> Carry {
        match self {
            Transport::Auto => model.host.chunks_by,
            Transport::TwoSided => Carry::TwoSided,
            Transport::OneSided => Carry::OneSided,
        }
    }
}

fn legs(text: &str) -> Result<LegsChoice, String> {
    text.parse().map_err(|()| "auto, planned or hops is expected".into())
}

fn direct_order(text: &str) -> Result<DirectOrder, String> {
    text.parse().map_err(|()| "auto, timetable, shifts, xor, stages, credits or proportion is expected".into())
}

/// MPI's own algorithms for an alltoallv.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Mpi {
    /// All messages at once
    Linear,
    /// As many steps as there are ranks, with one partner in each
    Pairwise,
}

impl From<Mpi> for MpiAlgorithm {
    fn from(mpi: Mpi) -> Self {
        match mpi {
            Mpi::Linear => MpiAlgorithm::Linear,
            Mpi::Pairwise => MpiAlgorithm::Pairwise,
        }
    }
}

fn chunks(text: &str) -> Result<ChunkRule, String> {
    match text {
        "auto" => Ok(ChunkRule::Auto),
        "thesis" => Ok(ChunkRule::Thesis),
        size => match units::parse_bytes(size) {
            Ok(size) if size > 0 => Ok(ChunkRule::Fixed(size)),
            _ => Err("auto, thesis or a size above zero is expected".into()),
        },
    }
}

fn positive(text: &str) -> Result<f64, String> {
    let number = text.trim().parse::<f64>().ok().filter(|n| n.is_finite() && *n > 0.0);
    number.ok_or_else(|| "a number above zero is expected, such as 0.5".into())
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let targets = self.results.open()?;
        let limits = Limits { time: self.until.map(Time::from_seconds), events: self.events, wall: self.wall };
        if let Some(file) = &self.jobs {
            let Self { only, seed, threads, most, json, finite, .. } = self;
            let (most, report) = (most.unwrap_or(8), targets.report());
            return jobs::run(&jobs::Asked { file, only, seed, threads, limits, most, report, finite, json });
        }
        // clap does not say it, as --jobs conflicts with what else is given then.
        if let Some((name, _)) =
            [("--only", self.only.is_some()), ("--most", self.most.is_some()), ("--finite", self.finite)]
                .iter()
                .find(|o| o.1)
        {
            return Err(Failure::Input(format!("{name} is about --jobs, which is not given")));
        }
        let progress = Progress::start("");
        let parameters = PlannerOptions { maxload: self.planning.maxload, chunk: self.planning.chunk };
        planner::create(self.planning.planner(), &parameters)?;
        let net = self.fabric(self.topology.load(&progress)?)?;
        let model = match self.model.as_str() {
            "auto" => Model::for_network(&net),
            name => Model::read(name)?,
        };
        model.check_rate(&net).map_err(|why| {
            Failure::Input(format!("{why}; a capacity= in the topology or another --model is expected"))
        })?;
        let checkpoints = self.checkpoints.open()?;
        let stop = interrupt::watch()?;
        let options = RunOptions {
            limits,
            threads: self.threads.map_or(1, usize::from),
            seed: self.seed.unwrap_or(1),
            routing: self.routing.unwrap_or_default(),
            series: targets.over_time(),
            stop: Some(stop),
            ..RunOptions::default()
        };
        if let Some(file) = &self.goal {
            let files = goal::Files { schedule: file, checkpoints: &checkpoints, targets: &targets };
            return goal::run(&net, &model, &files, &options, self.json, progress);
        }
        let asked = Demands { demands: self.demands.clone().unwrap_or_default(), message: self.message };
        let demands = demands::by_pair(asked.load(&net, &progress)?);
        let carry = self.transport.on(&model);
        let Self { legs, in_flight_part, direct_order, .. } = self;
        let executor = Executor { legs, carry, in_flight_part, direct_order };
        let setting = ExchangeSetting { network: &net, model: &model, demands: &demands, executor };
        let runner = run::Runner { setting, options, progress: &progress, checkpoints: &checkpoints };
        let runs = self.runs(&runner)?;
        let background = self.topology.background();
        let chosen_model = (self.model == "auto").then_some("model");
        let planner = self.planning.defaults().filter(|_| self.mpi.is_none() && !self.compare);
        let defaults = self.topology.defaults().into_iter().chain(planner).chain(chosen_model).collect();
        let context = Context { background, defaults, ..Context::new(&net, &asked.demands, &demands) };
        let document = ExchangeDocument::new(&context, &asked, &model, self.routing, &runs);
        progress.now("writing results".to_owned());
        let shown: Vec<_> = runs.iter().map(|found| run::shown(found, &setting)).collect();
        targets.write(&net, &model, &document.page(&document.rows(&net), &shown))?;
        drop(progress);
        if self.json {
            output::print_json(Schema::Simulate, &document)?
        } else {
            output::print(&document.text(&net, &checkpoints.hint()))?
        }
        // Half a result is none to build upon.
        Ok(if runs.iter().all(SimulatedRun::finished) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// The network that plans are made for: with `--routing adaptive` one whose routers choose, as planners know then what direct
    /// messages put on its links and that they control a path hop by hop only.
    fn fabric(&self, net: Network) -> Result<Network, Failure> {
        let adaptive = self.routing == Some(Policy::MinimalAdaptive) && net.geometry().grid().is_some();
        Ok(if adaptive { net.with_routing(Routing::MinimalAdaptive)? } else { net })
    }

    fn runs(&self, runner: &run::Runner<'_>) -> Result<Vec<SimulatedRun>, Failure> {
        if let Some(mpi) = self.mpi {
            return Ok(vec![runner.run_as(TransferMethod::Mpi(mpi.into()), &Steps::of(1))?]);
        }
        if !self.compare {
            // A checkpoint is of one run.
            let plan_only = self.plan_only || self.checkpoints.is_used();
            let plan = self.plan(runner, self.planning.planner())?;
            let steps = Steps::of(if plan_only { 1 } else { 2 });
            let mut runs = vec![runner.run_as(TransferMethod::Planned(plan, self.schedule()), &steps)?];
            if !plan_only && runs[0].finished() {
                runs.push(runner.run_as(TransferMethod::Mpi(MpiAlgorithm::Linear), &steps)?);
            }
            return Ok(runs);
        }
        let steps = Steps::of(2 + PlannerName::ALL.len());
        let mut runs = vec![
            runner.run_as(TransferMethod::Mpi(MpiAlgorithm::Linear), &steps)?,
            runner.run_as(TransferMethod::Mpi(MpiAlgorithm::Pairwise), &steps)?,
        ];
        for name in PlannerName::ALL {
            match self.plan(runner, name) {
                Ok(planned) => runs.push(runner.run_as(TransferMethod::Planned(planned, self.schedule()), &steps)?),
                Err(left_out @ PlanError::LeftOut { .. }) => {
                    log::info!("{left_out}");
                    steps.leave_out();
                }
                Err(other) => return Err(other.into()),
            }
        }
        Ok(runs)
    }

    fn schedule(&self) -> ScheduleOptions {
        ScheduleOptions { chunk: self.chunks, ..ScheduleOptions::default() }
    }

    fn plan(&self, runner: &run::Runner<'_>, planner: PlannerName) -> Result<Box<pipeline::Planned>, PlanError> {
        runner.progress.now(format!("planning with {planner}"));
        Ok(Box::new(pipeline::run(runner.setting.network, runner.setting.demands, &self.planning.options(planner))?))
    }
}

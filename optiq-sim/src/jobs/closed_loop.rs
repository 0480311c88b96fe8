//! A series of exchanges whose plan follows the load of other jobs, learned from the times of its own legs: `OPTIQ_BACKGROUND=measure`, simulated.
//!
//! ```text
//!   call k: one simulation, the exchange beside the load of its phase ──► times of legs ──► estimate, steering (optiq_lower::closed_loop)
//!      ▲                                                                                            │ which shares are left
//!      └── call k + 2: the plan on what is left takes over, if it is enough better ◄── planner ◄────┘
//! ```
//!
//! The rules are those of programs, called as a session of the library calls them (`optiq/src/session/load.rs`): which calls are looked at, what follows
//! from them, which plan is worth it, and whether planned paths or MPI serve, by their measured times. Ranks agree before each call of OPTIQ's, also
//! if MPI serves it then, which takes what the cost model says. Here alone: calls are simulated one after the other, each in an empty network in which the load begins with it, and with
//! another seed; a plan is made during one call; a look takes what a binomial tree takes to bring all legs' times to one rank, by the model's
//! overheads and links, which is added to the call; a rank never asks for a look by itself.
//!
//! The loop is not told what the load is. What it learns it from are the times of its legs, or [counters](Source::Counters) of all links, which say what all jobs
//! have sent. The plan that knows is made on what a run of the load alone leaves of each link
//! ([`MeasuredLoad`]).

use super::cures::measured_load::MeasuredLoad;
use super::placed::{PlacedJob, PlacedOutcome, simulate_built};
use super::programs::alltoallv::{self, PlannedExchange};
use super::programs::build::{build, build_repeated};
use super::programs::setting::JobSetting;
use super::run::{JobRunOptions, Jobs, Kind, run_kind};
use crate::error::SimError;
use crate::jobs::allocation::Allocation;
use crate::jobs::file::JobFile;
use crate::jobs::program_spec::{AllToAllVAlgorithm, ProgramKind, ProgramSpec};
use crate::model::{HostModel, Model};
use crate::observers::series::Recording;
use crate::options::RunOptions;
use crate::router::policy::Policy;
use crate::simulated_exchange::cost::cost_model;
use crate::simulated_exchange::method::Executor;
use crate::workload::report::SharedReport;
use optiq_lower::closed_loop::counters::{Counting, Reading};
use optiq_lower::closed_loop::estimate::{Exchange, LegTime};
use optiq_lower::closed_loop::pace::Pace;
use optiq_lower::closed_loop::steering::{Proposal, Steering, is_worth, left_of};
use optiq_lower::trials::{Side, Trials};
use optiq_net::{LinkId, Network, NodeId};
use optiq_solver::plan;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

/// The exchange is the first job of the file, an `alltoallv`; each other one is a load.
const EXCHANGE: usize = 0;

/// What a rank tells of a leg: receiver, bytes, nanoseconds.
const BYTES_A_LEG: usize = 24;

/// An exchange, the loads beside which it may run, and where they are.
#[derive(Clone, Copy)]
pub struct LoopSetting<'a> {
    /// The jobs; the first one exchanges.
    pub file: &'a JobFile,
    /// Their network.
    pub network: &'a Network,
    /// The machine's parameters.
    pub model: &'a Model,
    /// Where the jobs are.
    pub allocation: &'a Allocation,
    /// Threads of a simulation; the results are the same with any number.
    pub threads: usize,
    /// How many times faster than MPI planned paths must be (`OPTIQ_MIN_GAIN`).
    pub min_gain: f64,
}

/// A call of the loop.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopCall {
    /// From the agreement until the last rank was done, and the look if there was one.
    pub seconds: f64,
    /// MPI served it, with all messages at once.
    pub by_mpi: bool,
    /// The link bound of its plan on what was taken for left of the links.
    pub planned_seconds: f64,
    /// Of what the look took; 0 without one.
    pub look_seconds: f64,
    /// Another plan served for the first time.
    pub took_over: bool,
    /// The links that were taken for busy, with the share that is left of each, ascending.
    pub busy_links: Vec<(LinkId, f64)>,
}

/// A series of calls.
#[derive(Clone, Debug, PartialEq)]
pub struct LoopSeries {
    /// By phase, in order.
    pub phases: Vec<Vec<LoopCall>>,
    /// What each plan took to make on this machine, in seconds: the first one, and those on what is left.
    pub planning_seconds: Vec<f64>,
}

/// Link bounds of an exchange on what a load leaves.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LoopBounds {
    /// Of the plan for a network without load.
    pub unaware_seconds: f64,
    /// Of the plan on what is left.
    pub knows_seconds: f64,
    /// Of the fabric's own routes.
    pub fabric_seconds: f64,
}

/// What serves calls that learn nothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fixed {
    /// An algorithm of MPI, and how packets are routed.
    Mpi(AllToAllVAlgorithm, Policy),
    /// OPTIQ's plan for a network without load.
    Unaware,
    /// OPTIQ's plan on what the load leaves.
    Knows,
}

/// What a loop learns of the load from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The times of its own legs.
    LegTimes,
    /// Port counters of all links, read between calls (`OPTIQ_COUNTERS`).
    Counters,
}

/// An exchange that was simulated.
struct Simulated {
    seconds: f64,
    legs: Vec<LegTime>,
    /// How long links were counted, and what each has carried, of all jobs with headers.
    counted_seconds: f64,
    link_bytes: Vec<u64>,
}

impl LoopSetting<'_> {
    fn hosts(&self, job: usize) -> Vec<u32> {
        self.allocation.jobs[job].of_processes().map(|host| host.0).collect()
    }

    /// Bytes of a pattern's demand, and the demands of the exchange.
    fn demands(&self) -> Result<(u64, &str), SimError> {
        match &self.file.jobs[EXCHANGE].program.kind {
            ProgramKind::AllToAllV { message, demands, .. } => Ok((*message, demands)),
            _ => Err(self.file.error(EXCHANGE, "an alltoallv is expected, whose plan follows the load")),
        }
    }

    /// The exchange of each call: once.
    fn exchange(&self, algorithm: AllToAllVAlgorithm) -> Result<ProgramSpec, SimError> {
        let (message, demands) = self.demands()?;
        let kind = ProgramKind::AllToAllV { message, demands: demands.to_owned(), algorithm };
        Ok(ProgramSpec { kind, samples: 1, warmup: 0, ..self.file.jobs[EXCHANGE].program.clone() })
    }

    /// The plan of the exchange on what is left of the links.
    fn plan(&self, left: Option<&Network>) -> Result<PlannedExchange, SimError> {
        let (message, demands) = self.demands()?;
        let hosts = self.hosts(EXCHANGE);
        let setting = self.allocation.setting(self.file, EXCHANGE, (self.network, self.model), &hosts);
        let setting = JobSetting { planning_network: left, ..setting };
        let demands = alltoallv::rank_demands(demands, setting.ranks(), message)?;
        alltoallv::plan(&demands, &setting).map_err(|e| self.file.error(EXCHANGE, &e.to_string()))
    }

    /// The link bounds of the exchange on what is left of the links.
    ///
    /// # Errors
    /// What planner and routes report; [`SimError::Workload`] if the first job is no `alltoallv`.
    pub fn bounds(&self, left: &Network) -> Result<LoopBounds, SimError> {
        let (message, demands) = self.demands()?;
        let hosts = self.hosts(EXCHANGE);
        let setting = self.allocation.setting(self.file, EXCHANGE, (self.network, self.model), &hosts);
        let demands = alltoallv::host_demands(demands, message, &setting)?;
        let unaware = alltoallv::plan_between_hosts(&demands, &setting)?;
        let knows = alltoallv::plan_between_hosts(&demands, &JobSetting { planning_network: Some(left), ..setting })?;
        let fabric = self.network.route_load(demands.iter().map(|d| (d.src, d.dst, d.bytes)))?;
        Ok(LoopBounds {
            unaware_seconds: plan::congestion(left, &unaware.plan.link_load(self.network)?),
            knows_seconds: knows.report.congestion_seconds,
            fabric_seconds: plan::congestion(left, &fabric),
        })
    }

    /// The exchange, once, beside the load of this job; its plan, or nothing for an algorithm of MPI.
    fn simulate(
        &self,
        program: &ProgramSpec,
        plan: Option<&PlannedExchange>,
        (load, seed, routing): (Option<usize>, u64, Policy),
    ) -> Result<Simulated, SimError> {
        let placed = |job: usize, program: &ProgramSpec, is_measured: bool| PlacedJob {
            program: program.clone(),
            hosts: self.hosts(job),
            servers: self.allocation.jobs[job].servers.len() as u32,
            is_measured,
        };
        let mut jobs = vec![placed(EXCHANGE, program, true)];
        jobs.extend(load.map(|job| placed(job, &self.file.jobs[job].program, false)));
        let report: RefCell<Option<SharedReport>> = RefCell::default();
        let make = |job: &PlacedJob, setting: &JobSetting<'_>| match plan {
            Some(plan) if job.is_measured => {
                let (ranks, watched) = plan.watched_ranks(setting.ranks(), self.model)?;
                *report.borrow_mut() = Some(watched);
                build_repeated(&job.program, setting, ranks)
            }
            _ => build(&job.program, setting),
        };
        let options = RunOptions { threads: self.threads, seed, routing, ..RunOptions::default() };
        let PlacedOutcome { reports, outcome } = simulate_built((self.network, self.model), &jobs, make, &options)?;
        let legs = report.take().map_or_else(Vec::new, |report| self.between_hosts(&report));
        Ok(Simulated {
            seconds: reports[EXCHANGE].makespan().seconds(),
            legs,
            counted_seconds: outcome.time.seconds(),
            link_bytes: outcome.link_bytes,
        })
    }

    /// The legs that ranks report, between their hosts.
    fn between_hosts(&self, report: &SharedReport) -> Vec<LegTime> {
        let hosts = self.hosts(EXCHANGE);
        let report = report.lock();
        let all = report.legs.iter().flat_map(|(from, legs)| legs.iter().map(move |leg| (from, leg)));
        let host = |rank: u32| NodeId(hosts[rank as usize]);
        all.map(|(from, leg)| LegTime {
            from: host(from.0),
            to: host(leg.to.0),
            bytes: leg.bytes,
            seconds: leg.seconds,
        })
        .collect()
    }

    /// What the load of this job leaves of the links, by a run of it alone.
    ///
    /// # Errors
    /// As [`run_kind`].
    pub fn left_beside(&self, load: Option<usize>) -> Result<Network, SimError> {
        let Some(job) = load else { return Ok(self.network.clone()) };
        let Self { file, network, model, allocation, threads, .. } = *self;
        let jobs = Jobs { file, network, model, allocation, planning_networks: &[] };
        let options = JobRunOptions { threads, series: Recording::Links, ..JobRunOptions::default() };
        let (outcome, of_jobs) = run_kind(&jobs, Kind::Alone(job), &options)?;
        Ok(MeasuredLoad::of(&outcome, &of_jobs).left(network, model))
    }

    /// What a look takes: all legs' times to one rank, by a binomial tree.
    fn look_seconds(&self, legs: usize) -> f64 {
        let ranks = self.allocation.jobs[EXCHANGE].ranks();
        let HostModel { send_overhead_picoseconds: send, receive_overhead_picoseconds: receive, .. } = self.model.host;
        let steps = f64::from(ranks.next_power_of_two().trailing_zeros());
        steps * (send + receive) as f64 / 1e12 + (legs * BYTES_A_LEG) as f64 / self.network.unit_capacity()
    }

    /// What ranks take to agree before a call.
    fn agreement_seconds(&self) -> f64 {
        cost_model(self.model, self.network, Executor::of(self.model).carry).agreement_seconds
    }

    /// `calls` calls in each phase, without learning anything; a phase is the job that loads the links, or nothing. Seconds of each call, by phase.
    ///
    /// # Errors
    /// What planner and simulator report; [`SimError::Workload`] if the first job is no `alltoallv`.
    pub fn fixed(&self, side: Fixed, phases: &[Option<usize>], calls: usize) -> Result<Vec<Vec<f64>>, SimError> {
        let (algorithm, routing) = match side {
            Fixed::Mpi(algorithm, routing) => (algorithm, routing),
            Fixed::Unaware | Fixed::Knows => (AllToAllVAlgorithm::Optiq, self.file.routing),
        };
        let agreement_seconds = if matches!(side, Fixed::Mpi(..)) { 0.0 } else { self.agreement_seconds() };
        let program = self.exchange(algorithm)?;
        let mut all = Vec::new();
        for (number, &load) in phases.iter().enumerate() {
            let plan = match side {
                Fixed::Mpi(..) => None,
                Fixed::Unaware => Some(self.plan(None)?),
                Fixed::Knows => Some(self.plan(Some(&self.left_beside(load)?))?),
            };
            let one = |call: usize| {
                let seed = self.seed(number * calls + call);
                Ok(agreement_seconds + self.simulate(&program, plan.as_ref(), (load, seed, routing))?.seconds)
            };
            all.push((0..calls).map(one).collect::<Result<Vec<f64>, SimError>>()?);
        }
        Ok(all)
    }

    /// Of the load's random numbers: the same for call `number` of every side.
    fn seed(&self, number: usize) -> u64 {
        self.file.seed.wrapping_add(number as u64)
    }

    /// `calls` calls in each phase, whose plan follows the load, learned from `source`.
    ///
    /// # Errors
    /// As [`LoopSetting::fixed`].
    pub fn follow(&self, source: Source, phases: &[Option<usize>], calls: usize) -> Result<LoopSeries, SimError> {
        let program = self.exchange(AllToAllVAlgorithm::Optiq)?;
        let by_mpi = self.exchange(AllToAllVAlgorithm::Linear)?;
        let started = Instant::now();
        let first = self.plan(None)?;
        let planning_seconds = vec![started.elapsed().as_secs_f64()];
        let links = self.network.links().len();
        let mut following = Following {
            setting: self,
            steering: Steering::new(links),
            counters: (source == Source::Counters).then(|| Counters::new(links)),
            pace: Pace::default(),
            trials: Trials::beginning_with(first.first),
            plan: first,
            next: None,
            planning_seconds,
            now: 0.0,
        };
        let mut all = Vec::new();
        for (number, &load) in phases.iter().enumerate() {
            let mut of_phase = Vec::new();
            for call in 0..calls {
                let took_over = following.take_over();
                let with = (load, self.seed(number * calls + call), self.file.routing);
                let side = following.side();
                let mut call = match side {
                    Side::Planned(_) => following.learn(self.simulate(&program, Some(&following.plan), with)?)?,
                    Side::Plain => {
                        let simulated = self.simulate(&by_mpi, None, with)?;
                        following.count(&simulated, true);
                        following.call(simulated.seconds, true)
                    }
                };
                following.record(side, call.seconds - call.look_seconds);
                call.took_over = took_over;
                of_phase.push(call);
            }
            all.push(of_phase);
        }
        Ok(LoopSeries { phases: all, planning_seconds: following.planning_seconds })
    }
}

/// The loop from call to call.
struct Following<'a> {
    setting: &'a LoopSetting<'a>,
    steering: Steering,
    counters: Option<Counters>,
    pace: Pace,
    trials: Trials,
    plan: PlannedExchange,
    /// Made, and in how many calls it takes over.
    next: Option<(PlannedExchange, u32)>,
    planning_seconds: Vec<f64>,
    /// The time of all calls so far.
    now: f64,
}

/// Port counters of all links, and what a session knows of what it has sent itself.
struct Counters {
    counting: Counting,
    /// Since the first call.
    reading: Reading,
    /// By link: what a call of the plan that serves sends, if one was looked at.
    loads: Option<Rc<[u64]>>,
}

impl Counters {
    fn new(links: usize) -> Self {
        let bytes = (0..links as u32).map(|link| (LinkId(link), 0)).collect();
        Self { counting: Counting::default(), reading: Reading { seconds: 0.0, bytes }, loads: None }
    }
}

/// The number of calls during which a plan is made.
const CALLS_OF_PLANNING: u32 = 1;

impl Following<'_> {
    /// Has a plan that is ready serve; whether there is one.
    fn take_over(&mut self) -> bool {
        match self.next.take() {
            Some((plan, 0)) => {
                // What was measured of planned paths was measured beside another load.
                let scale = self.plan.bounds.direct / plan.bounds.direct;
                self.trials = Trials::beginning_with(plan.first).with_mpi_of(&self.trials, scale);
                self.plan = plan;
                self.steering.take_over();
                self.pace.restart();
                if let Some(counters) = &mut self.counters {
                    counters.loads = None;
                }
                true
            }
            Some((plan, wait)) => {
                self.next = Some((plan, wait - 1));
                false
            }
            None => false,
        }
    }

    /// Who serves the next call: planned paths while something that they measured is to be confirmed, else as times say.
    fn side(&mut self) -> Side {
        if self.next.is_none() && self.steering.is_in_doubt() {
            return Side::Planned(self.trials.flow_control());
        }
        self.trials.next(self.setting.min_gain, self.plan.bounds)
    }

    fn record(&mut self, side: Side, seconds: f64) {
        self.trials.record(side, seconds / self.plan.bounds.direct);
    }

    /// The links count a call, and the loop what it knows of its own part.
    fn count(&mut self, simulated: &Simulated, by_mpi: bool) {
        let Some(Counters { counting, reading, loads }) = &mut self.counters else { return };
        let began = reading.seconds;
        reading.seconds += simulated.counted_seconds;
        reading.bytes.values_mut().zip(&simulated.link_bytes).for_each(|(all, bytes)| *all += bytes);
        counting.sent(loads.as_ref().filter(|_| !by_mpi), began, reading.seconds);
    }

    /// What a call on planned paths that is looked at leads to.
    fn observe(&mut self, exchange: &Exchange) -> Option<Proposal> {
        let network = self.setting.network;
        let Some(Counters { counting, reading, loads }) = &mut self.counters else {
            return self.steering.observe(network, exchange, self.now);
        };
        let own = exchange.link_bytes(network);
        *loads = Some(own.as_slice().into());
        let left = counting.read(reading.clone(), reading.seconds, network)?;
        self.steering.counted(&left, own, self.now)
    }

    /// A call that took so long without the agreement, by either side.
    fn call(&mut self, seconds: f64, by_mpi: bool) -> LoopCall {
        let seconds = self.setting.agreement_seconds() + seconds;
        self.now += seconds;
        LoopCall {
            seconds,
            by_mpi,
            planned_seconds: self.plan.bounds.planned,
            look_seconds: 0.0,
            took_over: false,
            busy_links: self.steering.busy().into_iter().map(|busy| (busy.link, busy.share)).collect(),
        }
    }

    /// A call on planned paths.
    fn learn(&mut self, simulated: Simulated) -> Result<LoopCall, SimError> {
        self.count(&simulated, false);
        let Simulated { seconds, legs, .. } = simulated;
        let planned_seconds = self.plan.bounds.planned;
        let mut call = self.call(seconds, false);
        let is_late = self.pace.call(seconds);
        if self.next.is_some() || !(is_late || self.pace.is_due()) {
            return Ok(call);
        }
        call.look_seconds = self.setting.look_seconds(legs.len());
        call.seconds += call.look_seconds;
        self.pace.looked(call.look_seconds);
        let network = self.setting.network;
        let proposal = self.observe(&Exchange { planned_seconds, seconds, legs });
        if self.steering.is_in_doubt() {
            self.pace.hurry();
        }
        if let Some(proposal) = proposal {
            let left = left_of(network, &proposal.shares);
            let started = Instant::now();
            let plan = self.setting.plan(Some(&left))?;
            self.planning_seconds.push(started.elapsed().as_secs_f64());
            if is_worth(proposal.before(&plan.direct, &left), plan.links) {
                self.next = Some((plan, CALLS_OF_PLANNING));
            } else {
                self.steering.decline();
            }
        }
        Ok(call)
    }
}

//! From a specification to the program of each process of a job.

use super::alltoallv::{self, GoalRank};
use super::broadcast::{self, Broadcast};
use super::collectives::{AllReduce, AllToAll, Demands, SampleSort, Stencil};
use super::destinations::{Destinations, Rule, partners};
use super::grid;
use super::io::{Client, Server};
use super::member::{Member, Stream, stream};
use super::message_loop::MessageLoop;
use super::open_loop::{Intervals, OpenLoop, OpenRule, expected};
use super::pacing::Clock;
use super::phases::{Exchange, Phased};
use super::ping_pong::PingPong;
use super::repeated::{Once, Repeated};
use super::samples::JobReport;
use super::setting::JobSetting;
use super::silent::Silent;
use super::steps::{Round, Step, Steps};
use crate::error::SimError;
use crate::jobs::program_spec::{AllToAllVAlgorithm, IoSpec, OpenRate, Pace, ProgramKind, ProgramSpec};
use crate::jobs::steps_file::{FileStep, StepsFile};
use crate::nic::program::Program;
use crate::time::Time;
use crate::workload::goal::schedule::Goal;
use optiq_net::NodeId;
use optiq_probe::description::{self, Rings};
use std::sync::Arc;

/// The most draws of destinations that are made before an open loop begins.
const MAX_DRAWS: u64 = 1 << 27;

/// A job that is ready to be simulated.
pub struct BuiltJob {
    /// The program of each process: ranks first, then servers.
    pub programs: Vec<Box<dyn Program>>,
    /// What they measure.
    pub report: JobReport,
}

/// How one rank's messages are chosen, once a specification is checked against the ranks.
pub(super) enum Traffic {
    /// A closed loop of messages, or of puts.
    Closed { rule: Rule, bytes: u64, puts: bool },
    /// An open one.
    Open(OpenRule, u64, Intervals),
    /// Operations in phases.
    Phases(Arc<dyn Exchange>),
    /// Anything else.
    Other,
}

/// The rank's destinations by a rule.
///
/// # Errors
/// [`SimError::Workload`]: ranks that do not fit the program.
pub(super) fn traffic_of(spec: &ProgramSpec, setting: &JobSetting<'_>) -> Result<Traffic, SimError> {
    let ranks = setting.ranks();
    let name = spec.name();
    let problem = |text: String| SimError::Workload(format!("{name}: {text}"));
    let bad = |text: String| Err(problem(text));
    let lonely = matches!(spec.kind, ProgramKind::Goal { .. } | ProgramKind::Io(_) | ProgramKind::Idle);
    if ranks < 2 && !lonely {
        return bad(format!("found {ranks} rank; at least two are expected"));
    }
    let shift = |shift: u32| match shift % ranks {
        0 => Err(problem(format!("with shift={shift} each of {ranks} ranks sends to itself"))),
        by => Ok(Rule::Shift(by)),
    };
    let mut by_puts = false;
    let (rule, bytes) = match &spec.kind {
        ProgramKind::Open { message, rate, poisson, shift: by } => {
            let rule = by.map_or(Ok(Rule::Uniform), shift)?;
            let mean = interval(*rate, *message, setting)?;
            let intervals = intervals(spec, mean, *poisson);
            return Ok(Traffic::Open(OpenRule::Message(rule), *message, intervals));
        }
        ProgramKind::Pairs { .. } if ranks % 2 == 1 => {
            return bad(format!("found {ranks} ranks; an even number is expected"));
        }
        ProgramKind::Pairs { message } => (Rule::Partners(Arc::new(partners(ranks, setting.seed))), *message),
        ProgramKind::Uniform { message } => (Rule::Uniform, *message),
        ProgramKind::Tornado { message, shift: by } => (shift(by.unwrap_or(ranks / 2))?, *message),
        ProgramKind::Incast { root, .. } if *root >= ranks => {
            return bad(format!("found root={root}; a rank below {ranks} is expected"));
        }
        ProgramKind::Incast { message, root, puts } => {
            by_puts = *puts;
            (Rule::One(*root), *message)
        }
        ProgramKind::Stencil { message, dims } => return stencil(spec, *message, *dims, ranks),
        ProgramKind::AllToAll { message, pairwise } => {
            return Ok(Traffic::Phases(Arc::new(AllToAll { ranks, bytes: *message, pairwise: *pairwise })));
        }
        ProgramKind::AllReduce { message } => {
            return Ok(Traffic::Phases(Arc::new(AllReduce { ranks, bytes: *message })));
        }
        ProgramKind::AllToAllV { message, demands, algorithm } if *algorithm != AllToAllVAlgorithm::Optiq => {
            let demands = alltoallv::rank_demands(demands, ranks, *message)?;
            let exchange = Demands::new(ranks, &demands, *algorithm == AllToAllVAlgorithm::Pairwise);
            return Ok(Traffic::Phases(Arc::new(exchange)));
        }
        ProgramKind::SampleSort { total } => {
            return Ok(Traffic::Phases(Arc::new(SampleSort::new(ranks, *total, setting.seed))));
        }
        ProgramKind::Compression { message, partners, messages } => {
            let rings = Rings::new(rank_hosts(setting), *partners).map_err(|e| problem(e.to_string()))?;
            return Ok(Traffic::Phases(Arc::new(Round { rings, bytes: *message, messages: *messages })));
        }
        ProgramKind::Steps { file } => return Ok(Traffic::Phases(Arc::new(steps(&StepsFile::read(file)?, setting)?))),
        ProgramKind::Impact { .. }
        | ProgramKind::Broadcast { .. }
        | ProgramKind::AllToAllV { .. }
        | ProgramKind::Goal { .. }
        | ProgramKind::Io(_)
        | ProgramKind::Idle => return Ok(Traffic::Other),
    };
    Ok(match spec.pace.interval {
        Some(mean) => Traffic::Open(OpenRule::Message(rule), bytes, intervals(spec, mean, false)),
        None => Traffic::Closed { rule, bytes, puts: by_puts },
    })
}

/// The host of each rank.
pub(super) fn rank_hosts<'a>(setting: &JobSetting<'a>) -> &'a [u32] {
    &setting.hosts[..setting.ranks() as usize]
}

/// The steps of a file, for as many ranks as it is of.
fn steps(file: &StepsFile, setting: &JobSetting<'_>) -> Result<Steps, SimError> {
    let ranks = setting.ranks();
    if file.ranks != ranks {
        let text = format!("steps: found a file of {} ranks for {ranks}; the same number is expected", file.ranks);
        return Err(SimError::Workload(text));
    }
    let step = |step: &FileStep| {
        let exchange = match &step.exchange {
            None => None,
            Some(spec) => match traffic_of(spec, setting)? {
                Traffic::Phases(exchange) => Some(exchange),
                _ => return Err(SimError::Workload(format!("steps: {spec} is no exchange in phases"))),
            },
        };
        Ok(Step { computing: step.compute, exchange })
    };
    Ok(Steps::new(file.steps.iter().map(step).collect::<Result<_, SimError>>()?))
}

fn stencil(spec: &ProgramSpec, bytes: u64, dims: Option<[u32; 3]>, ranks: u32) -> Result<Traffic, SimError> {
    let dims = dims.unwrap_or_else(|| grid::dims(ranks));
    if dims.iter().product::<u32>() != ranks {
        let [a, b, c] = dims;
        let text = format!("stencil: dims={a}x{b}x{c} are {} ranks; {ranks} are expected", a * b * c);
        return Err(SimError::Workload(text));
    }
    Ok(match spec.pace.interval {
        Some(mean) => Traffic::Open(OpenRule::Stencil(dims), bytes, intervals(spec, mean, false)),
        None => Traffic::Phases(Arc::new(Stencil { dims, bytes })),
    })
}

/// When the rounds of an open loop start.
fn intervals(spec: &ProgramSpec, mean: Time, poisson: bool) -> Intervals {
    let Pace { jitter_millionths, starts_together: together, .. } = spec.pace;
    Intervals { mean, poisson, jitter_millionths, together }
}

/// From start to start of an open loop.
fn interval(rate: OpenRate, message: u64, setting: &JobSetting<'_>) -> Result<Time, SimError> {
    let per_second = match rate {
        OpenRate::Interval(time) => return Ok(time),
        OpenRate::BytesPerSecond(rate) => rate,
        OpenRate::LoadMillionths(part) => {
            let host = setting.hosts.first().copied().unwrap_or_default();
            let links = setting.network.out_links(NodeId(host)).map(|id| setting.network.link(id));
            let slowest = links.map(|link| link.capacity / f64::from(link.lanes)).min_by(f64::total_cmp);
            f64::from(part) / 1e6 * slowest.unwrap_or(0.0)
        }
    };
    let time = Time::from_seconds(message as f64 / per_second);
    if time == Time::ZERO || time > Time::SECOND * 100_000 {
        let text =
            format!("open: {message} bytes at {per_second} bytes per second are a message each {} s", time.seconds());
        return Err(SimError::Workload(format!("{text}; 1 ps to 100,000 s are expected")));
    }
    Ok(time)
}

/// Makes the programs of a job.
///
/// # Errors
/// [`SimError::Workload`]: processes that do not fit the program, too many samples; what a file or a planner reports.
pub fn build(spec: &ProgramSpec, setting: &JobSetting<'_>) -> Result<BuiltJob, SimError> {
    setting.check(spec)?;
    let job = Builder { spec, setting, ranks: setting.ranks() };
    match traffic_of(spec, setting)? {
        Traffic::Closed { rule, bytes, puts } => job.closed(&rule, bytes, puts),
        Traffic::Open(rule, bytes, intervals) => job.open(&rule, bytes, intervals),
        Traffic::Phases(exchange) => job.phases(&exchange),
        Traffic::Other => match &spec.kind {
            ProgramKind::Broadcast { message, tree } => job.broadcast(*message, *tree),
            ProgramKind::AllToAllV { message, demands, .. } => job.planned(*message, demands),
            ProgramKind::Goal { file } => job.goal(&Goal::read(file)?),
            ProgramKind::Io(io) => job.io(*io),
            ProgramKind::Impact { message } => job.impact(*message),
            _ => job.idle(),
        },
    }
}

/// A job whose ranks run these again and again, as often as `spec` says.
///
/// # Errors
/// [`SimError::Workload`]: too many samples.
pub(in crate::jobs) fn build_repeated(
    spec: &ProgramSpec,
    setting: &JobSetting<'_>,
    ranks: Vec<Box<dyn Once>>,
) -> Result<BuiltJob, SimError> {
    Builder { spec, setting, ranks: setting.ranks() }.repeated(ranks, setting.keep_going)
}

struct Builder<'a> {
    spec: &'a ProgramSpec,
    setting: &'a JobSetting<'a>,
    ranks: u32,
}

impl Builder<'_> {
    fn report(&self, samples: u64) -> Result<JobReport, SimError> {
        JobReport::new(self.spec.name(), self.setting.hosts.len() as u32, samples)
    }

    /// Of each rank with these samples.
    fn each(&self, samples: u64, make: impl Fn(Member, &JobReport) -> Box<dyn Program>) -> Result<BuiltJob, SimError> {
        let report = self.report(samples)?;
        let programs = (0..self.ranks).map(|rank| make(self.member(rank), &report)).collect();
        Ok(BuiltJob { programs, report })
    }

    fn member(&self, rank: u32) -> Member {
        Member { first: self.setting.first, rank, ranks: self.ranks }
    }

    fn clock(&self, member: Member) -> Clock {
        Clock::new(self.spec.pace, self.setting.seed, member.rank)
    }

    fn sampling(&self) -> (u64, u64) {
        (self.spec.warmup.into(), self.spec.samples.into())
    }

    fn silent(&self, member: Member, report: &JobReport) -> Box<dyn Program> {
        let recorder = report.recorder(member.rank, 0, 0);
        Box::new(Silent { member, recorder, control: self.setting.model.host.control_bytes })
    }

    fn idle(&self) -> Result<BuiltJob, SimError> {
        self.each(0, |member, report| self.silent(member, report))
    }

    fn closed(&self, rule: &Rule, bytes: u64, puts: bool) -> Result<BuiltJob, SimError> {
        let (skip, samples) = self.sampling();
        self.each(samples, |member, report| {
            if matches!(rule, Rule::One(root) if *root == member.rank) {
                return self.silent(member, report);
            }
            Box::new(MessageLoop {
                member,
                destinations: Destinations::new(rule.clone(), member.rank, member.ranks, self.setting.seed),
                bytes,
                puts,
                control: self.setting.model.host.control_bytes,
                clock: self.clock(member),
                recorder: report.recorder(member.rank, skip, samples),
                keep_going: self.setting.keep_going,
                started: Time::ZERO,
                is_open: false,
            })
        })
    }

    fn open(&self, rule: &OpenRule, bytes: u64, intervals: Intervals) -> Result<BuiltJob, SimError> {
        let (skip, samples) = self.sampling();
        let (ranks, seed) = (self.ranks, self.setting.seed);
        if (skip + samples).saturating_mul(ranks.into()) > MAX_DRAWS {
            let text = format!("{}: {ranks} ranks with {} messages each", self.spec.name(), skip + samples);
            return Err(SimError::Workload(format!("{text} are more than {MAX_DRAWS}; fewer are expected")));
        }
        let expected = expected(rule, ranks, seed, skip, samples);
        let mean = expected.iter().sum::<u64>().div_ceil(expected.len() as u64);
        self.each(mean, |member, report| {
            let wanted = expected.get(member.rank as usize).copied().unwrap_or_default();
            let recorder = report.recorder(member.rank, 0, wanted);
            let targets = rule.targets(member.rank, ranks, seed);
            let counted = (skip, samples, self.setting.keep_going);
            Box::new(OpenLoop::new((member, seed), targets, (bytes, intervals), recorder, counted))
        })
    }

    fn impact(&self, bytes: u64) -> Result<BuiltJob, SimError> {
        let (skip, samples) = self.sampling();
        let partners = description::pair_up(rank_hosts(self.setting));
        let partners = partners.map_err(|e| SimError::Workload(format!("{}: {e}", self.spec.name())))?;
        self.each(samples, |member, report| {
            let partner = partners[member.rank as usize];
            let (skip, wanted) = if partner.is_some_and(|p| p.begins) { (skip, samples) } else { (0, 0) };
            Box::new(PingPong {
                member,
                partner,
                bytes,
                clock: self.clock(member),
                recorder: report.recorder(member.rank, skip, wanted),
                keep_going: self.setting.keep_going,
                started: Time::ZERO,
                is_open: false,
            })
        })
    }

    /// When the operations of all ranks of `steps` begin: anywhere in the computing of one, so that jobs of one program are not in step.
    fn delay(&self, exchange: &dyn Exchange) -> Time {
        if !matches!(self.spec.kind, ProgramKind::Steps { .. }) || self.spec.pace.starts_together {
            return Time::ZERO;
        }
        let computing: u64 = (0..exchange.phases()).map(|phase| exchange.computing(phase).as_picoseconds()).sum();
        Time::picoseconds(stream(self.setting.seed, 0, Stream::Job).below(computing.max(1)))
    }

    fn phases(&self, exchange: &Arc<dyn Exchange>) -> Result<BuiltJob, SimError> {
        let (skip, samples) = self.sampling();
        let delay = self.delay(&**exchange);
        self.each(samples, |member, report| {
            let recorder = report.recorder(member.rank, skip, samples);
            let clock = self.clock(member);
            Box::new(Phased::new(member, Arc::clone(exchange), clock, recorder, self.setting.keep_going).delayed(delay))
        })
    }

    fn broadcast(&self, bytes: u64, tree: bool) -> Result<BuiltJob, SimError> {
        let (skip, samples) = self.sampling();
        self.each(samples, |member, report| {
            // Rank 0 has nothing to receive.
            let wanted = if member.rank == 0 { 0 } else { samples };
            Box::new(Broadcast {
                member,
                children: broadcast::children(member.rank, member.ranks, tree),
                tree,
                bytes,
                control: self.setting.model.host.control_bytes,
                clock: self.clock(member),
                recorder: report.recorder(member.rank, skip, wanted),
                keep_going: self.setting.keep_going,
                skip,
                operations: skip + samples,
                begun: 0,
                started: Time::ZERO,
                missing: 0,
            })
        })
    }

    fn planned(&self, message: u64, demands: &str) -> Result<BuiltJob, SimError> {
        let demands = alltoallv::rank_demands(demands, self.ranks, message)?;
        let planned = alltoallv::plan(&demands, self.setting)?;
        self.repeated(planned.ranks(self.ranks, self.setting.model)?, self.setting.keep_going)
    }

    fn goal(&self, goal: &Goal) -> Result<BuiltJob, SimError> {
        if goal.ranks() != self.ranks {
            let text = format!("goal: a schedule of {} ranks; the job has {}", goal.ranks(), self.ranks);
            return Err(SimError::Workload(text));
        }
        let make = |rank| Box::new(GoalRank::new(goal.clone(), rank, self.setting.model.clone())) as Box<dyn Once>;
        // One rank alone may have nothing to do, without end.
        self.repeated((0..self.ranks).map(make).collect(), self.setting.keep_going && self.ranks > 1)
    }

    fn repeated(&self, ranks: Vec<Box<dyn Once>>, keep_going: bool) -> Result<BuiltJob, SimError> {
        let (skip, samples) = self.sampling();
        let report = self.report(samples)?;
        let programs = (0..).zip(ranks).map(|(rank, once)| {
            let member = self.member(rank);
            let recorder = report.recorder(rank, skip, samples);
            let rest = (report.clone(), keep_going, self.setting.seed);
            Box::new(Repeated::new(member, once, self.clock(member), recorder, rest)) as Box<dyn Program>
        });
        Ok(BuiltJob { programs: programs.collect(), report })
    }

    fn io(&self, io: IoSpec) -> Result<BuiltJob, SimError> {
        let JobSetting { servers, seed, keep_going, model, .. } = *self.setting;
        if io.stripes > servers {
            let text = format!("{}: found stripes={} for {servers} servers", self.spec.name(), io.stripes);
            return Err(SimError::Workload(format!("{text}; at most as many as servers are expected")));
        }
        let (skip, samples) = self.sampling();
        let control = model.host.control_bytes;
        let mut job = self.each(samples, |member, report| {
            let recorder = report.recorder(member.rank, skip, samples);
            let rest = (skip + samples, keep_going);
            Box::new(Client::new((member, seed), (io, servers, control), self.clock(member), recorder, rest))
        })?;
        for server in 0..servers {
            let member = self.member(self.ranks + server);
            let recorder = job.report.recorder(member.rank, 0, 0);
            job.programs.push(Box::new(Server::new(member, io, control, recorder)));
        }
        Ok(job)
    }
}

//! What an `alltoallv` by OPTIQ and a `goal` run once for each operation; how the former is planned.

use super::repeated::Once;
use super::setting::JobSetting;
use crate::error::SimError;
use crate::model::Model;
use crate::nic::program::Program;
use crate::simulated_exchange::method::Executor;
use crate::simulated_exchange::run::lower_planned;
use crate::time::Time;
use crate::workload::chunks::ChunkCosts;
use crate::workload::goal::replay::Replay;
use crate::workload::goal::schedule::Goal;
use crate::workload::report::ClassArrivals;
use crate::workload::report::{Report, SharedReport};
use optiq_lower::closed_loop::steering::LinkUse;
use optiq_lower::lower;
use optiq_lower::placement::{Placement, PlacementRule};
use optiq_lower::ports::PortLoads;
use optiq_lower::trials::{LinkBounds, Side};
use optiq_net::{LinkLoad, Network, NodeId};
use optiq_solver::demands::{self, Demand};
use optiq_solver::pipeline::{self, PlanOptions, Planned};
use optiq_solver::plan;
use optiq_transport::{FlowControl, Path, QueueOrder, Rank, Schedule, ScheduleOptions};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Demands between ranks: (source, destination, bytes), each pair once, without those of a rank to itself.
///
/// # Errors
/// What [`demands::parse`] reports.
pub(in crate::jobs) fn rank_demands(text: &str, ranks: u32, message: u64) -> Result<Vec<(u32, u32, u64)>, SimError> {
    // Only the number of its hosts matters.
    let as_hosts = Network::from_spec(&format!("star:{ranks}"))?;
    let found = demands::parse(text, &as_hosts, message).map_err(|e| SimError::Workload(format!("alltoallv: {e}")))?;
    let mut sums: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for d in found.iter().filter(|d| d.src != d.dst) {
        let sum = sums.entry((d.src.0, d.dst.0)).or_default();
        *sum = sum.saturating_add(d.bytes);
    }
    Ok(sums.into_iter().filter(|(_, bytes)| *bytes > 0).map(|((from, to), bytes)| (from, to, bytes)).collect())
}

/// An exchange that is planned: the paths between ranks, and how they are carried out.
pub(in crate::jobs) struct PlannedExchange {
    pub(super) paths: Vec<Path>,
    options: ScheduleOptions,
    executor: Executor,
    /// The plan's link bounds on the network as its planner saw it.
    pub(in crate::jobs) bounds: LinkBounds,
    /// What it asks of the links of that network.
    pub(in crate::jobs) links: LinkUse,
    /// What the fabric's own routes do.
    pub(in crate::jobs) direct: LinkLoad,
    /// Who serves it first in a session.
    pub(in crate::jobs) first: Side,
}

/// What an exchange moves between the hosts of a job, each pair once; without what stays on a host.
///
/// # Errors
/// What [`demands::parse`] reports.
pub(in crate::jobs) fn host_demands(
    text: &str,
    message: u64,
    setting: &JobSetting<'_>,
) -> Result<Vec<Demand>, SimError> {
    Ok(between_hosts(&rank_demands(text, setting.ranks(), message)?, setting))
}

fn between_hosts(demands: &[(u32, u32, u64)], setting: &JobSetting<'_>) -> Vec<Demand> {
    let host = |rank: u32| setting.hosts.get(rank as usize).copied().unwrap_or_default();
    let mut by_hosts: BTreeMap<(u32, u32), u64> = BTreeMap::new();
    for &(from, to, bytes) in demands.iter().filter(|d| host(d.0) != host(d.1)) {
        *by_hosts.entry((host(from), host(to))).or_default() += bytes;
    }
    by_hosts.into_iter().map(|((from, to), bytes)| Demand::new(NodeId(from), NodeId(to), bytes)).collect()
}

/// The plan of demands between the hosts of a job, on the network as its planner sees it, forwarding only there.
///
/// # Errors
/// What the planner reports.
pub(in crate::jobs) fn plan_between_hosts(demands: &[Demand], setting: &JobSetting<'_>) -> Result<Planned, SimError> {
    let mut forwarders = vec![false; setting.network.hosts()];
    setting.hosts.iter().for_each(|&host| forwarders[host as usize] = true);
    let options = PlanOptions { forwarders: Some(forwarders), ..PlanOptions::default() };
    Ok(pipeline::run(setting.planning_network.unwrap_or(setting.network), demands, &options)?)
}

/// Plans demands between ranks on the hosts of a job, forwarding only there.
///
/// # Errors
/// What planner, lowering and routing report.
pub(in crate::jobs) fn plan(
    demands: &[(u32, u32, u64)],
    setting: &JobSetting<'_>,
) -> Result<PlannedExchange, SimError> {
    let JobSetting { network, model, hosts, .. } = *setting;
    let seen = setting.planning_network.unwrap_or(network);
    let planned = plan_between_hosts(&between_hosts(demands, setting), setting)?;
    let names: Vec<String> = hosts.iter().map(|&host| network.name(NodeId(host)).to_owned()).collect();
    let placement = Placement::new(network, &names, &PlacementRule::Names).map_err(SimError::Workload)?;
    let message = |&(from, to, bytes): &(u32, u32, u64)| lower::Message {
        source: Rank(from),
        destination: Rank(to),
        bytes,
        class: 0,
    };
    let messages = demands.iter().map(message).collect();
    let executor = Executor::of(model);
    let schedule = ScheduleOptions::default();
    let lowered = lower_planned((seen, model), executor, (&placement, messages), &planned, schedule)?;
    let bounds = LinkBounds::of(&planned.plan, 0.0);
    let direct = plan::direct_load(network, &planned.plan.demands)?;
    let links = LinkUse::of(&planned.plan.link_load(seen)?, &direct, seen);
    let forwards = bounds.planned < bounds.direct;
    let of_direct = || {
        let kind = PortLoads::new(&planned.plan.demands).kind();
        Side::first_of_direct(kind, FlowControl::default(), network.routing().is_adaptive())
    };
    let first = if forwards { Side::PLANNED } else { of_direct() };
    Ok(PlannedExchange { paths: lowered.paths, options: lowered.options, executor, bounds, links, direct, first })
}

impl PlannedExchange {
    /// What each rank runs.
    ///
    /// # Errors
    /// What the chunk scheduler reports; more paths than tokens have numbers for.
    pub(super) fn ranks(&self, ranks: u32, model: &Model) -> Result<Vec<Box<dyn Once>>, SimError> {
        let costs = ChunkCosts::new(model, QueueOrder::default(), self.executor.carry);
        Ok(self.ranks_at(ranks, costs)?.0)
    }

    /// The same, and where they report how long their legs were busy.
    ///
    /// # Errors
    /// As [`PlannedExchange::ranks`].
    pub(in crate::jobs) fn watched_ranks(&self, ranks: u32, model: &Model) -> Result<Watched, SimError> {
        let costs = ChunkCosts::new(model, QueueOrder::default(), self.executor.carry);
        self.ranks_at(ranks, costs.with_leg_times())
    }

    fn ranks_at(&self, ranks: u32, costs: ChunkCosts) -> Result<Watched, SimError> {
        let most = 1 << ChunkRank::PATH_BITS;
        if let Some(path) = self.paths.iter().find(|path| path.id.0 >= most) {
            let text = format!("alltoallv: found path {}; fewer than {most} paths are expected", path.id.0);
            return Err(SimError::Workload(text));
        }
        let report: SharedReport =
            Arc::new(Mutex::new(Report { done: vec![Time::NEVER; ranks as usize], ..Report::default() }));
        let schedules = Schedule::all(ranks, &self.paths, &self.options)?;
        let make = |(rank, schedule): (u32, Schedule)| -> Box<dyn Once> {
            let (schedule, report) = (Arc::new(schedule), Arc::clone(&report));
            let program = costs.program(Arc::clone(&schedule), ClassArrivals::default(), &report);
            Box::new(ChunkRank { rank, costs, schedule, program, report })
        };
        Ok(((0..).zip(schedules).map(make).collect(), Arc::clone(&report)))
    }
}

/// What each rank runs, and what they report.
pub(in crate::jobs) type Watched = (Vec<Box<dyn Once>>, SharedReport);

/// A rank with a chunk scheduler.
struct ChunkRank {
    rank: u32,
    costs: ChunkCosts,
    schedule: Arc<Schedule>,
    program: Box<dyn Program>,
    report: SharedReport,
}

impl ChunkRank {
    /// Tokens have the path in their upper 32 bits.
    const PATH_BITS: u32 = 24;
}

impl Once for ChunkRank {
    fn renew(&mut self) {
        self.program = self.costs.program(Arc::clone(&self.schedule), ClassArrivals::default(), &self.report);
        self.set_done(false);
    }

    fn program(&mut self) -> &mut dyn Program {
        &mut *self.program
    }

    fn as_program(&self) -> &dyn Program {
        &*self.program
    }

    fn is_done(&self) -> bool {
        self.report.lock().done[self.rank as usize] != Time::NEVER
    }

    fn set_done(&mut self, is_done: bool) {
        self.report.lock().done[self.rank as usize] = if is_done { Time::ZERO } else { Time::NEVER };
    }

    fn take_failure(&mut self) -> Option<String> {
        self.report.lock().failure.take().map(|failure| failure.to_string())
    }

    fn free_bits(&self) -> u32 {
        32 + Self::PATH_BITS
    }
}

/// A rank of a GOAL schedule.
pub(super) struct GoalRank {
    goal: Goal,
    rank: u32,
    model: Model,
    replay: Replay,
}

impl GoalRank {
    pub(super) fn new(goal: Goal, rank: u32, model: Model) -> Self {
        let replay = Replay::among_jobs(&goal, rank, &model);
        Self { goal, rank, model, replay }
    }
}

impl Once for GoalRank {
    fn renew(&mut self) {
        self.replay = Replay::among_jobs(&self.goal, self.rank, &self.model);
    }

    fn program(&mut self) -> &mut dyn Program {
        &mut self.replay
    }

    fn as_program(&self) -> &dyn Program {
        &self.replay
    }

    fn is_done(&self) -> bool {
        self.replay.is_done()
    }

    fn set_done(&mut self, _: bool) {}

    fn take_failure(&mut self) -> Option<String> {
        self.replay.take_failure()
    }

    fn free_bits(&self) -> u32 {
        // Operations have numbers below 2^24, in the lower 32 bits.
        24
    }
}

//! The measurement, as every rank runs it.
//!
//! `MPI_Alltoallv` and OPTIQ run in turn in one job, the order changing from repetition to repetition. A repetition counts
//! from a barrier until the last rank has returned from its call. Where one call is short, a repetition of a side makes enough calls, the
//! same number on all ranks, to take ten milliseconds, and several times what ranks need to leave a barrier: where many share a
//! processor, the last one leaves milliseconds after the first, and calls that wait for it would be measured in its place. A repetition's
//! time is the mean of its calls. The first call of each side opens connections and makes the plan; it is reported
//! separately. Untimed calls follow, in which OPTIQ finds out whether planned paths or plain MPI are faster. Each case has
//! its own session, as in a program that repeats this exchange: what OPTIQ learned from 1-byte exchanges does not
//! affect the times of megabytes. (docs/decisions/012 says how soon OPTIQ notices such a change.)
//!
//! Before each repetition comes an untimed call of the same side: what a call leaves behind, above all what TCP takes the rates of its streams for,
//! would count for the other side's next one otherwise (decision 085). Receive buffers are cleared before each repetition and before that call,
//! and checked after that call and after the repetition's last one.
//!
//! Where MPI served most of OPTIQ's repetitions, both sides are MPI: such a case is marked, and in no mean. One rank is refused,
//! as nothing crosses a network there.
//!
//! Beside each median stand its quartiles and the link bound: bytes over capacity of the most loaded link, on the fabric's own
//! routes for plain MPI and by what served it for OPTIQ.

use crate::bench::cases::Case;
use crate::bench::comparison::{Comparison, Outcome, Side, Suite};
use crate::bench::exchange::{Exchange, counts, too_large};
use crate::bench::session;
use crate::bench::timing;
use crate::quartiles::median_and_quartiles;
use mpi::collective::SystemOperation;
use mpi::datatype::{Partition, PartitionMut};
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives, Root};
use optiq::{Config, PlannerChoice, Session};
use optiq_lower::choices::Algorithm;
use optiq_lower::decide::Decision;
use optiq_lower::placement::{Placement, PlacementRule};
use optiq_net::Network;
use optiq_solver::{Demand, demands};
use optiq_transport::Rank;
use std::time::Instant;

/// The least time of a timed repetition, about, in seconds.
const LONG_ENOUGH: f64 = 10e-3;

/// The least time of a timed repetition in barriers, each of which begins when ranks leave another one.
const BARRIERS: f64 = 5.0;

/// Repetitions that are made to find out how many calls one needs, where it is more than one.
const SIZING_ROUNDS: usize = 5;

/// Barriers that are timed, of which the median counts.
const TIMED_BARRIERS: usize = 5;

/// The most calls in a repetition.
const MAX_CALLS: usize = 20_000;

/// Calls of each side before it is timed, the first among them. OPTIQ may plan a demand set when it comes a second time,
/// and tries plain MPI at the third use of a plan.
const WARM_UP: usize = 5;

/// Calls of a side before each of its repetitions that are not timed.
const UNTIMED_CALLS: usize = 1;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Request {
    /// The cases, each of which is measured with each planner.
    pub cases: Vec<Case>,
    /// Planners; `None` leaves the choice to OPTIQ.
    pub planners: Vec<PlannerChoice>,
    /// Timed repetitions of each.
    pub repetitions: usize,
    /// Use the plan even where OPTIQ would leave the exchange to plain MPI.
    pub force: bool,
    /// Spread demands over all ranks of their hosts.
    pub all_ranks: bool,
}

/// Runs all comparisons; collective over the world. Only rank 0 returns what was measured, and tells `progress` what it does.
///
/// # Errors
/// One sentence, in which ranks may differ: the job must be ended then.
pub fn measure(
    world: &SimpleCommunicator,
    request: &Request,
    progress: &dyn Fn(String),
) -> Result<Option<Suite>, String> {
    let config = Config::read().usable().map_err(|error| error.to_string())?;
    measure_with(world, config, request, progress)
}

/// The same with this configuration in place of the environment's; `optiq calibrate` measures with several.
///
/// # Errors
/// As [`measure`].
pub fn measure_with(
    world: &SimpleCommunicator,
    mut config: Config,
    request: &Request,
    progress: &dyn Fn(String),
) -> Result<Option<Suite>, String> {
    let root = world.rank() == 0;
    config.strict = true;
    if request.force {
        config.algorithm = Algorithm::Multipath;
    }
    let mut note = None;
    if config.topology.is_none() {
        let star = format!("star:{}", world.size());
        note = Some(format!(
            "OPTIQ_TOPOLOGY is not set: the network is taken for {star}, every rank for a host of its own; link bounds are \
             those of links with 1 GB/s."
        ));
        (config.topology, config.placement) = (Some(star), PlacementRule::Ranks { per_host: 1 });
    }
    // A session, and what making it took on the slowest rank.
    let open = |planner: Option<PlannerChoice>| {
        let mut config = config.clone();
        if let Some(planner @ PlannerChoice::Named(_)) = planner {
            config.planner = planner;
        }
        let start = Instant::now();
        let session = session::open(world, config)?;
        let (took, mut longest) = (start.elapsed().as_secs_f64(), 0.0);
        world.all_reduce_into(&took, &mut longest, SystemOperation::max());
        Ok::<_, String>((session, longest))
    };
    let first = open(request.planners.first().copied())?;
    let looked_at = first.0.network().cloned().zip(first.0.placement().cloned());
    let (network, placement) = looked_at.ok_or("the network of OPTIQ_TOPOLOGY cannot be used here")?;
    let (network, placement) = (&network, &placement);
    let mut first = Some(first);
    // Report cases that cannot run before the first case runs.
    let rank = Rank(world.rank() as u32);
    let mut prepared = Vec::with_capacity(request.cases.len());
    for case in &request.cases {
        let named = |e: String| format!("{}: {e}", case.name());
        let list = demands::parse(&case.demands, network, case.message_bytes).map_err(|e| e.to_string())?;
        let counts = counts(&list, placement, rank, request.all_ranks).map_err(named)?;
        prepared.push((case, list, counts));
    }
    let mut cases = Vec::new();
    let all = prepared.len() * request.planners.len();
    for (case, list, counts) in prepared {
        for &planner in &request.planners {
            if root {
                progress(format!("case {} of {all}: {}", cases.len() + 1, case.name()));
            }
            let (session, setup_seconds) = &first.take().map_or_else(|| open(Some(planner)), Ok)?;
            let planner = planner.to_string();
            let bench = Bench { world, session, network, placement, repetitions: request.repetitions };
            let comparison = bench.compare(case, &list, counts.clone())?;
            let comparison = Comparison { setup_seconds: *setup_seconds, ..comparison };
            cases.push(Outcome { case: case.name(), planner, comparison });
        }
    }
    if !root {
        return Ok(None);
    }
    let network = (network.spec().to_string(), note);
    Ok(Some(Suite::new(network, placement.len(), request.all_ranks, request.repetitions, cases)))
}

/// What one comparison needs.
struct Bench<'a> {
    world: &'a SimpleCommunicator,
    session: &'a Session,
    network: &'a Network,
    placement: &'a Placement,
    repetitions: usize,
}

/// What serves a call.
#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Mpi,
    Optiq,
}

impl Bench<'_> {
    fn compare(&self, case: &Case, list: &[Demand], counts: (Vec<usize>, Vec<usize>)) -> Result<Comparison, String> {
        let mut exchange = Exchange::in_job(self.world, counts);
        let x = &mut exchange;
        let first = [self.verified(By::Mpi, x, 1)?, self.verified(By::Optiq, x, 1)?];
        let mut shortest = first;
        for _ in 1..WARM_UP {
            let last = [self.verified(By::Mpi, x, 1)?, self.verified(By::Optiq, x, 1)?];
            shortest = [0, 1].map(|side: usize| last[side].min(shortest[side]));
        }
        let least = self.least_seconds()?;
        let mut calls = [1; 2];
        for by in [By::Mpi, By::Optiq] {
            calls[by as usize] = self.calls(by, x, shortest[by as usize], least)?;
        }
        let (mut seconds, mut on_paths, mut decisions) = ([Vec::new(), Vec::new()], 0, [None, None]);
        for repetition in 0..self.repetitions {
            let order = if repetition % 2 == 0 { [By::Mpi, By::Optiq] } else { [By::Optiq, By::Mpi] };
            for by in order {
                for _ in 0..UNTIMED_CALLS {
                    self.verified(by, x, 1)?;
                }
                seconds[by as usize].push(self.verified(by, x, calls[by as usize])?);
                if by == By::Optiq {
                    let decision = self.session.decision();
                    let planned = matches!(decision, Decision::Multipath { .. });
                    on_paths += usize::from(planned);
                    decisions[usize::from(planned)] = Some(decision);
                }
            }
        }
        // Now and then OPTIQ measures the other method: the method that served most repetitions counts.
        let [plain, planned] = decisions;
        let most = if 2 * on_paths > self.repetitions { planned } else { plain.or(planned) };
        let decision = most.unwrap_or_else(|| self.session.decision());
        let (direct_bound, planned_bound) = bounds(&decision, self.network, list)?;
        let [of_mpi, of_optiq] = seconds;
        let (mpi, optiq) = (Side::new(first[0], of_mpi, direct_bound), Side::new(first[1], of_optiq, planned_bound));
        Ok(Comparison {
            topology: self.network.spec().to_string(),
            demands: case.demands.clone(),
            message_bytes: case.message_bytes,
            pairs: list.iter().filter(|d| d.bytes > 0).count(),
            total_bytes: list.iter().map(|d| d.bytes).sum(),
            ranks: self.placement.len(),
            calls: calls[By::Optiq as usize],
            mpi_calls: calls[By::Mpi as usize],
            untimed_calls: UNTIMED_CALLS,
            served_by: match &decision {
                Decision::Multipath { paths, .. } => optiq_view::table::count(*paths, "path"),
                Decision::Combined { .. } => "combined".into(),
                _ => "MPI".into(),
            },
            is_served_by_mpi: !matches!(
                decision,
                Decision::Multipath { .. } | Decision::Direct { .. } | Decision::Combined { .. }
            ),
            decision: decision.to_string(),
            repetitions_on_paths: on_paths,
            transport: self.session.transport().to_string(),
            setup_seconds: 0.0,
            ratio: mpi.median_seconds / optiq.median_seconds,
            mpi,
            optiq,
            verified: true,
        })
    }

    /// How long a repetition is to take at least, as rank 0 knows it.
    fn least_seconds(&self) -> Result<f64, String> {
        let barrier = || {
            timing::seconds(self.world, || {
                self.world.barrier();
                Ok(())
            })
        };
        let barriers = (0..TIMED_BARRIERS).map(|_| barrier()).collect::<Result<Vec<f64>, String>>()?;
        Ok(LONG_ENOUGH.max(BARRIERS * median_and_quartiles(&barriers).0))
    }

    /// The number of calls in a repetition of this side that takes `least` seconds, as rank 0 decides; one call took `seconds`.
    fn calls(&self, by: By, x: &mut Exchange, mut seconds: f64, least: f64) -> Result<usize, String> {
        let mut calls = 1;
        // A single short call is mostly barrier, so the time of many calls says how many are needed; and calls in which OPTIQ learns who is
        // faster take longer than those that are measured.
        for _ in 0..SIZING_ROUNDS {
            let mut agreed = [(least / seconds.max(1e-9)).ceil().clamp(1.0, MAX_CALLS as f64) as u64];
            self.world.process_at_rank(0).broadcast_into(&mut agreed[..]);
            if agreed[0] == 1 {
                break;
            }
            calls = calls.max(agreed[0] as usize);
            seconds = seconds.min(self.verified(by, x, calls)?);
        }
        Ok(calls)
    }

    /// Seconds of one of `calls` calls; the bytes of the last one are checked.
    fn verified(&self, by: By, x: &mut Exchange, calls: usize) -> Result<f64, String> {
        x.clear();
        let seconds = match by {
            By::Mpi => self.by_mpi(x, calls)?,
            By::Optiq => self.by_optiq(x, calls)?,
        };
        if !x.is_right() {
            let what = if by == By::Mpi { "MPI_Alltoallv" } else { "optiq_alltoallv" };
            return Err(format!("{what} delivered wrong bytes to rank {}", self.world.rank()));
        }
        Ok(seconds)
    }

    fn by_mpi(&self, x: &mut Exchange, calls: usize) -> Result<f64, String> {
        let narrow = |list: &[usize]| {
            list.iter().map(|&i| i32::try_from(i).map_err(|_| too_large())).collect::<Result<Vec<_>, _>>()
        };
        let from = Partition::new(&x.send[..], narrow(&x.send_counts)?, narrow(&x.send_displacements)?);
        let (counts, displacements) = (narrow(&x.receive_counts)?, narrow(&x.receive_displacements)?);
        let mut into = PartitionMut::new(&mut x.receive[..], counts, displacements);
        self.timed(calls, || {
            self.world.all_to_all_varcount_into(&from, &mut into);
            Ok(())
        })
    }

    fn by_optiq(&self, x: &mut Exchange, calls: usize) -> Result<f64, String> {
        self.timed(calls, || {
            let into = &mut x.receive;
            let (from, to) = (&x.send_counts, &x.receive_counts);
            self.session
                .alltoallv(&x.send, from, &x.send_displacements, into, to, &x.receive_displacements)
                .map_err(|e| e.to_string())
        })
    }

    /// Seconds from a barrier until the last rank has returned, divided by the number of calls.
    fn timed(&self, calls: usize, mut call: impl FnMut() -> Result<(), String>) -> Result<f64, String> {
        let longest = timing::seconds(self.world, || (0..calls).try_for_each(|_| call()))?;
        Ok(longest / calls as f64)
    }
}

/// Link bounds of the fabric's own routes and of what served OPTIQ's calls.
fn bounds(decision: &Decision, network: &Network, demands: &[Demand]) -> Result<(f64, f64), String> {
    if let Decision::Multipath { congestion_seconds, direct_congestion_seconds, .. } = decision {
        return Ok((*direct_congestion_seconds, *congestion_seconds));
    }
    let load = network.route_load(demands.iter().map(|d| (d.src, d.dst, d.bytes))).map_err(|e| e.to_string())?;
    let direct = load.statistics(network).congestion_seconds;
    Ok((direct, direct))
}

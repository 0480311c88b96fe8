//! The measurement, as every rank runs it.
//!
//! `MPI_Alltoallv` and OPTIQ run in turn in one job, the order changing from repetition to repetition; a repetition
//! counts from a barrier to the time at which the last rank is through. The first call of each, which opens
//! connections and makes the plan, is reported apart. Beside each median stands the link bound: bytes over capacity
//! of the most loaded link, on the fabric's own routes for plain MPI and by the plan for OPTIQ.

use crate::statistics::median;
use mpi::collective::SystemOperation;
use mpi::datatype::{Partition, PartitionMut};
use mpi::raw::AsRaw;
use mpi::topology::SimpleCommunicator;
use mpi::traits::{Communicator, CommunicatorCollectives};
use optiq::{Algorithm, Config, Decision, Placement, PlannerChoice, Session};
use optiq_net::Network;
use optiq_solver::{Demand, demands};
use serde::{Deserialize, Serialize};
use std::io::Write;
use std::time::Instant;

/// What to measure.
#[derive(Clone, Debug)]
pub struct Request {
    /// `pattern:...` or `file:...`.
    pub demands: String,
    /// Bytes per pair of a pattern.
    pub message_bytes: u64,
    /// Timed repetitions of each.
    pub repetitions: usize,
    /// Planner; `None` leaves the choice to OPTIQ.
    pub planner: Option<String>,
    /// Use the plan even where OPTIQ would stand aside.
    pub force: bool,
}

/// One side of the comparison.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Side {
    /// The first call, with connection set-up and planning.
    pub first_seconds: f64,
    /// The timed repetitions, in order.
    pub seconds: Vec<f64>,
    /// Their median.
    pub median_seconds: f64,
    /// No execution along these paths is faster.
    pub link_bound_seconds: f64,
    /// Link bound over median.
    pub share_of_bound: f64,
}

/// The result: one document.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Comparison {
    /// The network.
    pub topology: String,
    /// As asked for.
    pub demands: String,
    /// As asked for.
    pub message_bytes: u64,
    /// Bytes that cross the network.
    pub total_bytes: u64,
    /// MPI ranks.
    pub ranks: usize,
    /// What served OPTIQ's calls, and why.
    pub decision: String,
    /// The MPI calls that carried the chunks.
    pub transport: String,
    /// `MPI_Alltoallv`.
    pub mpi: Side,
    /// `optiq_alltoallv`.
    pub optiq: Side,
    /// Median of MPI over median of OPTIQ.
    pub ratio: f64,
    /// Every byte of every repetition was right.
    pub verified: bool,
}

/// Buffers and counts of one rank; one byte per element.
struct Exchange {
    send: Vec<u8>,
    send_counts: Vec<usize>,
    send_displacements: Vec<usize>,
    receive: Vec<u8>,
    receive_counts: Vec<usize>,
    receive_displacements: Vec<usize>,
}

fn byte_of(source: usize, offset: usize) -> u8 {
    (source.wrapping_mul(131).wrapping_add(offset.wrapping_mul(7)) % 251) as u8
}

impl Exchange {
    /// Demands between hosts are carried by the first rank of each host.
    fn new(demands: &[Demand], placement: &Placement, rank: usize) -> Result<Self, String> {
        let ranks = placement.len();
        let (mut send_counts, mut receive_counts) = (vec![0; ranks], vec![0; ranks]);
        for demand in demands {
            let first = |host| {
                let none = || format!("no rank runs on host {}, which the demands name", demand.src.0);
                placement.ranks(host).first().copied().ok_or_else(none)
            };
            let (src, dst) = (first(demand.src)? as usize, first(demand.dst)? as usize);
            if rank == src {
                send_counts[dst] += demand.bytes as usize;
            }
            if rank == dst {
                receive_counts[src] += demand.bytes as usize;
            }
        }
        let displacements = |counts: &[usize]| {
            counts.iter().scan(0, |next, &c| { let at = *next; *next += c; Some(at) }).collect::<Vec<usize>>()
        };
        let (send_displacements, receive_displacements) = (displacements(&send_counts), displacements(&receive_counts));
        // One byte more than is used: an empty vector's address is the value of MPI_IN_PLACE in Open MPI.
        let send: Vec<u8> = (0..send_counts.iter().sum::<usize>() + 1).map(|i| byte_of(rank, i)).collect();
        let receive = vec![0; receive_counts.iter().sum::<usize>() + 1];
        Ok(Self { send, send_counts, send_displacements, receive, receive_counts, receive_displacements })
    }

    /// Whether every byte is what its sender's buffer holds; `all_displacements[s]` is where `s` keeps what it
    /// sends to this rank.
    fn is_right(&self, all_displacements: &[i64]) -> bool {
        (0..self.receive_counts.len()).all(|source| {
            let (at, count) = (self.receive_displacements[source], self.receive_counts[source]);
            let first = all_displacements[source] as usize;
            self.receive[at..at + count].iter().enumerate().all(|(i, &b)| b == byte_of(source, first + i))
        })
    }
}

/// Runs the comparison; collective over the world. The document is there on rank 0 only. An error ends the whole job,
/// since ranks may differ in it.
///
/// # Errors
/// One sentence if there is no MPI.
pub fn run(request: &Request) -> Result<Option<Comparison>, String> {
    let universe = mpi::initialize().ok_or("MPI could not be initialised")?;
    let world = universe.world();
    match measure(&world, request) {
        Ok(document) => Ok(document),
        Err(error) => {
            // One line, although many ranks may have found the same: the first to end the job ends it for all.
            let _ = writeln!(std::io::stderr(), "optiq: rank {}: {error}", world.rank());
            world.abort(1)
        }
    }
}

fn measure(world: &SimpleCommunicator, request: &Request) -> Result<Option<Comparison>, String> {
    let read = Config::from_env();
    if let Some(error) = read.error {
        return Err(error.to_string());
    }
    let mut config = read.config;
    config.strict = true;
    if request.force {
        config.algorithm = Algorithm::Multipath;
    }
    if let Some(planner) = &request.planner {
        config.planner = PlannerChoice::Named(planner.clone());
    }
    // SAFETY: a valid communicator, and the session is dropped before MPI is finalised.
    let session = unsafe { Session::new(world.as_raw(), config) }.map_err(|e| e.to_string())?;
    let (Some(network), Some(placement)) = (session.network(), session.placement()) else {
        return Err("OPTIQ_TOPOLOGY must name the network; `optiq lab run` sets it".into());
    };
    let list = demands::parse(&request.demands, network, request.message_bytes).map_err(|e| e.to_string())?;
    let mut exchange = Exchange::new(&list, placement, world.rank() as usize)?;
    let mut theirs = vec![0i64; exchange.send_displacements.len()];
    let mine: Vec<i64> = exchange.send_displacements.iter().map(|&d| d as i64).collect();
    world.all_to_all_into(&mine[..], &mut theirs[..]);

    let call_mpi = |x: &mut Exchange| {
        let narrow = |list: &[usize]| list.iter().map(|&i| i32::try_from(i).map_err(|_| too_large())).collect::<Result<Vec<_>, _>>();
        let (a, b) = (narrow(&x.send_counts)?, narrow(&x.send_displacements)?);
        let (c, d) = (narrow(&x.receive_counts)?, narrow(&x.receive_displacements)?);
        let from = Partition::new(&x.send[..], a, b);
        let mut into = PartitionMut::new(&mut x.receive[..], c, d);
        Ok::<f64, String>(timed(world, || world.all_to_all_varcount_into(&from, &mut into)))
    };
    let call_optiq = |x: &mut Exchange| {
        let mut result = Ok(());
        let seconds = timed(world, || {
            result = session.alltoallv(
                &x.send,
                &x.send_counts,
                &x.send_displacements,
                &mut x.receive,
                &x.receive_counts,
                &x.receive_displacements,
            );
        });
        result.map(|()| seconds).map_err(|e| e.to_string())
    };
    let verified = |what: &str, x: &mut Exchange, seconds: f64| {
        if !x.is_right(&theirs) {
            return Err(format!("{what} delivered wrong bytes to rank {}", world.rank()));
        }
        x.receive.fill(0);
        Ok(seconds)
    };
    let one = |optiq: bool, x: &mut Exchange| {
        let seconds = if optiq { call_optiq(x)? } else { call_mpi(x)? };
        verified(if optiq { "optiq_alltoallv" } else { "MPI_Alltoallv" }, x, seconds)
    };
    let first_mpi = one(false, &mut exchange)?;
    let first_optiq = one(true, &mut exchange)?;
    let (mut mpi_seconds, mut optiq_seconds) = (Vec::new(), Vec::new());
    for repetition in 0..request.repetitions {
        for optiq in if repetition % 2 == 0 { [false, true] } else { [true, false] } {
            let seconds = one(optiq, &mut exchange)?;
            if optiq { optiq_seconds.push(seconds) } else { mpi_seconds.push(seconds) }
        }
    }
    if world.rank() != 0 {
        return Ok(None);
    }
    let (direct_bound, planned_bound) = bounds(&session.decision(), network, &list)?;
    let mpi = side(first_mpi, mpi_seconds, direct_bound);
    let optiq = side(first_optiq, optiq_seconds, planned_bound);
    Ok(Some(Comparison {
        topology: network.spec().to_string(),
        demands: request.demands.clone(),
        message_bytes: request.message_bytes,
        total_bytes: list.iter().map(|d| d.bytes).sum(),
        ranks: placement.len(),
        decision: session.decision().to_string(),
        transport: session.transport().to_string(),
        ratio: mpi.median_seconds / optiq.median_seconds,
        mpi,
        optiq,
        verified: true,
    }))
}

fn too_large() -> String {
    "MPI_Alltoallv counts to 2^31 - 1 bytes per buffer; choose a smaller message".into()
}

/// Seconds from a barrier until the last rank is through.
fn timed(world: &SimpleCommunicator, call: impl FnOnce()) -> f64 {
    world.barrier();
    let start = Instant::now();
    call();
    let mine = start.elapsed().as_secs_f64();
    let mut longest = mine;
    world.all_reduce_into(&mine, &mut longest, SystemOperation::max());
    longest
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

fn side(first_seconds: f64, seconds: Vec<f64>, link_bound_seconds: f64) -> Side {
    let median_seconds = median(&seconds);
    Side { first_seconds, seconds, median_seconds, link_bound_seconds, share_of_bound: link_bound_seconds / median_seconds }
}

//! What an agreement costs, and what a rank's work for a chunk is.
//!
//! An agreement is timed in batches of `k`, one after the other, so that barriers and clocks do not matter. A reduction and its
//! broadcast take two messages for each doubling of the ranks, so the latency of a message is the agreement divided by
//! `2 ceil(log2 ranks)`, as a session has it when it begins.
//!
//! The work `o` for a chunk: every host sends `n` small chunks to the next one, in a ring, so each handles `2 n`. With the time
//! `t` of that exchange and `a` of its agreement, `o = (t - a) / 2 n`. Chunks are so small that the link is idle, windows so
//! large that none waits for credits, and `n` so large that `a` is a small part of `t`.

use crate::bench::session;
use crate::bench::timing;
use crate::constants::{CALIBRATION_BATCH, CALIBRATION_CHUNK_PART, CALIBRATION_SAMPLES};
use mpi::topology::SimpleCommunicator;
use mpi::traits::Communicator as _;
use optiq::{Config, PlannerChoice, Session};
use optiq_lower::choices::LegsChoice;
use optiq_lower::placement::Placement;
use optiq_net::{Network, NodeId};
use optiq_transport::mpi::{Communicator, MINIMA, Reduction, ReductionRecord};
use optiq_transport::{ChunkRule, Rank};

/// Chunks of a ring's leg at first, and at most.
const CHUNKS: (usize, usize) = (64, 1 << 16);

/// A window that no path of the ring fills.
const WINDOW: u64 = 256;

/// Messages of an agreement that follow one another.
pub fn latency_messages(ranks: u32) -> f64 {
    f64::from(2 * ranks.next_power_of_two().trailing_zeros().max(1))
}

/// Seconds of an agreement, the same on all ranks; collective.
pub fn agreement_samples(world: &SimpleCommunicator, comm: &Communicator) -> Result<Vec<f64>, String> {
    // As sessions do: ranks that share processors wait otherwise.
    let mut alone = [i64::from(!comm.shares_processor())];
    comm.all_min(&mut alone).map_err(|e| e.to_string())?;
    let reduction = Reduction::new(alone[0] == 0).map_err(|e| e.to_string())?;
    let batch = CALIBRATION_BATCH as usize;
    let sample = |_| {
        let agree = || {
            let mut record = ReductionRecord { minima: [0; MINIMA], sums: [0; 2] };
            reduction.reduce(comm, &mut record).map_err(|e| e.to_string())
        };
        timing::seconds(world, || (0..batch).try_for_each(|_| agree())).map(|seconds| seconds / batch as f64)
    };
    // The first opens connections.
    sample(0)?;
    (0..CALIBRATION_SAMPLES).map(sample).collect()
}

/// Seconds of a rank's work for a chunk, the same on all ranks; collective. `(agreement, latency)` in seconds.
pub fn chunk_samples(
    world: &SimpleCommunicator,
    config: &Config,
    network: &Network,
    placement: &Placement,
    (agreement, latency): (f64, f64),
) -> Result<Vec<f64>, String> {
    let chunk = (CALIBRATION_CHUNK_PART * latency * network.unit_capacity()).clamp(1.0, 1024.0) as usize;
    let config = Config {
        planner: PlannerChoice::Named(optiq_solver::planner::PlannerName::Direct),
        legs: LegsChoice::Planned,
        chunk: ChunkRule::Fixed(chunk as u64),
        window: WINDOW,
        ..config.clone()
    };
    let session = session::open(world, config)?;
    let ring = Ring::new(network, placement, Rank(world.rank() as u32));
    let mut chunks = CHUNKS.0;
    let mut seconds = ring.seconds(world, &session, chunks * chunk)?;
    // The first exchange of a size makes its plan; the second tells how long it is.
    while chunks < CHUNKS.1 {
        seconds = ring.seconds(world, &session, chunks * chunk)?;
        if seconds > CALIBRATION_BATCH * agreement {
            break;
        }
        chunks *= 4;
        ring.seconds(world, &session, chunks * chunk)?;
    }
    if world.rank() == 0 {
        log::debug!("chunk time: {chunks} chunks of {chunk} bytes take {seconds:.6} s, an agreement {agreement:.6} s");
    }
    let sample = |_| {
        let seconds = ring.seconds(world, &session, chunks * chunk)?;
        // No less than what 1 % of the time says, should an agreement have been slower than the exchange with its own.
        Ok((seconds - agreement).max(seconds / 100.0) / (2 * chunks) as f64)
    };
    (0..CALIBRATION_SAMPLES).map(sample).collect()
}

/// Every host that has ranks sends to the next one: its first rank to that host's first rank.
struct Ring {
    ranks: usize,
    /// To whom this rank sends, and from whom it receives.
    neighbours: Option<(Rank, Rank)>,
}

impl Ring {
    fn new(network: &Network, placement: &Placement, rank: Rank) -> Self {
        let hosts = (0..network.hosts() as u32).map(NodeId);
        let first: Vec<Rank> = hosts.filter_map(|host| placement.ranks(host).first().copied()).collect();
        let neighbours = first.iter().position(|&r| r == rank).map(|i| {
            let next = first[(i + 1) % first.len()];
            let previous = first[(i + first.len() - 1) % first.len()];
            (next, previous)
        });
        Ring { ranks: placement.len(), neighbours }
    }

    /// Seconds of an exchange in which each sends this number of bytes.
    fn seconds(&self, world: &SimpleCommunicator, session: &Session, bytes: usize) -> Result<f64, String> {
        let mut counts = [vec![0; self.ranks], vec![0; self.ranks]];
        if let Some((next, previous)) = self.neighbours {
            (counts[0][next.index()], counts[1][previous.index()]) = (bytes, bytes);
        }
        let displacements = vec![0; self.ranks];
        let (send, mut receive) = (vec![1u8; bytes], vec![0u8; bytes]);
        timing::seconds(world, || {
            session
                .alltoallv(&send, &counts[0], &displacements, &mut receive, &counts[1], &displacements)
                .map_err(|e| e.to_string())
        })
    }
}

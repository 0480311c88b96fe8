//! What carries the bytes of an exchange.

use crate::model::{Carry, Model};
use optiq_lower::choices::{DirectOrder, LegsChoice};
use optiq_solver::pipeline::{PlanOptions, Planned};
use optiq_transport::{PUTS_IN_FLIGHT_PART, ScheduleOptions};

/// What carries the bytes of an exchange.
#[derive(Clone, Debug)]
pub enum TransferMethod {
    /// The chunk scheduler, along the paths of a plan.
    Planned(Box<Planned>, ScheduleOptions),
    /// The chunk scheduler, along the paths of a plan that is made first.
    PlanWith(Box<PlanOptions>, ScheduleOptions),
    /// MPI.
    Mpi(MpiAlgorithm),
}

/// MPI's own algorithms for an alltoallv.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MpiAlgorithm {
    /// All messages at once ([`crate::workload::exchange::Method::Linear`]).
    Linear,
    /// As many steps as there are ranks, with one partner in each ([`crate::workload::exchange::Method::Pairwise`]).
    Pairwise,
}

impl MpiAlgorithm {
    /// The name of its runs.
    pub fn name(self) -> &'static str {
        match self {
            MpiAlgorithm::Linear => "mpi-linear",
            MpiAlgorithm::Pairwise => "mpi-pairwise",
        }
    }
}

/// How planned paths are carried out.
#[derive(Clone, Copy, Debug)]
pub struct Executor {
    /// Where chunks are stored and forwarded.
    pub legs: LegsChoice,
    /// What carries them from rank to rank.
    pub carry: Carry,
    /// [`ScheduleOptions::in_flight_part`] of puts.
    pub in_flight_part: u64,
    /// Who sends to whom when, where messages go directly.
    pub direct_order: DirectOrder,
}

impl Executor {
    /// The fastest executor on a machine, as far as its model knows.
    pub fn of(model: &Model) -> Self {
        Executor {
            legs: LegsChoice::Auto,
            carry: model.host.chunks_by,
            in_flight_part: PUTS_IN_FLIGHT_PART,
            direct_order: DirectOrder::Proportion,
        }
    }
}

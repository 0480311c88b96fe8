//! Dimension-order routing: a packet travels all of its way in one dimension, then in the next.
//!
//! On Blue Gene/Q the order is "longest to shortest" dimension of the partition (thesis sections 3 and 6.1, after
//! Chen et al.). In every dimension the packet takes the shorter way round the ring. At exactly half the ring both
//! ways are equally short, and a tie rule decides.
//!
//! # Blue Gene/Q, as reconstructed
//!
//! Thesis 6.4.3 reconstructs the routes of MPI and Table VII counts them at 1,024 nodes (4x4x4x8x2): 16 routes and
//! 134.21 MB on the worst link, 3.07 routes on a used link in pattern *disjoint*; 3.38 and 3.52 in *overlap* and
//! *subset*, whose node lists the thesis does not give. It says neither which of the equally long dimensions A, B and
//! C goes first nor how ties are split. [`DimensionOrder::blue_gene`] is the closest of what was tried that keeps
//! both ways round every ring equally busy: order D B C A E; in the dimension travelled first ties follow the parity
//! of the source's coordinate sum, in the others that of the source's own coordinate. It gives 16 routes and
//! 134,217,728 bytes in all three patterns and 3.07 / 3.25 / 3.44 on average. `tests/table_vii.rs` pins this.

use crate::error::NetError;
use crate::fingerprint::Hasher;
use crate::geometry::Grid;
use crate::ids::NodeId;
use std::cmp::Reverse;

/// Which way round a ring when both are equally short.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// Towards higher coordinates. Such a route can be written in per-destination forwarding tables.
    Positive,
    /// Towards higher coordinates if the sum of the source's coordinates is even, else towards lower ones.
    SumParity,
    /// Towards higher coordinates if the source's coordinate in the dimension at hand is even, else towards lower
    /// ones.
    OwnParity,
    /// [`Ties::SumParity`] in the dimension that is travelled first, [`Ties::OwnParity`] in the others.
    FirstSumThenOwn,
}

impl Ties {
    pub(crate) fn always_up(self) -> bool {
        self == Ties::Positive
    }

    /// Whether a tie in dimension `d` goes up for packets from `src`; `first` if `d` is travelled first.
    pub(crate) fn up(self, grid: &Grid, src: NodeId, d: usize, first: bool) -> bool {
        let sum_is_even = || (0..grid.dims().len()).fold(0, |sum, d| sum ^ grid.coordinate(src, d)) & 1 == 0;
        let own_is_even = || grid.coordinate(src, d) & 1 == 0;
        match self {
            Ties::Positive => true,
            Ties::SumParity => sum_is_even(),
            Ties::OwnParity => own_is_even(),
            Ties::FirstSumThenOwn if first => sum_is_even(),
            Ties::FirstSumThenOwn => own_is_even(),
        }
    }
}

/// An order of the dimensions, and what to do with ties.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DimensionOrder {
    order: Vec<u8>,
    ties: Ties,
}

impl DimensionOrder {
    /// Travels the dimensions in the order given (dimension 0 is the first of the grid).
    ///
    /// # Errors
    /// [`NetError::Routing`] if `order` does not name every dimension from 0 to its length exactly once.
    pub fn new(order: Vec<u8>, ties: Ties) -> Result<Self, NetError> {
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if order.is_empty() || sorted.iter().enumerate().any(|(i, &d)| i != usize::from(d)) {
            let shown = crate::text_file::shorten(&format!("{order:?}"));
            return Err(NetError::Routing(format!(
                "{shown} is not an order of {0} dimensions; each number from 0 to {0} - 1 once is expected",
                order.len()
            )));
        }
        Ok(DimensionOrder { order, ties })
    }

    /// The grid's own order, ties towards higher coordinates.
    pub fn ascending(grid: &Grid) -> Self {
        DimensionOrder { order: (0..grid.dims().len() as u8).collect(), ties: Ties::Positive }
    }

    /// The longest dimension first, of equally long ones the one that the grid names first; ties towards higher
    /// coordinates.
    pub fn longest_first(grid: &Grid) -> Self {
        let mut routing = Self::ascending(grid);
        routing.order.sort_by_key(|&d| Reverse(grid.dims()[usize::from(d)]));
        routing
    }

    /// Blue Gene/Q's default as the head of this file reconstructs it: longest dimension first, of equally long ones
    /// the first of the grid last (4x4x4x8x2: D B C A E), ties by [`Ties::FirstSumThenOwn`].
    pub fn blue_gene(grid: &Grid) -> Self {
        let mut routing = Self::ascending(grid);
        routing.order.sort_by_key(|&d| (Reverse(grid.dims()[usize::from(d)]), d == 0));
        routing.ties = Ties::FirstSumThenOwn;
        routing
    }

    /// The dimensions in the order of travel.
    pub fn order(&self) -> &[u8] {
        &self.order
    }

    /// The tie rule.
    pub fn ties(&self) -> Ties {
        self.ties
    }

    pub(super) fn is_destination_based(&self) -> bool {
        self.ties == Ties::Positive
    }

    pub(crate) fn check(&self, grid: &Grid) -> Result<(), NetError> {
        if self.order.len() == grid.dims().len() {
            return Ok(());
        }
        Err(NetError::Routing(format!(
            "an order of {} dimensions was given to a grid of {}",
            self.order.len(),
            grid.dims().len()
        )))
    }

    pub(super) fn fingerprint(&self, h: &mut Hasher) {
        h.bytes(&self.order);
        h.u64(match self.ties {
            Ties::Positive => 0,
            Ties::SumParity => 1,
            Ties::OwnParity => 2,
            Ties::FirstSumThenOwn => 3,
        });
    }
}

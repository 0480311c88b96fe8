//! Blue Gene/Q's routing zones (thesis sections 6.1 and 6.4.3, after Chen et al.).
//!
//! Routing is dimension-ordered in every zone; the zone says how the order is chosen:
//!
//! | zone | order of the dimensions | ties |
//! | --- | --- | --- |
//! | 0 | longest to shortest, random among equally long ones | random |
//! | 1 | random, unrestricted | random |
//! | 2 | longest to shortest, the first named of equally long ones first | parity of the source's own coordinate |
//! | 3 | longest to shortest, the last named of equally long ones first | parity of the source's own coordinate |
//!
//! The thesis says that zones 2 and 3 are deterministic, and not which orders they are; these two are ours. "Random"
//! is a hash of (seed, source, destination): the same on every rank and in every run, and independent of the order
//! in which routes are asked for.

use crate::error::NetError;
use crate::geometry::Grid;
use crate::random::SplitMix64;
use crate::routing::dimension_order::Ties;

/// A routing zone and the seed of its random choices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    id: u8,
    seed: u64,
}

impl Zone {
    /// Zone `id`; zones 2 and 3 make no use of the seed.
    ///
    /// # Errors
    /// [`NetError::Routing`] for a zone other than 0 to 3.
    pub fn new(id: u8, seed: u64) -> Result<Self, NetError> {
        if id > 3 {
            return Err(NetError::Routing(format!("there is no routing zone {id}; 0, 1, 2 or 3 is expected")));
        }
        Ok(Zone { id, seed })
    }

    /// The zone's number, 0 to 3.
    pub fn id(&self) -> u8 {
        self.id
    }

    /// The seed of the random choices.
    pub fn seed(&self) -> u64 {
        self.seed
    }

    /// Whether the zone makes random choices.
    pub fn is_random(&self) -> bool {
        self.id < 2
    }

    /// The order of the dimensions from `src` to `dst`, in `order[..dimensions]`.
    pub(crate) fn order(&self, grid: &Grid, random: &mut SplitMix64, order: &mut [usize]) {
        for (d, place) in order.iter_mut().enumerate() {
            *place = d;
        }
        match self.id {
            0 | 1 => {
                // Fisher-Yates.
                for i in (1..order.len()).rev() {
                    order.swap(i, random.below(i as u64 + 1) as usize);
                }
            }
            2 => {}
            _ => order.reverse(),
        }
        if self.id != 1 {
            order.sort_by_key(|&d| std::cmp::Reverse(grid.dims()[d]));
        }
    }

    /// The order of zones 2 and 3, and their tie rule.
    pub(super) fn fixed_order(&self, grid: &Grid) -> Option<(Vec<u8>, Ties)> {
        if self.is_random() {
            return None;
        }
        let mut order = vec![0; grid.dims().len()];
        self.order(grid, &mut SplitMix64::new(self.seed), &mut order);
        Some((order.iter().map(|&d| d as u8).collect(), Ties::OwnParity))
    }
}

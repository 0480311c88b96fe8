//! The fabric under the in-process transport: which links the leg between two ranks takes.

use crate::placement::Placement;
use optiq_net::{NetError, Network};
use optiq_transport::{LinkMap, Rank};

/// The routes between the hosts of all ranks, for [`optiq_transport::paced_mesh`]: with it, a plan can be carried out
/// at a network's speed without MPI and without the network.
#[derive(Clone, Debug)]
pub struct Legs {
    ranks: usize,
    rates: Vec<f64>,
    /// The route from rank `a` to rank `b` is `links[ends[i - 1]..ends[i]]` with `i = a * ranks + b` (from 0 for the
    /// first).
    ends: Vec<usize>,
    links: Vec<u32>,
}

impl Legs {
    /// Looks all routes up: time and memory grow with the square of the number of ranks.
    ///
    /// # Errors
    /// [`NetError::Unreachable`] if the fabric has no route between two ranks' hosts.
    pub fn new(network: &Network, placement: &Placement) -> Result<Self, NetError> {
        let ranks = placement.len();
        let (mut ends, mut links, mut route) = (Vec::with_capacity(ranks * ranks), Vec::new(), Vec::new());
        for a in (0..ranks as u32).map(Rank) {
            for b in (0..ranks as u32).map(Rank) {
                route.clear();
                network.route(placement.host(a), placement.host(b), &mut route)?;
                links.extend(route.iter().map(|l| l.0));
                ends.push(links.len());
            }
        }
        Ok(Self { ranks, rates: network.links().iter().map(|l| l.capacity).collect(), ends, links })
    }
}

impl LinkMap for Legs {
    fn rates(&self) -> &[f64] {
        &self.rates
    }

    fn links(&self, from: Rank, to: Rank) -> &[u32] {
        let i = from.index() * self.ranks + to.index();
        let start = if i == 0 { 0 } else { self.ends[i - 1] };
        &self.links[start..self.ends[i]]
    }
}

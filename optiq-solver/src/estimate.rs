//! What planning will take, before it begins: memory, which is refused where there is not enough, and time, which is
//! announced where a limit will not hold.

use crate::candidates::CandidateMethod;
use crate::constants::{SECONDS_PER_COLUMN_LINK, SECONDS_PER_FLOW_LINK};
use crate::demands::Demand;
use crate::error::PlanError;
use crate::memory;
use crate::planner::PlannerName;
use optiq_net::Network;
use std::time::Duration;

/// Direct routes that are looked at for the mean length of paths.
const SAMPLES: usize = 256;

/// What planning certain demands takes, about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Estimate {
    demands: usize,
    k: usize,
    /// Links of a candidate path, mean.
    links: f64,
    /// Bytes for the plan, whatever planner makes it.
    plan_bytes: f64,
    /// Bytes for candidate paths and what the planner makes of them.
    candidate_bytes: f64,
    /// Whether the fabric's own routes may prove to be good enough, so that no candidates are needed.
    may_suffice: bool,
}

impl Estimate {
    /// For `demands` with up to `k` candidate paths each.
    pub fn new(net: &Network, demands: &[Demand], k: usize, planner: PlannerName) -> Self {
        let (direct, detour) = (mean_route(net, demands), detour(net));
        let (n, links) = (demands.len() as f64, direct + detour);
        let paths = n * k as f64;
        // Lists of links and hosts have a head of 24 bytes, and the allocator's share of 8 to 16.
        let plan_bytes = n * (240.0 + 4.0 * direct);
        let table = paths * (4.0 * links + 8.0);
        let candidate_bytes = match planner {
            PlannerName::Direct => 0.0,
            PlannerName::Heuristic1 | PlannerName::Heuristic2 => table,
            // HiGHS keeps the matrix by rows and by columns, and the factors of its product.
            PlannerName::LinearProgram => table + paths * 80.0 * links,
            // Columns, and the copy of them while others are added; the table too where templates do not serve.
            PlannerName::Optimal => {
                let templates = net.vertices() == net.hosts() && net.geometry().grid().is_some();
                2.0 * paths * (4.0 * links + 24.0) + if templates { 0.0 } else { table }
            }
        };
        let may_suffice = planner == PlannerName::Optimal && is_even(net, demands);
        Estimate { demands: demands.len(), k, links, plan_bytes, candidate_bytes, may_suffice }
    }

    /// # Errors
    /// [`PlanError::Memory`] if not even the plan fits what is left, or surely not the candidates.
    pub fn check_memory(&self) -> Result<(), PlanError> {
        let candidates = if self.may_suffice { 0.0 } else { self.candidate_bytes };
        self.compare(self.plan_bytes + candidates, memory::available())
    }

    /// # Errors
    /// [`PlanError::Memory`] if the candidates do not fit what is left. Asked when candidates turn out to be needed.
    pub fn check_memory_of_candidates(&self) -> Result<(), PlanError> {
        if self.may_suffice { self.compare(self.candidate_bytes, memory::available()) } else { Ok(()) }
    }

    fn compare(&self, needed: f64, available: Option<u64>) -> Result<(), PlanError> {
        match available {
            Some(available) if needed > available as f64 => {
                Err(PlanError::Memory { demands: self.demands, k: self.k, needed: needed as u64, available })
            }
            _ => Ok(()),
        }
    }

    /// Seconds that a plan takes at least: the fabric's own routes, one look at the candidates, and the checks.
    fn seconds(&self) -> f64 {
        let per_demand = SECONDS_PER_FLOW_LINK * self.links
            + if self.may_suffice { 0.0 } else { SECONDS_PER_COLUMN_LINK * self.links * self.k as f64 };
        self.demands as f64 * per_demand
    }

    /// A sentence for who gave `limit`, if that will not be enough.
    pub fn announcement(&self, limit: Duration) -> Option<String> {
        let (seconds, limit) = (self.seconds(), limit.as_secs_f64());
        (seconds > limit).then(|| {
            format!(
                "planning {} demands takes about {seconds:.0} s at least, longer than the time limit of {limit} s; what does \
                 not fit in is left out",
                self.demands
            )
        })
    }
}

/// Links on the fabric's own route, mean over some of the demands.
fn mean_route(net: &Network, demands: &[Demand]) -> f64 {
    let step = demands.len().div_ceil(SAMPLES).max(1);
    let (mut links, mut routes) = (Vec::new(), 0);
    for d in demands.iter().step_by(step) {
        // A pair without a route is somebody else's error.
        routes += usize::from(net.route(d.src, d.dst, &mut links).is_ok());
    }
    links.len() as f64 / routes.max(1) as f64
}

/// Links by which candidates are longer, mean: about 2 through other ports of a grid, as many as a route has through a host.
fn detour(net: &Network) -> f64 {
    match CandidateMethod::Auto.resolve(net) {
        CandidateMethod::Via => 4.0,
        _ => 2.0,
    }
}

/// Whether every host of a grid that wraps everywhere sends and receives the same: then its own routes may well be the best.
fn is_even(net: &Network, demands: &[Demand]) -> bool {
    let wraps =
        net.geometry().grid().is_some_and(|grid| grid.wrap().iter().zip(grid.dims()).all(|(&w, &l)| w || l == 1));
    if !wraps {
        return false;
    }
    let mut sums = vec![(0u64, 0u64); net.hosts()];
    for d in demands {
        sums[d.src.index()].0 += d.bytes;
        sums[d.dst.index()].1 += d.bytes;
    }
    sums.iter().all(|&sum| sum == sums[0])
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::demands;

    fn estimate(spec: &str, pattern: &str, planner: PlannerName) -> Estimate {
        let net = Network::from_spec(spec).unwrap();
        Estimate::new(&net, &demands::parse(&format!("pattern:{pattern}"), &net, 1).unwrap(), 12, planner)
    }

    /// On a ring of 4 all-to-all is 12 demands, of 1, 2 and 1 links: 4/3 each, and 2 more on a detour.
    #[test]
    fn what_a_ring_takes() {
        let found = estimate("torus:4", "alltoall", PlannerName::Optimal);
        assert_eq!((found.demands, found.k, found.may_suffice), (12, 12, true));
        assert!((found.links - (4.0 / 3.0 + 2.0)).abs() < 1e-12);
        assert!((found.plan_bytes - 12.0 * (240.0 + 16.0 / 3.0)).abs() < 1e-9);
        assert!((found.candidate_bytes - 2.0 * 144.0 * (40.0 / 3.0 + 24.0)).abs() < 1e-9);
        assert_eq!(estimate("torus:4", "alltoall", PlannerName::Direct).candidate_bytes, 0.0);
    }

    #[test]
    fn where_own_routes_may_suffice() {
        assert!(!estimate("mesh:4", "alltoall", PlannerName::Optimal).may_suffice);
        assert!(!estimate("torus:4", "alltoall", PlannerName::Heuristic1).may_suffice);
        assert!(!estimate("torus:8", "disjoint", PlannerName::Optimal).may_suffice);
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let found = estimate("torus:4", "alltoall", PlannerName::Optimal);
        assert_eq!(found.compare(1e12, None), Ok(()));
        assert_eq!(found.compare(1e12, Some(2_000_000_000_000)), Ok(()));
        let refused = found.compare(90e9, Some(22_000_000_000)).unwrap_err().to_string();
        assert_eq!(
            refused,
            "planning 12 demands with up to 12 candidate paths each takes about 90.0 GB of memory, but 22.0 GB are left; \
             fewer demands or a lower k take less"
        );
    }
}

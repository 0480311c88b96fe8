//! Heuristic 1 (thesis 5.3.1, algorithm 2): many paths for every pair, few paths on every link.
//!
//! The load of a link is the number of selected paths through it; sizes are not looked at. Pairs are visited in
//! turn, in their given order; a visit takes the pair's next candidate and selects it if afterwards no link of it
//! carries more than `maxload` paths. When all candidates were taken, and some pairs have no path, `maxload` rises by
//! one for these. Each pair's bytes are split equally over its selected paths.
//!
//! The published pseudo-code leaves open or contradicts its text in five places. Here:
//! 1. Candidates are removed when they are visited, selected or not, so a pair whose every candidate was refused has
//!    nothing left for the next round. Its candidates are restored for that round. (Else it would never get a path.)
//! 2. Pairs that have a path when a round ends do not get more in later rounds: algorithm 2 removes them.
//! 3. The loop of `HeuristicSearch` runs while every pair has a path; it is meant to run until then.
//! 4. "Select a path" takes candidates in their order, so shorter ones first.
//! 5. A bundle of several physical links carries `maxload` on each of them.
//!
//! Paths of more urgent classes ([`Problem::base_paths`]) count as paths that a link carries. `maxload` then may have
//! far to rise until anything fits; the steps in between, which would change nothing, are skipped.

use crate::error::PlanError;
use crate::planner::interface::Planner;
use crate::planner::name::PlannerName;
use crate::planner::round::largest_remainder;
use crate::problem::{Assignment, Problem};
use optiq_net::LinkId;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Heuristic1 {
    maxload: u32,
}

impl Heuristic1 {
    /// Heuristic 1 with a limit to begin with of `maxload` paths on a physical link; the published experiments use 16.
    ///
    /// # Errors
    /// [`PlanError::ZeroMaxload`].
    pub fn new(maxload: u32) -> Result<Self, PlanError> {
        if maxload == 0 { Err(PlanError::ZeroMaxload) } else { Ok(Heuristic1 { maxload }) }
    }
}

impl Planner for Heuristic1 {
    fn id(&self) -> PlannerName {
        PlannerName::Heuristic1
    }

    fn needs_candidates(&self) -> bool {
        true
    }

    fn assign(&self, problem: &Problem) -> Result<Assignment, PlanError> {
        let candidates = problem.candidates(self.name())?;
        let demands = problem.demands();
        let links = problem.net().links();
        let mut load = problem.base_paths().map_or_else(|| vec![0u64; links.len()], <[u64]>::to_vec);
        let mut selected: Vec<Vec<u32>> = vec![Vec::new(); demands.len()];
        let mut maxload = u64::from(self.maxload);
        // The pairs of the current round; demands without bytes need no path.
        let mut round: Vec<usize> = (0..demands.len()).filter(|&d| demands[d].bytes > 0).collect();
        while !round.is_empty() {
            let mut active = round.clone();
            let mut turn = 0;
            while !active.is_empty() {
                active.retain(|&d| {
                    let Some(path) = candidates.of(d).nth(turn) else { return false };
                    let on_path = candidates.path(path);
                    if on_path.iter().all(|l| load[l.index()] < maxload * u64::from(links[l.index()].lanes)) {
                        on_path.iter().for_each(|l| load[l.index()] += 1);
                        selected[d].push(path);
                    }
                    true
                });
                turn += 1;
            }
            let pairs = round.len();
            round.retain(|&d| selected[d].is_empty());
            maxload += 1;
            if round.len() == pairs {
                // Nothing fitted, so loads are as they were: the least limit at which something will.
                let needed = |l: &LinkId| load[l.index()] / u64::from(links[l.index()].lanes) + 1;
                let paths = round.iter().flat_map(|&d| candidates.paths(d));
                let least = paths.map(|path| path.iter().map(needed).max().unwrap_or(0)).min();
                maxload = maxload.max(least.unwrap_or(0));
            }
        }
        let bytes = |(d, selected): (usize, &Vec<u32>)| {
            let mut bytes = vec![0; candidates.of(d).len()];
            let parts = largest_remainder(demands[d].bytes, &vec![1.0; selected.len()]);
            for (path, part) in selected.iter().zip(parts) {
                bytes[(path - candidates.of(d).start) as usize] = part;
            }
            bytes
        };
        let bytes: Vec<Vec<u64>> = selected.iter().enumerate().map(bytes).collect();
        Ok(Assignment::from_bytes(candidates, &bytes))
    }
}

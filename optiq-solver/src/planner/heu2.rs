//! Heuristic 2 (thesis 5.3.2, algorithm 3): chunk by chunk onto the least loaded path.
//!
//! The load of a link is its bytes, those of more urgent classes ([`Problem::base`]) from the start. The pair with most bytes left (the earlier one among equals) puts a chunk on the
//! candidate path whose most loaded link is the least loaded, counted after the chunk and in bytes per unit of
//! capacity; until nothing is left.
//!
//! Ties are left open by the publication, and there are many, as loads are multiples of the chunk. Fewer hops win a
//! tie, then the earlier candidate: a detour costs capacity elsewhere and is taken only for a smaller maximum.
//!
//! The published form keeps every path's maximum up to date. Loads only grow, so a maximum that was computed once is
//! a lower bound for ever after: here each path keeps the last value known, a path is looked at only if that value
//! could still win, and looking stops at the first link that rules it out (whose load is the new known value).

use crate::error::PlanError;
use crate::planner::interface::Planner;
use crate::planner::name::PlannerName;
use crate::problem::{Assignment, Problem};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// The most chunks that are assigned in a plan. For more bytes than these can hold, the chunk is enlarged.
const MAX_CHUNKS: u64 = 1 << 22;

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Heuristic2 {
    chunk: u64,
}

impl Heuristic2 {
    /// Heuristic 2 with chunks of `chunk` bytes; the published experiments use 64 KiB. Demands beyond 2^22 chunks in
    /// sum are assigned in larger chunks, so that time stays bounded whatever the sizes.
    ///
    /// # Errors
    /// [`PlanError::ZeroChunk`].
    pub fn new(chunk: u64) -> Result<Self, PlanError> {
        if chunk == 0 { Err(PlanError::ZeroChunk) } else { Ok(Heuristic2 { chunk }) }
    }
}

impl Planner for Heuristic2 {
    fn id(&self) -> PlannerName {
        PlannerName::Heuristic2
    }

    fn needs_candidates(&self) -> bool {
        true
    }

    fn assign(&self, problem: &Problem) -> Result<Assignment, PlanError> {
        let candidates = problem.candidates(self.name())?;
        let demands = problem.demands();
        let total: u64 = demands.iter().map(|d| d.bytes).sum();
        let chunk = self.chunk.max(total.div_ceil(MAX_CHUNKS));
        if chunk != self.chunk {
            log::info!("heuristic 2 assigns {chunk} bytes at a time instead of {}: {total} bytes in all", self.chunk);
        }
        let per_byte: Vec<f64> = problem.relative_capacities().iter().map(|c| c.recip()).collect();
        let mut load = problem.base_or_zero();
        let mut known = vec![0.0f64; candidates.stored_paths()];
        let mut bytes: Vec<Vec<u64>> = (0..demands.len()).map(|d| vec![0; candidates.of(d).len()]).collect();
        let mut heap: BinaryHeap<(u64, Reverse<usize>)> =
            demands.iter().enumerate().filter(|(_, d)| d.bytes > 0).map(|(i, d)| (d.bytes, Reverse(i))).collect();
        while let Some((left, Reverse(d))) = heap.pop() {
            let now = chunk.min(left);
            let mut best: Option<(f64, usize, u32)> = None;
            for path in candidates.of(d) {
                let links = candidates.path(path);
                let better = |max: f64| best.is_none_or(|(least, hops, _)| (max, links.len()) < (least, hops));
                // What is known was counted with a whole chunk; the last, smaller one looks for itself.
                let mut max = if now == chunk { known[path as usize] } else { 0.0 };
                if !better(max) {
                    continue;
                }
                let wins = links.iter().all(|l| {
                    max = max.max((load[l.index()] + now) as f64 * per_byte[l.index()]);
                    better(max)
                });
                if now == chunk {
                    known[path as usize] = max;
                }
                if wins {
                    best = Some((max, links.len(), path));
                }
            }
            let Some((_, _, path)) = best else { continue };
            for l in candidates.path(path) {
                load[l.index()] += now;
            }
            bytes[d][(path - candidates.of(d).start) as usize] += now;
            if left > now {
                heap.push((left - now, Reverse(d)));
            }
        }
        Ok(Assignment::from_bytes(candidates, &bytes))
    }
}

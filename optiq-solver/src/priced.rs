//! Candidate paths by pricing: few for each pair, chosen for the demands that are to be planned.
//!
//! The linear program over all paths (thesis 5.4) has too many columns to be written down, and an optimal basic solution
//! uses few of them: as many as there are demands and loaded links. Column generation (Ford and Fulkerson 1958; Barnhart, Hane
//! and Vance 2000) starts with some and adds those of negative reduced cost under the prices of the links. The planner
//! `optimal` does that ([`crate::planner::optimal`]); the paths on which it puts bytes are the columns that a
//! solution within its gap needs. Those with most bytes, at most k for each pair with the fabric's own route, are the candidates
//! here: for a planner that chooses among candidates and finds none by itself.
//!
//! Other methods know pairs only. This one depends on all demands, their sizes included.

use crate::candidates::{CandidateMethod, Candidates, LazyCandidates, PathBuffer};
use crate::checks::unconnected;
use crate::error::PlanError;
use crate::planner::Planner;
use crate::planner::optimal::{GAP, Optimal};
use crate::problem::{Problem, Share};
use optiq_net::{LinkId, NodeId};
use std::collections::BTreeMap;

/// At most `k` candidates for every demand: of the paths on which a plan of `optimal` for `problem` puts bytes those with
/// most, and the fabric's own route; shorter ones first. `initial` searches the paths that the plan begins with.
///
/// # Errors
/// Those of `initial` and of the planner; [`PlanError::Unconnected`] for a pair without a route.
pub(crate) fn candidates(
    problem: Problem,
    k: usize,
    initial: impl FnOnce() -> Result<Candidates, PlanError> + Send,
) -> Result<Candidates, PlanError> {
    let (net, demands) = (problem.net(), problem.demands());
    let search = LazyCandidates::new(initial);
    let assignment = Optimal::new(GAP, None)?.assign(&problem.with_search(&search))?;
    let mut by_pair: BTreeMap<(NodeId, NodeId), BTreeMap<Vec<LinkId>, u64>> = BTreeMap::new();
    for (demand, shares) in demands.iter().zip(assignment.shares) {
        let carried = by_pair.entry((demand.src, demand.dst)).or_default();
        for Share { links, bytes } in shares.into_iter().filter(|share| share.bytes > 0) {
            *carried.entry(links).or_default() += bytes;
        }
    }
    let mut paths = BTreeMap::new();
    for (i, demand) in demands.iter().enumerate() {
        let Some(carried) = by_pair.remove(&(demand.src, demand.dst)) else { continue };
        let mut own = Vec::new();
        net.route(demand.src, demand.dst, &mut own).map_err(|e| unconnected(net, demands, i, e))?;
        paths.insert((demand.src, demand.dst), heaviest(carried, own, k));
    }
    Ok(Candidates::from_paths(net, demands, (k, CandidateMethod::Priced), &paths))
}

/// The `k` paths with most bytes, of which `own` is one, shorter ones first.
fn heaviest(carried: BTreeMap<Vec<LinkId>, u64>, own: Vec<LinkId>, k: usize) -> PathBuffer {
    let mut others: Vec<(Vec<LinkId>, u64)> = carried.into_iter().filter(|(path, _)| *path != own).collect();
    // Of equal bytes in the order of their links, in which the map has them: a stable sort.
    others.sort_by_key(|&(_, bytes)| std::cmp::Reverse(bytes));
    let mut kept: Vec<Vec<LinkId>> = others.into_iter().take(k.saturating_sub(1)).map(|(path, _)| path).collect();
    kept.push(own);
    kept.sort_by_key(Vec::len);
    let mut buffer = PathBuffer::new();
    kept.iter().for_each(|path| buffer.push(path));
    buffer
}

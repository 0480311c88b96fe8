//! Fewer flows within a limit on congestion: the last step of `optimal`'s second goal.
//!
//! Every flow (a demand's path with bytes) costs the executor messages, slots and scheduling, whatever it carries. The fewest
//! flows that keep all links below a limit are hard to find: whether one path per demand is enough is the unsplittable
//! flow problem (Kleinberg 1996). What is done here, as far as the work allowed lasts:
//!
//! 1. *Whole demands.* Demands are cut into `m = 1`, then 2 equal parts, each of which takes one path. Part after part
//!    moves to the path by which the potential `sum_l c_l t u_l^p / p` (module `equilibrium`) grows least, until none can
//!    gain: local search for the least load, as for unsplittable virtual circuits (Aspnes, Azar, Fiat, Plotkin and Waarts
//!    1997), with `p` growing. Where that ends within the limit with one part for each demand, nothing can be fewer.
//! 2. *Backward elimination.* The flows that carry the smallest part of their demand are left out, many at a time first
//!    and one at a time in the end; equilibration over the flows that are left takes the congestion below the limit
//!    again, or else they come back. The prices tell early where that is hopeless: they prove a bound over the flows
//!    that are left. What cannot lose a flow any more is a basic solution of the linear program over its flows, or
//!    better: it has no more flows than demands and links at the limit together (thesis 5.4).
//! 3. On problems too large for these, a flow goes where the others of its demand have room for all of its bytes.

use crate::constants::{
    PART_GAIN, PARTS_MOST, PARTS_POWER_FIRST, PARTS_POWER_LAST, PARTS_SWEEPS, REPAIR_POWER_FIRST, REPAIR_POWER_LAST,
    REPAIR_SWEEPS, SPARSIFY_FORWARDED, SPARSIFY_WORK,
};
use crate::planner::equilibrium::{Columns, Equilibrium};
use std::ops::RangeInclusive;

/// The powers for whole demands, as doublings.
const PARTS_POWERS: RangeInclusive<u32> = PARTS_POWER_FIRST..=PARTS_POWER_LAST;

/// The powers for repairs, as doublings.
const REPAIR_POWERS: RangeInclusive<u32> = REPAIR_POWER_FIRST..=REPAIR_POWER_LAST;

/// Leaves flows out of `state` as far as no link then needs more than `limit` seconds, at the forward price that it has.
pub(super) fn reduce(state: &mut Equilibrium, limit: f64) {
    state.reload();
    let allowed = state.forwarded() * (1.0 + SPARSIFY_FORWARDED);
    into_room(state, limit, allowed);
    let start = state.columns.bytes.clone();
    let moving = (0..state.columns.demands()).filter(|&j| !state.columns.row(j).is_empty()).count();
    let flows = |bytes: &[f64]| bytes.iter().filter(|&&b| b > 0.0).count();
    if flows(&start) <= moving {
        return;
    }
    let mut work = 0.0;
    let mut found = vec![start.clone()];
    for parts in 1..=PARTS_MOST {
        let cost = (parts * PARTS_POWERS.count() * PARTS_SWEEPS) as f64 * state.columns.visits();
        if work + cost > SPARSIFY_WORK / 2.0 {
            break;
        }
        work += cost;
        state.columns.bytes.copy_from_slice(&start);
        if in_parts(state, limit, parts) && state.forwarded() <= allowed {
            found.push(state.columns.bytes.clone());
            break;
        }
    }
    // The fewest first, so that work goes where it may end lowest.
    found.sort_by_key(|bytes| flows(bytes));
    let mut best = start;
    for bytes in found {
        state.columns.bytes = bytes;
        if flows(&best) > moving {
            eliminate(state, limit, allowed, &mut work);
        }
        if flows(&state.columns.bytes) < flows(&best) {
            best.copy_from_slice(&state.columns.bytes);
        }
    }
    state.columns.bytes = best;
    state.reload();
}

/// The columns of a demand that have bytes, those with the fewest first.
fn used(columns: &Columns, demand: usize) -> Vec<usize> {
    let mut used: Vec<usize> = columns.row(demand).filter(|&i| columns.bytes[i] > 0.0).collect();
    used.sort_by(|&a, &b| columns.bytes[a].total_cmp(&columns.bytes[b]).then(a.cmp(&b)));
    used
}

/// Demand after demand, empties flows all of whose bytes fit on others of the demand.
fn into_room(state: &mut Equilibrium, limit: f64, allowed: f64) {
    let mut spare = allowed - state.forwarded();
    for j in 0..state.columns.demands() {
        let mut flows = used(&state.columns, j);
        let mut next = 0;
        while flows.len() > 1 && next < flows.len() {
            let leaving = flows[next];
            let bytes = state.columns.bytes[leaving];
            state.put(leaving, -bytes);
            let (mut rest, mut dearer, mut moved) = (bytes, -bytes * state.columns.forwards[leaving], Vec::new());
            for &i in flows.iter().rev().filter(|&&i| i != leaving) {
                let more = state.room(i, limit).min(rest);
                if more > 0.0 {
                    state.put(i, more);
                    moved.push((i, more));
                    dearer += more * state.columns.forwards[i];
                    rest -= more;
                }
            }
            if rest <= 0.0 && dearer <= spare {
                spare -= dearer;
                state.columns.bytes[leaving] = 0.0;
                flows.remove(next);
            } else {
                moved.into_iter().for_each(|(i, more)| state.put(i, -more));
                state.put(leaving, bytes);
                next += 1;
            }
        }
    }
}

/// Puts every demand on `parts` paths at most, in equal parts; whether that is within the limit.
fn in_parts(state: &mut Equilibrium, limit: f64, parts: usize) -> bool {
    let moving: Vec<usize> = (0..state.columns.demands()).filter(|&j| !state.columns.row(j).is_empty()).collect();
    let mut places: Vec<usize> = Vec::with_capacity(moving.len() * parts);
    let mut sizes = Vec::with_capacity(moving.len());
    for &j in &moving {
        let row = state.columns.row(j);
        sizes.push(state.columns.bytes[row.clone()].iter().sum::<f64>() / parts as f64);
        let largest = used(&state.columns, j).last().copied().unwrap_or(row.start);
        places.extend(std::iter::repeat_n(largest, parts));
        state.columns.bytes[row].fill(0.0);
    }
    let all = |state: &mut Equilibrium, places: &[usize]| {
        places.iter().enumerate().for_each(|(i, &place)| state.columns.bytes[place] += sizes[i / parts]);
        state.reload();
    };
    all(state, &places);
    for doublings in PARTS_POWERS {
        state.price_links(doublings, limit);
        for _ in 0..PARTS_SWEEPS {
            let mut settled = true;
            for (i, place) in places.iter_mut().enumerate() {
                let bytes = sizes[i / parts];
                state.put(*place, -bytes);
                let (mut best, mut least) = (*place, state.potential(*place, bytes) * (1.0 - PART_GAIN));
                for column in state.columns.row(moving[i / parts]) {
                    let grows = state.potential(column, bytes);
                    if grows < least {
                        (best, least) = (column, grows);
                    }
                }
                settled &= best == *place;
                *place = best;
                state.put(best, bytes);
            }
            if settled {
                break;
            }
        }
        if state.congestion() <= limit {
            break;
        }
    }
    // Without the rounding of the steps before.
    state.columns.bytes.fill(0.0);
    all(state, &places);
    state.congestion() <= limit
}

/// Backward elimination; `work` is what was done so far.
fn eliminate(state: &mut Equilibrium, limit: f64, allowed: f64, work: &mut f64) {
    // What cannot be left out of more flows cannot be left out of fewer.
    let mut needed = vec![false; state.columns.len()];
    let mut at_once = usize::MAX;
    loop {
        let mut flows: Vec<(f64, usize)> = Vec::new();
        for j in 0..state.columns.demands() {
            let used = used(&state.columns, j);
            let bytes: f64 = used.iter().map(|&i| state.columns.bytes[i]).sum();
            // Of several that are left out together, one must stay.
            let may_go = if at_once > 1 { used.len().saturating_sub(1) } else { used.len() };
            if used.len() > 1 {
                flows.extend(used[..may_go].iter().map(|&i| (state.columns.bytes[i] / bytes, i)));
            }
        }
        flows.retain(|&(_, i)| !needed[i]);
        flows.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        if flows.is_empty() {
            match at_once {
                1 => return,
                _ => at_once = 1,
            }
            continue;
        }
        at_once = at_once.min(flows.len());
        let leaving: Vec<usize> = flows[..at_once].iter().map(|flow| flow.1).collect();
        let (left, places) = without(&state.columns, &leaving);
        let cost = (REPAIR_POWERS.count() * REPAIR_SWEEPS) as f64 * 3.0 * left.visits();
        if *work + cost > SPARSIFY_WORK {
            return;
        }
        match repaired(state, left, limit, work) {
            Some(repaired) if repaired.forwarded() <= allowed => {
                state.columns.bytes.fill(0.0);
                places.iter().zip(&repaired.columns.bytes).for_each(|(&i, &bytes)| state.columns.bytes[i] = bytes);
            }
            _ if at_once == 1 => needed[leaving[0]] = true,
            _ => at_once /= 2,
        }
    }
}

/// The columns with bytes, but for those that are `leaving`, whose bytes the others of their demand share in proportion;
/// and which columns they were.
fn without(columns: &Columns, leaving: &[usize]) -> (Columns, Vec<usize>) {
    let (mut left, mut places) = (Columns::new(), Vec::new());
    let mut staying: Vec<bool> = columns.bytes.iter().map(|&bytes| bytes > 0.0).collect();
    leaving.iter().for_each(|&i| staying[i] = false);
    for j in 0..columns.demands() {
        let stays = |i: &usize| staying[*i];
        let all: f64 = columns.bytes[columns.row(j)].iter().sum();
        let kept: f64 = columns.row(j).filter(stays).map(|i| columns.bytes[i]).sum();
        for i in columns.row(j).filter(stays) {
            left.push(columns.links(i).iter().copied(), columns.bytes[i] / kept * all);
            left.forwards[places.len()] = columns.forwards[i];
            places.push(i);
        }
        left.end_row();
    }
    (left, places)
}

/// Spreads bytes over `columns` so that no link needs more than `limit` seconds; `None` if that is not found.
fn repaired(like: &Equilibrium, columns: Columns, limit: f64, work: &mut f64) -> Option<Equilibrium> {
    let mut state = Equilibrium::new(columns, like.per_byte.clone(), like.base.clone());
    state.forward_price = like.forward_price;
    let without_base = like.base.iter().all(|&bytes| bytes == 0.0);
    for doublings in REPAIR_POWERS {
        state.price_links(doublings, limit);
        for s in 0..REPAIR_SWEEPS {
            state.sweep(s == 0, 0.0, 0.0, &|| false);
            *work += state.work(s == 0);
        }
        state.reload();
        if state.congestion() <= limit {
            return Some(state);
        }
        if without_base && state.proved() > limit {
            return None;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    /// Demands that share their bytes evenly among single links, each of capacity 1.
    fn parallel(demands: &[f64], links: u32) -> Equilibrium {
        let mut columns = Columns::new();
        for bytes in demands {
            (0..links).for_each(|l| columns.push([l], bytes / f64::from(links)));
            columns.end_row();
        }
        Equilibrium::new(columns, vec![1.0; links as usize], vec![0.0; links as usize])
    }

    fn flows(state: &Equilibrium) -> usize {
        state.columns.bytes.iter().filter(|&&bytes| bytes > 0.0).count()
    }

    /// Each on a link of its own: one flow for each demand.
    #[test]
    fn whole_demands_where_that_is_as_good() {
        let mut state = parallel(&[1.0, 1.0, 1.0, 1.0], 4);
        reduce(&mut state, 1.0);
        assert_eq!((flows(&state), state.congestion()), (4, 1.0));
        // 5, 4, 3 and 2, 2, 2 on two links: 9 each as 5 + 4 and 3 + 2 + 2 + 2, or as 5 + 2 + 2 and 4 + 3 + 2.
        let mut state = parallel(&[5.0, 4.0, 3.0, 2.0, 2.0, 2.0], 2);
        reduce(&mut state, 9.0);
        assert_eq!((flows(&state), state.congestion()), (6, 9.0));
    }

    /// Three demands of 2 on two links that may carry 3: one must be cut, and one is enough.
    #[test]
    fn one_demand_is_cut() {
        let mut state = parallel(&[2.0, 2.0, 2.0], 2);
        reduce(&mut state, 3.003);
        assert_eq!(flows(&state), 4);
        assert!(state.congestion() <= 3.003);
    }

    /// All of it fits on the other flow, but that is forwarded.
    #[test]
    fn not_for_more_forwarding() {
        for (forwards, left) in [([0.0, 1.0], 0), ([1.0, 0.0], 1)] {
            let mut state = parallel(&[3.0], 2);
            state.columns.bytes.copy_from_slice(&[2.0, 1.0]);
            state.columns.forwards.copy_from_slice(&forwards);
            state.forward_price = 0.2;
            reduce(&mut state, 4.0);
            assert_eq!(state.columns.bytes[left], 3.0, "{forwards:?}");
        }
    }

    proptest! {
        /// Bytes stay, no link goes above the limit, forwarded bytes hardly grow.
        #[test]
        fn nothing_is_lost(
            demands in prop::collection::vec(
                prop::collection::vec((prop::collection::btree_set(0u32..8, 1..4), 0u32..5, 0u32..3), 1..6), 1..8,
            ),
            base in prop::collection::vec(0u32..3, 8),
            spare in 0u32..3,
        ) {
            let mut columns = Columns::new();
            let mut forwards = Vec::new();
            for row in &demands {
                for (links, bytes, forward) in row {
                    columns.push(links.iter().copied(), f64::from(*bytes));
                    forwards.push(f64::from(*forward));
                }
                columns.end_row();
            }
            columns.forwards = forwards;
            let mut state = Equilibrium::new(columns, vec![1.0; 8], base.into_iter().map(f64::from).collect());
            state.forward_price = 0.2;
            let (before, forwarded) = (flows(&state), state.forwarded());
            let sums = |state: &Equilibrium| -> Vec<f64> {
                (0..state.columns.demands()).map(|j| state.columns.bytes[state.columns.row(j)].iter().sum()).collect()
            };
            let expected = sums(&state);
            let limit = state.congestion() * (1.0 + f64::from(spare) / 10.0);
            reduce(&mut state, limit);
            prop_assert!(flows(&state) <= before);
            prop_assert!(state.congestion() <= limit * (1.0 + 1e-9), "{} {limit}", state.congestion());
            prop_assert!(state.forwarded() <= forwarded * (1.0 + SPARSIFY_FORWARDED) + 1e-6);
            for (found, expected) in sums(&state).into_iter().zip(expected) {
                prop_assert!((found - expected).abs() <= 1e-9 * (1.0 + expected));
            }
        }
    }
}

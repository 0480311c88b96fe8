//! A plan for demands that are nearly those of an earlier plan: the same paths, which carry their bytes in proportion.
//!
//! Programs whose counts change a little from call to call (a sort's buckets, particles that move) have another demand set in every
//! call, and a plan made anew takes longer than it gains. With `b_j` the bytes of demand `j` then, `b'_j` now, `x_jp` what path `p` carried of
//! it and `L` the proved bound,
//!
//! ```text
//!     x'_jp = x_jp b'_j / b_j  (whole bytes, what is left over on the path that carries most),      L' = L min_j b'_j / b_j
//! ```
//!
//! `L'` bounds every routing of the demands now, as each routing of them carries `min_j b'_j / b_j` times those of then, and more; with
//! other demands, or fewer bytes of any, nothing is proved beyond that. The plan is used if its gap to `L'` is at most that of the
//! earlier plan and `slack`: as good as a planner leaves it.

use crate::demands::{self, Demand};
use crate::plan::{Flow, Plan, congestion, direct_load};
use optiq_net::Network;

/// Carries a plan over to demands between the same hosts, of the same classes and in the same order, on the same network. `slack` is
/// how much wider its gap ([`Plan::gap`]) may be.
///
/// `None` if the demands, or the network, are others, or differ too much.
pub fn carry_over(net: &Network, before: &Plan, demands: &[Demand], slack: f64) -> Option<Plan> {
    let same = |(a, b): (&Demand, &Demand)| (a.src, a.dst, a.class) == (b.src, b.dst, b.class);
    let fits = !demands.is_empty()
        && before.demands.len() == demands.len()
        && before.demands.iter().zip(demands).all(same)
        && before.network == net.fingerprint();
    if !fits {
        return None;
    }
    let ratio = |(then, now): (&Demand, &Demand)| now.bytes as f64 / then.bytes as f64;
    let least = before.demands.iter().zip(demands).map(ratio).fold(f64::INFINITY, f64::min);
    // Rounded down, as it is to be proved.
    let bound = (before.bound_seconds * least).next_down();
    if bound <= 0.0 {
        return None;
    }
    let flows = before.flows.iter().zip(&before.demands).zip(demands);
    let flows: Vec<_> = flows.map(|((flows, then), now)| in_proportion(flows, then.bytes, now.bytes)).collect();
    let mut plan = Plan {
        demands_fingerprint: demands::fingerprint(demands),
        demands: demands.to_vec(),
        flows,
        planner: before.planner.clone(),
        binding: before.binding.clone(),
        ..*before
    };
    plan.congestion_seconds = congestion(net, &plan.link_load(net).ok()?);
    plan.bound_seconds = bound.min(plan.congestion_seconds);
    if plan.gap() > before.gap() + slack {
        return None;
    }
    plan.direct_congestion_seconds = congestion(net, &direct_load(net, demands).ok()?);
    Some(plan)
}

/// The same paths with `now` bytes in place of `then`; those that would carry less than a byte are left out.
fn in_proportion(flows: &[Flow], then: u64, now: u64) -> Vec<Flow> {
    let share = |bytes: u64| (u128::from(bytes) * u128::from(now) / u128::from(then.max(1))) as u64;
    let mut scaled: Vec<Flow> = flows.iter().map(|flow| Flow { bytes: share(flow.bytes), ..flow.clone() }).collect();
    let left = now - scaled.iter().map(|flow| flow.bytes).sum::<u64>();
    let most = (0..flows.len()).max_by_key(|&i| (flows[i].bytes, std::cmp::Reverse(i)));
    if let Some(most) = most {
        scaled[most].bytes += left;
    }
    scaled.retain(|flow| flow.bytes > 0);
    scaled
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::pipeline::{PlanOptions, run};
    use optiq_net::NodeId;
    use proptest::prelude::*;

    fn demand(src: u32, dst: u32, bytes: u64) -> Demand {
        Demand { src: NodeId(src), dst: NodeId(dst), bytes, class: 0 }
    }

    fn planned(net: &Network, demands: &[Demand]) -> Plan {
        run(net, demands, &PlanOptions::default()).unwrap().plan
    }

    /// On a ring of four, half of the bytes to the opposite host go either way: 8 MB take 4 s at 1 MB/s.
    #[test]
    fn bytes_stay_in_proportion_and_the_bound_shrinks_with_the_least() {
        let net = Network::from_spec("torus:4,capacity=1MB/s").unwrap();
        let mut before = planned(&net, &[demand(0, 2, 8_000_000)]);
        // As the planner leaves a hundredth to plans that forward less.
        before.flows[0].iter_mut().for_each(|flow| flow.bytes = 4_000_000);
        before.congestion_seconds = 4.0;
        assert_eq!((before.flows[0].len(), before.check(&net)), (2, Ok(())));
        // By hand: 8 000 001 bytes are 4 000 000 each way and one more on one of the ways.
        let now = carry_over(&net, &before, &[demand(0, 2, 8_000_001)], 0.01).unwrap();
        assert_eq!(now.flows[0].iter().map(|flow| flow.bytes).sum::<u64>(), 8_000_001);
        assert_eq!(now.congestion_seconds, 4.000001);
        assert!((now.bound_seconds / before.bound_seconds - 8_000_001.0 / 8e6).abs() < 1e-12);
        assert_eq!(now.check(&net), Ok(()));
    }

    #[test]
    fn other_demands_and_other_networks_are_planned_anew() {
        let net = Network::from_spec("torus:4x4").unwrap();
        let demands = [demand(0, 5, 1 << 20), demand(3, 9, 1 << 20)];
        let before = planned(&net, &demands);
        let carried = |demands: &[Demand]| carry_over(&net, &before, demands, 0.01);
        assert_eq!(carried(&demands).map(|plan| plan.flows), Some(before.flows.clone()));
        assert_eq!(carried(&demands[..1]), None);
        assert_eq!(carried(&[demand(0, 5, 1 << 20), demand(3, 8, 1 << 20)]), None);
        assert_eq!(carried(&[demand(0, 5, 1 << 20), Demand { class: 1, ..demands[1] }]), None);
        // Twice as much of one and not of the other: the least says nothing of what twice as much takes.
        assert_eq!(carried(&[demand(0, 5, 2 << 20), demand(3, 9, 1 << 20)]), None);
        assert!(carried(&[demand(0, 5, 2 << 20), demand(3, 9, 2 << 20)]).is_some(), "all in proportion");
        let other = Network::from_spec("torus:4x4,capacity=1MB/s").unwrap();
        assert_eq!(carry_over(&other, &before, &demands, 0.01), None);
        let nothing = planned(&net, &[]);
        assert_eq!(carry_over(&net, &nothing, &[], 0.01), None);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        /// Every byte is delivered on sound paths, and the bound is below what a planner reaches for the same demands.
        #[test]
        fn carried_plans_are_sound(changes in proptest::collection::vec(0u64..2000, 12), seed in 0u32..16) {
            let net = Network::from_spec("torus:4x4").unwrap();
            let pair = |i: u32| ((seed + i) % 16, (seed + 5 * i + 3) % 16);
            let pairs = (0..12).map(pair).filter(|(a, b)| a != b);
            let then: Vec<Demand> = pairs.map(|(a, b)| demand(a, b, 100_000)).collect();
            let now: Vec<Demand> = then.iter().zip(&changes).map(|(d, c)| Demand { bytes: d.bytes + c, ..*d }).collect();
            let before = planned(&net, &then);
            if let Some(plan) = carry_over(&net, &before, &now, 0.01) {
                prop_assert_eq!(plan.check(&net), Ok(()));
                prop_assert!(plan.gap() <= before.gap() + 0.01);
                prop_assert!(plan.bound_seconds <= planned(&net, &now).congestion_seconds);
            } else {
                // All changes are below 2 %: with 1 % more they fit.
                prop_assert!(carry_over(&net, &before, &now, 0.03).is_some());
            }
        }
    }
}

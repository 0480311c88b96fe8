//! The pure part: every byte exactly once, within the budget, in few and large pieces.
#![allow(clippy::unwrap_used, reason = "tests")]

use super::*;
use crate::placement::{Placement, PlacementRule};
use optiq_net::{Network, NodeId};
use optiq_transport::Rank;
use proptest::prelude::*;
use std::collections::BTreeMap;

fn place(spec: &str, ranks: usize, per_host: u32) -> (Servers, Placement) {
    let network = Network::from_spec(spec).unwrap();
    let names = vec![String::new(); ranks];
    let placement = Placement::new(&network, &names, &PlacementRule::Ranks { per_host }).unwrap();
    (Servers::new(&network, &placement).unwrap(), placement)
}

fn bytes(shares: &[Share]) -> u64 {
    shares.iter().map(|s| s.extent.bytes).sum()
}

/// One after the other, each of these bytes.
fn row(sizes: impl IntoIterator<Item = u64>) -> Vec<Extent> {
    let mut start = 0;
    let next = |bytes| {
        start += bytes;
        Extent { start: start - bytes, bytes }
    };
    sizes.into_iter().map(next).collect()
}

#[test]
fn balanced_shares_are_equal_where_the_default_ones_are_not() {
    // Hosts 0 to 2 are nearer to host 1, the other 13 to host 4; two links enter either.
    let (servers, placement) = place("mesh:16,io=1+4", 128, 8);
    let extents = row(vec![750_000; 128]);
    let balanced = assign(&servers, &placement, &extents, Assignment::Balanced, 1);
    assert_eq!(balanced.iter().map(|s| bytes(s)).collect::<Vec<_>>(), [48_000_000; 2]);
    // What goes to host 1 comes from the first eight hosts: from the others it is farther.
    assert!(balanced[0].iter().all(|s| s.rank.0 < 64));
    let default = assign(&servers, &placement, &extents, Assignment::Default, 1);
    assert_eq!(default.iter().map(|s| s.len()).collect::<Vec<_>>(), [24, 104]);
    // Where ties between two I/O hosts are broken round robin, the default has as many for each, but no range of the file.
    let (servers, placement) = place("torus:4x4,io=0+10", 128, 8);
    let default = assign(&servers, &placement, &extents, Assignment::Default, 1);
    assert_eq!(default.iter().map(|s| s.len()).collect::<Vec<_>>(), [64, 64]);
}

#[test]
fn faster_servers_get_more() {
    // The storage of host 1 is a quarter as fast as the links that lead there.
    let (servers, placement) = place("star:4,capacity=100MB/s,io=0@100MB/s+1@25MB/s", 4, 1);
    let balanced = assign(&servers, &placement, &row([500, 500, 500, 500]), Assignment::Balanced, 1);
    assert_eq!(balanced.iter().map(|s| bytes(s)).collect::<Vec<_>>(), [1600, 400]);
    assert_eq!(servers.list()[1].weight, 25_000_000);
}

#[test]
fn ranges_go_to_the_servers_that_are_close_to_their_ranks() {
    // The last ranks have the first bytes.
    let (servers, placement) = place("mesh:8,io=0+7", 8, 1);
    let backwards: Vec<Extent> = (0..8).map(|r| Extent { start: 100 * (7 - r), bytes: 100 }).collect();
    let balanced = assign(&servers, &placement, &backwards, Assignment::Balanced, 1);
    assert_eq!(balanced[0].iter().map(|s| s.rank.0).collect::<Vec<_>>(), [3, 2, 1, 0]);
}

#[test]
fn cuts_move_to_the_borders_of_ranks() {
    let (servers, placement) = place("torus:2x2,io=0+3", 4, 1);
    let near = assign(&servers, &placement, &row([100, 98, 102, 100]), Assignment::Balanced, 1);
    assert_eq!(near.iter().map(|s| bytes(s)).collect::<Vec<_>>(), [198, 202]);
    let far = assign(&servers, &placement, &row([100, 60, 140, 100]), Assignment::Balanced, 8);
    // Half of 400 is 200, which is a multiple of 8 from the start.
    assert_eq!(far.iter().map(|s| bytes(s)).collect::<Vec<_>>(), [200, 200]);
}

#[test]
fn servers_need_a_rank() {
    let network = Network::from_spec("torus:4,io=2+3").unwrap();
    let on = |ranks| {
        let placement = Placement::new(&network, &vec![String::new(); ranks], &PlacementRule::Ranks { per_host: 1 });
        Servers::new(&network, &placement.unwrap())
    };
    assert!(on(2).unwrap_err().contains("no rank runs on any"));
    let servers = on(3).unwrap();
    assert_eq!(servers.list().iter().map(|s| s.host).collect::<Vec<_>>(), [NodeId(2)]);
    assert_eq!(servers.default_of(NodeId(3)), 0);
    let unmarked = Network::from_spec("torus:4").unwrap();
    let placement = Placement::new(&unmarked, &[String::new()], &PlacementRule::Ranks { per_host: 1 }).unwrap();
    assert!(Servers::new(&unmarked, &placement).unwrap_err().contains("marks no I/O hosts"));
}

#[test]
fn large_shares_are_sliced_and_move_the_same_counts() {
    let (servers, placement) = place("torus:2x2,io=0+3", 4, 1);
    let extents = row(vec![1 << 30; 4]);
    let shares = assign(&servers, &placement, &extents, Assignment::Balanced, 8);
    let rounds = Rounds::new(&shares, 8, 32 << 20, |r| placement.host(r)).unwrap();
    assert!(rounds.count() >= 64);
    let counts = |round| rounds.messages(1, round).iter().map(|m| (m.rank, m.extent.bytes, m.at)).collect::<Vec<_>>();
    assert!((1..rounds.count() - 1).all(|round| counts(round) == counts(0) && rounds.repeats(round)));
    assert!(!rounds.repeats(0));
    assert!(rounds.pieces(1, 0).iter().all(|p| p.extent.bytes >= LARGE_BYTES));
}

#[test]
fn hosts_are_sliced_where_ranks_are_too_small() {
    // As HACC writes: 8 ranks on each of 16 hosts, 750 kB each. Slices of ranks would be 375 kB, those of hosts are 3 MB.
    let (servers, placement) = place("torus:4x4,io=0+10", 128, 8);
    let shares = assign(&servers, &placement, &row(vec![750_000; 128]), Assignment::Balanced, 1);
    let rounds = Rounds::new(&shares, 1, 24 << 20, |r| placement.host(r)).unwrap();
    assert_eq!((rounds.count(), rounds.repeats(1)), (2, false));
    for round in 0..2 {
        let pieces = rounds.pieces(0, round);
        assert_eq!(pieces.iter().map(|p| p.extent.bytes).collect::<Vec<_>>(), [3_000_000; 8]);
        let ranks: Vec<Rank> = rounds.messages(0, round).iter().map(|m| m.rank).collect();
        let expected = (0..64).filter(|r| u64::from(r % 8 / 4) == round).map(Rank);
        assert_eq!(ranks, expected.collect::<Vec<Rank>>());
    }
}

#[test]
fn windows_are_contiguous() {
    let (servers, placement) = place("torus:2x2,io=0", 16, 4);
    let shares = assign(&servers, &placement, &row(vec![750_000; 16]), Assignment::Balanced, 1);
    let rounds = Rounds::new(&shares, 1, 4 << 20, |r| placement.host(r)).unwrap();
    assert_eq!((rounds.repeats(1), rounds.count()), (false, 3));
    for round in 0..3 {
        let pieces = rounds.pieces(0, round);
        assert_eq!((pieces.len(), pieces[0].extent.bytes), (1, 4_000_000));
    }
}

#[test]
fn one_round_where_nothing_is_won_by_two() {
    // 48 MB for each server, through links of 400 MB/s: 0.12 s.
    let rounds = |io: &str, whole, round_seconds| {
        let (servers, placement) = place(&format!("torus:4x4,capacity=100MB/s,io={io}"), 16, 1);
        let shares = assign(&servers, &placement, &row(vec![6_000_000; 16]), Assignment::Balanced, 1);
        let rounds = Rounds::new(&shares, 1, 32 << 20, |r| placement.host(r)).unwrap();
        assert_eq!(rounds.count(), 2);
        let rounds = rounds.at_once(servers.list(), whole, round_seconds);
        assert!(rounds.largest(0) <= whole);
        (rounds.count(), rounds.pieces(0, 0).len())
    };
    // Nothing is known of the storage.
    assert_eq!(rounds("0+10", 64 << 20, 0.0), (1, 1));
    assert_eq!(rounds("0+10", 40 << 20, 0.0), (2, 8));
    // 0.06 s of writing, which two rounds that cost 0.03 s just take back.
    assert_eq!(rounds("0@800MB/s+10@800MB/s", 64 << 20, 0.029), (2, 8));
    assert_eq!(rounds("0@800MB/s+10@800MB/s", 64 << 20, 0.031), (1, 1));
    // The storage is the slower one: 0.12 s can be hidden behind it.
    assert_eq!(rounds("0@100MB/s+10@100MB/s", 64 << 20, 0.059), (2, 8));
    assert_eq!(rounds("0@100MB/s+10@100MB/s", 64 << 20, 0.061), (1, 1));
}

#[test]
fn sizes_are_64_bits() {
    let (servers, placement) = place("torus:2x2,io=0+3", 4, 1);
    let far = 1 << 62;
    let extents: Vec<Extent> = (0..4).map(|r| Extent { start: far + (r << 40), bytes: 1 << 40 }).collect();
    for rule in [Assignment::Balanced, Assignment::Default] {
        let shares = assign(&servers, &placement, &extents, rule, 1);
        assert_eq!(shares.iter().map(|s| bytes(s)).sum::<u64>(), 1 << 42);
        let rounds = Rounds::new(&shares, 1, u64::MAX, |r| placement.host(r)).unwrap();
        assert!(rounds.largest(0) <= MAX_HALF_BYTES);
    }
}

#[test]
fn a_half_that_holds_no_unit_is_refused() {
    assert!(Rounds::new(&[Vec::new()], 8, 7, |r| NodeId(r.0)).is_none());
    assert_eq!(Rounds::new(&[Vec::new()], 8, 8, |r| NodeId(r.0)).unwrap().count(), 0);
}

/// Every byte of every rank is in one message, messages and pieces tell of the same bytes at the same places, and nothing
/// exceeds the half.
fn check(extents: &[Extent], rounds: &Rounds, servers: usize, half: u64, unit: u64) -> Result<(), TestCaseError> {
    let mut seen: BTreeMap<(Rank, u64), usize> = BTreeMap::new();
    for server in 0..servers {
        for round in 0..rounds.count() {
            let pieces = rounds.pieces(server, round);
            let messages = rounds.messages(server, round);
            let mut place = BTreeMap::new();
            for p in &pieces {
                prop_assert!(p.extent.bytes > 0 && p.at + p.extent.bytes <= half);
                prop_assert!(p.extent.start % unit == 0);
                for i in 0..p.extent.bytes {
                    prop_assert!(place.insert(p.extent.start + i, p.at + i).is_none(), "a byte in two pieces");
                }
            }
            let neighbours = pieces.windows(2).all(|w| w[0].extent.end() < w[1].extent.start);
            prop_assert!(neighbours, "pieces that could be one");
            prop_assert!(place.len() as u64 <= rounds.largest(server) && rounds.largest(server) <= half);
            for m in &messages {
                prop_assert_eq!(rounds.of_rank(server, round, m.rank), Some(m.extent));
                for i in 0..m.extent.bytes {
                    prop_assert_eq!(place.get(&(m.extent.start + i)), Some(&(m.at + i)));
                    *seen.entry((m.rank, m.extent.start + i)).or_default() += 1;
                }
            }
            let ranks: std::collections::BTreeSet<Rank> = messages.iter().map(|m| m.rank).collect();
            prop_assert_eq!(ranks.len(), messages.len());
            prop_assert!(
                (0..extents.len() as u32)
                    .map(Rank)
                    .all(|r| ranks.contains(&r) == rounds.of_rank(server, round, r).is_some())
            );
        }
    }
    let all = |(rank, e): (Rank, &Extent)| (e.start..e.end()).map(move |at| ((rank, at), 1)).collect::<Vec<_>>();
    let expected: BTreeMap<(Rank, u64), usize> = (0..).map(Rank).zip(extents).flat_map(all).collect();
    prop_assert_eq!(seen, expected);
    Ok(())
}

proptest! {
    #[test]
    fn every_byte_exactly_once(
        sizes in prop::collection::vec((0u64..40, prop_oneof![3 => Just(0u64), 1 => 0u64..20]), 1..20),
        turn in 0usize..20,
        unit in 1u64..5,
        units in 1u64..60,
        default in any::<bool>(),
        overlapping in any::<bool>(),
        partial in 0u64..5,
        io in prop::sample::select(vec!["0", "0+3", "0@1+1@3+2@7", "1+2+3", "0+1+2+3"]),
    ) {
        let (servers, placement) = place(&format!("torus:2x2,io={io}"), 20, 5);
        let mut start = 0;
        let mut extents = vec![Extent::default(); 20];
        for (i, &(bytes, hole)) in sizes.iter().enumerate() {
            start += hole * unit;
            extents[(i * 7 + turn) % 20] = Extent { start, bytes: bytes * unit };
            start += if overlapping { bytes / 2 } else { bytes } * unit;
        }
        // As at the end of a file.
        if let Some(last) = extents.iter_mut().max_by_key(|e| e.end()) {
            last.bytes -= partial.min(unit - 1).min(last.bytes);
        }
        let rule = if default { Assignment::Default } else { Assignment::Balanced };
        let shares = assign(&servers, &placement, &extents, rule, unit);
        let overlaps = assign::overlap(&assign::in_order(&extents)).is_some();
        if !overlapping {
            prop_assert!(!overlaps);
        }
        let half = units * unit + unit / 2;
        let rounds = Rounds::new(&shares, unit, half, |r| placement.host(r)).unwrap();
        if !(overlapping && partial > 0) {
            check(&extents, &rounds, servers.list().len(), half, unit)?;
            let rounds = rounds.at_once(servers.list(), 2 * half, 0.0);
            check(&extents, &rounds, servers.list().len(), 2 * half, unit)?;
        }
    }

    #[test]
    fn slices_cover_all(
        sizes in prop::collection::vec(1u64..9, 1..12),
        rest in 0u64..1000,
        unit in 1u64..9,
        half in 4u64..40,
        per_host in 1u32..5,
    ) {
        // Slices of ranks where they are large, of hosts where they are not.
        let extents = row(sizes.iter().map(|s| (s << 19) / unit * unit + rest * unit));
        let shares: Vec<Share> =
            (0..).map(Rank).zip(&extents).map(|(rank, &extent)| Share { rank, extent }).collect();
        let rounds = Rounds::new(&[shares], unit, half << 19, |r| NodeId(r.0 / per_host)).unwrap();
        let mut covered: Vec<u64> = extents.iter().map(|e| e.start).collect();
        let places = |round| rounds.messages(0, round).iter().map(|m| (m.rank, m.extent.bytes, m.at)).collect::<Vec<_>>();
        for round in 0..rounds.count() {
            let messages = rounds.messages(0, round);
            prop_assert!(!rounds.repeats(round) || places(round) == places(round - 1));
            prop_assert!(messages.iter().map(|m| m.extent.bytes).sum::<u64>() <= half << 19);
            for m in messages {
                let next = &mut covered[m.rank.index()];
                prop_assert_eq!(*next, m.extent.start);
                *next += m.extent.bytes;
            }
        }
        prop_assert!(covered.iter().zip(&extents).all(|(&c, e)| c == e.end()));
    }
}

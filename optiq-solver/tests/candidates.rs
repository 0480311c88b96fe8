//! Candidate paths against brute force and against an independent implementation; path files.
// Helpers outside of #[test] functions unwrap, too.
#![allow(clippy::unwrap_used)]

mod common;
use common::*;
use optiq_net::random::SplitMix64;
use optiq_net::{DimensionOrder, LinkId, Network, NodeId, Routing, Ties, Zone};
use optiq_solver::candidates::yen::{Query, Yen};
use optiq_solver::candidates::{PathBuffer, diverse::MAX_DETOUR, file};
use optiq_solver::pipeline::{self, PlanOptions};
use optiq_solver::{CandidateMethod, Candidates, Demand, PathFileError, PlanError, demands, legs};
use proptest::prelude::*;
use std::collections::BTreeSet;

/// The vertices of a path, after checking that it is one from `src` to `dst` without loops.
fn check_path(net: &Network, src: NodeId, dst: NodeId, path: &[LinkId]) -> Vec<NodeId> {
    let nodes = legs::nodes(net, path).unwrap();
    assert_eq!((nodes[0], nodes[nodes.len() - 1]), (src, dst));
    assert_eq!(nodes.iter().collect::<BTreeSet<_>>().len(), nodes.len(), "a loop in {nodes:?}");
    nodes
}

fn yen(net: &Network, src: u32, dst: u32, k: usize, max_hops: u32, rotation: u32) -> Vec<Vec<LinkId>> {
    let (src, dst) = (NodeId(src), NodeId(dst));
    let distance = net.distances_to(dst);
    let paths = Yen::new(net).paths(Query { src, dst, distance: &distance, k, max_hops, rotation }, |_| true);
    let distinct: BTreeSet<_> = paths.iter().map(|p| check_path(net, src, dst, p)).collect();
    assert_eq!(distinct.len(), paths.len(), "a path twice");
    paths
}

fn lengths(paths: &[Vec<LinkId>]) -> Vec<usize> {
    paths.iter().map(Vec::len).collect()
}

/// Lengths of all loopless paths, ascending.
fn all_lengths(net: &Network, at: NodeId, dst: NodeId, on_path: &mut Vec<NodeId>, found: &mut Vec<usize>) {
    if at == dst {
        found.push(on_path.len());
        return;
    }
    on_path.push(at);
    for l in net.out_links(at) {
        let to = net.link(l).to;
        if !on_path.contains(&to) {
            all_lengths(net, to, dst, on_path, found);
        }
    }
    on_path.pop();
}

/// A random directed graph with a ring through all vertices and some chords.
fn sparse_graph() -> impl Strategy<Value = Network> {
    (8u32..16).prop_flat_map(|n| {
        prop::collection::btree_set((0..n, 1..n), 0..12).prop_map(move |chords| {
            let ring = (0..n).map(|a| (a, (a + 1) % n, 1.0));
            let chords = chords.iter().map(|&(a, by)| (a, (a + by) % n, 1.0));
            graph(n as usize, &ring.chain(chords).collect::<Vec<_>>())
        })
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn yen_finds_what_brute_force_finds(net in random_graph(2..8), k in 1usize..60, max in 1u32..8, rotation: u32) {
        let mut all = Vec::new();
        all_lengths(&net, NodeId(0), NodeId(1), &mut Vec::new(), &mut all);
        all.sort_unstable();
        all.retain(|&l| l as u32 <= max);
        all.truncate(k);
        prop_assert_eq!(lengths(&yen(&net, 0, 1, k, max, rotation)), all);
    }

    /// `pathfinding` 4.16 takes equally long candidates out of its heap before it has looked for deviations from all
    /// accepted paths, so its k paths need not be the shortest; asked for more paths than there are, it finds all.
    #[test]
    fn yen_agrees_with_the_crate_pathfinding(net in sparse_graph(), k in 1usize..60, rotation: u32) {
        const ALL: usize = 3000;
        let successors = |v: &u32| net.neighbours(NodeId(*v)).map(|w| (w.0, 1u32)).collect::<Vec<_>>();
        let other = pathfinding::prelude::yen(&0u32, successors, |v| *v == 1, ALL);
        prop_assume!(other.len() < ALL);
        let mut theirs: Vec<usize> = other.iter().map(|(_, cost)| *cost as usize).collect();
        theirs.sort_unstable();
        theirs.truncate(k);
        prop_assert_eq!(lengths(&yen(&net, 0, 1, k, u32::MAX, rotation)), theirs);
    }

    #[test]
    fn candidates_are_sound(
        spec in prop::sample::select(vec![
            "torus:4x4", "torus:5x3", "mesh:4x4", "torus:2x2x2", "torus:6", "mesh:5", "torus:3x1x4", "star:6",
        ]),
        pairs in prop::collection::vec((0u32..1000, 0u32..1000), 1..8),
        k in 1usize..40,
        yen: bool,
    ) {
        let net = net(spec);
        let n = net.hosts() as u32;
        let demands: Vec<Demand> =
            pairs.iter().map(|&(a, b)| demand(a % n, b % n, 1)).filter(|d| d.src != d.dst).collect();
        let method = if yen { CandidateMethod::Yen } else { CandidateMethod::Diverse };
        let candidates = Candidates::generate(&net, &demands, k, method).unwrap();
        for (i, d) in demands.iter().enumerate() {
            let paths: Vec<&[LinkId]> = candidates.paths(i).collect();
            prop_assert!((1..=k).contains(&paths.len()));
            prop_assert!(paths.windows(2).all(|w| w[0].len() <= w[1].len()));
            prop_assert_eq!(paths.iter().collect::<BTreeSet<_>>().len(), paths.len());
            let mut own = Vec::new();
            net.route(d.src, d.dst, &mut own).unwrap();
            prop_assert!(paths.contains(&own.as_slice()));
            for path in paths {
                check_path(&net, d.src, d.dst, path);
                let stops = legs::stops(&net, path).unwrap();
                prop_assert!(legs::check(&net, path, &stops));
                let longest = if yen { net.diameter() } else { net.distance(d.src, d.dst) + MAX_DETOUR };
                prop_assert!(path.len() as u32 <= longest);
            }
        }
    }
}

#[test]
fn yen_by_hand() {
    // A ring of five: two ways round, 2 and 3 hops; the longer one is beyond the diameter.
    let ring = net("torus:5");
    assert_eq!(lengths(&yen(&ring, 0, 2, 9, 9, 0)), [2, 3]);
    assert_eq!(lengths(&yen(&ring, 0, 2, 9, ring.diameter(), 0)), [2]);
    // From corner to corner of a 3x3 mesh: 6 shortest paths of 4 hops, then 4 of 6 hops and 2 of 8.
    let mesh = net("mesh:3x3");
    assert_eq!(lengths(&yen(&mesh, 0, 8, 99, 99, 3)), [4, 4, 4, 4, 4, 4, 6, 6, 6, 6, 8, 8]);
    // No path, and the order of ports turned round.
    assert!(yen(&graph(3, &[(0, 1, 1.0)]), 0, 2, 5, 9, 0).is_empty());
    let [a, b] = [0, 1].map(|rotation| yen(&mesh, 0, 8, 1, 99, rotation)[0][0]);
    assert_ne!(a, b);
}

#[test]
fn diverse_paths_use_every_pair_of_ports() {
    // From the middle of nowhere to far away in a large torus all 6 x 6 pairs of ports give a path.
    let net = net("torus:8x8x8");
    let d = [demand(0, 8 * 8 * 3 + 8 * 3 + 3, 1)];
    let candidates = Candidates::generate(&net, &d, 36, CandidateMethod::Auto).unwrap();
    assert_eq!(candidates.method(), CandidateMethod::Diverse);
    let ports: BTreeSet<_> = candidates.paths(0).map(|p| (p[0], p[p.len() - 1])).collect();
    assert_eq!(ports.len(), 36);
    let lengths: BTreeSet<usize> = candidates.paths(0).map(<[_]>::len).collect();
    assert_eq!(lengths, BTreeSet::from([9, 11, 13]));
}

#[test]
fn candidates_do_not_depend_on_the_other_demands() {
    let net = net("torus:4x4x4");
    let all = demands::parse("pattern:random,count=40", &net, 1).unwrap();
    for method in [CandidateMethod::Yen, CandidateMethod::Diverse] {
        let together = Candidates::generate(&net, &all, 10, method).unwrap();
        for (i, d) in all.iter().enumerate() {
            let alone = Candidates::generate(&net, &[*d], 10, method).unwrap();
            assert!(together.paths(i).eq(alone.paths(0)));
        }
    }
}

fn text(net: &Network, candidates: &Candidates) -> String {
    let mut out = Vec::new();
    file::write_to(&mut out, net, candidates).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn path_files_round_trip() {
    for (spec, method) in [("torus:4x4", CandidateMethod::Diverse), ("star:5", CandidateMethod::Yen)] {
        let net = net(spec);
        let all = demands::parse("pattern:alltoall", &net, 1).unwrap();
        let candidates = Candidates::generate(&net, &all, 7, method).unwrap();
        let written = text(&net, &candidates);
        let read = file::read_from("paths.txt", written.as_bytes(), &net).unwrap();
        assert_eq!(text(&net, &read), written);
        // Any demands among the pairs are served, in any order; others are refused by name.
        let some = [all[5], all[0], all[5]];
        let served = read.clone().for_demands(&net, &some).unwrap();
        assert!(served.paths(0).eq(candidates.paths(5)) && served.paths(1).eq(candidates.paths(0)));
        let one = Candidates::generate(&net, &all[..1], 7, method).unwrap();
        assert!(matches!(one.for_demands(&net, &some), Err(PlanError::Uncovered { demand: 0, .. })));
    }
}

#[test]
fn path_files_are_refused_by_line() {
    let ring = net("torus:4");
    let head = format!("optiq-paths 1\nnetwork {}\nmethod yen\nk 2\n", ring.fingerprint());
    let read = |body: &str| file::read_from("p", format!("{head}{body}").as_bytes(), &ring).map_err(|e| e.to_string());
    assert_eq!(read("# nothing\n\njob 0 2 # both ways\npath 0 1 2\npath 0 3 2").unwrap().paths(0).len(), 2);
    for (body, message) in [
        ("job 0 2\npath 0 2", "p:6: the network has no link from 0 to 2"),
        ("job 0 2\npath 0 1", "p:6: the path does not lead from 0 to 2"),
        ("job 0 2\npath 0 1 0 1 2", "p:6: the path passes 0 twice"),
        ("path 0 1", "p:5: a path is given before the first job"),
        ("job 0 2\njob 0 1\n", "p:6: the job 0 2 has no path"),
        ("job 0 2\n", "p:6: the job 0 2 has no path"),
        ("job 0 2\npath 0 1 2\njob 0 2", "p:7: the job 0 2 is given twice"),
        ("job 0 0", "p:5: a job is from one host to another"),
        ("job 0", "p:5: a job has 1 numbers; source and destination are expected"),
        ("job 0 4", "p:5: \"4\" is not a vertex; a number from 0 to 3 is expected"),
        ("jobs 0 1", "p:5: \"jobs\" is found where job or path is expected"),
        ("job 0 1\npath 0 1\npath 0 1\npath 0 1", "p:8: the job has more than k = 2 paths"),
    ] {
        assert_eq!(read(body).unwrap_err(), message);
    }
    let read = |text: &str| file::read_from("p", text.as_bytes(), &ring).unwrap_err();
    assert_eq!(read("").to_string(), "p:1: the file is empty; \"optiq-paths 1\" is expected");
    assert!(read("optiq-paths 2").to_string().starts_with("p:1: \"optiq-paths 2\" is found"));
    assert!(read("optiq-paths 1\nk 3").to_string().starts_with("p:2: the header line \"network ...\""));
    let other = head.replace(&ring.fingerprint().to_string(), &net("torus:5").fingerprint().to_string());
    assert!(matches!(read(&other), PathFileError::OtherNetwork { .. }));
    assert!(matches!(read(&head.replace("k 2", "k 0")), PathFileError::Line { line: 4, .. }));
    assert!(matches!(read(&head.replace("yen", "auto")), PathFileError::Line { line: 3, .. }));
}

#[test]
fn legs_by_hand() {
    // Dimension order, first dimension first: from 0 = (0,0) to 5 = (1,1) the fabric goes by 4 = (1,0).
    let net = net("torus:4x4");
    let path = |nodes: &[u32]| -> Vec<LinkId> {
        nodes.windows(2).map(|w| net.link_between(NodeId(w[0]), NodeId(w[1])).unwrap()).collect()
    };
    let stops = |nodes: &[u32]| legs::stops(&net, &path(nodes)).unwrap().iter().map(|n| n.0).collect::<Vec<_>>();
    assert_eq!(stops(&[0, 4, 5]), [0, 5]);
    assert_eq!(stops(&[0, 1, 5]), [0, 1, 5]);
    // Three of four steps round a ring: never one leg; two at most are one.
    assert_eq!(stops(&[0, 1, 2, 3]).len(), 3);
    assert!(!legs::check(&net, &path(&[0, 1, 5]), &[NodeId(0), NodeId(5)]));
    assert!(legs::check(&net, &path(&[0, 1, 5]), &[NodeId(0), NodeId(1), NodeId(5)]));
    assert!(!legs::check(&net, &path(&[0, 1, 5]), &[NodeId(0), NodeId(4), NodeId(5)]));
    assert!(legs::every_path_has_legs(&net));
    let star = common::net("star:3");
    assert!(!legs::every_path_has_legs(&star));
    let mut route = Vec::new();
    star.route(NodeId(0), NodeId(2), &mut route).unwrap();
    assert_eq!(legs::stops(&star, &route), Some(vec![NodeId(0), NodeId(2)]));
    assert_eq!(legs::stops(&star, &route[..1]), None, "it ends at the switch");
    assert_eq!(legs::stops(&star, &[]), None);
    assert_eq!(legs::stops(&star, &[LinkId(99)]), None);
}

/// Tori with even, odd and shortest rings, under every fixed dimension order and tie rule.
fn any_torus() -> impl Strategy<Value = Network> {
    let shape = prop::collection::vec(1u32..7, 1..5).prop_filter("size", |dims| {
        let nodes: u32 = dims.iter().product();
        (2..400).contains(&nodes)
    });
    let ties = prop::sample::select(vec![Ties::Positive, Ties::SumParity, Ties::OwnParity, Ties::FirstSumThenOwn]);
    (shape, ties, any::<u64>(), 0u8..6).prop_map(|(dims, ties, shuffle, zone)| {
        let spec = dims.iter().map(u32::to_string).collect::<Vec<_>>().join("x");
        let mut order: Vec<u8> = (0..dims.len() as u8).collect();
        let mut random = SplitMix64::new(shuffle);
        (1..order.len()).rev().for_each(|i| order.swap(i, random.below(i as u64 + 1) as usize));
        let routing = match zone {
            2 | 3 => Routing::Zone(Zone::new(zone, 0).unwrap()),
            _ => Routing::DimensionOrder(DimensionOrder::new(order, ties).unwrap()),
        };
        net(&format!("torus:{spec}")).with_routing(routing).unwrap()
    })
}

/// The fewest legs by dynamic programming over all stretches, each compared with the fabric's own route.
fn fewest_legs(net: &Network, links: &[LinkId]) -> usize {
    let nodes = legs::nodes(net, links).unwrap();
    let mut fewest = vec![0; nodes.len()];
    for j in 1..nodes.len() {
        let leg = |i: &usize| {
            let mut route = Vec::new();
            net.route(nodes[*i], nodes[j], &mut route).unwrap();
            route == links[*i..j]
        };
        fewest[j] = (0..j).filter(leg).map(|i| fewest[i] + 1).min().unwrap();
    }
    fewest[links.len()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Cutting by levels finds as few legs as trying everything; a random walk, or one that goes straight often
    /// enough to meet ties.
    #[test]
    fn legs_are_the_fewest(net in any_torus(), start: u32, walk in prop::collection::vec((any::<u32>(), 1u32..5), 1..8)) {
        let mut at = NodeId(start % net.hosts() as u32);
        let mut links = Vec::new();
        for (port, steps) in walk {
            let ports = net.out_range(at).len() as u32;
            let chosen = net.ports().unwrap().of_link(LinkId(net.out_range(at).start + port % ports));
            for _ in 0..steps {
                let exit = net.ports().unwrap().exit(at, usize::from(chosen)).unwrap();
                links.push(exit.link);
                at = exit.to;
            }
        }
        let stops = legs::stops(&net, &links).unwrap();
        prop_assert_eq!(stops.len() - 1, fewest_legs(&net, &links));
        // A random walk may pass a stop twice, and then `check` takes the first time; without that, they agree.
        let nodes = legs::nodes(&net, &links).unwrap();
        if nodes.iter().collect::<BTreeSet<_>>().len() == nodes.len() {
            prop_assert!(legs::check(&net, &links, &stops));
            if stops.len() > 2 {
                let fewer: Vec<NodeId> = stops.iter().copied().filter(|&s| s != stops[1]).collect();
                prop_assert!(!legs::check(&net, &links, &fewer), "a leg too long");
            }
        }
    }

    /// Templates, walked from wherever a pair is: chains without loops, different from each other, not too long, with
    /// the fabric's own route for this pair among them, and the same one by one as all together.
    #[test]
    fn templates_are_sound(net in any_torus(), pairs in prop::collection::vec((any::<u32>(), any::<u32>()), 1..20), k in 1usize..150) {
        let n = net.hosts() as u32;
        let demands: Vec<Demand> =
            pairs.iter().map(|&(a, b)| demand(a % n, b % n, 1)).filter(|d| d.src != d.dst).collect();
        let candidates = Candidates::generate(&net, &demands, k, CandidateMethod::Diverse).unwrap();
        let mut buffer = PathBuffer::new();
        for (i, d) in demands.iter().enumerate() {
            buffer.clear();
            candidates.expand(i, &mut buffer);
            prop_assert_eq!(buffer.len(), candidates.count(i));
            prop_assert!(buffer.len() <= k && buffer.iter().eq(candidates.paths(i)));
            prop_assert_eq!(buffer.iter().collect::<BTreeSet<_>>().len(), buffer.len());
            prop_assert!(buffer.ends().windows(3).all(|w| w[1] - w[0] <= w[2] - w[1]));
            let mut own = Vec::new();
            net.route(d.src, d.dst, &mut own).unwrap();
            prop_assert!(buffer.iter().any(|path| path == own));
            for path in buffer.iter() {
                check_path(&net, d.src, d.dst, path);
                prop_assert!(path.len() as u32 <= net.distance(d.src, d.dst) + MAX_DETOUR);
            }
        }
    }
}

#[test]
fn templates_are_shared_and_threads_change_nothing() {
    // Distances 0 to 2 in four rings of four and 0 or 1 in the ring of two, without 0 everywhere: 161; four templates
    // each, of at most 20 paths.
    let net = net("bgq:512");
    let all = demands::parse("pattern:random,count=6000", &net, 1).unwrap();
    let candidates = Candidates::generate(&net, &all, 20, CandidateMethod::Auto).unwrap();
    assert!(candidates.kept_paths() <= 161 * 4 * 20, "{}", candidates.kept_paths());
    // The paths of 6,000 demands are made on two threads, those of a few demands on one.
    for part in [0..3, 2998..3003, 5990..6000] {
        let few = Candidates::generate(&net, &all[part.clone()], 20, CandidateMethod::Auto).unwrap();
        for (i, of_all) in part.enumerate() {
            assert!(few.paths(i).eq(candidates.paths(of_all)));
        }
    }
    // Meshes have explicit paths; there, too.
    let mesh = common::net("mesh:8x8x8");
    let all = demands::parse("pattern:random,count=600", &mesh, 1).unwrap();
    let candidates = Candidates::generate(&mesh, &all, 20, CandidateMethod::Auto).unwrap();
    for i in [0, 299, 300, 301, 599] {
        let one = Candidates::generate(&mesh, &all[i..=i], 20, CandidateMethod::Auto).unwrap();
        assert!(one.paths(0).eq(candidates.paths(i)));
    }
}

/// Priced candidates are few and enough: any planner over at most `k` of them can do what `optimal` does, where that uses no more.
#[test]
fn priced_candidates_carry_what_is_optimal() {
    // By hand: hosts 0 to 3 of the 4x4 torus, a whole ring, send 2 MiB each, and 2 links of each leave the ring: 1 MiB on each link.
    // On a star nothing is to be chosen.
    for (spec, pattern, k, optimum) in [
        ("torus:4x4", "pattern:disjoint", 8, (1 << 20) as f64),
        ("star:5", "pattern:alltoall", 2, 4.0 * (1 << 20) as f64),
    ] {
        let net = net(spec);
        let all = demands::parse(pattern, &net, 1 << 20).unwrap();
        let found = pipeline::candidates(&net, &all, k, CandidateMethod::Priced).unwrap();
        assert_eq!((found.method(), found.k()), (CandidateMethod::Priced, k));
        for (i, d) in all.iter().enumerate() {
            let paths: Vec<&[LinkId]> = found.paths(i).collect();
            assert!((1..=k).contains(&paths.len()));
            let mut own = Vec::new();
            net.route(d.src, d.dst, &mut own).unwrap();
            assert!(paths.contains(&own.as_slice()));
            for path in paths {
                check_path(&net, d.src, d.dst, path);
            }
        }
        let options = PlanOptions { method: CandidateMethod::Priced, k: Some(k), ..PlanOptions::default() };
        let planned = pipeline::run(&net, &all, &options).unwrap();
        assert!(planned.report.bytes_per_link_max <= optimum * 1.02, "{spec}: {}", planned.report.bytes_per_link_max);
        #[cfg(feature = "highs")]
        {
            let options = PlanOptions { planner: optiq_solver::PlannerName::LinearProgram, ..options };
            let worst = pipeline::run(&net, &all, &options).unwrap().report.bytes_per_link_max;
            assert!((optimum..=optimum * 1.02).contains(&worst), "{spec}: {worst}");
        }
    }
    let net = net("torus:4x4");
    let all = demands::parse("pattern:disjoint", &net, 1).unwrap();
    let refused = Candidates::generate(&net, &all, 4, CandidateMethod::Priced).unwrap_err();
    assert_eq!(refused, PlanError::PricedWithoutPlan);
    // Without bytes there is nothing to price: the fabric's own routes.
    let empty: Vec<Demand> = all.iter().map(|d| Demand { bytes: 0, ..*d }).collect();
    let found = pipeline::candidates(&net, &empty, 4, CandidateMethod::Priced).unwrap();
    assert!((0..empty.len()).all(|i| found.count(i) == 1));
    // And they are kept in a file as others are.
    let found = pipeline::candidates(&net, &all, 4, CandidateMethod::Priced).unwrap();
    let again = file::read_from("p", text(&net, &found).as_bytes(), &net).unwrap();
    assert_eq!(again.method(), CandidateMethod::Priced);
    assert!((0..all.len()).all(|i| again.paths(i).eq(found.paths(i))));
}

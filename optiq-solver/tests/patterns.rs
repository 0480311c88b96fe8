//! The built-in patterns against their definitions, and demand texts that are refused.
// Helpers outside of #[test] functions unwrap, too.
#![allow(clippy::unwrap_used)]

mod common;
use common::net;
use optiq_solver::Demand;
use optiq_solver::demands::{self, fingerprint};
use std::collections::BTreeSet;

fn pairs(spec: &str, text: &str) -> Vec<(u32, u32)> {
    let all = demands::parse(text, &net(spec), 5).unwrap();
    assert!(all.iter().all(|d| d.bytes == 5));
    all.iter().map(|d| (d.src.0, d.dst.0)).collect()
}

/// Source `i` to `start + 8 i ..` for 1,024 hosts: 64 sources, 8 destinations each.
fn thesis(start: u32) -> Vec<(u32, u32)> {
    let all = (0..64).flat_map(|i| (0..8).map(move |j| (i, start + 8 * i + j)));
    all.filter(|(a, b)| a != b).collect()
}

#[test]
fn the_published_patterns() {
    assert_eq!(pairs("bgq:1024", "pattern:disjoint"), thesis(512));
    assert_eq!(pairs("bgq:1024", "pattern:overlap"), thesis(32));
    assert_eq!(pairs("bgq:1024", "pattern:subset"), thesis(0));
    assert_eq!(pairs("bgq:1024", "pattern:subset").len(), 511, "node 0 to itself is left out");
}

#[test]
fn scaled_to_small_networks() {
    let disjoint = [(0, 8), (0, 9), (1, 10), (1, 11), (2, 12), (2, 13), (3, 14), (3, 15)];
    assert_eq!(pairs("torus:4x4", "pattern:disjoint"), disjoint);
    assert_eq!(pairs("torus:4x4", "pattern:overlap")[..3], [(0, 2), (0, 3), (1, 4)]);
    assert_eq!(pairs("torus:4x4", "pattern:subset")[..3], [(0, 1), (1, 2), (1, 3)]);
    assert_eq!(pairs("mesh:2", "pattern:disjoint"), [(0, 1)]);
    assert_eq!(pairs("mesh:1", "pattern:disjoint"), []);
    assert_eq!(pairs("torus:4x4", "pattern:disjoint,sources=1,destinations=2"), [(0, 8), (0, 9)]);
    assert_eq!(pairs("mesh:3", "pattern:alltoall"), [(0, 1), (0, 2), (1, 0), (1, 2), (2, 0), (2, 1)]);
}

#[test]
fn random_is_repeatable_and_within_its_sizes() {
    let net = net("torus:4x4");
    let parse = |text: &str| demands::parse(text, &net, 7).unwrap();
    let a = parse("pattern:random,count=500,seed=3,min=64KiB,max=8MiB");
    assert_eq!(a, parse("pattern:random,seed=3,count=500,min=65536,max=8388608"));
    assert_ne!(a, parse("pattern:random,count=500,seed=4,min=64KiB,max=8MiB"));
    assert!(a.iter().all(|d| d.src != d.dst && (65_536..=8_388_608).contains(&d.bytes)));
    assert_eq!(a.iter().map(|d| d.dst).collect::<BTreeSet<_>>().len(), 16);
    assert!(parse("pattern:random").iter().all(|d| d.bytes == 7));
    assert_eq!(parse("pattern:random").len(), 16);
    assert_ne!(fingerprint(&a), fingerprint(&a[1..]));
}

#[test]
fn classes_of_patterns() {
    let net = net("torus:4x4");
    let parse = |text: &str| demands::parse(text, &net, 7).unwrap();
    for pattern in ["disjoint", "overlap", "subset", "alltoall", "random"] {
        let (plain, urgent) = (parse(&format!("pattern:{pattern}")), parse(&format!("pattern:{pattern},class=3")));
        assert!(plain.iter().all(|d| d.class == 0) && urgent.iter().all(|d| d.class == 3));
        assert_ne!(fingerprint(&plain), fingerprint(&urgent));
        assert_eq!(plain, urgent.into_iter().map(|d| Demand { class: 0, ..d }).collect::<Vec<_>>());
    }
    let random = parse("pattern:random,count=300,classes=3");
    let of = |class: u8| random.iter().filter(|d| d.class == class).count();
    assert_eq!(of(0) + of(1) + of(2), 300);
    // 100 expected of each; the standard deviation is 8.
    assert!((0..3).all(|class| (60..140).contains(&of(class))), "{} {} {}", of(0), of(1), of(2));
    let without: Vec<Demand> = random.into_iter().map(|d| Demand { class: 0, ..d }).collect();
    assert_eq!(without, parse("pattern:random,count=300"));
}

#[test]
fn what_is_refused_and_how() {
    let net = net("torus:4x4");
    let refused = |text: &str| demands::parse(text, &net, 1).unwrap_err().to_string();
    for (text, message) in [
        ("disjoint", "demands \"disjoint\" are not understood; expected pattern:NAME[,KEY=VALUE...] or file:PATH"),
        ("pattern:ring", "demand pattern \"ring\": the patterns are disjoint, overlap, subset, alltoall and random"),
        ("pattern:alltoall,k=1", "demand pattern \"alltoall,k=1\": alltoall has no key \"k\"; its one key is class"),
        (
            "pattern:disjoint,seed=1",
            "demand pattern \"disjoint,seed=1\": disjoint has no key \"seed\"; its keys are sources, destinations, class",
        ),
        ("pattern:random,seed", "demand pattern \"random,seed\": \"seed\" is not of the form KEY=VALUE"),
        ("pattern:random,seed=1,seed=2", "demand pattern \"random,seed=1,seed=2\": \"seed\" is given twice"),
        ("pattern:subset,sources=0", "demand pattern \"subset,sources=0\": sources=0: at least 1 is expected"),
        ("pattern:random,count=x", "demand pattern \"random,count=x\": count=x: a whole number is expected"),
        (
            "pattern:random,min=9,max=8",
            "demand pattern \"random,min=9,max=8\": min is 9 bytes, more than max, which is 8",
        ),
        (
            "pattern:random,count=99999999",
            "demand pattern \"random,count=99999999\": count=99999999: at most 16777216 demands are allowed",
        ),
        (
            "pattern:subset,class=256",
            "demand pattern \"subset,class=256\": class=256: a whole number from 0 to 255 is expected",
        ),
        (
            "pattern:random,classes=0",
            "demand pattern \"random,classes=0\": classes=0: from 1 to 256 classes are possible",
        ),
        (
            "pattern:random,class=1,classes=2",
            "demand pattern \"random,class=1,classes=2\": class and classes are both given; one or the other is expected",
        ),
    ] {
        assert_eq!(refused(text), message);
    }
    assert!(refused("pattern:disjoint,sources=9").contains("need more than the network's 16 hosts"));
    let huge = format!("pattern:disjoint,sources={},destinations={}", u64::MAX, u64::MAX);
    assert!(refused(&huge).contains("need more than"));
    assert!(refused("file:no/such").starts_with("demand file no/such cannot be read: "));
}

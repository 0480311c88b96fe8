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
fn couplings_have_the_counts_they_were_asked_for() {
    let net = net("bgq:512");
    let parse = |text: &str| demands::parse(text, &net, 100).unwrap();
    let text = "pattern:coupling,from=0-447,to=400-511,pairs=502,messages=2001,ranks=4,points=26";
    let demands = parse(text);
    let pairs: BTreeSet<(u32, u32)> = demands.iter().map(|d| (d.src.0, d.dst.0)).collect();
    assert_eq!((demands.len(), pairs.len()), (502, 502));
    assert!(pairs.iter().all(|&(a, b)| a <= 447 && (400..=511).contains(&b) && a != b));
    assert!(demands.iter().all(|d| d.bytes % 100 == 0 && (1..=16 * 26).contains(&(d.bytes / 100))));
    // 2,001 messages of 13.5 points on average; the standard deviation of the sum is 336.
    let points: u64 = demands.iter().map(|d| d.bytes / 100).sum();
    assert!((25_700..28_400).contains(&points), "{points}");
    assert_eq!(demands, parse(text));
    assert_ne!(demands, parse(&format!("{text},seed=2")));
    // All pairs of different hosts of two ranges that overlap: 3 x 3, less hosts 1 and 2 to themselves.
    let all = parse("pattern:coupling,from=0-2,to=1-3,pairs=7,class=2");
    let all: Vec<_> = all.iter().map(|d| (d.src.0, d.dst.0, d.bytes, d.class)).collect();
    let expected = [(0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 1), (2, 3)].map(|(a, b)| (a, b, 100, 2));
    assert_eq!(all, expected);
    // Every rank to every rank: all pairs are full.
    let full = parse("pattern:coupling,from=0,to=1-2,pairs=2,ranks=3,messages=18");
    assert!(full.iter().all(|d| d.bytes == 9 * 100));
}

#[test]
fn all_hosts_send_to_their_io_hosts() {
    let torus = net("torus:4x4,io=0+10");
    let demands = demands::parse("pattern:aggregate", &torus, 7).unwrap();
    assert_eq!(demands.len(), 14, "I/O hosts need no network");
    assert!(demands.iter().all(|d| d.bytes == 7 && Some(d.dst) == torus.default_io_host(d.src)));
    let partition = net("bgq:512");
    let hacc = demands::parse("pattern:aggregate,ranks=8,min=700kB,max=800kB", &partition, 1).unwrap();
    let servers: BTreeSet<u32> = hacc.iter().map(|d| d.dst.0).collect();
    assert_eq!(servers, (0..8).map(|i| 64 * i).collect());
    assert_eq!(hacc.len(), 512 - 8);
    assert!(hacc.iter().all(|d| (5_600_000..=6_400_000).contains(&d.bytes)));
    let sizes: BTreeSet<u64> = hacc.iter().map(|d| d.bytes).collect();
    assert!(sizes.len() > 400, "{}", sizes.len());
}

#[test]
fn what_is_refused_and_how() {
    let net = net("torus:4x4");
    let refused = |text: &str| demands::parse(text, &net, 1).unwrap_err().to_string();
    for (text, message) in [
        ("disjoint", "demands \"disjoint\" are not understood; expected pattern:NAME[,KEY=VALUE...] or file:PATH"),
        (
            "pattern:ring",
            "demand pattern \"ring\": the patterns are disjoint, overlap, subset, alltoall, random, coupling and aggregate",
        ),
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
    for (pattern, problem) in [
        ("aggregate", "the topology marks no I/O hosts; add io=HOST+HOST to it"),
        ("coupling,from=3-1", "from=3-1: hosts FIRST-LAST from 0-0 to 0-15 are expected"),
        ("coupling,to=0-16", "to=0-16: hosts FIRST-LAST from 0-0 to 0-15 are expected"),
        ("coupling,to=all", "to=all: hosts FIRST-LAST are expected, such as 0-127"),
        ("coupling,from=0,to=0", "pairs=16: the two ranges have 0 pairs of different hosts"),
        ("coupling,pairs=2,ranks=2,messages=9", "messages=9: from 2 to 8 are possible for 2 pairs of hosts"),
        ("coupling,pairs=2,messages=1", "messages=1: from 2 to 2 are possible for 2 pairs of hosts"),
        ("coupling,points=18446744073709551615", "there may be more bytes than 64 bits hold"),
    ] {
        assert_eq!(refused(&format!("pattern:{pattern}")), format!("demand pattern \"{pattern}\": {problem}"));
    }
    assert!(refused("pattern:disjoint,sources=9").contains("need more than the network's 16 hosts"));
    let huge = format!("pattern:disjoint,sources={},destinations={}", u64::MAX, u64::MAX);
    assert!(refused(&huge).contains("need more than"));
    assert!(refused("file:no/such").starts_with("demand file no/such cannot be read: "));
}

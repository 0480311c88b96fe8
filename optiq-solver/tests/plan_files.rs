//! Plans in files: round trips, the same bytes always, and everything that is refused.
// Helpers outside of #[test] functions unwrap, too.
#![allow(clippy::unwrap_used)]

mod common;
use common::*;
use optiq_solver::{CodecError, Plan, demands};
use proptest::prelude::*;
use std::path::PathBuf;

fn example() -> (optiq_net::Network, Plan) {
    let net = net("torus:4x4");
    let demands = demands::parse("pattern:disjoint", &net, 1_000_003).unwrap();
    let plan = plan(&net, &demands, "heu2").plan;
    (net, plan)
}

/// A directory of this test run's own.
fn directory(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("optiq-solver-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    dir
}

#[test]
fn round_trips_and_is_the_same_every_time() {
    let net = net("torus:4x4");
    let demands = demands::parse("pattern:random,count=30,min=1,max=1MiB,classes=3", &net, 1).unwrap();
    assert!(demands.iter().any(|d| d.class == 2));
    for planner in planners() {
        let plan = common::plan(&net, &demands, planner).plan;
        let again = common::plan(&common::net("torus:4x4"), &demands, planner).plan;
        let (bytes, json) = (plan.to_bytes().unwrap(), plan.to_json().unwrap());
        assert_eq!(bytes, again.to_bytes().unwrap(), "{planner}");
        assert_eq!(json, again.to_json().unwrap(), "{planner}");
        assert_eq!(Plan::from_bytes(&bytes, &net).unwrap(), plan);
        assert_eq!(Plan::from_json(&json, &net).unwrap(), plan);
    }
}

#[test]
fn files_are_whole_or_not_there() {
    let (net, plan) = example();
    let dir = directory("files");
    for name in ["plan.optiq", "plan.json"] {
        let path = dir.join(name);
        plan.save(&path).unwrap();
        plan.save(&path).unwrap();
        assert_eq!(Plan::load(&path, &net).unwrap(), plan);
        assert_eq!(std::fs::read(&path).unwrap()[0] == b'{', name == "plan.json");
    }
    assert!(plan.save(&dir.join("no/such/directory/plan")).is_err());
    // A directory in the place of the file: the rename fails, and the temporary file is removed.
    std::fs::create_dir_all(dir.join("taken/x")).unwrap();
    assert!(plan.save(&dir.join("taken")).is_err());
    let left: Vec<_> = std::fs::read_dir(&dir).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(left.len(), 3, "{left:?}");
    let missing = Plan::load(&dir.join("missing"), &net).unwrap_err().to_string();
    assert!(missing.starts_with("plan ") && missing.contains("missing: "));
    std::fs::remove_dir_all(dir).unwrap();
}

#[test]
fn every_refusal_has_its_own_sentence() {
    let (net, plan) = example();
    let bytes = plan.to_bytes().unwrap();
    let refused = |bytes: &[u8]| Plan::from_bytes(bytes, &net).unwrap_err();
    assert_eq!(refused(b""), CodecError::NotAPlan);
    assert_eq!(refused(b"ELF"), CodecError::NotAPlan);
    assert_eq!(refused(&bytes[..5]), CodecError::CutOff { found: 5, expected: 64 });
    let expected = bytes.len() as u64;
    assert_eq!(refused(&bytes[..100]), CodecError::CutOff { found: 100, expected });
    assert_eq!(refused(&[bytes.as_slice(), b"x"].concat()), CodecError::Trailing(1));
    let with = |at: usize, byte: u8| {
        let mut b = bytes.clone();
        b[at] = byte;
        refused(&b)
    };
    assert_eq!(with(8, 9), CodecError::OtherVersion { found: 9, expected: 2 });
    // What builds before classes wrote.
    assert_eq!(with(8, 1), CodecError::OtherVersion { found: 1, expected: 2 });
    assert_eq!(with(8, 1).to_string(), "it is a plan of version 1; this build reads version 2");
    assert_eq!(with(12, 3), CodecError::OtherCodec(3));
    assert_eq!(with(80, !bytes[80]), CodecError::Damaged);
    assert!(matches!(Plan::from_bytes(&bytes, &common::net("torus:2x8")), Err(CodecError::OtherNetwork { .. })));

    let json = plan.to_json().unwrap();
    let refused = |text: &str| Plan::from_json(text, &net).unwrap_err();
    assert_eq!(refused("{}"), CodecError::NotAPlan);
    assert!(matches!(refused(&json[..json.len() / 2]), CodecError::Malformed(_)));
    let other = json.replace("\"version\": 2", "\"version\": 7");
    assert_eq!(refused(&other), CodecError::OtherVersion { found: 7, expected: 2 });
    assert_eq!(refused(&json.replace("\"bytes\": 1000003", "\"bytes\": 1000004")), CodecError::Damaged);
    let there = Plan::from_json(&json, &common::net("torus:2x8"));
    assert!(matches!(there, Err(CodecError::OtherNetwork { .. })));
}

#[test]
fn plans_that_do_not_hold_are_refused_even_with_a_right_checksum() {
    let (net, good) = example();
    let broken = |what: &str, f: &dyn Fn(&mut Plan)| {
        let mut plan = good.clone();
        f(&mut plan);
        let read = Plan::from_bytes(&plan.to_bytes().unwrap(), &net);
        match read {
            Err(CodecError::Unsound(why)) => assert!(why.contains(what), "{why}"),
            other => panic!("{what}: {other:?}"),
        }
    };
    broken("carry", &|p| p.flows[0][0].bytes += 1);
    broken("carry", &|p| p.flows[0].clear());
    broken("no bytes", &|p| p.flows[0][0].bytes = 0);
    broken("chain", &|p| p.flows[0][0].links.swap(0, 1));
    broken("chain", &|p| p.flows[0][0].links[0].0 = u32::MAX);
    broken("chain", &|p| p.flows[0][0].links.clear());
    broken("lead", &|p| {
        p.flows[0][0].links.pop();
    });
    broken("stops", &|p| p.flows[0][0].stops.clear());
    broken("stops", &|p| p.flows[0][0].stops.insert(1, optiq_net::NodeId(u32::MAX)));
    broken("fingerprint", &|p| p.demands[0].bytes += 1);
    broken("fingerprint", &|p| p.demands.swap(0, 1));
    broken("fingerprint", &|p| p.demands[0].class = 1);
    broken("host", &|p| p.demands[0].src.0 = 99);
    broken("the congestion is stated", &|p| p.congestion_seconds *= 2.0);
    broken("direct congestion", &|p| p.direct_congestion_seconds = f64::NAN);
    broken("bound", &|p| p.bound_seconds = -1.0);
    broken("bound", &|p| p.bound_seconds = p.congestion_seconds * 1.01);
    broken("twice", &|p| {
        // Back and forth on the first link before the path proper.
        let links = &mut p.flows[0][0].links;
        let net = common::net("torus:4x4");
        let first = *net.link(links[0]);
        let back = net.link_between(first.to, first.from).unwrap();
        let there = links[0];
        links.splice(0..0, [there, back]);
    });
}

proptest! {
    #[test]
    fn damaged_binary_plans_are_refused(at in 0usize..10_000, flip in 1u8..=255, cut in 0usize..10_000) {
        let (net, plan) = example();
        let bytes = plan.to_bytes().unwrap();
        let mut damaged = bytes.clone();
        damaged[at % bytes.len()] ^= flip;
        prop_assert!(Plan::from_bytes(&damaged, &net).is_err());
        prop_assert!(Plan::from_bytes(&bytes[..cut % bytes.len()], &net).is_err());
    }

    #[test]
    fn damaged_json_plans_are_refused_or_the_same(at in 0usize..100_000, byte in 0u8..128, cut in 0usize..100_000) {
        let (net, plan) = example();
        let json = plan.to_json().unwrap();
        let mut damaged = json.clone().into_bytes();
        damaged[at % json.len()] = byte;
        // White space may change without changing the plan.
        if let Ok(read) = Plan::from_json(std::str::from_utf8(&damaged).unwrap(), &net) {
            prop_assert_eq!(read, plan);
        }
        prop_assert!(Plan::from_json(&json[..cut % (json.len() - 2)], &net).is_err());
    }

    #[test]
    fn noise_is_refused(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        let net = net("torus:4");
        prop_assert!(Plan::from_bytes(&bytes, &net).is_err());
        let framed = [b"OPTIQPLN\x02\0\0\0\x01\0\0\0".as_slice(), &bytes].concat();
        prop_assert!(Plan::from_bytes(&framed, &net).is_err());
    }
}

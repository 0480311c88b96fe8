//! `optiq postcards join` on files of ranks that were written by hand. Runs under MPI are in tests/postcards.rs, simulations in the
//! book and in optiq-sim/tests/postcards.rs.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod support;

use optiq_trace::postcards::{RankHead, RankOptions, RankRecorder};
use optiq_trace::{Leg, PathId, Rank};
use serde_json::Value;
use support::Folder;

/// Chunks of 10 bytes from rank 0 over rank 1 to rank 2, and back.
fn legs(rank: u32) -> Vec<Leg> {
    let leg = |path, ranks: [u32; 3]| {
        let at = ranks.iter().position(|&r| r == rank).unwrap();
        let from = at.checked_sub(1).map(|before| Rank(ranks[before]));
        let to = ranks.get(at + 1).copied().map(Rank);
        Leg { path: PathId(path), source: Rank(ranks[0]), destination: Rank(ranks[2]), from, to, bytes: 50, chunk: 10 }
    };
    vec![leg(0, [0, 1, 2]), leg(1, [2, 1, 0])]
}

fn written(name: &str) -> Folder {
    let folder = Folder::new(name);
    let recorder = |rank: u32| {
        let head = RankHead { session: 7, rank, ranks: 3, host: format!("n{rank}") };
        let (call_stack, mappings) = ((|_: &mut Vec<u64>| ()) as fn(&mut Vec<u64>), String::new as fn() -> String);
        let options = RankOptions { directory: folder.path("cards"), every: 1, head, call_stack, mappings };
        RankRecorder::create(options).unwrap()
    };
    let mut ranks = [0, 1, 2].map(recorder);
    ranks.iter_mut().zip(0..).for_each(|(recorder, rank)| recorder.begin(legs(rank).into_iter()));
    for sequence in 0..5 {
        for (path, order) in [(PathId(0), [0, 1, 2]), (PathId(1), [2, 1, 0])] {
            for rank in order {
                ranks[rank].received(path, sequence);
                ranks[rank].sends(path, sequence);
            }
        }
    }
    ranks.iter_mut().for_each(RankRecorder::ended);
    folder
}

fn document(folder: &Folder, line: &str) -> Value {
    serde_json::from_str(&folder.succeed(line)).unwrap()
}

#[test]
fn files_of_ranks_are_joined() {
    let folder = written("postcards-ranks");
    let line = "postcards join cards --json --most 10 --report page.html --perfetto paths.perfetto";
    let all = document(&folder, line);
    assert_eq!((&all["paths"], &all["intact_paths"], &all["components"]), (&10.into(), &10.into(), &3.into()));
    assert_eq!((&all["unused_postcards"], &all["notes"]), (&0.into(), &Value::Array(Vec::new())));
    let path = &all["slowest_paths"][0];
    let hops: Vec<&str> = path["hops"].as_array().unwrap().iter().map(|hop| hop["name"].as_str().unwrap()).collect();
    assert!(
        hops == ["rank 0 (n0)", "rank 1 (n1)", "rank 2 (n2)"] || hops == ["rank 2 (n2)", "rank 1 (n1)", "rank 0 (n0)"]
    );
    assert_eq!(all["busiest_components"][0]["kind"], "rank");
    assert!(path["issued"]["line"] == "not known" && path["received"].is_object());
    let page = String::from_utf8(folder.read("page.html")).unwrap();
    assert!(page.contains("rank 1 (n1)"));
    let trace = folder.read("paths.perfetto");
    assert!(trace.windows(11).any(|window| window == b"rank 1 (n1)"));
    // The same files one by one.
    let names = folder.path("cards").read_dir().unwrap().map(|e| e.unwrap().path().display().to_string());
    let one_by_one = document(&folder, &format!("postcards join --json {}", names.collect::<Vec<_>>().join(" ")));
    assert_eq!(one_by_one["intact_paths"], 10);
}

#[test]
fn a_rank_without_a_file_is_a_gap() {
    let folder = written("postcards-gap");
    std::fs::remove_file(folder.path("cards/0000000000000007.1.postcards")).unwrap();
    folder.write("cards/z.postcards", "no postcards");
    let text = folder.succeed("postcards join cards");
    assert!(text.contains("note: no file of 1 of 3 ranks: 1\n"), "{text}");
    assert!(text.contains("note: cards/z.postcards is no trace that can be read: "), "{text}");
    assert!(text.contains("0 intact"), "{text}");
    let twice = folder.path("cards/0000000000000007.0.postcards");
    std::fs::copy(&twice, folder.path("cards/a.postcards")).unwrap();
    let output = folder.run("postcards join cards");
    let error = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && error.contains("are both of rank 0"), "{error}");
}

/// In a lab, where one is possible: chunks over relays, and the routers between them, which know nothing of OPTIQ.
#[cfg(feature = "mpi")]
#[test]
fn chunks_are_followed_through_routers_of_a_lab() {
    let folder = Folder::new("postcards-lab");
    let up =
        folder.run("lab up --name postcards --topology torus:2x2 --rate 100Mbit/s --no-calibration --lifetime 180");
    if !up.status.success() {
        let said = String::from_utf8_lossy(&up.stderr).into_owned();
        assert!(said.contains("namespace") || said.contains("is not installed"), "{said}");
        println!("skipped: {said}");
        return;
    }
    folder.write("demands.txt", "h0 h1 900kB\nh3 h0 600kB\n");
    let program = env!("CARGO_BIN_EXE_optiq");
    let line = format!(
        "lab run --name postcards --taps taps --tap-every 4KiB --timeout 120 -- {program} bench alltoallv --demands file:demands.txt \
         --repetitions 2 --force --json"
    );
    let mut command = folder.command(&line.split_whitespace().collect::<Vec<_>>());
    for (name, value) in [
        ("OPTIQ_PLANNER", "heu2"),
        ("OPTIQ_CHUNK", "64KiB"),
        ("OPTIQ_POSTCARDS", folder.path("cards").to_str().unwrap()),
        ("OPTIQ_POSTCARDS_EVERY", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_mpi_yield_when_idle", "1"),
    ] {
        command.env(name, value);
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.succeed("lab down --name postcards");
    let all = document(&folder, "postcards join cards taps --json --most 1000000");
    let (mut between, mut known, mut relayed) = (0, 0, 0);
    for path in all["slowest_paths"].as_array().unwrap() {
        let name = |end: &Value| end["name"].as_str().unwrap().to_owned();
        let hops: Vec<String> = path["hops"].as_array().unwrap().iter().map(name).collect();
        if !hops[0].starts_with("rank") {
            continue;
        }
        between += hops.len() - 1;
        relayed += usize::from(hops.len() > 2);
        for leg in path["legs"].as_array().into_iter().flatten() {
            let host = |end: &Value| end.as_str().unwrap().split(['(', ')']).nth(1).unwrap().to_owned();
            let through: Vec<&str> = leg["through"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
            assert_eq!(through[0], format!("{}'s router", host(&leg["from"])), "{leg}");
            assert_eq!(through[through.len() - 1], format!("{}'s router", host(&leg["to"])), "{leg}");
            assert_eq!(leg["is_ambiguous"], false, "{leg}");
            known += 1;
        }
    }
    assert!(relayed > 0 && between > 0, "{} paths of {}", all["intact_paths"], all["paths"]);
    // What is left of a path's bytes behind its last whole chunk may be less than what is between two followed bytes.
    assert!(known * 10 >= between * 8, "taps tell {known} of {between} legs");
}

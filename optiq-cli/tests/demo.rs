//! `optiq demo` from end to end on a small lab: every byte right, all figures there, nothing left behind. How fast it
//! is, is not asserted: machines are shared.
#![cfg(feature = "mpi")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::Path;
use std::process::{Command, Output};

fn demo(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_optiq"));
    command.arg("demo").args(arguments);
    for (name, _) in std::env::vars().filter(|(n, _)| n.starts_with("OPTIQ_")) {
        command.env_remove(name);
    }
    // A lab of our own, apart from anybody's demo.
    command.env("XDG_RUNTIME_DIR", env!("CARGO_TARGET_TMPDIR")).output().unwrap()
}

/// Whether this machine lets us have a lab; says so if not.
fn lab_is_possible() -> bool {
    let output =
        demo(&["--topology", "star:2", "--demands", "pattern:alltoall", "--message", "1kB", "--repetitions", "1"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    if !output.status.success() && (said.contains("namespace") || said.contains("is not installed")) {
        println!("skipped: {said}");
        return false;
    }
    assert!(output.status.success(), "{said}");
    true
}

#[test]
fn torus_and_star() {
    if !lab_is_possible() {
        return;
    }
    let directory = Path::new(env!("CARGO_TARGET_TMPDIR")).join("demo");
    let output = directory.to_str().unwrap();
    let common = ["--rate", "200Mbit/s", "--message", "300kB", "--repetitions", "2", "--planner", "heu2", "--json"];
    for (topology, demands, by) in [
        ("torus:2x4", "pattern:disjoint", "paths by planner heu2"),
        // One switch: no other paths can help, and the faster of MPI and OPTIQ's order of direct messages serves.
        ("star:4", "pattern:alltoall", "direct paths in OPTIQ's order"),
    ] {
        let run = demo(&[&["--topology", topology, "--demands", demands, "--output", output][..], &common].concat());
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert!(run.status.success(), "{topology}: {said}");
        let document: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
        assert_eq!(document["verified"], true);
        // Trials measure both, and on a busy machine either may be faster for once.
        let decision = document["decision"].as_str().unwrap();
        assert!(decision.contains(by) || decision.starts_with("MPI_Alltoallv: "), "{topology}: {decision}");
        for side in ["mpi", "optiq"] {
            assert_eq!(document[side]["seconds"].as_array().unwrap().len(), 2);
            let (median, bound) = (&document[side]["median_seconds"], &document[side]["link_bound_seconds"]);
            assert!(median.as_f64().unwrap() > 0.0 && bound.as_f64().unwrap() > 0.0, "{topology}: {document}");
        }
        let page = std::fs::read_to_string(directory.join("link-loads.html")).unwrap();
        assert!(page.contains(topology), "the picture is of another network");
    }
    std::fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn bad_arguments_bring_up_nothing() {
    for (arguments, sentence) in [
        (["--topology", "tours:4"], "tours"),
        (["--planner", "best"], "no planner"),
        (["--rate", "fast"], "fast"),
        (["--demands", "pattern:none"], "none"),
    ] {
        let run = demo(&arguments);
        let said = String::from_utf8_lossy(&run.stderr).into_owned();
        assert_eq!(run.status.code(), Some(2), "{said}");
        assert!(said.starts_with("optiq: ") && said.lines().count() == 1 && said.contains(sentence), "{said}");
    }
}

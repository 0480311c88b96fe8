//! `optiq transfers`: lists of transfers are made, shown and executed under mpirun.
#![cfg(feature = "mpi")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The command, which `cargo test --workspace` builds.
fn optiq() -> PathBuf {
    let program = common::programs().join("optiq");
    assert!(program.is_file(), "{} is not there: test the whole workspace", program.display());
    program
}

fn plain(words: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(optiq()).args(words).env("OPTIQ_CONF", "none").stdin(Stdio::null()).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn file(name: &str) -> String {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name).to_str().unwrap().to_owned()
}

#[test]
fn jobs_are_planned_shown_and_executed() {
    for name in ["planned.jobs", "planned.json"] {
        let path = file(name);
        let words =
            ["transfers", "plan", "--topology", "torus:2x4", "--to", "0,5", "--bytes", "100KB", "--output", &path];
        let (status, planned, error) = plain(&[&words[..], &["--json"]].concat());
        assert_eq!(status, Some(0), "{error}");
        let planned: Value = serde_json::from_str(&planned).unwrap();
        assert_eq!(
            (&planned["transfers"], &planned["ranks"], &planned["bytes"]),
            (&8.into(), &8.into(), &800_000.into())
        );
        let seconds = |key: &str| planned[key].as_f64().unwrap();
        assert!(seconds("bound_seconds") <= seconds("congestion_seconds"));

        let (status, shown, error) = plain(&["jobs", "show", &path, "--rank", "5", "--json"]);
        assert_eq!(status, Some(0), "{error}");
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let ends = |job: &Value| job["source_rank"] == 5 || job["destination_rank"] == 5;
        assert!(shown["transfers"].as_array().unwrap().iter().all(ends), "{shown}");
        // Each goes to the nearer one of both.
        assert_eq!(shown["transfers"].as_array().unwrap().len(), 4);
        assert!(
            plain(&["jobs", "show", &path]).1.contains("8 transfers, 800.00 kB; torus:2x4"),
            "{}",
            plain(&["jobs", "show", &path]).1
        );

        let placed = [("OPTIQ_PLACEMENT", "rank")];
        let run = common::mpirun(8, &optiq(), &["jobs", "run", &path, "--repetitions", "2", "--json"], &placed);
        assert!(run.success, "{}", run.output);
        let mut documents = serde_json::Deserializer::from_str(&run.output).into_iter::<Value>();
        let document = documents.next().unwrap().unwrap();
        assert_eq!((&document["verified"], &document["bytes"]), (&true.into(), &800_000.into()));
        assert!(document["served_by"].as_str().unwrap().contains("paths by planner jobs"), "{document}");
        let bound = document["link_bound_seconds"].as_f64().unwrap();
        assert!((bound / seconds("congestion_seconds") - 1.0).abs() < 1e-9, "{document}");
        assert_eq!(document["seconds"].as_array().unwrap().len(), 2);
    }
}

#[test]
fn what_does_not_fit_is_said_by_one_sentence() {
    let path = file("wrong.jobs");
    let _ = std::fs::remove_file(&path);
    let words = |more: &[&str]| {
        let (status, _, error) = plain(&[&["transfers", "plan", "--output", &path], more].concat());
        assert_eq!((status, error.lines().count()), (Some(2), 1), "{error}");
        error
    };
    assert!(words(&["--topology", "torus:2x2", "--to", "4"]).contains("--to names rank 4; there are 4 ranks"));
    assert!(words(&["--topology", "torus:2x2", "--demands", "pattern:none"]).contains("none"));
    assert!(!Path::new(&path).exists());
    std::fs::write(&path, "optiq-jobs 1\njob 0 9 5\n").unwrap();
    let run = common::mpirun(4, &optiq(), &["jobs", "run", &path], &[]);
    let sentence =
        format!("optiq: rank 0: {path}:2: the job from rank 0 to rank 9: there is no rank 9; there are 4 ranks");
    assert!(!run.success && run.output.contains(&sentence), "{}", run.output);
    std::fs::write(&path, "optiq-jobs 1\njob 0 1\n").unwrap();
    let (status, _, error) = plain(&["jobs", "show", &path]);
    assert_eq!(
        (status, error),
        (
            Some(2),
            format!("optiq: {path}:2: \"job 0 1\" is found; job SOURCE DESTINATION BYTES [class=N] is expected\n")
        )
    );
}

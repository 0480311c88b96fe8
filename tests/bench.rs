//! `optiq bench alltoallv` under mpirun: lists, cases, documents, the picture. How fast anything is, is not asserted:
//! machines are shared.
#![cfg(feature = "mpi")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use serde_json::Value;
use std::path::{Path, PathBuf};

/// The command, which `cargo test --workspace` builds.
fn optiq() -> PathBuf {
    common::programs().join("optiq")
}

fn bench(ranks: u32, arguments: &[&str], environment: &[(&str, &str)]) -> common::Run {
    let arguments = [&["bench", "alltoallv"], arguments].concat();
    let program = optiq();
    assert!(program.is_file(), "{} is not there: test the whole workspace", program.display());
    common::mpirun(ranks, &program, &arguments, environment)
}

/// A file of this test program.
fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// The document, which is all of standard output; what MPI says follows it.
fn document(run: &common::Run) -> Value {
    assert!(run.success, "{}", run.output);
    let mut documents = serde_json::Deserializer::from_str(&run.output).into_iter::<Value>();
    documents.next().unwrap().unwrap()
}

const TORUS: [(&str, &str); 2] = [("OPTIQ_TOPOLOGY", "torus:2x2"), ("OPTIQ_PLACEMENT", "rank")];

fn positive(value: &Value) -> f64 {
    let number = value.as_f64().unwrap();
    assert!(number.is_finite() && number > 0.0, "{number}");
    number
}

#[test]
fn lists_of_demands_sizes_and_planners() {
    let html = file("bench-sizes.html");
    let arguments = [
        "--demands",
        "pattern:disjoint,pattern:random,count=5",
        "--demands",
        "pattern:alltoall",
        "--message",
        "1B..40kB*200",
        "--planner",
        "auto,heu2",
        "--repetitions",
        "2",
        "--json",
        "--html",
        html.to_str().unwrap(),
    ];
    let suite = document(&bench(4, &arguments, &TORUS));
    assert_eq!((suite["topology"].as_str(), suite["ranks"].as_u64()), (Some("torus:2x2"), Some(4)));
    assert_eq!(suite["verified"], true);
    let cases = suite["cases"].as_array().unwrap();
    let names: Vec<&str> = cases.iter().step_by(2).map(|c| c["case"].as_str().unwrap()).collect();
    let expected = ["disjoint, 1B", "disjoint, 200B", "disjoint, 40kB", "random,count=5, 1B", "random,count=5, 200B"];
    assert_eq!((names.len(), &names[..5]), (9, &expected[..]));
    let mut logarithms = Vec::new();
    for (i, case) in cases.iter().enumerate() {
        assert_eq!(case["planner"], if i % 2 == 0 { "auto" } else { "heu2" });
        for side in ["mpi", "optiq"] {
            assert_eq!(case[side]["seconds"].as_array().unwrap().len(), 2);
            let share = positive(&case[side]["link_bound_seconds"]) / positive(&case[side]["median_seconds"]);
            assert!((positive(&case[side]["share_of_bound"]) / share - 1.0).abs() < 1e-9);
        }
        assert!(case["calls"].as_u64().unwrap() >= 1);
        let ratio = positive(&case["ratio"]);
        let medians = positive(&case["mpi"]["median_seconds"]) / positive(&case["optiq"]["median_seconds"]);
        assert!((ratio / medians - 1.0).abs() < 1e-9);
        let by_mpi = case["served_by"] == "MPI";
        assert_eq!(case["is_served_by_mpi"], by_mpi);
        if !by_mpi {
            logarithms.push(ratio.ln());
        }
        let [low, high] = ["first_quartile_seconds", "third_quartile_seconds"].map(|q| positive(&case["optiq"][q]));
        assert!(
            low <= positive(&case["optiq"]["median_seconds"]) && high >= positive(&case["optiq"]["median_seconds"])
        );
    }
    // Of cases that planned paths served; MPI against itself says nothing.
    assert_eq!(suite["cases_served_by_mpi"], 18 - logarithms.len());
    match suite["geometric_mean_ratio"].as_f64() {
        Some(mean) => {
            let expected = logarithms.iter().sum::<f64>() / logarithms.len() as f64;
            assert!((mean.ln() - expected).abs() < 1e-9, "{mean}");
            let least = logarithms.iter().copied().fold(f64::INFINITY, f64::min);
            assert!((positive(&suite["worst"]["ratio"]).ln() - least).abs() < 1e-9);
        }
        None => assert!(logarithms.is_empty() && suite["worst"].is_null()),
    }
    let page = std::fs::read_to_string(html).unwrap();
    assert!(page.contains("<svg") && page.matches("<circle").count() == 18 && !page.contains("{{"), "{page}");
}

/// One comparison is a document of its own, with or without a network; plans are used where they are asked for.
#[test]
fn one_comparison() {
    let run =
        bench(4, &["--message", "30kB", "--repetitions", "1", "--force", "--planner", "optimal", "--json"], &TORUS);
    let one = document(&run);
    assert!(one["decision"].as_str().unwrap().contains("paths by planner optimal"), "{one}");
    assert_eq!((&one["verified"], &one["repetitions_on_paths"]), (&Value::Bool(true), &Value::from(1)));
    assert!(positive(&one["optiq"]["link_bound_seconds"]) <= positive(&one["mpi"]["link_bound_seconds"]));
    let run = bench(3, &["--message", "1kB", "--repetitions", "1"], &[]);
    assert!(run.success && run.output.starts_with("OPTIQ_TOPOLOGY is not set"), "{}", run.output);
    assert!(run.output.contains("pattern:disjoint on star:3, 3 ranks"), "{}", run.output);
}

#[test]
fn all_ranks_of_a_host_take_part() {
    let cases = file("bench-cases.toml");
    std::fs::write(&cases, "[[case]]\ndemands = \"pattern:alltoall\"\nmessage = \"10kB\"\n").unwrap();
    let arguments = ["--cases", cases.to_str().unwrap(), "--all-ranks", "--force", "--repetitions", "1", "--json"];
    let suite = document(&bench(4, &arguments, &[("OPTIQ_TOPOLOGY", "torus:2"), ("OPTIQ_PLACEMENT", "rank:2")]));
    assert_eq!((&suite["all_ranks"], &suite["ranks"]), (&Value::Bool(true), &Value::from(4)));
    assert_eq!(suite["cases"][0]["total_bytes"], 20_000);
}

/// What is wrong is said in a sentence before anything runs, where that is possible before MPI begins.
#[test]
fn bad_input() {
    for (arguments, says) in [
        (&["--message", "8..4"][..], "not a range"),
        (&["--cases", "nowhere.toml"][..], "nowhere.toml"),
        (&["--cases", "thesis30", "--message", "1B"][..], "--cases"),
        (&["--planner", "best", "--force"][..], "no planner"),
    ] {
        let output = std::process::Command::new(optiq()).args(["bench", "alltoallv"]).args(arguments).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.starts_with("optiq: ") && said.lines().count() == 1 && said.contains(says), "{said}");
    }
    for kind in ["alltoallv", "io"] {
        let output = std::process::Command::new(optiq()).args(["bench", kind]).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{said}");
        assert!(said.contains("this is one rank, which sends nothing over a network"), "{said}");
    }
    for (arguments, says) in
        [(&["--message", "1B,3GB"][..], "2^31"), (&["--html", "/nowhere/picture.html"][..], "cannot write")]
    {
        let run = bench(2, arguments, &[]);
        assert!(!run.success && run.output.contains(says), "{}", run.output);
        assert_eq!(run.output.matches("optiq: rank").count(), 1, "{}", run.output);
    }
}

//! What commands take when something is not given, and that they say so: networks, units, planners, models, MPI's exchange.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod support;

use serde_json::Value;
use support::Folder;

#[test]
fn the_environment_names_the_network_of_every_command() {
    let folder = Folder::new("environment");
    let with = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let output = folder.command(&words).env("OPTIQ_TOPOLOGY", "torus:4x4").output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    for line in [
        "topology",
        "plan --demands pattern:disjoint",
        "explain --demands pattern:disjoint",
        "paths --from h0 --to h5 --json",
        "simulate --demands pattern:disjoint --message 4kB",
        "transfers plan --to 0 --output b.jobs",
        "info --scores",
    ] {
        assert!(with(line).contains("torus:4x4"), "{line}");
    }
    // What is given counts more.
    assert!(with("topology star:3").contains("star:3"));
    for line in ["topology", "plan --demands pattern:disjoint"] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let output = folder.command(&words).env_remove("OPTIQ_TOPOLOGY").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains("or OPTIQ_TOPOLOGY is expected"), "{said}");
    }
}

#[test]
fn a_path_that_exists_needs_no_kind() {
    let folder = Folder::new("paths");
    folder.write("net.toml", "[grid]\ndims = [4, 4]\n");
    folder.write("demands.txt", "h0 h5 1MB\n");
    let plan = folder.succeed("plan --topology net.toml --demands demands.txt");
    assert!(plan.starts_with("demands.txt on file:net.toml: 1 demand, 1.00 MB\n"), "{plan}");
    // A file says what its network is, so that only the planner was left to OPTIQ.
    assert!(
        plan.contains("at 1GB/s each\nplanner optimal (default); routing") && plan.matches("(default)").count() == 1
    );
    let missing = folder.run("plan --topology nowhere.toml --demands demands.txt");
    assert_eq!(missing.status.code(), Some(2));
}

#[test]
fn defaults_are_marked() {
    let folder = Folder::new("defaults");
    let plan = folder.succeed("plan --topology torus:4x4 --demands pattern:disjoint");
    assert!(plan.contains("64 links one way at 1GB/s (default) each\nplanner optimal (default); routing "), "{plan}");
    assert!(plan.lines().nth(2).unwrap().ends_with("(default)"), "{plan}");
    let line = "plan --topology torus:4x4,capacity=1GB/s,routing=longest --demands pattern:disjoint --planner heu2";
    let plan = folder.succeed(line);
    assert!(!plan.contains("(default)"), "{plan}");
    let document: Value = serde_json::from_str(&folder.succeed(&format!("{line} --json"))).unwrap();
    assert!(document["defaults"].is_null());
    let simulated = folder.succeed("simulate --topology torus:4x4 --demands pattern:subset --message 4kB");
    let second = "links of 1GB/s (default); model default (default); planner (default); routing fabric (default)";
    assert_eq!(simulated.lines().nth(1), Some(second));
}

#[test]
fn sizes_are_decimal_unless_binary_ones_are_asked_for() {
    let folder = Folder::new("units");
    let line = "plan --topology torus:4x4 --demands pattern:disjoint --message 8MiB";
    assert!(folder.succeed(line).starts_with("pattern:disjoint on torus:4x4: 8 demands, 67.11 MB\n"));
    for line in [format!("{line} --binary"), format!("--binary {line}")] {
        assert!(folder.succeed(&line).starts_with("pattern:disjoint on torus:4x4: 8 demands, 64.00 MiB\n"));
    }
}

#[test]
fn a_simulation_has_mpi_beside_the_plan_unless_told_otherwise() {
    let folder = Folder::new("baseline");
    let line = "simulate --topology torus:4x4 --demands pattern:disjoint --message 64kB --json";
    let names = |line: &str| {
        let document: Value = serde_json::from_str(&folder.succeed(line)).unwrap();
        let runs = document["runs"].as_array().unwrap().clone();
        (runs.iter().map(|run| run["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>(), runs)
    };
    let (both, runs) = names(line);
    assert_eq!(both, ["optimal", "mpi-linear"]);
    let ratio = runs[1]["seconds"].as_f64().unwrap() / runs[0]["seconds"].as_f64().unwrap();
    assert!((runs[0]["times_as_fast_as_mpi"].as_f64().unwrap() - ratio).abs() < 1e-9);
    for option in ["--plan-only", "--checkpoint run.ckpt"] {
        assert_eq!(names(&format!("{line} {option}")).0, ["optimal"]);
    }
}

#[test]
fn a_model_of_another_rate_is_refused() {
    let folder = Folder::new("rates");
    let output = folder.run("simulate --topology torus:4x4 --demands pattern:disjoint --message 4kB --model bgq");
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("the model Blue Gene/Q is for links of 1.8GB/s, but those of torus:4x4 have 1GB/s"),
        "{said}"
    );
    folder
        .succeed("simulate --topology torus:4x4,capacity=1.8GB/s --demands pattern:disjoint --message 4kB --model bgq");
}

/// A line for every link, under the plan and on the network's own routes.
#[test]
fn what_links_carry_is_written() {
    let folder = Folder::new("links");
    folder.write("one.txt", "h0 h1 1000\n");
    folder.succeed("plan --topology star:3 --demands one.txt --links l.csv");
    let csv = String::from_utf8(folder.read("l.csv")).unwrap();
    let lines: Vec<&str> = csv.lines().collect();
    assert_eq!((lines.len(), lines[1]), (7, "h0,s0,1,1000000000,1000,1e-6,1,1000,1e-6"));
    folder.succeed("plan --topology fattree:2x2:1x2,rails=2 --demands one.txt --links l.json");
    let document: Value = serde_json::from_slice(&folder.read("l.json")).unwrap();
    let links = document["links"].as_array().unwrap();
    let striped: u64 = links.iter().filter(|l| l["from"] == "h0").map(|l| l["striped_bytes"].as_u64().unwrap()).sum();
    assert_eq!((links.len(), striped), (32, 1000));
    let output = folder.run("plan --topology star:3 --demands one.txt --links x.csv --html x.csv");
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("--links and --html name the same file"));
}

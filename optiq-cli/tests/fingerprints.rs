//! Plans and simulated results are the same to the bit as when `data/fingerprints.toml` was recorded: 40 plans over all kinds of
//! topologies and planners, and 10 simulations over all kinds of routings. Each case is a command line of `optiq`.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use optiq_net::fingerprint::Hasher;
use serde::Deserialize;
use std::path::Path;
use std::process::Command;

#[derive(Deserialize)]
struct Cases {
    case: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    arguments: String,
    fingerprint: String,
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// What the command prints on standard output.
fn run(arguments: &[&str]) -> Vec<u8> {
    let output = Command::new(env!("CARGO_BIN_EXE_optiq"))
        .args(arguments)
        .current_dir(root())
        .env("OPTIQ_CONF", "none")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn plan(arguments: &[&str], file: &Path) -> String {
    run(&[arguments, &["--output", file.to_str().unwrap()]].concat());
    let mut hasher = Hasher::new("file");
    hasher.bytes(&std::fs::read(file).unwrap());
    hasher.finish().to_string()
}

fn simulation(arguments: &[&str]) -> String {
    let document: serde_json::Value = serde_json::from_slice(&run(&[arguments, &["--json"]].concat())).unwrap();
    let runs = document["runs"].as_array().cloned().unwrap_or_else(|| vec![document.clone()]);
    let found: Vec<&str> = runs.iter().map(|run| run["outcome_fingerprint"].as_str().unwrap()).collect();
    found.join("+")
}

#[test]
fn plans_and_simulations_are_the_same_to_the_bit() {
    let text = std::fs::read_to_string(root().join("data/fingerprints.toml")).unwrap();
    let cases: Cases = toml::from_str(&text).unwrap();
    let without_lp = cfg!(not(feature = "highs"));
    let folder = tempfile::tempdir().unwrap();
    let mut changed = Vec::new();
    for case in &cases.case {
        let arguments: Vec<&str> = case.arguments.split_whitespace().collect();
        if without_lp && arguments.contains(&"lp") {
            continue;
        }
        let found = match arguments[0] {
            "plan" => plan(&arguments, &folder.path().join("case.plan")),
            _ => simulation(&arguments),
        };
        if found != case.fingerprint {
            changed.push(format!("{}: {found}, recorded as {}", case.arguments, case.fingerprint));
        }
    }
    assert!(changed.is_empty(), "{} of {} changed:\n{}", changed.len(), cases.case.len(), changed.join("\n"));
    assert!(cases.case.len() >= 48);
}

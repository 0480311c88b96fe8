//! `optiq probe impact`, `compression`, `link` and `proxy` under `mpirun`. How long anything takes is not asserted: machines are shared.
#![cfg(feature = "mpi")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests panic as tests do")]

mod support;

use serde_json::Value;
use std::fs;
use std::process::{Command, Output, Stdio};
use std::time::Duration;
use support::Folder;

/// `mpirun` ends a job after as many seconds.
const LIMIT_SECONDS: &str = "100";
/// Each rank stands for a host.
const PLACED: [(&str, &str); 2] = [("OPTIQ_TOPOLOGY", "star:4"), ("OPTIQ_PLACEMENT", "rank")];

/// `mpirun` with these contexts: a number of ranks, and what they do.
fn mpirun(folder: &Folder, contexts: &[(u32, &str)], variables: &[(&str, &str)]) -> Command {
    let mut command = folder.mpirun("mpirun");
    command.args(["--timeout", LIMIT_SECONDS]);
    for (number, (ranks, line)) in contexts.iter().enumerate() {
        if number > 0 {
            command.arg(":");
        }
        command.args(["-n", &ranks.to_string(), env!("CARGO_BIN_EXE_optiq")]).args(line.split_whitespace());
    }
    command.envs(variables.iter().copied());
    command
}

fn output(folder: &Folder, contexts: &[(u32, &str)], variables: &[(&str, &str)]) -> Output {
    mpirun(folder, contexts, variables).output().unwrap()
}

fn document(output: &Output) -> Value {
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let mut documents = serde_json::Deserializer::from_str(&out).into_iter::<Value>();
    documents.next().unwrap_or_else(|| panic!("no document: {err}")).unwrap_or_else(|e| panic!("{e}: {out} {err}"))
}

/// The document of a run on four ranks that ends well.
fn run(folder: &Folder, line: &str) -> Value {
    let output = output(folder, &[(4, line)], &PLACED);
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    document(&output)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value} is no number"))
}

/// What a run that is refused says; it must end by itself.
fn refused(folder: &Folder, contexts: &[(u32, &str)], variables: &[(&str, &str)], expected: &str) {
    let output = output(folder, contexts, variables);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && output.stdout.is_empty(), "{said}");
    assert!(said.contains(expected), "{expected}: {said}");
    assert!(!said.contains("panicked"), "{said}");
}

#[test]
fn latencies_of_pairs_with_the_noise_beside_them() {
    let folder = Folder::new("probe-impact");
    folder.write("t.toml", include_str!("../../fuzz/corpus/probe_table/seed-small"));
    let found = run(&folder, "probe impact --interval 2ms --samples 20 --json");
    // Hosts 0 and 1, 2 and 3 are pairs.
    let pairs: Vec<(&str, &str, u64)> = found["pairs"]
        .as_array()
        .unwrap()
        .iter()
        .map(|pair| (pair["from"].as_str().unwrap(), pair["to"].as_str().unwrap(), pair["samples"].as_u64().unwrap()))
        .collect();
    assert_eq!(pairs, [("h0", "h1", 20), ("h2", "h3", 20)]);
    assert_eq!(
        (found["samples"].as_u64(), found["ranks"].as_u64(), found["nodes"].as_u64()),
        (Some(40), Some(4), Some(4))
    );
    let [least, median, most] = ["least_seconds", "median_seconds", "most_seconds"].map(|key| number(&found[key]));
    assert!(0.0 < least && least <= median && median <= most);
    let queueing = number(&found["queueing_seconds"]);
    assert!((queueing - (number(&found["mean_seconds"]) - least)).abs() < 1e-12);
    let noise = &found["noise"];
    let of = |when: &str| number(&noise[when]["mean_seconds"]) - number(&noise[when]["least_seconds"]);
    let most = of("before").max(of("during")).max(number(&noise["timer_seconds"]));
    assert!(number(&noise["during"]["count"]) > 0.0);
    let processors = std::thread::available_parallelism().unwrap().get();
    assert_eq!(noise["shares_processors"], processors < 4);
    let drowned = queueing <= if processors < 4 { 10.0 * most } else { most };
    assert_eq!(found["is_worthless"], drowned, "{found}");
    assert_eq!(found["worthless_because"].as_array().unwrap().len(), usize::from(drowned));
    // The table's probe has 1.25 us at no load; what is above that is queueing, and a utilisation follows.
    assert!(found["utilisation"].is_null());
    let found = run(&folder, "probe impact --interval 1ms --samples 20 --table t.toml --json");
    let queueing = number(&found["queueing_seconds"]);
    assert!((queueing - (number(&found["mean_seconds"]) - 1.25e-6)).abs() < 1e-12);
    let share = number(&found["utilisation"]["share"]);
    assert!((0.0..=1.0).contains(&share) && (share > 0.0) == (queueing > 0.0), "{found}");
}

#[test]
fn worthless_numbers_have_a_status_where_that_is_asked_for() {
    let folder = Folder::new("probe-strict");
    // No scheduler keeps a sleep of a nanosecond.
    let line = "probe compression --partners 2 --messages 2 --sleep 1ns --message 1KiB --samples 5 --json";
    let found = run(&folder, line);
    assert_eq!(found["is_worthless"], true);
    assert!(found["worthless_because"][0].as_str().unwrap().starts_with("a sleep of 0.0 us is asked for"), "{found}");
    // 2 x 2 x 1,024 bytes a nanosecond: no link carries that, and less is sent.
    let load = &found["load"];
    assert!((number(&load["offered_bytes_per_second"]) / 4096e9 - 1.0).abs() < 1e-9);
    assert!(number(&load["sent_bytes_per_second"]) < 4096e9 && number(&load["sent_bytes_per_second"]) > 0.0);
    let strict = output(&folder, &[(4, &format!("{line} --strict"))], &PLACED);
    assert!(!strict.status.success());
    assert_eq!(document(&strict)["is_worthless"], true);
}

#[test]
fn one_path_in_one_direction() {
    let folder = Folder::new("probe-link");
    let found = run(&folder, "probe link --from h2 --to h0 --interval 1ms --samples 15 --json");
    let pairs = found["pairs"].as_array().unwrap();
    assert_eq!((pairs.len(), pairs[0]["from"].as_str(), pairs[0]["to"].as_str()), (1, Some("h2"), Some("h0")));
    assert_eq!((found["samples"].as_u64(), found["ranks"].as_u64()), (Some(15), Some(2)));
    assert!(number(&found["least_seconds"]) > 0.0);
    refused(
        &folder,
        &[(4, "probe link --from h2 --to h9")],
        &PLACED,
        "no rank is on a node \"h9\"; one of h0, h1, h2, h3 is expected",
    );
    refused(
        &folder,
        &[(4, "probe link --from h2 --to h2")],
        &PLACED,
        "found a path from h2 to h2; two nodes are expected",
    );
}

#[test]
fn proxies_compute_and_exchange() {
    let folder = Folder::new("probe-proxy");
    // (application, milliseconds that it computes at least)
    for (name, computing) in
        [("FFTW", 1.4), ("mcb", 3.9), ("MILC", 2.2), ("VPFFT", 1.2), ("AMG", 9.0), ("lulesh", 10.0)]
    {
        let found = run(&folder, &format!("probe proxy {name} --samples 2 --json"));
        assert_eq!(found["samples"].as_u64(), Some(8), "{name}");
        assert!(found["probe"].as_str().unwrap().eq_ignore_ascii_case(name));
        // Computing differs by up to 5 %.
        assert!(number(&found["least_seconds"]) * 1e3 > computing, "{name}: {found}");
    }
    let stretched = run(&folder, "probe proxy VPFFT --stretch 20 --samples 1 --json");
    assert!(number(&stretched["least_seconds"]) > 24e-3, "{stretched}");
}

#[test]
fn what_cannot_be_measured_is_refused_by_all_ranks() {
    let folder = Folder::new("probe-refused");
    let impact = "probe impact --interval 1ms --samples 5";
    refused(&folder, &[(2, impact)], &[], "found all ranks on 1 node");
    refused(&folder, &[(4, "probe compression --partners 4 --samples 5")], &PLACED, "found 4 partners on 4 nodes");
    let other = "probe impact --interval 2ms --samples 5";
    refused(
        &folder,
        &[(2, impact), (2, other)],
        &PLACED,
        "ranks measure different things: rank 0 5 samples of ImpactB",
    );
    let other = "probe compression --partners 1 --samples 5";
    refused(&folder, &[(3, impact), (1, other)], &PLACED, "and rank 3 5 rounds of CompressionB");
    refused(&folder, &[(4, "probe impact --table none.toml")], &PLACED, "none.toml: ");
}

#[test]
fn a_program_goes_on_when_a_probe_is_killed() {
    let folder = Folder::new("probe-killed");
    let program = mpirun(&folder, &[(2, "probe proxy VPFFT --stretch 200 --samples 10 --json")], &PLACED)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let probes = mpirun(&folder, &[(2, "probe impact --interval 5ms --samples 1000000")], &PLACED)
        .stdout(Stdio::null())
        .stderr(fs::File::create(folder.path("probes.log")).unwrap())
        .spawn();
    let mut probes = probes.unwrap();
    // Ten operations take 3 s.
    std::thread::sleep(Duration::from_secs(2));
    let ended = probes.try_wait().unwrap();
    let said = String::from_utf8_lossy(&folder.read("probes.log")).into_owned();
    assert!(ended.is_none(), "the probes ended by themselves, {ended:?}: {said}");
    assert!(Command::new("kill").arg(probes.id().to_string()).status().unwrap().success());
    assert!(!probes.wait().unwrap().success());
    let ended = program.wait_with_output().unwrap();
    assert!(ended.status.success());
    assert_eq!(document(&ended)["samples"].as_u64(), Some(20));
}

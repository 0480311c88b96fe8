//! `optiq calibrate` under mpirun: the record that it writes, and what a session makes of it. How fast anything is, is not
//! asserted: machines are shared.
#![cfg(feature = "mpi")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod common;

use optiq_lower::machine::MachineRecord;
use optiq_lower::model::{CostModel, Parameter};
use serde_json::Value;
use std::path::{Path, PathBuf};

const TOPOLOGY: &str = "torus:2x2,capacity=10MB/s";

/// The command, which `cargo test --workspace` builds.
fn optiq() -> PathBuf {
    common::programs().join("optiq")
}

fn run(ranks: u32, arguments: &[&str], environment: &[(&str, &str)]) -> common::Run {
    let program = optiq();
    assert!(program.is_file(), "{} is not there: test the whole workspace", program.display());
    common::mpirun(ranks, &program, arguments, environment)
}

/// A small exchange in a session with this calibration file; what was printed.
fn session(file: &Path, topology: &str) -> common::Run {
    let environment =
        [("OPTIQ_TOPOLOGY", topology), ("OPTIQ_PLACEMENT", "rank"), ("OPTIQ_CALIBRATION", file.to_str().unwrap())];
    run(4, &["bench", "alltoallv", "--message", "30kB", "--repetitions", "1"], &environment)
}

#[test]
fn a_machine_is_measured_and_its_record_used() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("machine.calibration");
    let path = file.to_str().unwrap();
    let arguments = ["calibrate", "--topology", TOPOLOGY, "--output", path, "--repetitions", "2", "--json"];
    let measured = run(4, &arguments, &[("OPTIQ_PLACEMENT", "rank:1")]);
    assert!(measured.success, "{}", measured.output);
    let document: Value = serde_json::Deserializer::from_str(&measured.output).into_iter().next().unwrap().unwrap();
    assert_eq!(
        (&document["schema"], &document["ranks"], &document["hosts"]),
        (&"optiq-calibrate/1".into(), &4.into(), &1.into())
    );
    assert!(document["notes"][0].as_str().unwrap().contains("not efficiencies of links"), "{document}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");

    let record = MachineRecord::read(&file).unwrap();
    let of = record.measurement.as_ref().unwrap();
    assert_eq!((of.ranks, of.hosts, of.topology.as_str()), (4, 1, TOPOLOGY));
    assert!(of.command.starts_with("optiq calibrate --topology torus:2x2"), "{}", of.command);
    assert!(of.cases.starts_with("training: disjoint, "), "{}", of.cases);
    assert_eq!(document["network_fingerprint"], of.network.to_string());
    for (parameter, samples) in Parameter::ALL.into_iter().zip(&of.samples) {
        let samples = samples.unwrap();
        let expected = if parameter.is_link_efficiency() { samples.median.min(1.0) } else { samples.median };
        assert_eq!(record.model.get(parameter), expected);
        assert_eq!(document["parameters"][parameter.name()]["samples"], samples.count);
        assert!(samples.count >= 6, "{parameter}: {samples}");
    }

    // On the machine that was measured it is used without a word; elsewhere one line says what is used of it.
    let there = session(&file, TOPOLOGY);
    assert!(there.success && !there.output.contains("OPTIQ_CALIBRATION"), "{}", there.output);
    let elsewhere = |run: common::Run, what: &str| {
        let lines: Vec<&str> = run.output.lines().filter(|l| l.contains("OPTIQ_CALIBRATION")).collect();
        assert!(run.success && lines.len() == 1 && lines[0].contains(what), "{}", run.output);
        let unused = "planned_link_efficiency, store_and_forward_link_efficiency and mpi_link_efficiency are not";
        assert!(lines[0].contains(path) && lines[0].contains(unused));
    };
    elsewhere(session(&file, "torus:4,capacity=10MB/s"), "another network");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace(&of.mpi_library, "MPI of somebody else")).unwrap();
    elsewhere(session(&file, TOPOLOGY), "another MPI library (MPI of somebody else");

    // A file that does not say where it is from is used anywhere; one that is damaged is refused.
    std::fs::write(&file, CostModel::default().to_string()).unwrap();
    let old = session(&file, "torus:4");
    assert!(old.success && !old.output.contains("OPTIQ_CALIBRATION"), "{}", old.output);
    std::fs::write(&file, text.replace("measured_ranks = \"4\"", "measured_ranks = \"no\"")).unwrap();
    let damaged = session(&file, TOPOLOGY);
    assert!(!damaged.success && damaged.output.contains("measured_ranks is \"no\""), "{}", damaged.output);
}

/// Cases of a file, and the topology of the environment.
#[test]
fn cases_of_a_file() {
    let folder = tempfile::tempdir().unwrap();
    let (cases, file) = (folder.path().join("cases.toml"), folder.path().join("machine.calibration"));
    std::fs::write(&cases, "[[case]]\ndemands = \"pattern:alltoall\"\nmessage = \"10kB\"\n").unwrap();
    let (cases, path) = (cases.to_str().unwrap(), file.to_str().unwrap());
    let arguments = ["calibrate", "--output", path, "--cases", cases, "--repetitions", "1"];
    let measured = run(4, &arguments, &[("OPTIQ_TOPOLOGY", TOPOLOGY), ("OPTIQ_PLACEMENT", "rank")]);
    assert!(measured.success && measured.output.contains("written to"), "{}", measured.output);
    assert!(measured.output.contains("not efficiencies of links"), "{}", measured.output);
    let record = MachineRecord::read(&file).unwrap();
    assert!(record.measurement.unwrap().cases.ends_with("cases.toml: alltoall, 10kB"));
}

/// What is wrong is said in a sentence before anything is measured, and no file is left.
#[test]
fn bad_input() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("machine.calibration");
    let path = path.to_str().unwrap();
    for (arguments, says) in [
        (&["--topology", "tours:4"][..], "--topology: "),
        (&[][..], "--topology SPEC or OPTIQ_TOPOLOGY is expected"),
        (&["--topology", TOPOLOGY, "--cases", "nowhere.toml"][..], "nowhere.toml"),
        (&["--topology", TOPOLOGY, "--repetitions", "0"][..], "--repetitions"),
    ] {
        let mut command = std::process::Command::new(optiq());
        command.args(["calibrate", "--output", path]).args(arguments);
        let output = command.env("OPTIQ_CONF", "none").env_remove("OPTIQ_TOPOLOGY").output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.starts_with("optiq: ") && said.lines().count() == 1 && said.contains(says), "{said}");
    }
    let placed = [("OPTIQ_PLACEMENT", "rank:1")];
    let calibrate = |topology| ["calibrate", "--topology", topology, "--output", path];
    for (ranks, arguments, environment, says) in [
        (1, calibrate(TOPOLOGY), &placed[..], "1 rank is found; mpirun with at least 2 ranks"),
        (4, calibrate(TOPOLOGY), &[][..], "all ranks run on one host; ranks on at least 2 hosts are expected"),
        (4, calibrate("torus:2"), &placed[..], "4 ranks need 4 hosts, but the topology torus:2 has 2"),
        (2, calibrate(TOPOLOGY), &placed[..], "has 4 hosts, and ranks run on 2 of them"),
        (2, ["calibrate", "--topology", "torus:2", "--output", "/nowhere/file"], &placed[..], "cannot write"),
        (2, calibrate("torus:2"), &[("OPTIQ_PLACEMENT", "rank:2")][..], "a rank on every host is expected"),
    ] {
        let failed = run(ranks, &arguments, environment);
        assert!(!failed.success && failed.output.contains(says), "{says}: {}", failed.output);
        assert_eq!(failed.output.matches("optiq: rank").count(), 1, "{}", failed.output);
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

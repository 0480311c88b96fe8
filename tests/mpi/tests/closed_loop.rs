//! What is measured while a program runs, under real `mpirun`. `OPTIQ_BACKGROUND=measure`: a link that becomes slow, a load that is known from
//! counters, and what cannot be used. And calls of MPI in a row, beside planned ones.
//!
//! Has a main of its own because the lab starts the running binary again. The cases in the lab are skipped, with the reason,
//! where the system permits no namespaces. Every run has a hard limit, and no time is asserted.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../../common/mod.rs"]
mod common;
mod in_lab;

use optiq_lab::{End, Lab, LabError, LoadFlow, Outcome, RunOptions, network_at};
use optiq_lower::closed_loop::counters;
use optiq_net::Background;
use optiq_transport::mpi::Library;
use std::ffi::OsString;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// No run takes longer, however busy the machine.
const LIMIT: Duration = Duration::from_secs(150);

const PROGRAM: &str = env!("CARGO_BIN_EXE_optiq-mpi-tests");

fn main() {
    let in_labs = [
        ("a_link_that_becomes_slow", a_link_that_becomes_slow as fn(&Lab)),
        ("a_load_that_counters_show", a_load_that_counters_show),
        ("calls_of_mpi_in_a_row", calls_of_mpi_in_a_row),
    ];
    let selected = in_lab::begin(["on_one_machine"].into_iter().chain(in_labs.map(|(name, _)| name)));
    if selected.has("on_one_machine") {
        on_one_machine();
        println!("test on_one_machine ... ok");
    }
    for (name, test) in in_labs.into_iter().filter(|(name, _)| selected.has(name)) {
        let root = tempfile::tempdir().unwrap();
        match up(root.path()) {
            Ok(lab) => {
                test(&lab);
                lab.down().expect("down");
                println!("test {name} ... ok");
            }
            Err(LabError::Missing(why)) => println!("test {name} ... skipped: {why}"),
            Err(e) => panic!("{e}"),
        }
    }
}

fn up(root: &Path) -> Result<Lab, LabError> {
    in_lab::up("closed-loop", &network_at("torus:2x3", "50Mbit/s".parse()?)?, root)
}

/// What is said on one machine, where no link is slow: all bytes arrive, whatever is measured, and nothing hangs.
fn on_one_machine() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let counters = file.path().to_str().unwrap();
    let measured = [
        ("OPTIQ_TOPOLOGY", "torus:2x2"),
        ("OPTIQ_PLACEMENT", "rank:1"),
        ("OPTIQ_ALGORITHM", "multipath"),
        ("OPTIQ_BACKGROUND", "measure"),
        ("OPTIQ_LOG", "info"),
    ];
    let mpirun = |environment: &[(&str, &str)], words: &[&str]| {
        let run = common::mpirun(4, Path::new(PROGRAM), words, &[&measured[..], environment].concat());
        assert!(run.success && run.output.matches("all is well").count() == 4, "{}", run.output);
        run.output
    };
    let output = mpirun(&[], &["fault", "uniform", "200000", "rounds=20"]);
    assert!(output.contains("paths by planner"), "{output}");
    // A rank that stands still in the midst of a call is no link.
    mpirun(&[], &["fault", "uniform", "200000", "rounds=6", "stop=1:0.5"]);
    mpirun(&[], &["alltoallv"]);
    mpirun(&[], &["persistent"]);
    // Counters that are empty, not there, above what links carry, or of clocks that stand still.
    let output = mpirun(&[("OPTIQ_COUNTERS", counters)], &["fault", "uniform", "200000", "rounds=6"]);
    assert!(output.contains("OPTIQ_COUNTERS: ") && output.contains("no line `seconds S`"), "{output}");
    let output = mpirun(&[("OPTIQ_COUNTERS", "no/such/file")], &["fault", "uniform", "200000", "rounds=6"]);
    assert!(output.contains("OPTIQ_COUNTERS: no/such/file: "), "{output}");
    std::fs::write(file.path(), "seconds 1\nh0 h1 18446744073709551615\n").unwrap();
    let output = mpirun(&[("OPTIQ_COUNTERS", counters)], &["fault", "uniform", "200000", "rounds=6"]);
    assert!(!output.contains("taken for busy"), "{output}");
    // Ranks that do not all measure would wait for each other without end.
    let script = "case $OMPI_COMM_WORLD_RANK$PMI_RANK in 1) unset OPTIQ_BACKGROUND;; esac; exec \"$@\"";
    let words = ["-c", script, "sh", PROGRAM, "fault", "uniform", "200000"];
    let run = common::mpirun(4, Path::new("sh"), &words, &measured);
    assert!(run.success && run.output.matches("all is well").count() == 4, "{}", run.output);
    assert!(run.output.contains("options that all ranks must share are not the same"), "{}", run.output);
}

/// The program that learns what is left of the links, in a lab: `fault uniform` with this size and number of rounds, and more of the environment.
fn program(environment: &[&str], bytes: &str, rounds: &str) -> Vec<OsString> {
    let before = ["env", "OPTIQ_ALGORITHM=multipath", "OPTIQ_BACKGROUND=measure", "OPTIQ_LOG=info"];
    let words = ["sh", "-c", "exec \"$@\" 2>&1", "sh", PROGRAM, "fault", "uniform", bytes, rounds];
    before.iter().chain(environment).chain(&words).map(OsString::from).collect()
}

fn options() -> RunOptions {
    RunOptions { timeout: Some(LIMIT), capture: true, ranks_per_host: 1, ..RunOptions::default() }
}

/// What a program has said that ended well.
fn said(outcome: &Outcome) -> String {
    let output = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert_eq!((outcome.end, outcome.status), (End::Exited, 0), "{output}");
    assert_eq!(output.matches("all is well").count(), 6, "{output}");
    output
}

/// A link falls to a fifth of its speed while a program runs: it is found, and named with what is left of it, in the log and in a file.
fn a_link_that_becomes_slow(lab: &Lab) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("busy.txt");
    let busy_links = format!("OPTIQ_BUSY_LINKS={}", file.display());
    let program = program(&[&busy_links], "300000", "rounds=60");
    let outcome = std::thread::scope(|scope| {
        let running = scope.spawn(|| lab.run(&program, &options()));
        std::thread::sleep(Duration::from_secs(5));
        lab.set_rate("h0", "h1", "10Mbit/s".parse().unwrap()).expect("set rate");
        running.join().unwrap().expect("run")
    });
    let output = said(&outcome);
    let said = output.lines().filter(|line| line.contains("taken for busy"));
    let said: Vec<&str> = said.collect();
    println!("{}", said.join("\n"));
    assert!(said.iter().any(|line| line.contains("h0 -> h1, ")), "{output}");
    // The file has what was said last, in a form that plans can be made for.
    let network = network_at("torus:2x3", "50Mbit/s".parse().unwrap()).unwrap();
    let background = Background::from_file(&file).unwrap();
    let busy = background.busy_links(&network).unwrap();
    let last = output.lines().rfind(|line| line.contains(" takes over")).unwrap();
    assert_eq!(last.matches(" % left").count(), busy.len(), "{last}: {busy:?}");
    network.with_background(&background).unwrap();
}

/// Somebody else's load on one link, and a file of the lab's counters that is written five times a second, in the midst of calls: that link is taken for busy,
/// and no other one, though all of them carry the program's own bytes.
fn a_load_that_counters_show(lab: &Lab) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("counters.txt");
    let network = network_at("torus:2x3", "50Mbit/s".parse().unwrap()).unwrap();
    let began = Instant::now();
    let write = || {
        let counted = lab.counters().expect("counters");
        let links = network.links().iter().zip(counted);
        let listed = links.map(|(link, traffic)| (network.name(link.from), network.name(link.to), traffic.bytes));
        let new = file.with_extension("new");
        std::fs::write(&new, counters::list(began.elapsed().as_secs_f64(), listed)).unwrap();
        std::fs::rename(&new, &file).unwrap();
    };
    write();
    let program = program(&[&format!("OPTIQ_COUNTERS={}", file.display())], "300000", "rounds=60");
    let is_over = AtomicBool::new(false);
    let outcome = std::thread::scope(|scope| {
        scope.spawn(|| {
            let flow = LoadFlow::new("h0", "h1", "35Mbit/s".parse().unwrap());
            while !is_over.load(Ordering::Relaxed) {
                lab.load(std::slice::from_ref(&flow), Duration::from_secs(3)).expect("load");
            }
        });
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                write();
                std::thread::sleep(Duration::from_millis(200));
            }
        });
        let outcome = lab.run(&program, &options());
        is_over.store(true, Ordering::Relaxed);
        outcome.expect("run")
    });
    let output = said(&outcome);
    let last = output.lines().rfind(|line| line.contains("taken for busy")).unwrap_or_else(|| panic!("{output}"));
    println!("{last}");
    assert!(last.contains(" 1 link is taken for busy") && last.contains("h0 -> h1, "), "{output}");
}

/// Now and then MPI has a row of calls without an agreement where planned paths serve: every byte of every call is right, whoever serves it.
fn calls_of_mpi_in_a_row(lab: &Lab) {
    let words = ["env", "OPTIQ_LOG=debug", "sh", "-c", "exec \"$@\" 2>&1", "sh", PROGRAM];
    let words = words.iter().chain(&["fault", "uniform", "100000", "rounds=150"]);
    let program: Vec<OsString> = words.map(OsString::from).collect();
    // Who is faster, and so whether there is a row, depends on the machine.
    let has_row = (0..3).any(|_| {
        let output = said(&lab.run(&program, &options()).expect("run"));
        assert!(output.contains("served by Planned"), "{output}");
        let has_row = output.contains("in a row, as measured");
        assert_eq!(
            has_row,
            output.contains("in calls that follow each other"),
            "what a call of a row is told of: {output}"
        );
        has_row
    });
    assert!(has_row || Library::CURRENT != Library::OpenMpi, "planned paths served, and MPI had no row in three runs");
}

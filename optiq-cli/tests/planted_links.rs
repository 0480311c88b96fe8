//! Links that somebody planted where files are to be written: what they point to stays as it is.
//!
//! The names are those that files had while they were written: the number of the process in place of what cannot be guessed.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod support;

use optiq_lower::transfers::TransferList;
use optiq_net::Network;
use optiq_solver::pipeline::{self, PlanOptions};
use optiq_solver::{Candidates, candidates, demands};
use optiq_trace::{Clock, Rank, Run, TraceOptions, Tracer};
use optiq_transport::Rank as TransferRank;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use support::Folder;

const PRECIOUS: &[u8] = b"somebody's only copy";

/// Plants links to a file of somebody's for an output: under its own name, and under those that processes would once have used.
fn plant(folder: &Folder, name: &str, processes: impl Iterator<Item = u32>) {
    folder.write("victim", PRECIOUS);
    let victim = folder.path("victim");
    symlink(&victim, folder.path(name)).unwrap();
    for process in processes {
        for draft in [format!(".{name}.{process}.tmp"), format!("{name}.{process}.tmp"), format!("{name}.new")] {
            // Some are the same for all processes.
            let _ = symlink(&victim, folder.path(&draft));
        }
    }
}

/// The victim is as it was, and the output is a file of its own with something in it.
fn check(folder: &Folder, name: &str) {
    assert_eq!(folder.read("victim"), PRECIOUS, "{name}");
    let metadata = fs::symlink_metadata(folder.path(name)).unwrap();
    assert!(metadata.is_file() && metadata.len() > 0, "{name}: {metadata:?}");
}

#[test]
fn the_command_follows_no_planted_link() {
    let plan = "plan --topology torus:4x4 --demands pattern:disjoint --planner heu2";
    let simulate = "simulate --topology torus:4x4 --demands pattern:disjoint --message 100KB";
    for (name, line) in [
        ("x.plan", format!("{plan} --output x.plan")),
        ("x.json", format!("{plan} --output x.json")),
        ("x.html", format!("{plan} --html x.html")),
        ("x.paths", "paths --topology torus:4x4 --demands pattern:disjoint --k 2 --output x.paths".into()),
        ("x.jobs", "transfers plan --topology torus:4x4 --to 0 --bytes 1KB --output x.jobs".into()),
        ("x.csv", format!("{simulate} --links x.csv")),
        ("x.ckpt", format!("{simulate} --events 100 --checkpoint x.ckpt")),
    ] {
        let folder = Folder::new("planted");
        let me = std::process::id();
        plant(&folder, name, me..me + 300);
        let output = folder.run(&line);
        // A simulation that a limit ends says so by its status.
        assert!(matches!(output.status.code(), Some(0 | 1)), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        check(&folder, name);
    }
}

fn own(folder: &Folder, name: &str, write: impl FnOnce(&Path)) {
    plant(folder, name, [std::process::id()].into_iter());
    write(&folder.path(name));
    check(folder, name);
}

#[test]
fn libraries_follow_no_planted_link() {
    let net = Network::from_spec("torus:4x4").unwrap();
    let list = demands::parse("pattern:disjoint", &net, 1000).unwrap();
    let folder = Folder::new("planted-library");
    let planned = pipeline::run(&net, &list, &PlanOptions::default()).unwrap();
    own(&folder, "x.plan", |path| planned.plan.save(path).unwrap());
    let found = Candidates::generate(&net, &list, 2, optiq_solver::CandidateMethod::Auto).unwrap();
    own(&folder, "x.paths", |path| candidates::file::write(path, &net, &found).unwrap());
    let mut transfers = TransferList::new();
    transfers.add(TransferRank(0), TransferRank(1), 10).unwrap();
    own(&folder, "x.jobs", |path| transfers.write(path).unwrap());
}

#[test]
fn traces_follow_no_planted_link() {
    let folder = Folder::new("planted-trace");
    let name = format!("{:016x}.0.optiqtrace", 7);
    own(&folder, &name, |path| {
        let directory = path.parent().unwrap().to_owned();
        let clock = Clock::start();
        let options = TraceOptions { directory, events: 64, session: 7, rank: Rank(0), ranks: 1, clock };
        drop(Tracer::create(&options, "by hand").unwrap());
    });
    let run = Run::load(&folder.path("")).unwrap().remove(0);
    assert!(run.files()[0].complete && run.skipped().is_empty());
}

//! Collective file access on several ranks, against the MPI library's own.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![cfg(feature = "mpi")]

#[path = "../../common/mod.rs"]
mod common;

use common::Run;
use optiq_transport::mpi::Library;
use std::path::Path;

fn mpirun(ranks: u32, arguments: &[&str], environment: &[(&str, &str)]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let environment = [environment, &[("IO_TEST_FOLDER", folder.path().to_str().unwrap())]].concat();
    let program = Path::new(env!("CARGO_BIN_EXE_optiq-mpi-tests"));
    common::mpirun(ranks, program, &[&["io"], arguments].concat(), &environment)
}

/// Runs and requires that every rank has said that all is well.
fn passes(ranks: u32, arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let what = format!("optiq-mpi-tests io {arguments:?} {environment:?}");
    mpirun(ranks, arguments, environment).all_well(ranks, &what)
}

/// The components for files of the MPI library: Open MPI has two, of which one is chosen when a program starts.
fn components() -> &'static [&'static [(&'static str, &'static str)]] {
    match Library::CURRENT {
        Library::OpenMpi => &[&[("OMPI_MCA_io", "ompio")], &[("OMPI_MCA_io", "romio321")]],
        _ => &[&[]],
    }
}

const FORCED: (&str, &str) = ("OPTIQ_ALGORITHM", "multipath");

#[test]
fn files_are_those_of_mpi() {
    for component in components() {
        for (ranks, topology, placement, budget, assignment, largest) in [
            (4, "torus:2x2,io=0+3", "rank", "64MiB", "balanced", "5000"),
            (4, "torus:2x2,io=0+3", "rank", "1KiB", "balanced", "5000"),
            (4, "torus:2x2,io=1@1MB/s+2@3MB/s", "rank", "10KiB", "default", "20000"),
            (7, "torus:4x4,io=0+1+2", "rank:2", "300KiB", "default", "300000"),
            (2, "star:2,io=1", "rank", "4KiB", "balanced", "30000"),
        ] {
            let options = [
                ("OPTIQ_TOPOLOGY", topology),
                ("OPTIQ_PLACEMENT", placement),
                ("OPTIQ_IO_BUDGET", budget),
                ("OPTIQ_IO_ASSIGNMENT", assignment),
                FORCED,
            ];
            passes(ranks, &["random", "12", largest], &[component, &options[..]].concat());
        }
    }
}

#[test]
fn files_are_those_of_mpi_with_several_ranks_on_a_host() {
    for component in components() {
        let options = [
            ("OPTIQ_TOPOLOGY", "torus:2x2"),
            ("OPTIQ_IO_HOSTS", "h0@2GB/s+h3@1GB/s"),
            ("OPTIQ_PLACEMENT", "rank:4"),
            ("OPTIQ_IO_BUDGET", "20KiB"),
            FORCED,
        ];
        passes(16, &["random", "4", "20000"], &[component, &options[..]].concat());
    }
}

#[test]
fn everything_is_handed_over_without_io_hosts() {
    for component in components() {
        passes(4, &["handed-over", "4", "20000"], component);
        let unmarked = [("OPTIQ_TOPOLOGY", "torus:2x2"), ("OPTIQ_PLACEMENT", "rank"), FORCED];
        passes(4, &["handed-over", "4", "20000"], &[component, &unmarked[..]].concat());
    }
}

const SMALL: [(&str, &str); 4] = [
    ("OPTIQ_TOPOLOGY", "torus:2x2,io=0+3"),
    ("OPTIQ_PLACEMENT", "rank"),
    // A round of the accesses below holds a few hundred bytes of each rank.
    ("OPTIQ_IO_BUDGET", "4KiB"),
    FORCED,
];

#[test]
fn bad_arguments_are_errors_on_every_rank() {
    for component in components() {
        passes(4, &["errors"], &[component, &SMALL[..]].concat());
    }
}

#[test]
fn what_only_mpi_can_serve_is_handed_over_with_the_reason() {
    for component in components() {
        passes(4, &["only-mpi"], &[component, &SMALL[..]].concat());
    }
}

#[test]
fn files_come_and_go() {
    for component in components() {
        passes(4, &["lifetimes"], &[component, &SMALL[..]].concat());
    }
}

/// The budget for files that are larger than it many times, in large writes.
const LARGE: [(&str, &str); 4] =
    [("OPTIQ_TOPOLOGY", "torus:2x2,io=0+3"), ("OPTIQ_PLACEMENT", "rank"), ("OPTIQ_IO_BUDGET", "4MiB"), FORCED];

#[test]
fn memory_stays_within_the_budget() {
    let output = passes(4, &["budget", "64"], &LARGE);
    let peaks = output.lines().filter_map(|l| l.split("peak buffer ").nth(1)?.split(' ').next()?.parse().ok());
    let peaks: Vec<u64> = peaks.collect();
    // Two servers with both halves, and two ranks without a client.
    assert_eq!((peaks.len(), peaks.iter().filter(|&&p| p == 0).count()), (4, 2), "{output}");
    assert!(peaks.iter().all(|&p| p <= 4 << 20) && peaks.iter().any(|&p| p > 3 << 20), "{output}");
}

#[test]
fn rounds_are_planned_once() {
    // 8 MiB for one server, 2 MiB in each round: two ranks at a time.
    let environment =
        [("OPTIQ_TOPOLOGY", "torus:2x2,io=0"), ("OPTIQ_PLACEMENT", "rank:4"), ("OPTIQ_IO_BUDGET", "4MiB"), FORCED];
    passes(8, &["again"], &environment);
}

#[test]
fn a_write_that_fails_is_an_error_on_every_rank() {
    for component in components() {
        let output = passes(4, &["limited"], &[component, &LARGE[..]].concat());
        assert_eq!(output.matches("was told: rank").count(), 4, "{output}");
    }
}

/// A tmpfs of 2 MiB, which holds what the test acknowledges and no more than a part of the rest.
#[test]
fn a_full_disk_is_an_error_on_every_rank() {
    let mount = "mount -t tmpfs -o size=2m none \"$IO_TEST_FOLDER\"";
    let may = std::process::Command::new("unshare").args(["-rm", "true"]).status().is_ok_and(|s| s.success());
    if !may {
        // The same path through the library is tested with a limit of the process above.
        eprintln!("no user namespaces here: no file system can be mounted for this test");
        return;
    }
    for component in components() {
        let folder = tempfile::tempdir().unwrap();
        let inside = format!("{mount} && exec \"$@\"");
        let prefix = ["unshare", "-rm", "sh", "-c", &inside, "sh"];
        let own = [("IO_TEST_FOLDER", folder.path().to_str().unwrap())];
        let environment = [component, &LARGE[..], &own[..]].concat();
        let program = Path::new(env!("CARGO_BIN_EXE_optiq-mpi-tests"));
        let run = common::mpirun_under(&prefix, 4, program, &["io", "full"], &environment);
        let told = run.output.matches("was told: rank").count();
        assert!(run.success && told == 4, "{environment:?}:\n{}", run.output);
    }
}

#[test]
fn a_server_that_stops_is_an_error_on_every_rank() {
    for component in components() {
        let environment = [component, &SMALL[..], &[("OPTIQ_IO_TIMEOUT", "3")]].concat();
        let run = mpirun(4, &["stops"], &environment);
        assert_eq!(run.output.matches("all is well").count(), 4, "{}", run.output);
        assert!(!run.output.contains("killed"), "{}", run.output);
    }
}

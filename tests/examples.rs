//! The examples, run under `mpirun`. Thesis source example 1 is a C program, compiled with the MPI wrapper against the
//! committed header and the shared library.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![cfg(feature = "mpi")]

mod common;

use common::compile_c as compile;
use optiq_transport::Rank;
use std::path::{Path, PathBuf};

#[test]
fn source_example_1_in_c() {
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("alltoallv-c");
    compile("examples/alltoallv.c", &program);
    let lab = [("OPTIQ_TOPOLOGY", "torus:4x4"), ("OPTIQ_PLACEMENT", "rank"), ("OPTIQ_ALGORITHM", "multipath")];
    let run = common::mpirun(16, &program, &["1000000"], &lab);
    assert!(run.success, "{}", run.output);
    assert!(run.output.contains("all bytes are right; served by"), "{}", run.output);
    assert!(run.output.contains("paths by planner"), "{}", run.output);
    // Without a topology, and on one rank, plain MPI serves it.
    for (ranks, environment) in [(3, &[][..]), (1, &lab[..])] {
        let run = common::mpirun(ranks, &program, &["1000"], environment);
        assert!(run.success && run.output.contains("served by MPI_Alltoallv"), "{}", run.output);
    }
}

#[test]
fn the_rust_example() {
    let program = common::programs().join("examples/alltoallv");
    if !program.exists() {
        println!("skipped: cargo was not asked to build the examples");
        return;
    }
    let environment = [("OPTIQ_TOPOLOGY", "torus:2x4"), ("OPTIQ_PLACEMENT", "rank"), ("OPTIQ_ALGORITHM", "multipath")];
    let run = common::mpirun(8, &program, &[], &environment);
    assert!(run.success && run.output.contains("all is right; served by"), "{}", run.output);
    assert!(run.output.contains("paths by planner"), "{}", run.output);
}

/// Jobs from all 16 ranks to rank 0 or 10, with paths, in a file.
fn jobs_to_bridges(file: &Path) {
    let net = optiq_net::Network::from_spec("torus:4x4").unwrap();
    let placement = optiq_lower::placement::Placement::by_rank(&net, 16, 1).unwrap();
    let mut jobs = optiq_lower::transfers::TransferList::new();
    for rank in 0..16 {
        jobs.add(Rank(rank), Rank(if rank % 2 == 0 { 0 } else { 10 }), 750_000).unwrap();
    }
    let options = optiq_solver::pipeline::PlanOptions {
        planner: optiq_solver::planner::PlannerName::Heuristic2,
        ..Default::default()
    };
    jobs.search(&net, &placement, &options).unwrap();
    jobs.write(file).unwrap();
}

/// What `aggregate` writes: every rank's number, as often as it has bytes.
fn aggregated() -> Vec<u8> {
    (0..16u8).flat_map(|rank| vec![rank; 700_000 + usize::from(rank) * 7919 % 100_000]).collect()
}

#[test]
fn source_example_2_in_c() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let (program, jobs, output) =
        (folder.join("aggregate-c"), folder.join("bridges.jobs"), folder.join("aggregate.dat"));
    compile("examples/aggregate.c", &program);
    jobs_to_bridges(&jobs);
    for environment in [&[("OPTIQ_TOPOLOGY", "torus:4x4"), ("OPTIQ_PLACEMENT", "rank")][..], &[]] {
        let _ = std::fs::remove_file(&output);
        let run = common::mpirun(16, &program, &[jobs.to_str().unwrap(), output.to_str().unwrap()], environment);
        assert!(run.success, "{}", run.output);
        let served_by = if environment.is_empty() { "over direct messages" } else { "paths by planner jobs" };
        assert!(run.output.contains(served_by), "{}", run.output);
        assert!(std::fs::read(&output).unwrap() == aggregated(), "the file is not what 16 ranks would have written");
    }
}

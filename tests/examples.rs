//! The examples, run under `mpirun`. Thesis source example 1 is a C program, compiled with the MPI wrapper against the
//! committed header and the shared library.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![cfg(feature = "mpi")]

mod common;

use common::compile_c as compile;
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
    let program = Path::new(env!("CARGO_BIN_EXE_optiq-mpi-tests")).with_file_name("examples").join("alltoallv");
    if !program.exists() {
        println!("skipped: cargo was not asked to build the examples");
        return;
    }
    let environment = [("OPTIQ_TOPOLOGY", "torus:2x4"), ("OPTIQ_PLACEMENT", "rank"), ("OPTIQ_ALGORITHM", "multipath")];
    let run = common::mpirun(8, &program, &[], &environment);
    assert!(run.success && run.output.contains("all is right; served by"), "{}", run.output);
    assert!(run.output.contains("paths by planner"), "{}", run.output);
}

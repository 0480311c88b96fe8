//! OPTIQ built with MPICH, for studies that also run with it; the lab stays that of the workspace's own build.

use crate::workspace::{self, Workspace};
use std::env;
use std::path::PathBuf;

/// A job that takes longer has failed: with MPICH over UCX a program may hang in `MPI_Finalize` (`optiq-lab/src/mpi.rs`).
pub(super) const MOST_SECONDS: &str = "300";

/// What MPICH's ranks need.
pub(super) struct WithMpich {
    /// The command, built with it.
    pub(super) optiq: PathBuf,
    /// The variable that lets ranks that wait yield, as Open MPI's do.
    pub(super) yields: String,
}

/// Builds the command with MPICH, without HiGHS, aside; and what lets its ranks yield.
pub(super) fn build(workspace: &Workspace) -> Result<WithMpich, String> {
    let (target, compiler) = (workspace.built("with-mpich"), "mpicc.mpich");
    if workspace::capture(workspace.command(compiler).arg("-show")).is_err() {
        return Err(format!("no {compiler}; Debian has it in libmpich-dev"));
    }
    let build = || {
        let mut cargo = workspace.command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["build", "--locked", "--release", "--package", "optiq-cli", "--no-default-features"]);
        workspace::run(cargo.args(["--features", "mpi", "--target-dir"]).arg(&target).env("MPICC", compiler))
    };
    workspace::step("build optiq with MPICH", build).map_err(|e| e.to_string())?;
    let library = target.join("ucx_yield.so");
    let mut compile = workspace.command("cc");
    compile.args(["-O2", "-shared", "-fPIC", "-o"]).arg(&library).args(["xtask/src/ucx_yield.c", "-ldl"]);
    workspace::run(&mut compile).map_err(|e| e.to_string())?;
    Ok(WithMpich { optiq: target.join("release/optiq"), yields: format!("LD_PRELOAD={}", library.display()) })
}

//! Finds out which entry points the MPI library has, so that no program finds a function here that MPI has not, and keeps
//! everything else out of the names that the library exports, and HiGHS out of the library (`src/no_highs.c`).

use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=MPICC");
    println!("cargo:rustc-check-cfg=cfg(optiq_fortran)");
    println!("cargo:rustc-check-cfg=cfg(optiq_init, values(\"mpi\", \"mpix\"))");
    // A program may be linked with liboptiq and run under this library: each has its own functions and its own state.
    println!("cargo:rustc-cdylib-link-arg=-Wl,--exclude-libs,ALL");
    if std::env::var_os("CARGO_FEATURE_MPI").is_none() {
        return;
    }
    #[cfg(feature = "mpi")]
    leave_out_highs();
    let mpicc = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".into());
    let mut command = Command::new(&mpicc);
    let output = command.args(["-E", "-dM", "-include", "mpi.h", "-x", "c", "/dev/null"]).output();
    // A wrapper that does not start is reported by the crates that this one depends on.
    let macros = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    let value = |name: &str| {
        let mut words = macros.lines().map(|l| l.split_whitespace().skip(1));
        words.find_map(|mut w| (w.next() == Some(name)).then(|| w.next().unwrap_or_default().to_owned()))
    };
    // MPICH's Fortran functions call MPI_Alltoallv by name and come here that way; Open MPI's call PMPI_Alltoallv.
    if value("MPICH_NUMVERSION").is_none() {
        println!("cargo:rustc-cfg=optiq_fortran");
    }
    // MPI 4.0 has persistent collectives; Open MPI has had them under another name since 4.0.
    if value("MPI_VERSION").and_then(|v| v.parse().ok()).is_some_and(|v: u32| v >= 4) {
        println!("cargo:rustc-cfg=optiq_init=\"mpi\"");
    } else if value("OPEN_MPI").is_some() && value("OMPI_MAJOR_VERSION").is_some_and(|v| v == "4") {
        println!("cargo:rustc-cfg=optiq_init=\"mpix\"");
    }
}

/// Links what stands for HiGHS's functions in front of all crates that call them: the linker takes from an archive what it still lacks.
#[cfg(feature = "mpi")]
fn leave_out_highs() {
    const SOURCE: &str = "src/no_highs.c";
    println!("cargo:rerun-if-changed={SOURCE}");
    cc::Build::new().file(SOURCE).warnings(true).link_lib_modifier("+whole-archive").compile("optiq_no_highs");
}

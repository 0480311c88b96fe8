//! Compiles the C shims that give names to what MPI libraries define as macros, and finds out which library it is. Only
//! with the `mpi` feature.

fn main() {
    println!("cargo:rerun-if-changed=src/backends/mpi/shim.c");
    println!("cargo:rerun-if-changed=src/backends/mpi/fortran.c");
    println!("cargo:rerun-if-env-changed=MPICC");
    println!("cargo:rustc-check-cfg=cfg(optiq_mpi, values(\"openmpi\", \"mpich\", \"other\"))");
    #[cfg(feature = "mpi")]
    {
        // The same compiler wrapper that mpi-sys asks for its flags.
        let mpicc = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".into());
        println!("cargo:rustc-cfg=optiq_mpi=\"{}\"", library(&mpicc));
        let sources = ["src/backends/mpi/shim.c", "src/backends/mpi/fortran.c"];
        let mut build = cc::Build::new();
        // A name that does not exist must not wait for the linker, or for a handle that was cut to an int.
        build.flag_if_supported("-Werror=implicit-function-declaration");
        build.compiler(mpicc).files(sources).warnings(true).compile("optiq_mpi_shim");
    }
}

/// Which library's header the compiler wrapper finds, by the macros that the header defines. Libraries derived from MPICH
/// (Intel MPI, Cray MPICH, MVAPICH) define its macro as well, and share its handles.
#[cfg(feature = "mpi")]
fn library(mpicc: &str) -> &'static str {
    let mut command = std::process::Command::new(mpicc);
    let output = command.args(["-E", "-dM", "-include", "mpi.h", "-x", "c", "/dev/null"]).output();
    // A wrapper that does not start, or has no header, is reported by the compilation that follows.
    let macros = output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned()).unwrap_or_default();
    let defines = |name: &str| macros.lines().any(|l| l.split_whitespace().nth(1) == Some(name));
    if defines("OPEN_MPI") {
        "openmpi"
    } else if defines("MPICH_NUMVERSION") {
        "mpich"
    } else {
        "other"
    }
}

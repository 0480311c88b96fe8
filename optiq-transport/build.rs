//! Compiles the C shim that gives names to what MPI libraries define as macros. Only with the `mpi` feature.

fn main() {
    println!("cargo:rerun-if-changed=src/mpi/shim.c");
    println!("cargo:rerun-if-env-changed=MPICC");
    #[cfg(feature = "mpi")]
    {
        let mpicc = std::env::var("MPICC").unwrap_or_else(|_| "mpicc".into());
        cc::Build::new().compiler(mpicc).file("src/mpi/shim.c").warnings(true).compile("optiq_mpi_shim");
    }
}

//! Programs of each MPI library in a lab: started by their own launcher, and their bytes on the shaped links.
//!
//! Has a main of its own because the library starts the running binary again. Skips, and says why, where there are no labs,
//! or not that library.

use optiq_lab::{End, Lab, LabError, MpiFlavour, RunOptions, UpOptions, internal_main, network_at};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, exit};
use std::time::Duration;

/// Rank 0 sends a megabyte to rank 1, which answers with a byte.
const PROGRAM: &str = r#"
#include <mpi.h>
#include <stdio.h>
static char data[1000000];
int main(int argc, char **argv) {
    int rank, ranks, length;
    char name[MPI_MAX_PROCESSOR_NAME];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Get_processor_name(name, &length);
    if (rank == 0) {
        MPI_Send(data, sizeof data, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(data, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(data, sizeof data, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(data, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
    printf("%s: rank %d of %d\n", name, rank, ranks);
    fflush(stdout);
    MPI_Finalize();
    return 0;
}
"#;

const LIBRARIES: [(MpiFlavour, &str); 2] = [(MpiFlavour::OpenMpi, "mpicc.openmpi"), (MpiFlavour::Mpich, "mpicc.mpich")];

fn main() {
    if let Some(status) = internal_main(env::args_os()) {
        exit(status);
    }
    let root = env::temp_dir().join(format!("optiq-lab-libraries-{}", std::process::id()));
    let (mut passed, mut skipped) = (0, 0);
    let options = UpOptions {
        name: "libraries".into(),
        root: Some(root.clone()),
        lifetime: Some(Duration::from_secs(300)),
        ..Default::default()
    };
    let network = network_at("star:3", "100Mbit/s".parse().expect("a rate")).expect("a network");
    match Lab::up(&network, &options) {
        Ok(lab) => {
            for (flavour, compiler) in LIBRARIES {
                match program(&root, compiler) {
                    Some(program) => {
                        bytes_are_on_the_links(&lab, flavour, program);
                        println!("test {flavour:?} ... ok");
                        passed += 1;
                    }
                    None => {
                        println!("skipped {flavour:?}: {compiler} does not compile");
                        skipped += 1;
                    }
                }
            }
            lab.down().expect("down");
        }
        Err(LabError::Missing(why)) => {
            println!("skipped: {why}");
            skipped = LIBRARIES.len();
        }
        Err(e) => panic!("{e}"),
    }
    let _ = fs::remove_dir_all(&root);
    println!("{passed} passed, 0 failed, {skipped} skipped");
}

/// [`PROGRAM`], compiled, if there is the compiler.
fn program(root: &Path, compiler: &str) -> Option<OsString> {
    let (source, program) = (root.join("program.c"), root.join(compiler));
    fs::write(&source, PROGRAM).expect("a source file");
    let output = Command::new(compiler).arg("-o").arg(&program).arg(&source).output().ok()?;
    output.status.success().then(|| program.into())
}

fn bytes_are_on_the_links(lab: &Lab, flavour: MpiFlavour, program: OsString) {
    assert_eq!(MpiFlavour::of_program(&program), flavour);
    let run = |program: &[OsString], ranks, may_hang| {
        let options = RunOptions {
            ranks: Some(ranks),
            timeout: Some(Duration::from_secs(if may_hang { 20 } else { 60 })),
            capture: true,
            flavour: Some(flavour),
            ..Default::default()
        };
        let outcome = lab.run(program, &options).expect("run");
        let well = (outcome.end, outcome.status) == (End::Exited, 0) || may_hang && outcome.end == End::TimedOut;
        assert!(well, "{flavour:?}: {program:?}: {outcome:?}");
        let mut lines: Vec<String> = String::from_utf8_lossy(&outcome.stdout).lines().map(String::from).collect();
        lines.sort();
        lines
    };
    let before = lab.counters().expect("counters");
    // MPICH 4.0 over UCX hangs in MPI_Finalize now and then, when everything is printed (`mpich` in src/mpi.rs).
    assert_eq!(run(&[program], 2, flavour == MpiFlavour::Mpich), ["h0: rank 0 of 2", "h1: rank 1 of 2"]);
    let after = lab.counters().expect("counters");
    let status = lab.status().expect("status");
    for (link, (before, after)) in status.links.iter().zip(before.iter().zip(&after)) {
        let carried = after.bytes - before.bytes;
        // The megabyte once, with headers; the rest is what the library says besides.
        let expected = if link.from == "h0" || link.to == "h1" { 1_000_000..1_200_000 } else { 0..200_000 };
        assert!(expected.contains(&carried), "{flavour:?}: {} -> {} carried {carried} bytes", link.from, link.to);
    }
    // Every rank knows its place, and has the topology and a directory of its own.
    let script = "test -d \"$TMPDIR\"; echo $(hostname) $(basename $TMPDIR) $OPTIQ_TOPOLOGY";
    let words: Vec<OsString> = ["sh", "-ec", script].map(OsString::from).to_vec();
    let expected: Vec<String> = (0..3).map(|h| format!("h{h} h{h} {}", status.topology)).collect();
    assert_eq!(run(&words, 3, false), expected);
}

//! Programs under `mpirun`, with a timeout.

use optiq_transport::mpi::Library;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Far above what a run takes, far below what CI allows.
const TIMEOUT: Duration = Duration::from_secs(180);

/// The variable in which `cargo xtask test --mpi mpich` names the library that lets MPICH's ranks yield (`xtask/src/ucx_yield.c`).
const YIELDS: &str = "MPICH_YIELD_LIBRARY";

/// Whether ranks that wait keep their processor: MPICH's, if it is not made to yield.
pub fn ranks_spin() -> bool {
    Library::CURRENT == Library::Mpich && std::env::var_os(YIELDS).is_none()
}

/// What a run printed, and whether it ended well.
pub struct Run {
    /// Exit status 0 within the time.
    pub success: bool,
    /// Standard output, then standard error.
    pub output: String,
}

impl Run {
    /// Requires that it ended well and that every rank has said that all is well; returns what was printed.
    #[allow(dead_code, reason = "not every test program needs it")]
    pub fn all_well(self, ranks: u32, what: &str) -> String {
        let said = self.output.matches("all is well").count();
        assert!(self.success && said == ranks as usize, "{what} on {ranks} ranks:\n{}", self.output);
        self.output
    }
}

/// The launcher of the MPI library that the programs are linked with. Debian has both under names of their own, and either
/// as `mpirun`.
fn launcher() -> Command {
    let (names, arguments): (&[&str], &[&str]) = match Library::CURRENT {
        Library::Mpich => (&["mpiexec.hydra", "mpirun.mpich"], &[]),
        _ => (&["mpirun.openmpi"], &["--oversubscribe", "--mca", "btl_vader_single_copy_mechanism", "none"]),
    };
    let mut command = Command::new(first_of(names).unwrap_or("mpirun"));
    command.args(arguments);
    command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    command
}

/// The compiler wrapper of that library: the one that the build was told to use, or the one of its name, or `mpicc`.
#[allow(dead_code, reason = "not every test program compiles")]
pub fn mpicc() -> String {
    let name = match Library::CURRENT {
        Library::Mpich => "mpicc.mpich",
        _ => "mpicc.openmpi",
    };
    std::env::var("MPICC").unwrap_or_else(|_| first_of(&[name]).unwrap_or("mpicc").into())
}

/// The wrapper of the Fortran compiler of that library: `MPIFORT`, or the one of its name, or `mpifort`.
#[allow(dead_code, reason = "not every test program compiles")]
pub fn mpifort() -> String {
    let name = match Library::CURRENT {
        Library::Mpich => "mpifort.mpich",
        _ => "mpifort.openmpi",
    };
    std::env::var("MPIFORT").unwrap_or_else(|_| first_of(&[name]).unwrap_or("mpifort").into())
}

/// The folder of the profile in the target directory, in which cargo leaves programs, also those of other packages: a run of
/// the whole workspace's tests builds them.
#[allow(dead_code, reason = "not every test program needs it")]
pub fn programs() -> PathBuf {
    // This test program is in `deps` there.
    let here = std::env::current_exe().expect("this program has a path");
    here.ancestors().nth(2).expect("it is two folders deep").to_path_buf()
}

/// Where cargo left `liboptiq.so`: beside the programs, or among the dependencies.
#[allow(dead_code, reason = "not every test program compiles")]
pub fn library() -> PathBuf {
    let programs = programs();
    let places = [programs.join("deps"), programs];
    let found = places.iter().find(|p| p.join("liboptiq.so").exists());
    found.unwrap_or_else(|| panic!("there is no liboptiq.so in {places:?}")).clone()
}

/// Where cargo left `liboptiq_pmpi.so`: beside the programs, or among the dependencies.
#[allow(dead_code, reason = "not every test program preloads it")]
pub fn preload_library() -> String {
    let programs = programs();
    let places = [programs.join("deps"), programs];
    let files: Vec<_> = places.iter().map(|p| p.join("liboptiq_pmpi.so")).collect();
    // The one that was built last is the one that this test was built with.
    let made = |file: &&PathBuf| file.metadata().and_then(|m| m.modified()).ok();
    let newest = files.iter().filter(|f| made(f).is_some()).max_by_key(made);
    newest.unwrap_or_else(|| panic!("there is no liboptiq_pmpi.so in {places:?}")).to_str().unwrap().to_string()
}

/// Compiles a C program with the MPI wrapper against the committed header and the shared library.
#[allow(dead_code, reason = "not every test program compiles")]
pub fn compile_c(source: &str, program: &Path) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let library = library();
    let mut command = Command::new(mpicc());
    command.args(["-std=c99", "-g", "-Wall", "-Wextra", "-Werror", "-o"]).arg(program).arg(root.join(source));
    command.arg("-I").arg(root.join("optiq/include")).arg("-L").arg(&library).arg("-loptiq");
    command.arg(format!("-Wl,-rpath,{}", library.display()));
    let output = command.output().expect("the compiler wrapper starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// The first of these programs that there is.
fn first_of<'a>(programs: &[&'a str]) -> Option<&'a str> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let dirs: Vec<_> = std::env::split_paths(&path).collect();
    programs.iter().copied().find(|p| dirs.iter().any(|d| d.join(p).is_file()))
}

/// The root of the workspace, from which programs are started: case files name topologies by their path from there.
fn root() -> &'static Path {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().find(|folder| folder.join("tests/cases").is_dir()).unwrap_or(here)
}

/// Runs `program` on `ranks` ranks of this machine, with these `OPTIQ_*` variables and no others.
#[allow(dead_code, reason = "not every test program needs it")]
pub fn mpirun(ranks: u32, program: &Path, arguments: &[&str], environment: &[(&str, &str)]) -> Run {
    mpirun_under(&[], ranks, program, arguments, environment)
}

/// The same, with the launcher started by another command: `prefix` and its arguments.
#[allow(dead_code, reason = "not every test program needs it")]
pub fn mpirun_under(
    prefix: &[&str],
    ranks: u32,
    program: &Path,
    arguments: &[&str],
    environment: &[(&str, &str)],
) -> Run {
    // Without that library, MPICH's ranks spin while they wait, at the cost of every other one on the machine: one job at a time.
    static ONE: Mutex<()> = Mutex::new(());
    let yields = std::env::var(YIELDS).ok().filter(|_| Library::CURRENT == Library::Mpich);
    let _turn = ranks_spin().then(|| ONE.lock().unwrap_or_else(PoisonError::into_inner));
    let mut command = under(prefix, launcher());
    command.args(["-n", &ranks.to_string()]).arg(program).args(arguments).current_dir(root());
    for (name, _) in std::env::vars().filter(|(n, _)| n.starts_with("OPTIQ_")) {
        command.env_remove(name);
    }
    // Nor those of a file that this machine may have.
    command.env("OPTIQ_CONF", "none");
    // Jobs of Open MPI that end remove the directory that all jobs of a user share, also while another one is about to make its own
    // in it ("orte_session_dir failed").
    let sessions = tempfile::tempdir().expect("a directory for Open MPI");
    command.env("OMPI_MCA_orte_tmpdir_base", sessions.path());
    command.envs(environment.iter().copied());
    if let Some(yields) = yields {
        // Behind what the test itself puts in front.
        let preloaded = environment.iter().find(|(name, _)| *name == "LD_PRELOAD");
        command.env("LD_PRELOAD", preloaded.map_or(yields.clone(), |(_, first)| format!("{first}:{yields}")));
    }
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("mpirun starts");
    let mut pipes: (Option<_>, Option<_>) = (child.stdout.take(), child.stderr.take());
    let readers = (
        std::thread::spawn(move || read(pipes.0.take().unwrap())),
        std::thread::spawn(move || read(pipes.1.take().unwrap())),
    );
    let start = Instant::now();
    let status = loop {
        match child.try_wait().expect("mpirun can be waited for") {
            Some(status) => break Some(status),
            None if start.elapsed() > TIMEOUT => {
                child.kill().ok();
                child.wait().ok();
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let mut output = readers.0.join().unwrap() + &readers.1.join().unwrap();
    if status.is_none() {
        output += "\n(killed after the timeout)";
    }
    Run { success: status.is_some_and(|s| s.success()), output }
}

fn read(mut pipe: impl Read) -> String {
    let mut bytes = Vec::new();
    pipe.read_to_end(&mut bytes).ok();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// `command` as an argument of another one.
fn under(prefix: &[&str], command: Command) -> Command {
    let Some((first, rest)) = prefix.split_first() else { return command };
    let mut outer = Command::new(first);
    outer.args(rest).arg(command.get_program()).args(command.get_args());
    let set = command.get_envs().filter_map(|(name, value)| Some((name.to_owned(), value?.to_owned())));
    outer.envs(set);
    outer
}

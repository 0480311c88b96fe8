//! `cargo xtask test`: everything that `cargo test` has, with MPI and HiGHS, from a bare machine.
//!
//! HiGHS alone costs minutes of compilation, so there is one build for everything: the tests run in the release
//! profile, with debug assertions and overflow checks for the workspace's own crates. The overrides keep all other
//! crates exactly as a plain release build has them, so that `cargo xtask demo` before or after, and
//! `cargo clippy --release` in CI, find HiGHS built.
//!
//! The suite on MPICH is what runs on several ranks, and what is built with an MPI library. It has a target directory of
//! its own, as the MPI crates do not notice a change of library, and no HiGHS, which planners need and messages do not.

use crate::args::Args;
use crate::deploy::clients;
use crate::deploy::options::Build;
use crate::failure::{Failure, Outcome};
use crate::install::Needs;
use crate::mpi::{self, Library};
use crate::process::{self, Project};
use crate::readers;
use crate::requirements::{BROWSER, BUILD, BUILD_BARE, CLIENTS, LAB, MPICH, OPEN_MPI, SUBNET};
use crate::tally::Tally;
use std::ffi::OsString;
use std::time::Instant;

const HELP: &str = "\
cargo xtask test [OPTIONS]

Installs what is missing, builds and runs all tests: units, properties, the transports and optiq_alltoallv under
mpirun, the lab, the command, the pictures in Chromium, fabrics that OpenSM routes in ibsim, programs against an installed tree, and the commands of README and
book as their readers would follow them. The last line is \"N passed, N failed, N skipped\".

  --quick        only what needs no MPI, no HiGHS and no network namespaces; installs nothing
  --mpi NAME     openmpi, the default: all tests, with Open MPI; mpich: the tests on several ranks again, with MPICH,
                 built without HiGHS in target/mpich; both: one after the other
  --installed    only the tests of installed trees (programs against one, README and book followed), without HiGHS
  --no-install   install nothing; if something is missing, name the packages and exit with status 2

Example:

  cargo xtask test --quick";

/// The profile of all builds.
const PROFILE: &[&str] = &[
    "--release",
    "--config=profile.release.debug-assertions=true",
    "--config=profile.release.overflow-checks=true",
    "--config=profile.release.package.\"*\".debug-assertions=false",
    "--config=profile.release.package.\"*\".overflow-checks=false",
];

/// An example, which is built with what tests are built with: Cargo gives crates the features that dependencies of tests want as soon
/// as one test or example is among what is built. So a build with it finds what the tests had built.
const EXAMPLE: &[&str] = &["--example", "alltoallv"];

/// [`PROFILE`] with [`EXAMPLE`]: how the installed command is built.
const INSTALLED: &[&str] = &[PROFILE[0], PROFILE[1], PROFILE[2], PROFILE[3], PROFILE[4], EXAMPLE[0], EXAMPLE[1]];

/// The crates and features: all of them.
const ALL: &[&str] = &["--workspace", "--features", "mpi"];
/// The crates and features of `--quick`.
const QUICK: &[&str] = &["--workspace", "--no-default-features", "--exclude", "optiq-lab"];
/// The crates and features of the suite on MPICH: without HiGHS. All crates, so that the installed command finds them built.
const MULTI_RANK: &[&str] = &["--workspace", "--no-default-features", "--features", "mpi"];
/// The test programs of that suite: those that start programs on several ranks. The crates' own tests start none, and have run with
/// Open MPI.
const MULTI_RANK_TESTS: &[&str] = &[
    "--test", "mpi", "--test", "c_api", "--test", "io", "--test", "preload", "--test", "fortran", "--test", "examples",
];

pub fn main(arguments: &[String]) -> Outcome {
    let Some(mut args) = Args::new("test", HELP, arguments) else { return Ok(()) };
    let (mut quick, mut installed, mut install) = (false, false, true);
    let mut libraries: &[Library] = &[Library::OpenMpi];
    while let Some(flag) = args.next()? {
        match flag.as_str() {
            "--quick" => quick = args.switch(&flag)?,
            "--installed" => installed = args.switch(&flag)?,
            "--no-install" => install = !args.switch(&flag)?,
            "--mpi" => {
                libraries = match args.value(&flag)?.as_str() {
                    "openmpi" => &[Library::OpenMpi],
                    "mpich" => &[Library::Mpich],
                    "both" => &[Library::OpenMpi, Library::Mpich],
                    other => {
                        return Err(Failure::Usage(format!(
                            "test --mpi is \"{other}\", and openmpi, mpich or both is expected"
                        )));
                    }
                }
            }
            _ => return Err(args.unknown(&flag)),
        }
    }
    if quick && installed {
        return Err(Failure::Usage("test --quick installs nothing, so it goes without --installed".into()));
    }
    let project = Project::locate()?;
    if !quick {
        let mut needs = Needs::default();
        for library in libraries {
            needs = match library {
                Library::OpenMpi => {
                    let required = needs.required(OPEN_MPI).required(BUILD).required(CLIENTS).required(LAB);
                    required.wished(BROWSER).wished(SUBNET)
                }
                Library::Mpich => needs.required(MPICH).required(BUILD_BARE).required(CLIENTS),
            };
        }
        needs.meet(install)?;
    }
    let start = Instant::now();
    let mut tally = Tally::default();
    if quick {
        run(&project, "", (QUICK, &[]), &[], &mut tally);
    }
    for &library in libraries.iter().filter(|_| !quick) {
        match library {
            _ if installed => {}
            Library::OpenMpi => run(&project, "", (ALL, &[]), &library.environment(), &mut tally),
            Library::Mpich => mpich(&project.aside("mpich"), &mut tally),
        }
        counted(
            &mut tally,
            &format!("install, and build and run programs against it, with {}", library.name()),
            |tally| {
                // The command comes from the build of the tests, which has HiGHS only with Open MPI.
                let command = match installed {
                    true => Build { highs: false, cargo_options: &PROFILE[..1] },
                    false => Build { highs: library == Library::OpenMpi, cargo_options: INSTALLED },
                };
                clients::test(&project, library, command, install, &mut tally.passed)?;
                match library {
                    // The documents speak of Open MPI's launcher, and a lab run of MPICH may not end.
                    Library::OpenMpi => readers::test(&project, library, command, install, &mut tally.passed),
                    Library::Mpich => Ok(()),
                }
            },
        );
    }
    if !quick && !installed {
        counted(&mut tally, "build the book with mdbook, and check its links", |_| crate::book::build(&project));
    }
    if quick || (libraries.contains(&Library::OpenMpi) && !installed) {
        counted(&mut tally, "check that the command builds without MPI and without HiGHS", |_| {
            process::run(&mut project.cargo("check", ["--release", "--package", "optiq-cli", "--no-default-features"]))
        });
    }
    eprintln!("==> test: {:.0} s in all", start.elapsed().as_secs_f64());
    println!("{tally}");
    if tally.failed == 0 { Ok(()) } else { Err(Failure::Failed(format!("{} failed", tally.failed))) }
}

/// The suite on MPICH.
fn mpich(project: &Project, tally: &mut Tally) {
    let mut environment = Library::Mpich.environment();
    eprintln!(
        "==> {}: the tests on several ranks, built without HiGHS in {}",
        Library::Mpich.name(),
        project.target().display()
    );
    // `cargo test` builds examples only if it is not told which tests to build.
    let built = counted(tally, "build the example with MPICH", |_| {
        let what = [PROFILE, MULTI_RANK, EXAMPLE].concat();
        process::run(project.cargo("build", what).envs(environment.iter().cloned()))
    });
    match mpi::yielding(project) {
        Ok(variable) => environment.push(variable),
        Err(failure) => eprintln!("xtask: {failure}; ranks that wait will spin"),
    }
    if built {
        run(project, " with MPICH", (MULTI_RANK, MULTI_RANK_TESTS), &environment, tally);
    }
}

/// Builds and runs tests. What fails without a count of its own (a build, a program that crashed) counts as one failure,
/// so that the closing line and the exit status agree; the other steps run all the same.
fn run(
    project: &Project,
    with: &str,
    (crates, tests): (&[&str], &[&str]),
    environment: &[(OsString, OsString)],
    tally: &mut Tally,
) {
    let cargo = |more: &str| {
        let mut command = project.cargo("test", [PROFILE, crates, tests, &[more]].concat());
        command.envs(environment.iter().cloned());
        command
    };
    let built = counted(tally, &format!("build the tests{with}"), |_| process::run(&mut cargo("--no-run")));
    if built {
        counted(tally, &format!("run the tests{with}"), |tally| {
            let status = process::watch(&mut cargo("--no-fail-fast"), |line| tally.see(line))?;
            if status.success() { Ok(()) } else { Err(Failure::Failed(format!("cargo test ended with {status}"))) }
        });
    }
}

/// A step that adds at least one to the failures if it fails. Tells whether it succeeded.
fn counted(tally: &mut Tally, title: &str, action: impl FnOnce(&mut Tally) -> Outcome) -> bool {
    let before = tally.failed;
    let result = process::step(title, || action(tally));
    if let Err(failure) = &result {
        eprintln!("xtask: {failure}");
        tally.failed = tally.failed.max(before + 1);
    }
    result.is_ok()
}

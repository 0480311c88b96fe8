//! `cargo xtask test`: everything that `cargo test` has, with MPI and HiGHS, from a bare machine.
//!
//! HiGHS alone costs minutes of compilation, so there is one build for everything: the tests run in the release
//! profile, with debug assertions and overflow checks for the workspace's own crates. The overrides keep all other
//! crates exactly as a plain release build has them, so that `cargo xtask demo` before or after, and
//! `cargo clippy --release` in CI, find HiGHS built.

use crate::args::Args;
use crate::failure::{Failure, Outcome};
use crate::install::Needs;
use crate::process::{self, Project};
use crate::requirements::{BROWSER, BUILD, LAB};
use crate::tally::Tally;
use std::env;
use std::process::Command;
use std::time::Instant;

const HELP: &str = "\
cargo xtask test [OPTIONS]

Installs what is missing, builds and runs all tests: units, properties, the transports and optiq_alltoallv under
mpirun, the lab, the command, the pictures in Chromium. The last line is \"N passed, N failed, N skipped\".

  --quick        only what needs no MPI, no HiGHS and no network namespaces; installs nothing
  --mpi NAME     the MPI library to test with; openmpi, the default, is the only one so far
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

/// The crates and features: all of them.
const ALL: &[&str] = &["--workspace", "--features", "mpi"];
/// The crates and features of `--quick`.
const QUICK: &[&str] = &["--workspace", "--no-default-features", "--exclude", "optiq-lab"];

/// Open MPI as a test machine needs it: as root, with more ranks than processors, which must not spin, and without
/// the copies between processes that containers forbid.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
];

pub fn main(arguments: &[String]) -> Outcome {
    let Some(mut args) = Args::new("test", HELP, arguments) else { return Ok(()) };
    let (mut quick, mut install) = (false, true);
    while let Some(flag) = args.next() {
        match flag.name {
            "--quick" => quick = args.switch(&flag)?,
            "--no-install" => install = !args.switch(&flag)?,
            "--mpi" => match args.value(&flag)? {
                "openmpi" => {}
                other => {
                    return Err(Failure::Usage(format!(
                        "test --mpi is \"{other}\", and only openmpi is supported so far"
                    )));
                }
            },
            _ => return Err(args.unknown(&flag)),
        }
    }
    let project = Project::locate()?;
    if !quick {
        Needs::default().required(BUILD).required(LAB).wished(BROWSER).meet(install)?;
    }
    let start = Instant::now();
    let tally = all(&project, quick);
    eprintln!("==> test: {:.0} s in all", start.elapsed().as_secs_f64());
    println!("{tally}");
    if tally.failed == 0 { Ok(()) } else { Err(Failure::Failed(format!("{} failed", tally.failed))) }
}

/// All steps. A step that fails without a count of its own (a build, a program that crashed) counts as one failure,
/// so that the closing line and the exit status agree; the other steps run all the same.
fn all(project: &Project, quick: bool) -> Tally {
    let mut tally = Tally::default();
    let selection = if quick { QUICK } else { ALL };
    let cargo = |subcommand: &str, more: &[&str]| {
        let mut command = project.cargo(subcommand, [PROFILE, selection, more].concat());
        prepare(&mut command);
        command
    };
    let built = process::step("build the tests", || process::run(&mut cargo("test", &["--no-run"])));
    if let Err(failure) = built {
        eprintln!("xtask: {failure}");
        tally.failed += 1;
        return tally;
    }
    let ran = process::step("run the tests", || {
        let status = process::watch(&mut cargo("test", &["--no-fail-fast"]), |line| tally.see(line))?;
        if status.success() { Ok(()) } else { Err(Failure::Failed(format!("cargo test ended with {status}"))) }
    });
    if let Err(failure) = ran {
        eprintln!("xtask: {failure}");
        if tally.failed == 0 {
            tally.failed = 1;
        }
    }
    let bare = process::step("check that the command builds without MPI and without HiGHS", || {
        process::run(&mut project.cargo("check", ["--release", "--package", "optiq-cli", "--no-default-features"]))
    });
    if let Err(failure) = bare {
        eprintln!("xtask: {failure}");
        tally.failed += 1;
    }
    tally
}

/// Sets the variables that are not set by the user.
fn prepare(command: &mut Command) {
    for (name, value) in ENVIRONMENT {
        if env::var_os(name).is_none() {
            command.env(name, value);
        }
    }
}

//! The checkout, and programs that are started in it.

use crate::circumstances::{Checkout, Circumstances};
use crate::failure::Failure;
use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// The checkout and its target folder.
pub struct Workspace {
    root: PathBuf,
    target: PathBuf,
}

impl Workspace {
    /// The checkout that this program was built from; `CARGO_TARGET_DIR` is its target folder where that is set.
    ///
    /// # Errors
    /// [`Failure::Work`] if the checkout is not there any more.
    pub fn locate() -> Result<Self, Failure> {
        // Cargo sets the variable when it runs the program; the constant serves when it is started by hand.
        let manifest = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root = match Path::new(&manifest).parent() {
            Some(parent) if parent.join("Cargo.toml").is_file() => parent.to_path_buf(),
            _ => return Err(Failure::Work(format!("no workspace around {}", manifest.to_string_lossy()))),
        };
        let target = match env::var_os("CARGO_TARGET_DIR").filter(|dir| !dir.is_empty()) {
            Some(dir) => std::path::absolute(dir)
                .map_err(|e| Failure::Work(format!("the working directory cannot be read: {e}")))?,
            None => root.join("target"),
        };
        Ok(Workspace { root, target })
    }

    /// A file or folder of the checkout.
    pub fn path(&self, below: &str) -> PathBuf {
        self.root.join(below)
    }

    /// Where a program or library of the release build is.
    pub fn built(&self, name: &str) -> PathBuf {
        self.target.join("release").join(name)
    }

    /// A folder of the target folder for what a study keeps from one start to the next.
    pub fn scratch(&self, name: &str) -> PathBuf {
        self.target.join(name)
    }

    /// `cargo SUBCOMMAND ARGUMENTS...` in the checkout, with its target folder and the lock file as it is.
    pub fn cargo<A: AsRef<OsStr>>(&self, subcommand: &str, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = self.command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.arg(subcommand).args(["--locked", "--target-dir"]).arg(&self.target).args(arguments);
        command
    }

    /// A program that runs in the root of the checkout.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }

    /// The `optiq` command of the release build.
    pub fn optiq(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(self.built("optiq"));
        command.args(arguments);
        command
    }

    /// The first line that a program prints.
    ///
    /// # Errors
    /// As [`capture`].
    pub fn say(&self, program: &str, arguments: &[&str]) -> Result<String, Failure> {
        let text = capture(self.command(program).args(arguments))?;
        Ok(text.lines().next().unwrap_or_default().trim().to_owned())
    }

    /// Where, when and with what a study is run now, for its page, which names the commit: nobody could run it again if files differed.
    ///
    /// # Errors
    /// [`Failure::Input`] if files differ from the commit; [`Failure::Work`] if git or rustc cannot be asked.
    pub fn circumstances(&self) -> Result<Circumstances, Failure> {
        // What a run writes is no change of what is run.
        let change = self.say("git", &["status", "--porcelain", "--", ":!docs/results"])?;
        if !change.is_empty() {
            return Err(Failure::Input(format!(
                "the checkout differs from its commit (git status: \"{change}\"); pages are written from a clean tree, so commit or stash first"
            )));
        }
        let checkout = Checkout {
            commit: self.say("git", &["rev-parse", "--short", "HEAD"])?,
            tree_clean: true,
            rustc: self.say("rustc", &["--version"])?,
            // Not every study needs MPI.
            mpirun: self.say("mpirun", &["--version"]).ok(),
        };
        Ok(Circumstances { checkout: Some(checkout), ..Circumstances::now() })
    }
}

/// The first file of this name in the folders of `PATH`.
pub fn in_path(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).map(|folder| folder.join(program)).find(|file| file.is_file())
}

/// Says what is done, does it, and says how many seconds it took.
///
/// # Errors
/// Those of `action`.
pub fn step<T>(title: &str, action: impl FnOnce() -> Result<T, Failure>) -> Result<T, Failure> {
    eprintln!("==> {title}");
    let start = Instant::now();
    let result = action();
    let verdict = if result.is_ok() { "done" } else { "failed" };
    eprintln!("==> {title}: {verdict} after {:.1} s", start.elapsed().as_secs_f64());
    result
}

/// Runs a command to its end with no input; its output is this program's.
///
/// # Errors
/// [`Failure::Work`] if it cannot be started or does not succeed.
pub fn run(command: &mut Command) -> Result<(), Failure> {
    let status = command.stdin(Stdio::null()).status().map_err(|e| not_started(command, &e))?;
    ended(command, status)
}

/// Runs a command to its end with no input, and gives its standard output.
///
/// # Errors
/// As [`run`].
pub fn capture(command: &mut Command) -> Result<String, Failure> {
    let output =
        command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().map_err(|e| not_started(command, &e))?;
    ended(command, output.status)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a command that prints one JSON document, and reads it.
///
/// # Errors
/// As [`run`], and if what it prints is not of the form.
pub fn json<T: serde::de::DeserializeOwned>(command: &mut Command) -> Result<T, Failure> {
    let text = capture(command)?;
    serde_json::from_str(&text)
        .map_err(|e| Failure::Work(format!("{} printed a document that is not understood: {e}", name(command))))
}

fn name(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let first = command.get_args().next().unwrap_or_default();
    format!("{} {}", program.to_string_lossy(), first.to_string_lossy()).trim_end().to_string()
}

fn not_started(command: &Command, error: &std::io::Error) -> Failure {
    Failure::Work(format!("{} cannot be started: {error}", name(command)))
}

fn ended(command: &Command, status: std::process::ExitStatus) -> Result<(), Failure> {
    if status.success() { Ok(()) } else { Err(Failure::Work(format!("{} ended with {status}", name(command)))) }
}

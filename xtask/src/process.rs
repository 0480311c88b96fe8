//! Starting other programs, and saying how long it took.

use crate::failure::{Failure, Outcome};
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

/// Where administrators' programs are on systems that keep them out of users' paths.
const ADMIN_DIRS: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/local/sbin"];

/// The checkout and its target directory.
pub struct Project {
    root: PathBuf,
    target: PathBuf,
}

impl Project {
    /// The project that xtask belongs to. Its target directory is `target`, or `CARGO_TARGET_DIR` where that is set.
    pub fn locate() -> Outcome<Self> {
        // Cargo sets the variable when it runs xtask; the constant serves when the binary is started by hand.
        let manifest_dir = env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
        let root = match Path::new(&manifest_dir).parent() {
            Some(parent) if parent.join("Cargo.toml").is_file() => parent.to_path_buf(),
            _ => {
                let found = manifest_dir.to_string_lossy();
                return Err(Failure::Failed(format!("no workspace around {found}; start xtask as `cargo xtask`")));
            }
        };
        let target = match env::var_os("CARGO_TARGET_DIR").filter(|d| !d.is_empty()) {
            Some(dir) => env::current_dir()
                .map_err(|e| Failure::Failed(format!("the working directory cannot be read: {e}")))?
                .join(dir),
            None => root.join("target"),
        };
        Ok(Project { root, target })
    }

    /// The checkout.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where what is built goes.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Where a program of the release build is.
    pub fn program(&self, name: &str) -> PathBuf {
        self.target().join("release").join(name)
    }

    /// The same checkout with a target directory of its own below the first, for builds that would undo the others.
    pub fn aside(&self, name: &str) -> Self {
        Project { root: self.root.clone(), target: self.target.join(name) }
    }

    /// `cargo SUBCOMMAND ARGUMENTS...` in the project, with its target directory and the lock file as it is.
    pub fn cargo<A: AsRef<OsStr>>(&self, subcommand: &str, arguments: impl IntoIterator<Item = A>) -> Command {
        let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.arg(subcommand).args(["--locked", "--target-dir"]).arg(&self.target).args(arguments);
        command.current_dir(&self.root);
        command
    }

    /// A program that runs in the project's root directory.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.root);
        command
    }
}

/// Says what is done, does it, and says how many seconds it took.
pub fn step<T>(title: &str, action: impl FnOnce() -> Outcome<T>) -> Outcome<T> {
    eprintln!("==> {title}");
    let start = Instant::now();
    let result = action();
    let verdict = if result.is_ok() { "done" } else { "failed" };
    eprintln!("==> {title}: {verdict} after {:.1} s", start.elapsed().as_secs_f64());
    result
}

/// Runs a command to its end with no input; its output is xtask's.
pub fn run(command: &mut Command) -> Outcome {
    let status = command.stdin(Stdio::null()).status().map_err(|e| not_started(command, &e))?;
    ended(command, status)
}

/// Runs a command to its end with no input, and gives its standard output.
pub fn capture(command: &mut Command) -> Outcome<String> {
    let output =
        command.stdin(Stdio::null()).stderr(Stdio::inherit()).output().map_err(|e| not_started(command, &e))?;
    ended(command, output.status)?;
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Whether a command starts and succeeds; what it prints is thrown away.
pub fn succeeds(command: &mut Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// Runs a command to its end, passes its standard output through line by line, and shows every line to `see`.
pub fn watch(command: &mut Command, mut see: impl FnMut(&str)) -> Outcome<ExitStatus> {
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(|e| not_started(command, &e))?;
    let broken = |e: std::io::Error| Failure::Failed(format!("the output of {} cannot be read: {e}", name(command)));
    if let Some(pipe) = child.stdout.take() {
        let mut reader = BufReader::new(pipe);
        let mut line = Vec::new();
        let mut out = std::io::stdout().lock();
        while reader.read_until(b'\n', &mut line).map_err(broken)? > 0 {
            see(String::from_utf8_lossy(&line).trim_end());
            // Whoever read our output may be gone; the tests are finished all the same.
            let _ = out.write_all(&line).and_then(|()| out.flush());
            line.clear();
        }
    }
    child.wait().map_err(broken)
}

/// The full path of a program that can be started.
pub fn find(program: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path)
        .chain(ADMIN_DIRS.iter().map(PathBuf::from))
        .map(|dir| dir.join(program))
        .find(|file| is_executable(file))
}

/// The files that a pattern with `*` names, in order; those that cannot be looked at are left out.
pub fn files(pattern: &str) -> Vec<PathBuf> {
    // No pattern of this program is malformed; one that were would name no file.
    glob::glob(pattern).into_iter().flatten().flatten().collect()
}

fn is_executable(file: &Path) -> bool {
    file.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

fn name(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let first = command.get_args().next().unwrap_or_default();
    format!("{} {}", program.to_string_lossy(), first.to_string_lossy()).trim_end().to_string()
}

fn not_started(command: &Command, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("{} cannot be started: {error}", name(command)))
}

fn ended(command: &Command, status: ExitStatus) -> Outcome {
    if status.success() { Ok(()) } else { Err(Failure::Failed(format!("{} ended with {status}", name(command)))) }
}

/// Removes a folder with all that is in it; one that is missing is fine.
pub fn remove_all(folder: &Path) -> Outcome {
    match fs::remove_dir_all(folder) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(Failure::Failed(format!("{} cannot be removed: {e}", folder.display())))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_walk_the_file_system() {
        let here = env!("CARGO_MANIFEST_DIR");
        let found = files(&format!("{here}/s*c/tally.*"));
        assert_eq!(found, [Path::new(here).join("src/tally.rs")]);
        assert!(files(&format!("{here}/nothing*/tally.rs")).is_empty());
    }
}

//! Programs that Debian lacks or has only in old versions: taken from the path, or built once below the target directory, in a
//! pinned version.

use crate::failure::{Failure, Outcome};
use crate::process::{self, Project};
use std::env;
use std::path::PathBuf;
use std::process::Command;

/// A program that `cargo install` can build.
pub struct Tool {
    /// The package.
    pub package: &'static str,
    /// The program in it.
    pub program: &'static str,
    /// The version that is built; its minimal Rust version is this project's.
    pub version: &'static str,
    /// More options of `cargo install`.
    pub options: &'static [&'static str],
    /// Whether a program that is there will do, by what it prints as its version.
    pub suits: fn(&str) -> bool,
    /// What to put into the path where nothing can be built.
    pub instead: &'static str,
}

impl Tool {
    /// The program in the path or below the target directory that will do.
    pub fn find(&self, project: &Project) -> Option<PathBuf> {
        process::find(self.program).into_iter().chain([self.built(project)]).find(|program| self.will_do(program))
    }

    /// Finds the program, or builds it without optimisation, as it only starts others or reads a little text. `more` are options
    /// of `cargo install` that depend on the machine.
    pub fn get(&self, project: &Project, more: &[&str]) -> Outcome<PathBuf> {
        if let Some(found) = self.find(project) {
            return Ok(found);
        }
        let Tool { package, program, version, options, instead, .. } = *self;
        let tools = project.target().join("tools");
        process::step(&format!("build {package} {version} in {}", tools.display()), || {
            let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
            cargo.args(["install", package, "--locked", "--version", version, "--bin", program, "--debug", "--quiet"]);
            cargo.args(options).args(more);
            // The profile of the checkout does not count for what is installed, the environment does.
            cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_DEV_OPT_LEVEL", "0");
            let build = tools.join("build").join(program);
            cargo.arg("--root").arg(&tools).env("CARGO_TARGET_DIR", &build).current_dir(project.root());
            process::run(&mut cargo)
                .map_err(|failure| Failure::Failed(format!("{failure}; without a network, put {instead} into PATH")))?;
            process::remove_all(&build)
        })?;
        Ok(self.built(project))
    }

    fn built(&self, project: &Project) -> PathBuf {
        project.target().join("tools/bin").join(self.program)
    }

    fn will_do(&self, program: &PathBuf) -> bool {
        let output = Command::new(program).arg("--version").output();
        output.is_ok_and(|o| o.status.success() && (self.suits)(&String::from_utf8_lossy(&o.stdout)))
    }
}

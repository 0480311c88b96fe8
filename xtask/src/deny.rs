//! `cargo xtask deny`: the dependencies' licences, versions and origins, by cargo-deny and `deny.toml`.

use crate::args::Args;
use crate::failure::{Failure, Outcome};
use crate::process::{self, Project};

const HELP: &str = "\
cargo xtask deny [--install]

Checks the dependencies in Cargo.lock against deny.toml: bans, licences, sources.

  --install   first install cargo-deny if it is missing (a few minutes of compilation)

Example:

  cargo xtask deny --install";

const INSTALL: [&str; 3] = ["install", "--locked", "cargo-deny"];

pub fn main(arguments: &[String]) -> Outcome {
    let Some(mut args) = Args::new("deny", HELP, arguments) else { return Ok(()) };
    let mut install = false;
    while let Some(flag) = args.next()? {
        match flag.as_str() {
            "--install" => install = args.switch(&flag)?,
            _ => return Err(args.unknown(&flag)),
        }
    }
    let project = Project::locate()?;
    let present = process::succeeds(project.command("cargo").args(["deny", "--version"]));
    if !present && !install {
        return Err(Failure::Missing(format!(
            "cargo-deny is missing; install it with `cargo {}` or `cargo xtask deny --install`",
            INSTALL.join(" ")
        )));
    }
    if !present {
        process::step("install cargo-deny", || process::run(project.command("cargo").args(INSTALL)))?;
    }
    process::step("check bans, licences and sources", || {
        process::run(project.command("cargo").args(["deny", "--workspace", "check", "bans", "licenses", "sources"]))
    })
}

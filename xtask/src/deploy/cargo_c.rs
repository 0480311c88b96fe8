//! cargo-c: how it comes onto the machine, and what it is asked to do.
//!
//! Debian's package is too old for edition 2024, so it is one of [`crate::tools`].

use super::options::{self, Options};
use crate::failure::{Failure, Outcome};
use crate::install::Needs;
use crate::process::{self, Project};
use crate::requirements::CARGO_C;
use crate::tools::Tool;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// cargo 0.86 is that of Rust 1.85, the first with edition 2024.
const CARGO_CINSTALL: Tool = Tool {
    package: "cargo-c",
    program: "cargo-cinstall",
    version: "0.10.16+cargo-0.91.0",
    options: &[],
    suits: |version| cargo_of(version) >= Some(86),
    instead: "a cargo-cinstall of 0.10.11 or later",
};

/// Finds cargo-c in the path or below the target directory, or builds it there. `packages` says whether what it is built
/// with may be installed.
pub fn tool(project: &Project, packages: bool) -> Outcome<PathBuf> {
    if let Some(found) = CARGO_CINSTALL.find(project) {
        return Ok(found);
    }
    // With the system's OpenSSL that is two minutes on two cores, and half a minute more without.
    Needs::default().wished(CARGO_C).meet(packages)?;
    let has_openssl = process::succeeds(Command::new("pkg-config").args(["--exists", "openssl"]));
    CARGO_CINSTALL.get(project, if has_openssl { &[] } else { &["--features", "vendored-openssl"] })
}

/// The N of the `cargo-0.N.M` that is in cargo-c.
fn cargo_of(version: &str) -> Option<u32> {
    version.split_once("+cargo-0.")?.1.split('.').next()?.parse().ok()
}

/// What cargo-c installs, in the stage.
pub struct Stage<'a> {
    pub project: &'a Project,
    pub stage: &'a Path,
    pub options: &'a Options,
}

impl Stage<'_> {
    /// Builds the libraries and puts them, the header and optiq.pc into the stage.
    pub fn build(&self, tool: &Path) -> Outcome {
        let mut command = self.project.command(tool);
        command.args(["cinstall", "--locked", "--package", "optiq", "--no-default-features"]);
        command.args(self.options.libraries.cargo_options);
        command.args(["--features", if self.options.libraries.highs { "capi,highs" } else { "capi" }]);
        command.arg("--prefix").arg(&self.options.prefix).arg("--libdir").arg(&self.options.libdir);
        command.arg("--destdir").arg(self.stage).arg("--target-dir").arg(self.project.target());
        process::run(command.envs(self.options.environment()))?;
        let file = self.pkg_config();
        let text = read(&file)?;
        fs::write(&file, without_mpi(&text, &self.wrapper_libraries()))
            .map_err(|e| Failure::Failed(format!("{} cannot be written: {e}", file.display())))
    }

    fn pkg_config(&self) -> PathBuf {
        options::below(Some(self.stage), &self.options.prefix).join(&self.options.libdir).join("pkgconfig/optiq.pc")
    }

    /// The `-l` words that the MPI library's compiler wrapper adds by itself.
    fn wrapper_libraries(&self) -> Vec<String> {
        let wrapper = self.options.library.and_then(|l| l.compiler()).or_else(|| env::var_os("MPICC"));
        let mut command = Command::new(wrapper.unwrap_or_else(|| "mpicc".into()));
        let shown = command.arg("-show").output().map(|o| String::from_utf8_lossy(&o.stdout).into_owned());
        shown.unwrap_or_default().split_whitespace().filter(|w| w.starts_with("-l")).map(String::from).collect()
    }
}

fn read(file: &Path) -> Outcome<String> {
    fs::read_to_string(file).map_err(|e| Failure::Failed(format!("{} cannot be read: {e}", file.display())))
}

/// The file without the MPI library among the private libraries: programs are linked by its compiler wrapper, which may
/// be another build of the library. What every system has stays, also where the wrapper adds it as well.
fn without_mpi(text: &str, wrapper: &[String]) -> String {
    const SYSTEM: [&str; 8] = ["-lc", "-lm", "-ldl", "-lrt", "-lutil", "-lpthread", "-lgcc_s", "-lstdc++"];
    let is_mpi =
        |word: &str| word.starts_with("-lmpi") || (wrapper.iter().any(|w| w == word) && !SYSTEM.contains(&word));
    let line = |line: &str| match line.strip_prefix("Libs.private:") {
        None => line.to_string(),
        Some(words) => {
            let kept: Vec<&str> = words.split_whitespace().filter(|w| !is_mpi(w)).collect();
            format!("Libs.private: {}", kept.join(" "))
        }
    };
    text.lines().map(|l| line(l) + "\n").collect()
}

/// The private libraries of an optiq.pc.
pub fn private_libraries(file: &Path) -> Outcome<Vec<String>> {
    let text = read(file)?;
    let words = text.lines().find_map(|l| l.strip_prefix("Libs.private:")).unwrap_or_default();
    Ok(words.split_whitespace().map(String::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_by_the_cargo_inside() {
        assert_eq!(cargo_of("cargo-c 0.10.16+cargo-0.91.0\n"), Some(91));
        assert!((CARGO_CINSTALL.suits)(&format!("cargo-c {}", CARGO_CINSTALL.version)));
        assert!(!(CARGO_CINSTALL.suits)("cargo-c 0.9.12+cargo-0.66") && !(CARGO_CINSTALL.suits)("cargo-c 0.10"));
    }

    #[test]
    fn the_pkg_config_file_names_no_mpi() {
        let text = "Name: optiq\nLibs: -L${libdir} -loptiq\nLibs.private: -lstdc++ -lmpi -lopen-pal -lm -lc\n";
        let wrapper = ["-lmpi".to_string(), "-lopen-pal".into(), "-lm".into()];
        assert_eq!(
            without_mpi(text, &wrapper),
            "Name: optiq\nLibs: -L${libdir} -loptiq\nLibs.private: -lstdc++ -lm -lc\n"
        );
    }
}

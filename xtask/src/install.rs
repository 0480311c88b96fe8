//! Puts missing requirements onto the machine, where that is allowed; says what to type where it is not.

use crate::failure::{Failure, Outcome};
use crate::process;
use crate::requirements::{Manager, Requirement, packages};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::{Command, Stdio};

/// What a subcommand needs.
#[derive(Default)]
pub struct Needs {
    required: Vec<&'static Requirement>,
    wished: Vec<&'static Requirement>,
}

impl Needs {
    /// Adds what the subcommand cannot do without.
    pub fn required(mut self, requirements: &'static [Requirement]) -> Self {
        self.required.extend(requirements);
        self
    }

    /// Adds what the subcommand can do without, for less.
    pub fn wished(mut self, requirements: &'static [Requirement]) -> Self {
        self.wished.extend(requirements);
        self
    }

    /// Checks that everything is there and, if `allowed`, installs what is not.
    ///
    /// # Errors
    /// [`Failure::Missing`] with the command to type, if something required is missing and may not be installed
    /// (`allowed` is false, no rights, or not Debian's package manager); [`Failure::Failed`] if `apt-get` fails twice.
    /// What is only wished for is reported and does not fail.
    pub fn meet(self, allowed: bool) -> Outcome {
        let (required, wished) = (missing(&self.required), missing(&self.wished));
        if required.is_empty() && wished.is_empty() {
            return Ok(());
        }
        let manager = Manager::present();
        if let (Some(Manager::Apt), Some(prefix)) = (manager, if allowed { privileges() } else { None }) {
            apt(prefix, &packages(&required, Manager::Apt))?;
            if let Err(failure) = apt(prefix, &packages(&wished, Manager::Apt)) {
                eprintln!("xtask: {failure}");
            }
        }
        let (required, wished) = (missing(&self.required), missing(&self.wished));
        let absent = [required.as_slice(), wished.as_slice()].concat();
        if !required.is_empty() {
            return Err(Failure::Missing(instructions(&absent, manager)));
        }
        if !wished.is_empty() {
            eprintln!("xtask: going on without what is {}", instructions(&absent, manager));
        }
        Ok(())
    }
}

fn missing(requirements: &[&'static Requirement]) -> Vec<&'static Requirement> {
    requirements.iter().copied().filter(|r| !r.is_met()).collect()
}

/// The words before a command that only root may run: none for root, sudo's where it asks no password.
fn privileges() -> Option<&'static [&'static str]> {
    if fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0) {
        Some(&[])
    } else {
        process::succeeds(Command::new("sudo").args(["-n", "true"])).then_some(&["sudo", "-n"])
    }
}

fn instructions(absent: &[&Requirement], manager: Option<Manager>) -> String {
    let what: Vec<&str> = absent.iter().map(|r| r.what).collect();
    let what = what.join(", ");
    match manager {
        None => format!("missing: {what}; install it with this system's package manager, then try again"),
        Some(manager) => {
            let afterwards = manager.afterwards().map(|a| format!("\n({a})")).unwrap_or_default();
            let command = manager.command_line(&packages(absent, manager));
            format!("missing: {what}; install it with\n\n    {command}\n{afterwards}")
        }
    }
}

/// Installs packages, if there are any.
fn apt(prefix: &[&str], names: &[&str]) -> Outcome {
    if names.is_empty() {
        return Ok(());
    }
    process::step(&format!("install with apt-get, which can take some minutes: {}", names.join(" ")), || {
        let install = || {
            apt_get(prefix, &["update", "-qq"], &[])?;
            apt_get(prefix, &["install", "-qq", "-y", "--no-install-recommends"], names)
        };
        // Package mirrors fail now and then; what was fetched before is not fetched again.
        install().or_else(|failure| {
            eprintln!("xtask: {failure}\nxtask: once more");
            install()
        })
    })
}

/// `apt-get` without questions. It prints pages, which are shown only if it fails.
fn apt_get(prefix: &[&str], arguments: &[&str], names: &[&str]) -> Outcome {
    // `env` sets the variable on the far side of sudo, which drops its caller's.
    let words = prefix.iter().chain(&["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
    let words: Vec<&str> =
        words.chain(&["-o", "DPkg::Lock::Timeout=120"]).chain(arguments).chain(names).copied().collect();
    let [program, rest @ ..] = words.as_slice() else {
        return Err(Failure::Failed("apt-get has no command line".into()));
    };
    let output = Command::new(program)
        .args(rest)
        .stdin(Stdio::null())
        .output()
        .map_err(|e| Failure::Failed(format!("{program} cannot be started: {e}")))?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let lines: Vec<&str> = said.lines().filter(|l| !l.trim().is_empty()).collect();
    let last = lines[lines.len().saturating_sub(8)..].join("\n  ");
    Err(Failure::Failed(format!("apt-get {} ended with {}:\n  {last}", arguments[0], output.status)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::requirements::{BUILD, LAB};

    #[test]
    fn instructions_name_the_things_and_the_command() {
        let absent: Vec<&Requirement> = BUILD.iter().filter(|r| r.what == "cmake").chain(LAB).collect();
        let text = instructions(&absent, Some(Manager::Apt));
        assert_eq!(
            text,
            "missing: cmake, ip and tc of iproute2; install it with\n\n    sudo apt-get install cmake iproute2\n"
        );
        let text = instructions(&absent, Some(Manager::Dnf));
        assert!(text.contains("sudo dnf install cmake iproute-tc\n") && text.contains("module load"), "{text}");
        let text = instructions(&absent, None);
        assert!(text.starts_with("missing: cmake, ip and tc of iproute2; "), "{text}");
    }
}

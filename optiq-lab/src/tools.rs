//! The programs of others that the lab uses: `ip` and `tc` of iproute2, and `mpirun`.

use crate::error::LabError;
use std::env;
use std::ffi::OsStr;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Where administrators' programs are on systems that keep them out of users' paths.
const ADMIN_DIRS: [&str; 3] = ["/usr/sbin", "/sbin", "/usr/local/sbin"];

/// The full path of a program.
///
/// # Errors
/// [`LabError::Missing`] with the package that has it.
pub(crate) fn find(program: &str) -> Result<PathBuf, LabError> {
    locate(OsStr::new(program)).ok_or_else(|| {
        let package = match program {
            "ip" | "tc" => "iproute2 (Debian: apt install iproute2)",
            "mpiexec.hydra" => "MPICH (Debian: apt install mpich)",
            _ => "Open MPI (Debian: apt install openmpi-bin)",
        };
        LabError::Missing(format!(
            "the program {program} is not installed; the lab needs it, from the package {package}"
        ))
    })
}

/// The path of a program that can be started: itself if it has a slash, else where `PATH` or [`ADMIN_DIRS`] have it.
pub(crate) fn locate(program: &OsStr) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let dirs = env::split_paths(&path).chain(ADMIN_DIRS.iter().map(PathBuf::from));
    let executable = |p: &PathBuf| p.metadata().is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0);
    if program.to_string_lossy().contains('/') {
        return Some(PathBuf::from(program)).filter(executable);
    }
    dirs.map(|d| d.join(program)).find(executable)
}

/// Feeds `text` to `ip -batch -` or `tc -batch -` in the calling thread's network namespace.
///
/// # Errors
/// [`LabError::Refused`] with the line that failed and what the program said.
pub(crate) fn batch(program: &str, text: &str) -> Result<(), LabError> {
    log::debug!("{program} -batch:\n{text}");
    let path = find(program)?;
    let mut child = Command::new(&path)
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(LabError::io(format!("start {}", path.display())))?;
    // Standard error holds one message at most, the batch ends at the first; so writing all before reading is safe.
    let written = child.stdin.take().map(|mut stdin| stdin.write_all(text.as_bytes()));
    let output = child.wait_with_output().map_err(LabError::io(format!("wait for {program}")))?;
    if output.status.success() {
        return match written {
            Some(Err(e)) if e.kind() != ErrorKind::BrokenPipe => Err(LabError::io(format!("write to {program}"))(e)),
            _ => Ok(()),
        };
    }
    let said = String::from_utf8_lossy(&output.stderr);
    // "Command failed -:17" names the line.
    let line = said.rsplit("-:").next().and_then(|n| n.trim().parse::<usize>().ok()).unwrap_or(0);
    let command = text.lines().nth(line.wrapping_sub(1)).unwrap_or("its input");
    let message = said.lines().next().unwrap_or("it gave no reason").trim();
    let hint = if message.contains("Operation not supported") || message.contains("Unknown device type") {
        "; the kernel lacks a module (veth, bridge or sch_tbf)"
    } else {
        ""
    };
    Err(LabError::Refused(format!("{program} refused \"{command}\": {message}{hint}")))
}

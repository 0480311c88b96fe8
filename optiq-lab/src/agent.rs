//! What `mpirun` takes for a remote shell: `agent HOST COMMAND...` runs the command on a host of the lab.

use crate::member::{Member, set_host_name};
use crate::{LabError, supervise};
use nix::sched::{CloneFlags, unshare};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The agent's word on the command line, followed by the state file, the run's directory, the host and the command.
pub(crate) const VERB: &str = "agent";

/// The agent's main; returns (with a reason) only if the command could not be started.
pub(crate) fn main(state_path: &Path, run_dir: &Path, host: &OsStr, command: &[OsString]) -> LabError {
    match enter(state_path, host) {
        Ok(()) => {}
        Err(e) => return e,
    }
    let temporary = match supervise::host_dir(run_dir, &host.to_string_lossy()) {
        Ok(dir) => dir,
        Err(e) => return e,
    };
    // As a remote shell does: the words are joined, and a shell takes them apart.
    let line = command.join(OsStr::new(" "));
    // Without a host name and a directory of its own per host, PMIx takes all hosts for one.
    let error = Command::new("/bin/sh").arg("-c").arg(line).env("TMPDIR", temporary).exec();
    LabError::Io { doing: "start /bin/sh".into(), source: error }
}

fn enter(state_path: &Path, host: &OsStr) -> Result<(), LabError> {
    let member = Member::join(state_path)?;
    let name = host.to_string_lossy();
    let index = member.state.blueprint.host(&name)?;
    member.enter(member.state.blueprint.hosts[index].namespace)?;
    unshare(CloneFlags::CLONE_NEWUTS).map_err(LabError::io("make a namespace for the host name"))?;
    set_host_name(&name)
}

//! What `mpirun` takes for a remote shell: `agent HOST COMMAND...` runs the command on a host of the lab.

use crate::error::LabError;
use crate::member::{Member, set_host_name};
use crate::slow::{self, Pace};
use crate::supervise;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

/// The agent's word on the command line, followed by the state file, the run's directory, the host and the command.
pub(crate) const VERB: &str = "agent";

/// The same, for programs that look for their host's network devices in `/sys`.
pub(crate) const DEVICES_VERB: &str = "agent-devices";

/// The agent's main; returns only if the command could not be started (the reason), or if it ran on the slow host (its exit
/// status).
pub(crate) fn main(
    state_path: &Path,
    run_dir: &Path,
    host: &OsStr,
    command: &[OsString],
    with_devices: bool,
) -> Result<i32, LabError> {
    let pace = enter(state_path, host)?;
    if with_devices && let Err(e) = mount_devices() {
        eprintln!("optiq lab: host {} cannot see its own network devices in /sys: {e}", host.to_string_lossy());
    }
    let temporary = supervise::host_dir(run_dir, &host.to_string_lossy())?;
    // As a remote shell does: the words are joined, and a shell takes them apart.
    let line = command.join(OsStr::new(" "));
    // Without a host name and a directory of its own per host, PMIx takes all hosts for one.
    let mut shell = Command::new("/bin/sh");
    shell.arg("-c").arg(line).env("TMPDIR", temporary);
    match pace {
        Pace::Whole => Err(LabError::io("start /bin/sh")(shell.exec())),
        Pace::Half => slow::run(shell),
    }
}

/// Gives the calling process a `/sys` of its own: a sysfs shows the network devices of the process that mounted it.
fn mount_devices() -> nix::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS)?;
    // Nothing that is mounted here may show outside. What is mounted on /sys is a child of what is there, if /sys is a mount
    // of its own, or else of the root, which is none where a tool has changed it (chroot).
    let private = |place| mount(None::<&str>, place, None::<&str>, MsFlags::MS_REC | MsFlags::MS_PRIVATE, None::<&str>);
    private("/sys").or_else(|_| private("/"))?;
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC | MsFlags::MS_RDONLY;
    mount(Some("sysfs"), "/sys", Some("sysfs"), flags, None::<&str>)
}

/// Moves the calling process to the host, and tells how fast that is.
fn enter(state_path: &Path, host: &OsStr) -> Result<Pace, LabError> {
    let member = Member::join(state_path)?;
    let name = host.to_string_lossy();
    let index = member.state.blueprint.host(&name)?;
    let namespace = member.state.blueprint.hosts[index].namespace;
    member.enter(namespace)?;
    unshare(CloneFlags::CLONE_NEWUTS).map_err(LabError::io("make a namespace for the host name"))?;
    set_host_name(&name)?;
    Ok(Pace::of(&member.state.blueprint, namespace))
}

//! Entering and making namespaces.
//!
//! A network namespace belongs to a thread; a user namespace to a process, and only a process with a single thread
//! can change its own. So everything that needs rights runs in a helper process, which is this binary started again
//! with a hidden first argument, and which joins the lab before it does anything else.

use crate::error::LabError;
use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};
use nix::unistd::{getegid, geteuid};
use std::fs::{self, File};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

/// Makes a new network namespace, moves the calling thread into it and returns its file. Without the right to do so
/// it is got first, by becoming root of a new user namespace; the process must still have a single thread then.
///
/// # Errors
/// [`LabError::Missing`] if neither is permitted.
pub(crate) fn make_network() -> Result<File, LabError> {
    match unshare(CloneFlags::CLONE_NEWNET) {
        Ok(()) => {}
        Err(Errno::EPERM) => {
            become_root()?;
            unshare(CloneFlags::CLONE_NEWNET).map_err(|e| refused("network", e))?;
        }
        Err(e) => return Err(refused("network", e)),
    }
    open_current()
}

/// The file of the calling thread's network namespace.
fn open_current() -> Result<File, LabError> {
    let path = "/proc/thread-self/ns/net";
    File::open(path).map_err(LabError::io(format!("open {path}")))
}

/// Moves the calling thread into a network namespace.
pub(crate) fn enter(namespace: impl AsFd) -> Result<(), LabError> {
    setns(namespace, CloneFlags::CLONE_NEWNET).map_err(LabError::io("enter a network namespace of the lab"))
}

/// Moves the calling process, which must have a single thread, into the user namespace of process `pid`, unless it
/// is in it already.
pub(crate) fn join_user(pid: i32) -> Result<(), LabError> {
    let theirs = format!("/proc/{pid}/ns/user");
    let doing = || format!("enter the user namespace of the lab ({theirs})");
    let file = File::open(&theirs).map_err(LabError::io(doing()))?;
    let ours = fs::metadata("/proc/self/ns/user").map_err(LabError::io("look at /proc/self/ns/user"))?;
    let metadata = file.metadata().map_err(LabError::io(doing()))?;
    if (metadata.dev(), metadata.ino()) == (ours.dev(), ours.ino()) {
        return Ok(());
    }
    setns(&file, CloneFlags::CLONE_NEWUSER).map_err(LabError::io(doing()))
}

/// Becomes root of a new user namespace in which only the caller's own user and group exist.
fn become_root() -> Result<(), LabError> {
    let (uid, gid) = (geteuid(), getegid());
    unshare(CloneFlags::CLONE_NEWUSER).map_err(|e| refused("user", e))?;
    for (file, text) in
        [("setgroups", "deny".to_string()), ("uid_map", format!("0 {uid} 1")), ("gid_map", format!("0 {gid} 1"))]
    {
        let path = format!("/proc/self/{file}");
        fs::write(&path, text).map_err(LabError::io(format!("write {path}")))?;
    }
    Ok(())
}

fn refused(kind: &str, errno: Errno) -> LabError {
    let sentence = match errno {
        Errno::EPERM | Errno::EACCES => format!(
            "the lab needs network namespaces and this system permits none ({kind} namespace: {errno}); run it as root, \
             or allow unprivileged user namespaces (sysctl kernel.unprivileged_userns_clone=1, \
             user.max_user_namespaces above 0, no chroot around it)"
        ),
        Errno::ENOSPC | Errno::EUSERS => format!(
            "no further {kind} namespace can be made ({errno}); raise user.max_{}_namespaces",
            if kind == "user" { "user" } else { "net" }
        ),
        Errno::ENOSYS | Errno::EINVAL => format!("this kernel has no {kind} namespaces ({errno}); the lab needs them"),
        _ => format!("making a {kind} namespace failed: {errno}"),
    };
    LabError::Missing(sentence)
}

//! The process that a lab lives in.
//!
//! It makes every namespace and keeps its file open; a namespace without a process, file or mount ends, and all its
//! devices with it, so the end of the holder, however it comes about, is the end of the lab. Nothing else of the lab
//! exists in the kernel: no named namespaces, no mounts, no device in the machine's own namespace.
//!
//! `up` starts the holder and talks to it through its standard input and output, one line each: the [`SetupPlan`] in, the
//! [`Report`] out, and then `keep`. A holder that meets the end of its input instead goes away at once, which is what
//! becomes of a lab whose `up` was interrupted.

use crate::batch::{FIRST_NAMESPACE_FD, Script, SetupPlan};
use crate::error::LabError;
use crate::netns;
use crate::state::LabDir;
use crate::tools;
use nix::fcntl::{FcntlArg, fcntl};
use nix::sys::signal::{SigSet, Signal};
use nix::unistd::{alarm, chdir, setsid};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::{BufRead, Write, stdin, stdout};
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;
use std::time::{Duration, Instant};

/// How long what a dead caller had in its hands may take to end.
const CALLER_GRACE: Duration = Duration::from_secs(5);

/// What the holder says when it has made the lab, or cannot.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Report {
    Ready,
    /// The sentence for the user, and whether a right or a program is missing.
    Failed {
        missing: bool,
        sentence: String,
    },
}

/// The word that lets the holder stay.
pub(crate) const KEEP: &str = "keep";

/// The holder's main. Returns its exit status.
pub(crate) fn main(state_path: &Path, life: Duration) -> i32 {
    // Also Ctrl-C at the terminal must not reach it: `up` decides.
    let _ = setsid();
    let _ = chdir("/");
    let mut line = String::new();
    let mut input = stdin().lock();
    let result = input
        .read_line(&mut line)
        .map_err(LabError::io("read the lab's plan"))
        .and_then(|_| serde_json::from_str(&line).map_err(LabError::io("understand the lab's plan")))
        .and_then(|setup: SetupPlan| make(&setup));
    let (report, namespaces) = match result {
        Ok(namespaces) => (Report::Ready, namespaces),
        Err(e) => {
            let missing = matches!(e, LabError::Missing(_));
            (Report::Failed { missing, sentence: e.to_string() }, Vec::new())
        }
    };
    let told = serde_json::to_string(&report).is_ok_and(|text| writeln!(stdout(), "{text}").is_ok());
    if namespaces.is_empty() {
        // The caller has been told, and removes what it made.
        return 1;
    }
    line.clear();
    if !told || input.read_line(&mut line).is_err() || line.trim() != KEEP {
        // The caller is gone: it was interrupted while it brought the lab up, or the lab was attached to it.
        let _ = fs::remove_file(state_path);
        drop(namespaces);
        remove_directory(state_path);
        return 1;
    }
    drop(input);
    release_streams();
    stay(life);
    // An ordinary end by signal or age leaves no state behind. The directory goes with `down`, or is used again.
    let _ = fs::remove_file(state_path);
    0
}

/// Removes the lab's directory in place of a caller that cannot any more, unless the next lab of that name has it.
fn remove_directory(state_path: &Path) {
    let Ok(dir) = LabDir::of_state(state_path) else { return };
    // Programs in the lab end with the caller as well. Until then they write below the directory.
    let _ = dir.wait_unused(CALLER_GRACE);
    let deadline = Instant::now() + CALLER_GRACE;
    // The caller may have died with the lock, and the kernel frees it in its own time.
    while Instant::now() < deadline && dir.path().exists() {
        if let Ok(_lock) = dir.lock() {
            if let Ok(None) = dir.read() {
                let _ = dir.remove();
            }
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Gives up the pipes to `up`, and the terminal or file that standard error is.
fn release_streams() {
    if let Ok(null) = File::options().read(true).write(true).open("/dev/null") {
        let _ = nix::unistd::dup2_stdin(&null);
        let _ = nix::unistd::dup2_stdout(&null);
        let _ = nix::unistd::dup2_stderr(&null);
    }
}

/// Sleeps until a signal asks for the end or `life` (if above zero) is over.
fn stay(life: Duration) {
    let mut signals = SigSet::empty();
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGHUP, Signal::SIGALRM] {
        signals.add(signal);
    }
    let _ = signals.thread_block();
    if !life.is_zero() {
        alarm::set(u32::try_from(life.as_secs()).unwrap_or(u32::MAX).max(1));
    }
    let _ = signals.wait();
}

/// Makes the lab; the descriptors returned are what keeps it.
fn make(setup: &SetupPlan) -> Result<Vec<OwnedFd>, LabError> {
    let mut namespaces = Vec::with_capacity(setup.scripts.len());
    for n in 0..setup.scripts.len() {
        let file = netns::make_network()?;
        namespaces.push(keep_inheritable(&file, FIRST_NAMESPACE_FD + n as i32)?);
        for setting in &setup.settings {
            let path = format!("/proc/sys/net/{}", setting.path);
            match fs::write(&path, &setting.value) {
                Err(e) if setting.required => {
                    return Err(LabError::io(format!("set {path} to {} inside the lab", setting.value))(e));
                }
                Err(e) => log::info!("the lab does without {path} = {}: {e}", setting.value),
                Ok(()) => {}
            }
        }
    }
    let Some(first) = namespaces.first() else { return Ok(namespaces) };
    netns::enter(first)?;
    if let Some(trial) = &setup.trial {
        tools::batch("tc", &trial.tc).map_err(|e| LabError::Missing(format!("{}: {e}", trial.sentence)))?;
    }
    tools::batch("ip", &setup.cables)?;
    for (namespace, Script { ip, tc }) in namespaces.iter().zip(&setup.scripts) {
        netns::enter(namespace)?;
        tools::batch("ip", ip)?;
        if !tc.is_empty() {
            tools::batch("tc", tc)?;
        }
    }
    Ok(namespaces)
}

/// Duplicates a descriptor to the given number, which children inherit.
fn keep_inheritable(file: &File, number: i32) -> Result<OwnedFd, LabError> {
    let got = fcntl(file, FcntlArg::F_DUPFD(number)).map_err(LabError::io("keep a network namespace open"))?;
    // SAFETY: the kernel has just made this descriptor for us, and nothing else has it.
    let fd = unsafe { OwnedFd::from_raw_fd(got) };
    if got == number {
        Ok(fd)
    } else {
        Err(LabError::Refused(format!("descriptor {number} of the lab's holder was taken where it should be free")))
    }
}

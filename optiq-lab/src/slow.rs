//! Half a processor for one host: all its processes are stopped half of the time (decision 026).
//!
//! The first process of a process namespace can signal all others in it with one call, and they end with it, whoever has
//! started them. So a slow host's processes have a namespace of their own: that of the run if a command runs on the host
//! alone, else one inside it, in which a *stopper* is first and what `mpirun` starts there second.
//!
//! ```text
//! supervisor ══ init ── mpirun ── agent ══ stopper (process 1 of a process namespace)
//!                                      └══ orted, ranks (in it as well)
//! ```

use crate::blueprint::Blueprint;
use crate::constants::SLOW_PERIOD;
use crate::entry::{ENTRY, current_binary};
use crate::error::LabError;
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigHandler, Signal, kill, signal};
use nix::unistd::Pid;
use std::ffi::OsStr;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The stopper's word on the command line.
pub(crate) const VERB: &str = "stopper";

/// How much of the time processes run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pace {
    /// All of it.
    Whole,
    /// Half of it.
    Half,
}

impl Pace {
    /// That of processes in a namespace of the lab.
    pub(crate) fn of(blueprint: &Blueprint, namespace: usize) -> Self {
        if blueprint.is_slow(namespace) { Pace::Half } else { Pace::Whole }
    }

    /// As it stands on a command line.
    pub(crate) fn word(self) -> &'static str {
        match self {
            Pace::Whole => "whole",
            Pace::Half => "half",
        }
    }

    pub(crate) fn parse(word: &OsStr) -> Option<Self> {
        [Pace::Whole, Pace::Half].into_iter().find(|pace| word == pace.word())
    }
}

/// Stops and continues all other processes of the caller's process namespace, in which it must be the first.
#[derive(Debug)]
pub(crate) struct DutyCycle {
    began: Instant,
    stopped: bool,
}

impl DutyCycle {
    pub(crate) fn start() -> Self {
        DutyCycle { began: Instant::now(), stopped: false }
    }

    /// Does what the time says is due, and returns how long until the next turn. Turns are counted from the beginning, so
    /// that what is late once does not change the share.
    pub(crate) fn turn(&mut self) -> Duration {
        let (stop, rest) = phase(self.began.elapsed());
        if stop != self.stopped {
            self.stopped = stop;
            // None is there to be stopped before the first has started.
            let _ = kill(Pid::from_raw(-1), if stop { Signal::SIGSTOP } else { Signal::SIGCONT });
        }
        rest
    }
}

/// Whether processes are to be stopped at this time, and how long that holds.
fn phase(elapsed: Duration) -> (bool, Duration) {
    let half = Duration::from_secs_f64(SLOW_PERIOD / 2.0);
    let turns = elapsed.as_nanos() / half.as_nanos();
    let into = Duration::from_nanos((elapsed.as_nanos() % half.as_nanos()) as u64);
    (turns % 2 == 1, half.saturating_sub(into))
}

/// The stopper's main: it is there until the run ends, and the kernel ends it with the run's process namespace.
pub(crate) fn main() -> i32 {
    // Processes that lost their parent are the stopper's children, and no process waits for them.
    // SAFETY: no handler is set, only the kernel's own way to drop children that have ended.
    let _ = unsafe { signal(Signal::SIGCHLD, SigHandler::SigIgn) };
    let mut cycle = DutyCycle::start();
    loop {
        sleep(cycle.turn());
    }
}

/// Runs a command, and all that it starts, in a process namespace with a stopper. Returns its exit status as a shell has it;
/// what it leaves running stays, with the stopper.
///
/// # Errors
/// [`LabError::Io`] if the namespace cannot be made, or a process not be started.
pub(crate) fn run(mut command: Command) -> Result<i32, LabError> {
    unshare(CloneFlags::CLONE_NEWPID).map_err(LabError::io("make a process namespace for the slow host"))?;
    let binary = current_binary()?;
    Command::new(&binary)
        .args([ENTRY, VERB])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .map_err(LabError::io(format!("start {}", binary.display())))?;
    // What ends the agent ends the command, as if the agent had become the command.
    // SAFETY: between fork and exec this makes one system call and allocates nothing.
    unsafe { command.pre_exec(|| Ok(set_pdeathsig(Signal::SIGTERM)?)) };
    let status = command.status().map_err(LabError::io("start /bin/sh"))?;
    Ok(status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_time_is_stopped() {
        let at = |milliseconds| phase(Duration::from_millis(milliseconds));
        assert_eq!(at(0), (false, Duration::from_millis(10)));
        assert_eq!(at(13), (true, Duration::from_millis(7)));
        assert_eq!(at(20), (false, Duration::from_millis(10)));
        let stopped = (0..2_000).filter(|&ms| at(ms).0).count();
        assert_eq!(stopped, 1_000);
    }

    #[test]
    fn words_are_read() {
        for pace in [Pace::Whole, Pace::Half] {
            assert_eq!(Pace::parse(OsStr::new(pace.word())), Some(pace));
        }
        assert_eq!(Pace::parse(OsStr::new("third")), None);
    }
}

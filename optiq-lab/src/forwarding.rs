//! Signals to the calling process that end its runs and not the process.

use crate::error::LabError;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::process::Child;
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};

/// The most runs at once.
pub(crate) const MOST_RUNS: usize = 64;
/// The supervisors to which the signal handler passes signals; 0 where there is none.
static SUPERVISORS: [AtomicI32; MOST_RUNS] = [const { AtomicI32::new(0) }; MOST_RUNS];
/// The last signal, for supervisors that are started after it.
static LAST: AtomicI32 = AtomicI32::new(0);
/// Whether runs of this process have the handlers.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// SIGINT, SIGTERM and SIGHUP end runs while this lives.
pub(crate) struct Forwarding {
    before: Vec<(Signal, SigAction)>,
}

extern "C" fn forward(signal: libc::c_int) {
    LAST.store(signal, Ordering::SeqCst);
    SUPERVISORS.iter().for_each(|supervisor| send(supervisor.load(Ordering::SeqCst), signal));
}

fn send(pid: i32, signal: libc::c_int) {
    if pid > 0 {
        // SAFETY: kill(2) may be called in signal handlers, and the number is that of a child not yet waited for, or
        // of one that was within the last moments.
        unsafe {
            libc::kill(pid, signal);
        }
    }
}

impl Forwarding {
    /// Takes the signals over.
    ///
    /// # Errors
    /// [`LabError::State`] if this process has a run already.
    pub(crate) fn start() -> Result<Self, LabError> {
        if TAKEN.swap(true, Ordering::SeqCst) {
            return Err(LabError::State(
                "this process runs a program in a lab already; one at a time is expected".into(),
            ));
        }
        SUPERVISORS.iter().for_each(|supervisor| supervisor.store(0, Ordering::SeqCst));
        LAST.store(0, Ordering::SeqCst);
        let action = SigAction::new(SigHandler::Handler(forward), SaFlags::SA_RESTART, SigSet::empty());
        let mut forwarding = Forwarding { before: Vec::new() };
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            // SAFETY: the handler only loads and stores atomics and calls kill(2).
            let before = unsafe { sigaction(signal, &action) }.map_err(LabError::io("handle signals"))?;
            forwarding.before.push((signal, before));
        }
        Ok(forwarding)
    }

    /// A supervisor that gets them from now on, and the last one that came before; the number by which it is removed.
    ///
    /// # Errors
    /// [`LabError::Argument`] if there are [`MOST_RUNS`].
    pub(crate) fn add(&self, pid: u32) -> Result<usize, LabError> {
        let pid = pid as i32;
        let free =
            |supervisor: &AtomicI32| supervisor.compare_exchange(0, pid, Ordering::SeqCst, Ordering::SeqCst).is_ok();
        let too_many = || LabError::Argument(format!("more than {MOST_RUNS} runs at once; fewer are expected"));
        let slot = SUPERVISORS.iter().position(free).ok_or_else(too_many)?;
        match LAST.load(Ordering::SeqCst) {
            0 => {}
            signal => send(pid, signal),
        }
        Ok(slot)
    }

    /// As [`Forwarding::add`]; a supervisor for which there is no place is ended, and with it its run, before the error is told.
    ///
    /// # Errors
    /// As [`Forwarding::add`].
    pub(crate) fn add_or_end(&self, supervisor: &mut Child) -> Result<usize, LabError> {
        self.add(supervisor.id()).inspect_err(|_| {
            send(supervisor.id() as i32, Signal::SIGTERM as i32);
            // It has ended, or cannot be waited for; the error above says what matters.
            let _ = supervisor.wait();
        })
    }

    /// A supervisor that has ended gets none.
    pub(crate) fn remove(&self, slot: usize) {
        SUPERVISORS[slot].store(0, Ordering::SeqCst);
    }

    /// Asks all runs to end.
    pub(crate) fn end_all(&self) {
        SUPERVISORS.iter().for_each(|supervisor| send(supervisor.load(Ordering::SeqCst), Signal::SIGTERM as i32));
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        SUPERVISORS.iter().for_each(|supervisor| supervisor.store(0, Ordering::SeqCst));
        for (signal, before) in &self.before {
            // SAFETY: puts back what was there.
            let _ = unsafe { sigaction(*signal, before) };
        }
        TAKEN.store(false, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use std::os::unix::process::ExitStatusExt;
    use std::process::Command;

    #[test]
    fn a_run_without_a_place_is_ended() {
        let sleep = || Command::new("sleep").arg("60").spawn().unwrap();
        let (mut other, mut late) = (sleep(), sleep());
        let forwarding = Forwarding::start().unwrap();
        let slots: Vec<usize> = (0..MOST_RUNS).map(|_| forwarding.add(other.id()).unwrap()).collect();
        assert_eq!(slots, (0..MOST_RUNS).collect::<Vec<_>>());
        let why = forwarding.add_or_end(&mut late).unwrap_err().to_string();
        assert_eq!(why, "more than 64 runs at once; fewer are expected");
        assert_eq!(late.try_wait().unwrap().unwrap().signal(), Some(Signal::SIGTERM as i32));
        assert!(other.try_wait().unwrap().is_none());
        forwarding.remove(5);
        assert_eq!(forwarding.add_or_end(&mut other).unwrap(), 5);
        forwarding.end_all();
        other.wait().unwrap();
    }
}

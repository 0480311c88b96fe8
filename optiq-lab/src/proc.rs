//! Processes as `/proc` shows them: which one a number stands for now, and whether it is still the one it was.

use crate::error::LabError;
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::Signal;
use serde::{Deserialize, Serialize};
use std::fs;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::time::{Duration, Instant};

/// A process that cannot be confused with a later one of the same number: a number is used again, but not in the
/// same boot with the same start time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessId {
    /// The number.
    pub pid: i32,
    /// When it was started, in clock ticks since the machine was.
    pub start_ticks: u64,
    /// The boot of the machine that both belong to.
    pub boot: String,
}

impl ProcessId {
    /// The process that has this number now.
    ///
    /// # Errors
    /// [`LabError::Io`] if there is none, or `/proc` is not mounted.
    pub(crate) fn of(pid: i32) -> Result<Self, LabError> {
        let path = format!("/proc/{pid}/stat");
        let stat = fs::read_to_string(&path).map_err(LabError::io(format!("read {path}")))?;
        let start_ticks = start_ticks(&stat)
            .ok_or_else(|| LabError::State(format!("{path} has no start time where it should be")))?;
        Ok(ProcessId { pid, start_ticks, boot: boot()? })
    }

    /// Whether the same process still exists, and not another one with its number.
    pub(crate) fn is_alive(&self) -> bool {
        Self::of(self.pid).is_ok_and(|now| now == *self)
    }

    /// A handle on the same process; none if it has ended.
    ///
    /// # Errors
    /// [`LabError::Io`] if the kernel gives no handle on a process that exists (it can since Linux 5.3).
    pub(crate) fn open(&self) -> Result<Option<Handle>, LabError> {
        // SAFETY: pidfd_open takes two integers and touches no memory of ours.
        let fd = unsafe { libc::syscall(libc::SYS_pidfd_open, self.pid, 0) };
        if fd < 0 {
            return match Errno::last() {
                Errno::ESRCH => Ok(None),
                e => Err(LabError::io(format!("get a handle on process {}", self.pid))(e)),
            };
        }
        // SAFETY: the kernel has just made this descriptor for us, and nothing else has it.
        let handle = Handle(unsafe { OwnedFd::from_raw_fd(fd as i32) });
        // The handle holds on to whatever had the number; now see whether that is the one we mean.
        Ok(self.is_alive().then_some(handle))
    }
}

/// A process, whatever becomes of its number.
pub(crate) struct Handle(OwnedFd);

impl Handle {
    /// Sends a signal; a process that has ended takes it silently.
    pub(crate) fn signal(&self, signal: Signal) -> Result<(), LabError> {
        let none: *const libc::siginfo_t = std::ptr::null();
        // SAFETY: an open descriptor, a signal number, and a null siginfo, which stands for the one of kill(2).
        let result =
            unsafe { libc::syscall(libc::SYS_pidfd_send_signal, self.0.as_raw_fd(), signal as libc::c_int, none, 0) };
        match Errno::result(result) {
            Ok(_) | Err(Errno::ESRCH) => Ok(()),
            Err(e) => Err(LabError::io(format!("send {signal} to the lab's holder"))(e)),
        }
    }

    /// Waits until it has ended, at most `limit`; whether it has.
    pub(crate) fn wait(&self, limit: Duration) -> Result<bool, LabError> {
        let deadline = Instant::now() + limit;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let millis = u16::try_from(left.as_millis()).unwrap_or(u16::MAX);
            match poll(&mut [PollFd::new(self.0.as_fd(), PollFlags::POLLIN)], PollTimeout::from(millis)) {
                Ok(0) if left.is_zero() => return Ok(false),
                Ok(0) | Err(Errno::EINTR) => {}
                Ok(_) => return Ok(true),
                Err(e) => return Err(LabError::io("wait for the lab's holder")(e)),
            }
        }
    }
}

impl AsFd for Handle {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// Field 22 of `/proc/<pid>/stat`; none for a process that has ended and was not yet waited for. The second field is
/// a name in parentheses that may hold spaces and parentheses; the third is the state.
fn start_ticks(stat: &str) -> Option<u64> {
    let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X" | "x") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// The number of the calling process's parent in the process namespace that `/proc` shows.
pub(crate) fn parent_in_proc() -> Option<i32> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    stat[stat.rfind(')')? + 1..].split_whitespace().nth(1)?.parse().ok()
}

/// Which boot of the machine this is.
fn boot() -> Result<String, LabError> {
    let path = "/proc/sys/kernel/random/boot_id";
    Ok(fs::read_to_string(path).map_err(LabError::io(format!("read {path}")))?.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_start_time_behind_a_hostile_name() {
        let stat = "77 (a) b) S 1 77 77 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 4711 99 100";
        assert_eq!(start_ticks(stat), Some(4711));
        assert_eq!(start_ticks(&stat.replace(" S ", " Z ")), None);
        assert_eq!(start_ticks("77 (a) S 1"), None);
        assert_eq!(start_ticks(""), None);
    }

    #[test]
    fn a_zombie_is_not_alive() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let pid = child.id() as i32;
        let deadline = Instant::now() + Duration::from_secs(20);
        while ProcessId::of(pid).is_ok() {
            assert!(Instant::now() < deadline);
            std::thread::sleep(Duration::from_millis(5));
        }
        child.wait().unwrap();
    }

    #[test]
    fn knows_a_process_from_its_namesake() {
        let me = ProcessId::of(std::process::id() as i32).unwrap();
        assert!(me.is_alive());
        assert!(me.open().unwrap().is_some());
        let other_start = ProcessId { start_ticks: me.start_ticks + 1, ..me.clone() };
        assert!(!other_start.is_alive());
        assert!(other_start.open().unwrap().is_none());
        let other_boot = ProcessId { boot: "another".into(), ..me };
        assert!(!other_boot.is_alive());
    }
}

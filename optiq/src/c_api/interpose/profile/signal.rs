//! Writing the profile on a signal.
//!
//! The handler only writes a byte into a pipe, which signal handlers may do (POSIX.1-2017, section 2.4.3). A thread waits for it, reads
//! the counters and writes the file, so that a program is profiled that hangs or never comes to a bound of a region.

use super::super::streams::without_signals;
use crate::config::ProfileSignal;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

/// The end of the pipe that the handler writes to.
static PIPE: AtomicI32 = AtomicI32::new(-1);

extern "C" fn note(_: c_int) {
    // SAFETY: async-signal-safe functions; the value of errno is put back. A full pipe has its byte already.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        libc::write(PIPE.load(Relaxed), c"s".as_ptr().cast::<c_void>(), 1);
        *errno = before;
    }
}

/// Has `act` called, on a thread of its own, after each of these signals.
///
/// # Errors
/// A sentence, if the program handles the signal itself, or the system refuses.
pub(super) fn on(signal: ProfileSignal, act: impl Fn() + Send + 'static) -> Result<(), String> {
    let (number, name) = match signal {
        ProfileSignal::Usr1 => (libc::SIGUSR1, "SIGUSR1"),
        ProfileSignal::Usr2 => (libc::SIGUSR2, "SIGUSR2"),
    };
    let failed = |what: &str| Err(format!("{what} failed: {}", std::io::Error::last_os_error()));
    let mut ends = [0; 2];
    // SAFETY: out-parameters; a handler that does as above.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(number, std::ptr::null(), &mut before) != 0 {
            return failed("sigaction");
        }
        if before.sa_sigaction != libc::SIG_DFL && before.sa_sigaction != libc::SIG_IGN {
            return Err(format!("the program handles {name} itself"));
        }
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return failed("pipe2");
        }
        libc::fcntl(ends[1], libc::F_SETFL, libc::O_NONBLOCK);
    }
    let from = ends[0];
    let wait = move || {
        let mut byte = 0u8;
        loop {
            // SAFETY: a buffer of one byte.
            match unsafe { libc::read(from, (&raw mut byte).cast::<c_void>(), 1) } {
                1 => act(),
                -1 if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => {}
                _ => return,
            }
        }
    };
    let thread = std::thread::Builder::new().name("optiq-profile".into());
    without_signals(|| thread.spawn(wait)).map_err(|e| format!("a thread cannot be started: {e}"))?;
    PIPE.store(ends[1], Relaxed);
    // SAFETY: as above.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = note as extern "C" fn(c_int) as usize;
        action.sa_flags = libc::SA_RESTART;
        if libc::sigaction(number, &action, std::ptr::null_mut()) != 0 {
            return failed("sigaction");
        }
    }
    Ok(())
}

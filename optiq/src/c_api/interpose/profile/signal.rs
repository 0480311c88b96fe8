//! Writing the profile on a signal: one that the user names, and SIGTERM, with which launchers and batch systems end what is left of a job when
//! a rank has died or time is up. After SIGTERM the process ends, as it would have without a profile.
//!
//! The handler only writes the signal's number into a pipe, which signal handlers may do (POSIX.1-2017, section 2.4.3). A thread waits for it, reads
//! the counters and writes the file, so that a program is profiled that hangs or never comes to a bound of a region.

use super::super::streams::without_signals;
use crate::config::ProfileSignal;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};
use std::time::Duration;

/// The end of the pipe that the handler writes to.
static PIPE: AtomicI32 = AtomicI32::new(-1);

extern "C" fn note(number: c_int) {
    let byte = number as u8;
    // SAFETY: async-signal-safe functions; the value of errno is put back. A full pipe has its bytes already.
    unsafe {
        let errno = libc::__errno_location();
        let before = *errno;
        libc::write(PIPE.load(Relaxed), (&raw const byte).cast::<c_void>(), 1);
        *errno = before;
    }
}

/// Has `act` called, on a thread of its own, after each of these signals, and before SIGTERM ends the process.
///
/// # Errors
/// A sentence, if the program handles the wanted signal itself, or the system refuses. SIGTERM is then handled all the same, if the program
/// does not.
pub(super) fn on(wanted: Option<ProfileSignal>, act: impl Fn() + Send + 'static) -> Result<(), String> {
    let wanted = wanted.map(|signal| match signal {
        ProfileSignal::Usr1 => (libc::SIGUSR1, "SIGUSR1"),
        ProfileSignal::Usr2 => (libc::SIGUSR2, "SIGUSR2"),
    });
    let mut ends = [0; 2];
    // SAFETY: an out-parameter, and descriptors of ours.
    unsafe {
        if libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) != 0 {
            return failed("pipe2");
        }
        libc::fcntl(ends[1], libc::F_SETFL, libc::O_NONBLOCK);
    }
    let from = ends[0];
    let thread = std::thread::Builder::new().name("optiq-profile".into());
    let wait = move || wait(from, act);
    without_signals(|| thread.spawn(wait)).map_err(|e| format!("a thread cannot be started: {e}"))?;
    PIPE.store(ends[1], Relaxed);
    if handler(libc::SIGTERM)? == libc::SIG_DFL {
        handle(libc::SIGTERM)?;
    }
    match wanted {
        Some((number, name)) if [libc::SIG_DFL, libc::SIG_IGN].contains(&handler(number)?) => {
            handle(number).map_err(|why| format!("{name}: {why}"))
        }
        Some((_, name)) => Err(format!("the program handles {name} itself")),
        None => Ok(()),
    }
}

fn failed<T>(what: &str) -> Result<T, String> {
    Err(format!("{what} failed: {}", std::io::Error::last_os_error()))
}

/// For how long a process stays after it has acted on SIGTERM. Open MPI's daemon gives its processes one second (`odls_base_sigkill_timeout`), but
/// in a `sleep` that the end of the first of them cuts short: then all that still write are killed.
const OTHERS: Duration = Duration::from_millis(500);

/// Reads the numbers of signals for good.
fn wait(from: c_int, act: impl Fn()) {
    let mut byte = 0u8;
    loop {
        // SAFETY: a buffer of one byte.
        match unsafe { libc::read(from, (&raw mut byte).cast::<c_void>(), 1) } {
            1 => act(),
            -1 if std::io::Error::last_os_error().kind() == std::io::ErrorKind::Interrupted => continue,
            _ => return,
        }
        if c_int::from(byte) == libc::SIGTERM {
            std::thread::sleep(OTHERS);
            // SAFETY: the default action, and a signal to this process.
            unsafe {
                libc::signal(libc::SIGTERM, libc::SIG_DFL);
                libc::kill(libc::getpid(), libc::SIGTERM);
            }
        }
    }
}

/// What handles a signal now.
fn handler(number: c_int) -> Result<usize, String> {
    // SAFETY: zeros are a valid action; an out-parameter.
    unsafe {
        let mut before: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(number, std::ptr::null(), &mut before) != 0 {
            return failed("sigaction");
        }
        Ok(before.sa_sigaction)
    }
}

fn handle(number: c_int) -> Result<(), String> {
    // SAFETY: a handler that does as above.
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

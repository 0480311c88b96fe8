//! Ctrl-C ends a simulation, not the command: what was found by then is shown.

use crate::failure::Failure;
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};

static STOP: AtomicBool = AtomicBool::new(false);

extern "C" fn stop(_: i32) {
    STOP.store(true, SeqCst);
}

/// Becomes true with the first signal; the second one ends the command.
pub fn watch() -> Result<&'static AtomicBool, Failure> {
    let flags = SaFlags::SA_RESTART | SaFlags::SA_RESETHAND;
    let action = SigAction::new(SigHandler::Handler(stop), flags, SigSet::empty());
    for signal in [Signal::SIGINT, Signal::SIGTERM] {
        // SAFETY: the handler does nothing but store a flag.
        unsafe { sigaction(signal, &action) }.map_err(|e| Failure::Work(format!("cannot handle signals: {e}")))?;
    }
    Ok(&STOP)
}

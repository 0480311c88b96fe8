//! What the set-up of a session took, part by part, for the log.

use std::fmt::Write;
use std::time::Instant;

/// The parts so far.
pub(super) struct Parts {
    began: Instant,
    last: Instant,
    text: String,
}

impl Parts {
    pub(super) fn begin() -> Self {
        let now = Instant::now();
        Self { began: now, last: now, text: String::new() }
    }

    /// What has gone on since the part before was called so.
    pub(super) fn end(&mut self, name: &str) {
        let now = Instant::now();
        let comma = if self.text.is_empty() { "" } else { ", " };
        // Writing to a string does not fail.
        let _ = write!(self.text, "{comma}{name} {:.1} ms", (now - self.last).as_secs_f64() * 1e3);
        self.last = now;
    }

    /// One line at level debug.
    pub(super) fn log(&self) {
        let all = (self.last - self.began).as_secs_f64() * 1e3;
        log::debug!("a session was set up in {all:.1} ms: {}", self.text);
    }
}

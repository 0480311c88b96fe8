//! What long work is doing now: on standard error, and only if that is a terminal.

use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::Duration;

/// A spinner that says what is being done and for how long; gone without a trace when dropped.
pub struct Progress(Option<ProgressBar>);

impl Progress {
    /// Starts to spin.
    pub fn start(doing: impl Into<String>) -> Self {
        if !std::io::stderr().is_terminal() {
            return Progress(None);
        }
        let bar = ProgressBar::new_spinner().with_message(doing.into());
        if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(120));
        Progress(Some(bar))
    }

    /// Shows nothing.
    #[cfg(feature = "mpi")]
    pub fn none() -> Self {
        Progress(None)
    }

    /// Says what is being done now.
    pub fn now(&self, doing: impl Into<String>) {
        if let Some(bar) = &self.0 {
            bar.set_message(doing.into());
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

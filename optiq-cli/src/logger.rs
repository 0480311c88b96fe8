//! A logger to standard error, switched on with `OPTIQ_LOG`.

use crate::failure::Failure;
use log::{LevelFilter, Log, Metadata, Record};
use std::io::Write;

struct Stderr;

impl Log for Stderr {
    fn enabled(&self, metadata: &Metadata) -> bool {
        metadata.level() <= log::max_level()
    }

    fn log(&self, record: &Record) {
        if self.enabled(record.metadata()) {
            let level = record.level().as_str().to_ascii_lowercase();
            // A log line that cannot be written is no reason to stop.
            let _ = writeln!(std::io::stderr(), "optiq: {level}: {}: {}", record.target(), record.args());
        }
    }

    fn flush(&self) {}
}

/// Installs the logger with the level of `OPTIQ_LOG`; warnings and errors if it is not set.
///
/// # Errors
/// [`Failure::Input`] if the variable holds no level.
pub fn install() -> Result<(), Failure> {
    let level = match std::env::var_os("OPTIQ_LOG") {
        None => LevelFilter::Warn,
        Some(text) => text.to_str().and_then(|t| t.trim().parse().ok()).ok_or_else(|| {
            let text = text.to_string_lossy();
            Failure::Input(format!("OPTIQ_LOG is \"{text}\"; off, error, warn, info, debug or trace is expected"))
        })?,
    };
    // It fails only if there is a logger already, which then does the same.
    let _ = log::set_logger(&Stderr);
    log::set_max_level(level);
    Ok(())
}

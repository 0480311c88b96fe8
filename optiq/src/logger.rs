//! Log lines on standard error, each with who says it.

use log::{Level, LevelFilter, Log, Metadata, Record};
use std::collections::BTreeSet;
use std::io::Write;
use std::sync::{Mutex, OnceLock, PoisonError};

struct Stderr {
    who: String,
}

static LOGGER: OnceLock<Stderr> = OnceLock::new();

impl Log for Stderr {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("optiq")
    }

    fn log(&self, record: &Record<'_>) {
        if !self.enabled(record.metadata()) {
            return;
        }
        let level = match record.level() {
            Level::Error => "error: ",
            Level::Warn => "warning: ",
            Level::Info => "",
            Level::Debug | Level::Trace => "debug: ",
        };
        // One write per line, so that lines of different ranks do not mix. A failure cannot be reported anywhere.
        let line = format!("optiq{}: {level}{}\n", self.who, record.args());
        let _ = std::io::stderr().write_all(line.as_bytes());
    }

    fn flush(&self) {}
}

/// Different warnings that a process gives through [`warn_once`] at most.
const MOST_WARNINGS: usize = 16;

/// A warning about what may come again with every communicator: said once, and no more than a few of its kind.
pub fn warn_once(text: &str) {
    static SAID: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut said = SAID.lock().unwrap_or_else(PoisonError::into_inner);
    if said.len() < MOST_WARNINGS && said.insert(text.to_string()) {
        log::warn!("{text}");
    }
}

/// Sends OPTIQ's log records to standard error, each line led by `optiq` and `who` (such as `[rank 3 on h3]`, or
/// nothing). Does nothing but set the level if the program has installed a logger of its own.
pub fn init(who: &str, level: LevelFilter) {
    let logger = LOGGER.get_or_init(|| Stderr { who: who.to_string() });
    // An error means that the program has a logger of its own, which is as good.
    let _ = log::set_logger(logger);
    log::set_max_level(level);
}

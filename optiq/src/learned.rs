//! What the communicators of this process learned of MPI and OPTIQ, for the report and the file at the end.

use optiq_lower::learned::{Learned, Subject, Times};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::path::Path;

static LEARNED: Mutex<Kept> = Mutex::new(Kept { learned: Learned(BTreeMap::new()), file: None });

struct Kept {
    learned: Learned,
    /// `OPTIQ_LEARNED` of the first communicator that learned anything.
    file: Option<String>,
}

/// Keeps what is known by now of a subject, in place of what was known before.
pub(crate) fn keep(subject: Subject, times: Times, file: Option<&str>) {
    let mut kept = LEARNED.lock();
    kept.learned.0.insert(subject, times);
    if kept.file.is_none() {
        kept.file = file.map(String::from);
    }
}

/// The lines of a report, a headline included; empty if nothing was learned.
pub(crate) fn lines() -> String {
    let learned = &LEARNED.lock().learned;
    if learned.0.is_empty() {
        return String::new();
    }
    format!("  learned, as shares of the link bound on the fabric's own routes:\n{learned}")
}

/// Adds what was learned to the file of `OPTIQ_LEARNED`, if anything was. A failure is said once and keeps nothing from ending.
pub(crate) fn save() {
    let Kept { learned, file } = &mut *LEARNED.lock();
    if let Some(file) = file.take()
        && let Err(error) = learned.add_to(Path::new(&file))
    {
        log::warn!("OPTIQ_LEARNED: {error}; what was learned is not kept");
    }
}

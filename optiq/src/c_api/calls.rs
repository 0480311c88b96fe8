//! The report of programs that call the library themselves: how many calls were served by planned paths, how many by MPI,
//! and why. Those that change nothing and run under the preload library have another, in `interpose/counts.rs`.
//!
//! What serves a call is decided by all ranks of its communicator alike, so rank 0 of MPI_COMM_WORLD reports its own calls,
//! and nothing is sent for it.

use super::message::remember;
use crate::{busy_links, learned, networks};
use optiq_lower::decide::Decision;
use optiq_transport::mpi::ffi;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Reasons that have a line each; a program with more has one line for all others.
const MOST_REASONS: usize = 16;

static WANTED: AtomicBool = AtomicBool::new(false);
static COUNTS: Mutex<BTreeMap<&'static str, Counts>> = Mutex::new(BTreeMap::new());

/// Blocking exchanges that went to MPI without an agreement: they take a microsecond, and cannot wait for a lock.
static UNAGREED: AtomicU64 = AtomicU64::new(0);

/// What happened to the calls of one function.
#[derive(Default)]
struct Counts {
    planned: u64,
    /// Through the I/O hosts, or straight from rank to rank.
    otherwise: u64,
    mpi: u64,
    reasons: BTreeMap<String, u64>,
}

/// Begins to count, if a report is wanted.
pub(super) fn begin(wanted: bool) {
    COUNTS.lock().clear();
    UNAGREED.store(0, Relaxed);
    WANTED.store(wanted, Relaxed);
}

/// Counts a call of `function` that has succeeded, and keeps its decision for `optiq_last_decision`.
pub(super) fn record(function: &'static str, decision: &Arc<Decision>) {
    count(function, decision);
    remember(decision);
}

/// Counts a call of `function`.
pub(super) fn count(function: &'static str, decision: &Decision) {
    if !WANTED.load(Relaxed) {
        return;
    }
    let mut all = COUNTS.lock();
    let counts = all.entry(function).or_default();
    match decision {
        Decision::Multipath { .. } => counts.planned += 1,
        Decision::Aggregation { .. } | Decision::Direct { .. } | Decision::Combined { .. } => counts.otherwise += 1,
        Decision::Mpi { reason } | Decision::MpiFile { reason, .. } => {
            counts.mpi += 1;
            let known = counts.reasons.len() < MOST_REASONS || counts.reasons.contains_key(reason);
            let reason = if known { reason.as_str() } else { "other reasons" };
            *counts.reasons.entry(reason.to_owned()).or_default() += 1;
        }
    }
}

/// Counts a blocking exchange that went to MPI without an agreement. Threads that make them at the same time write to one number, so
/// only for a report.
#[inline]
pub(super) fn count_unagreed() {
    if WANTED.load(Relaxed) {
        UNAGREED.fetch_add(1, Relaxed);
    }
}

/// On rank 0, adds what was learned to its file, and prints the report if it is wanted and was not printed. MPI must be initialised, and may be being finalised.
pub(super) fn report() {
    let mut rank = 0;
    // SAFETY: by this function's contract.
    unsafe { ffi::PMPI_Comm_rank(ffi::RSMPI_COMM_WORLD, &mut rank) };
    let wanted = WANTED.swap(false, Relaxed);
    if rank != 0 {
        return;
    }
    learned::save();
    if wanted {
        let calls = lines(&COUNTS.lock(), UNAGREED.load(Relaxed));
        let text = calls + &networks::guessed_line() + &busy_links::lines() + &learned::lines();
        // One write, so that it stays one block. A failure cannot be reported anywhere.
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

/// The block that is printed.
fn lines(all: &BTreeMap<&'static str, Counts>, unagreed: u64) -> String {
    let mut text = String::from("optiq: calls of rank 0 to the library\n");
    let nothing = Counts::default();
    let mut functions: Vec<(&str, &Counts, u64)> = all.iter().map(|(name, counts)| (*name, counts, 0)).collect();
    if unagreed > 0 {
        match functions.iter_mut().find(|(name, ..)| *name == EXCHANGE) {
            Some(found) => found.2 = unagreed,
            None => functions.push((EXCHANGE, &nothing, unagreed)),
        }
    }
    for (name, counts, unagreed) in &functions {
        let other = match counts.otherwise {
            0 => String::new(),
            n => format!(", {n} through I/O hosts or straight from rank to rank"),
        };
        // Writing to a string does not fail.
        let _ = writeln!(
            text,
            "  {name}: {} served by planned paths{other}, {} by plain MPI",
            counts.planned,
            counts.mpi + unagreed
        );
        for (reason, n) in &counts.reasons {
            let _ = writeln!(text, "    {n}: {reason}");
        }
        if *unagreed > 0 {
            let _ = writeln!(text, "    {unagreed}: without an agreement, as earlier calls gave no reason for one");
        }
    }
    if functions.is_empty() {
        text.push_str("  none\n");
    }
    text
}

/// The blocking exchange.
pub(super) const EXCHANGE: &str = "optiq_alltoallv";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_served_and_why() {
        assert_eq!(lines(&BTreeMap::new(), 0), "optiq: calls of rank 0 to the library\n  none\n");
        let reasons = BTreeMap::from([("OPTIQ_K is \"0\"".to_owned(), 2)]);
        let counts = Counts { planned: 3, otherwise: 0, mpi: 2, reasons };
        let text = lines(&BTreeMap::from([(EXCHANGE, counts)]), 5);
        assert!(text.contains("  optiq_alltoallv: 3 served by planned paths, 7 by plain MPI\n"), "{text}");
        assert!(text.contains("    2: OPTIQ_K is \"0\"\n    5: without an agreement"), "{text}");
        assert!(lines(&BTreeMap::new(), 4).contains("optiq_alltoallv: 0 served by planned paths, 4 by plain MPI"));
    }
}

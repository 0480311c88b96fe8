//! How many calls went which way, and the report of it at `MPI_Finalize`.

use crate::config::Config;
use crate::{busy_links, learned, networks};
use optiq_transport::mpi::{ffi, is_initialized, quietly};
use std::ffi::{c_int, c_void};
use std::fmt::Write;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};

/// A function that programs call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Function {
    /// `MPI_Alltoallv`.
    Alltoallv,
    /// `MPI_Alltoall`.
    Alltoall,
    /// `MPI_Ialltoallv`.
    Ialltoallv,
    /// `MPI_Alltoallv_init`, or `MPIX_Alltoallv_init`.
    AlltoallvInit,
    /// `MPI_Neighbor_alltoallv`.
    NeighborAlltoallv,
    /// `MPI_Neighbor_alltoall`.
    NeighborAlltoall,
    /// `MPI_Ineighbor_alltoallv`.
    IneighborAlltoallv,
    /// `MPI_Neighbor_alltoallv_init`, or `MPIX_Neighbor_alltoallv_init`.
    NeighborAlltoallvInit,
}

pub(super) const FUNCTIONS: [&str; 8] = [
    "MPI_Alltoallv",
    "MPI_Alltoall",
    "MPI_Ialltoallv",
    "MPI_Alltoallv_init",
    "MPI_Neighbor_alltoallv",
    "MPI_Neighbor_alltoall",
    "MPI_Ineighbor_alltoallv",
    "MPI_Neighbor_alltoallv_init",
];

impl Function {
    /// Its name in MPI.
    pub(super) fn name(self) -> &'static str {
        FUNCTIONS[self as usize]
    }
}

/// How a call ended. The order is that of [`REASONS`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum CallOutcome {
    Planned,
    Measured,
    Decided,
    OnlyMpi,
    NoAgreement,
    Disagreeing,
    Disabled,
    NotSwitchedOn,
    NoTopology,
    Unusable,
    OtherLibrary,
    Outside,
    Inter,
    OneRank,
    Foreign,
    Early,
    Invalid,
    Refused,
    Persistent,
    NoThreads,
    Failed,
    OneHost,
    Combined,
    Neighbours,
}

/// Who serves the calls of a [`CallOutcome`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    Paths,
    Combined,
    Mpi,
    Next,
}

const ALL: [CallOutcome; REASONS.len()] = [
    CallOutcome::Planned,
    CallOutcome::Measured,
    CallOutcome::Decided,
    CallOutcome::OnlyMpi,
    CallOutcome::NoAgreement,
    CallOutcome::Disagreeing,
    CallOutcome::Disabled,
    CallOutcome::NotSwitchedOn,
    CallOutcome::NoTopology,
    CallOutcome::Unusable,
    CallOutcome::OtherLibrary,
    CallOutcome::Outside,
    CallOutcome::Inter,
    CallOutcome::OneRank,
    CallOutcome::Foreign,
    CallOutcome::Early,
    CallOutcome::Invalid,
    CallOutcome::Refused,
    CallOutcome::Persistent,
    CallOutcome::NoThreads,
    CallOutcome::Failed,
    CallOutcome::OneHost,
    CallOutcome::Combined,
    CallOutcome::Neighbours,
];

/// The way of this number.
#[inline]
pub(super) fn reason(number: usize) -> Option<CallOutcome> {
    ALL.get(number).copied()
}

const REASONS: [(By, &str); 24] = [
    (By::Paths, "planned paths"),
    (By::Mpi, "measured against planned paths, or found to be faster"),
    (By::Mpi, "planned paths were not predicted to pay, or another rank's arguments need MPI"),
    (By::Mpi, "arguments that only MPI can serve: datatypes with gaps, GPU memory, MPI_IN_PLACE beyond OPTIQ_BUDGET"),
    (By::Mpi, "earlier calls on the communicator had too little to move to win back an agreement"),
    (By::Mpi, "send and receive counts disagree between ranks"),
    (By::Next, "OPTIQ_DISABLE=1"),
    (By::Next, "not in the list of OPTIQ_PRELOAD"),
    (By::Next, "OPTIQ_TOPOLOGY is not set, or OPTIQ_ALGORITHM=mpi"),
    (By::Next, "the configuration cannot be used, or does not fit the communicator"),
    (By::Next, "the program has another MPI library than liboptiq_pmpi.so was built with"),
    (By::Next, "before MPI_Init or after MPI_Finalize"),
    (By::Next, "inter-communicators"),
    (By::Next, "communicators of one rank"),
    (By::Next, "communicators with ranks of another MPI_COMM_WORLD"),
    (By::Next, "first calls on a communicator"),
    (By::Next, "arguments that MPI refuses"),
    (By::Next, "too many communicators at a time"),
    (By::Next, "persistent requests for which planned paths were not predicted to pay"),
    (By::Next, "MPI_THREAD_MULTIPLE was not provided on all ranks"),
    (By::Next, "failures"),
    (By::Next, "communicators whose ranks are all on one host, with OPTIQ_TOPOLOGY=auto"),
    (By::Combined, "combined messages of the ranks of a host"),
    (By::Next, "a neighbour is there twice, or lists of neighbours disagree between ranks, or are not compared yet"),
];

static COUNTS: [[AtomicU64; REASONS.len()]; FUNCTIONS.len()] =
    [const { [const { AtomicU64::new(0) }; REASONS.len()] }; FUNCTIONS.len()];

/// Whether the report was made.
static REPORTED: AtomicBool = AtomicBool::new(false);

/// Why the configuration cannot be used, as it was first said at this rank.
static UNUSABLE: OnceLock<String> = OnceLock::new();

/// Keeps for the report why the configuration cannot be used; the first sentence counts.
pub(super) fn unusable(why: &str) {
    UNUSABLE.get_or_init(|| why.to_owned());
}

#[inline]
pub(super) fn count(function: Function, reason: CallOutcome) {
    COUNTS[function as usize][reason as usize].fetch_add(1, Relaxed);
}

/// Adds `calls` calls of the function of this number.
pub(super) fn add(function: usize, reason: CallOutcome, calls: u64) {
    COUNTS[function][reason as usize].fetch_add(calls, Relaxed);
}

/// Sums the counts over all ranks and prints them on rank 0, if that is wanted; before `MPI_Finalize`, which is as
/// collective as the sum.
pub(super) fn report() {
    if !is_initialized() {
        return;
    }
    if rank_in_world() == 0 {
        learned::save();
    }
    if !is_wanted() || REPORTED.swap(true, Relaxed) {
        return;
    }
    let mine = snapshot();
    let mut all = vec![0u64; mine.len()];
    let (mut rank, mut ranks) = (0, 0);
    // SAFETY: buffers of as many words as are reduced; MPI is initialised, and all ranks are about to finalise it.
    let summed = unsafe {
        let world = ffi::RSMPI_COMM_WORLD;
        ffi::PMPI_Comm_rank(world, &mut rank);
        ffi::PMPI_Comm_size(world, &mut ranks);
        let (from, into) = (mine.as_ptr().cast::<c_void>(), all.as_mut_ptr().cast::<c_void>());
        let (words, kind, sum) = (mine.len() as c_int, ffi::RSMPI_UINT64_T, ffi::RSMPI_SUM);
        quietly(world, || ffi::PMPI_Reduce(from, into, words, kind, sum, 0, world))
    };
    if rank == 0 {
        match summed {
            Ok(code) if code == ffi::MPI_SUCCESS as c_int => print(&format!("all {ranks} ranks"), &all),
            _ => print("rank 0 alone", &mine),
        }
    }
}

/// As [`report`], where `MPI_Finalize` went past us: without a sum, which would come too late.
pub(super) fn report_own() {
    let rank = rank_in_world();
    if rank == 0 {
        learned::save();
    }
    if rank == 0 && is_wanted() && !REPORTED.swap(true, Relaxed) {
        print("rank 0 alone", &snapshot());
    }
}

/// This process's rank in MPI_COMM_WORLD. MPI must be initialised, and may be being finalised.
fn rank_in_world() -> c_int {
    let mut rank = 0;
    // SAFETY: a pointer to an int; by this function's contract.
    unsafe { ffi::PMPI_Comm_rank(ffi::RSMPI_COMM_WORLD, &mut rank) };
    rank
}

/// Whether a report is wanted, if that was read before: 1 no, 2 yes.
static WANTED: AtomicU8 = AtomicU8::new(0);

/// Remembers whether a report is wanted, so that `MPI_Finalize` need not read the options of programs that made calls.
pub(super) fn remember(config: &Config) -> bool {
    let wanted = config.report && !config.disable;
    WANTED.store(1 + u8::from(wanted), Relaxed);
    wanted
}

fn is_wanted() -> bool {
    match WANTED.load(Relaxed) {
        0 => remember(&Config::read().config),
        known => known == 2,
    }
}

fn snapshot() -> Vec<u64> {
    COUNTS.iter().flatten().map(|c| c.load(Relaxed)).collect()
}

fn print(who: &str, counts: &[u64]) {
    let calls = lines(who, counts, UNUSABLE.get().map(String::as_str));
    let text = calls + &networks::guessed_line() + &busy_links::lines() + &learned::lines();
    // One write, so that it stays one block. A failure cannot be reported anywhere.
    let _ = std::io::Write::write_all(&mut std::io::stderr(), text.as_bytes());
}

/// The block that is printed; `unusable` says why the configuration cannot be used.
fn lines(who: &str, counts: &[u64], unusable: Option<&str>) -> String {
    let mut text = format!("optiq: calls of {who}\n");
    for (function, counts) in FUNCTIONS.iter().zip(counts.chunks_exact(REASONS.len())) {
        let by = |who: By| REASONS.iter().zip(counts).filter(|(w, _)| w.0 == who).map(|(_, n)| n).sum::<u64>();
        let (planned, combined, mpi, next) = (by(By::Paths), by(By::Combined), by(By::Mpi), by(By::Next));
        if planned + combined + mpi + next == 0 {
            continue;
        }
        // Writing to a string does not fail.
        let combined = if combined > 0 { format!(", {combined} by combined messages") } else { String::new() };
        let _ = writeln!(
            text,
            "  {function}: {planned} served by planned paths{combined}, {mpi} by plain MPI through OPTIQ, {next} passed on"
        );
        let reasons = REASONS.iter().zip(counts).enumerate();
        for (i, ((_, why), n)) in reasons.filter(|(_, ((by, _), n))| matches!(by, By::Mpi | By::Next) && **n > 0) {
            let said = unusable.filter(|_| i == CallOutcome::Unusable as usize);
            let said = said.map_or(String::new(), |said| format!(": {said}"));
            let _ = writeln!(text, "    {n}: {why}{said}");
        }
    }
    if text.lines().count() == 1 {
        text += "  none\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_report_has_what_was_called_and_why_it_went_where() {
        let mut counts = vec![0; REASONS.len() * FUNCTIONS.len()];
        assert_eq!(lines("all 4 ranks", &counts, None), "optiq: calls of all 4 ranks\n  none\n");
        counts[CallOutcome::Planned as usize] = 5;
        counts[CallOutcome::Decided as usize] = 2;
        counts[CallOutcome::Inter as usize] = 3;
        counts[REASONS.len() + CallOutcome::NotSwitchedOn as usize] = 7;
        counts[CallOutcome::Unusable as usize] = 4;
        let text = lines("all 4 ranks", &counts, Some("OPTIQ_K is \"0\""));
        assert!(text.contains("MPI_Alltoallv: 5 served by planned paths, 2 by plain MPI through OPTIQ, 7 passed on\n"));
        assert!(text.contains("    3: inter-communicators\n") && !text.contains("    5:"), "{text}");
        assert!(text.contains("does not fit the communicator: OPTIQ_K is \"0\"\n"), "{text}");
        assert!(text.contains("MPI_Alltoall: 0 served by planned paths, 0 by plain MPI through OPTIQ, 7 passed on\n"));
        assert!(!text.contains("Ialltoallv"));
        counts[CallOutcome::Combined as usize] = 9;
        let text = lines("all 4 ranks", &counts, None);
        assert!(text.contains("5 served by planned paths, 9 by combined messages, 2 by plain MPI"), "{text}");
        assert!(!text.contains("    9:"), "{text}");
    }

    #[test]
    fn functions_are_called_as_in_mpi() {
        assert_eq!(Function::Alltoallv.name(), "MPI_Alltoallv");
        assert_eq!(Function::IneighborAlltoallv.name(), "MPI_Ineighbor_alltoallv");
        assert_eq!(Function::NeighborAlltoallvInit.name(), "MPI_Neighbor_alltoallv_init");
        assert_eq!(FUNCTIONS.len(), Function::NeighborAlltoallvInit as usize + 1);
    }

    #[test]
    fn every_way_has_its_words() {
        assert_eq!(REASONS.len(), CallOutcome::Neighbours as usize + 1);
        assert!(ALL.iter().enumerate().all(|(i, &w)| w as usize == i));
        assert!(REASONS[CallOutcome::Foreign as usize].1.contains("MPI_COMM_WORLD"));
        assert!(REASONS[CallOutcome::Persistent as usize].1.contains("persistent"));
    }
}

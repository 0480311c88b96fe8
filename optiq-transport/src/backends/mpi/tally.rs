//! Counts of messages by the arguments of calls, for MPI libraries that do not count themselves: what a program's point-to-point and one-sided
//! calls move, told by whoever sees these calls, and what OPTIQ's own transports carry, told by them.
//!
//! # What it does not see
//!
//! - Messages inside the MPI library's collectives, which come by no function that could be taken over.
//! - Persistent requests (`MPI_Send_init`), messages through `MPI_Pack`ed streams of other libraries, and calls through `PMPI_*`.
//! - Peers of other `MPI_COMM_WORLD`s.

use super::ffi;
use super::monitoring::Counted;
use std::ffi::c_int;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Messages and bytes.
type Cell = [AtomicU64; 2];

/// By [`Counted`] and rank of `MPI_COMM_WORLD`; none until [`begin`] was called.
static COUNTS: OnceLock<[Vec<Cell>; 3]> = OnceLock::new();

/// Begins to count, for good: 16 B for each rank of `MPI_COMM_WORLD` and each of the three ways of moving bytes.
pub fn begin() {
    let mut ranks = 0;
    // SAFETY: an out-parameter.
    unsafe { ffi::PMPI_Comm_size(ffi::RSMPI_COMM_WORLD, &mut ranks) };
    let column = || (0..ranks).map(|_| Cell::default()).collect();
    COUNTS.get_or_init(|| Counted::ALL.map(|_| column()));
}

/// Ranks of `MPI_COMM_WORLD`, if messages are counted.
pub fn ranks() -> Option<usize> {
    COUNTS.get().map(|counts| counts[0].len())
}

/// What was counted since [`begin`], as [`super::monitoring::Monitoring::read`].
pub fn read(counted: Counted, messages: &mut [u64], bytes: &mut [u64]) -> bool {
    let Some(counts) = COUNTS.get() else { return false };
    for ((cell, messages), bytes) in counts[counted as usize].iter().zip(messages).zip(bytes) {
        (*messages, *bytes) = (cell[0].load(Relaxed), cell[1].load(Relaxed));
    }
    true
}

/// Counts a message to a rank of a communicator, or to one of its remote group.
///
/// # Safety
/// A communicator of the program's, or one of ours.
pub unsafe fn message(bytes: u64, to: c_int, comm: ffi::MPI_Comm) {
    let Some(counts) = COUNTS.get() else { return };
    // SAFETY: by this function's contract; out-parameters.
    let group = |group: &mut ffi::MPI_Group| unsafe {
        let mut inter = 0;
        ffi::PMPI_Comm_test_inter(comm, &mut inter);
        if inter != 0 { ffi::PMPI_Comm_remote_group(comm, group) } else { ffi::PMPI_Comm_group(comm, group) }
    };
    // SAFETY: a constant.
    let is_world = comm == unsafe { ffi::RSMPI_COMM_WORLD };
    add(&counts[Counted::Sent as usize], bytes, to, is_world, group);
}

/// Counts what was put into, or got from, the window of a rank.
///
/// # Safety
/// A window of the program's, or one of ours.
pub unsafe fn one_sided(counted: Counted, bytes: u64, target: c_int, window: ffi::MPI_Win) {
    let Some(counts) = COUNTS.get() else { return };
    // SAFETY: by this function's contract; an out-parameter.
    let group = |group: &mut ffi::MPI_Group| unsafe { ffi::PMPI_Win_get_group(window, group) };
    add(&counts[counted as usize], bytes, target, false, group);
}

fn add(cells: &[Cell], bytes: u64, to: c_int, is_world: bool, group: impl FnOnce(&mut ffi::MPI_Group) -> c_int) {
    let rank = if is_world { Some(to) } else { in_world(to, group) };
    // MPI_PROC_NULL is negative.
    let Some(cell) = rank.and_then(|rank| cells.get(usize::try_from(rank).ok()?)) else { return };
    cell[0].fetch_add(1, Relaxed);
    cell[1].fetch_add(bytes, Relaxed);
}

/// The rank in `MPI_COMM_WORLD` of a rank in a group. Looked up each time: a handle that is freed may come back as another one's.
fn in_world(rank: c_int, group: impl FnOnce(&mut ffi::MPI_Group) -> c_int) -> Option<c_int> {
    if rank < 0 {
        return None;
    }
    const SUCCESS: c_int = ffi::MPI_SUCCESS as c_int;
    // SAFETY: groups that are made and freed here, and a rank that is no constant.
    unsafe {
        let (mut own, mut world) = (ffi::RSMPI_GROUP_NULL, ffi::RSMPI_GROUP_NULL);
        if group(&mut own) != SUCCESS {
            return None;
        }
        let mut there = -1;
        let mut code = ffi::PMPI_Comm_group(ffi::RSMPI_COMM_WORLD, &mut world);
        if code == SUCCESS {
            code = ffi::PMPI_Group_translate_ranks(own, 1, &rank, world, &mut there);
            ffi::PMPI_Group_free(&mut world);
        }
        ffi::PMPI_Group_free(&mut own);
        (code == SUCCESS && there >= 0).then_some(there)
    }
}

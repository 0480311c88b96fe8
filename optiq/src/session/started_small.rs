//! Small exchanges that are started: by plain MPI or by combined messages.
//!
//! What such an exchange takes cannot be seen, as the program does other things while it moves. So before the first one in a session that
//! combined messages are predicted to serve faster, both ways make a few blocking calls of the same sizes in memory of the session's
//! own, unless calls of the program have shown by then which one is faster; maxima over all ranks count, so that all choose alike. What is
//! started later needs no more than what is known.

use super::agree::{Agreement, nanos};
use super::arguments::Arguments;
use super::fallback_args::FallbackArgs;
use super::setup::Fabric;
use super::sides::sides_of_each;
use super::small_calls::{Served, Way};
use super::state::Session;
use crate::blocks::Blocks;
use crate::constants::{CLEAR_SMALL_USES, FIRST_SMALL_USES, UNCOUNTED_SMALL_USES};
use crate::error::Error;
use optiq_lower::decide::Decision;
use optiq_transport::mpi::{check, ffi};
use std::ffi::c_int;
use std::sync::Arc;
use std::time::Instant;

/// A side of a call whose blocks lie one behind the other.
struct Packed {
    buffer: Vec<u8>,
    counts: Vec<c_int>,
    displacements: Vec<c_int>,
}

impl Packed {
    /// As many bytes; none if they are more than MPI counts.
    fn new(bytes: &[u64]) -> Option<Self> {
        let counts = bytes.iter().map(|&b| c_int::try_from(b).ok()).collect::<Option<Vec<_>>>()?;
        let before = |sum: &mut c_int, &count: &c_int| {
            let at = *sum;
            *sum = sum.checked_add(count)?;
            Some(at)
        };
        let displacements: Vec<c_int> = counts.iter().scan(0, before).collect();
        // The address of no bytes may be that of MPI_IN_PLACE.
        let buffer = vec![0; bytes.iter().sum::<u64>().max(1) as usize];
        (displacements.len() == counts.len()).then_some(Self { buffer, counts, displacements })
    }
}

impl Session {
    /// What is said of an exchange that ranks agree to leave to MPI and that will be started, if combined messages are to serve it;
    /// collective, with runs of bytes on all ranks that MPI can count.
    pub(super) fn combined_for_started(
        &self,
        fabric: &Fabric,
        agreement: &Agreement,
        blocks: (&Blocks, &Blocks),
    ) -> Result<Option<Arc<Decision>>, Error> {
        if !self.forecasts {
            return Ok(None);
        }
        self.prepare_combining(fabric, agreement, 1)?;
        let (served, is_known) = {
            let combining = self.combining.borrow();
            let served = combining.combined.as_ref().map_or(Served::ByMpi, |_| combining.calls.served());
            (served, combining.calls.is_known())
        };
        if served == Served::ByTheFaster && !is_known {
            self.try_both_ways(blocks)?;
        }
        let combining = self.combining.borrow();
        let is_combined = match served {
            Served::ByMpi => false,
            Served::Combined => true,
            Served::ByTheFaster => combining.calls.best() == Way::Combined,
        };
        Ok(is_combined.then(|| Arc::clone(&combining.decision)))
    }

    /// Makes calls of MPI and by combined messages until it is known which are faster, or a few of each; collective.
    fn try_both_ways(&self, (send, receive): (&Blocks, &Blocks)) -> Result<(), Error> {
        let sides = Packed::new(&send.bytes).zip(Packed::new(&receive.bytes));
        let mut fits = [i64::from(sides.is_some())];
        self.comm.all_min(&mut fits)?;
        let (Some((mut from, mut into)), 1) = (sides, fits[0]) else { return Ok(()) };
        // SAFETY: a constant.
        let datatype = unsafe { ffi::RSMPI_UINT8_T };
        let arguments = Arguments {
            send: from.buffer.as_mut_ptr().cast(),
            send_counts: from.counts.as_ptr(),
            send_displacements: from.displacements.as_ptr(),
            send_type: datatype,
            receive: into.buffer.as_mut_ptr().cast(),
            receive_counts: into.counts.as_ptr(),
            receive_displacements: into.displacements.as_ptr(),
            receive_type: datatype,
        };
        let few = CLEAR_SMALL_USES as u64;
        for uses in [UNCOUNTED_SMALL_USES + few, FIRST_SMALL_USES as u64 - few] {
            if self.combining.borrow().calls.is_known() {
                break;
            }
            for way in [Way::Combined, Way::Mpi] {
                for _ in 0..uses {
                    let start = Instant::now();
                    // SAFETY: buffers, counts and displacements of this function's own, as long as its blocks together.
                    unsafe { self.try_once(way, &arguments)? };
                    self.combining.borrow_mut().calls.tried(way, start.elapsed().as_secs_f64());
                }
            }
            let mut maxima = self.combining.borrow().calls.since().map(|seconds| -nanos(seconds));
            self.comm.all_min(&mut maxima)?;
            self.combining.borrow_mut().calls.learn(maxima.map(|nanos| -nanos as f64 / 1e9));
        }
        Ok(())
    }

    /// # Safety
    /// As for `MPI_Alltoallv`.
    unsafe fn try_once(&self, way: Way, arguments: &Arguments) -> Result<(), Error> {
        match way {
            // SAFETY: passed on.
            Way::Mpi => Ok(check(unsafe { arguments.call(self.plain.raw()) }, "MPI_Alltoallv")?),
            Way::Combined => {
                // SAFETY: passed on.
                let sides = unsafe { sides_of_each(arguments, self.size())? };
                self.combining.borrow_mut().with_combined(|combined| {
                    // SAFETY: passed on.
                    unsafe { combined.exchange(sides) }
                })
            }
        }
    }

    /// Starts an exchange by combined messages; its number there.
    ///
    /// # Safety
    /// `kept` must stay where it is, and its buffers must be valid and untouched by others, until it is complete.
    pub(super) unsafe fn start_combined(&self, kept: &FallbackArgs) -> Result<u64, Error> {
        // SAFETY: passed on.
        let sides = unsafe { sides_of_each(&kept.arguments(), self.size())? };
        let number = self.combining.borrow_mut().with_combined(|combined| {
            // SAFETY: passed on.
            unsafe { combined.start(sides) }
        })?;
        self.fast_path.set_started(true);
        Ok(number)
    }
}

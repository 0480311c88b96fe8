//! The exchange that blocks: from a program's arguments to what ranks agree on, or straight to plain MPI.

use super::arguments::{Arguments, ByMpi, Local, signature};
use super::state::Session;
use crate::blocks::Blocks;
use crate::error::Error;
use optiq_transport::mpi::{check, ffi};
use std::ffi::c_int;

impl Session {
    /// Moves `send_counts[r]` elements from `send[send_displacements[r]..]` to rank `r`, and receives
    /// `receive_counts[r]` elements from it into `receive[receive_displacements[r]..]`; as `MPI_Alltoallv`, with
    /// 64-bit counts. Collective: every rank of the communicator must call it.
    ///
    /// In a call that ranks agree on, every rank gets an error if one does before data moves. In one that goes to plain
    /// MPI without an agreement (docs/decisions/012) an error is the rank's own, as in MPI, and the others wait for it;
    /// counts beyond 2^31 - 1 elements then end the job. With `OPTIQ_CHECK=1` ranks agree on every call.
    ///
    /// # Errors
    /// [`Error::Argument`] for arrays that are not as long as there are ranks or reach beyond a buffer,
    /// [`Error::Counts`] if send and receive counts disagree, and what can fail on the way.
    pub fn alltoallv<T: mpi::traits::Equivalence>(
        &self,
        send: &[T],
        send_counts: &[usize],
        send_displacements: &[usize],
        receive: &mut [T],
        receive_counts: &[usize],
        receive_displacements: &[usize],
    ) -> Result<(), Error> {
        let equivalent = T::equivalent_datatype();
        let datatype = mpi::raw::AsRaw::as_raw(&equivalent);
        let ranks = self.fast_path.ranks();
        let mut i32_counts = self.i32_counts.borrow_mut();
        let sent = i32_counts.copy(ranks, 0, send_counts, send_displacements, send.len());
        let received = i32_counts.copy(ranks, 1, receive_counts, receive_displacements, receive.len());
        let lists = i32_counts.lists();
        // An empty slice's address is arbitrary and, for bytes, the very value of MPI_IN_PLACE in Open MPI.
        let from_address = if send.is_empty() { std::ptr::null() } else { send.as_ptr().cast() };
        let into_address = if receive.is_empty() { std::ptr::null_mut() } else { receive.as_mut_ptr().cast() };
        let arguments = (sent.countable && received.countable).then(|| Arguments {
            send: from_address,
            send_counts: lists[0].as_ptr(),
            send_displacements: lists[1].as_ptr(),
            send_type: datatype,
            receive: into_address,
            receive_counts: lists[2].as_ptr(),
            receive_displacements: lists[3].as_ptr(),
            receive_type: datatype,
        });
        let size = size_of::<T>() as u64;
        if let Some(arguments) = &arguments
            && sent.fit
            && received.fit
        {
            let bytes = sent.elements.max(received.elements).saturating_mul(size);
            if self.fast_path.skips(bytes, || self.is_known_fallback(signature([lists[0], lists[2]], size))) {
                self.finish_started_before_mpi();
                if self.fast_path.is_watched() {
                    // SAFETY: as below.
                    return unsafe { self.unagreed_alltoallv(arguments, self.fast_path.comm()) };
                }
                if log::max_level() >= log::LevelFilter::Info {
                    self.log_unagreed();
                }
                // SAFETY: the slices are borrowed for the whole call and were checked against counts and displacements.
                let code = unsafe { arguments.call(self.fast_path.comm()) };
                return if code == ffi::MPI_SUCCESS as c_int { Ok(()) } else { Ok(check(code, "MPI_Alltoallv")?) };
            }
        }
        let from = self.side("send", send.as_ptr().cast_mut(), send.len(), send_counts, send_displacements);
        let into = self.side("receive", receive.as_mut_ptr(), receive.len(), receive_counts, receive_displacements);
        let local = from.and_then(|f| Ok(Local::Bytes(f, into?)));
        let signature = signature([lists[0], lists[2]], size);
        // SAFETY: the slices are borrowed for the whole call and were checked against counts and displacements.
        unsafe { self.exchange(local, arguments, signature) }
    }

    /// Completes what was started before a call that plain MPI serves without an agreement.
    #[inline]
    fn finish_started_before_mpi(&self) {
        if self.fast_path.has_started() {
            self.finish_started();
        }
    }

    /// One side of a call, checked.
    pub(super) fn side<T>(
        &self,
        what: &str,
        base: *mut T,
        length: usize,
        counts: &[usize],
        displacements: &[usize],
    ) -> Result<Blocks, Error> {
        let ranks = self.size() as usize;
        if counts.len() != ranks || displacements.len() != ranks {
            return Err(Error::Argument(format!(
                "there are {} {what} counts and {} displacements for {ranks} ranks",
                counts.len(),
                displacements.len()
            )));
        }
        if first_beyond(length, counts, displacements).is_some() {
            return Err(Error::Argument(format!("the {what} counts reach beyond the buffer's {length} elements")));
        }
        let wide = |list: &[usize]| list.iter().map(|&x| x as i64).collect::<Vec<_>>();
        // An empty block may have any displacement; it is not used.
        let used: Vec<usize> = counts.iter().zip(displacements).map(|(&c, &d)| if c > 0 { d } else { 0 }).collect();
        Blocks::new(what, base.cast(), &wide(counts), &wide(&used), size_of::<T>() as u64)
    }

    /// The collective part of a call.
    ///
    /// # Safety
    /// What `local` and `arguments` point to must be valid for the whole call, as for `MPI_Alltoallv`.
    pub(crate) unsafe fn exchange(
        &self,
        local: Result<Local, Error>,
        arguments: Option<Arguments>,
        signature: u64,
    ) -> Result<(), Error> {
        if self.fast_path.skips(0, || true) {
            self.finish_started_before_mpi();
            if self.fast_path.is_watched()
                && local.is_ok()
                && let Some(arguments) = &arguments
            {
                // SAFETY: passed on.
                return unsafe { self.unagreed_alltoallv(arguments, self.plain.raw()) };
            }
            // The other ranks do not know of this call, so ranks cannot refuse it together.
            // SAFETY: passed on.
            return unsafe { self.unagreed(local, arguments) };
        }
        // SAFETY: passed on.
        unsafe { self.agreed(local, arguments.map(ByMpi::Arguments), signature) }
    }

    /// A call that all ranks agree on.
    ///
    /// # Safety
    /// As [`Session::exchange`].
    pub(crate) unsafe fn agreed(
        &self,
        local: Result<Local, Error>,
        by_mpi: Option<ByMpi<'_>>,
        signature: u64,
    ) -> Result<(), Error> {
        // SAFETY: passed on.
        let outcome = unsafe { self.serve(local, by_mpi, signature)? };
        self.log(&outcome.decision);
        self.remember(outcome);
        Ok(())
    }

    /// A call that others leave to plain MPI, and whose arguments are wrong or too large for it.
    ///
    /// # Safety
    /// As [`Session::exchange`].
    unsafe fn unagreed(&self, local: Result<Local, Error>, arguments: Option<Arguments>) -> Result<(), Error> {
        self.refused.set(true);
        local?;
        let Some(arguments) = arguments else {
            let text = "counts beyond 2^31 - 1 elements came after exchanges so small that ranks do not agree on each; \
                        set OPTIQ_CHECK=1 for programs that do this";
            log::error!("{text}");
            // SAFETY: the others wait inside MPI for this rank; there is no other way to tell them.
            unsafe { ffi::PMPI_Abort(self.comm.raw(), 1) };
            return Err(Error::Argument(text.into()));
        };
        // SAFETY: passed on.
        Ok(unsafe { arguments.hand_over(self.plain.raw()) }?)
    }
}

/// The first block that reaches beyond a buffer of `length` elements.
fn first_beyond(length: usize, counts: &[usize], displacements: &[usize]) -> Option<usize> {
    let beyond = |(&c, &d): (&usize, &usize)| c > 0 && c.checked_add(d).is_none_or(|end| end > length);
    counts.iter().zip(displacements).position(beyond)
}

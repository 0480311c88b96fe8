//! A private communicator, and small collectives on it.
//!
//! They are non-blocking ones, and a rank that waits for one yields its processor between polls. MPI libraries poll inside a
//! blocking collective, many without yielding: where ranks share processors, each message of it then waits for the time slices
//! of ranks that have nothing to do. On sixteen ranks and two processors a blocking reduction took 30 to 160 ms, this one 0.6 ms
//! (with sleeps of 20 to 100 us in place of yields 1 to 2 ms).

use super::convert::c_rank;
use super::ffi;
use crate::backoff::yield_processor;
use crate::error::TransportError;
use optiq_trace::ids::Rank;
use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

unsafe extern "C" {
    fn optiq_mpi_in_place() -> *mut c_void;
    fn optiq_mpi_is_initialized() -> c_int;
    pub(super) static optiq_mpi_byte: ffi::MPI_Datatype;
    static optiq_mpi_tag_ub: c_int;
}

/// `MPI_IN_PLACE`.
pub fn in_place() -> *const c_void {
    // SAFETY: returns a constant.
    unsafe { optiq_mpi_in_place() }
}

/// Whether MPI calls may be made: after `MPI_Init`, before `MPI_Finalize`.
pub fn is_initialized() -> bool {
    // SAFETY: both functions behind it may be called at any time.
    unsafe { optiq_mpi_is_initialized() != 0 }
}

/// `MPI_BYTE`.
pub(super) fn byte() -> ffi::MPI_Datatype {
    // SAFETY: a constant of the shim.
    unsafe { optiq_mpi_byte }
}

/// Turns the return code of an MPI function into a result.
///
/// # Errors
/// [`TransportError::Mpi`] with what `MPI_Error_string` says.
pub fn check(code: c_int, call: &'static str) -> Result<(), TransportError> {
    if code == ffi::MPI_SUCCESS as c_int { Ok(()) } else { Err(failed(code, call)) }
}

fn describe(code: c_int) -> String {
    let text = text_of(ffi::MPI_MAX_ERROR_STRING as usize, |text, length| {
        // SAFETY: the buffer has the size that the standard asks for.
        unsafe { ffi::PMPI_Error_string(code, text, length) }
    });
    text.unwrap_or_else(|_| format!("error code {code}"))
}

/// What an MPI function writes into a buffer of `longest` characters, or its error code.
fn text_of(longest: usize, write: impl FnOnce(*mut c_char, &mut c_int) -> c_int) -> Result<String, c_int> {
    let mut text = vec![0u8; longest + 1];
    let mut length: c_int = 0;
    let code = write(text.as_mut_ptr().cast(), &mut length);
    if code != ffi::MPI_SUCCESS as c_int {
        return Err(code);
    }
    text.truncate(length.max(0) as usize);
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The error of an MPI function.
fn failed(code: c_int, call: &'static str) -> TransportError {
    TransportError::Mpi { call, message: describe(code) }
}

/// Makes an MPI call on a communicator of the program without calling its error handler.
///
/// # Errors
/// [`TransportError::Mpi`] if the handler cannot be put aside.
///
/// # Safety
/// `comm` must be a valid communicator and MPI initialised.
pub unsafe fn quietly(comm: ffi::MPI_Comm, call: impl FnOnce() -> c_int) -> Result<c_int, TransportError> {
    // SAFETY: by this function's contract; the handler is put back, and our reference to it given up.
    unsafe {
        let mut handler = ffi::RSMPI_ERRORS_RETURN;
        check(ffi::PMPI_Comm_get_errhandler(comm, &mut handler), "MPI_Comm_get_errhandler")?;
        check(ffi::PMPI_Comm_set_errhandler(comm, ffi::RSMPI_ERRORS_RETURN), "MPI_Comm_set_errhandler")?;
        let code = call();
        let back = ffi::PMPI_Comm_set_errhandler(comm, handler);
        ffi::PMPI_Errhandler_free(&mut handler);
        check(back, "MPI_Comm_set_errhandler")?;
        Ok(code)
    }
}

/// Begins an operation and waits until it is complete, yielding the processor between polls, and calling `meanwhile`. Whether another
/// process was found to use the processor.
///
/// # Errors
/// [`TransportError::Mpi`] with what MPI reports.
fn wait(
    call: &'static str,
    begin: impl FnOnce(&mut ffi::MPI_Request) -> c_int,
    mut meanwhile: impl FnMut(),
) -> Result<bool, TransportError> {
    // SAFETY: a constant; overwritten.
    let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
    check(begin(&mut request), call)?;
    let mut shared = false;
    loop {
        let mut done = 0;
        // SAFETY: a request of ours, active or null; the status is written by MPI and not read.
        let code = unsafe {
            let mut status = std::mem::zeroed();
            ffi::PMPI_Test(&mut request, &mut done, &mut status)
        };
        check(code, call)?;
        if done != 0 {
            return Ok(shared);
        }
        meanwhile();
        shared |= yield_processor();
    }
}

/// A private duplicate of a communicator, with errors returned instead of aborting the job.
#[derive(Debug)]
pub struct Communicator {
    raw: ffi::MPI_Comm,
    rank: Rank,
    size: u32,
    largest_tag: u32,
    /// Whether this rank was found to share its processor while it waited.
    shared: AtomicBool,
}

impl Communicator {
    /// Duplicates an intra-communicator; collective over it.
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports.
    ///
    /// # Safety
    /// `comm` must be a valid intra-communicator and MPI initialised.
    pub unsafe fn duplicate(comm: ffi::MPI_Comm) -> Result<Self, TransportError> {
        let mut raw = comm;
        // SAFETY: `comm` is valid by this function's contract; `raw` is looked at when the operation is complete.
        wait("MPI_Comm_idup", |request| unsafe { ffi::PMPI_Comm_idup(comm, &mut raw, request) }, || ())?;
        Self::own(raw)
    }

    /// A private communicator of the same ranks as an intra-communicator; collective over it. The program's attributes are
    /// not copied, so that none of its functions are called, and its error handler is not called either.
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports, as where there are too many communicators.
    ///
    /// # Safety
    /// `comm` must be a valid intra-communicator and MPI initialised.
    pub unsafe fn beside(comm: ffi::MPI_Comm) -> Result<Self, TransportError> {
        let mut raw = comm;
        // SAFETY: `comm` is valid by this function's contract; the group is ours.
        let code = unsafe {
            let mut group = ffi::RSMPI_GROUP_NULL;
            check(ffi::PMPI_Comm_group(comm, &mut group), "MPI_Comm_group")?;
            let code = quietly(comm, || ffi::PMPI_Comm_create(comm, group, &mut raw))?;
            ffi::PMPI_Group_free(&mut group);
            code
        };
        check(code, "MPI_Comm_create")?;
        Self::own(raw)
    }

    /// A communicator of a group of its ranks; collective over the group alone. `tag` tells it from others that other
    /// threads make at the same time (MPI 4.0, section 7.4.2).
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports, as where there are too many communicators.
    ///
    /// # Safety
    /// `group` must be a valid group with this process in it.
    pub unsafe fn of_group(&self, group: ffi::MPI_Group, tag: c_int) -> Result<Self, TransportError> {
        let mut raw = self.raw;
        // SAFETY: the communicator is ours; the group is valid by this function's contract.
        check(unsafe { ffi::PMPI_Comm_create_group(self.raw, group, tag, &mut raw) }, "MPI_Comm_create_group")?;
        Self::own(raw)
    }

    /// The ranks that give the same `colour`, in the same order; collective.
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports.
    pub fn split(&self, colour: u32) -> Result<Self, TransportError> {
        let mut raw = self.raw;
        // SAFETY: the communicator is ours.
        let code = unsafe { ffi::PMPI_Comm_split(self.raw, colour as c_int, c_rank(self.rank), &mut raw) };
        check(code, "MPI_Comm_split")?;
        Self::own(raw)
    }

    /// Takes a new communicator over.
    fn own(raw: ffi::MPI_Comm) -> Result<Self, TransportError> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: a communicator that was made for us.
        unsafe {
            check(ffi::PMPI_Comm_set_errhandler(raw, ffi::RSMPI_ERRORS_RETURN), "MPI_Comm_set_errhandler")?;
            check(ffi::PMPI_Comm_rank(raw, &mut rank), "MPI_Comm_rank")?;
            check(ffi::PMPI_Comm_size(raw, &mut size), "MPI_Comm_size")?;
        }
        let mut bound: *mut c_int = std::ptr::null_mut();
        let mut found: c_int = 0;
        // SAFETY: MPI_TAG_UB's value is a pointer to an int that lives as long as MPI does.
        let largest_tag = unsafe {
            let slot = (&raw mut bound).cast::<c_void>();
            check(ffi::PMPI_Comm_get_attr(raw, optiq_mpi_tag_ub, slot, &mut found), "MPI_Comm_get_attr")?;
            // The standard guarantees at least 32,767.
            if found != 0 && !bound.is_null() { (*bound).max(32_767) as u32 } else { 32_767 }
        };
        Ok(Self { raw, rank: Rank(rank as u32), size: size as u32, largest_tag, shared: AtomicBool::new(false) })
    }

    /// This process's rank.
    pub fn rank(&self) -> Rank {
        self.rank
    }

    /// Number of ranks.
    pub fn size(&self) -> u32 {
        self.size
    }

    /// The MPI handle; valid as long as `self` is.
    pub fn raw(&self) -> ffi::MPI_Comm {
        self.raw
    }

    /// The largest tag that MPI allows.
    pub fn largest_tag(&self) -> u32 {
        self.largest_tag
    }

    /// Whether this rank was found to share its processor with another process while it waited for others.
    pub fn shares_processor(&self) -> bool {
        self.shared.load(Relaxed)
    }

    /// See [`wait`].
    pub(super) fn wait(
        &self,
        call: &'static str,
        begin: impl FnOnce(&mut ffi::MPI_Request) -> c_int,
    ) -> Result<(), TransportError> {
        self.wait_while(call, begin, || ())
    }

    /// See [`wait`].
    pub(super) fn wait_while(
        &self,
        call: &'static str,
        begin: impl FnOnce(&mut ffi::MPI_Request) -> c_int,
        meanwhile: impl FnMut(),
    ) -> Result<(), TransportError> {
        if wait(call, begin, meanwhile)? {
            self.shared.store(true, Relaxed);
        }
        Ok(())
    }

    /// Element-wise minimum over all ranks, in place.
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports.
    pub fn all_min(&self, values: &mut [i64]) -> Result<(), TransportError> {
        let (words, count) = (values.as_mut_ptr().cast(), values.len() as c_int);
        // SAFETY: the buffer holds `len` 64-bit integers; the communicator is ours.
        self.wait("MPI_Iallreduce", |request| unsafe {
            let (kind, operation) = (ffi::RSMPI_INT64_T, ffi::RSMPI_MIN);
            ffi::PMPI_Iallreduce(in_place(), words, count, kind, operation, self.raw, request)
        })
    }

    /// One word from every rank, in rank order; `words[r]` goes to rank `r`.
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports.
    ///
    /// # Panics
    /// If there are not as many words as ranks.
    pub fn all_to_all(&self, words: &[u64]) -> Result<Vec<u64>, TransportError> {
        assert_eq!(words.len(), self.size as usize, "one word for each rank");
        let mut received = vec![0; words.len()];
        // SAFETY: as many words as ranks on both sides.
        self.wait("MPI_Ialltoall", |request| unsafe {
            let (send, receive) = (words.as_ptr().cast(), received.as_mut_ptr().cast());
            ffi::PMPI_Ialltoall(send, 1, ffi::RSMPI_UINT64_T, receive, 1, ffi::RSMPI_UINT64_T, self.raw, request)
        })?;
        Ok(received)
    }

    /// The words of all ranks at one of them, in rank order, with the number of words of each rank; nothing elsewhere, where nobody is waited for.
    ///
    /// # Errors
    /// As [`Communicator::all_gather`].
    pub fn gather(&self, root: Rank, mine: &[u64]) -> Result<Option<RankWords>, TransportError> {
        let gathered = self.gather_words(Some(root), mine)?;
        Ok((self.rank == root).then_some(gathered))
    }

    /// The words of all ranks, in rank order, with the number of words of each rank.
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports, or if all words together exceed what MPI can count.
    pub fn all_gather(&self, mine: &[u64]) -> Result<RankWords, TransportError> {
        self.gather_words(None, mine)
    }

    /// The words of all ranks, at this root or at all ranks; nothing at those that do not receive.
    fn gather_words(&self, root: Option<Rank>, mine: &[u64]) -> Result<RankWords, TransportError> {
        let (count_call, word_call) = match root {
            Some(_) => ("MPI_Igather", "MPI_Igatherv"),
            None => ("MPI_Iallgather", "MPI_Iallgatherv"),
        };
        let too_many = || TransportError::Mpi { call: word_call, message: "more than 2^31 - 1 words to gather".into() };
        let own = c_int::try_from(mine.len()).map_err(|_| too_many())?;
        let receives = root.is_none_or(|root| root == self.rank);
        let mut counts: Vec<c_int> = vec![0; if receives { self.size as usize } else { 0 }];
        // SAFETY: one int from each rank into `size` ints where they are received; elsewhere MPI does not look at them.
        self.wait(count_call, |request| unsafe {
            let (int, from, into) = (ffi::RSMPI_INT32_T, (&raw const own).cast(), counts.as_mut_ptr().cast());
            match root {
                Some(root) => ffi::PMPI_Igather(from, 1, int, into, 1, int, c_rank(root), self.raw, request),
                None => ffi::PMPI_Iallgather(from, 1, int, into, 1, int, self.raw, request),
            }
        })?;
        let (offsets, total) = offsets(&counts).ok_or_else(too_many)?;
        let mut all = vec![0u64; total as usize];
        // SAFETY: counts and offsets describe `all` exactly where words are received; elsewhere MPI does not look at them.
        self.wait(word_call, |request| unsafe {
            let (word, from, into) = (ffi::RSMPI_UINT64_T, mine.as_ptr().cast(), all.as_mut_ptr().cast());
            let (counts, offsets, comm) = (counts.as_ptr(), offsets.as_ptr(), self.raw);
            match root {
                Some(root) => {
                    let to = c_rank(root);
                    ffi::PMPI_Igatherv(from, own, word, into, counts, offsets, word, to, comm, request)
                }
                None => ffi::PMPI_Iallgatherv(from, own, word, into, counts, offsets, word, comm, request),
            }
        })?;
        Ok((counts.into_iter().map(|c| c as usize).collect(), all))
    }

    /// A short text of every rank, in rank order.
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports.
    pub fn all_texts(&self, mine: &str) -> Result<Vec<String>, TransportError> {
        // One word per byte: small, seldom, and no second collective to write.
        let words: Vec<u64> = mine.bytes().map(u64::from).collect();
        let (lengths, all) = self.all_gather(&words)?;
        let mut rest = &all[..];
        let mut texts = Vec::with_capacity(lengths.len());
        for length in lengths {
            let (these, others) = rest.split_at(length);
            let bytes: Vec<u8> = these.iter().map(|&w| w as u8).collect();
            texts.push(String::from_utf8_lossy(&bytes).into_owned());
            rest = others;
        }
        Ok(texts)
    }

    /// The root's bytes, on every rank.
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports.
    pub fn broadcast(&self, root: Rank, bytes: &mut Vec<u8>) -> Result<(), TransportError> {
        let mut length = bytes.len() as u64;
        // SAFETY: one word.
        self.wait("MPI_Ibcast", |request| unsafe {
            let word = (&raw mut length).cast();
            ffi::PMPI_Ibcast(word, 1, ffi::RSMPI_UINT64_T, c_rank(root), self.raw, request)
        })?;
        bytes.resize(length as usize, 0);
        for piece in bytes.chunks_mut(1 << 30) {
            // SAFETY: a piece of the vector, far below 2^31 bytes.
            self.wait("MPI_Ibcast", |request| unsafe {
                let count = piece.len() as c_int;
                ffi::PMPI_Ibcast(piece.as_mut_ptr().cast(), count, byte(), c_rank(root), self.raw, request)
            })?;
        }
        Ok(())
    }

    /// Waits until all ranks have called it.
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports.
    pub fn barrier(&self) -> Result<(), TransportError> {
        // SAFETY: the communicator is ours.
        self.wait("MPI_Ibarrier", |request| unsafe { ffi::PMPI_Ibarrier(self.raw, request) })
    }

    /// Begins a barrier.
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports.
    pub fn start_barrier(&self) -> Result<Pending, TransportError> {
        // SAFETY: the communicator is ours; the request is overwritten.
        unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            check(ffi::PMPI_Ibarrier(self.raw, &mut request), "MPI_Ibarrier")?;
            Ok(Pending(request))
        }
    }

    /// Begins [`Communicator::all_min`].
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports.
    pub fn start_all_min(&self, values: Vec<i64>) -> Result<PendingWords<i64>, TransportError> {
        // SAFETY: a constant; overwritten.
        let mut pending = PendingWords { request: unsafe { ffi::RSMPI_REQUEST_NULL }, words: values, result: 0 };
        let (words, count) = (pending.words.as_mut_ptr().cast(), pending.words.len() as c_int);
        // SAFETY: the buffer holds `count` 64-bit integers, and stays until the request is complete.
        let code = unsafe {
            let (kind, operation) = (ffi::RSMPI_INT64_T, ffi::RSMPI_MIN);
            ffi::PMPI_Iallreduce(in_place(), words, count, kind, operation, self.raw, &mut pending.request)
        };
        check(code, "MPI_Iallreduce")?;
        Ok(pending)
    }

    /// Words of all ranks, the same number from each, in rank order.
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports.
    pub fn all_gather_equal(&self, mine: &[u64]) -> Result<Vec<u64>, TransportError> {
        let mut all = vec![0; mine.len() * self.size as usize];
        let count = mine.len() as c_int;
        // SAFETY: `count` words from each rank into as many for each.
        self.wait("MPI_Iallgather", |request| unsafe {
            let (word, from, into) = (ffi::RSMPI_UINT64_T, mine.as_ptr().cast(), all.as_mut_ptr().cast());
            ffi::PMPI_Iallgather(from, count, word, into, count, word, self.raw, request)
        })?;
        Ok(all)
    }

    /// Begins [`Communicator::all_gather_equal`].
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports.
    pub fn start_all_gather(&self, mine: &[u64]) -> Result<PendingWords<u64>, TransportError> {
        let mut words = mine.to_vec();
        words.resize(mine.len() * (1 + self.size as usize), 0);
        // SAFETY: a constant; overwritten.
        let mut pending = PendingWords { request: unsafe { ffi::RSMPI_REQUEST_NULL }, words, result: mine.len() };
        let (from, count) = (pending.words.as_mut_ptr(), mine.len() as c_int);
        let into = from.wrapping_add(mine.len());
        // SAFETY: one part for what is sent and as many more as there are ranks, which stay until the request is complete.
        let code = unsafe {
            let word = ffi::RSMPI_UINT64_T;
            let request = &mut pending.request;
            ffi::PMPI_Iallgather(from.cast(), count, word, into.cast(), count, word, self.raw, request)
        };
        check(code, "MPI_Iallgather")?;
        Ok(pending)
    }

    /// What the MPI library says of itself.
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports.
    pub fn library_version(&self) -> Result<String, TransportError> {
        library_version()
    }

    /// The name of the processor that this rank runs on, as MPI knows it: usually the host name.
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports.
    pub fn processor_name(&self) -> Result<String, TransportError> {
        processor_name()
    }
}

/// How many words each rank has, and the words of all, in rank order.
pub type RankWords = (Vec<usize>, Vec<u64>);

/// Where each part of a list begins that has these lengths, and how long the list is; nothing if MPI cannot count that far.
fn offsets(counts: &[c_int]) -> Option<(Vec<c_int>, c_int)> {
    let mut total: c_int = 0;
    let mut begin = |&count: &c_int| {
        let offset = total;
        total = total.checked_add(count)?;
        Some(offset)
    };
    let offsets = counts.iter().map(&mut begin).collect::<Option<Vec<_>>>()?;
    Some((offsets, total))
}

/// What the MPI library says of itself.
///
/// # Errors
/// [`TransportError::Mpi`] with what MPI reports.
pub fn library_version() -> Result<String, TransportError> {
    let text = text_of(ffi::MPI_MAX_LIBRARY_VERSION_STRING as usize, |text, length| {
        // SAFETY: the buffer has the size that the standard asks for.
        unsafe { ffi::PMPI_Get_library_version(text, length) }
    });
    text.map_err(|code| failed(code, "MPI_Get_library_version"))
}

/// The name of the processor that this process runs on, as MPI, which must be initialised, knows it: usually the host name.
///
/// # Errors
/// [`TransportError::Mpi`] with what MPI reports.
pub fn processor_name() -> Result<String, TransportError> {
    // SAFETY: the constant of the library that is linked.
    let longest = unsafe { ffi::RSMPI_MAX_PROCESSOR_NAME };
    let text = text_of(longest.max(0) as usize, |text, length| {
        // SAFETY: the buffer has the size that the standard asks for.
        unsafe { ffi::PMPI_Get_processor_name(text, length) }
    });
    text.map_err(|code| failed(code, "MPI_Get_processor_name"))
}

/// A collective operation on words that has begun.
pub struct PendingWords<T> {
    request: ffi::MPI_Request,
    words: Vec<T>,
    /// Where in `words` the result begins.
    result: usize,
}

impl<T: Copy> PendingWords<T> {
    /// The result, once the operation is complete.
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports.
    pub fn test(&mut self) -> Result<Option<&[T]>, TransportError> {
        let mut done = 0;
        // SAFETY: a request of ours, active or null; the status is written by MPI and not read.
        let code = unsafe {
            let mut status = std::mem::zeroed();
            ffi::PMPI_Test(&mut self.request, &mut done, &mut status)
        };
        check(code, "MPI_Test")?;
        Ok((done != 0).then(|| &self.words[self.result..]))
    }
}

impl<T> Drop for PendingWords<T> {
    /// An operation that is given up before it is complete leaves its memory to MPI.
    fn drop(&mut self) {
        // SAFETY: a constant.
        if self.request != unsafe { ffi::RSMPI_REQUEST_NULL } {
            std::mem::forget(std::mem::take(&mut self.words));
        }
    }
}

/// An operation without memory of its own that has begun.
pub struct Pending(ffi::MPI_Request);

impl Pending {
    /// Itself, as long as it has not completed.
    ///
    /// # Errors
    /// [`TransportError::Mpi`] with what MPI reports.
    pub fn test(mut self) -> Result<Option<Self>, TransportError> {
        let mut done = 0;
        // SAFETY: an active request; the status is written by MPI and not read.
        let code = unsafe {
            let mut status = std::mem::zeroed();
            ffi::PMPI_Test(&mut self.0, &mut done, &mut status)
        };
        check(code, "MPI_Test")?;
        Ok((done == 0).then_some(self))
    }
}

impl Drop for Communicator {
    fn drop(&mut self) {
        if is_initialized() {
            // SAFETY: ours, and MPI is still up. An error cannot be reported here.
            unsafe { ffi::PMPI_Comm_free(&mut self.raw) };
        }
    }
}

//! A set of pending requests, each with its meaning.

use super::comm::check;
use super::ffi;
use crate::error::TransportError;
use std::ffi::c_int;

/// Pending MPI requests; `requests[i]` belongs to `meaning[i]`.
#[derive(Debug)]
pub(super) struct Requests<T> {
    requests: Vec<ffi::MPI_Request>,
    meaning: Vec<T>,
    indices: Vec<c_int>,
    statuses: Vec<ffi::MPI_Status>,
}

impl<T> Default for Requests<T> {
    fn default() -> Self {
        Self { requests: Vec::new(), meaning: Vec::new(), indices: Vec::new(), statuses: Vec::new() }
    }
}

impl<T> Requests<T> {
    pub(super) fn push(&mut self, request: ffi::MPI_Request, meaning: T) {
        self.requests.push(request);
        self.meaning.push(meaning);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Removes what has completed and calls `done` with the status and the meaning of each.
    pub(super) fn test(
        &mut self,
        mut done: impl FnMut(&ffi::MPI_Status, T) -> Result<(), TransportError>,
    ) -> Result<(), TransportError> {
        let n = self.requests.len();
        if n == 0 {
            return Ok(());
        }
        if self.indices.len() < n {
            self.indices.resize(n, 0);
            // SAFETY: MPI_Status is a plain C struct of integers, for which all zeros is a value.
            self.statuses.resize(n, unsafe { std::mem::zeroed() });
        }
        let mut completed: c_int = 0;
        // SAFETY: all arrays hold at least `n` elements.
        let code = unsafe {
            let (requests, indices) = (self.requests.as_mut_ptr(), self.indices.as_mut_ptr());
            ffi::PMPI_Testsome(n as c_int, requests, &mut completed, indices, self.statuses.as_mut_ptr())
        };
        if code == ffi::MPI_ERR_IN_STATUS as c_int {
            let mut errors = self.statuses.iter().take(completed.max(0) as usize).map(|s| s.MPI_ERROR);
            let first = errors.find(|&e| e != ffi::MPI_SUCCESS as c_int).unwrap_or(code);
            return check(first, "MPI_Testsome");
        }
        check(code, "MPI_Testsome")?;
        // MPI_UNDEFINED, a negative number, stands for "no active request".
        let completed = completed.max(0) as usize;
        // Highest index first, so that the swap in `swap_remove` moves only what stays.
        let mut finished: Vec<(usize, usize)> =
            self.indices[..completed].iter().enumerate().map(|(s, &i)| (i as usize, s)).collect();
        finished.sort_unstable_by(|a, b| b.cmp(a));
        for (index, status) in finished {
            self.requests.swap_remove(index);
            let meaning = self.meaning.swap_remove(index);
            done(&self.statuses[status], meaning)?;
        }
        Ok(())
    }

    /// Cancels and completes everything: for receives that will not be matched, and after errors.
    pub(super) fn cancel(&mut self) {
        for request in &mut self.requests {
            // SAFETY: an active request; an error cannot be reported here.
            unsafe {
                ffi::PMPI_Cancel(request);
                ffi::PMPI_Request_free(request);
            }
        }
        self.requests.clear();
        self.meaning.clear();
    }
}

//! Small messages beside the data: credits, and the notifications of the one-sided back end.
//!
//! A record is two words, `kind << 32 | path` and a number. Records for the same rank that are queued between two
//! polls share a message. Receives for any sender are posted ahead for the lifetime of the transport; a control
//! message always answers, or announces, data of the current exchange, so none can arrive in another one.

use super::comm::{Communicator, check, is_initialized};
use super::convert::c_rank;
use super::ffi;
use super::requests::Requests;
use crate::constants::{CONTROL_BATCH, CONTROL_RECEIVES};
use crate::error::TransportError;
use optiq_trace::ids::{PathId, Rank};
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::rc::Rc;

pub(super) const CONTROL_TAG: c_int = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ControlKind {
    /// The receiver can take `number` chunks more.
    Credit = 0,
    /// Chunk `number` lies in its slot.
    Arrived = 1,
    /// A chunk can be fetched; `number` says which one, and where.
    Exposed = 2,
    /// Chunk `number` was fetched.
    Fetched = 3,
}

impl ControlKind {
    fn from_code(code: u64) -> Option<Self> {
        [ControlKind::Credit, ControlKind::Arrived, ControlKind::Exposed, ControlKind::Fetched]
            .into_iter()
            .find(|kind| *kind as u64 == code)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ControlRecord {
    pub(super) kind: ControlKind,
    pub(super) path: PathId,
    pub(super) number: u64,
}

pub(super) struct Control {
    comm: Rc<Communicator>,
    outbox: BTreeMap<Rank, Vec<u64>>,
    sending: Requests<Box<[u64]>>,
    receiving: Requests<Box<[u64; 2 * CONTROL_BATCH]>>,
}

impl Control {
    pub(super) fn new(comm: Rc<Communicator>) -> Result<Self, TransportError> {
        let mut control =
            Self { comm, outbox: BTreeMap::new(), sending: Requests::default(), receiving: Requests::default() };
        for _ in 0..CONTROL_RECEIVES {
            control.post(Box::new([0; 2 * CONTROL_BATCH]))?;
        }
        Ok(control)
    }

    fn post(&mut self, mut buffer: Box<[u64; 2 * CONTROL_BATCH]>) -> Result<(), TransportError> {
        // SAFETY: a null request to be overwritten; the buffer lives in `receiving` until completion.
        let request = unsafe {
            let mut request = ffi::RSMPI_REQUEST_NULL;
            let (address, words) = (buffer.as_mut_ptr().cast(), 2 * CONTROL_BATCH as c_int);
            let (any, comm) = (ffi::RSMPI_ANY_SOURCE, self.comm.raw());
            let code = ffi::PMPI_Irecv(address, words, ffi::RSMPI_UINT64_T, any, CONTROL_TAG, comm, &mut request);
            check(code, "MPI_Irecv")?;
            request
        };
        self.receiving.push(request, buffer);
        Ok(())
    }

    /// Queues a record; it leaves with the next [`Control::poll`].
    pub(super) fn queue(&mut self, to: Rank, record: ControlRecord) {
        let head = (record.kind as u64) << 32 | u64::from(record.path.0);
        self.outbox.entry(to).or_default().extend([head, record.number]);
    }

    /// Whether everything that was queued has left.
    pub(super) fn is_quiet(&self) -> bool {
        self.outbox.is_empty() && self.sending.is_empty()
    }

    /// Sends what is queued and calls `handle` for every record that has arrived.
    pub(super) fn poll(&mut self, mut handle: impl FnMut(ControlRecord)) -> Result<(), TransportError> {
        for (to, words) in std::mem::take(&mut self.outbox) {
            for batch in words.chunks(2 * CONTROL_BATCH) {
                let batch: Box<[u64]> = batch.into();
                // SAFETY: a null request to be overwritten; the buffer lives in `sending` until completion.
                let request = unsafe {
                    let mut request = ffi::RSMPI_REQUEST_NULL;
                    let (address, words) = (batch.as_ptr().cast(), batch.len() as c_int);
                    let (to, comm) = (c_rank(to), self.comm.raw());
                    let code =
                        ffi::PMPI_Isend(address, words, ffi::RSMPI_UINT64_T, to, CONTROL_TAG, comm, &mut request);
                    check(code, "MPI_Isend")?;
                    request
                };
                self.sending.push(request, batch);
            }
        }
        self.sending.test(|_, _| Ok(()))?;
        let mut arrived = Vec::new();
        self.receiving.test(|status, buffer| {
            let mut words: c_int = 0;
            // SAFETY: a status that MPI_Testsome filled in.
            check(unsafe { ffi::PMPI_Get_count(status, ffi::RSMPI_UINT64_T, &mut words) }, "MPI_Get_count")?;
            arrived.push((buffer, words.max(0) as usize));
            Ok(())
        })?;
        // After an error the transport is used for other exchanges: every receive is posted again.
        let mut rejected = Ok(());
        for (buffer, words) in arrived {
            for pair in buffer[..words.min(2 * CONTROL_BATCH)].chunks_exact(2) {
                let (code, path, number) = (pair[0] >> 32, PathId(pair[0] as u32), pair[1]);
                let Some(kind) = ControlKind::from_code(code) else {
                    let rank = self.comm.rank();
                    let what = format!("a control record of kind {code} for path {path}");
                    log::warn!("rank {rank} rejects {what}, with number {number}, in a message of {words} words");
                    rejected = rejected.and(Err(TransportError::Unexpected { rank, what }));
                    continue;
                };
                handle(ControlRecord { kind, path, number });
            }
            self.post(buffer)?;
        }
        rejected
    }
}

impl Drop for Control {
    fn drop(&mut self) {
        if is_initialized() {
            self.receiving.cancel();
        }
    }
}

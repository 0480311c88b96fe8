//! Executing a list of transfers ([`TransferList`]): who sends what is known to all ranks, how much only to the sources.
//!
//! Ranks agree that they hold the same list, tell each other the sizes (one reduction over as many words as there are
//! transfers), and then move the bytes as in any other exchange: along the transfers' paths, or along paths that rank 0 plans for
//! them. Plans stay in the session's cache for the next time. Without a network, plain messages move them.

use super::outcome::Outcome;
use super::planning::{direct_seconds, with_given_paths};
use super::plans::{Cause, Entry, Key};
use super::setup::Fabric;
use super::state::Session;
use crate::blocks::Blocks;
use crate::error::Error;
use optiq_lower::decide::Decision;
use optiq_lower::lower::Message;
use optiq_lower::transfers::{Transfer, TransferList};
use optiq_transport::mpi::{check, ffi};
use optiq_transport::{Execution, Rank};
use std::ffi::c_int;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

/// The most bytes in one message of plain MPI.
const LARGEST_PIECE: u64 = 1 << 30;

/// Where the bytes of the transfers that arrive here go, by transfer, from the sizes of all transfers.
pub(crate) type Places<'a> = &'a dyn Fn(&[u64]) -> Result<Vec<*mut u8>, Error>;

impl Session {
    /// Executes transfers: those that start here take their bytes from `send`, one after the other in the list's order, and
    /// those that end here put them into `receive` in the same way. Collective; every rank has the same transfers, and only the
    /// sizes of those that start here count.
    ///
    /// # Errors
    /// On every rank if on one: [`Error::Argument`] for ranks that are not there, lists that differ, buffers that are too
    /// small, paths that do not fit the network; and what can fail on the way.
    pub fn execute_transfers(&self, transfers: &TransferList, send: &[u8], receive: &mut [u8]) -> Result<(), Error> {
        let (me, mut offset) = (self.rank(), 0u64);
        let mut from = Vec::with_capacity(transfers.list().len());
        for transfer in transfers.list() {
            from.push(send.as_ptr().wrapping_add(offset as usize));
            offset = offset.saturating_add(if transfer.source == me { transfer.bytes } else { 0 });
        }
        let small = || Error::Argument(format!("the jobs send {offset} bytes of a buffer of {}", send.len()));
        let checked = if offset > send.len() as u64 { Err(small()) } else { Ok(from) };
        let (base, length) = (receive.as_mut_ptr(), receive.len() as u64);
        let places = |bytes: &[u64]| packed_addresses(transfers, me, bytes, base, length);
        // SAFETY: both are within the borrowed slices.
        unsafe { self.execute_transfers_at(transfers, checked, &places) }.map(|_| ())
    }

    /// The same with an address for each transfer; the sizes of all transfers.
    ///
    /// # Safety
    /// Where a transfer starts or ends here, its addresses must be valid for its bytes.
    pub(crate) unsafe fn execute_transfers_at(
        &self,
        transfers: &TransferList,
        from: Result<Vec<*const u8>, Error>,
        places: Places<'_>,
    ) -> Result<Vec<u64>, Error> {
        // Other ranks may wait for what was started, and need this rank's part in it, before they come to agree.
        self.finish_started();
        let checked = transfers.check_ranks(self.size()).map_err(Error::from).and(from);
        let shape = (transfers.shape() >> 1) as i64;
        let count = transfers.list().len() as i64;
        let alike = self.settle_words(&checked, [count, shape])?;
        let from = checked?;
        if !alike {
            return Err(Error::Argument("the ranks have different lists of jobs".into()));
        }
        let bytes = self.sizes(transfers)?;
        let blocks = places(&bytes).and_then(|into| self.transfer_blocks(transfers, &bytes, &from, &into));
        let messages = transfers.messages(&bytes);
        // Never the key of an exchange that is free to go to plain MPI.
        let paths = transfers.shape().max(1);
        let share = blocks.as_ref().map(|(send, receive)| Key::share(self.rank(), paths, send, receive));
        let key = self.settle_share(&blocks, share.unwrap_or_default())?;
        let (send, receive) = blocks?;
        let Ok(fabric) = &self.fabric else {
            let reason = self.fabric.as_ref().err().cloned().unwrap_or_default();
            // SAFETY: by this function's contract.
            unsafe { self.send_plainly(&messages, &send, &receive)? };
            self.remember(Outcome {
                decision: Arc::new(Decision::Direct { reason }),
                planned: None,
                execution: Execution::default(),
            });
            return Ok(bytes);
        };
        let known = self.plans.borrow_mut().take(key);
        let entry = match known {
            Some(entry) => entry,
            None => {
                let made = self.transfer_entry(fabric, transfers, &messages, &send, &receive);
                let entry = self.usable(made)??;
                self.plans.borrow_mut().add(key, entry)
            }
        };
        // SAFETY: by this function's contract.
        let outcome = unsafe { self.execute_entry(&entry, &send, &receive) }?;
        self.remember(outcome);
        Ok(bytes)
    }

    /// # Safety
    /// As [`Session::execute_transfers_at`].
    unsafe fn execute_entry(&self, entry: &Rc<Entry>, send: &Blocks, receive: &Blocks) -> Result<Outcome, Error> {
        let missing = || Error::BadPlan("rank 0 made none".into());
        let schedule = entry.schedule.as_ref().ok_or_else(missing)?;
        // SAFETY: by this function's contract.
        unsafe { self.execute(entry, schedule, send, receive) }
    }

    /// The sizes of all transfers, which their sources know.
    fn sizes(&self, transfers: &TransferList) -> Result<Vec<u64>, Error> {
        let me = self.rank();
        let known = |j: &Transfer| if j.source == me { i64::try_from(j.bytes).unwrap_or(-1) } else { i64::MAX };
        let mut sizes: Vec<i64> = transfers.list().iter().map(known).collect();
        self.comm.all_min(&mut sizes)?;
        match sizes.iter().position(|&s| s < 0) {
            None => Ok(sizes.into_iter().map(|s| s as u64).collect()),
            Some(transfer) => Err(Error::Argument(format!("job {transfer} has more than 2^63 - 1 bytes"))),
        }
    }

    /// This rank's side of the transfers.
    fn transfer_blocks(
        &self,
        transfers: &TransferList,
        bytes: &[u64],
        from: &[*const u8],
        into: &[*mut u8],
    ) -> Result<(Blocks, Blocks), Error> {
        let me = self.rank();
        let (mut sends, mut receives) = (Vec::new(), Vec::new());
        for (i, (transfer, &bytes)) in transfers.list().iter().zip(bytes).enumerate().filter(|(_, (_, b))| **b > 0) {
            let ends = [
                (transfer.source, transfer.destination, from[i].cast_mut()),
                (transfer.destination, transfer.source, into[i]),
            ];
            for ((here, there, address), list) in ends.into_iter().zip([&mut sends, &mut receives]) {
                if here == me && address.is_null() {
                    return Err(Error::Argument(format!("the buffer of job {i} is NULL, but it has {bytes} bytes")));
                }
                if here == me {
                    list.push((there, address, bytes));
                }
            }
        }
        let ranks = self.size() as usize;
        Ok((Blocks::scattered(&sends, ranks), Blocks::scattered(&receives, ranks)))
    }

    /// Plans, on rank 0, or takes the transfers' own paths; collective.
    fn transfer_entry(
        &self,
        fabric: &Fabric,
        transfers: &TransferList,
        messages: &[Message],
        send: &Blocks,
        receive: &Blocks,
    ) -> Result<Entry, Error> {
        let (network, placement) = (&*fabric.left(), &fabric.placement);
        self.entry(fabric, messages, send, receive, Some(""), |demands| {
            if !transfers.has_paths() {
                return self.plan_on_rank_0(fabric, demands, &Cause::Repeated);
            }
            let start = Instant::now();
            let options = self.planning(fabric).plan_options(demands, direct_seconds(network, demands));
            let plan = transfers.plan(network, placement, messages, &options)?;
            with_given_paths(start, &plan)
        })
        .map(|made| made.entry)
    }

    /// Messages straight from rank to rank, without a transport.
    ///
    /// # Safety
    /// As [`Session::execute_transfers_at`].
    unsafe fn send_plainly(&self, messages: &[Message], send: &Blocks, receive: &Blocks) -> Result<(), Error> {
        let (me, comm) = (self.rank(), self.plain.raw());
        let mut requests = Vec::new();
        // SAFETY: by this function's contract; the requests are waited for below.
        unsafe {
            self.copy_own(send, receive);
            for m in messages.iter().filter(|m| m.source == me || m.destination == me) {
                let outgoing = m.source == me;
                let (side, peer) = if outgoing { (send, m.destination) } else { (receive, m.source) };
                let start = side.base.add(side.offsets[peer.index()] as usize);
                let mut done = 0;
                while done < m.bytes {
                    let piece = LARGEST_PIECE.min(m.bytes - done);
                    let address = start.add(done as usize).cast();
                    let (count, peer) = (piece as c_int, peer.0 as c_int);
                    let mut request = ffi::RSMPI_REQUEST_NULL;
                    let code = if outgoing {
                        ffi::PMPI_Isend(address, count, ffi::RSMPI_UINT8_T, peer, 0, comm, &mut request)
                    } else {
                        ffi::PMPI_Irecv(address, count, ffi::RSMPI_UINT8_T, peer, 0, comm, &mut request)
                    };
                    check(code, if outgoing { "MPI_Isend" } else { "MPI_Irecv" })?;
                    requests.push(request);
                    done += piece;
                }
            }
            for request in &mut requests {
                let mut status = std::mem::zeroed();
                check(ffi::PMPI_Wait(request, &mut status), "MPI_Wait")?;
            }
        }
        Ok(())
    }
}

/// Addresses in a buffer in which the transfers that end at rank `me` are packed.
pub(crate) fn packed_addresses(
    transfers: &TransferList,
    me: Rank,
    bytes: &[u64],
    buffer: *mut u8,
    length: u64,
) -> Result<Vec<*mut u8>, Error> {
    let mut offset = 0u64;
    let mut places = Vec::with_capacity(bytes.len());
    for (transfer, &bytes) in transfers.list().iter().zip(bytes) {
        places.push(buffer.wrapping_add(offset as usize));
        offset = offset.saturating_add(if transfer.destination == me { bytes } else { 0 });
    }
    if offset > length {
        let text = format!("{offset} bytes arrive from the jobs, but the receive buffer has {length}");
        return Err(Error::Argument(text));
    }
    Ok(places)
}

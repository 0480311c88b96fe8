//! One side of a call, in MPI's terms: blocks of any datatype, read and written as bytes.

use super::super::comm::{Communicator, check};
use super::super::datatype::contiguous_bytes;
use super::super::ffi;
use crate::error::TransportError;
use optiq_trace::ids::Rank;
use std::ffi::{c_int, c_void};

/// Counts and displacements in elements, or the same count for every rank, one block behind the other.
#[derive(Clone, Copy)]
enum Blocks {
    Each(*const c_int, *const c_int),
    Equal(c_int),
}

/// Both sides of a call.
#[derive(Clone, Copy)]
pub struct Sides {
    /// What is sent.
    pub send: Side,
    /// Where what is received is put.
    pub receive: Side,
    /// `send` is the same as `receive`, and is sent before it is replaced.
    pub in_place: bool,
}

/// Blocks of a buffer, one for each rank, as `MPI_Alltoallv` has them.
#[derive(Clone, Copy)]
pub struct Side {
    base: *mut u8,
    blocks: Blocks,
    datatype: ffi::MPI_Datatype,
    /// Bytes of an element without its gaps.
    element: u64,
    extent: isize,
    /// Whether elements are runs of bytes in memory that this process can read and write.
    is_plain: bool,
}

impl Side {
    /// Blocks that this process can read and write.
    ///
    /// # Errors
    /// What MPI reports.
    ///
    /// # Safety
    /// As for `MPI_Alltoallv`; everything must stay valid as long as the side is used.
    pub unsafe fn new(
        base: *mut c_void,
        counts: *const c_int,
        displacements: *const c_int,
        datatype: ffi::MPI_Datatype,
    ) -> Result<Self, TransportError> {
        // SAFETY: passed on.
        unsafe { Self::of(base, Blocks::Each(counts, displacements), datatype) }
    }

    /// Blocks of `count` elements for every rank, one behind the other, as `MPI_Alltoall` has them.
    ///
    /// # Errors
    /// What MPI reports.
    ///
    /// # Safety
    /// As for `MPI_Alltoall`; the buffer must stay valid as long as the side is used.
    pub unsafe fn equal(base: *mut c_void, count: c_int, datatype: ffi::MPI_Datatype) -> Result<Self, TransportError> {
        // SAFETY: passed on.
        unsafe { Self::of(base, Blocks::Equal(count), datatype) }
    }

    /// # Safety
    /// As [`Side::new`].
    unsafe fn of(base: *mut c_void, blocks: Blocks, datatype: ffi::MPI_Datatype) -> Result<Self, TransportError> {
        let (mut size, mut lower, mut extent): (ffi::MPI_Count, _, _) = (0, 0, 0);
        // SAFETY: a valid datatype by this function's contract; out-parameters.
        let is_plain = unsafe {
            check(ffi::PMPI_Type_size_x(datatype, &mut size), "MPI_Type_size_x")?;
            check(ffi::PMPI_Type_get_extent(datatype, &mut lower, &mut extent), "MPI_Type_get_extent")?;
            contiguous_bytes(datatype)?.is_some()
        };
        let element = size.max(0) as u64;
        #[allow(clippy::unnecessary_cast, reason = "MPICH's is another type of the same size")]
        let extent = extent as isize;
        Ok(Self { base: base.cast(), blocks, datatype, element, extent, is_plain })
    }

    /// The same in memory that only MPI can read and write, as that of a GPU.
    #[must_use]
    pub fn only_by_mpi(self) -> Self {
        Self { is_plain: false, ..self }
    }

    /// Where the first block of these `ranks` ranks is that is not empty; none if all are.
    pub fn first_used(&self, ranks: u32) -> Option<*const u8> {
        let rank = (0..ranks).map(Rank).find(|&rank| self.count(rank) > 0)?;
        Some(self.address(rank).cast_const())
    }

    fn count(&self, rank: Rank) -> c_int {
        match self.blocks {
            // SAFETY: an element for each rank, by the contract of `new`.
            Blocks::Each(counts, _) => unsafe { *counts.add(rank.index()) },
            Blocks::Equal(count) => count,
        }
    }

    fn address(&self, rank: Rank) -> *mut u8 {
        let displacement = match self.blocks {
            // SAFETY: as above.
            Blocks::Each(_, displacements) => unsafe { *displacements.add(rank.index()) as isize },
            Blocks::Equal(count) => rank.index() as isize * count as isize,
        };
        self.base.wrapping_offset(displacement.wrapping_mul(self.extent))
    }

    /// Bytes of a rank's block without gaps.
    pub(super) fn bytes(&self, rank: Rank) -> u64 {
        self.count(rank).max(0) as u64 * self.element
    }

    /// Copies a rank's block of `bytes` bytes from the buffer.
    ///
    /// # Safety
    /// Room for as many bytes.
    pub(super) unsafe fn read(
        &self,
        rank: Rank,
        bytes: u64,
        into: *mut u8,
        comm: &Communicator,
    ) -> Result<(), TransportError> {
        if bytes == 0 {
            return Ok(());
        }
        if self.is_plain {
            // SAFETY: a block of the caller's buffer, and by this function's contract; different memory.
            unsafe { std::ptr::copy_nonoverlapping(self.address(rank), into, bytes as usize) };
            return Ok(());
        }
        let (mut at, room) = (0, c_int::try_from(bytes).unwrap_or(c_int::MAX));
        // SAFETY: as above; MPI packs no more than the room.
        let code = unsafe {
            let from = self.address(rank).cast();
            ffi::PMPI_Pack(from, self.count(rank), self.datatype, into.cast(), room, &mut at, comm.raw())
        };
        check(code, "MPI_Pack")
    }

    /// Copies a rank's block of `bytes` bytes into the buffer.
    ///
    /// # Safety
    /// As many bytes at `from`.
    pub(super) unsafe fn write(
        &self,
        rank: Rank,
        bytes: u64,
        from: *const u8,
        comm: &Communicator,
    ) -> Result<(), TransportError> {
        if bytes == 0 {
            return Ok(());
        }
        if self.is_plain {
            // SAFETY: a block of the caller's buffer, and by this function's contract; different memory.
            unsafe { std::ptr::copy_nonoverlapping(from, self.address(rank), bytes as usize) };
            return Ok(());
        }
        let (mut at, all) = (0, c_int::try_from(bytes).unwrap_or(c_int::MAX));
        // SAFETY: as above.
        let code = unsafe {
            let into = self.address(rank).cast();
            ffi::PMPI_Unpack(from.cast(), all, &mut at, into, self.count(rank), self.datatype, comm.raw())
        };
        check(code, "MPI_Unpack")
    }

    /// Begins to send a rank's block by itself.
    ///
    /// # Safety
    /// As for `MPI_Isend`: the block must not change until the request is complete.
    pub(super) unsafe fn send(
        &self,
        rank: Rank,
        tag: c_int,
        comm: &Communicator,
    ) -> Result<ffi::MPI_Request, TransportError> {
        let (to, raw) = (rank.0 as c_int, comm.raw());
        // SAFETY: a block of the caller's buffer, by this function's contract.
        self.begin("MPI_Isend", rank, |block, count, request| unsafe {
            ffi::PMPI_Isend(block, count, self.datatype, to, tag, raw, request)
        })
    }

    /// Begins to receive a rank's block by itself.
    ///
    /// # Safety
    /// As for `MPI_Irecv`.
    pub(super) unsafe fn receive(
        &self,
        rank: Rank,
        tag: c_int,
        comm: &Communicator,
    ) -> Result<ffi::MPI_Request, TransportError> {
        let (from, raw) = (rank.0 as c_int, comm.raw());
        // SAFETY: a block of the caller's buffer, by this function's contract.
        self.begin("MPI_Irecv", rank, |block, count, request| unsafe {
            ffi::PMPI_Irecv(block, count, self.datatype, from, tag, raw, request)
        })
    }

    /// A request for a rank's block.
    fn begin(
        &self,
        call: &'static str,
        rank: Rank,
        begin: impl FnOnce(*mut c_void, c_int, &mut ffi::MPI_Request) -> c_int,
    ) -> Result<ffi::MPI_Request, TransportError> {
        // SAFETY: a constant, overwritten.
        let mut request = unsafe { ffi::RSMPI_REQUEST_NULL };
        check(begin(self.address(rank).cast(), self.count(rank), &mut request), call)?;
        Ok(request)
    }
}

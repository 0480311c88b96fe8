//! One side of an all-to-all, in bytes: where each block starts and how long it is.

use crate::error::Error;
use optiq_transport::Rank;
use std::ffi::c_int;

/// The blocks of a send or receive buffer, one for each rank.
///
/// Displacements may be negative in MPI; `base` is therefore the address of the lowest byte that is used, and
/// offsets count from there.
#[derive(Clone, Debug)]
pub(crate) struct Blocks {
    pub(crate) base: *mut u8,
    /// Bytes from `base` to the end of the last block.
    pub(crate) extent: u64,
    pub(crate) offsets: Vec<u64>,
    pub(crate) bytes: Vec<u64>,
}

impl Blocks {
    /// From element counts and displacements, with elements of `size` bytes without gaps; `what` is "send" or
    /// "receive", for messages.
    pub(crate) fn new(
        what: &str,
        buffer: *mut u8,
        counts: &[i64],
        displacements: &[i64],
        size: u64,
    ) -> Result<Self, Error> {
        let bad = |text: String| Err(Error::Argument(text));
        let mut bytes = Vec::with_capacity(counts.len());
        let mut starts = Vec::with_capacity(counts.len());
        let (mut lowest, mut end) = (i128::MAX, i128::MIN);
        for (rank, (&count, &displacement)) in counts.iter().zip(displacements).enumerate() {
            if count < 0 {
                return bad(format!("the {what} count for rank {rank} is {count}; it must not be negative"));
            }
            let length = i128::from(count) * i128::from(size);
            let start = i128::from(displacement) * i128::from(size);
            if length > 0 {
                lowest = lowest.min(start);
                end = end.max(start + length);
            }
            starts.push(start);
            bytes.push(length);
        }
        if lowest > end {
            // Nothing to move: the buffer may be NULL.
            return Ok(Self { base: buffer, extent: 0, offsets: vec![0; counts.len()], bytes: vec![0; counts.len()] });
        }
        if buffer.is_null() {
            return bad(format!("the {what} buffer is NULL, but {} bytes are to be moved", bytes.iter().sum::<i128>()));
        }
        let (Ok(lowest_offset), Ok(extent)) = (isize::try_from(lowest), u64::try_from(end - lowest)) else {
            return bad(format!("the {what} counts and displacements reach beyond the address space"));
        };
        // Empty blocks may have any displacement; they take the lowest.
        let offsets = starts.iter().zip(&bytes).map(|(&s, &b)| if b > 0 { (s - lowest) as u64 } else { 0 }).collect();
        let base = buffer.wrapping_offset(lowest_offset);
        Ok(Self { base, extent, offsets, bytes: bytes.into_iter().map(|b| b as u64).collect() })
    }

    /// From (rank, address, bytes), at most one for each of `ranks` ranks, wherever they are.
    pub(crate) fn scattered(list: &[(Rank, *mut u8, u64)], ranks: usize) -> Self {
        let base = list.iter().map(|l| l.1).min().unwrap_or(std::ptr::null_mut());
        let (mut offsets, mut bytes, mut extent) = (vec![0; ranks], vec![0; ranks], 0);
        for &(rank, address, length) in list {
            let offset = (address.addr() - base.addr()) as u64;
            (offsets[rank.index()], bytes[rank.index()]) = (offset, length);
            extent = extent.max(offset + length);
        }
        Self { base, extent, offsets, bytes }
    }

    /// The sum of all blocks.
    pub(crate) fn total(&self) -> u64 {
        // Each is below 2^63 and the caller holds them in memory, unless the counts lie.
        self.bytes.iter().fold(0, |sum: u64, &b| sum.saturating_add(b))
    }
}

/// Reads an array of C ints.
///
/// # Safety
/// If not null, `array` must point to `length` ints.
pub(crate) unsafe fn ints(what: &str, array: *const c_int, length: usize) -> Result<Vec<i64>, Error> {
    if array.is_null() {
        return Err(Error::Argument(format!("{what} is NULL; an array of {length} ints is expected")));
    }
    // SAFETY: by this function's contract.
    Ok(unsafe { std::slice::from_raw_parts(array, length) }.iter().map(|&i| i64::from(i)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_displacements_gaps_and_empty_blocks() {
        let mut buffer = [0u8; 64];
        let middle = buffer.as_mut_ptr().wrapping_add(32);
        let b = Blocks::new("send", middle, &[1, 0, 2], &[2, 1000, -3], 4).unwrap();
        assert_eq!(b.base, middle.wrapping_sub(12));
        assert_eq!((b.extent, b.total()), (24, 12));
        assert_eq!((b.offsets, b.bytes), (vec![20, 0, 0], vec![4, 0, 8]));
    }

    #[test]
    fn bad_arguments_are_named() {
        let e = Blocks::new("receive", std::ptr::null_mut(), &[0, -2], &[0, 0], 4).unwrap_err();
        assert_eq!(e.to_string(), "the receive count for rank 1 is -2; it must not be negative");
        let e = Blocks::new("send", std::ptr::null_mut(), &[0, 2], &[0, 0], 4).unwrap_err();
        assert_eq!(e.to_string(), "the send buffer is NULL, but 8 bytes are to be moved");
        assert!(Blocks::new("send", std::ptr::null_mut(), &[0, 0], &[0, 5], 4).is_ok());
        assert!(Blocks::new("send", 8 as *mut u8, &[i64::MAX, 1], &[0, i64::MAX], u64::MAX).is_err());
    }
}

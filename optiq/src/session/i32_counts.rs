//! A call's counts and displacements as C has them.
//!
//! A call on the fast path takes a microsecond, so the lists are copied, summed and checked in one
//! pass without branches, into one piece of memory.

use std::ffi::c_int;

/// Copies of a call's four lists, one after the other: counts and displacements to send, and to receive.
#[derive(Debug, Default)]
pub(super) struct I32Counts {
    words: Vec<c_int>,
}

/// What one side's lists are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lists {
    /// They are as long as there are ranks, and C can count so far. Otherwise their copies mean nothing.
    pub(super) countable: bool,
    /// They are countable and do not reach beyond the buffer.
    pub(super) fit: bool,
    /// The sum of the counts, if they are countable.
    pub(super) elements: u64,
}

impl I32Counts {
    /// Copies the lists to send (`side` 0) or to receive (`side` 1), for a buffer of `length` elements. The displacement of
    /// an empty block is not used and becomes 0.
    #[inline]
    pub(super) fn copy(
        &mut self,
        ranks: usize,
        side: usize,
        counts: &[usize],
        displacements: &[usize],
        length: usize,
    ) -> Lists {
        if self.words.len() != 4 * ranks {
            self.words = vec![0; 4 * ranks];
        }
        if counts.len() != ranks || displacements.len() != ranks {
            return Lists { countable: false, fit: false, elements: 0 };
        }
        let (into_counts, into_displacements) = self.words[2 * ranks * side..][..2 * ranks].split_at_mut(ranks);
        let (mut bits, mut end, mut elements) = (0, 0, 0u64);
        for i in 0..ranks {
            let count = counts[i];
            let displacement = if count > 0 { displacements[i] } else { 0 };
            bits |= count | displacement;
            // Right as long as `bits` stays small; not used otherwise.
            end = end.max(count.wrapping_add(displacement));
            elements = elements.wrapping_add(count as u64);
            into_counts[i] = count as c_int;
            into_displacements[i] = displacement as c_int;
        }
        let countable = bits <= c_int::MAX as usize;
        Lists { countable, fit: countable && end <= length, elements }
    }

    /// The four lists.
    #[inline]
    pub(super) fn lists(&self) -> [&[c_int]; 4] {
        let (send, receive) = self.words.split_at(self.words.len() / 2);
        let (send, receive) = (send.split_at(send.len() / 2), receive.split_at(receive.len() / 2));
        [send.0, send.1, receive.0, receive.1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_copied_summed_and_checked() {
        let mut i32_counts = I32Counts::default();
        let found = i32_counts.copy(3, 1, &[2, 0, 5], &[1, usize::MAX, 3], 8);
        assert_eq!(found, Lists { countable: true, fit: true, elements: 7 });
        assert_eq!(i32_counts.lists(), [&[0; 3][..], &[0; 3], &[2, 0, 5], &[1, 0, 3]]);
        assert!(!i32_counts.copy(3, 0, &[2, 0, 5], &[1, 0, 3], 7).fit);
        let largest = c_int::MAX as usize;
        assert!(i32_counts.copy(3, 0, &[largest, 0, 0], &[largest, 0, 0], 2 * largest).fit);
        for (counts, displacements) in
            [([largest + 1, 0, 0], [0; 3]), ([1, 0, 0], [largest + 1, 0, 0]), ([usize::MAX, 1, 0], [usize::MAX, 1, 0])]
        {
            let found = i32_counts.copy(3, 0, &counts, &displacements, usize::MAX);
            assert!(!found.countable && !found.fit);
        }
        assert!(!i32_counts.copy(3, 0, &[1, 1], &[0, 0, 0], 9).countable);
    }
}

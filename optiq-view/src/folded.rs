//! An axis of time without the long gaps between calls: each is folded to a narrow band, so that what happened fills the picture.

use crate::axis::Axis;
use crate::table;

/// How wide a folded gap is, in the units of the drawing.
pub const FOLD: f64 = 26.0;
/// Gaps that are longer than this part of all time in calls are folded.
const LONG: f64 = 0.04;
/// More gaps than these are not folded one by one: the longest are.
const MOST_FOLDS: usize = 24;

/// Time that is shown without a break.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Piece {
    /// When it begins, in nanoseconds.
    pub start: u64,
    /// When it ends, in nanoseconds.
    pub end: u64,
    /// Where it begins.
    pub left: f64,
    /// Where it ends.
    pub right: f64,
}

impl Piece {
    /// Seconds, from its left to its right.
    pub fn axis(&self) -> Axis {
        let (start, end) = (self.start as f64 / 1e9, self.end.max(self.start + 1) as f64 / 1e9);
        Axis::linear((start, end), (self.left, self.right))
    }
}

/// Time from the start of the first call to the end of the last one.
pub struct FoldedTime {
    pieces: Vec<Piece>,
}

impl FoldedTime {
    /// The times of calls, start and end in nanoseconds, between two places; `None` without a call.
    pub fn of(calls: &[(u64, u64)], (left, right): (f64, f64)) -> Option<Self> {
        let mut calls: Vec<(u64, u64)> = calls.to_vec();
        calls.sort_unstable();
        let mut busy: Vec<(u64, u64)> = Vec::new();
        for (start, end) in calls {
            match busy.last_mut() {
                Some((_, before)) if start <= *before => *before = end.max(*before),
                _ => busy.push((start, end)),
            }
        }
        let all: u64 = busy.iter().map(|(start, end)| end - start).sum();
        let mut gaps: Vec<u64> = busy.windows(2).map(|two| two[1].0 - two[0].1).collect();
        gaps.retain(|&gap| gap as f64 > LONG * all as f64);
        gaps.sort_unstable_by(|a, b| b.cmp(a));
        let shortest = gaps.get(MOST_FOLDS).map_or(LONG * all as f64, |&gap| gap as f64);
        let mut shown: Vec<(u64, u64)> = Vec::new();
        for (start, end) in busy {
            match shown.last_mut() {
                Some((_, before)) if (start - *before) as f64 <= shortest => *before = end,
                _ => shown.push((start, end)),
            }
        }
        let length = |&(start, end): &(u64, u64)| (end - start).max(1) as f64;
        let scale = (right - left - FOLD * shown.len().checked_sub(1)? as f64) / shown.iter().map(length).sum::<f64>();
        let mut at = left;
        let pieces = shown.iter().map(|piece| {
            let from = at;
            at += length(piece) * scale + FOLD;
            Piece { start: piece.0, end: piece.1, left: from, right: from + length(piece) * scale }
        });
        Some(FoldedTime { pieces: pieces.collect() })
    }

    /// What is shown, from left to right.
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// How much time is shown, in nanoseconds.
    pub fn shown(&self) -> u64 {
        self.pieces.iter().map(|p| p.end - p.start).sum()
    }

    /// Where a time in nanoseconds lies; times in a folded gap lie at its left.
    pub fn at(&self, time: u64) -> f64 {
        let next = self.pieces.partition_point(|p| p.start <= time);
        let Some(piece) = self.pieces.get(next.saturating_sub(1)) else { return 0.0 };
        piece.axis().at(time as f64 / 1e9)
    }

    /// The middle of each folded gap, and how long it lasted.
    pub fn folds(&self) -> impl Iterator<Item = (f64, String)> {
        self.pieces
            .windows(2)
            .map(|two| ((two[0].right + two[1].left) / 2.0, table::seconds((two[1].start - two[0].end) as f64 / 1e9)))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn long_gaps_are_folded_and_short_ones_kept() {
        // Calls of 100 ns each; 2 ns between the first two, then a second.
        let second = 1_000_000_000;
        let time = FoldedTime::of(&[(second, second + 100), (0, 100), (102, 202)], (0.0, 302.0 + FOLD)).unwrap();
        assert_eq!(time.pieces().len(), 2);
        assert_eq!((time.at(0), time.at(202), time.at(second)), (0.0, 202.0, 202.0 + FOLD));
        assert!((time.at(second + 50) - (252.0 + FOLD)).abs() < 1e-6 && time.at(500) == 202.0);
        let folds: Vec<(f64, String)> = time.folds().collect();
        assert_eq!(folds, [(202.0 + FOLD / 2.0, "1000 ms".to_string())]);
        assert_eq!(time.shown(), 302);
    }

    #[test]
    fn many_gaps_and_odd_calls() {
        let calls: Vec<(u64, u64)> = (0..500).map(|i| (1000 * i, 1000 * i + 10)).collect();
        let time = FoldedTime::of(&calls, (0.0, 1000.0)).unwrap();
        assert!(time.pieces().len() <= MOST_FOLDS + 1 && time.pieces().iter().all(|p| p.right > p.left));
        assert!(FoldedTime::of(&[], (0.0, 1.0)).is_none());
        let empty = FoldedTime::of(&[(5, 5)], (0.0, 10.0)).unwrap();
        assert!(empty.at(5).is_finite() && empty.at(0).is_finite() && empty.at(9).is_finite());
    }
}

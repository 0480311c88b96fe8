//! How large the pieces are in which a message travels.
//!
//! # Derivation
//!
//! A path of `b` bytes over `L` legs is a pipeline: in chunks of `c` bytes, each of which costs a leg `o + c / B`
//! seconds (`B` the bandwidth, `o` what a chunk costs apart from its bytes), the last byte is over after
//!
//! ```text
//!     T(c) = (b / c + L - 1) (o + c / B),        dT/dc = (L - 1) / B - b o / c^2,
//!     c*   = sqrt(b o B / (L - 1)),
//! ```
//!
//! the optimum packet size of S. L. Johnsson and C.-T. Ho, "Optimum Broadcasting and Personalized Communication in
//! Hypercubes", IEEE Transactions on Computers 38(9), 1989, for a chain. Smaller chunks cost too many times `o`,
//! larger ones fill the pipeline too slowly; around `c*` the curve is flat. Of `o` and `B` only the product counts:
//! the bytes that a link could have carried in the time that a chunk costs.
//!
//! That is for a path by itself. Where paths meet in memory at every host that they pass, [`ChunkRule::settle`] gives all of an
//! exchange one size, the mean over the bytes on all legs: larger chunks would fill the queues that smaller ones wait in. At
//! 512 nodes of a simulated Blue Gene/Q (pattern subset) messages of 2 and of 8 MiB take 0.91 and 0.93 of the time then.
//!
//! Two things limit it: what the transport sends without asking the receiver ([`ChunkCost::largest_chunk`]), and the budget
//! (see [`crate::Schedule`]).

use crate::capabilities::Capabilities;
use crate::constants::{CHUNK_NANOSECONDS, EAGER, LEAST_CHUNK, LINK_BYTES_PER_SECOND};

/// What a chunk costs apart from its bytes, how fast bytes go, and how large a chunk may be: what [`ChunkRule::Auto`]
/// computes the chunk size from. The default suits both ends of the range that was measured: 2 us at 2 GB/s (a link of Blue
/// Gene/Q), and 320 us at 12.5 MB/s (the lab, where sixteen ranks share two processors), are both 4,000 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkCost {
    /// Nanoseconds per chunk and leg.
    pub nanoseconds: u64,
    /// Bytes per second of a link.
    pub bytes_per_second: u64,
    /// The largest automatic chunk, in bytes: what the transport sends without asking the receiver.
    pub largest_chunk: u64,
}

impl Default for ChunkCost {
    fn default() -> Self {
        Self { nanoseconds: CHUNK_NANOSECONDS, bytes_per_second: LINK_BYTES_PER_SECOND, largest_chunk: EAGER }
    }
}

impl ChunkCost {
    /// The same costs, with the largest chunk of a transport, as far as that is known.
    #[must_use]
    pub fn within(self, capabilities: &Capabilities) -> Self {
        let eager = capabilities.largest_eager_bytes.unwrap_or(self.largest_chunk);
        Self { largest_chunk: eager.min(capabilities.largest_chunk_bytes.unwrap_or(u64::MAX)).max(1), ..self }
    }

    /// A chunk size within the limits of the automatic rule.
    fn clamp(self, size: u64) -> u64 {
        size.clamp(LEAST_CHUNK.min(self.largest_chunk), self.largest_chunk)
    }

    /// Bytes that a link could have carried in the time that a chunk costs; at least 1.
    fn bytes(self) -> u128 {
        (u128::from(self.nanoseconds) * u128::from(self.bytes_per_second) / 1_000_000_000).max(1)
    }
}

/// The rule that gives the chunk size for a message.
///
/// Smaller chunks shorten the pipeline's fill time, larger ones cost less per byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChunkRule {
    /// The thesis's measurements on Blue Gene/Q (6.4.4.7): below 32 KiB the whole message (it measured "less than
    /// 16 KB: whole" and 32 KB, nothing between), from 32 KiB 16 KiB, from 64 to 128 KiB 32 KiB, above that 64 KiB.
    #[default]
    Thesis,
    /// The optimum of the pipeline that the path is, see the top of the file.
    Auto,
    /// Always this many bytes (at least 1).
    Fixed(u64),
}

impl ChunkRule {
    /// The rule for paths that meet in memory, each with its bytes and its number of legs: [`ChunkRule::Auto`] becomes one size
    /// for all of them, the others stay what they are.
    #[must_use]
    pub fn settle(self, paths: impl Iterator<Item = (u64, u64)>, cost: ChunkCost) -> Self {
        if self != ChunkRule::Auto {
            return self;
        }
        let size =
            mean(paths.map(|(bytes, legs)| (bytes, legs, best(bytes, legs, cost)))).unwrap_or(cost.largest_chunk);
        ChunkRule::Fixed(cost.clamp(size))
    }

    /// The chunk size in bytes for a path of `bytes` bytes over `legs` legs: at least 1, at most `bytes` (if that is
    /// not 0).
    pub fn chunk(self, bytes: u64, legs: u64, cost: ChunkCost) -> u64 {
        const KIB: u64 = 1024;
        let size = match self {
            ChunkRule::Auto => best(bytes, legs, cost),
            ChunkRule::Thesis if bytes < 32 * KIB => bytes,
            ChunkRule::Thesis if bytes < 64 * KIB => 16 * KIB,
            ChunkRule::Thesis if bytes <= 128 * KIB => 32 * KIB,
            ChunkRule::Thesis => 64 * KIB,
            ChunkRule::Fixed(size) => size,
        };
        size.min(bytes).max(1)
    }
}

/// The mean size of chunks over the bytes on all legs, of paths with their bytes, their numbers of legs and the sizes of their
/// chunks; `None` if there are no bytes.
pub(crate) fn mean(paths: impl Iterator<Item = (u64, u64, u64)>) -> Option<u64> {
    // All legs' bytes, and these times the size of their chunks.
    let (mut all, mut sized) = (0u128, 0u128);
    for (bytes, legs, chunk) in paths {
        let carried = u128::from(bytes).saturating_mul(legs.into());
        all = all.saturating_add(carried);
        sized = sized.saturating_add(carried.saturating_mul(chunk.into()));
    }
    sized.checked_div(all).and_then(|size| u64::try_from(size).ok())
}

/// The best size for a path by itself; not limited by its bytes.
fn best(bytes: u64, legs: u64, cost: ChunkCost) -> u64 {
    match legs.saturating_sub(1) {
        0 => cost.largest_chunk,
        more => {
            let best = (u128::from(bytes).saturating_mul(cost.bytes()) / u128::from(more)).isqrt();
            cost.clamp(u64::try_from(best).unwrap_or(u64::MAX))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thesis_rule_at_its_measured_points() {
        let k = 1024;
        let rule = |m: u64| ChunkRule::Thesis.chunk(m * k, 3, ChunkCost::default()) / k;
        assert_eq!([8, 16, 32, 64, 128, 256, 8192].map(rule), [8, 16, 16, 32, 32, 64, 64]);
    }

    #[test]
    fn the_automatic_rule_is_the_optimum_of_the_pipeline() {
        let cost = ChunkCost { nanoseconds: 5_000, bytes_per_second: 1_000_000_000, ..ChunkCost::default() };
        // sqrt(500,000 x 5,000 / 1) = 50,000 and sqrt(800,000 x 5,000 / 4) = 31,622.8.
        let auto = |bytes, legs| ChunkRule::Auto.chunk(bytes, legs, cost);
        assert_eq!([auto(500_000, 2), auto(800_000, 5)], [50_000, 31_622]);
        // No pipeline to fill; more than MPI sends at once; hardly worth cutting; the whole message.
        assert_eq!(
            [auto(500_000, 1), auto(8 << 20, 2), auto(9_000, 5), auto(1_000, 2)],
            [EAGER, EAGER, LEAST_CHUNK, 1_000]
        );
        // Cheaper than any neighbour by the formula it comes from: no chunk of another size is faster.
        let time = |bytes: f64, legs: f64, c: f64| (bytes / c + legs - 1.0) * (5e-6 + c / 1e9);
        for (bytes, legs) in [(300_000, 2), (1_000_000, 3), (700_000, 7)] {
            let best = auto(bytes, legs) as f64;
            let at = |c: f64| time(bytes as f64, legs as f64, c);
            assert!((1..40).all(|i| at(best) <= at(best * f64::from(i) / 20.0) * (1.0 + 1e-9)), "{bytes} {legs}");
        }
    }

    #[test]
    fn the_automatic_rule_settles_on_one_size() {
        let cost = ChunkCost { nanoseconds: 5_000, bytes_per_second: 1_000_000_000, ..ChunkCost::default() };
        let settle = |paths: &[(u64, u64)]| ChunkRule::Auto.settle(paths.iter().copied(), cost);
        // 50,000 and 31,622 by themselves (see above); on 1,000,000 and on 4,000,000 bytes of legs.
        assert_eq!(settle(&[(500_000, 2)]), ChunkRule::Fixed(50_000));
        assert_eq!(settle(&[(500_000, 2), (800_000, 5)]), ChunkRule::Fixed((50_000 + 4 * 31_622) / 5));
        // Short paths do not make it smaller than the smallest chunk.
        assert_eq!(settle(&[(1_000, 2)]), ChunkRule::Fixed(LEAST_CHUNK));
        // Nothing to send, and far more than any exchange has.
        assert_eq!([settle(&[]), settle(&[(0, 3)])], [ChunkRule::Fixed(EAGER); 2]);
        assert_eq!(settle(&[(u64::MAX, u64::MAX), (u64::MAX, 2)]), ChunkRule::Fixed(LEAST_CHUNK));
        assert_eq!(ChunkRule::Thesis.settle([(1, 1)].into_iter(), cost), ChunkRule::Thesis);
    }

    #[test]
    fn a_chunk_is_never_empty_and_never_larger_than_the_message() {
        assert_eq!(ChunkRule::Fixed(0).chunk(10, 1, ChunkCost::default()), 1);
        assert_eq!(ChunkRule::Fixed(100).chunk(10, 1, ChunkCost::default()), 10);
        let dear = ChunkCost { nanoseconds: u64::MAX, bytes_per_second: u64::MAX, ..ChunkCost::default() };
        assert_eq!(ChunkRule::Auto.chunk(u64::MAX, 2, dear), EAGER);
        assert_eq!(ChunkRule::Thesis.chunk(0, 1, ChunkCost::default()), 1);
    }
}

//! How large the pieces are in which a message travels.

/// The rule that gives the chunk size for a message.
///
/// Smaller chunks shorten the pipeline's fill time, larger ones cost less per byte.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChunkRule {
    /// The thesis's measurements on Blue Gene/Q (6.4.4.7): below 32 KiB the whole message (it measured "less than
    /// 16 KB: whole" and 32 KB, nothing between), from 32 KiB 16 KiB, from 64 to 128 KiB 32 KiB, above that 64 KiB.
    #[default]
    Thesis,
    /// The thesis's rule, but never more than [`EAGER`] bytes.
    Auto,
    /// Always this many bytes (at least 1).
    Fixed(u64),
}

/// What MPI libraries send at once, without asking the receiver first: Open MPI's TCP transport up to 64 KiB
/// including its own header. Since a chunk's receive is always posted, asking would only cost a round trip per
/// chunk: measured in the lab (100 Mbit/s torus, 4 MB per pair), chunks of 64 KiB take 1.8 times as long as chunks of
/// 65,400 bytes.
pub const EAGER: u64 = (64 << 10) - 256;

impl ChunkRule {
    /// The chunk size in bytes for a message of `message` bytes: at least 1, at most `message` (if that is not 0).
    pub fn chunk(self, message: u64) -> u64 {
        const KIB: u64 = 1024;
        let size = match self {
            ChunkRule::Auto => ChunkRule::Thesis.chunk(message).min(EAGER),
            ChunkRule::Thesis if message < 32 * KIB => message,
            ChunkRule::Thesis if message < 64 * KIB => 16 * KIB,
            ChunkRule::Thesis if message <= 128 * KIB => 32 * KIB,
            ChunkRule::Thesis => 64 * KIB,
            ChunkRule::Fixed(size) => size,
        };
        size.min(message).max(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thesis_rule_at_its_measured_points() {
        let k = 1024;
        let rule = |m: u64| ChunkRule::Thesis.chunk(m * k) / k;
        assert_eq!([8, 16, 32, 64, 128, 256, 8192].map(rule), [8, 16, 16, 32, 32, 64, 64]);
    }

    #[test]
    fn the_automatic_rule_stays_below_the_eager_limit() {
        assert_eq!([1000, 100_000, 8 << 20].map(|m| ChunkRule::Auto.chunk(m)), [1000, 32 << 10, 65_280]);
    }

    #[test]
    fn a_chunk_is_never_empty_and_never_larger_than_the_message() {
        assert_eq!(ChunkRule::Fixed(0).chunk(10), 1);
        assert_eq!(ChunkRule::Fixed(100).chunk(10), 10);
        assert_eq!(ChunkRule::Thesis.chunk(0), 1);
    }
}

//! A rank's trace in a file.
//!
//! ```text
//!   magic "OPTIQTRC", format version u32, length of the head u32,
//!   head:    session u64, rank u32, ranks u32, wall u64, offset i64, error u64, ring's capacity u64, transport's name
//!   blocks:  tag u8, length u32, that many bytes
//!     1  table            number u32, count u32, legs of 36 bytes
//!     2  calls, records   count u32, calls of 123 bytes and their words; count u32, records of 46 bytes
//!     3  the end          records u64, dropped records u64
//! ```
//!
//! All numbers are little-endian, and nothing but counts and lengths says how much there is, each checked against the
//! bytes that are left, so that no file makes its reader allocate more than a small multiple of its own size. A file
//! whose last block is cut off, or that has no block 3, is that of a rank that was killed, or of a disk that was full: what is
//! whole is read, down to single calls and records.

pub(crate) const MAGIC: &[u8; 8] = b"OPTIQTRC";
pub(crate) const VERSION: u32 = 1;
pub(crate) const TABLE: u8 = 1;
pub(crate) const CALLS: u8 = 2;
pub(crate) const END: u8 = 3;
pub(crate) const LEG_BYTES: usize = 36;
pub(crate) const CALL_BYTES: usize = 123;
pub(crate) const RECORD_BYTES: usize = 46;
/// The longest head of a file, in bytes.
pub(crate) const MAX_HEAD: usize = 4096;
/// Text of a call beyond this is cut, in bytes.
pub(crate) const MAX_WORDS: usize = 1000;
/// Stands for a number that is not given.
pub(crate) const NONE: u32 = u32::MAX;

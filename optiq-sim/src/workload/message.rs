//! What an exchange moves.

/// Bytes from one host to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its source.
    pub source: u32,
    /// Its destination.
    pub destination: u32,
    /// Its size.
    pub bytes: u64,
    /// Its priority class; higher ones are more urgent. MPI's algorithms know none.
    pub class: u8,
}

//! What a transport can do, as the transport itself declares it, so that no code concludes it from the transport's name.

/// What [`crate::Event::Sent`] means: how far a chunk has got by then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendCompletion {
    /// The send buffer may be used again (MPI: local completion). The bytes may still be anywhere on the way, so confirmations
    /// do not show how much the network holds.
    Local,
    /// The receiver has matched the message with its receive (MPI: completion of a synchronous send). What is not confirmed
    /// is at most what the network and its queues hold, and the last message of each receive.
    Matched,
    /// The bytes lie in the receiver's memory (MPI: remote completion, after a flush).
    Remote,
}

impl SendCompletion {
    /// Whether bytes that are sent and not confirmed are those that the network holds. Only then does an in-flight limit bound
    /// the queues in the network.
    pub fn is_confirmed_by_target(self) -> bool {
        self != SendCompletion::Local
    }
}

/// What a transport can do, and what its confirmations mean. All ranks of an exchange see the same values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Capabilities {
    /// A name for logs and results: `in-process`, `mpi-two-sided`, `mpi-one-sided`, `mpi-pull`.
    pub name: &'static str,
    /// The largest message, in bytes, that leaves at once, without asking the receiver first; `None` if that is unknown or
    /// if there is no such limit. Chunks should not be larger.
    pub largest_eager_bytes: Option<u64>,
    /// The largest chunk that it can carry, in bytes; `None` if there is no limit. A larger one is an error of
    /// [`crate::Transport::send`].
    pub largest_chunk_bytes: Option<u64>,
    /// Whether chunks arrive straight in the receive buffer. If not, they arrive in slots of the receiver's, also those that
    /// end there, and are copied from there.
    pub delivers_in_place: bool,
    /// What [`crate::Event::Sent`] means.
    pub send_completion: SendCompletion,
    /// Whether [`crate::Transport::poll`] may wait inside a call until another rank or the network has answered, because
    /// confirming sends takes a flush that cannot be tested.
    pub flush_blocks: bool,
    /// Whether [`crate::Transport::end`] returns true only after all ranks have asked for the end, as in a barrier. It never
    /// waits inside the call.
    pub end_waits_for_all_ranks: bool,
    /// Whether bytes get into the target's memory only while the target makes calls of its own (polls); `None` for a
    /// transport that does not put. True where the library may need it on some networks.
    pub puts_need_target_progress: Option<bool>,
    /// Whether dropping it is a collective call, because it holds memory that other ranks write to.
    pub drop_is_collective: bool,
    /// The most bytes that it holds in flight, on all legs of a rank together; `None` if it sets no bound of its own.
    pub largest_bytes_in_flight: Option<u64>,
}

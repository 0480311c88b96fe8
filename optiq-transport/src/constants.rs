//! The tuned constants of this crate: typed values for the code, and records that say what they rest on.
//!
//! Where a record says that a command was not kept, the measurement cannot be repeated exactly, and should be made again on
//! training cases.

use optiq_measure::constant::Provenance::{Chosen, Derived, Measured};
use optiq_measure::constants;

constants! {
    /// All of them, with units and provenance.
    pub const CONSTANTS;

    /// The largest automatic chunk: what MPI libraries send at once, without asking the receiver first. Open MPI's TCP
    /// transport does so up to 64 KiB including its own header. The receive of a chunk is always posted, so asking only costs
    /// a round trip per chunk. Larger chunks need that round trip, smaller ones cost more per byte.
    pub const EAGER: u64 = (64 << 10) - 256, "B", "transport.eager_bytes",
        Measured {
            command: "not kept; decision 004 describes the run (4x4 torus, 100 Mbit/s, 4 MB per pair, median of 5: chunks of \
             64 KiB 0.64 to 0.71 s, of 65,400 bytes 0.36 s)",
            date: "2026-11-20",
            cases: "lab-thesis30 (disjoint at 4 MB, before cases were divided)",
        };

    /// The smallest automatic chunk, unless the message is smaller. Smaller chunks cost more per byte than they gain in
    /// filling a pipeline.
    pub const LEAST_CHUNK: u64 = 8 << 10, "B", "transport.least_chunk",
        Chosen { reason: "not recorded when it was set; about twice the 4,000 bytes that a chunk costs" };

    /// What a chunk costs on a leg apart from its bytes. Only its product with `transport.link_bytes_per_second` counts: a
    /// larger product makes automatic chunks larger.
    pub const CHUNK_NANOSECONDS: u64 = 2_000, "ns", "transport.chunk_nanoseconds",
        Derived {
            from: "2 us at 2 GB/s (a link of Blue Gene/Q) and 320 us at 12.5 MB/s (the lab, sixteen ranks on two processors, \
             seen on 2026-11-21) are both 4,000 bytes",
        };

    /// The bandwidth of a link that automatic chunks assume; see `transport.chunk_nanoseconds`.
    pub const LINK_BYTES_PER_SECOND: u64 = 2_000_000_000, "B/s", "transport.link_bytes_per_second",
        Derived { from: "the nominal rate of a link of Blue Gene/Q; see transport.chunk_nanoseconds" };

    /// Bytes in flight on the busiest leg: six chunks, of which one is on the wire, one is being confirmed, and four wait for
    /// progress loops that share processors. Below it links idle, above it queues grow without effect.
    pub const IN_FLIGHT_LIMIT: u64 = 6 * EAGER, "B", "transport.in_flight_limit",
        Measured {
            command: "not kept; docs/executor.md has the table of W = 2 to 8 chunks (torus:4x4, torus:2x2x2x2, patterns at 2 \
             to 8 MB, medians of 3)",
            date: "2026-11-21",
            cases: "lab-thesis30, lab-torus-2x2x2x2 (2 to 8 MB, before cases were divided)",
        };

    /// The largest chunk for queues of medium length. Larger ones lose packets where queues hold two large chunks, smaller ones cost
    /// turns of progress loops.
    pub const MEDIUM_CHUNK: u64 = 4 * LEAST_CHUNK, "B", "transport.medium_chunk",
        Measured {
            command: "optiq bench alltoallv --force --demands pattern:disjoint,pattern:overlap,pattern:subset --message 4MB \
             --repetitions 3, in the lab torus:4x4, profile kernel, with chunks of 8, 16, 32 and 64 KiB and 16, 64, 96 and 384 KiB in \
             flight: 91, 90, 78 %, 94, 90, 82 %, 95, 88, 86 % and 87, 79, 71 % of the plan's bound",
            date: "2026-11-24",
            cases: "profiles-torus",
        };

    /// The bytes in flight on the busiest leg for queues of medium length.
    pub const MEDIUM_IN_FLIGHT_LIMIT: u64 = 3 * MEDIUM_CHUNK, "B", "transport.medium_in_flight_limit",
        Measured { command: "as for transport.medium_chunk", date: "2026-11-24", cases: "profiles-torus" };

    /// The largest chunk for short queues; as for `transport.medium_chunk`.
    pub const SHORT_CHUNK: u64 = 2 * LEAST_CHUNK, "B", "transport.short_chunk",
        Measured {
            command: "optiq bench alltoallv --force --demands pattern:alltoall --message 64kB,256kB --repetitions 5, in the lab torus:4x4, \
             profile tuned, with chunks of 64, 32, 16, 16, 16 and 8 KiB and 384, 96, 96, 64, 48 and 16 KiB in flight: 61, 74 %, 77, 92 %, \
             77, 89 %, 86, 94 %, 93, 90 % and 67, 73 % of the plan's bound",
            date: "2026-11-24",
            cases: "direct-torus",
        };

    /// The bytes in flight on the busiest leg for short queues.
    pub const SHORT_IN_FLIGHT_LIMIT: u64 = 3 * SHORT_CHUNK, "B", "transport.short_in_flight_limit",
        Measured { command: "as for transport.short_chunk", date: "2026-11-24", cases: "direct-torus" };

    /// The bytes in flight on the busiest leg for the shortest queues.
    pub const SHORTEST_IN_FLIGHT_LIMIT: u64 = 2 * LEAST_CHUNK, "B", "transport.shortest_in_flight_limit",
        Derived { from: "two chunks are the least that pipelines: one on the wire while the other is confirmed" };

    /// How far a rank may be ahead in a timetable. Smaller leaves ports idle while chunks are confirmed, larger lets several ranks
    /// send to one port.
    pub const AHEAD: u64 = EAGER, "B", "transport.ahead",
        Measured {
            command: "optiq bench alltoallv --force --demands pattern:alltoall --message 16kB,64kB,256kB,1MB --repetitions 3, in \
             labs star:16 and fattree:k=4 with 32, 64, 128, 256 and 512 kB: 98 to 100 % of the bound with 32 and 64 kB, 88 to 100 % \
             with more",
            date: "2026-11-23",
            cases: "direct-alltoall",
        };

    /// The part of the busiest leg's bytes (one in this number) that is in flight where the network's own hardware puts
    /// chunks. A larger part delays chunks at every leg, a smaller one leaves links idle.
    pub const PUTS_IN_FLIGHT_PART: u64 = 40, "1", "transport.puts_in_flight_part",
        Measured {
            command: "optiq simulate --topology bgq:512 --demands pattern:disjoint --message SIZE --model data/sim/bgq.toml \
             --legs hops --transport one-sided --in-flight-part N",
            date: "2026-11-22",
            cases: "before cases were divided (bgq:512, disjoint, 64 KiB to 2 MiB)",
        };

    /// Buffer memory of a rank. With less, chunks and windows shrink where many paths meet.
    pub const BUDGET: u64 = 64 << 20, "B", "transport.budget",
        Chosen { reason: "chunks of 64 KiB for up to 1,024 paths through one rank (decision 003)" };

    /// The largest window of a path on a leg, in chunks. Smaller ones hold chunks back while credits wait behind data, larger
    /// ones take memory.
    pub const WINDOW: u64 = 32, "1", "transport.window",
        Measured {
            command: "not kept; docs/executor.md describes the run (torus:4x4, pattern subset, 4 MB per pair: 0.30 s with \
             windows of 8, 0.25 s with 32)",
            date: "2026-11-21",
            cases: "lab-thesis30 (subset at 4 MB, before cases were divided)",
        };

    /// Sends that a rank hands to its transport at one time. A send that is handed over cannot be overtaken any more; with
    /// too few, links idle.
    pub const SENDS_IN_FLIGHT: usize = 256, "1", "transport.sends_in_flight",
        Chosen {
            reason: "not recorded when it was set; more than the in-flight limits allow on a few dozen legs, so it only \
             bounds the number of open requests",
        };

    /// How long nothing may move before a line in the log says what is missing.
    pub const STALL_NOTICE_SECONDS: u64 = 10, "s", "transport.stall_notice_seconds",
        Chosen {
            reason: "not recorded when it was set; far longer than any chunk takes, short enough to help a user who watches",
        };

    /// Polls without an event before a rank that shares its processor sleeps. Fewer sleep too early, more take processor time
    /// from ranks with work.
    pub const BACKOFF_POLLS: u32 = 4, "1", "transport.backoff_polls",
        Chosen { reason: "not recorded when it was set; short bursts of polls catch what arrives at once" };

    /// A yield that takes longer means that another process ran, so the processor is shared. A smaller value mistakes slow
    /// system calls for sharing.
    pub const BACKOFF_SHARED_MICROSECONDS: u64 = 10, "us", "transport.backoff_shared_microseconds",
        Chosen { reason: "a yield that no other process uses returns within a few microseconds" };

    /// The sleep between polls on a shared processor. Longer sleeps delay forwarding, shorter ones take processor time.
    pub const BACKOFF_SLEEP_MICROSECONDS: u64 = 100, "us", "transport.backoff_sleep_microseconds",
        Chosen {
            reason: "longer than a round over all ranks takes, shorter than a chunk takes on a fast network with shared \
             processors",
        };

    /// Records (credits, announcements of puts) that share a control message. Smaller batches cost more messages, larger ones
    /// more memory.
    pub const CONTROL_BATCH: usize = 32, "1", "transport.control_batch",
        Chosen { reason: "not recorded when it was set; 32 records are 512 bytes, far below any eager limit" };

    /// Receives for control messages that are posted ahead. With fewer, messages of many senders wait inside the MPI library.
    pub const CONTROL_RECEIVES: usize = 16, "1", "transport.control_receives",
        Chosen { reason: "not recorded when it was set; a few messages from each neighbour of a torus" };

    /// Memory of a rank from which others fetch its chunks; less holds chunks back, more takes memory beyond the budget.
    pub const PULL_RING_BYTES: u64 = 16 << 20, "B", "transport.pull_ring_bytes",
        Chosen { reason: "more than forty times the bytes in flight on the busiest leg, and a quarter of the default budget; not swept" };

    /// Gets of a rank from another one that are in flight at one time. Fewer leave a link idle while the next one is asked for; where more share
    /// it, all of them arrive late, and what is to be passed on waits.
    pub const GETS_IN_FLIGHT: usize = 2, "1", "transport.gets_in_flight",
        Derived {
            from: "two are the least that pipelines: one on the wire while the next one is asked for. In the lab torus:4x4, disjoint, overlap and subset of 256 kB \
             and 1 MB, Open MPI with pt2pt, medians of twice 5: 90, 91, 73, 87, 60 and 71 % of the bound with two, 82, 76, 73, 77, 52 and 63 % without a limit; with one, which a \
             longer round trip would slow, 87, 92, 79, 92, 68 and 75 % (2026-11-27)",
        };

    /// The smallest window of memory that is allocated for puts.
    pub const LEAST_WINDOW_BYTES: u64 = 4096, "B", "transport.least_window_bytes",
        Derived { from: "a page of memory" };

    /// How long a rank sleeps at most while it waits for ranks of its node. Longer delays the program's other messages, as MPI makes
    /// progress only while it is called; shorter takes processor time from ranks with work.
    pub const COMBINED_SLEEP_MICROSECONDS: u64 = 1_000, "us", "transport.combined_sleep_microseconds",
        Chosen { reason: "ten times the sleep of a progress loop, as ranks are woken by what they wait for; not swept" };

    /// Where not even messages of this size can be combined within the budget, none are.
    pub const LEAST_COMBINED_BYTES: u64 = 16, "B", "transport.least_combined_bytes",
        Chosen { reason: "two words: smaller ones are rare; not swept" };

    /// Messages to rank 0 by which a rank aligns its clock; the quickest answer counts. More take longer, fewer may all be
    /// slow.
    pub const CLOCK_QUESTIONS: usize = 8, "1", "transport.clock_questions",
        Chosen { reason: "not recorded when it was set; the quickest of eight has rarely waited for a processor" };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_constant_has_a_name_of_its_own_and_a_unit() {
        let names: std::collections::BTreeSet<&str> = CONSTANTS.iter().map(|c| c.name).collect();
        assert_eq!(names.len(), CONSTANTS.len());
        assert!(CONSTANTS.iter().all(|c| c.name.starts_with("transport.") && !c.unit.is_empty() && c.value > 0.0));
    }
}

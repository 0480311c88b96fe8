//! What shapes a schedule.

use crate::capabilities::Capabilities;
use crate::chunk::{ChunkCost, ChunkRule};
use crate::constants::{AHEAD, BUDGET, IN_FLIGHT_LIMIT, SHORT_CHUNK, WINDOW};

/// Whether receivers grant the chunks of direct paths: no more than the in-flight limit is granted at
/// one time by a receiver, to all of its senders together (`grants.rs`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Grants {
    /// They do not.
    #[default]
    Never,
    /// With the setting of [`crate::FlowControl`] for the shortest queues; and there is no timetable with either of those for short ones.
    InShortestQueues,
    /// With all of them but [`crate::FlowControl::SmallChunks`]; with the one for long queues only where there is no timetable.
    Always,
}

/// What shapes a schedule; must be the same on all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScheduleOptions {
    /// The chunk size rule, applied to each path's bytes.
    pub chunk: ChunkRule,
    /// Bytes of buffer memory per rank for everything it receives on behalf of others or ahead of time.
    pub budget: u64,
    /// The largest window, in chunks per path and leg. A larger one hides a longer round trip; 2 is the least that pipelines.
    pub window: u64,
    /// What [`ChunkRule::Auto`] assumes of the network.
    pub cost: ChunkCost,
    /// The in-flight limit: bytes that may be in flight at one time on the busiest leg; on other legs, in proportion to what
    /// they carry.
    pub in_flight_limit: u64,
    /// And at most the `n`-th part of the busiest leg's bytes, or two chunks if that is more: for transports that hand
    /// chunks to the network without asking the receiver ([`crate::constants::PUTS_IN_FLIGHT_PART`]). 0 for no such limit.
    pub in_flight_part: u64,
    /// How far a rank may be ahead of the oldest chunk of the timetable that it has not sent or received, in bytes; for paths
    /// that have a place in one.
    pub ahead: u64,
    /// Whether receivers grant the chunks of direct paths.
    pub grants: Grants,
    /// The largest chunk of [`crate::FlowControl::SmallChunks`], in bytes.
    pub small_chunk: u64,
    /// Bytes on the busiest link, of one link's capacity, where the caller knows: a link can be shared by several
    /// legs. 0 takes the busiest leg's bytes.
    pub busiest: u64,
}

impl Default for ScheduleOptions {
    fn default() -> Self {
        Self {
            chunk: ChunkRule::Auto,
            budget: BUDGET,
            window: WINDOW,
            cost: ChunkCost::default(),
            in_flight_limit: IN_FLIGHT_LIMIT,
            in_flight_part: 0,
            ahead: AHEAD,
            grants: Grants::Never,
            small_chunk: SHORT_CHUNK,
            busiest: 0,
        }
    }
}

impl ScheduleOptions {
    /// The same options, within what a transport can do: automatic chunks leave at once, and no more is in flight than it
    /// holds. Transports have the same capabilities on all ranks, so all ranks still agree.
    #[must_use]
    pub fn within(self, capabilities: &Capabilities) -> Self {
        let bound = capabilities.largest_bytes_in_flight.unwrap_or(u64::MAX);
        Self { cost: self.cost.within(capabilities), in_flight_limit: self.in_flight_limit.min(bound), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capabilities::SendCompletion;

    #[test]
    fn options_stay_within_what_a_transport_can_do() {
        let unknown = Capabilities {
            name: "test",
            largest_eager_bytes: None,
            largest_chunk_bytes: None,
            delivers_in_place: true,
            send_completion: SendCompletion::Local,
            flush_blocks: false,
            end_waits_for_all_ranks: false,
            puts_need_target_progress: None,
            drop_is_collective: false,
            largest_bytes_in_flight: None,
        };
        let options = ScheduleOptions::default();
        assert_eq!(options.within(&unknown), options, "what is unknown changes nothing");
        let small =
            Capabilities { largest_eager_bytes: Some(20_000), largest_bytes_in_flight: Some(50_000), ..unknown };
        let within = options.within(&small);
        assert_eq!((within.cost.largest_chunk, within.in_flight_limit), (20_000, 50_000));
        assert_eq!(within.chunk.chunk(1 << 20, 1, within.cost), 20_000, "direct paths take the largest chunks");
        let limited = Capabilities { largest_chunk_bytes: Some(10_000), ..small };
        assert_eq!(options.within(&limited).cost.largest_chunk, 10_000);
    }
}

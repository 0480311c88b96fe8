//! How much of an exchange is in the network at one time, where it is not known how much its queues hold.
//!
//! Bytes in flight wait in the queues of switches, on the way to where links join. With long queues, more in flight keeps links
//! busy while a rank waits for its turn on a processor ([`crate::constants::IN_FLIGHT_LIMIT`]). Where what is in flight on the
//! legs of a busy link is more than its queue holds, packets are lost, and TCP waits for a time-out of 200 ms where the exchange
//! takes as long. In the lab with queues of 32 kB, all-to-all of 64 kB on one switch reaches 8 % of its link bound with large
//! chunks, and 98 % with small ones. No host can see how long the queues of switches are. So there are four settings, and whoever
//! runs exchanges measures which one the network takes best (decision 039).
//!
//! Where queues are short and ports have different loads, direct messages go in no timetable, and with the setting for the shortest queues
//! when receivers grant them (`grants.rs`, decision 094).
//!
//! A fifth one is for direct messages whose sizes differ, where queues are long: a timetable has ranks wait for each other then, and
//! without it small chunks from all senders at once keep ports busy (decision 089).

use crate::constants::{
    LEAST_CHUNK, MEDIUM_CHUNK, MEDIUM_IN_FLIGHT_LIMIT, SHORT_CHUNK, SHORT_IN_FLIGHT_LIMIT, SHORTEST_IN_FLIGHT_LIMIT,
    WINDOW,
};
use crate::hop::{Granted, Hop};
use crate::schedule::Schedule;

/// See the top of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FlowControl {
    /// As [`crate::ScheduleOptions`] say, by default for queues that hold some large chunks.
    #[default]
    LongQueues,
    /// As much in flight as for long queues, in chunks of [`crate::ScheduleOptions::small_chunk`], and no timetable.
    SmallChunks,
    /// For queues that hold about two large chunks.
    MediumQueues,
    /// A quarter of the chunk, and an eighth of the bytes in flight, of those for long queues.
    ShortQueues,
    /// Two of the smallest chunks in flight on the busiest leg, or at the busiest receiver that grants, the least that pipelines; in a timetable
    /// one chunk ahead.
    ShortestQueues,
}

impl FlowControl {
    /// All settings, from the most to the least in flight.
    pub const ALL: [Self; 5] =
        [Self::LongQueues, Self::SmallChunks, Self::MediumQueues, Self::ShortQueues, Self::ShortestQueues];

    /// Those that differ in the length of queues.
    pub const QUEUES: [Self; 4] = [Self::LongQueues, Self::MediumQueues, Self::ShortQueues, Self::ShortestQueues];

    /// Its place in [`FlowControl::ALL`].
    pub fn index(self) -> usize {
        self as usize
    }

    /// As in files, such as `short-queues`.
    pub fn name(self) -> &'static str {
        match self {
            Self::LongQueues => "long-queues",
            Self::SmallChunks => "small-chunks",
            Self::MediumQueues => "medium-queues",
            Self::ShortQueues => "short-queues",
            Self::ShortestQueues => "shortest-queues",
        }
    }

    /// The setting of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|f| f.name() == name)
    }

    /// Whether the settings differ for paths of this many bytes: a path of one small chunk is what it is.
    pub fn matters(bytes: u64) -> bool {
        bytes >= 2 * LEAST_CHUNK
    }

    /// The largest chunk and the in-flight limit, in bytes; `None` for what the options say.
    fn limits(self, schedule: &Schedule) -> Option<(u64, u64)> {
        match self {
            Self::LongQueues => None,
            Self::SmallChunks => Some((schedule.small_chunk(), u64::MAX)),
            Self::MediumQueues => Some((MEDIUM_CHUNK, MEDIUM_IN_FLIGHT_LIMIT)),
            Self::ShortQueues => Some((SHORT_CHUNK, SHORT_IN_FLIGHT_LIMIT)),
            Self::ShortestQueues => Some((LEAST_CHUNK, SHORTEST_IN_FLIGHT_LIMIT)),
        }
    }
}

impl Schedule {
    /// The same exchange with other flow control, in the same memory. `self` is a schedule by the options that it was made with
    /// ([`FlowControl::LongQueues`]). Each rank can do so by itself, as what both ends of a leg must agree upon follows from what they
    /// agreed upon before.
    #[must_use]
    pub fn with_flow_control(&self, flow_control: FlowControl) -> Self {
        let Some((largest, limit)) = flow_control.limits(self) else { return self.clone() };
        let before = self.in_flight_limit();
        let limit = before.min(limit);
        let limited = self.with_hops(Vec::new(), 0, limit);
        let grants = match flow_control {
            FlowControl::ShortestQueues => true,
            FlowControl::LongQueues | FlowControl::MediumQueues | FlowControl::ShortQueues => self.grants_always(),
            FlowControl::SmallChunks => false,
        };
        let hop_with = |hop: &Hop| {
            let hop = with_chunks(*hop, largest, (limit, before));
            let in_time = match flow_control {
                FlowControl::SmallChunks => false,
                FlowControl::ShortQueues | FlowControl::ShortestQueues => hop.granted.is_none(),
                FlowControl::LongQueues | FlowControl::MediumQueues => !grants,
            };
            let with_unasked = |g: Granted| match grants {
                true => g.within(limited.granted_limit(g.received), hop.chunk),
                false => Granted { unasked: None, ..g },
            };
            Hop { starts_at: hop.starts_at.filter(|_| in_time), granted: hop.granted.map(with_unasked), ..hop }
        };
        let hops = self.hops().iter().map(hop_with).collect();
        self.with_hops(hops, self.ahead().min(largest), limit)
    }
}

/// A path's row with chunks of `largest` bytes at most, in windows that take no more memory than before, and limits of bytes in flight that are in the
/// same proportion to each other.
fn with_chunks(hop: Hop, largest: u64, (limit, before): (u64, u64)) -> Hop {
    let chunk = hop.chunk.min(largest);
    let fit = hop.chunk / chunk;
    let mut hop = Hop { chunk, ..hop };
    let chunks = hop.chunks();
    let window = |w: u64| w.max(w.saturating_mul(fit).min(WINDOW)).min(chunks);
    if let Some(incoming) = &mut hop.incoming {
        incoming.window = window(incoming.window);
    }
    if let Some(outgoing) = &mut hop.outgoing {
        outgoing.window = window(outgoing.window);
        let scaled = u128::from(outgoing.in_flight_limit) * u128::from(limit) / u128::from(before.max(1));
        outgoing.in_flight_limit = u64::try_from(scaled).unwrap_or(u64::MAX);
    }
    hop
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constants::EAGER;
    use crate::path::Path;
    use crate::schedule_options::{Grants, ScheduleOptions};
    use optiq_trace::ids::{PathId, Rank};

    /// Three ranks in a row, of which the one in the middle forwards 1 MB and sends 250 kB of its own.
    fn schedules(budget: u64) -> Vec<Schedule> {
        let path = |id: u32, ranks: &[u32], bytes: u64| {
            let ranks = ranks.iter().map(|&r| Rank(r)).collect();
            Path { id: PathId(id), ranks, bytes, source_offset: 0, destination_offset: 0, starts_at: None, class: 0 }
        };
        let paths = [path(0, &[0, 1, 2], 1_000_000), path(1, &[1, 0], 250_000)];
        Schedule::all(3, &paths, &ScheduleOptions { budget, ..ScheduleOptions::default() }).unwrap()
    }

    #[test]
    fn little_is_in_flight_in_the_same_proportion() {
        for long in schedules(64 << 20) {
            assert_eq!(long.with_flow_control(FlowControl::LongQueues), long);
            // By hand: two or three chunks where 1 MB goes, a quarter of that where 250 kB go.
            for (setting, chunk, most) in [
                (FlowControl::SmallChunks, 16_384, 6 * EAGER),
                (FlowControl::ShortestQueues, 8192, 16_384),
                (FlowControl::ShortQueues, 16_384, 49_152),
                (FlowControl::MediumQueues, 32_768, 98_304),
            ] {
                let other = long.with_flow_control(setting);
                for (hop, before) in other.hops().iter().zip(long.hops()) {
                    assert_eq!((hop.path, hop.bytes, hop.chunk), (before.path, before.bytes, chunk));
                    let limit = hop.outgoing.map(|o| o.in_flight_limit);
                    let expected = if hop.bytes == 1_000_000 { most } else { most / 4 };
                    assert!(limit.is_none_or(|l| l.abs_diff(expected) <= 1), "{limit:?}");
                }
            }
        }
    }

    #[test]
    fn small_chunks_go_in_no_timetable() {
        let path = Path {
            id: PathId(0),
            ranks: vec![Rank(0), Rank(1)],
            bytes: 100_000,
            source_offset: 0,
            destination_offset: 0,
            starts_at: Some(7),
            class: 0,
        };
        let options = ScheduleOptions { small_chunk: 20_000, ..ScheduleOptions::default() };
        let schedule = Schedule::new(Rank(0), 2, &[path], &options).unwrap();
        let hop = |flow_control| schedule.with_flow_control(flow_control).hops()[0];
        assert_eq!((hop(FlowControl::ShortQueues).starts_at, hop(FlowControl::ShortQueues).chunk), (Some(7), 16_384));
        assert_eq!((hop(FlowControl::SmallChunks).starts_at, hop(FlowControl::SmallChunks).chunk), (None, 20_000));
    }

    #[test]
    fn receivers_grant_where_queues_are_shortest() {
        let paths = |starts_at: Option<u64>| {
            let path = |id: u32, from: u32| Path {
                id: PathId(id),
                ranks: vec![Rank(from), Rank(4)],
                bytes: 100_000,
                source_offset: 0,
                destination_offset: u64::from(id) * 100_000,
                starts_at: starts_at.map(|start| start + u64::from(id) * 100_000),
                class: 0,
            };
            [path(0, 0), path(1, 1), path(2, 2), path(3, 3)]
        };
        let begin = |starts_at, grants, flow_control| {
            let options = ScheduleOptions { grants, ..ScheduleOptions::default() };
            let schedule =
                Schedule::new(Rank(4), 5, &paths(starts_at), &options).unwrap().with_flow_control(flow_control);
            let hops = schedule.hops();
            assert!(hops.iter().all(|hop| hop.is_granted() == hops[0].is_granted()));
            assert!(hops.iter().all(|hop| hop.starts_at.is_some() == hops[0].starts_at.is_some()));
            (hops[0].is_granted(), hops[0].starts_at.is_some(), hops.iter().map(|hop| hop.unasked(9)).sum::<u64>())
        };
        use FlowControl::{LongQueues, MediumQueues, ShortQueues, ShortestQueues, SmallChunks};
        for starts_at in [None, Some(0)] {
            let timed = starts_at.is_some();
            let of = |grants, flow_control| begin(starts_at, grants, flow_control);
            assert_eq!(of(Grants::Never, ShortQueues), (false, timed, 4 * 9));
            assert_eq!(of(Grants::InShortestQueues, LongQueues), (false, timed, 4 * 9));
            assert_eq!(of(Grants::InShortestQueues, MediumQueues), (false, timed, 4 * 9));
            assert_eq!(of(Grants::InShortestQueues, ShortQueues), (false, false, 4 * 9));
            // By hand: 2 chunks of 8 KiB fit 16 KiB, 3 of 16 KiB fit 48 KiB, 3 of 32 KiB fit 96 KiB.
            assert_eq!(of(Grants::InShortestQueues, ShortestQueues), (true, false, 2));
            assert_eq!(of(Grants::Always, ShortQueues), (true, false, 3));
            assert_eq!(of(Grants::Always, MediumQueues), (true, false, 3));
            assert_eq!(of(Grants::Always, SmallChunks), (false, false, 4 * 9));
        }
        assert_eq!(begin(None, Grants::Always, LongQueues), (true, false, 4));
        assert_eq!(begin(Some(0), Grants::Always, LongQueues), (false, true, 4 * 9));
    }

    #[test]
    fn both_ends_have_the_same_window_in_the_memory_that_there_was() {
        for budget in [70_000, 300_000, 64 << 20] {
            let (long, short) = (schedules(budget), schedules(budget));
            let short: Vec<Schedule> = short.iter().map(|s| s.with_flow_control(FlowControl::ShortQueues)).collect();
            for (rank, before) in short.iter().zip(&long) {
                for (hop, was) in rank.hops().iter().zip(before.hops()) {
                    if let Some(outgoing) = hop.outgoing {
                        let there = &short[outgoing.to.index()];
                        let incoming = there.hops()[there.find(hop.path).unwrap()].incoming.unwrap();
                        assert_eq!((outgoing.window, outgoing.slots), (incoming.window, incoming.slots));
                    }
                    if let (Some(incoming), Some(then)) = (hop.incoming, was.incoming) {
                        assert!(incoming.window * hop.chunk <= then.window * was.chunk && incoming.window >= 1);
                        assert!(incoming.window <= hop.chunks());
                    }
                }
            }
        }
    }
}

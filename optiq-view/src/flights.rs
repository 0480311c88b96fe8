//! Chunks on their way from rank to rank: arrows across the lanes of ranks, and a lane for each link of ranks.

use crate::folded::FoldedTime;
use crate::svg::{Anchor, Drawing};
use crate::table;
use maud::Markup;
use optiq_trace::{Rank, Run};
use std::collections::BTreeMap;

/// More arrows than these would be a grey area: the slowest chunks have one.
pub const MOST_ARROWS: usize = 200;
/// More links than these have no lane: those with the most bytes have one.
const MOST_LINKS: usize = 48;
/// More chunks than these are not drawn in lanes: each lane has its part of them, for its longest flights.
const MOST_CHUNKS: usize = 12_000;

const LANE: f64 = 18.0;
const GAP: f64 = 4.0;
const TOP: f64 = 8.0;

/// A chunk from one rank to the next.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Flight {
    /// Who sent it, and who received it.
    pub ranks: (Rank, Rank),
    /// When it was sent and when it had arrived, in nanoseconds.
    pub times: (u64, u64),
    /// Its bytes.
    pub bytes: u64,
    /// Whether the sender had it from somebody else.
    pub forwarded: bool,
}

/// All chunks whose sending and arrival are recorded, by time.
pub fn flights(run: &Run, only: Option<u32>) -> Vec<Flight> {
    let mut flights: Vec<Flight> = Vec::new();
    for journey in run.journeys(only).values() {
        for two in journey.steps.windows(2) {
            if let (Some(sent), Some(received)) = (two[0].sent, two[1].received) {
                let times = (sent, received.max(sent));
                let forwarded = two[0].received.is_some();
                flights.push(Flight { ranks: (two[0].rank, two[1].rank), times, bytes: journey.bytes, forwarded });
            }
        }
    }
    flights.sort_by_key(|f| (f.times, f.ranks));
    flights
}

fn title(f: &Flight) -> String {
    let how = if f.forwarded { ", forwarded" } else { "" };
    let time = table::seconds((f.times.1 - f.times.0) as f64 / 1e9);
    format!("rank {} \u{2192} rank {}: {} in {time}{how}", f.ranks.0, f.ranks.1, table::bytes(f.bytes as f64))
}

fn class(f: &Flight) -> &'static str {
    if f.forwarded { "passed" } else { "first" }
}

/// Arrows from the lane of the sender to that of the receiver; `middle` says where a rank's lane is. How many are drawn.
pub fn arrows(
    drawing: &mut Drawing,
    flights: &[Flight],
    time: &FoldedTime,
    middle: impl Fn(Rank) -> Option<f64>,
) -> usize {
    let mut slowest: Vec<&Flight> = flights.iter().collect();
    slowest.sort_by_key(|f| std::cmp::Reverse(f.times.1 - f.times.0));
    let mut drawn = 0;
    for flight in slowest.into_iter().take(MOST_ARROWS) {
        let (Some(from), Some(to)) = (middle(flight.ranks.0), middle(flight.ranks.1)) else { continue };
        let (start, end) = ((time.at(flight.times.0), from), (time.at(flight.times.1), to));
        let length = (end.0 - start.0).hypot(end.1 - start.1).max(1e-9);
        let (dx, dy) = ((end.0 - start.0) / length, (end.1 - start.1) / length);
        let barb = |side: f64| (end.0 - 6.0 * dx - side * 2.6 * dy, end.1 - 6.0 * dy + side * 2.6 * dx);
        let ((ax, ay), (bx, by)) = (barb(1.0), barb(-1.0));
        let ((sx, sy), (ex, ey)) = (start, end);
        let line = format!("M{sx:.1} {sy:.1}L{ex:.1} {ey:.1}M{ax:.1} {ay:.1}L{ex:.1} {ey:.1}L{bx:.1} {by:.1}");
        drawing.path(&format!("arrow {}", class(flight)), &line, Some(&title(flight)));
        drawn += 1;
    }
    drawn
}

/// Lanes of links: for each pair of ranks, when chunks were on their way between them. Also how many links there are, of which
/// the ones with the most bytes are drawn; `None` without a chunk.
pub fn lanes(
    flights: &[Flight],
    time: &FoldedTime,
    (width, left, right): (f64, f64, f64),
) -> Option<(Markup, usize, usize)> {
    let mut links: BTreeMap<(Rank, Rank), Vec<&Flight>> = BTreeMap::new();
    flights.iter().for_each(|f| links.entry(f.ranks).or_default().push(f));
    if links.is_empty() {
        return None;
    }
    let all = links.len();
    let bytes = |flights: &[&Flight]| flights.iter().fold(0u64, |sum, f| sum.saturating_add(f.bytes));
    let mut order: Vec<((Rank, Rank), Vec<&Flight>)> = links.into_iter().collect();
    order.sort_by_key(|(ranks, flights)| (std::cmp::Reverse(bytes(flights)), *ranks));
    order.truncate(MOST_LINKS);
    order.sort_by_key(|(ranks, _)| *ranks);
    let each = MOST_CHUNKS / order.len();
    let bottom = TOP + order.len() as f64 * (LANE + GAP);
    let mut drawing = Drawing::default();
    for (i, ((from, to), flights)) in order.iter().enumerate() {
        let top = TOP + i as f64 * (LANE + GAP);
        drawing.rect("lane", (left, top), (right - left, LANE), None);
        drawing.words("", Anchor::End, (left - 8.0, top + LANE / 2.0 + 4.0), &format!("{from} \u{2192} {to}"));
        // The longest say most; they are drawn in the order of time, as all are where there are few.
        for (n, flight) in longest(flights, each).into_iter().enumerate() {
            let (start, end) = (time.at(flight.times.0), time.at(flight.times.1));
            // Chunks that are on their way at once lie in three rows.
            let row = LANE / 3.0;
            let at = (start, top + row * (n % 3) as f64 + 0.5);
            drawing.rect(
                &format!("chunk {}", class(flight)),
                at,
                ((end - start).max(0.8), row - 1.0),
                Some(&title(flight)),
            );
        }
    }
    let label = format!("Chunks on their way on {}", table::count(order.len(), "link"));
    Some((drawing.finish("timeline", (width, bottom + 6.0), &label), order.len(), all))
}

/// The `count` flights that took the longest, by time.
fn longest<'a>(flights: &[&'a Flight], count: usize) -> Vec<&'a Flight> {
    let mut kept = flights.to_vec();
    if kept.len() > count {
        kept.sort_by_key(|f| (std::cmp::Reverse(f.times.1 - f.times.0), f.times));
        kept.truncate(count);
        kept.sort_by_key(|f| f.times);
    }
    kept
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn flight(from: u32, to: u32, times: (u64, u64), forwarded: bool) -> Flight {
        Flight { ranks: (Rank(from), Rank(to)), times, bytes: 1024, forwarded }
    }

    #[test]
    fn arrows_end_where_chunks_arrive_and_links_have_lanes() {
        let flights = [flight(0, 1, (0, 50), false), flight(1, 2, (50, 100), true), flight(0, 1, (20, 60), false)];
        let time = FoldedTime::of(&[(0, 100)], (0.0, 100.0)).unwrap();
        let mut drawing = Drawing::default();
        let middle = |rank: Rank| (rank.0 < 2).then_some(10.0 * f64::from(rank.0));
        // Rank 2 has no lane.
        assert_eq!(arrows(&mut drawing, &flights, &time, middle), 2);
        let text = drawing.into_text();
        assert!(text.contains("class=\"arrow first\" d=\"M0.0 0.0L50.0 10.0M"), "{text}");
        assert!(text.contains("L50.0 10.0L") && text.contains("rank 0 \u{2192} rank 1: 1.02 kB in 0.05 us"), "{text}");
        let (svg, drawn, all) = lanes(&flights, &time, (120.0, 10.0, 110.0)).unwrap();
        let svg = svg.into_string();
        assert_eq!((drawn, all, svg.matches("class=\"lane\"").count()), (2, 2, 2));
        assert_eq!((svg.matches("chunk first").count(), svg.matches("chunk passed").count()), (2, 1));
        assert!(lanes(&[], &time, (1.0, 0.0, 1.0)).is_none());
        // A link that is first used after many chunks has a lane all the same.
        let mut many = vec![flight(0, 1, (0, 1), false); MOST_CHUNKS + 10];
        many.push(flight(1, 0, (99, 100), false));
        let (svg, drawn, all) = lanes(&many, &time, (120.0, 10.0, 110.0)).unwrap();
        assert_eq!((drawn, all, svg.into_string().matches("class=\"chunk").count()), (2, 2, MOST_CHUNKS / 2 + 1));
    }
}

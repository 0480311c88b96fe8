//! What links carry for some jobs while others are silent, and the network that this leaves.
//!
//! ```text
//!     used(l)  =  bytes on l in [from, end) / (end - from)        headers included
//!     left(l)  =  c(l) - used(l) / e,   and at least m c(l)
//! ```
//!
//! where `c` is a link's capacity, `e` the part of it that packets can use ([`crate::model::LinkModel::efficiency`]), and `m` is
//! [`BACKGROUND_LEAST_LEFT`]. `from` is when all of these jobs are past their warm-up, `end` the end of the run: the window in which
//! they measure. A plan on what is left knows how much others load each link on average, and nothing of when they do. A link that others
//! fill is never closed to a plan, because routers serve who asks in turn.

use crate::constants::BACKGROUND_LEAST_LEFT;
use crate::jobs::run::{JobRun, RunOutcome};
use crate::model::Model;
use crate::observers::series::Series;
use crate::time::Time;
use optiq_net::{Link, Network};

/// Fewer intervals of a series say less than the whole run does.
const LEAST_INTERVALS: u64 = 8;

/// What links carried.
#[derive(Clone, Debug, PartialEq)]
pub struct MeasuredLoad {
    /// From here to the end of the run.
    pub from: Time,
    /// When the run ended.
    pub end: Time,
    /// By link of the network: bytes per second, headers included.
    pub bytes_per_second: Vec<f64>,
}

impl MeasuredLoad {
    /// Of a run and the jobs in it. If the run has no series, or its window is a few of its intervals, it is that of the whole run.
    pub fn of(run: &RunOutcome, jobs: &[(usize, JobRun)]) -> Self {
        let first = |job: &JobRun| job.ranks.iter().flat_map(|rank| &rank.samples).map(|s| s.start).min();
        let from = jobs.iter().filter_map(|(_, job)| first(job)).max().unwrap_or(Time::ZERO);
        let in_window = run.series.as_ref().and_then(|series| windowed(series, from, run.time));
        let (from, end, bytes) = in_window.unwrap_or_else(|| (Time::ZERO, run.time, run.link_bytes.clone()));
        let seconds = (end - from).seconds();
        let rate = |bytes: u64| if seconds > 0.0 { bytes as f64 / seconds } else { 0.0 };
        Self { from, end, bytes_per_second: bytes.into_iter().map(rate).collect() }
    }

    /// The part of a link's capacity that packets had, by link; packets that a link carries in full are one.
    pub fn shares(&self, network: &Network, model: &Model) -> Vec<f64> {
        let share = |(link, used): (&Link, &f64)| used / (link.capacity * model.link.efficiency);
        network.links().iter().zip(&self.bytes_per_second).map(share).collect()
    }

    /// What it leaves of a network.
    pub fn left(&self, network: &Network, model: &Model) -> Network {
        let used: Vec<f64> = self.bytes_per_second.iter().map(|used| used / model.link.efficiency).collect();
        network.clone().with_measured_load(&used, BACKGROUND_LEAST_LEFT)
    }
}

/// Bytes by link in the intervals of a series that lie between two times, and from when to when these are.
fn windowed(series: &Series, from: Time, end: Time) -> Option<(Time, Time, Vec<u64>)> {
    let width = series.interval.as_picoseconds();
    let first = from.as_picoseconds().div_ceil(width.max(1));
    let last = (end.as_picoseconds() / width.max(1)).min(series.bytes.len() as u64);
    if last < first + LEAST_INTERVALS {
        return None;
    }
    let mut sums = vec![0; series.bytes.first()?.len()];
    for interval in &series.bytes[first as usize..last as usize] {
        sums.iter_mut().zip(interval).for_each(|(sum, bytes)| *sum += bytes);
    }
    Some((series.interval * first, series.interval * last, sums))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn only_whole_intervals_behind_the_warm_up_count() {
        let us = |n: u64| Time::picoseconds(1_000_000 * n);
        // Ten intervals of 10 us; a link carries 1,000 bytes in each of the first two and 500 in each of the others.
        let bytes = (0..10).map(|i| vec![if i < 2 { 1000 } else { 500 }, 0]).collect();
        let series = Series {
            interval: us(10),
            bytes,
            waiting_bytes: Vec::new(),
            waiting_most: Vec::new(),
            queues: None,
            jobs: Vec::new(),
        };
        assert_eq!(windowed(&series, us(15), us(100)), Some((us(20), us(100), vec![4000, 0])));
        // What is left of the last interval when a run ends is no whole one.
        assert_eq!(windowed(&series, us(0), us(98)), Some((us(0), us(90), vec![5500, 0])));
        assert_eq!(windowed(&series, us(25), us(100)), None);
    }

    #[test]
    fn a_full_link_keeps_some_of_its_capacity() {
        let network = Network::from_spec("torus:4").unwrap();
        let model = Model::for_network(&network);
        let efficiency = model.link.efficiency;
        let mut used = vec![0.0; network.links().len()];
        (used[0], used[1]) = (0.4e9 * efficiency, 1e9 * efficiency);
        let load = MeasuredLoad { from: Time::ZERO, end: Time::SECOND, bytes_per_second: used };
        let shares = load.shares(&network, &model);
        assert!((shares[0] - 0.4).abs() < 1e-12 && shares[2] == 0.0);
        let left = load.left(&network, &model);
        let capacities: Vec<f64> = left.links().iter().map(|l| l.capacity).collect();
        assert!((capacities[0] - 0.6e9).abs() < 1.0 && capacities[2] == 1e9, "{capacities:?}");
        assert!((capacities[1] - BACKGROUND_LEAST_LEFT * 1e9).abs() < 1.0);
        assert_eq!(left.unit_capacity(), network.unit_capacity());
    }
}

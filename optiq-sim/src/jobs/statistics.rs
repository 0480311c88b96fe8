//! What the samples of a job's ranks say: exact quantiles, and how sure they are.
//!
//! ```text
//!     quantile(q)  =  x_(h) + (h - floor h) (x_(h+1) - x_(h)),   h = 1 + (n - 1) q,   x_(1) <= ... <= x_(n)
//!     slowdown     =  the figure beside other jobs / the same figure alone
//! ```
//!
//! of all samples together, as in [`optiq_measure::statistics`]. The samples of one node resemble each other: they have the
//! same links and often the same partner. So intervals are those of a *cluster bootstrap*: nodes, not samples, are drawn
//! with replacement, each with all of its samples, 500 times, and the middle 95 % of what is found is the interval (A. Davison and
//! D. Hinkley, "Bootstrap Methods and their Application", 1997, sections 2.4, 3.8 and 5.3). For a slowdown the same
//! nodes are drawn alone and together, as each node is its own control. The draws come from a stream of a fixed seed.
//!
//! An interval is about other nodes of the same jobs. Other seeds and placements can differ by more: these must be simulated.

use crate::jobs::programs::samples::RankSamples;
use crate::time::Time;
use optiq_measure::statistics::{Interval, quantile};
use optiq_net::random::SplitMix64;

/// How often nodes are drawn.
const DRAWS: usize = 500;
/// Fewer nodes say too little about others: no interval.
const LEAST_NODES: usize = 6;
/// The parts of samples below the quantiles that are given.
const QUANTILES: [f64; 4] = [0.25, 0.5, 0.75, 0.99];

/// A figure with its interval at 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The figure itself, of all samples.
    pub value: f64,
    /// `None` of fewer than six nodes.
    pub interval: Option<Interval>,
}

/// What the samples of a job say, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct JobStatistics {
    /// How many samples there are.
    pub samples: usize,
    /// How many nodes have samples.
    pub nodes: usize,
    /// The arithmetic mean.
    pub mean: Estimate,
    /// The lower quartile.
    pub first_quartile: Estimate,
    /// The median.
    pub median: Estimate,
    /// The upper quartile.
    pub third_quartile: Estimate,
    /// 99 % are below.
    pub p99: Estimate,
    /// The smallest.
    pub minimum: f64,
    /// The largest. Without an interval, as samples bound no maximum.
    pub maximum: f64,
}

/// How many times as long a job takes beside others as alone.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Slowdown {
    /// Of means.
    pub mean: Estimate,
    /// Of medians.
    pub median: Estimate,
    /// Of 99 % quantiles.
    pub p99: Estimate,
}

/// The figures of one draw of nodes: the mean and [`QUANTILES`], in picoseconds.
#[derive(Clone, Copy)]
struct Figures {
    mean: f64,
    quantiles: [f64; QUANTILES.len()],
}

/// The samples of a job with their nodes.
#[derive(Clone, Debug, Default)]
pub struct NodeSamples {
    /// Picoseconds and node, in ascending order.
    sorted: Vec<(u64, u32)>,
    /// Per node: the number of its samples, and their sum.
    sums: Vec<(u64, u128)>,
}

impl NodeSamples {
    /// Of ranks, each with the number of its node and its samples. Nodes are numbered from 0, and a node may have several ranks.
    pub fn new<'a>(ranks: impl IntoIterator<Item = (u32, &'a RankSamples)>) -> Self {
        let of_rank = |(node, rank): (u32, &'a RankSamples)| rank.samples.iter().map(move |s| (node, s.duration));
        Self::of(ranks.into_iter().flat_map(of_rank))
    }

    fn of(samples: impl Iterator<Item = (u32, Time)>) -> Self {
        let mut found = Self::default();
        for (node, duration) in samples {
            let (index, picoseconds) = (node as usize, duration.as_picoseconds());
            if found.sums.len() <= index {
                found.sums.resize(index + 1, (0, 0));
            }
            found.sums[index].0 += 1;
            found.sums[index].1 += u128::from(picoseconds);
            found.sorted.push((picoseconds, node));
        }
        found.sorted.sort_unstable();
        found
    }

    /// How many nodes have samples.
    fn nodes(&self) -> usize {
        self.sums.iter().filter(|sum| sum.0 > 0).count()
    }

    /// With each node as often as `times` says; `None` without any sample. `counts` is room for work.
    fn figures(&self, times: &[u32], counts: &mut Vec<u64>) -> Option<Figures> {
        let (mut count, mut sum) = (0, 0);
        for (&(samples, picoseconds), &times) in self.sums.iter().zip(times) {
            count += samples * u64::from(times);
            sum += picoseconds * u128::from(times);
        }
        let last = count.checked_sub(1)?;
        // Per sample: how many there are up to it.
        counts.clear();
        counts.extend(self.sorted.iter().scan(0, |seen, &(_, node)| {
            *seen += u64::from(times[node as usize]);
            Some(*seen)
        }));
        // The value at a place, counted from 0.
        let value = |place: u64| self.sorted[counts.partition_point(|&seen| seen <= place)].0 as f64;
        let quantiles = QUANTILES.map(|q| {
            let position = last as f64 * q;
            let (low, part) = (value(position as u64), position.fract());
            // Of the last place there is no next one, and the fraction is zero.
            if part > 0.0 { low + part * (value(position as u64 + 1) - low) } else { low }
        });
        Some(Figures { mean: sum as f64 / count as f64, quantiles })
    }

    /// Of all samples, and of draws of nodes; always the same draws for the same number of nodes.
    fn bootstrap(&self, nodes: usize) -> Option<(Figures, Vec<Option<Figures>>)> {
        let (mut times, mut counts) = (vec![1; nodes.max(self.sums.len())], Vec::new());
        let figures = self.figures(&times, &mut counts)?;
        let mut rng = SplitMix64::new(nodes as u64);
        let mut draw = || {
            times.fill(0);
            (0..nodes).for_each(|_| times[rng.below(nodes as u64) as usize] += 1);
            self.figures(&times, &mut counts)
        };
        let draws = if self.nodes() < LEAST_NODES { Vec::new() } else { (0..DRAWS).map(|_| draw()).collect() };
        Some((figures, draws))
    }

    /// What the samples say; `None` if there are none.
    pub fn statistics(&self) -> Option<JobStatistics> {
        let (all, draws) = self.bootstrap(self.sums.len())?;
        let estimate = |of: &dyn Fn(&Figures) -> f64| {
            let drawn = draws.iter().flatten().map(|drawn| of(drawn) / 1e12).collect();
            Estimate { value: of(&all) / 1e12, interval: middle(drawn) }
        };
        let quantile = |i: usize| estimate(&move |figures| figures.quantiles[i]);
        let seconds = |sample: Option<&(u64, u32)>| sample.map_or(0.0, |s| s.0 as f64 / 1e12);
        Some(JobStatistics {
            samples: self.sorted.len(),
            nodes: self.nodes(),
            mean: estimate(&|figures| figures.mean),
            first_quartile: quantile(0),
            median: quantile(1),
            third_quartile: quantile(2),
            p99: quantile(3),
            minimum: seconds(self.sorted.first()),
            maximum: seconds(self.sorted.last()),
        })
    }
}

/// How much slower a job is beside others, from the samples of its ranks, which are in the same order for both runs. Of a rank
/// that has fewer samples in one of the runs only its first ones count in both: a job that keeps going until the others are
/// ready may have fewer. `None` without a sample in both, or if these took no time alone.
pub fn slowdown(nodes: &[u32], alone: &[RankSamples], together: &[RankSamples]) -> Option<Slowdown> {
    let both = || nodes.iter().zip(alone.iter().zip(together));
    let of = |which: fn((&RankSamples, &RankSamples)) -> Vec<Time>| {
        let of_rank = |(&node, (a, t))| which((a, t)).into_iter().map(move |time| (node, time));
        NodeSamples::of(both().flat_map(of_rank))
    };
    fn first(these: &RankSamples, others: &RankSamples) -> Vec<Time> {
        these.samples.iter().take(others.samples.len()).map(|s| s.duration).collect()
    }
    let (alone, together) = (of(|(a, t)| first(a, t)), of(|(a, t)| first(t, a)));
    let count = alone.sums.len();
    let ((all_alone, alone), (all_together, together)) = (alone.bootstrap(count)?, together.bootstrap(count)?);
    let ratio = |of: &dyn Fn(&Figures) -> f64| {
        let value = of(&all_together) / of(&all_alone);
        let pairs = alone.iter().zip(&together).filter_map(|(a, t)| Some((a.as_ref()?, t.as_ref()?)));
        let drawn = pairs.map(|(a, t)| of(t) / of(a)).filter(|r| r.is_finite()).collect();
        value.is_finite().then_some(Estimate { value, interval: middle(drawn) })
    };
    Some(Slowdown {
        mean: ratio(&|figures| figures.mean)?,
        median: ratio(&|figures| figures.quantiles[1])?,
        p99: ratio(&|figures| figures.quantiles[3])?,
    })
}

/// The middle 95 % of what was drawn.
fn middle(drawn: Vec<f64>) -> Option<Interval> {
    Some(Interval { low: quantile(&drawn, 0.025)?, high: quantile(&drawn, 0.975)? })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::jobs::programs::samples::Sample;
    use optiq_measure::statistics::Summary;
    use proptest::prelude::*;

    fn rank(seconds: impl IntoIterator<Item = u64>) -> RankSamples {
        let sample = |s: u64| Sample { start: Time::ZERO, duration: Time::SECOND * s };
        RankSamples { samples: seconds.into_iter().map(sample).collect(), complete: Some(Time::ZERO) }
    }

    #[test]
    fn figures_by_hand() {
        // 1, 2, 3, 4 s: quartiles 1.75, 2.5 and 3.25 (as numpy's), 99 % 3.97.
        let found = NodeSamples::new([(0, &rank([4, 1])), (1, &rank([3, 2]))]).statistics().unwrap();
        let of = [found.mean, found.first_quartile, found.median, found.third_quartile, found.p99].map(|e| e.value);
        for (value, expected) in of.into_iter().zip([2.5, 1.75, 2.5, 3.25, 3.97]) {
            assert!((value - expected).abs() < 1e-12, "{value} {expected}");
        }
        assert_eq!((found.samples, found.nodes, found.minimum, found.maximum), (4, 2, 1.0, 4.0));
        // Two nodes say nothing of others.
        assert_eq!(found.mean.interval, None);
        assert_eq!(NodeSamples::default().statistics(), None);
    }

    #[test]
    fn twice_as_slow_is_two_in_every_draw() {
        let nodes: Vec<u32> = (0..8).collect();
        let alone: Vec<_> = (1..=8).map(|i| rank([i, 3 * i, 2 * i])).collect();
        let together: Vec<_> = (1..=8).map(|i| rank([2 * i, 6 * i, 4 * i])).collect();
        let found = slowdown(&nodes, &alone, &together).unwrap();
        let two = Estimate { value: 2.0, interval: Some(Interval { low: 2.0, high: 2.0 }) };
        assert_eq!(found, Slowdown { mean: two, median: two, p99: two });
        // Only what both have done is compared: 2 against 1 of the first rank, though it did more alone.
        let found = slowdown(&[0], &[rank([1, 50])], &[rank([2])]).unwrap();
        assert_eq!(found.mean.value, 2.0);
        assert_eq!(slowdown(&[0], &[rank([1])], &[rank([])]), None);
        assert_eq!(slowdown(&[0], &[rank([0])], &[rank([1])]), None);
    }

    #[test]
    fn nodes_are_drawn_and_not_samples() {
        // Eight nodes, each with 100 samples of its own value: 800 samples know no more of the mean than the 8 values do.
        let ranks: Vec<_> = (1..=8).map(|i| rank(vec![i; 100])).collect();
        let found = NodeSamples::new((0..).zip(&ranks)).statistics().unwrap();
        // The bootstrap's standard error of a mean of 8 values 1..8 is sqrt(5.25 / 8) = 0.81.
        let Interval { low, high } = found.mean.interval.unwrap();
        assert!((high - low - 2.0 * 1.96 * 0.81).abs() < 0.3, "{low} {high}");
        assert!((found.nodes, low < 4.5 && 4.5 < high) == (8, true));
        // Two ranks of a node are one node.
        let found = NodeSamples::new((0..).map(|i| i / 2).zip(&ranks)).statistics().unwrap();
        assert_eq!((found.nodes, found.mean.interval), (4, None));
    }

    proptest! {
        #[test]
        fn weighted_quantiles_are_those_of_repeated_samples(
            values in prop::collection::vec((0..4u32, 0..1000u64), 1..40),
            times in prop::collection::vec(0..4u32, 4),
        ) {
            let samples = NodeSamples::of(values.iter().map(|&(node, t)| (node, Time::picoseconds(t))));
            let repeated: Vec<f64> = values
                .iter()
                .flat_map(|&(node, t)| std::iter::repeat_n(t as f64, times[node as usize] as usize))
                .collect();
            let expected = Summary::of(&repeated);
            let found = samples.figures(&times, &mut Vec::new());
            prop_assert_eq!(found.is_some(), expected.is_some());
            if let (Some(found), Some(expected)) = (found, expected) {
                let close = |a: f64, b: f64| (a - b).abs() < 1e-6;
                prop_assert!(close(found.mean, expected.mean));
                let quartiles = [expected.first_quartile, expected.median, expected.third_quartile];
                for (found, expected) in found.quantiles.into_iter().zip(quartiles) {
                    prop_assert!(close(found, expected), "{} {}", found, expected);
                }
                prop_assert!(close(found.quantiles[3], quantile(&repeated, 0.99).unwrap()));
            }
        }
    }
}

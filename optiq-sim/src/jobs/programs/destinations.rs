//! To whom the messages of a rank go.

use super::member::{Stream, stream};
use optiq_net::random::SplitMix64;
use std::sync::Arc;

/// The rule of a job.
#[derive(Clone, Debug)]
pub(super) enum Rule {
    /// To the partner of each rank.
    Partners(Arc<Vec<u32>>),
    /// To any other rank, each as likely.
    Uniform,
    /// To the rank at this distance, below the number of ranks.
    Shift(u32),
    /// To this rank.
    One(u32),
}

/// Ranks in pairs, drawn from a seed: the partner of each. `ranks` is even.
pub(super) fn partners(ranks: u32, seed: u64) -> Vec<u32> {
    let mut order: Vec<u32> = (0..ranks).collect();
    let mut random = stream(seed, 0, Stream::Job);
    // R. Durstenfeld's shuffle (CACM 7, 1964).
    for i in (1..order.len()).rev() {
        order.swap(i, random.below(i as u64 + 1) as usize);
    }
    let mut partners = vec![0; ranks as usize];
    for pair in order.chunks_exact(2) {
        partners[pair[0] as usize] = pair[1];
        partners[pair[1] as usize] = pair[0];
    }
    partners
}

/// The destinations of one rank, one after the other.
pub(super) struct Destinations {
    rule: Rule,
    rank: u32,
    ranks: u32,
    random: SplitMix64,
}

impl Destinations {
    pub(super) fn new(rule: Rule, rank: u32, ranks: u32, seed: u64) -> Self {
        Self { rule, rank, ranks, random: stream(seed, rank, Stream::Destinations) }
    }

    /// The next one; `None` for a rank that sends nothing.
    pub(super) fn next(&mut self) -> Option<u32> {
        let to = match &self.rule {
            Rule::Partners(partners) => *partners.get(self.rank as usize)?,
            Rule::Uniform if self.ranks < 2 => return None,
            Rule::Uniform => {
                let other = self.random.below(u64::from(self.ranks) - 1) as u32;
                other + u32::from(other >= self.rank)
            }
            Rule::Shift(by) => ((u64::from(self.rank) + u64::from(*by)) % u64::from(self.ranks)) as u32,
            Rule::One(root) => *root,
        };
        Some(to).filter(|&to| to != self.rank)
    }

    pub(super) fn save(&self) -> u64 {
        self.random.state()
    }

    pub(super) fn restore(&mut self, state: u64) {
        self.random = SplitMix64::new(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_mutual_and_differ_with_the_seed() {
        let found = partners(100, 3);
        assert!((0..100).all(|rank| found[found[rank as usize] as usize] == rank && found[rank as usize] != rank));
        assert_ne!(found, partners(100, 4));
        assert_eq!(partners(2, 9), [1, 0]);
    }

    #[test]
    fn draws_reach_all_others_and_no_rank_sends_to_itself() {
        let mut uniform = Destinations::new(Rule::Uniform, 2, 5, 1);
        let mut seen = [0; 5];
        for _ in 0..4000 {
            seen[uniform.next().map_or(2, |to| to as usize)] += 1;
        }
        assert_eq!(seen[2], 0);
        assert!([0, 1, 3, 4].iter().all(|&to| (seen[to] - 1000i32).abs() < 120), "{seen:?}");
        assert_eq!(Destinations::new(Rule::Shift(3), 4, 5, 1).next(), Some(2));
        assert_eq!(Destinations::new(Rule::One(4), 4, 5, 1).next(), None);
    }
}

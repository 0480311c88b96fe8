//! Synthetic traffic.

use crate::nic::program::{Delivery, Host, Notice, Program};
use crate::time::Time;
use optiq_net::random::SplitMix64;
use optiq_trace::codec;

/// To whom messages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// Any other host, each as likely.
    Uniform,
    /// Any host, also the sender itself, each as likely.
    UniformWithSelf,
    /// Always the host at this distance.
    Shift(u32),
}

/// When they go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gaps {
    /// Always this time after each other; hosts start at different times.
    Fixed(Time),
    /// Exponentially distributed, with this mean: a Poisson process.
    Poisson(Time),
    /// Once in each cycle with this probability, in millionths above zero: a Bernoulli process.
    Bernoulli {
        /// How long a cycle is.
        cycle: Time,
        /// The probability in each.
        millionths: u32,
    },
}

/// How large they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sizes {
    /// All alike.
    Fixed(u64),
    /// Exponentially distributed, with this mean.
    Exponential(u64),
    /// One of two, each as likely.
    Either(u64, u64),
}

/// Sends messages at its own pace, whether or not they arrive (an open loop).
#[derive(Clone, Debug)]
pub struct Open {
    /// To whom.
    pub pattern: Pattern,
    /// When.
    pub gaps: Gaps,
    /// How large.
    pub sizes: Sizes,
    /// How many.
    pub messages: u64,
    /// How many hosts take part: the first ones.
    pub hosts: u32,
}

/// `-ln(u)` of a uniform `u` in (0, 1], in units of 2^-32, from integers alone: the same on every machine.
///
/// `ln u = -k ln 2 + ln m` with `m` in [1, 2), and `log2 m` by repeated squaring (C. Turner's algorithm).
pub(crate) fn minus_log(word: u64) -> u64 {
    const LN_2: u128 = 2_977_044_472; // 2^32 ln 2
    let word = word | 1;
    let zeros = word.leading_zeros();
    let mut m = u128::from(word << zeros); // [2^63, 2^64)
    let mut log2 = 0u128;
    for bit in (0..32).rev() {
        m = (m * m) >> 63;
        if m >> 64 == 1 {
            m >>= 1;
            log2 |= 1 << bit;
        }
    }
    // -log2 u = zeros + 1 - log2 m.
    let minus = ((u128::from(zeros) + 1) << 32) - log2;
    ((minus * LN_2) >> 32) as u64
}

/// Exponentially distributed with this mean.
pub(crate) fn exponential(mean: u64, random: &mut SplitMix64) -> u64 {
    ((u128::from(mean) * u128::from(minus_log(random.next_u64()))) >> 32) as u64
}

impl Open {
    fn size(&self, host: &mut Host<'_>) -> u64 {
        match self.sizes {
            Sizes::Fixed(bytes) => bytes,
            Sizes::Exponential(mean) => exponential(mean, host.random()),
            Sizes::Either(a, b) => {
                if host.random().below(2) == 0 {
                    a
                } else {
                    b
                }
            }
        }
    }

    fn gap(&self, host: &mut Host<'_>) -> Time {
        match self.gaps {
            Gaps::Fixed(time) => time,
            Gaps::Poisson(mean) => Time::picoseconds(exponential(mean.as_picoseconds(), host.random())),
            Gaps::Bernoulli { cycle, millionths } => {
                let mut time = cycle;
                while host.random().below(1_000_000) >= u64::from(millionths.max(1)) {
                    time += cycle;
                }
                time
            }
        }
    }
}

impl Program for Open {
    fn start(&mut self, host: &mut Host<'_>) {
        if host.number() < self.hosts && self.messages > 0 {
            let first = match self.gaps {
                Gaps::Fixed(time) => {
                    let picoseconds = time.max(Time::PICOSECOND).as_picoseconds();
                    Time::picoseconds(host.random().below(picoseconds))
                }
                Gaps::Poisson(_) => self.gap(host),
                // The first cycle is the one that begins now.
                Gaps::Bernoulli { cycle, .. } => self.gap(host) - cycle,
            };
            host.wake_at(first, 0);
        }
    }

    fn woken(&mut self, host: &mut Host<'_>, _: u64) {
        let to = match self.pattern {
            Pattern::Uniform => {
                let other = host.random().below(u64::from(self.hosts) - 1) as u32;
                other + u32::from(other >= host.number())
            }
            Pattern::UniformWithSelf => host.random().below(u64::from(self.hosts)) as u32,
            Pattern::Shift(by) => (host.number() + by) % self.hosts,
        };
        let bytes = self.size(host);
        host.send(to, bytes, 0, Notice::None);
        self.messages -= 1;
        if self.messages > 0 {
            let next = host.now() + self.gap(host);
            host.wake_at(next, 0);
        }
    }

    fn received(&mut self, _: &mut Host<'_>, _: Delivery) {}

    fn save(&self) -> Option<Vec<u8>> {
        Some(codec::encode(&self.messages))
    }

    fn restore(&mut self, _: u32, state: &[u8]) -> Result<(), String> {
        self.messages = codec::decode(state)?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nic::layout::Process;

    #[test]
    fn packets_of_a_bernoulli_process_are_in_whole_cycles() {
        let cycle = Time::picoseconds(7);
        let gaps = Gaps::Bernoulli { cycle, millionths: 200_000 };
        let open = Open { pattern: Pattern::UniformWithSelf, gaps, sizes: Sizes::Fixed(1), messages: 1, hosts: 3 };
        let (mut random, mut commands) = (SplitMix64::new(5), Vec::new());
        let place = Process { host: 0, job: 0 };
        let mut host = Host { number: 0, place, now: Time::ZERO, random: &mut random, commands: &mut commands };
        let gaps: Vec<Time> = (0..100_000).map(|_| open.gap(&mut host)).collect();
        assert!(gaps.iter().all(|gap| gap.is_multiple_of(cycle) && *gap > Time::ZERO));
        // In each cycle with the same probability: a fifth of the gaps is one long, a fifth of the others two.
        let share = |n: u64| gaps.iter().filter(|g| **g == cycle * n).count() as f64 / gaps.len() as f64;
        assert!((share(1) - 0.2).abs() < 0.01 && (share(2) - 0.16).abs() < 0.01);
        // Itself as often as any other.
        for _ in 0..3000 {
            open.clone().woken(&mut host, 0);
        }
        let to_itself =
            commands.iter().filter(|c| matches!(c, crate::nic::program::Command::Send { to: 0, .. })).count();
        assert!(to_itself.abs_diff(1000) < 100, "{to_itself}");
    }

    #[test]
    fn logarithms_are_right() {
        for word in [1, 2, 3, 1 << 32, (1 << 63) - 1, 1 << 63, u64::MAX, 0x1234_5678_9abc_def0] {
            let exact = -((word | 1) as f64 / 2f64.powi(64)).ln();
            let ours = minus_log(word) as f64 / 2f64.powi(32);
            assert!((exact - ours).abs() < 1e-8, "{word}: {exact} {ours}");
        }
        let mut random = SplitMix64::new(3);
        let mean = (0..100_000).map(|_| minus_log(random.next_u64()) as f64 / 2f64.powi(32)).sum::<f64>() / 1e5;
        assert!((mean - 1.0).abs() < 0.01, "{mean}");
    }
}

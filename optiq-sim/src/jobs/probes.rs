//! Probes as programs of jobs, from the descriptions that programs of MPI have too.

use crate::jobs::program_spec::{Pace, ProgramKind, ProgramSpec, WindowFrom};
use crate::time::Time;
use optiq_probe::description::{CompressionB, ImpactB, LinkProbe};

fn nanoseconds(count: u64) -> Time {
    Time::picoseconds(count.saturating_mul(1000))
}

/// ImpactB with this number of samples of each pair. Intervals differ by `jitter_millionths`, so that probes are not in step with what
/// they measure.
pub fn impact(probe: &ImpactB, samples: u32, jitter_millionths: u32) -> ProgramSpec {
    let think = nanoseconds(probe.interval_nanoseconds);
    let pace = Pace { think, jitter_millionths, ..Pace::default() };
    ProgramSpec { kind: ProgramKind::Impact { message: probe.message_bytes }, samples, warmup: 1, pace }
}

/// CompressionB: the sleep is a window from the start of a round, so that a round whose messages take longer is followed at once.
pub fn compression(configuration: &CompressionB, samples: u32) -> ProgramSpec {
    let CompressionB { partners, messages, message_bytes: message, sleep_nanoseconds } = *configuration;
    let window = nanoseconds(sleep_nanoseconds);
    let pace = Pace { window, window_from: WindowFrom::Start, ..Pace::default() };
    ProgramSpec { kind: ProgramKind::Compression { message, partners, messages }, samples, warmup: 0, pace }
}

/// A link probe, of two ranks: rank 0 sends to rank 1.
pub fn link(probe: &LinkProbe, samples: u32, jitter_millionths: u32) -> ProgramSpec {
    let think = nanoseconds(probe.interval_nanoseconds);
    let pace = Pace { think, jitter_millionths, ..Pace::default() };
    let kind = ProgramKind::Incast { message: probe.message_bytes, root: 1, puts: false };
    ProgramSpec { kind, samples, warmup: 1, pace }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn programs_of_descriptions() {
        let found = impact(&ImpactB::default(), 30, 0);
        assert_eq!(found, "impact,message=1KiB,think=100ms,warmup=1".parse().unwrap());
        let found = compression(&CompressionB::of_cycles(4, 10, 2.5e5), 5);
        let text = "compression,message=40KiB,partners=4,messages=10,window=96154ns,samples=5,warmup=0";
        assert_eq!(found, text.parse().unwrap());
        let found = link(&LinkProbe::default(), 30, 100_000);
        assert_eq!(found, "incast,message=1KiB,root=1,think=100ms,jitter=10%,warmup=1".parse().unwrap());
    }
}

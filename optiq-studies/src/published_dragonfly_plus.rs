//! What Y. Kang et al. published of jobs on a Dragonfly+, as far as claims K1 to K8 compare with it; see `data/published.toml`.

use serde::Deserialize;

/// See the file. Times in the units of their names.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DragonflyPlus {
    pub topology: String,
    pub groups: u32,
    pub cables_between_groups: u32,
    pub diameter: u32,
    pub cable_gibibytes_per_second: f64,
    pub terminal_gibibytes_per_second: f64,
    pub random_share_in_background: f64,
    pub uniform_slowdown: ByPlacement<f64>,
    pub uniform_asked: UniformAsked,
    pub tornado_slowdown: ByPlacement<f64>,
    pub broadcast_alone_milliseconds: f64,
    pub broadcast_beside_milliseconds: BroadcastBeside,
    pub broadcast_gibibytes_per_second: BroadcastRates,
    /// Of the background of 520 % at the root's group.
    pub background_gibibytes_per_second: BroadcastRates,
    pub adversarial_times_minimal: f64,
    /// From small to large.
    pub size: [MessageSize; 3],
}

/// A value of each placement of the target.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ByPlacement<T> {
    pub contiguous: T,
    pub random: T,
}

/// What the project's list of claims asks for.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UniformAsked {
    pub contiguous_below: f64,
    pub random_at_least: f64,
}

/// A value of each case of the broadcast.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BroadcastBeside {
    pub contiguous: f64,
    pub root_outside: f64,
    pub root_inside: f64,
}

/// At the root's group.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BroadcastRates {
    pub contiguous: f64,
    pub root_inside: f64,
}

/// What was published of a size of messages. Lists over intervals: underutilised, near-saturated, overloaded.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MessageSize {
    pub name: String,
    pub bytes: u64,
    pub intervals_nanoseconds: [u64; 3],
    pub background_interval_nanoseconds: u64,
    /// At 50, 90 and 130 %.
    pub background_bytes: [u64; 3],
    pub uniform_microseconds: Option<ByPlacement<[f64; 3]>>,
    pub tornado_microseconds: Option<ByPlacement<[f64; 3]>>,
    /// Random placement; 0 where nothing was published.
    pub uniform_beside_130_microseconds: [f64; 3],
    pub stencil_ratio: f64,
    pub tornado_ratio: f64,
}

#[cfg(test)]
mod tests {
    use crate::published::Published;

    #[test]
    fn the_loads_of_its_tables_are_those_of_decimal_sizes() {
        let published = Published::load().unwrap().dragonfly_plus;
        let cable = published.cable_gibibytes_per_second * (1u64 << 30) as f64;
        let percent =
            |bytes: u64, nanoseconds: u64| (bytes as f64 / (nanoseconds as f64 * 1e-9) / cable * 100.0).round();
        let size = |i: usize| &published.size[i];
        let load = |i: usize, at: usize| percent(size(i).bytes, size(i).intervals_nanoseconds[at]);
        // Table 2: 21 to 28 %, 73 to 85 %, above 100 %.
        assert_eq!([load(0, 0), load(2, 0), load(0, 1), load(1, 1)], [28.0, 21.0, 85.0, 73.0]);
        assert!((0..3).all(|i| load(i, 2) > 100.0));
        // Table 1: 50, 90 and 130 %.
        for size in &published.size {
            let found = size.background_bytes.map(|bytes| percent(bytes, size.background_interval_nanoseconds));
            assert_eq!(found, [50.0, 90.0, 130.0]);
        }
    }
}

//! The training cases: the thesis's patterns (section 6.4), with sizes that follow from the machine.
//!
//! With `a` the time of an agreement, `l` the latency, `c` the largest automatic chunk, `B` the slowest link's rate and `D` the link
//! bound of a pattern on the fabric's own routes per byte of a pair:
//!
//! ```text
//!     bytes of a pair  =  50 max(a, l + c / B) / D
//! ```
//!
//! An agreement and the time until a chunk has passed a leg are then small against the link bound, so that the part of it that an
//! exchange reaches says how well links are used.

use crate::bench::cases::Case;
use crate::constants::{CALIBRATION_BOUND, CALIBRATION_HOST_BYTES};
use optiq_net::Network;
use optiq_net::units::format_bytes;
use optiq_solver::demands;
use optiq_transport::constants::EAGER;
use std::collections::BTreeMap;

/// The patterns of training cases.
const PATTERNS: [&str; 3] = ["pattern:disjoint", "pattern:overlap", "pattern:subset"];

/// Bytes of a pair that link bounds are computed with.
const PROBE: u64 = 1 << 20;

/// The cases; the same on all ranks that have the same times, in seconds. `notes` gets a sentence about sizes that were cut.
///
/// # Errors
/// A sentence if a pattern moves nothing on this network.
pub fn cases(network: &Network, agreement: f64, latency: f64, notes: &mut Vec<String>) -> Result<Vec<Case>, String> {
    let chunk = latency + EAGER as f64 / network.unit_capacity();
    let wanted = CALIBRATION_BOUND * agreement.max(chunk);
    let case = |pattern: &str| {
        let list = demands::parse(pattern, network, PROBE).map_err(|e| e.to_string())?;
        let load = network.route_load(list.iter().map(|d| (d.src, d.dst, d.bytes))).map_err(|e| e.to_string())?;
        let bound = load.statistics(network).congestion_seconds;
        let mut hosts = BTreeMap::<_, u64>::new();
        for d in &list {
            *hosts.entry((d.src, true)).or_default() += d.bytes;
            *hosts.entry((d.dst, false)).or_default() += d.bytes;
        }
        let busiest = hosts.into_values().max().unwrap_or(0);
        if bound <= 0.0 || busiest == 0 {
            return Err(format!("{pattern} moves no bytes on {}; --cases FILE is expected", network.spec()));
        }
        let most = CALIBRATION_HOST_BYTES / (busiest as f64 / PROBE as f64);
        let bytes = PROBE as f64 * wanted / bound;
        if bytes > most {
            notes.push(format!(
                "{pattern} has {most:.0} bytes per pair, less than {:.0}, so that a host has at most {}.",
                bytes,
                format_bytes(CALIBRATION_HOST_BYTES as u64)
            ));
        }
        let message_bytes = rounded(bytes.min(most));
        Ok(Case { demands: pattern.into(), message_bytes })
    };
    PATTERNS.into_iter().map(case).collect()
}

/// Two significant digits, so that sizes can be repeated by hand.
fn rounded(bytes: f64) -> u64 {
    let unit = 10f64.powf(bytes.max(1.0).log10().floor() - 1.0).max(1.0);
    ((bytes / unit).floor() * unit).max(1.0) as u64
}

/// The cases, for the record.
pub fn names(asked: &str, cases: &[Case]) -> String {
    let names: Vec<String> = cases.iter().map(Case::name).collect();
    let all = format!("{asked}: {}", names.join("; "));
    // Long lists are named by their file.
    if all.len() < 500 { all } else { format!("{asked}: {} cases", cases.len()) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// Bounds are as long as wanted, whatever the rate of links.
    #[test]
    fn sizes_follow_from_the_machine() {
        for (spec, agreement) in [("torus:4x4,capacity=12.5MB/s", 2e-3), ("torus:8x8x8,capacity=1.8GB/s", 1e-5)] {
            let (network, mut notes) = (Network::from_spec(spec).unwrap(), Vec::new());
            let cases = cases(&network, agreement, agreement / 8.0, &mut notes).unwrap();
            assert_eq!((cases.len(), notes.len()), (3, 0), "{notes:?}");
            for case in cases {
                let list = demands::parse(&case.demands, &network, case.message_bytes).unwrap();
                let load = network.route_load(list.iter().map(|d| (d.src, d.dst, d.bytes))).unwrap();
                let bound = load.statistics(&network).congestion_seconds;
                let fill = agreement / 8.0 + EAGER as f64 / network.unit_capacity();
                let wanted = 50.0 * agreement.max(fill);
                assert!(bound <= wanted && bound > 0.9 * wanted, "{case:?}: {bound} s, {wanted} s wanted");
            }
        }
    }

    #[test]
    fn buffers_stay_small() {
        let (network, mut notes) = (Network::from_spec("star:4,capacity=100GB/s").unwrap(), Vec::new());
        let cases = cases(&network, 1.0, 1.0, &mut notes).unwrap();
        assert_eq!(notes.len(), 3);
        assert!(cases.iter().all(|c| c.message_bytes <= 1 << 28), "{cases:?}");
        assert!(names("training", &cases).starts_with("training: disjoint, "));
    }

    #[test]
    fn sizes_are_round() {
        assert_eq!([0.0, 7.3, 99.9, 123.0, 1_999_999.0].map(rounded), [1, 7, 99, 120, 1_900_000]);
    }
}

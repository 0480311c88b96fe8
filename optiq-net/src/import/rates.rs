//! What a link of InfiniBand carries: lanes times the data rate of one.
//!
//! Signalling rate times code, from the InfiniBand Architecture Specification, volume 2 (release 1.7, chapter "Physical
//! layer"; its names SDR to XDR): SDR, DDR and QDR 2.5, 5 and 10 Gbit/s with 8b/10b; FDR10 10.3125, FDR 14.0625 and EDR
//! 25.78125 Gbit/s with 64b/66b; HDR, NDR and XDR carry 50, 100 and 200 Gbit/s of data a lane.

/// Data rate of one lane in bytes per second, by the name of its speed.
fn lane(speed: &str) -> Option<f64> {
    let gigabits = match speed.to_ascii_uppercase().as_str() {
        "SDR" | "2.5" => 2.5 * 0.8,
        "DDR" | "5" | "5.0" => 5.0 * 0.8,
        "QDR" | "10" | "10.0" => 10.0 * 0.8,
        "FDR10" => 10.3125 * 64.0 / 66.0,
        "FDR" | "14" | "14.0" | "14.0625" => 14.0625 * 64.0 / 66.0,
        "EDR" | "25" | "25.0" | "25.78125" | "26" => 25.78125 * 64.0 / 66.0,
        "HDR" | "50" | "50.0" | "53.125" => 50.0,
        "NDR" | "100" | "100.0" | "106.25" => 100.0,
        "XDR" | "200" | "200.0" => 200.0,
        _ => return None,
    };
    Some(gigabits * 1e9 / 8.0)
}

/// Bytes per second of `width` (`4x`) lanes of a `speed` (`EDR`, or Gbit/s as OpenSM writes them).
pub(super) fn rate(width: &str, speed: &str) -> Option<f64> {
    let lanes = width.trim_end_matches(['x', 'X']).parse::<u8>().ok().filter(|lanes| (1..=16).contains(lanes))?;
    Some(f64::from(lanes) * lane(speed)?)
}

/// Bytes per second of what `ibnetdiscover` writes as `4xEDR`.
pub(super) fn rate_of_word(word: &str) -> Option<f64> {
    let (width, speed) = word.split_once('x')?;
    rate(width, speed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_those_of_data() {
        // 4 lanes of 2.5 Gbit/s, 8 bits in 10: 1 GB/s. 4 lanes of EDR are sold as 100 Gbit/s.
        assert_eq!(rate_of_word("4xSDR"), Some(1e9));
        assert_eq!(rate("4x", "2.5"), rate_of_word("4xSDR"));
        assert_eq!(rate_of_word("4xEDR"), Some(12.5e9));
        assert_eq!(rate_of_word("4xHDR"), Some(25e9));
        assert_eq!(rate_of_word("1xQDR"), Some(1e9));
        assert!(rate_of_word("??x??").is_none() && rate_of_word("4x").is_none() && rate_of_word("lid").is_none());
    }
}

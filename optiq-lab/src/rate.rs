//! The speed of a link of the lab, in bits per second as `tc` counts it.

use crate::error::LabError;
use optiq_net::units::parse_rate;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// A link's speed in bits per second, Ethernet headers included.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(u64);

impl Rate {
    /// The slowest link that the lab makes: below it, one frame takes longer than TCP's retransmission timeout.
    pub const MIN: Rate = Rate(64_000);
    /// The fastest link that the lab makes.
    pub const MAX: Rate = Rate(100_000_000_000);

    /// A rate from bits per second.
    ///
    /// # Errors
    /// [`LabError::Argument`] outside [`Rate::MIN`]`..=`[`Rate::MAX`].
    pub fn from_bits(bits_per_second: f64) -> Result<Self, LabError> {
        let rounded = bits_per_second.round();
        if rounded >= Self::MIN.0 as f64 && rounded <= Self::MAX.0 as f64 {
            Ok(Rate(rounded as u64))
        } else {
            Err(LabError::Argument(format!(
                "a link of {bits_per_second} bit/s is outside what the lab can make, {} to {}",
                Self::MIN,
                Self::MAX
            )))
        }
    }

    /// Bits per second.
    pub fn bits(self) -> u64 {
        self.0
    }

    /// Bytes per second.
    pub fn bytes(self) -> f64 {
        self.0 as f64 / 8.0
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scale, unit) = match self.0 {
            0..1_000_000 => (1e3, "kbit/s"),
            1_000_000..1_000_000_000 => (1e6, "Mbit/s"),
            _ => (1e9, "Gbit/s"),
        };
        write!(f, "{} {unit}", self.0 as f64 / scale)
    }
}

/// Reads what [`optiq_net::units::parse_rate`] reads (`100Mbit/s`, `12.5MB/s`), and what `tc` does: `100mbit`.
impl FromStr for Rate {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Self, LabError> {
        let trimmed = text.trim();
        let units = [("gbit", 1e9), ("mbit", 1e6), ("kbit", 1e3), ("bit", 1.0)];
        let tc =
            units.iter().find_map(|&(unit, factor)| Some((trimmed.strip_suffix(unit)?.parse::<f64>().ok()?, factor)));
        match tc {
            Some((number, factor)) => Rate::from_bits(number * factor),
            None => Rate::from_bits(8.0 * parse_rate(trimmed).map_err(|e| LabError::Argument(e.to_string()))?),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_bits_and_bytes() {
        for (text, bits) in [
            ("100mbit", 100_000_000),
            ("100 Mbit/s", 100_000_000),
            ("1gbit", 1_000_000_000),
            ("12.5MB/s", 100_000_000),
            ("64000bit", 64_000),
            ("0.1gbit", 100_000_000),
            (" 500 kB/s ", 4_000_000),
        ] {
            assert_eq!(text.parse::<Rate>().unwrap().bits(), bits, "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_rate() {
        for text in ["", "mbit", "1.2.3mbit", "100mb", "-5mbit", "nanmbit", "100 miles", "1bit", "999999gbit", "ébit"]
        {
            assert!(matches!(text.parse::<Rate>(), Err(LabError::Argument(_))), "{text}");
        }
    }

    #[test]
    fn prints_the_largest_fitting_unit() {
        assert_eq!("100mbit".parse::<Rate>().unwrap().to_string(), "100 Mbit/s");
        assert_eq!("1500kbit".parse::<Rate>().unwrap().to_string(), "1.5 Mbit/s");
        assert_eq!("64kbit".parse::<Rate>().unwrap().to_string(), "64 kbit/s");
    }
}

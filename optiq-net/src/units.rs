//! Quantities as people write them: bytes, bytes per second and lengths of time, for the whole workspace.
//!
//! | written | factor |
//! | --- | --- |
//! | `B`, or nothing | 1 |
//! | `KB`, `kB`, `MB`, `GB`, `TB`, `PB` | powers of 1000 |
//! | `KiB`, `MiB`, `GiB`, `TiB`, `PiB` | powers of 1024 |
//! | `K`, `k`, `M`, `G`, `T`, `P` | powers of 1024 (bytes only), as UCX and Open MPI read them |
//! | `s`, `ms`, `us`, `ns`, `ps` | lengths of time; only 0 needs no unit |
//! | `bit/s`, `kbit/s`, `Mbit/s`, ... also `bps`, `Mbps`, `Mb/s`, ... | bits: powers of 1000, divided by 8 |
//!
//! A capital `B` is a byte, a small `b` a bit. A rate without a unit is bytes per second; a rate with a bare `M` is
//! refused, because half of its readers would take it for bits. Numbers are decimal, with or without a fraction and
//! an exponent; signs, `inf` and `nan` are refused. A space may stand between number and unit.

use crate::error::NetError;
use crate::text_file::shorten;

const DECIMAL: [(char, u64); 5] =
    [('k', 1_000), ('M', 1_000_000), ('G', 1_000_000_000), ('T', 1_000_000_000_000), ('P', 1_000_000_000_000_000)];
const BINARY: [(char, u64); 5] = [('K', 1 << 10), ('M', 1 << 20), ('G', 1 << 30), ('T', 1 << 40), ('P', 1 << 50)];

/// Reads a number of bytes: `8MiB`, `64K`, `1e6`, `4 MB`.
///
/// # Errors
/// [`NetError::Unit`] for anything else, for a fraction of a byte, and for 2^64 bytes or more.
pub fn parse_bytes(text: &str) -> Result<u64, NetError> {
    let bad = |why: &str| {
        NetError::Unit(format!(
            "\"{}\" is not a number of bytes: {why}; for example 65536, 64KiB or 4 MB",
            shorten(text)
        ))
    };
    let (number, unit) = split(text);
    let number = Decimal::parse(number).ok_or_else(|| bad("a decimal number is expected"))?;
    let factor = match unit {
        "" | "B" => 1,
        _ => bare_prefix(unit).or_else(|| byte_factor(unit)).ok_or_else(|| bad("the unit is unknown"))?,
    };
    number.times(factor).ok_or_else(|| bad("it has a fraction of a byte or is 2^64 or more"))
}

/// Reads a rate and returns bytes per second: `100Mbit/s`, `1.8GB/s`, `12.5 GiB/s`, `1.8e9`.
///
/// # Errors
/// [`NetError::Unit`] for anything else, and for a rate that is zero or beyond the range of `f64`.
pub fn parse_rate(text: &str) -> Result<f64, NetError> {
    let bad = |why: &str| {
        NetError::Unit(format!("\"{}\" is not a rate: {why}; for example 100Mbit/s, 1.8GB/s or 1.8e9", shorten(text)))
    };
    let (number, unit) = split(text);
    if Decimal::parse(number).is_none() {
        return Err(bad("a decimal number is expected"));
    }
    // Rust reads every number of this grammar, correctly rounded.
    let number: f64 = number.parse().map_err(|_| bad("a decimal number is expected"))?;
    let per_second = unit.strip_suffix("/s");
    let (factor, divisor) = match (unit, per_second) {
        ("" | "B/s", _) => (1, 1),
        (_, Some(amount)) => rate_factor(amount).ok_or_else(|| bad("the unit is unknown"))?,
        _ if unit.ends_with("bps") => {
            rate_factor(unit.trim_end_matches("ps")).ok_or_else(|| bad("the unit is unknown"))?
        }
        _ if byte_factor(unit).is_some() => return Err(bad("the unit lacks \"/s\"")),
        _ if bare_prefix(unit).is_some() => return Err(bad("the unit does not say whether bits or bytes are meant")),
        _ => return Err(bad("the unit is unknown")),
    };
    let rate = number * factor as f64 / f64::from(divisor);
    if rate.is_finite() && rate > 0.0 { Ok(rate) } else { Err(bad("a finite rate above zero is expected")) }
}

/// The shortest way to write exactly `bytes`: `8MiB`, `4MB`, `1234B`. [`parse_bytes`] reads it back.
pub fn format_bytes(bytes: u64) -> String {
    let binary = BINARY.iter().rev().find(|(_, f)| bytes >= *f && bytes.is_multiple_of(*f));
    let decimal = DECIMAL.iter().rev().find(|(_, f)| bytes >= *f && bytes.is_multiple_of(*f));
    let candidates = [
        binary.map(|(p, f)| format!("{}{p}iB", bytes / f)),
        decimal.map(|(p, f)| format!("{}{p}B", bytes / f)),
        Some(format!("{bytes}B")),
    ];
    let shortest = candidates.into_iter().flatten().min_by_key(String::len);
    shortest.unwrap_or_default()
}

/// Units of time, with the number of picoseconds in each.
const TIMES: [(&str, u64); 5] =
    [("s", 1_000_000_000_000), ("ms", 1_000_000_000), ("us", 1_000_000), ("ns", 1_000), ("ps", 1)];

/// Reads a length of time and returns picoseconds: `500us`, `2 ms`, `1.5ns`, `0`.
///
/// # Errors
/// [`NetError::Unit`] for anything else, for a fraction of a picosecond, and for 2^64 picoseconds (213 days) or more.
pub fn parse_picoseconds(text: &str) -> Result<u64, NetError> {
    let bad = |why: &str| {
        NetError::Unit(format!("\"{}\" is not a length of time: {why}; for example 500us, 2ms or 0", shorten(text)))
    };
    let (number, unit) = split(text);
    let number = Decimal::parse(number).ok_or_else(|| bad("a decimal number is expected"))?;
    let too_fine = || bad("it has a fraction of a picosecond or is 213 days or more");
    if unit.is_empty() {
        let picoseconds = number.times(1).ok_or_else(too_fine)?;
        return if picoseconds == 0 { Ok(0) } else { Err(bad("the unit is missing")) };
    }
    let factor = TIMES.iter().find(|(name, _)| *name == unit).ok_or_else(|| bad("the unit is unknown"))?.1;
    number.times(factor).ok_or_else(too_fine)
}

/// A length of time in the largest unit in which it is a whole number: `500us`, `0`. [`parse_picoseconds`] reads it back.
pub fn format_picoseconds(picoseconds: u64) -> String {
    let unit = TIMES.iter().find(|(_, factor)| picoseconds >= *factor && picoseconds.is_multiple_of(*factor));
    unit.map_or_else(|| "0".to_owned(), |(name, factor)| format!("{}{name}", picoseconds / factor))
}

/// A number of things with the right word behind it: `1 host`, `3 hosts`.
pub fn format_count(number: usize, one: &str, more: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { more })
}

/// `bytes` for people: about four digits and a decimal unit, as rates have it, as in `16.25 MB`. Not exact.
pub fn format_bytes_rounded(bytes: f64) -> String {
    match DECIMAL.iter().rev().find(|(_, f)| bytes >= *f as f64) {
        Some((p, f)) => format!("{:.2} {p}B", bytes / *f as f64),
        None => format!("{bytes:.0} B"),
    }
}

/// [`format_bytes_rounded`] with a binary unit, as in `16.25 MiB`.
pub fn format_bytes_rounded_binary(bytes: f64) -> String {
    match BINARY.iter().rev().find(|(_, f)| bytes >= *f as f64) {
        Some((p, f)) => format!("{:.2} {p}iB", bytes / *f as f64),
        None => format!("{bytes:.0} B"),
    }
}

/// A rate in bytes per second with a decimal unit, as in `1.8GB/s`; exact: [`parse_rate`] reads the same number back.
pub fn format_rate(rate: f64) -> String {
    for (prefix, factor) in DECIMAL.iter().rev() {
        if rate >= *factor as f64 {
            let text = format!("{}{prefix}B/s", rate / *factor as f64);
            if parse_rate(&text) == Ok(rate) {
                return text;
            }
        }
    }
    // Without a unit nothing is multiplied, so nothing is rounded.
    format!("{rate}B/s")
}

/// Splits `"12.5 GB/s"` into number and unit. The exponent of a number belongs to the number: `1e6`.
fn split(text: &str) -> (&str, &str) {
    let text = text.trim();
    let bytes = text.as_bytes();
    let digits = |mut i: usize| {
        while bytes.get(i).is_some_and(|b| b.is_ascii_digit() || *b == b'.') {
            i += 1;
        }
        i
    };
    let mut end = digits(0);
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        let after = digits(end + 1 + sign);
        if after > end + 1 + sign {
            end = after;
        }
    }
    let (number, unit) = text.split_at(end);
    (number, unit.trim_start())
}

fn bare_prefix(unit: &str) -> Option<u64> {
    let mut chars = unit.chars();
    let prefix = chars.next().filter(|_| chars.as_str().is_empty())?;
    BINARY.iter().find(|(p, _)| *p == prefix || (prefix == 'k' && *p == 'K')).map(|(_, f)| *f)
}

fn byte_factor(unit: &str) -> Option<u64> {
    let amount = unit.strip_suffix('B')?;
    match amount.strip_suffix('i') {
        Some(binary) => bare_prefix(binary),
        None => decimal_prefix(amount),
    }
}

fn decimal_prefix(text: &str) -> Option<u64> {
    if text.is_empty() {
        return Some(1);
    }
    let mut chars = text.chars();
    let prefix = chars.next().filter(|_| chars.as_str().is_empty())?;
    DECIMAL.iter().find(|(p, _)| *p == prefix || (prefix == 'K' && *p == 'k')).map(|(_, f)| *f)
}

/// Factor and divisor of what stands before "/s".
fn rate_factor(amount: &str) -> Option<(u64, u8)> {
    let bits = amount.strip_suffix("bit").or_else(|| amount.strip_suffix('b'));
    match bits {
        Some(prefix) => Some((decimal_prefix(prefix)?, 8)),
        None => Some((byte_factor(amount)?, 1)),
    }
}

/// `digits` times ten to the power of `exponent`, exactly.
struct Decimal {
    digits: u128,
    exponent: i32,
}

impl Decimal {
    /// Reads `12`, `12.5`, `.5`, `1e6`, `1.5E-3`.
    fn parse(text: &str) -> Option<Self> {
        let (mantissa, exponent) = match text.split_once(['e', 'E']) {
            Some((m, e)) => (m, e.parse::<i16>().ok()?),
            None => (text, 0),
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let fraction = fraction.trim_end_matches('0');
        // 30 digits are far more than 64 bits need, and fit into 128.
        let all_digits = whole.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit());
        if !mantissa.bytes().any(|b| b.is_ascii_digit()) || !all_digits || whole.len() + fraction.len() > 30 {
            return None;
        }
        let digits = whole.bytes().chain(fraction.bytes()).fold(0, |n, b| n * 10 + u128::from(b - b'0'));
        Some(Decimal { digits, exponent: i32::from(exponent) - fraction.len() as i32 })
    }

    /// The product, if it is a whole number of 64 bits.
    fn times(&self, factor: u64) -> Option<u64> {
        let mut product = self.digits.checked_mul(u128::from(factor))?;
        if product == 0 {
            return Some(0);
        }
        for _ in 0..self.exponent.unsigned_abs() {
            if self.exponent > 0 {
                product = product.checked_mul(10)?;
            } else if product % 10 == 0 {
                product /= 10;
            } else {
                return None;
            }
        }
        u64::try_from(product).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_thing_has_a_word_of_its_own() {
        let hosts = [0, 1, 2].map(|number| format_count(number, "host", "hosts"));
        assert_eq!(hosts, ["0 hosts", "1 host", "2 hosts"]);
    }

    #[test]
    fn bytes_as_people_write_them() {
        let cases = [
            ("8MiB", 8 << 20),
            ("64K", 64 << 10),
            ("64k", 64 << 10),
            ("1e6", 1_000_000),
            ("4 MB", 4_000_000),
            ("1.5KiB", 1536),
            ("0.5kB", 500),
            (" 7 ", 7),
            ("7B", 7),
            ("0", 0),
            ("0.000", 0),
            ("2e0 GiB", 2 << 30),
            ("25e-1 KB", 2500),
            ("18446744073709551615", u64::MAX),
            ("16777215.99609375TiB", 0xffff_ff00_0000_0000 | 0xff_0000_0000),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_bytes(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn bytes_that_are_refused() {
        for text in [
            "",
            "MiB",
            "-1",
            "+1",
            "inf",
            "nan",
            "1.5",
            "0.3K",
            "16EiB",
            "16384PiB",
            "18446744073709551616",
            "1e400",
            "1e99999999999",
            "1 2",
            "8Mbit",
            "8mib",
            "1..2",
            "1.2.3",
            ".",
            "e6",
            "0x10",
            "1_000",
            "٣",
        ] {
            assert!(matches!(parse_bytes(text), Err(NetError::Unit(_))), "{text}");
        }
    }

    #[test]
    fn times_as_people_write_them() {
        let cases = [("500us", 500_000_000), ("2 ms", 2_000_000_000), ("1.5ns", 1500), ("0", 0), ("0s", 0), ("7ps", 7)];
        for (text, expected) in cases {
            assert_eq!(parse_picoseconds(text), Ok(expected), "{text}");
        }
        for text in ["", "5", "ms", "-1ms", "0.5ps", "1min", "1e9s", "5 m s"] {
            assert!(matches!(parse_picoseconds(text), Err(NetError::Unit(_))), "{text}");
        }
        assert_eq!([0, 1500, 2_000_000_000].map(format_picoseconds), ["0", "1500ps", "2ms"].map(String::from));
    }

    #[test]
    fn rates_as_people_write_them() {
        let cases = [
            ("100Mbit/s", 12.5e6),
            ("100 Mbps", 12.5e6),
            ("100Mb/s", 12.5e6),
            ("8bit/s", 1.0),
            ("8bps", 1.0),
            ("1.8GB/s", 1.8e9),
            ("12.5 GB/s", 12.5e9),
            ("1.8e9", 1.8e9),
            ("1GiB/s", 1073741824.0),
            ("5B/s", 5.0),
            ("0.5B/s", 0.5),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_rate(text), Ok(expected), "{text}");
        }
        for text in
            ["", "inf", "nan", "0", "-1", "1e400", "1e-400", "100M", "100MB", "1G", "fast", "1B/s/s", "1Mibit/s"]
        {
            assert!(matches!(parse_rate(text), Err(NetError::Unit(_))), "{text}");
        }
    }

    #[test]
    fn formats_are_short_and_exact() {
        assert_eq!(format_bytes(8 << 20), "8MiB");
        assert_eq!(format_bytes(4_000_000), "4MB");
        assert_eq!(format_bytes(1234), "1234B");
        assert_eq!(format_bytes(0), "0B");
        assert_eq!(format_rate(1.8e9), "1.8GB/s");
        assert_eq!(format_rate(12.5e6), "12.5MB/s");
        assert_eq!(format_rate(0.5), "0.5B/s");
        assert_eq!(format_bytes_rounded_binary(17.0 * 1024.0 * 1024.0), "17.00 MiB");
        assert_eq!(format_bytes_rounded(17.0 * 1024.0 * 1024.0), "17.83 MB");
        assert_eq!(["999 B", "1.00 kB", "64.00 GB"].map(String::from), [999.0, 1e3, 64e9].map(format_bytes_rounded));
    }

    proptest! {
        #[test]
        fn bytes_round_trip(bytes: u64, shift in 0u32..64) {
            for b in [bytes, bytes >> shift, (bytes >> shift) << (shift / 2)] {
                prop_assert_eq!(parse_bytes(&format_bytes(b)), Ok(b));
            }
        }

        #[test]
        fn times_round_trip(time: u64, shift in 0u32..64) {
            prop_assert_eq!(parse_picoseconds(&format_picoseconds(time >> shift)), Ok(time >> shift));
        }

        #[test]
        fn rates_round_trip(mantissa in 1.0f64..10.0, digits in 0i32..17, exponent in -6i32..18) {
            let rounded = (mantissa * 10f64.powi(digits)).round() / 10f64.powi(digits);
            let rate = rounded * 10f64.powi(exponent);
            prop_assert_eq!(parse_rate(&format_rate(rate)), Ok(rate));
        }

        #[test]
        fn nothing_panics(text in "\\PC*", number in "[0-9.eE+-]{0,12}", unit in "[kKMGTPiBbts/ p]{0,7}") {
            let joined = format!("{number}{unit}");
            for t in [&text, &joined] {
                let _ = parse_bytes(t);
                if let Ok(rate) = parse_rate(t) {
                    prop_assert!(rate.is_finite() && rate > 0.0);
                }
            }
        }
    }
}

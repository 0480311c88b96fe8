//! When something was measured, as text: UTC, ISO 8601, to the second.
//!
//! Days are turned into year, month and day by counting eras of 400 years, which have 146,097 days each, from 0000-03-01
//! (H. Hinnant, "chrono-Compatible Low-Level Date Algorithms", 2013).

use std::time::{SystemTime, UNIX_EPOCH};

/// Now, as `2026-11-22T21:40:11Z`; a clock that is set before 1970 counts as 1970.
pub fn utc_now() -> String {
    utc(SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs()))
}

/// Seconds since 1970-01-01, as `2026-11-22T21:40:11Z`.
pub fn utc(seconds: u64) -> String {
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds % 86_400 / 3600, seconds % 3600 / 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}

/// Whether a text has the form of [`utc`], with a month, a day and a time that exist in some year.
pub fn is_utc(text: &str) -> bool {
    let bytes = text.as_bytes();
    let form = b"0000-00-00T00:00:00Z";
    let fits =
        |(&found, &expected): (&u8, &u8)| if expected == b'0' { found.is_ascii_digit() } else { found == expected };
    let number = |at: usize| (bytes[at] - b'0') * 10 + bytes[at + 1] - b'0';
    bytes.len() == form.len()
        && bytes.iter().zip(form).all(fits)
        && (1..=12).contains(&number(5))
        && (1..=31).contains(&number(8))
        && number(11) < 24
        && number(14) < 60
        && number(17) <= 60
}

/// Days since 1970-01-01 to year, month, day of the Gregorian calendar.
fn civil(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let in_year = day - (365 * year + year / 4 - year / 100);
    // March is month 0.
    let month = (5 * in_year + 2) / 153;
    let of_month = in_year - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (400 * era + year + carry, month, of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_by_hand() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(utc(951_868_800), "2000-03-01T00:00:00Z");
        assert_eq!(utc(1_735_689_599), "2024-12-31T23:59:59Z");
        assert_eq!(utc(4_107_542_400), "2100-03-01T00:00:00Z");
    }

    #[test]
    fn what_is_written_is_read() {
        assert!(is_utc(&utc_now()) && is_utc(&utc(1_735_689_599)));
        for text in [
            "",
            "2024-12-31",
            "2024-12-31 23:59:59Z",
            "2024-13-31T23:59:59Z",
            "2024-00-01T00:00:00Z",
            "2024-01-32T00:00:00Z",
        ] {
            assert!(!is_utc(text), "{text}");
        }
        assert!(!is_utc("2024-01-01T24:00:00Z") && !is_utc("2024-01-01T00:60:00Z") && !is_utc("２024-01-01T00:00Z"));
    }
}

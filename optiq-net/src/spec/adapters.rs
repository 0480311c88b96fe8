//! Adapters that are not like the others: the option `adapters=` of switched networks.
//!
//! ```text
//! adapters=1@50%                 # adapter 1 of every host carries half of what the links to hosts have
//! adapters=1@25Gbit/s+0-3.2@none # ... this rate; and hosts 0 to 3 lack adapter 2
//! adapters=7.0@10%               # host 7 has a slow adapter
//! ```
//!
//! Adapters and hosts are numbers from 0; adapter r leads to rail r. Of several entries for one adapter the last one counts.

use crate::text_file::shorten;
use crate::units::{format_rate, parse_rate};
use std::fmt;

/// The most entries of a list.
const MAX_ENTRIES: usize = 256;

/// What `adapters=` says.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Adapters(Vec<Entry>);

#[derive(Clone, Debug, PartialEq)]
struct Entry {
    /// First and last host; `None` for all.
    hosts: Option<(u32, u32)>,
    rail: u32,
    speed: Speed,
}

/// What an adapter carries.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Speed {
    /// There is none.
    Missing,
    /// A part of what links to hosts carry, above zero and at most 1; as the percentage that was written.
    Percent(f64),
    /// Bytes per second.
    Rate(f64),
}

impl Adapters {
    /// Reads a list for `hosts` hosts of `rails` rails. The error is the rest of a sentence.
    pub fn parse(text: &str, hosts: u32, rails: u32) -> Result<Self, String> {
        let entries: Vec<&str> = text.split('+').map(str::trim).collect();
        if entries.len() > MAX_ENTRIES {
            return Err(format!("adapters= has {} entries; at most {MAX_ENTRIES} are expected", entries.len()));
        }
        entries.into_iter().map(|entry| read(entry, hosts, rails)).collect::<Result<_, _>>().map(Adapters)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn speed(&self, host: u32, rail: u32) -> Speed {
        let says = |e: &&Entry| e.rail == rail && e.hosts.is_none_or(|(first, last)| (first..=last).contains(&host));
        self.0.iter().rev().find(says).map_or(Speed::Percent(100.0), |e| e.speed)
    }

    /// Bytes per second of an adapter where links to hosts have `terminal`; 0 if there is none.
    pub fn rate(&self, host: u32, rail: u32, terminal: f64) -> f64 {
        match self.speed(host, rail) {
            Speed::Missing => 0.0,
            Speed::Percent(percent) => terminal * (percent / 100.0),
            Speed::Rate(rate) => rate,
        }
    }

    /// The adapters that hosts have, a bit for each rail: from each of these hosts on, up to the next one. Empty if all have all.
    pub fn segments(&self, rails: u32) -> Vec<(u32, u64)> {
        if !self.0.iter().any(|e| e.speed == Speed::Missing) {
            return Vec::new();
        }
        let ends = self.0.iter().filter_map(|e| e.hosts).flat_map(|(first, last)| [first, last.saturating_add(1)]);
        let mut firsts: Vec<u32> = std::iter::once(0).chain(ends).collect();
        firsts.sort_unstable();
        firsts.dedup();
        let has = |host, rail: u32| u64::from(self.speed(host, rail) != Speed::Missing) << rail;
        firsts.into_iter().map(|host| (host, (0..rails).fold(0, |mask, rail| mask | has(host, rail)))).collect()
    }
}

/// One entry of the list.
fn read(entry: &str, hosts: u32, rails: u32) -> Result<Entry, String> {
    let expected = "ADAPTER@SPEED or HOST.ADAPTER@SPEED, with a rate, 50% or none for SPEED, is expected";
    let bad = || format!("found adapter \"{}\"; {expected}", shorten(entry));
    let number = |text: &str| -> Result<u32, String> {
        let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        digits.then(|| text.parse().ok()).flatten().ok_or_else(bad)
    };
    let (which, speed) = entry.split_once('@').ok_or_else(bad)?;
    let (of, rail) = which.trim().rsplit_once('.').map_or((None, which.trim()), |(of, rail)| (Some(of), rail));
    let rail = number(rail)?;
    if rail >= rails {
        return Err(format!("adapter {rail} of hosts with {rails}; 0 to {} are expected", rails - 1));
    }
    let range = |of: &str| -> Result<(u32, u32), String> {
        let (first, last) = of.split_once('-').unwrap_or((of, of));
        let (first, last) = (number(first)?, number(last)?);
        if first > last || last >= hosts {
            let most = hosts - 1;
            return Err(format!("adapter {rail} of host \"{}\"; hosts of 0 to {most} are expected", shorten(of)));
        }
        Ok((first, last))
    };
    let hosts = of.map(range).transpose()?;
    let speed = match speed.trim() {
        "none" => Speed::Missing,
        percent if percent.ends_with('%') => {
            let number = percent.trim_end_matches('%').trim_end();
            // Rust's own reading of numbers would take signs, inf and nan.
            let plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
            let value = number.parse().ok().filter(|&p: &f64| plain && p > 0.0 && p <= 100.0);
            Speed::Percent(value.ok_or_else(|| {
                format!("found speed \"{}\" of adapter {rail}; above 0% and at most 100% is expected", shorten(percent))
            })?)
        }
        rate => Speed::Rate(parse_rate(rate).map_err(|e| e.to_string())?),
    };
    Ok(Entry { hosts, rail, speed })
}

/// As the option is written.
impl fmt::Display for Adapters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, entry) in self.0.iter().enumerate() {
            f.write_str(if i > 0 { "+" } else { "" })?;
            match entry.hosts {
                None => {}
                Some((first, last)) if first == last => write!(f, "{first}.")?,
                Some((first, last)) => write!(f, "{first}-{last}.")?,
            }
            match entry.speed {
                Speed::Missing => write!(f, "{}@none", entry.rail)?,
                Speed::Percent(percent) => write!(f, "{}@{percent}%", entry.rail)?,
                Speed::Rate(rate) => write!(f, "{}@{}", entry.rail, format_rate(rate))?,
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn entries_by_hand() {
        let text = "1@50%+0-3.2@none+2.2@25Gbit/s";
        let adapters = Adapters::parse(text, 8, 3).unwrap();
        assert_eq!(adapters.to_string(), "1@50%+0-3.2@none+2.2@3.125GB/s");
        assert_eq!(Adapters::parse(&adapters.to_string(), 8, 3).unwrap(), adapters);
        let rates = |host| [0, 1, 2].map(|rail| adapters.rate(host, rail, 8e9));
        assert_eq!(rates(0), [8e9, 4e9, 0.0]);
        assert_eq!(rates(2), [8e9, 4e9, 25e9 / 8.0], "the last entry counts");
        assert_eq!(rates(4), [8e9, 4e9, 8e9]);
        assert_eq!(adapters.segments(3), [(0, 0b011), (2, 0b111), (3, 0b011), (4, 0b111)]);
        assert!(Adapters::parse("1@50%", 8, 3).unwrap().segments(3).is_empty());
    }

    #[test]
    fn bad_entries() {
        for (text, expected) in [
            ("", "ADAPTER@SPEED"),
            ("1", "ADAPTER@SPEED"),
            ("x@50%", "ADAPTER@SPEED"),
            ("-1@50%", "ADAPTER@SPEED"),
            ("1@50%+", "ADAPTER@SPEED"),
            ("3@50%", "adapter 3 of hosts with 3; 0 to 2 are expected"),
            ("8.0@none", "hosts of 0 to 7"),
            ("3-2.0@none", "hosts of 0 to 7"),
            ("0@0%", "above 0%"),
            ("0@101%", "at most 100%"),
            ("0@nan%", "at most 100%"),
            ("0@fast", "fast"),
        ] {
            let error = Adapters::parse(text, 8, 3).unwrap_err();
            assert!(error.contains(expected) && !error.contains('\n'), "{text}: {error}");
        }
        assert!(Adapters::parse(&["0@50%"; 257].join("+"), 8, 3).unwrap_err().contains("at most 256"));
    }
}

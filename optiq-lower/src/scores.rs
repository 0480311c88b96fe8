//! Which algorithm serves which exchanges, where a user wants it otherwise than the cost model says.
//!
//! A score map has one rule for each range of sizes and numbers of hosts: `0-64KiB=mpi,64KiB-inf@2-512=multipath`. The
//! size is that of the largest demand between two hosts, the number of hosts that of all that send or receive. The
//! first rule that fits counts; where none does, the cost model decides. The form follows UCC's `UCC_TL_*_TUNE`.

use crate::choices::Algorithm;
use optiq_net::units::parse_bytes;
use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

/// One line of the map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// Of the largest demand.
    pub bytes: RangeInclusive<u64>,
    /// Hosts that send or receive.
    pub hosts: RangeInclusive<u64>,
    /// What serves these; [`Algorithm::Auto`] leaves it to the cost model.
    pub algorithm: Algorithm,
}

/// Rules in order of precedence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scores(pub Vec<Rule>);

impl Scores {
    /// What serves an exchange; [`Algorithm::Auto`] if no rule fits.
    pub fn algorithm(&self, largest_bytes: u64, hosts: u64) -> Algorithm {
        let fits = |r: &&Rule| r.bytes.contains(&largest_bytes) && r.hosts.contains(&hosts);
        self.0.iter().find(fits).map_or(Algorithm::Auto, |r| r.algorithm)
    }

    /// Whether any rule asks for planned paths, so that every exchange needs a look.
    pub fn force(&self) -> bool {
        self.0.iter().any(|r| r.algorithm == Algorithm::Multipath)
    }
}

/// `LOW-HIGH`, `inf` for no limit.
fn range(text: &str, number: impl Fn(&str) -> Option<u64>) -> Option<RangeInclusive<u64>> {
    let (low, high) = text.split_once('-')?;
    let low = number(low.trim())?;
    let high = if high.trim() == "inf" { u64::MAX } else { number(high.trim())? };
    (low <= high).then_some(low..=high)
}

impl FromStr for Scores {
    /// The rule that cannot be read.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rule = |text: &str| {
            let (ranges, algorithm) = text.split_once('=')?;
            let (bytes, hosts) = ranges.split_once('@').unwrap_or((ranges, "0-inf"));
            let algorithm = algorithm.trim().parse().ok()?;
            let bytes = range(bytes, |n| parse_bytes(n).ok())?;
            Some(Rule { bytes, hosts: range(hosts, |n| n.parse().ok())?, algorithm })
        };
        let rules = text.split(',').map(str::trim).filter(|r| !r.is_empty());
        rules.map(|r| rule(r).ok_or_else(|| r.to_string())).collect::<Result<_, _>>().map(Scores)
    }
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = |n: &u64| if *n == u64::MAX { "inf".to_string() } else { n.to_string() };
        let Rule { bytes, hosts, algorithm } = self;
        write!(f, "{}-{}@{}-{}={algorithm}", bytes.start(), end(bytes.end()), hosts.start(), end(hosts.end()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_rule_that_fits_counts() {
        let scores: Scores = "0-64KiB=mpi, 64KiB-inf@2-8=multipath ,1MiB-inf=mpi".parse().unwrap();
        let served = |bytes, hosts| scores.algorithm(bytes, hosts);
        assert_eq!(served(65_536, 4), Algorithm::Mpi, "ranges include their ends");
        assert_eq!(served(65_537, 8), Algorithm::Multipath);
        assert_eq!(served(65_537, 9), Algorithm::Auto);
        assert_eq!(served(1 << 20, 9), Algorithm::Mpi);
        assert!(scores.force());
        assert_eq!(scores.0[1].to_string(), "65536-inf@2-8=multipath");
        assert_eq!(scores.0[1].to_string().parse::<Scores>().unwrap().0[0], scores.0[1]);
        assert_eq!("".parse::<Scores>().unwrap(), Scores::default());
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        for bad in ["64KiB=mpi", "0-x=mpi", "5-4=mpi", "0-inf@2=mpi", "0-inf=fast", "0-inf"] {
            assert_eq!(format!("0-1=mpi,{bad}").parse::<Scores>().unwrap_err(), bad);
        }
    }
}

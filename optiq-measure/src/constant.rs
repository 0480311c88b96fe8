//! Constants that were tuned, with what they rest on.
//!
//! A number that was found by trying must say how: in which unit it is, which command measured it, when, and on which cases.
//! Cases are named as in `data/cases.toml`, which divides them into training cases, on which constants may be tuned, and
//! held-out cases, on which they are judged. `optiq info --constants` prints all of them.

use std::fmt;

/// A tuned constant. A crate lists its own in a `const` slice, so that they can be shown together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Constant {
    /// What it is called in messages and tables; lower case, words joined by `_`, the crate first: `transport.in_flight_part`.
    pub name: &'static str,
    /// Its value, in `unit`.
    pub value: f64,
    /// Its unit; `1` for a ratio or a count.
    pub unit: &'static str,
    /// Where it comes from.
    pub provenance: Provenance,
    /// What it does, and what is worse with a smaller or a larger one; one sentence.
    pub meaning: &'static str,
}

/// Where a constant comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// Tried, on training cases.
    Measured {
        /// The command that shows it again.
        command: &'static str,
        /// When, as `YYYY-MM-DD`.
        date: &'static str,
        /// The training cases; a group of `data/cases.toml`.
        cases: &'static str,
    },
    /// It follows from something else.
    Derived {
        /// From what, and how.
        from: &'static str,
    },
    /// Published by others.
    Published {
        /// The paper, standard or manual, with section.
        source: &'static str,
    },
    /// Neither: a choice that was not measured, and should be.
    Chosen {
        /// Why this value.
        reason: &'static str,
    },
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Provenance::Measured { command, date, cases } => write!(f, "measured {date} on {cases} by `{command}`"),
            Provenance::Derived { from } => write!(f, "derived: {from}"),
            Provenance::Published { source } => write!(f, "published: {source}"),
            Provenance::Chosen { reason } => write!(f, "chosen, not measured: {reason}"),
        }
    }
}

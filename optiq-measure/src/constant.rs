//! Constants that were tuned, with what they rest on.
//!
//! A number that was found by trying must say how: in which unit it is, which command measured it, when, and on which cases.
//! Cases are named as in `data/cases.toml`, which divides them into training cases, on which constants may be tuned, and
//! held-out cases, on which they are judged. `optiq info --constants` prints all of them.

use std::fmt;

/// A tuned constant, as it is shown. A crate defines its own with [`crate::constants!`].
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

/// Defines tuned constants for the code, each with its record in a slice of [`Constant`]: a value, its unit and its meaning
/// are written once. The doc comment of a constant is its [`Constant::meaning`].
///
/// ```
/// use optiq_measure::constant::Provenance::Chosen;
///
/// optiq_measure::constants! {
///     /// All of them.
///     pub const CONSTANTS;
///
///     /// Times that something is tried; more take longer.
///     pub const TRIALS: usize = 3, "trials", "example.trials",
///         Chosen { reason: "not swept" };
/// }
///
/// assert_eq!((TRIALS, CONSTANTS[0].value), (3, 3.0));
/// assert_eq!(CONSTANTS[0].meaning, "Times that something is tried; more take longer.");
/// ```
#[macro_export]
macro_rules! constants {
    (
        $(#[doc = $all_doc:literal])+
        $all_visibility:vis const $all:ident;
        $(
            $(#[doc = $doc:literal])+
            $visibility:vis const $constant:ident: $type:ty = $value:expr, $unit:literal, $name:literal, $provenance:expr;
        )+
    ) => {
        $(
            $(#[doc = $doc])+
            $visibility const $constant: $type = $value;
        )+

        $(#[doc = $all_doc])+
        #[allow(clippy::unnecessary_cast, reason = "some are of this type already")]
        $all_visibility const $all: &[$crate::constant::Constant] = &[$(
            $crate::constant::Constant {
                name: $name,
                value: $constant as f64,
                unit: $unit,
                provenance: $provenance,
                meaning: concat!($($doc),+).trim_ascii_start(),
            },
        )+];
    };
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

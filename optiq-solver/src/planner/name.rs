//! The names of the planners: the one place where they stand.

use crate::error::PlanError;
use std::fmt;
use std::str::FromStr;

/// A planner, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PlannerName {
    /// `direct`: the fabric's own routes.
    Direct,
    /// `heu1`: heuristic 1 of the thesis.
    Heuristic1,
    /// `heu2`: heuristic 2 of the thesis.
    Heuristic2,
    /// `lp`: the linear program over the candidates.
    LinearProgram,
    /// `optimal`: within a proved gap of every routing.
    Optimal,
}

/// Every planner with its name, whether or not this build has it.
const TABLE: [(PlannerName, &str); 5] = [
    (PlannerName::Direct, "direct"),
    (PlannerName::Heuristic1, "heu1"),
    (PlannerName::Heuristic2, "heu2"),
    (PlannerName::LinearProgram, "lp"),
    (PlannerName::Optimal, "optimal"),
];

impl PlannerName {
    /// All planners, whether or not this build has them.
    pub const ALL: [PlannerName; 5] = [TABLE[0].0, TABLE[1].0, TABLE[2].0, TABLE[3].0, TABLE[4].0];

    /// The name, as options and plan files have it.
    pub const fn as_str(self) -> &'static str {
        // The table is in the order of the variants, which a test checks.
        TABLE[self as usize].1
    }
}

/// The names of all planners, in the order of [`PlannerName::ALL`].
pub const NAMES: [&str; 5] = [TABLE[0].1, TABLE[1].1, TABLE[2].1, TABLE[3].1, TABLE[4].1];

impl fmt::Display for PlannerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for PlannerName {
    type Err = PlanError;

    fn from_str(name: &str) -> Result<Self, PlanError> {
        let found = TABLE.iter().find(|entry| entry.1 == name).map(|entry| entry.0);
        found.ok_or_else(|| PlanError::UnknownPlanner { name: name.to_owned(), known: NAMES.join(", ") })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for (name, text) in PlannerName::ALL.into_iter().zip(NAMES) {
            assert_eq!((name.to_string().as_str(), text.parse::<PlannerName>().unwrap()), (text, name));
        }
        let error = "best".parse::<PlannerName>().unwrap_err().to_string();
        assert_eq!(error, "there is no planner \"best\"; the planners are direct, heu1, heu2, lp, optimal");
    }
}

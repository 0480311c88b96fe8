//! Which MPI calls carry chunks where the user leaves that to OPTIQ: a rule for each MPI library, from measurements.
//!
//! `optiq info` prints the rules; docs/executor.md has what was measured.

use crate::choices::TransportChoice;

/// What is used with an MPI library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransportRule {
    /// A piece of what `MPI_Get_library_version` says; empty for any other library.
    pub library: &'static str,
    /// What is used.
    pub choice: TransportChoice,
    /// Why.
    pub reason: &'static str,
}

/// In order; the first that fits counts.
pub const TRANSPORT_RULES: [TransportRule; 3] = [
    TransportRule {
        library: "Open MPI",
        choice: TransportChoice::TwoSided,
        reason: "over TCP windows need osc=pt2pt, whose flush blocks: 64 % of two-sided in the lab",
    },
    TransportRule {
        library: "MPICH",
        choice: TransportChoice::TwoSided,
        reason: "MPI_Win_flush over UCX spins until the target answers: 33 to 42 % of two-sided in the lab",
    },
    TransportRule {
        library: "",
        choice: TransportChoice::TwoSided,
        reason: "nothing was measured with this library, and windows cannot be had everywhere",
    },
];

/// The rule for a library that describes itself so.
pub fn transport_rule(library_version: &str) -> &'static TransportRule {
    let last = &TRANSPORT_RULES[TRANSPORT_RULES.len() - 1];
    TRANSPORT_RULES.iter().find(|r| library_version.contains(r.library)).unwrap_or(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_told_by_their_own_words() {
        let library = |text| transport_rule(text).library;
        assert_eq!(library("Open MPI v4.1.4, package: Debian OpenMPI"), "Open MPI");
        assert_eq!(library("MPICH Version:\t4.0.2"), "MPICH");
        assert_eq!(library("Some MPI 1.0"), "");
    }
}

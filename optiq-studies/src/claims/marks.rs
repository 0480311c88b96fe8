//! What a reader of a verdict must know besides: how a claim's run differs from what was published, said in the list of results itself.

use std::fmt;

/// Something about the run behind a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Bytes, packets or messages are fewer or larger than published; the page has by how much, and what that changes.
    Scaled,
    /// Not all published cases or samples are run; the page has which.
    Sampled,
    /// The claim is this project's own, not a published one.
    OwnClaim,
    /// The program ensures what is judged, in some rows at least: a planner goes on until it holds.
    ByConstruction,
    /// Judged with this project's candidate paths; rows with the thesis's stand beside.
    OwnCandidates,
    /// The simulated Blue Gene/Q's throughputs are too far from published ones to be compared as numbers (`mira.md`).
    DirectionOnly,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Mark::Scaled => "scaled",
            Mark::Sampled => "sampled",
            Mark::OwnClaim => "own claim",
            Mark::ByConstruction => "holds by construction",
            Mark::OwnCandidates => "own candidates",
            Mark::DirectionOnly => "direction only",
        })
    }
}

/// The marks of claims; others have none. Claims of documents 000 and 003 with fewer samples or messages than published are among them.
const MARKS: &[(&str, &[Mark])] = &[
    ("O2", &[Mark::OwnCandidates]),
    ("O3", &[Mark::OwnCandidates]),
    ("O4", &[Mark::OwnCandidates]),
    ("O6", &[Mark::Scaled, Mark::Sampled]),
    ("O7", &[Mark::Scaled]),
    ("O8", &[Mark::Scaled]),
    ("O9", &[Mark::Scaled]),
    ("O10", &[Mark::Scaled]),
    ("O11", &[Mark::Scaled]),
    ("O14", &[Mark::Scaled]),
    ("O16", &[Mark::Scaled]),
    ("O17", &[Mark::ByConstruction]),
    ("O18", &[Mark::Scaled]),
    ("O19", &[Mark::Scaled]),
    ("91", &[Mark::OwnClaim, Mark::ByConstruction]),
    ("B9", &[Mark::Sampled]),
    ("B10", &[Mark::Scaled, Mark::Sampled]),
    ("B11", &[Mark::Sampled]),
    ("B12", &[Mark::Scaled, Mark::Sampled]),
    ("B13", &[Mark::Sampled]),
    ("B14", &[Mark::Sampled]),
    ("B15", &[Mark::Sampled]),
    ("B16", &[Mark::Scaled, Mark::Sampled]),
    ("B17", &[Mark::Scaled, Mark::Sampled]),
    ("B18", &[Mark::Sampled]),
    ("K2", &[Mark::Scaled]),
    ("K3", &[Mark::Scaled]),
    ("K4", &[Mark::Scaled]),
    ("K5", &[Mark::Scaled]),
];

/// The claims whose verdicts rest on throughputs of the simulated Blue Gene/Q.
const ON_BLUE_GENE: [&str; 13] = ["O5", "O6", "O7", "O8", "O9", "O10", "O11", "O12", "O13", "O14", "O16", "O18", "O19"];

/// The marks of a claim. `direction_only` says that the simulated Blue Gene/Q's throughputs are too far off to be compared.
pub fn of(id: &str, direction_only: bool) -> Vec<Mark> {
    let mut marks = MARKS.iter().find(|(claim, _)| *claim == id).map_or(Vec::new(), |(_, marks)| marks.to_vec());
    if direction_only && ON_BLUE_GENE.contains(&id) {
        marks.push(Mark::DirectionOnly);
    }
    marks
}

/// What the marks mean, for the foot of the list.
pub const LEGEND: &str = "*Scaled*: fewer bytes or messages, or larger packets, than published; the page has by how much, and what that changes. \
     *Sampled*: not all published cases or samples. *Own claim*: this project's, not a published one. *Holds by construction*: the program \
     goes on until it holds. *Own candidates*: judged over this project's candidate paths, with the thesis's beside.";

/// The same of [`Mark::DirectionOnly`], where a claim has it.
pub const DIRECTION_LEGEND: &str = "*Direction only*: throughputs of the simulated Blue Gene/Q are more than 25 % off the published ones of tables \
     that it was not fitted on ([mira.md](mira.md)), so that orders and ratios count, and no number.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::list::CLAIMS;

    #[test]
    fn marks_are_of_claims() {
        let once = |i: usize| MARKS[..i].iter().all(|(id, _)| *id != MARKS[i].0);
        let known = |id: &str| CLAIMS.iter().any(|claim| claim.id == id);
        assert!((0..MARKS.len()).all(|i| once(i) && known(MARKS[i].0)) && ON_BLUE_GENE.into_iter().all(known));
        assert_eq!(of("O6", true), [Mark::Scaled, Mark::Sampled, Mark::DirectionOnly]);
        assert_eq!(of("O6", false), [Mark::Scaled, Mark::Sampled]);
        assert!(of("O1", true).is_empty() && of("no claim", true).is_empty());
        // Every mark is explained.
        for mark in MARKS.iter().flat_map(|(_, marks)| marks.iter()).chain([&Mark::DirectionOnly]) {
            let word = mark.to_string();
            assert!(format!("{LEGEND} {DIRECTION_LEGEND}").to_lowercase().contains(&format!("*{word}*")), "{word}");
        }
    }
}

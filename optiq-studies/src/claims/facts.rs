//! Tables whose rows each state one fact of one case.

use crate::findings::{Cell, Column, Findings, Row, Verdict, column};

/// What the cells of [`row`] are.
pub(super) const COLUMNS: &[Column] = &[
    column("case", "case", 0),
    column("what", "what", 0),
    column("found", "found", 3),
    column("unit", "unit", 0),
    column("published or asked", "asked", 0),
];

/// A fact with its unit, beside what was published or is asked for.
pub(super) fn row(case: &str, what: &str, (found, unit): (f64, &str), asked: &str, verdict: Verdict) -> Row {
    let asked = if asked.is_empty() { Cell::Nothing } else { asked.into() };
    Row::new(vec![case.into(), what.into(), found.into(), unit.into(), asked], verdict)
}

/// A fact that is not judged.
pub(super) fn context(case: &str, what: &str, found: (f64, &str)) -> Row {
    row(case, what, found, "", Verdict::NotJudged)
}

/// What is found where something is missing on this machine: nothing, and why.
pub(super) fn left_out(why: String) -> Findings {
    Findings::new(COLUMNS, Vec::new(), vec![format!("Not run: {why}.")])
}

//! The lab's half of O21's priorities: real exchanges of two priority classes on 16 emulated hosts, whose ranks forward.

use super::facts::{context, row};
use super::setting::Setting;
use crate::failure::Failure;
use crate::findings::{Row, Verdict};
use crate::published::PATTERNS;
use crate::quartiles::MedianAndQuartiles;
use crate::real_runs::RealRuns;
use crate::workspace;
use serde::Deserialize;

/// The lab, with 16 hosts.
const TOPOLOGY: &str = "torus:4x4";
const RATE: &str = "100Mbit/s";
/// Bytes for each pair of the bulk.
const BULK_MESSAGE: &str = "4MB";
/// The urgent exchange: half as many random pairs as there are hosts, and what each sends.
const URGENT: &str = "pattern:random,count=8,seed=1";
const MESSAGES: [&str; 2] = ["64KiB", "1MiB"];
/// Repetitions of each arrangement, in turn.
const REPETITIONS: &str = "9";
/// The longest that one run may take, in seconds.
const LIMIT_SECONDS: &str = "120";
/// The bulk may take so much longer with classes than without, as in the simulator.
const BULK: f64 = 1.1;

/// What `optiq bench classes --json` prints, as far as it is shown.
#[derive(Deserialize)]
struct Printed {
    arrangements: Vec<PrintedArrangement>,
    bulk_served_by: String,
    urgent_served_by: String,
}

#[derive(Deserialize)]
struct PrintedArrangement {
    arrangement: String,
    bulk: Option<MedianAndQuartiles>,
    urgent: Option<MedianAndQuartiles>,
}

/// The median in milliseconds.
fn milliseconds(found: MedianAndQuartiles) -> f64 {
    found.median_seconds * 1e3
}

/// The quartiles, likewise.
fn between(found: MedianAndQuartiles) -> String {
    format!("{:.1} to {:.1}", found.first_seconds * 1e3, found.third_seconds * 1e3)
}

/// Rows and a note of the lab; where there is none, a row that says why.
///
/// # Errors
/// [`Failure::Work`] if a program in the lab fails.
pub(super) fn in_lab(setting: &Setting) -> Result<(Vec<Row>, Vec<String>), Failure> {
    let name = format!("classes-{}", std::process::id());
    let found = RealRuns::in_lab_if_any(&name, TOPOLOGY, RATE, |runs| all_cases(setting, runs, &name))?;
    Ok(found.unwrap_or_else(|why| {
        let verdict = Verdict::NotShown(format!("priorities in the lab: not run: {why}"));
        (vec![row("in the lab", "not run", (0.0, "ms"), "", verdict)], Vec::new())
    }))
}

fn all_cases(setting: &Setting, runs: &RealRuns, name: &str) -> Result<(Vec<Row>, Vec<String>), Failure> {
    let (mut rows, mut quartiles) = (Vec::new(), Vec::new());
    for pattern in PATTERNS {
        for message in MESSAGES {
            let case = format!("{message} of class 1 beside {pattern}, in the lab");
            setting.progress.now(case.clone());
            let printed = measure(runs, name, pattern, message)?;
            rows.extend(printed.rows(&case)?);
            quartiles.push(printed.quartiles(&case)?);
        }
    }
    let note = format!(
        "In the lab: {TOPOLOGY}, 16 hosts with links of {RATE} (`optiq lab`: namespaces, TCP, Open MPI), one rank a host, by `optiq bench classes`. Two exchanges of one \
         communicator: a pattern with {BULK_MESSAGE} for each pair, and, started 20 ms later, random pairs ({URGENT}). Medians of {REPETITIONS} repetitions, the arrangements \
         in turn in one job; an exchange counts from its start to its end at the last rank. Each exchange is planned by itself. Without classes, started \
         exchanges of a session move one after the other; MPI moves both at one time (`MPI_Ialltoallv`). The next notes have first and third quartiles, in ms."
    );
    Ok((rows, std::iter::once(note).chain(quartiles).collect()))
}

/// One run of `optiq bench classes` in the lab.
fn measure(runs: &RealRuns, name: &str, pattern: &str, message: &str) -> Result<Printed, Failure> {
    let mut command = runs.optiq(&["lab", "run", "--name", name, "--timeout", LIMIT_SECONDS, "--"]);
    command.arg(runs.program()).args(["bench", "classes", "--json", "--bulk", &format!("pattern:{pattern}")]);
    command.args(["--bulk-message", BULK_MESSAGE, "--urgent", URGENT, "--message", message]);
    workspace::json(command.args(["--repetitions", REPETITIONS]))
}

impl Printed {
    /// The bulk or the urgent exchange in an arrangement.
    fn of(
        &self,
        arrangement: &str,
        which: impl Fn(&PrintedArrangement) -> Option<MedianAndQuartiles>,
    ) -> Result<MedianAndQuartiles, Failure> {
        let missing = || Failure::Work(format!("optiq bench classes printed no time of {arrangement}"));
        self.arrangements.iter().find(|a| a.arrangement == arrangement).and_then(which).ok_or_else(missing)
    }

    fn bulk(&self, arrangement: &str) -> Result<MedianAndQuartiles, Failure> {
        self.of(arrangement, |a| a.bulk)
    }

    fn urgent(&self, arrangement: &str) -> Result<MedianAndQuartiles, Failure> {
        self.of(arrangement, |a| a.urgent)
    }

    fn rows(&self, case: &str) -> Result<Vec<Row>, Failure> {
        let (before, after) =
            (milliseconds(self.urgent("without-classes")?), milliseconds(self.urgent("with-classes")?));
        let (bulk_before, bulk_after) =
            (milliseconds(self.bulk("without-classes")?), milliseconds(self.bulk("with-classes")?));
        let ms = |value: f64| (value, "ms");
        Ok(vec![
            context(case, "urgent alone", ms(milliseconds(self.urgent("urgent-alone")?))),
            context(case, "urgent beside it, MPI", ms(milliseconds(self.urgent("mpi")?))),
            context(case, "urgent beside it, without classes", ms(before)),
            row(case, "urgent beside it, with classes", ms(after), "less than without", {
                Verdict::of(after < before, || format!("{case}: {after:.1} ms with classes, {before:.1} ms without"))
            }),
            context(case, "bulk alone", ms(milliseconds(self.bulk("bulk-alone")?))),
            context(case, "bulk, MPI", ms(milliseconds(self.bulk("mpi")?))),
            context(case, "bulk, without classes", ms(bulk_before)),
            row(case, "bulk, with classes", ms(bulk_after), "at most 10 % more than without", {
                Verdict::of(bulk_after <= bulk_before * BULK, || {
                    format!("{case}: the bulk takes {bulk_after:.1} ms with classes, {bulk_before:.1} ms without")
                })
            }),
        ])
    }

    fn quartiles(&self, case: &str) -> Result<String, Failure> {
        let [alone, mpi, without, with] =
            ["urgent-alone", "mpi", "without-classes", "with-classes"].map(|a| self.urgent(a));
        let [bulk_alone, bulk_mpi, bulk_without, bulk_with] =
            ["bulk-alone", "mpi", "without-classes", "with-classes"].map(|a| self.bulk(a));
        Ok(format!(
            "{case}: urgent {} alone, {} by MPI, {} without classes, {} with them; bulk {}, {}, {}, {}. OPTIQ sends them on {} and {}.",
            between(alone?),
            between(mpi?),
            between(without?),
            between(with?),
            between(bulk_alone?),
            between(bulk_mpi?),
            between(bulk_without?),
            between(bulk_with?),
            self.urgent_served_by,
            self.bulk_served_by,
        ))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// A document in which both exchanges take as many milliseconds as is said, by arrangement.
    fn printed(bulk: [f64; 4], urgent: [f64; 4]) -> Printed {
        let quartiles = |ms: f64| {
            let seconds = ms / 1e3;
            format!(
                "{{\"first_seconds\": {}, \"median_seconds\": {seconds}, \"third_seconds\": {}}}",
                seconds / 2.0,
                seconds * 2.0
            )
        };
        let one = |name: &str, bulk: Option<f64>, urgent: Option<f64>| {
            let [bulk, urgent] = [bulk, urgent].map(|ms| ms.map_or("null".into(), quartiles));
            format!("{{\"arrangement\": \"{name}\", \"bulk\": {bulk}, \"urgent\": {urgent}}}")
        };
        let list = [
            one("bulk-alone", Some(bulk[0]), None),
            one("urgent-alone", None, Some(urgent[0])),
            one("mpi", Some(bulk[1]), Some(urgent[1])),
            one("without-classes", Some(bulk[2]), Some(urgent[2])),
            one("with-classes", Some(bulk[3]), Some(urgent[3])),
        ];
        let list = list.join(", ");
        let text = format!(
            "{{\"arrangements\": [{list}], \"bulk_served_by\": \"8 paths\", \"urgent_served_by\": \"1 path\"}}"
        );
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn rows_are_judged_like_those_of_the_simulator() {
        let verdicts = |bulk: [f64; 4], urgent: [f64; 4]| {
            let rows = printed(bulk, urgent).rows("a case").unwrap();
            assert_eq!(rows.len(), 8);
            [3, 7].map(|i: usize| rows[i].verdict.clone())
        };
        assert_eq!(verdicts([300.0, 600.0, 330.0, 360.0], [5.0, 70.0, 310.0, 40.0]), [Verdict::Shown, Verdict::Shown]);
        let [late, slow] = verdicts([300.0, 600.0, 330.0, 364.0], [5.0, 70.0, 40.0, 40.0]);
        assert_eq!(late, Verdict::NotShown("a case: 40.0 ms with classes, 40.0 ms without".into()));
        let text = "a case: the bulk takes 364.0 ms with classes, 330.0 ms without";
        assert_eq!(slow, Verdict::NotShown(text.into()));
    }

    #[test]
    fn the_note_has_all_quartiles() {
        let text = printed([300.0, 600.0, 330.0, 360.0], [5.0, 70.0, 310.0, 40.0]).quartiles("a case").unwrap();
        let expected = "a case: urgent 2.5 to 10.0 alone, 35.0 to 140.0 by MPI, 155.0 to 620.0 without classes, 20.0 to 80.0 with them; bulk 150.0 to 600.0, \
                        300.0 to 1200.0, 165.0 to 660.0, 180.0 to 720.0. OPTIQ sends them on 1 path and 8 paths.";
        assert_eq!(text, expected);
    }
}

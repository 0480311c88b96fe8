//! The lab's half of O19: ranks of 16 emulated hosts really gather what they have at two I/O hosts.

use super::setting::Setting;
use crate::failure::Failure;
use crate::findings::{Cell, Row, Verdict};
use crate::quartiles::median_and_quartiles;
use crate::real_runs::RealRuns;
use crate::workspace;
use serde::Deserialize;

const TOPOLOGY: &str = "torus:4x4,io=0+10";
const RATE: &str = "100Mbit/s";
/// Ranks of a host, and what makes a host have as much with one rank as with the thesis's eight.
const RANKS: [(&str, &[&str]); 2] = [("1", &["--least", "5600KB", "--most", "6400KB"]), ("8", &[])];
/// Of each method, in turn.
const REPETITIONS: &str = "7";
/// The longest that one run may take, in seconds.
const LIMIT_SECONDS: &str = "300";

/// Names that `optiq bench io` has for gathering alone, and for gathering and writing.
const MPI: [&str; 2] = ["mpi_alltoallv_default_only", "mpi_alltoallv_default_and_write"];
const OPTIQ: [&str; 2] = ["optiq_aggregation_only", "optiq_file_write_at_all"];

/// What `optiq bench io --json` prints, as far as it is shown.
#[derive(Deserialize)]
struct Printed {
    hosts: u64,
    ranks: u64,
    total_bytes: u64,
    sides: Vec<PrintedSide>,
}

#[derive(Deserialize)]
struct PrintedSide {
    name: String,
    seconds: Vec<f64>,
    link_bound_seconds: Option<f64>,
}

/// Rows in the columns of the claim, and a note; the inner error says why there is no lab. MPI must take at least `least` times as long.
///
/// # Errors
/// [`Failure::Work`] if a program in the lab fails.
pub(super) fn in_lab(setting: &Setting, least: f64) -> Result<Result<(Vec<Row>, String), String>, Failure> {
    let name = format!("aggregation-{}", std::process::id());
    let measured = RealRuns::in_lab_if_any(&name, TOPOLOGY, RATE, |runs| {
        let one = |(ranks, arguments)| {
            setting.progress.now(format!("HACC I/O in the lab, {ranks} ranks a host"));
            measure(runs, &name, ranks, arguments)
        };
        RANKS.into_iter().map(one).collect::<Result<Vec<_>, _>>()
    })?;
    let printed = match measured {
        Ok(printed) => printed,
        Err(why) => return Ok(Err(why)),
    };
    let mut rows = Vec::new();
    for one in &printed {
        rows.extend(one.rows(least)?);
    }
    let quartiles = printed.iter().map(Printed::quartiles).collect::<Result<Vec<_>, _>>()?;
    let note = format!(
        "In the lab: {TOPOLOGY}, 16 hosts with links of {RATE} (`optiq lab`: namespaces, TCP, Open MPI), by `optiq bench io`: some 96 MB in all, from one rank \
         a host and from the thesis's eight. Judged is gathering alone, as in the simulator, with the assignment and the method that OPTIQ's file access \
         takes; `and written` has files too. MPI is `MPI_Alltoallv` as Open MPI comes, to the default I/O hosts; whatever its algorithm, it cannot be faster than the link \
         bound of the fabric's routes. Medians of {REPETITIONS} repetitions, \
         in turn in one job; seconds, quartiles in brackets: {}.",
        quartiles.join("; ")
    );
    Ok(Ok((rows, note)))
}

/// One run of `optiq bench io` in the lab.
fn measure(runs: &RealRuns, name: &str, ranks: &str, arguments: &[&str]) -> Result<Printed, Failure> {
    let words = ["lab", "run", "--name", name, "--timeout", LIMIT_SECONDS, "--ranks-per-host", ranks, "--"];
    let mut command = runs.optiq(&words);
    command.arg(runs.program()).args(["bench", "io", "--json", "--repetitions", REPETITIONS]).args(arguments);
    workspace::json(&mut command)
}

impl Printed {
    fn side(&self, name: &str) -> Result<&PrintedSide, Failure> {
        let missing = || Failure::Work(format!("optiq bench io printed no times of {name}"));
        self.sides.iter().find(|side| side.name == name).ok_or_else(missing)
    }

    /// A row of MPI and one of OPTIQ, for gathering alone and with files.
    fn rows(&self, least: f64) -> Result<Vec<Row>, Failure> {
        let mut rows = Vec::new();
        for (written, (mpi, optiq)) in [false, true].into_iter().zip(MPI.into_iter().zip(OPTIQ)) {
            let (mpi, optiq) = (self.side(mpi)?, self.side(optiq)?);
            let what = if written { "in the lab, and written" } else { "in the lab" };
            let times = mpi.median() / optiq.median();
            let verdict = match written {
                true => Verdict::NotJudged,
                false => Verdict::of(times >= least, || {
                    format!("{} ranks on {} hosts of the lab: {times:.2} times as fast as MPI", self.ranks, self.hosts)
                }),
            };
            rows.push(self.row(&format!("default, {what}"), "MPI_Alltoallv", (mpi, 1.0), Verdict::NotJudged));
            rows.push(self.row(&format!("balanced, {what}"), "OPTIQ", (optiq, times), verdict));
        }
        Ok(rows)
    }

    fn row(&self, assignment: &str, method: &str, (side, times): (&PrintedSide, f64), verdict: Verdict) -> Row {
        let seconds = side.median();
        let share = side.link_bound_seconds.map(|bound| bound / seconds);
        let cells = vec![
            self.hosts.into(),
            self.ranks.into(),
            assignment.into(),
            method.into(),
            Cell::Nothing,
            (self.total_bytes as f64 / seconds / 1e9).into(),
            times.into(),
            Cell::Nothing,
            Cell::Nothing,
            side.link_bound_seconds.map(|bound| bound * 1e3).into(),
            (seconds * 1e3).into(),
            share.map(|share| share * 100.0).into(),
            share.map(|share| times / share).into(),
        ];
        Row::new(cells, verdict)
    }

    fn quartiles(&self) -> Result<String, Failure> {
        let one = |name: &str| {
            let (median, quartiles) = median_and_quartiles(&self.side(name)?.seconds);
            let (first, third) = (quartiles.first_quartile_seconds, quartiles.third_quartile_seconds);
            Ok::<_, Failure>(format!("{median:.3} ({first:.3} to {third:.3})"))
        };
        let fastest = self.side(MPI[0])?.link_bound_seconds;
        let fastest = fastest.map(|bound| format!(" (with no algorithm below {bound:.3})")).unwrap_or_default();
        Ok(format!("{} ranks: MPI {}{fastest}, OPTIQ {}", self.ranks, one(MPI[0])?, one(OPTIQ[0])?))
    }
}

impl PrintedSide {
    fn median(&self) -> f64 {
        median_and_quartiles(&self.seconds).0
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn gathering_is_judged_and_writing_is_shown() {
        let side = |name: &str, seconds: f64| {
            format!("{{\"name\": \"{name}\", \"seconds\": [{seconds}], \"link_bound_seconds\": 0.8}}")
        };
        let sides =
            [(MPI[0], 1.7), (OPTIQ[0], 1.0), (MPI[1], 2.0), (OPTIQ[1], 1.6)].map(|(n, s)| side(n, s)).join(", ");
        let text = format!("{{\"hosts\": 16, \"ranks\": 128, \"total_bytes\": 96000000, \"sides\": [{sides}]}}");
        let printed: Printed = serde_json::from_str(&text).unwrap();
        let verdicts = |least| printed.rows(least).unwrap().into_iter().map(|row| row.verdict).collect::<Vec<_>>();
        let unjudged = Verdict::NotJudged;
        assert_eq!(verdicts(1.6), [unjudged.clone(), Verdict::Shown, unjudged.clone(), unjudged.clone()]);
        let missed = Verdict::NotShown("128 ranks on 16 hosts of the lab: 1.70 times as fast as MPI".into());
        assert_eq!(verdicts(1.8), [unjudged.clone(), missed, unjudged.clone(), unjudged]);
        assert_eq!(
            printed.quartiles().unwrap(),
            "128 ranks: MPI 1.700 (1.700 to 1.700) (with no algorithm below 0.800), OPTIQ 1.000 (1.000 to 1.000)"
        );
    }
}

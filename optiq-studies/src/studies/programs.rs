//! Whole programs under `optiq wrap` in labs of 16 hosts: NAS benchmarks, and programs from Debian that move data by `MPI_Alltoall` and
//! `MPI_Alltoallv`.
//!
//! In turn: without OPTIQ, with what OPTIQ decides by itself, the same with what an earlier run learned, and with its own paths
//! or timetables forced; and the first two where Open MPI only sends (`btl_tcp_flags send`, decision 088). The list of programs is `data/programs/programs.toml`, their inputs are beside it.

use super::direct::SENDS;
use super::lab::{self, RATE};
use super::program_runs::{ENOUGH_SECONDS, MOST_RUNS, Program, ProgramRun, Runner};
use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::selection::Selection;
use crate::workspace::{self, Workspace};
use optiq_measure::statistics::{geometric_mean, median};
use optiq_net::Network;
use optiq_view::table::seconds;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

const LIST: &str = include_str!("../../../data/programs/programs.toml");

/// Below this ratio of plain over wrapped time a program counts as slower, as issue 18 has it: what runs differ by is above 3 %.
const SLOWER: f64 = 0.97;

/// For `--cases`, topology and profile.
const NETWORKS: [(&str, &str, &str); 5] = [
    ("torus", "torus:4x4", "tuned"),
    ("star", "star:16", "tuned"),
    ("fattree", "fattree:k=4", "tuned"),
    ("torus-kernel", "torus:4x4", "kernel"),
    ("torus-shallow", "torus:4x4", "shallow"),
];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileForm {
    program: Vec<Program>,
    #[serde(default)]
    without: Vec<ProgramWithout>,
}

/// A program that calls neither function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProgramWithout {
    title: String,
    package: String,
    instead: String,
}

/// The runs of a program on a network, in the order in which they ran.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramRuns {
    /// As the list has it.
    pub program: Program,
    /// Without OPTIQ.
    pub plain: Vec<ProgramRun>,
    /// What OPTIQ decides by itself.
    pub wrapped: Vec<ProgramRun>,
    /// The same, with what an earlier run learned.
    pub learned: Vec<ProgramRun>,
    /// OPTIQ's own paths and timetables.
    pub forced: Vec<ProgramRun>,
    /// Without OPTIQ, where Open MPI only sends; in older documents there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sends: Vec<ProgramRun>,
    /// What OPTIQ decides by itself, likewise.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub wrapped_sends: Vec<ProgramRun>,
}

/// What was measured on a network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramNetwork {
    /// As `optiq lab up --topology` takes it.
    pub topology: String,
    /// As `optiq lab up --profile` takes it.
    pub profile: String,
    /// In the order of the list.
    pub programs: Vec<ProgramRuns>,
}

/// A program that could not be run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramNotRun {
    title: String,
    package: String,
    why: String,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProgramsContent {
    /// Of the links.
    pub rate: String,
    /// Of each way.
    pub repetitions: u32,
    /// Whether `optiq wrap` was in front of `optiq lab run`, and so started once; in older documents it was in front of the program, on
    /// every rank.
    #[serde(default)]
    pub wrapped_once: bool,
    /// What the plain runs of a short program take together, in seconds; zero in older documents, where all programs ran equally often, and where only
    /// OPTIQ was preloaded into the shell that starts a program.
    #[serde(default)]
    pub enough_seconds: f64,
    /// However short a program is.
    #[serde(default)]
    pub most_runs: u32,
    /// One lab after the other.
    pub networks: Vec<ProgramNetwork>,
    /// What is missing here.
    pub not_run: Vec<ProgramNotRun>,
    /// What was looked at in vain.
    pub without: Vec<ProgramWithout>,
}

fn list() -> Result<FileForm, Failure> {
    toml::from_str(LIST).map_err(|e| Failure::Work(format!("data/programs/programs.toml: {}", e.message())))
}

/// The names that `--cases` takes: of programs and of networks. All networks are taken if none is named, and all programs likewise.
///
/// # Errors
/// [`Failure::Work`] if the list is not of its form, which a test excludes.
pub fn case_names() -> Result<Vec<String>, Failure> {
    let networks = NETWORKS.iter().map(|(name, ..)| (*name).to_owned());
    Ok(list()?.program.into_iter().map(|program| program.name).chain(networks).collect())
}

/// Runs the selected programs on the selected networks.
///
/// # Errors
/// [`Failure::Work`] if a lab cannot be brought up. A program that fails is reported on the page.
pub fn run(workspace: &Workspace, repetitions: u32, selection: &Selection) -> Result<ProgramsContent, Failure> {
    let FileForm { program, without } = list()?;
    let programs = selection.of_kind(program, |program| program.name.clone());
    let networks = selection.of_kind(NETWORKS.to_vec(), |(name, ..)| (*name).into());
    let runner = Runner::new(workspace)?;
    let (mut present, mut not_run) = (Vec::new(), Vec::new());
    for program in programs {
        match runner.find(&program) {
            Ok(()) => present.push(program),
            Err(why) => not_run.push(ProgramNotRun { title: program.title, package: program.package, why }),
        }
    }
    let mut measured = Vec::new();
    for (_, topology, profile) in networks {
        let network = workspace::step(&format!("lab {topology}, {profile}"), || {
            let links = Network::from_spec(&format!("{topology},capacity={RATE}"))?;
            let mut runs = Vec::new();
            lab::in_lab(workspace, topology, profile, || {
                for program in present.iter().filter(|program| program.profiles || profile == "tuned") {
                    let [plain, wrapped, learned, forced, sends, wrapped_sends] =
                        workspace::step(&program.title, || runner.in_turn(program, &links, repetitions))?;
                    let program = program.clone();
                    runs.push(ProgramRuns { program, plain, wrapped, learned, forced, sends, wrapped_sends });
                }
                Ok(())
            })?;
            Ok(ProgramNetwork { topology: topology.into(), profile: profile.into(), programs: runs })
        })?;
        measured.push(network);
    }
    Ok(ProgramsContent {
        rate: RATE.into(),
        repetitions,
        wrapped_once: true,
        enough_seconds: ENOUGH_SECONDS,
        most_runs: MOST_RUNS,
        networks: measured,
        not_run,
        without,
    })
}

impl ProgramRuns {
    /// The settings of the first table.
    fn settings(&self) -> [&[ProgramRun]; 4] {
        [&self.plain, &self.wrapped, &self.learned, &self.forced]
    }

    /// Plain time over that of others; nothing unless all runs of both came to their end.
    fn ratio(&self, runs: &[ProgramRun]) -> Option<f64> {
        Some(whole(&self.plain)? / whole(runs)?)
    }

    /// Plain time over wrapped time, where Open MPI only sends in both.
    fn ratio_of_sends(&self) -> Option<f64> {
        Some(whole(&self.sends)? / whole(&self.wrapped_sends)?)
    }

    /// The shorter of the two plain times over the shorter of the two wrapped ones: each side with the better of both settings.
    fn ratio_of_best(&self) -> Option<f64> {
        let shorter = |a: &[ProgramRun], b: &[ProgramRun]| Some(whole(a)?.min(whole(b)?));
        Some(shorter(&self.plain, &self.sends)? / shorter(&self.wrapped, &self.wrapped_sends)?)
    }

    /// Plain time over what is left of it without the calls; nothing unless all plain runs came to their end.
    fn ratio_without_calls(&self) -> Option<f64> {
        let plain = whole(&self.plain)?;
        Some(plain / (plain - in_calls(&self.plain)?))
    }

    /// What the links need for the bytes of the calls of plain runs.
    fn link_bound(&self) -> Option<f64> {
        of(&self.plain, |run| run.link_bound_seconds)
    }

    /// Plain time over the same with the links' bound in place of the time in the calls, where it is less; nothing where the bound is not
    /// known.
    fn ratio_at_bound(&self) -> Option<f64> {
        let (plain, in_calls) = (whole(&self.plain)?, in_calls(&self.plain)?);
        Some(plain / (plain - in_calls + self.link_bound()?.min(in_calls)))
    }

    /// What is wrong with the results; empty if nothing is.
    fn wrong(&self) -> Vec<String> {
        let mut found = Vec::new();
        let expected = self.plain.first().and_then(|run| run.result);
        let names = ["plain", "wrapped", "learned", "forced", "plain, sends alone", "wrapped, sends alone"];
        let runs = self.settings().into_iter().chain([&self.sends[..], &self.wrapped_sends]);
        for (setting, runs) in names.iter().zip(runs) {
            for run in runs {
                if let Some(why) = &run.failure {
                    found.push(format!("{setting}: {why}"));
                } else if run.verified == Some(false) {
                    found.push(format!("{setting}: its own verification did not succeed"));
                } else if let (Some(a), Some(b), Some(most)) = (expected, run.result, self.program.tolerance)
                    && (a - b).abs() > most * a.abs()
                {
                    found.push(format!("{setting}: the result is {b}, and {a} is expected"));
                }
            }
        }
        found.dedup();
        found
    }

    /// How the results were checked.
    fn check(&self) -> &'static str {
        let compared = self.program.tolerance.is_some() && self.plain.iter().all(|run| run.result.is_some());
        match (!self.wrong().is_empty(), self.program.verified.is_some(), compared) {
            (true, ..) => "**no**",
            (false, _, true) => "same result",
            (false, true, false) => "verified",
            (false, false, false) => "ended",
        }
    }

    fn row(&self, with_bound: bool) -> Vec<String> {
        let cell = |runs: &[ProgramRun]| match of(runs, |run| run.own_seconds) {
            Some(own) => format!("{} ({})", time(whole(runs)), seconds(own)),
            None => time(whole(runs)),
        };
        let [plain, wrapped, learned, forced] = self.settings();
        let in_calls = self.settings().map(|runs| time(in_calls(runs)));
        let mut row = vec![
            self.program.title.clone(),
            self.plain.len().to_string(),
            cell(plain),
            cell(wrapped),
            cell(learned),
            cell(forced),
            times(self.ratio(wrapped)),
            times(self.ratio(learned)),
            times(self.ratio(forced)),
            in_calls.join(", "),
        ];
        if with_bound {
            row.extend([time(self.link_bound()), times(self.ratio_at_bound())]);
        }
        row.push(self.check().into());
        row
    }

    fn row_of_sends(&self) -> Vec<String> {
        let [sends, wrapped] = [&self.sends, &self.wrapped_sends].map(|runs| time(whole(runs)));
        let in_calls = [&self.sends, &self.wrapped_sends].map(|runs| time(in_calls(runs)));
        let ratios = [self.ratio(&self.sends), self.ratio_of_sends(), self.ratio_of_best()].map(times);
        let title = self.program.title.clone();
        [vec![title, sends, wrapped], ratios.to_vec(), vec![in_calls.join(", ")]].concat()
    }
}

fn time(value: Option<f64>) -> String {
    value.map_or_else(|| "-".into(), seconds)
}

fn times(ratio: Option<f64>) -> String {
    ratio.map_or_else(|| "-".into(), |ratio| format!("{ratio:.2} x"))
}

/// The median of what runs say; nothing unless all say it.
fn of(runs: &[ProgramRun], value: impl Fn(&ProgramRun) -> Option<f64>) -> Option<f64> {
    median(&runs.iter().map(value).collect::<Option<Vec<f64>>>()?)
}

/// The median of times in calls.
fn in_calls(runs: &[ProgramRun]) -> Option<f64> {
    of(runs, |run| Some(run.seconds_in_calls))
}

/// The median of whole times; nothing if a run failed.
fn whole(runs: &[ProgramRun]) -> Option<f64> {
    of(runs, |run| run.failure.is_none().then_some(run.seconds))
}

impl ProgramNetwork {
    fn title(&self) -> String {
        format!("`{}`, profile {}", self.topology, self.profile)
    }

    /// Not in documents from before it was computed.
    fn has_bound(&self) -> bool {
        self.programs.iter().any(|program| program.link_bound().is_some())
    }

    fn section(&self) -> String {
        let settings = ["plain", "wrapped", "learned", "forced", "plain/wrapped", "plain/learned", "plain/forced"];
        let bound = if self.has_bound() { &["link bound", "plain/at the bound"][..] } else { &[] };
        let head = [&["program<", "runs"], &settings[..], &["in calls"], bound, &["results<"]].concat();
        let mut table = TextTable::new(&head);
        table.rows = self.programs.iter().map(|program| program.row(self.has_bound())).collect();
        let mut text = format!("\n## {}\n\n", self.title());
        let mean = |ratio| self.mean(ratio);
        if let [Some(wrapped), Some(learned), Some(forced), Some(without)] = [
            mean(|p| p.ratio(&p.wrapped)),
            mean(|p| p.ratio(&p.learned)),
            mean(|p| p.ratio(&p.forced)),
            mean(ProgramRuns::ratio_without_calls),
        ] {
            let _ = writeln!(
                text,
                "Geometric means: {wrapped:.3} x wrapped, {learned:.3} x learned, {forced:.3} x forced; {without:.3} x if plain runs spent \
                 no time in these calls{}.\n",
                mean(ProgramRuns::ratio_at_bound)
                    .map_or_else(String::new, |most| format!(", {most:.3} x if no more than the links need"))
            );
        }
        text.push_str(&table.markdown());
        text.push_str(&self.table_of_sends());
        text.push_str("\nWhat served the calls of the last wrapped run, and why not OPTIQ:\n\n");
        for program in &self.programs {
            let served = program.wrapped.last().map_or(&[][..], |run| &run.report);
            let served = if served.is_empty() { "no call of these".into() } else { served.join("; ") };
            let _ = writeln!(text, "- {}: {served}", program.program.title);
            text.extend(program.wrong().iter().map(|wrong| format!("  - **{wrong}**\n")));
        }
        text
    }

    fn mean(&self, ratio: fn(&ProgramRuns) -> Option<f64>) -> Option<f64> {
        geometric_mean(&self.programs.iter().filter_map(ratio).collect::<Vec<f64>>())
    }

    /// The same programs where Open MPI only sends; nothing in documents without such runs.
    fn table_of_sends(&self) -> String {
        let means = [self.mean(|p| p.ratio(&p.sends)), self.mean(ProgramRuns::ratio_of_sends)];
        let ([Some(gain), Some(sends)], Some(best)) = (means, self.mean(ProgramRuns::ratio_of_best)) else {
            return String::new();
        };
        let mut table = TextTable::new(&[
            "program<",
            "plain",
            "wrapped",
            "gain of the setting",
            "plain/wrapped",
            "best/best",
            "in calls",
        ]);
        table.rows = self.programs.iter().map(ProgramRuns::row_of_sends).collect();
        format!(
            "\nWith sends alone. Geometric means: plain as it comes takes {gain:.3} times as long as plain with sends alone, this {sends:.3} \
             times as long as wrapped with sends alone, and the better of both plain settings {best:.3} times as long as the better of both wrapped \
             ones.\n\n{}",
            table.markdown()
        )
    }

    /// A line for each program that OPTIQ makes slower by itself.
    fn slower(&self) -> impl Iterator<Item = String> {
        self.programs.iter().flat_map(move |program| {
            let ratios = [(program.ratio(&program.wrapped), ""), (program.ratio_of_sends(), ", with sends alone")];
            ratios.into_iter().filter_map(move |(ratio, setting)| {
                let ratio = ratio.filter(|ratio| *ratio < SLOWER)?;
                Some(format!("- {} on {}{setting}: {ratio:.2} x\n", program.program.title, self.title()))
            })
        })
    }
}

impl ProgramsContent {
    /// Of the page.
    pub const TITLE: &'static str = "Real programs under `optiq wrap`";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let (wrapped, command) = match self.wrapped_once {
            true => ("optiq wrap --take alltoallv,alltoall -- optiq lab run -- PROGRAM", "the command"),
            false => ("optiq wrap --take alltoallv,alltoall -- PROGRAM", "`optiq lab run`"),
        };
        let has_bound = self.networks.iter().any(ProgramNetwork::has_bound);
        let mut page = format!(
            "Labs of 16 hosts, one rank each, with links of {}, all on one machine. Each program runs {} times with each of these settings, \
             in turn: plain; wrapped, `{}`, which is what OPTIQ decides by itself; learned, \
             the same with `--option OPTIQ_LEARNED=FILE`, a file that one run before these began; and forced, the same with \
             `--algorithm multipath`. Times are medians from the start of {} to its end; in brackets \
             what the program says itself, where it does. In calls: mean over the ranks{} of the seconds in `MPI_Alltoall` and \
             `MPI_Alltoallv`, in this order (`data/programs/times.c`, preloaded in all of them). Results: the program's own \
             verification, or a result that is the plain run's. Programs and inputs: `data/programs/programs.toml`. The NAS benchmarks \
             are the programs in the folder that `NPB_BIN` names, built with `-fallow-argument-mismatch -fallow-invalid-boz`.\n",
            self.rate,
            self.repetitions,
            wrapped,
            command,
            if has_bound { " that call" } else { "" }
        );
        if self.enough_seconds > 0.0 {
            let _ = write!(
                page,
                "\nA short program runs until its plain runs have taken {} together, at most {} times: starting 16 ranks on this machine takes \
                 a tenth of a second more or less from run to run. Before 2026-11-28 all programs ran equally often, three times as a rule, and \
                 the shell that starts a program on each rank loaded the MPI library in wrapped runs alone, as OPTIQ was preloaded into it. Now it loads the \
                 library with all settings.\n",
                seconds(self.enough_seconds),
                self.most_runs
            );
        }
        if has_bound {
            page.push_str(
                "\nLink bound: what the links need at least for the bytes that all ranks receive in all these calls together, over whatever \
                 paths (largest cut). Plain/at the bound: the whole time of plain runs over the same with this in place of the time in the calls, \
                 where it is less; what there is to be had if nothing else of the program changes. The time in calls is also that of ranks that wait for \
                 others to come, which no library shortens; and calls that end sooner may leave links to other messages of the program, which is not in it. \
                 Until 2026-11-28 the time in calls was a mean over all ranks, those included that do not call.\n",
            );
        }
        if self.networks.iter().any(|network| network.programs.iter().any(|program| !program.sends.is_empty())) {
            let _ = write!(
                page,
                "\nWith sends alone: the first two settings again with `mpirun {SENDS}`, which in labs of this rate makes Open MPI itself faster \
                 (decision 088); in turn with the others.\n"
            );
        }
        let slower: String = self.networks.iter().flat_map(ProgramNetwork::slower).collect();
        let none = format!("No program is slower than {SLOWER} times its plain speed.\n");
        let _ = write!(page, "\n## Where OPTIQ is slower\n\n{}", if slower.is_empty() { none } else { slower });
        page.extend(self.networks.iter().map(ProgramNetwork::section));
        if !self.not_run.is_empty() {
            page.push_str("\n## Not run\n\n");
            page.extend(self.not_run.iter().map(|p| format!("- {}, of {}: {}\n", p.title, p.package, p.why)));
        }
        if !self.without.is_empty() {
            page.push_str("\n## Programs that do not call these functions\n\n");
            page.extend(self.without.iter().map(|p| format!("- {}, of {}: {}\n", p.title, p.package, p.instead)));
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(plain: f64, wrapped: f64, forced: Option<f64>) -> ProgramRuns {
        let run = |seconds: f64| {
            let seconds_in_calls = seconds / 2.0;
            let link_bound_seconds = Some(seconds / 4.0);
            ProgramRun { seconds, seconds_in_calls, link_bound_seconds, result: Some(-63.25), ..ProgramRun::default() }
        };
        let failed = ProgramRun { failure: Some("ended with signal 11".into()), ..run(0.1) };
        ProgramRuns {
            program: Program { title: "p".into(), tolerance: Some(1e-6), ..Program::default() },
            plain: vec![run(plain)],
            wrapped: vec![run(wrapped)],
            learned: vec![run(wrapped)],
            forced: vec![forced.map_or(failed, run)],
            sends: Vec::new(),
            wrapped_sends: Vec::new(),
        }
    }

    fn page(programs: Vec<ProgramRuns>) -> String {
        let network = ProgramNetwork { topology: "star:16".into(), profile: "tuned".into(), programs };
        let networks = vec![network];
        ProgramsContent {
            rate: RATE.into(),
            repetitions: 1,
            wrapped_once: true,
            enough_seconds: 20.0,
            most_runs: 25,
            networks,
            not_run: Vec::new(),
            without: Vec::new(),
        }
        .body()
    }

    #[test]
    fn slower_programs_are_named() {
        // By hand: 4 over 2 and 1 s; the geometric mean of 2 and 0.5 is 1. Half of the time is spent in calls, and the links need a quarter:
        // 4 s over 4 - 2 + 1.
        let both = page(vec![runs(4.0, 2.0, Some(1.0)), runs(1.0, 2.0, Some(1.0))]);
        assert!(
            both.contains("| 2.00 x | 2.00 x | 4.00 x |")
                && both.contains("1.000 x wrapped, 1.000 x learned, 2.000 x forced; 2.000 x if plain")
                && both.contains("in these calls, 1.333 x if no more than the links need")
                && both.contains("| 1.00 s | 1.33 x | same result |"),
            "{both}"
        );
        assert!(both.contains("- p on `star:16`, profile tuned: 0.50 x"), "{both}");
        assert!(
            both.contains("have taken 20.0 s together, at most 25 times") && both.contains("| p | 1 | 4.00 s |"),
            "{both}"
        );
        assert!(page(vec![runs(4.0, 2.0, Some(1.0))]).contains("No program is slower"));
    }

    #[test]
    fn both_sides_have_the_better_of_two_settings() {
        let (as_it_comes, with_sends) = (runs(4.0, 2.5, None), runs(3.0, 4.0, None));
        let both = ProgramRuns { sends: with_sends.plain, wrapped_sends: with_sends.wrapped, ..as_it_comes };
        // By hand: 4 over 3 s; 3 over 4; 3 over 2.5.
        let page = page(vec![both]);
        assert!(page.contains("| 3.00 s | 4.00 s | 1.33 x | 0.75 x | 1.20 x | 1.50 s, 2.00 s |"), "{page}");
        assert!(page.contains("takes 1.333 times as long as plain with sends alone, this 0.750 times as long as wrapped with sends alone"), "{page}");
        assert!(page.contains("settings 1.200 times") && page.contains(SENDS), "{page}");
        assert!(page.contains("- p on `star:16`, profile tuned, with sends alone: 0.75 x"), "{page}");
    }

    #[test]
    fn a_failure_is_no_time_and_a_wrong_result_is_said() {
        let failed = page(vec![runs(4.0, 2.0, None)]);
        assert!(
            failed.contains("**forced: ended with signal 11**") && failed.contains("| 2.00 x | 2.00 x | - |"),
            "{failed}"
        );
        let mut wrong = runs(4.0, 2.0, Some(1.0));
        wrong.wrapped[0].result = Some(-63.24);
        assert!(page(vec![wrong]).contains("**wrapped: the result is -63.24, and -63.25 is expected**"));
    }

    #[test]
    fn older_documents_have_no_bound() {
        let mut old = runs(4.0, 2.0, Some(1.0));
        old.plain[0].link_bound_seconds = None;
        let old = page(vec![old]);
        assert!(!old.contains("bound") && !old.contains("sends") && old.contains("no time in these calls.\n"), "{old}");
    }

    #[test]
    fn the_list_is_of_its_form_and_names_are_unique() {
        let names = case_names().unwrap_or_default();
        let unique: std::collections::BTreeSet<&String> = names.iter().collect();
        assert!(names.len() > NETWORKS.len() && unique.len() == names.len(), "{names:?}");
    }
}

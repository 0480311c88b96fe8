//! OPTIQ beside everything else that exchanges data of all ranks with all: the algorithms of Open MPI and MPICH, each forced by its tuning
//! variables, and those of MPI Advance and of MPI_Alltoallv_3stage, each in several settings ([`super::rivals`]).
//!
//! The cases are the groups of `data/cases.toml` on the platforms `race` and `race_small`. MPI as it comes and OPTIQ run in turn in one job; every setting is
//! measured by the same command right after it in the same lab, in place of MPI. Of these jobs only that side counts: OPTIQ would leave
//! calls to the rival.

use super::direct::SENDS;
use super::lab::{self, BenchSuite, RATE};
use super::mpich::{self, WithMpich};
use super::rivals::{RaceLibrary, Rival, Rivals, SENDS_ALONE};
use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::measurement_cases::{CaseGroup, MeasurementCase, Platform};
use crate::selection::Selection;
use crate::workspace::Workspace;
use optiq_measure::statistics::geometric_mean;
use optiq_view::table::{percent, seconds};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// For `--cases`, beside the groups.
const LIBRARIES: [RaceLibrary; 2] = [RaceLibrary::OpenMpi, RaceLibrary::Mpich];

/// On the page with small messages: what was changed, and who is missing.
const CHANGED_RULE: &str = "The rule for repetitions was changed on 2026-11-28 (decision 083), after this page had shown 1.23 x over the best rival, and 0.38 to 0.63 x where \
    bytes go between one pair of hosts in ten: repetitions of ten milliseconds were mostly the barrier that 64 ranks on two processors leave 11 ms apart. Open MPI's component `han` is missing, as it serves neither MPI_Alltoallv nor MPI_Alltoall in 4.1.";

/// What is said of MPI without tuning.
const AS_IT_COMES: &str = "as it comes";

/// A rival's setting on a group of cases.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RaceSetting {
    /// Who.
    pub rival: String,
    /// Which algorithm, how set.
    pub setting: String,
    /// The medians of its calls, in seconds, one for each case; empty if it failed.
    pub median_seconds: Vec<f64>,
    /// Whether every byte came where it was to come.
    pub verified: bool,
    /// Why it did not come to its end.
    pub failure: Option<String>,
}

/// One group on one network with one MPI library.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RaceBench {
    /// Of `data/cases.toml`.
    pub group: String,
    /// Below all of them.
    pub library: RaceLibrary,
    /// MPI as it comes, and OPTIQ.
    pub suite: BenchSuite,
    /// In the order in which they ran.
    pub settings: Vec<RaceSetting>,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RaceContent {
    /// Of the links.
    pub rate: String,
    /// Of each comparison.
    pub repetitions: u32,
    /// What the rivals are built from.
    pub built_from: Vec<String>,
    /// Who is missing, and why.
    pub missing: Vec<String>,
    /// In the order in which they ran.
    pub benches: Vec<RaceBench>,
}

/// The names that `--cases` takes: of groups and of libraries. Of either kind all are taken if none is named.
///
/// # Errors
/// As [`crate::measurement_cases::groups`].
pub fn case_names(platform: Platform) -> Result<Vec<String>, Failure> {
    let groups = lab::groups_on(platform)?.into_iter().map(|group| group.name);
    Ok(groups.chain(LIBRARIES.map(|library| library.option().to_owned())).collect())
}

/// Measures the selected groups of a platform.
///
/// # Errors
/// [`Failure::Work`] if a lab cannot be brought up or OPTIQ fails in it. A rival that fails is reported on the page.
pub fn run(
    workspace: &Workspace,
    platform: Platform,
    repetitions: u32,
    selection: &Selection,
) -> Result<RaceContent, Failure> {
    let groups = selection.of_kind(lab::groups_on(platform)?, |group| group.name.clone());
    let mut libraries = selection.of_kind(LIBRARIES.to_vec(), |library| library.option().to_owned());
    let mut missing = Vec::new();
    let with_mpich = if libraries.contains(&RaceLibrary::Mpich) { mpich::build(workspace) } else { Err(String::new()) };
    if let Err(why) = &with_mpich {
        libraries.retain(|library| *library == RaceLibrary::OpenMpi);
        missing.extend((!why.is_empty()).then(|| format!("MPICH: {why}")));
    }
    let rivals = Rivals::build(workspace, with_mpich.is_ok(), platform == Platform::Race)?;
    missing.extend(rivals.missing.iter().cloned());
    let mut benches = Vec::new();
    lab::in_labs(workspace, &groups, |group, topology, cases| {
        for &library in &libraries {
            let built = with_mpich.as_ref().ok().filter(|_| library == RaceLibrary::Mpich);
            let race = Race { workspace, group, cases, repetitions, library, built };
            match race.run(&rivals) {
                Ok(bench) => benches.push(bench),
                Err(why) if built.is_some() => missing.push(format!("MPICH, {}, `{topology}`: {why}", group.name)),
                Err(why) => return Err(why),
            }
        }
        Ok(())
    })?;
    Ok(RaceContent { rate: RATE.into(), repetitions, built_from: rivals.built_from.clone(), missing, benches })
}

/// A group of cases on the network that is up.
struct Race<'a> {
    workspace: &'a Workspace,
    group: &'a CaseGroup,
    cases: &'a [&'a MeasurementCase],
    repetitions: u32,
    library: RaceLibrary,
    /// None with Open MPI.
    built: Option<&'a WithMpich>,
}

impl Race<'_> {
    fn run(&self, rivals: &Rivals) -> Result<RaceBench, Failure> {
        let suite = self.suite(&[], &[])?;
        let mut settings = Vec::new();
        for rival in rivals.all.iter().filter(|rival| rival.library == self.library) {
            settings.push(self.setting(rival));
        }
        Ok(RaceBench { group: self.group.name.clone(), library: self.library, suite, settings })
    }

    fn suite(&self, mpirun: &[String], environment: &[String]) -> Result<BenchSuite, Failure> {
        let mut words = ["--mpi", self.library.option(), lab::TIMEOUT, mpich::MOST_SECONDS].map(String::from).to_vec();
        words.extend(lab::mpirun_arguments(mpirun.iter().map(String::as_str)));
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let environment: Vec<&str> =
            environment.iter().chain(self.built.map(|b| &b.yields)).map(String::as_str).collect();
        let program = self.built.map_or_else(|| self.workspace.built("optiq"), |built| built.optiq.clone());
        lab::suite_by(self.workspace, &program, self.group, self.cases, self.repetitions, &words, &environment)
    }

    fn setting(&self, rival: &Rival) -> RaceSetting {
        let found = self.suite(&rival.mpirun, &rival.environment);
        let (median_seconds, verified, failure) = match found {
            Ok(suite) => (suite.cases.iter().map(|c| c.mpi.median_seconds).collect(), suite.verified, None),
            Err(failure) => (Vec::new(), true, Some(failure.to_string())),
        };
        RaceSetting { rival: rival.name.into(), setting: rival.setting.clone(), median_seconds, verified, failure }
    }
}

/// A rival's best setting for a case.
struct Best<'a> {
    rival: &'a str,
    setting: &'a str,
    seconds: f64,
}

impl RaceBench {
    /// The rivals' names, MPI first.
    fn rivals(&self) -> Vec<&str> {
        let mut names = vec![self.library.name()];
        for setting in &self.settings {
            if !names.contains(&setting.rival.as_str()) {
                names.push(&setting.rival);
            }
        }
        names
    }

    /// The fastest setting of a rival for a case, of those that came to their end.
    fn best<'a>(&'a self, rival: &'a str, case: usize) -> Option<Best<'a>> {
        let as_it_comes = (rival == self.library.name())
            .then(|| self.suite.cases.get(case).map(|c| (AS_IT_COMES, c.mpi.median_seconds)))
            .flatten();
        let settings = self.settings.iter().filter(|s| s.rival == rival);
        let timed = settings.filter_map(|s| Some((s.setting.as_str(), *s.median_seconds.get(case)?)));
        let (setting, seconds) = as_it_comes.into_iter().chain(timed).min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(Best { rival, setting, seconds })
    }

    /// The best of all rivals for a case.
    fn best_of_all(&self, case: usize) -> Option<Best<'_>> {
        let all = self.rivals().into_iter().filter_map(|rival| self.best(rival, case));
        all.min_by(|a, b| a.seconds.total_cmp(&b.seconds))
    }

    /// Whether rivals ran with sends alone.
    fn has_sends(&self) -> bool {
        self.settings.iter().any(|setting| setting.setting.ends_with(SENDS_ALONE))
    }

    /// The best rival's time over OPTIQ's, for each case.
    fn over_best(&self) -> Vec<f64> {
        let cases = self.suite.cases.iter().enumerate();
        cases.filter_map(|(i, c)| Some(self.best_of_all(i)?.seconds / c.optiq.median_seconds)).collect()
    }

    fn title(&self) -> String {
        format!("{}, `{}`, {}", self.group, self.suite.topology, self.library.name())
    }

    fn table(&self) -> TextTable {
        let rivals = self.rivals();
        let mut header = vec!["case<", "bound", "OPTIQ"];
        header.extend(&rivals);
        header.push("over the best");
        let mut table = TextTable::new(&header);
        for (i, c) in self.suite.cases.iter().enumerate() {
            let mut row = vec![c.name().to_owned(), seconds(c.mpi.link_bound_seconds)];
            row.push(format!("{} ({})", seconds(c.optiq.median_seconds), percent(c.optiq.share_of_bound)));
            row.extend(rivals.iter().map(|rival| match self.best(rival, i) {
                Some(best) => {
                    let share = percent(c.mpi.link_bound_seconds / best.seconds);
                    format!("{} ({share}; {})", seconds(best.seconds), best.setting)
                }
                None => "-".into(),
            }));
            let over = self.best_of_all(i).map(|best| best.seconds / c.optiq.median_seconds);
            row.push(over.map_or_else(|| "-".into(), |ratio| format!("{ratio:.2} x")));
            table.rows.push(row);
        }
        table
    }

    /// Each setting's time over OPTIQ's: means over the cases, and the least.
    fn settings_table(&self) -> TextTable {
        let mut table = TextTable::new(&["rival<", "setting<", "OPTIQ is faster by", "the least"]);
        let as_it_comes = self.suite.cases.iter().map(|c| c.mpi.median_seconds).collect::<Vec<f64>>();
        let settings =
            self.settings.iter().map(|s| (s.rival.as_str(), s.setting.as_str(), &s.median_seconds, s.failure.as_ref()));
        for (rival, setting, times, failure) in
            std::iter::once((self.library.name(), AS_IT_COMES, &as_it_comes, None)).chain(settings)
        {
            let pairs = times.iter().zip(&self.suite.cases);
            let ratios: Vec<f64> = pairs.map(|(time, c)| time / c.optiq.median_seconds).collect();
            let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
            let cells = match (geometric_mean(&ratios), failure) {
                (Some(mean), None) => [format!("{mean:.2} x"), format!("{least:.2} x")],
                (_, failure) => [failure.cloned().unwrap_or_else(|| "-".into()), "-".into()],
            };
            table.rows.push([[rival.to_owned(), setting.to_owned()], cells].concat());
        }
        table
    }

    /// A line for each case in which a rival is faster.
    fn lost(&self) -> impl Iterator<Item = String> {
        self.suite.cases.iter().enumerate().filter_map(|(i, c)| {
            let best = self.best_of_all(i)?;
            let ratio = best.seconds / c.optiq.median_seconds;
            let (case, title) = (c.name(), self.title());
            (ratio < 1.0).then(|| format!("- {case} ({title}): {}, {}: {ratio:.2} x\n", best.rival, best.setting))
        })
    }

    fn section(&self) -> String {
        let mut text = format!("\n## {}\n\n{}", self.title(), self.table().markdown());
        let wrong = self.settings.iter().filter(|s| !s.verified);
        text.extend(wrong.map(|s| format!("\n**WRONG BYTES: {}, {}**\n", s.rival, s.setting)));
        if !self.suite.verified {
            text.push_str("\n**WRONG BYTES**\n");
        }
        let _ = write!(text, "\n{}", self.settings_table().markdown());
        text
    }
}

impl RaceContent {
    /// Of the page.
    pub const TITLE: &'static str = "A race: OPTIQ beside other algorithms for the same exchange";
    /// Of the page with small messages.
    pub const TITLE_SMALL: &'static str = "A race with small messages: several ranks on each host";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let is_small = self.benches.iter().any(|bench| bench.suite.ranks > 16);
        let hosts = match is_small {
            true => "8 hosts, 8 ranks each, all pairs of which on two hosts share the bytes of a case",
            false => "16 hosts, one rank each",
        };
        let mut page = format!(
            "Labs of {hosts}, with links of {} unless a title has another capacity, `optiq bench alltoallv --cases FILE --repetitions {}` with the cases of \
             each group of `data/cases.toml`: what OPTIQ decides by itself. `MPI_Alltoallv` as it comes and `optiq_alltoallv` run in turn \
             in one job; every setting of a rival by the same command right after it, in MPI's place: MPI's own algorithms chosen by its \
             tuning variables, others as a preloaded library (`optiq-studies/rivals/rival.c`). Times are medians, in the tables those of \
             each rival's best setting for the case; in brackets the share of the link bound, and which setting. {} \"Over the best\" is the \
             best rival's time over OPTIQ's. Where a rival's sources fix how many messages are in flight at a time, the number in them is \
             replaced.\n",
            self.rate,
            self.repetitions,
            lab::repetitions_of(self.benches.iter().map(|bench| &bench.suite))
        );
        let list = |title: &str, lines: &[String]| {
            if lines.is_empty() {
                return String::new();
            }
            let lines: String = lines.iter().map(|line| format!("- {line}\n")).collect();
            format!("\n{title}\n\n{lines}")
        };
        if is_small {
            page.push_str(&format!("\n{CHANGED_RULE}\n"));
        }
        if self.benches.iter().any(RaceBench::has_sends) {
            let _ = write!(
                page,
                "\nWith sends alone (`mpirun {SENDS}`) Open MPI's TCP component does not ask for a large message's bytes on the connection on which those of \
                 the other direction go, and wait behind them (decision 088); so every setting over Open MPI runs in both ways.\n"
            );
        }
        page.push_str(&list("Built from:", &self.built_from));
        page.push_str(&list("Not in the race:", &self.missing));
        let ratios: Vec<f64> = self.benches.iter().flat_map(RaceBench::over_best).collect();
        if let Some(mean) = geometric_mean(&ratios) {
            let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
            let _ = write!(
                page,
                "\nOver the best setting of the best rival of each of the {} cases: {mean:.3} x (geometric mean; the least {least:.2} x).\n",
                ratios.len()
            );
        }
        let lost: String = self.benches.iter().flat_map(RaceBench::lost).collect();
        let none = "No rival is faster in any case.\n".to_owned();
        let _ = write!(page, "\n## Where a rival is faster\n\n{}", if lost.is_empty() { none } else { lost });
        page.extend(self.benches.iter().map(RaceBench::section));
        page
    }
}

#[cfg(test)]
mod tests {
    use super::super::lab::{BenchCase, BenchSide};
    use super::*;

    fn bench(rival_seconds: f64, failure: Option<&str>) -> RaceBench {
        let side = |median_seconds: f64| BenchSide {
            seconds: vec![median_seconds],
            median_seconds,
            link_bound_seconds: 0.1,
            share_of_bound: 0.1 / median_seconds,
            first_seconds: median_seconds,
        };
        let case = BenchCase {
            case: "alltoall, 1MB".into(),
            demands: "pattern:alltoall".into(),
            message_bytes: 1_000_000,
            served_by: "240 paths".into(),
            mpi: side(0.4),
            optiq: side(0.2),
            ratio: 2.0,
            setup_seconds: 0.05,
            transport: String::new(),
            mpi_calls: 0,
            untimed_calls: 0,
        };
        let setting = |setting: &str, times: Vec<f64>| RaceSetting {
            rival: "MPI Advance".into(),
            setting: setting.into(),
            median_seconds: times,
            verified: true,
            failure: failure.map(String::from),
        };
        let times = if failure.is_some() { vec![] } else { vec![rival_seconds] };
        RaceBench {
            group: "g".into(),
            library: RaceLibrary::OpenMpi,
            suite: BenchSuite {
                topology: "star:16".into(),
                ranks: 16,
                repetitions: 1,
                cases: vec![case],
                verified: true,
            },
            settings: vec![
                setting("batch", times.clone()),
                setting("pairwise", times.iter().map(|t| 2.0 * t).collect()),
            ],
        }
    }

    fn page(bench: RaceBench) -> String {
        let (built_from, missing) = (Vec::new(), vec!["MPICH: no mpicc.mpich".to_owned()]);
        RaceContent { rate: RATE.into(), repetitions: 1, built_from, missing, benches: vec![bench] }.body()
    }

    #[test]
    fn the_best_setting_stands_for_its_rival_and_the_best_rival_for_all() {
        // By hand: 0.1 of 0.25 s; 0.25 over 0.2 s; MPI's 0.4 over 0.2 s; pairwise takes 0.5 s.
        let text = page(bench(0.25, None));
        assert!(text.contains("| 250 ms (40.0 %; batch) | 1.25 x |"), "{text}");
        assert!(
            text.contains("| Open MPI | as it comes | 2.00 x |") && text.contains("| pairwise | 2.50 x |"),
            "{text}"
        );
        assert!(text.contains("No rival is faster") && text.contains("- MPICH: no mpicc.mpich"), "{text}");
    }

    #[test]
    fn a_rival_that_wins_is_named_and_one_that_fails_is_no_time() {
        let text = page(bench(0.16, None));
        assert!(text.contains("- alltoall, 1MB (g, `star:16`, Open MPI): MPI Advance, batch: 0.80 x"), "{text}");
        let failed = page(bench(0.16, Some("it hangs")));
        assert!(
            failed.contains("| MPI Advance | batch | it hangs | - |") && failed.contains("| - | 2.00 x |"),
            "{failed}"
        );
    }
}

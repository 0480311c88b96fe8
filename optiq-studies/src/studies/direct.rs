//! Exchanges in which forwarding gains little or nothing, in labs of 16 hosts: what OPTIQ decides by itself, beside `MPI_Alltoallv` as
//! it comes and beside the best that can be had of Open MPI by its settings.
//!
//! The cases are the groups of `data/cases.toml` on platform `direct`. MPI as it comes and OPTIQ run in turn in one job; MPI with the pairwise
//! algorithm, and with sends alone (`btl_tcp_flags send`), is measured by the same command right after it in the same lab.

use super::lab::{self, BenchCase, BenchSide, BenchSuite, RATE};
use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::measurement_cases::{CaseGroup, CaseRole, MeasurementCase, Platform, added};
use crate::selection::Selection;
use crate::workspace::Workspace;
use optiq_measure::statistics::{Summary, geometric_mean, median};
use optiq_view::table::{percent, seconds};
use serde::{Deserialize, Serialize};
use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::fmt::Write;

/// `mpirun`'s words for Open MPI's pairwise exchange. Its other algorithm, linear, is the one that it takes by itself.
const PAIRWISE: &str = "--mca coll_tuned_use_dynamic_rules 1 --mca coll_tuned_alltoallv_algorithm 2";

/// `mpirun`'s words for Open MPI's TCP component without the protocol PUT (decision 088): what asks a sender for a large message's bytes waits
/// behind those that go the other way on the same connection, so that the two directions of a pair follow each other.
pub(super) const SENDS: &str = "--mca btl_tcp_flags send";

/// Of a case's row; `with_sends` as [`DirectBench::has_sends`] says.
pub(super) fn columns(with_sends: bool) -> Vec<&'static str> {
    let sends = with_sends.then_some("MPI, sends alone");
    let measured = ["case<", "bound", "MPI", "MPI pairwise"].into_iter().chain(sends);
    measured.chain(["OPTIQ", "over MPI", "over the best", "served by<"]).collect()
}

/// One group on one network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectBench {
    /// Of `data/cases.toml`.
    pub group: String,
    /// The group's.
    pub role: CaseRole,
    /// MPI as it comes, and OPTIQ.
    pub suite: BenchSuite,
    /// The same with MPI's pairwise algorithm; only its MPI side counts.
    pub pairwise: BenchSuite,
    /// The same with sends alone; only its MPI side counts. None in documents from before it was measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sends: Option<BenchSuite>,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DirectContent {
    /// Of the links.
    pub rate: String,
    /// Of each comparison.
    pub repetitions: u32,
    /// In the order in which they ran.
    pub benches: Vec<DirectBench>,
}

/// The names that `--cases` takes.
///
/// # Errors
/// As [`crate::measurement_cases::groups`].
pub fn case_names() -> Result<Vec<String>, Failure> {
    Ok(lab::groups_on(Platform::Direct)?.into_iter().map(|group| group.name).collect())
}

/// Measures the selected groups of a platform in labs.
///
/// # Errors
/// [`Failure::Work`] if a lab cannot be brought up or a program in it fails.
pub fn run(
    workspace: &Workspace,
    platform: Platform,
    repetitions: u32,
    selection: &Selection,
) -> Result<DirectContent, Failure> {
    let mut groups = lab::groups_on(platform)?;
    groups.retain(|group| selection.includes(&group.name));
    let mut benches = Vec::new();
    lab::in_labs(workspace, &groups, |group, _, cases| {
        benches.push(measure(workspace, group, cases, repetitions)?);
        Ok(())
    })?;
    Ok(DirectContent { rate: RATE.into(), repetitions, benches })
}

/// A group's cases in the lab that is up: OPTIQ and MPI as it comes, then MPI's pairwise algorithm, then sends alone.
pub(super) fn measure(
    workspace: &Workspace,
    group: &CaseGroup,
    cases: &[&MeasurementCase],
    repetitions: u32,
) -> Result<DirectBench, Failure> {
    let suite_with = |words: &str| {
        let words: Vec<String> = lab::mpirun_arguments(words.split_whitespace()).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        lab::suite_of(workspace, group, cases, repetitions, &words, &[])
    };
    let (suite, pairwise, sends) = (suite_with("")?, suite_with(PAIRWISE)?, Some(suite_with(SENDS)?));
    Ok(DirectBench { group: group.name.clone(), role: group.role, suite, pairwise, sends })
}

/// A case with what stands beside it.
pub(super) struct Compared<'a> {
    case: &'a BenchCase,
    pairwise_seconds: f64,
    /// None if it was not measured.
    sends_seconds: Option<f64>,
}

impl Compared<'_> {
    fn best_mpi_seconds(&self) -> f64 {
        let tuned = self.pairwise_seconds.min(self.sends_seconds.unwrap_or(f64::INFINITY));
        self.case.mpi.median_seconds.min(tuned)
    }

    /// How many times as fast as the best of MPI's settings.
    pub(super) fn over_best(&self) -> f64 {
        self.best_mpi_seconds() / self.case.optiq.median_seconds
    }

    /// Of OPTIQ's own bound.
    pub(super) fn share_of_bound(&self) -> f64 {
        self.case.optiq.share_of_bound
    }

    /// How many times as fast as MPI as it comes.
    pub(super) fn over_mpi(&self) -> f64 {
        self.case.ratio
    }

    /// The same over the first repetitions alone, in which OPTIQ tries the most.
    pub(super) fn over_mpi_in_first(&self, repetitions: usize) -> Option<f64> {
        let first = |side: &BenchSide| median(side.seconds.get(..repetitions).unwrap_or(&side.seconds));
        Some(first(&self.case.mpi)? / first(&self.case.optiq)?)
    }

    /// The quartiles of MPI's times over OPTIQ's in the repetitions that followed each other; none without repetitions.
    pub(super) fn quartiles_over_mpi(&self) -> Option<(f64, f64)> {
        let in_turn = self.case.mpi.seconds.iter().zip(&self.case.optiq.seconds);
        let ratios: Vec<f64> = in_turn.map(|(mpi, optiq)| mpi / optiq).collect();
        Summary::of(&ratios).map(|summary| (summary.first_quartile, summary.third_quartile))
    }

    /// Under [`columns`].
    pub(super) fn row(&self, with_sends: bool) -> Vec<String> {
        let c = self.case;
        let tuned = |time: f64| format!("{} ({})", seconds(time), percent(c.mpi.link_bound_seconds / time));
        let mut row = vec![
            c.name().into(),
            seconds(c.optiq.link_bound_seconds),
            format!("{} ({})", seconds(c.mpi.median_seconds), percent(c.mpi.share_of_bound)),
            tuned(self.pairwise_seconds),
        ];
        row.extend(with_sends.then(|| self.sends_seconds.map_or_else(|| "-".into(), tuned)));
        row.extend([
            format!("{} ({})", seconds(c.optiq.median_seconds), percent(c.optiq.share_of_bound)),
            format!("{:.2} x", c.ratio),
            format!("{:.2} x", self.over_best()),
            c.served_by.clone(),
        ]);
        row
    }
}

impl DirectBench {
    /// Its cases.
    pub(super) fn compared(&self) -> impl Iterator<Item = Compared<'_>> {
        let pairs = self.suite.cases.iter().zip(&self.pairwise.cases).enumerate();
        pairs.map(|(at, (case, forced))| Compared {
            case,
            pairwise_seconds: forced.mpi.median_seconds,
            sends_seconds: self.sends.as_ref().and_then(|sends| Some(sends.cases.get(at)?.mpi.median_seconds)),
        })
    }

    /// Whether MPI with sends alone was measured.
    pub(super) fn has_sends(&self) -> bool {
        self.sends.is_some()
    }

    /// Every byte that was looked at was right.
    pub(super) fn is_verified(&self) -> bool {
        self.suite.verified && self.pairwise.verified && self.sends.as_ref().is_none_or(|sends| sends.verified)
    }
}

impl DirectContent {
    /// Of the page.
    pub const TITLE: &'static str = "Direct messages: OPTIQ beside MPI's algorithms where forwarding gains little";

    /// Its held-out cases.
    pub(super) fn held_out(&self) -> Vec<Compared<'_>> {
        let held_out = self.benches.iter().filter(|bench| bench.role == CaseRole::HeldOut);
        held_out.flat_map(|bench| bench.compared()).collect()
    }

    /// What the README says of it; nothing without held-out cases.
    pub fn for_readers(&self, page: &str) -> Option<String> {
        let cases = self.held_out();
        let over_mpi: Vec<f64> = cases.iter().map(|c| c.case.ratio).collect();
        let over_best: Vec<f64> = cases.iter().map(Compared::over_best).collect();
        Some(format!(
            "Where forwarding does not help, direct messages go by a timetable: over {} held-out cases on a switch, a fat tree and a \
             dragonfly OPTIQ is {:.3} x as fast as MPI as it comes, and {:.3} x as fast as {}, case by \
             case; [all figures]({page}).",
            cases.len(),
            geometric_mean(&over_mpi)?,
            geometric_mean(&over_best)?,
            best_of(&cases)
        ))
    }

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let mut page = format!(
            "Labs of 16 hosts, one rank each, with links of {}, `optiq bench alltoallv --cases FILE --repetitions {}` with the \
             cases of each group of `data/cases.toml`: what OPTIQ decides by itself. `MPI_Alltoallv` as it comes (Open MPI takes its \
             linear algorithm) and `optiq_alltoallv` run in turn in one job; the pairwise algorithm (`mpirun {PAIRWISE}`) by the \
             same command right after it{}. Times are medians; in brackets, the share of the link bound. {} OPTIQ's \
             repetitions include its trials of the slower side: one in the first ten calls of a kind of demands, and the first call \
             of all, which is MPI's.\n",
            self.rate,
            self.repetitions,
            if self.benches.iter().any(DirectBench::has_sends) { about_sends() } else { String::new() },
            lab::repetitions_of(self.benches.iter().map(|bench| &bench.suite))
        );
        page.push_str(&self.tables("##"));
        page
    }

    /// Held-out cases, then training cases, group by group, under headings of this level and the one below.
    pub(super) fn tables(&self, heading: &str) -> String {
        let mut page = String::new();
        for (role, title) in [(CaseRole::HeldOut, "Held-out cases"), (CaseRole::Training, "Training cases")] {
            let benches: Vec<&DirectBench> = self.benches.iter().filter(|bench| bench.role == role).collect();
            let all: Vec<Compared<'_>> = benches.iter().flat_map(|bench| bench.compared()).collect();
            let Some(summary) = summary(&all.iter().collect::<Vec<_>>()) else { continue };
            let _ = write!(page, "\n{heading} {title}\n\n{summary}");
            page.push_str(&without_added(&benches).unwrap_or_default());
            for bench in benches {
                let mut table = TextTable::new(&columns(bench.has_sends()));
                table.rows.extend(bench.compared().map(|c| c.row(bench.has_sends())));
                let (group, topology) = (&bench.group, &bench.suite.topology);
                let _ = write!(page, "\n{heading}# {group}, `{topology}`\n\n{}", table.markdown());
                if !bench.is_verified() {
                    page.push_str("\n**WRONG BYTES**\n");
                }
            }
        }
        page
    }
}

/// The same of the groups that were there from the beginning, and which came later; `None` if none did.
fn without_added(benches: &[&DirectBench]) -> Option<String> {
    let later: BTreeMap<&str, String> =
        benches.iter().filter_map(|b| Some((b.group.as_str(), added(&b.group)?))).collect();
    let first = benches.iter().filter(|bench| !later.contains_key(bench.group.as_str()));
    let cases: Vec<Compared<'_>> = first.flat_map(|bench| bench.compared()).collect();
    let summary = summary(&cases.iter().collect::<Vec<_>>()).filter(|_| !later.is_empty())?;
    let names: Vec<String> = later.iter().map(|(group, day)| format!("{group} on {day}")).collect();
    Some(format!("\nWithout what was added to the list later ({}): {summary}", names.join(", ")))
}

/// Means and worst cases; `None` without cases.
pub(super) fn summary(cases: &[&Compared<'_>]) -> Option<String> {
    let [share, mpi, over_mpi, over_best] = [
        cases.iter().map(|c| c.share_of_bound()).collect::<Vec<f64>>(),
        cases.iter().map(|c| c.case.mpi.share_of_bound).collect(),
        cases.iter().map(|c| c.case.ratio).collect(),
        cases.iter().map(|c| c.over_best()).collect(),
    ];
    let least = |list: &[f64]| list.iter().copied().fold(f64::INFINITY, f64::min);
    Some(format!(
        "{} cases, geometric means: OPTIQ reaches {} of its link bound (the least {}), MPI as it comes {} of its own; OPTIQ is \
         {:.3} x as fast as MPI as it comes (the least {:.2} x), {:.3} x as fast as {} (the least {:.2} x).\n",
        cases.len(),
        percent(geometric_mean(&share)?),
        percent(least(&share)),
        percent(geometric_mean(&mpi)?),
        geometric_mean(&over_mpi)?,
        least(&over_mpi),
        geometric_mean(&over_best)?,
        best_of(cases),
        least(&over_best),
    ))
}

/// Whom [`Compared::over_best`] compares OPTIQ with.
pub(super) fn best_of<'a, C: Borrow<Compared<'a>>>(cases: &[C]) -> &'static str {
    if cases.iter().any(|case| case.borrow().sends_seconds.is_some()) {
        "the best of Open MPI's settings"
    } else {
        "the better of Open MPI's two algorithms"
    }
}

/// What is done, and why; in the midst of a sentence.
fn about_sends() -> String {
    format!(
        ", and so is MPI as it comes with sends alone (`mpirun {SENDS}`): Open MPI's TCP component asks for a large message's bytes on the connection \
         on which those of the other direction go, behind them, so that the two directions of a pair follow each other (decision 088)"
    )
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Of one case on a star.
    pub(in super::super) fn suite(mpi: f64, optiq: f64) -> BenchSuite {
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
            mpi: side(mpi),
            optiq: side(optiq),
            ratio: mpi / optiq,
            setup_seconds: 0.05,
            transport: String::new(),
            mpi_calls: 0,
            untimed_calls: 0,
        };
        let topology = "star:16,capacity=12.5MB/s".into();
        BenchSuite { topology, ranks: 16, repetitions: 1, cases: vec![case], verified: true }
    }

    #[test]
    fn the_best_of_mpi_stands_beside_every_case() {
        let bench = |role, pairwise: f64| DirectBench {
            group: "g".into(),
            role,
            suite: suite(0.4, 0.2),
            pairwise: suite(pairwise, 9.0),
            sends: None,
        };
        let benches = vec![bench(CaseRole::HeldOut, 0.25), bench(CaseRole::Training, 0.5)];
        let page = DirectContent { rate: RATE.into(), repetitions: 1, benches }.body();
        let (held_out, training) = page.split_once("## Training cases").unwrap_or_default();
        // By hand: 0.1 of 0.2 s, 0.4 over 0.2 s, 0.25 over 0.2 s.
        assert!(held_out.contains("reaches 50.0 % of its link bound") && held_out.contains("2.000 x"), "{held_out}");
        assert!(
            held_out.contains("1.250 x as fast as the better") && held_out.contains("| 2.00 x | 1.25 x |"),
            "{held_out}"
        );
        assert!(training.contains("2.000 x as fast as the better"), "MPI as it comes is the better one: {training}");
    }

    #[test]
    fn means_are_there_without_groups_that_were_added_later_as_well() {
        let bench = |group: &str, mpi: f64| DirectBench {
            group: group.into(),
            role: CaseRole::HeldOut,
            suite: suite(mpi, 0.2),
            pairwise: suite(9.0, 9.0),
            sends: None,
        };
        let benches = vec![bench("direct-skew", 0.4), bench("direct-uneven-others", 0.9)];
        let page = DirectContent { rate: RATE.into(), repetitions: 1, benches }.body();
        // By hand: the root of 2 times 4.5, and 2.
        assert!(page.contains("2 cases, geometric means") && page.contains("OPTIQ is 3.000 x"), "{page}");
        let without =
            page.split_once("Without what was added to the list later (direct-uneven-others on 2026-11-28): 1 cases");
        assert!(without.is_some_and(|(_, rest)| rest.contains("OPTIQ is 2.000 x")), "{page}");
    }

    #[test]
    fn sends_alone_are_one_more_setting_of_mpi() {
        let (suite, pairwise, sends) = (suite(0.4, 0.2), suite(0.25, 9.0), Some(suite(0.22, 9.0)));
        let bench = DirectBench { group: "g".into(), role: CaseRole::HeldOut, suite, pairwise, sends };
        let page = DirectContent { rate: RATE.into(), repetitions: 1, benches: vec![bench] }.body();
        // By hand: 0.1 of 0.22 s, 0.22 over 0.2 s.
        assert!(page.contains("1.100 x as fast as the best of Open MPI's settings"), "{page}");
        assert!(page.contains("| MPI, sends alone |") && page.contains("| 220 ms (45.5 %) |"), "{page}");
        assert!(page.contains(SENDS), "{page}");
    }
}

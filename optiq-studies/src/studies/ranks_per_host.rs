//! Whether OPTIQ ever slows a call, in labs of 8 hosts with 1 to 8 ranks each: messages of all sizes, between all hosts and between few.
//!
//! The cases are the groups of `data/cases.toml` on platform `ranks_per_host`. What OPTIQ decides by itself and MPI run in turn in one job, as in
//! [`super::direct`], and MPI's pairwise algorithm after it. How far the ratio of a case lies from 1 by chance is shown by the quartiles of the ratios of
//! single repetitions, which follow each other in turn.

use super::direct::{self, Compared, DirectBench};
use super::lab;
use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::measurement_cases::{CaseRole, Platform};
use crate::selection::Selection;
use crate::workspace::Workspace;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Of MPI's speed, what issue 22 asks of each case.
const LEAST_RATIO: f64 = 0.97;
/// As many repetitions as other pages have.
const FIRST_REPETITIONS: usize = 7;
/// In the first third of these OPTIQ tries other sides.
pub const REPETITIONS: u32 = 31;

/// One group on one network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RanksPerHostBench {
    /// The group's.
    pub ranks_per_host: u32,
    /// OPTIQ, MPI as it comes, and MPI's pairwise algorithm.
    pub direct: DirectBench,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RanksPerHostContent {
    /// Of each comparison.
    pub repetitions: u32,
    /// In the order in which they ran.
    pub benches: Vec<RanksPerHostBench>,
}

/// The names that `--cases` takes.
///
/// # Errors
/// As [`crate::measurement_cases::groups`].
pub fn case_names() -> Result<Vec<String>, Failure> {
    Ok(lab::groups_on(Platform::RanksPerHost)?.into_iter().map(|group| group.name).collect())
}

/// Measures the selected groups in labs.
///
/// # Errors
/// [`Failure::Work`] if a lab cannot be brought up or a program in it fails.
pub fn run(workspace: &Workspace, repetitions: u32, selection: &Selection) -> Result<RanksPerHostContent, Failure> {
    let mut groups = lab::groups_on(Platform::RanksPerHost)?;
    groups.retain(|group| selection.includes(&group.name));
    let mut benches = Vec::new();
    lab::in_labs(workspace, &groups, |group, _, cases| {
        let direct = direct::measure(workspace, group, cases, repetitions)?;
        benches.push(RanksPerHostBench { ranks_per_host: group.ranks_per_host, direct });
        Ok(())
    })?;
    Ok(RanksPerHostContent { repetitions, benches })
}

/// A case and how many ranks each host has.
struct RanksCase<'a> {
    ranks_per_host: u32,
    compared: Compared<'a>,
}

impl RanksPerHostBench {
    fn cases(&self) -> impl Iterator<Item = RanksCase<'_>> {
        self.direct.compared().map(|compared| RanksCase { ranks_per_host: self.ranks_per_host, compared })
    }
}

impl RanksCase<'_> {
    fn is_slower(&self) -> bool {
        self.compared.over_mpi() < LEAST_RATIO
    }

    fn is_slower_at_first(&self) -> bool {
        self.compared.over_mpi_in_first(FIRST_REPETITIONS).is_some_and(|ratio| ratio < LEAST_RATIO)
    }

    /// Slower in at least three quarters of the repetitions.
    fn is_mostly_slower(&self) -> bool {
        self.compared.quartiles_over_mpi().is_some_and(|(_, third)| third < LEAST_RATIO)
    }

    fn row(&self, with_sends: bool) -> Vec<String> {
        let mut row = vec![self.ranks_per_host.to_string()];
        row.extend(self.compared.row(with_sends));
        let quartiles = self.compared.quartiles_over_mpi();
        row.push(quartiles.map_or_else(|| "-".into(), |(first, third)| format!("{first:.2} to {third:.2} x")));
        row
    }
}

impl RanksPerHostContent {
    /// Of the page.
    pub const TITLE: &'static str = "1 to 8 ranks on each host, messages of all sizes: whether OPTIQ ever slows a call";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let mut page = format!(
            "Labs of 8 hosts, `optiq bench alltoallv --cases FILE --all-ranks --repetitions {}` with 1, 2, 4 and 8 ranks on each host, the cases of \
             each group of `data/cases.toml`; bytes are those of a pair of hosts, which the ranks of both share. `MPI_Alltoallv` as it comes (Open MPI \
             takes its linear algorithm) and what OPTIQ decides by itself run in turn in one job; the pairwise algorithm by the same command after it. \
             Times are medians; in brackets, the share of the link bound. The last column has the quartiles of MPI's time over OPTIQ's in the \
             repetitions that follow each other. {} OPTIQ's repetitions include its trials of the slower side, of flow control and of combined messages. An emulated link \
             that was idle lets 4 ms of bytes pass at once (`optiq-lab/src/batch.rs`), so that a call of one or a few bursts can take less than its \
             link bound.\n",
            self.repetitions,
            lab::repetitions_of(self.benches.iter().map(|bench| &bench.direct.suite))
        );
        for (role, title) in [(CaseRole::HeldOut, "Held-out cases"), (CaseRole::Training, "Training cases")] {
            let benches: Vec<&RanksPerHostBench> =
                self.benches.iter().filter(|bench| bench.direct.role == role).collect();
            page.push_str(&section(title, &benches));
        }
        page
    }
}

/// Empty without cases.
fn section(title: &str, benches: &[&RanksPerHostBench]) -> String {
    let cases: Vec<RanksCase<'_>> = benches.iter().flat_map(|bench| bench.cases()).collect();
    let compared: Vec<&Compared<'_>> = cases.iter().map(|case| &case.compared).collect();
    let Some(summary) = direct::summary(&compared) else { return String::new() };
    let mut networks: Vec<String> = benches.iter().map(|bench| format!("`{}`", bench.direct.suite.topology)).collect();
    networks.dedup();
    let mut header = vec!["ranks a host"];
    let with_sends = benches.iter().any(|bench| bench.direct.has_sends());
    header.extend(direct::columns(with_sends));
    header.push("quartiles over MPI");
    let mut table = TextTable::new(&header);
    table.rows.extend(cases.iter().map(|case| case.row(with_sends)));
    let mut text = format!(
        "\n## {title}, {}\n\n{summary}\n**{} of {} cases are below {LEAST_RATIO} of MPI as it comes**, {} of them in three of four repetitions; in the first \
         {FIRST_REPETITIONS} repetitions alone it is {}.\n\n{}",
        networks.join(", "),
        cases.iter().filter(|case| case.is_slower()).count(),
        cases.len(),
        cases.iter().filter(|case| case.is_mostly_slower()).count(),
        cases.iter().filter(|case| case.is_slower_at_first()).count(),
        table.markdown()
    );
    for bench in benches.iter().filter(|bench| !bench.direct.is_verified()) {
        let _ = write!(text, "\n**WRONG BYTES** with {} ranks a host.\n", bench.ranks_per_host);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::direct::tests::suite;
    use super::*;

    #[test]
    fn cases_below_the_target_are_counted() {
        let bench = |ranks_per_host, mpi: [f64; 4], optiq: f64| {
            let mut suite = suite(0.4, optiq);
            for case in &mut suite.cases {
                case.mpi.seconds = mpi.to_vec();
                case.optiq.seconds = vec![optiq; 4];
            }
            RanksPerHostBench {
                ranks_per_host,
                direct: DirectBench {
                    group: "g".into(),
                    role: CaseRole::HeldOut,
                    suite,
                    pairwise: self::suite(0.5, 9.0),
                    sends: None,
                },
            }
        };
        // By hand: 0.8 times as fast as MPI throughout, 0.8 with half of the repetitions at 1.2 (so that their median is 1), and 2.
        let benches = vec![bench(1, [0.4; 4], 0.5), bench(4, [0.4, 0.6, 0.4, 0.6], 0.5), bench(8, [0.4; 4], 0.2)];
        let mut content = RanksPerHostContent { repetitions: 4, benches };
        let page = content.body();
        assert!(
            page.contains(
                "**2 of 3 cases are below 0.97 of MPI as it comes**, 1 of them in three of four repetitions; in the first 7 repetitions alone it is 1"
            ),
            "{page}"
        );
        assert!(page.contains("| 0.80 x | 0.80 x |") && page.contains("| 0.80 to 1.20 x |"), "{page}");
        assert!(!page.contains("Training") && !page.contains("WRONG"), "{page}");
        if let Some(bench) = content.benches.get_mut(1) {
            bench.direct.pairwise.verified = false;
        }
        assert!(content.body().contains("**WRONG BYTES** with 4 ranks a host."));
    }
}

//! What was measured: one comparison, or many with their geometric mean.

use crate::quartiles::{Quartiles, median_and_quartiles};
use optiq_measure::statistics::geometric_mean;
use optiq_view::ratios::{Line, Point, Ratios};
use optiq_view::table;
use serde::{Deserialize, Serialize};
use std::io;

/// One side of the comparison.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Side {
    /// The first call, with connection set-up and planning.
    pub first_seconds: f64,
    /// The timed repetitions, in order: the mean of their calls.
    pub seconds: Vec<f64>,
    /// Their median.
    pub median_seconds: f64,
    /// Their quartiles.
    #[serde(flatten)]
    pub quartiles: Quartiles,
    /// The time that the most loaded link needs; no execution along these paths is faster.
    pub link_bound_seconds: f64,
    /// Link bound over median.
    pub share_of_bound: f64,
}

impl Side {
    /// Of these repetitions, at least one.
    pub fn new(first_seconds: f64, seconds: Vec<f64>, link_bound_seconds: f64) -> Self {
        let (median_seconds, quartiles) = median_and_quartiles(&seconds);
        let share_of_bound = link_bound_seconds / median_seconds;
        Side { first_seconds, seconds, median_seconds, quartiles, link_bound_seconds, share_of_bound }
    }

    /// Median and quartiles in a cell.
    fn times(&self) -> String {
        self.quartiles.beside(self.median_seconds)
    }
}

/// Plain MPI and OPTIQ on one demand set: one document.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Comparison {
    /// The network.
    pub topology: String,
    /// As asked for.
    pub demands: String,
    /// As asked for.
    pub message_bytes: u64,
    /// Pairs of hosts with bytes.
    pub pairs: usize,
    /// Bytes that cross the network.
    pub total_bytes: u64,
    /// MPI ranks.
    pub ranks: usize,
    /// Calls of OPTIQ in a timed repetition.
    pub calls: usize,
    /// Calls of MPI in one; 0 in documents of before 2026-11-28, in which both sides made `calls`.
    #[serde(default)]
    pub mpi_calls: usize,
    /// Calls of the same side before each timed repetition; 0 in documents of before they were made, where only repetitions of several calls had
    /// one.
    #[serde(default)]
    pub untimed_calls: usize,
    /// What served most of OPTIQ's repetitions, and why.
    pub decision: String,
    /// The same in a word or two: `MPI`, `25 paths`.
    pub served_by: String,
    /// MPI served most of OPTIQ's repetitions as well: the ratio compares MPI with itself, and counts in no mean.
    pub is_served_by_mpi: bool,
    /// Repetitions whose last call planned paths served.
    pub repetitions_on_paths: usize,
    /// The MPI calls that carried the chunks.
    pub transport: String,
    /// What making the session took on the slowest rank: communicators, agreements, what is measured then. No call has it.
    #[serde(default)]
    pub setup_seconds: f64,
    /// `MPI_Alltoallv`.
    pub mpi: Side,
    /// `optiq_alltoallv`.
    pub optiq: Side,
    /// Median of MPI over median of OPTIQ.
    pub ratio: f64,
    /// Every byte of the first and last call of every repetition was right.
    pub verified: bool,
}

/// One of many.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Outcome {
    /// `disjoint, 4MB`.
    pub case: String,
    /// As asked for; `auto` where OPTIQ chose.
    pub planner: String,
    /// What was found.
    #[serde(flatten)]
    pub comparison: Comparison,
}

/// The lowest ratio, and where.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Worst {
    /// The case.
    pub case: String,
    /// As asked for.
    pub planner: String,
    /// Its ratio.
    pub ratio: f64,
}

/// Many comparisons: one document.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Suite {
    /// The network.
    pub topology: String,
    /// Why this network was taken, if none was given.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub note: Option<String>,
    /// MPI ranks.
    pub ranks: usize,
    /// Demands between hosts are spread over all pairs of their ranks.
    pub all_ranks: bool,
    /// Timed repetitions of each.
    pub repetitions: usize,
    /// In the order of demands, sizes, planners.
    pub cases: Vec<Outcome>,
    /// Cases that MPI served on both sides; they are in neither of the next two.
    pub cases_served_by_mpi: usize,
    /// Of the ratios of the other cases, if there are any.
    pub geometric_mean_ratio: Option<f64>,
    /// The lowest of their ratios.
    pub worst: Option<Worst>,
    /// Every byte that was checked was right.
    pub verified: bool,
}

impl Suite {
    /// With mean and worst of the cases.
    pub fn new(
        (topology, note): (String, Option<String>),
        ranks: usize,
        all_ranks: bool,
        repetitions: usize,
        cases: Vec<Outcome>,
    ) -> Self {
        let on_paths = || cases.iter().filter(|c| !c.comparison.is_served_by_mpi);
        let ratios: Vec<f64> = on_paths().map(|c| c.comparison.ratio).collect();
        let cases_served_by_mpi = cases.len() - ratios.len();
        let worst = on_paths().min_by(|a, b| a.comparison.ratio.total_cmp(&b.comparison.ratio)).map(|c| Worst {
            case: c.case.clone(),
            planner: c.planner.clone(),
            ratio: c.comparison.ratio,
        });
        let verified = cases.iter().all(|c| c.comparison.verified);
        let geometric_mean_ratio = geometric_mean(&ratios);
        Suite {
            topology,
            note,
            ranks,
            all_ranks,
            repetitions,
            cases,
            cases_served_by_mpi,
            geometric_mean_ratio,
            worst,
            verified,
        }
    }

    /// Whether the cases differ in the planner.
    pub fn several_planners(&self) -> bool {
        self.cases.windows(2).any(|two| two[0].planner != two[1].planner)
    }

    /// As a page with the ratio against bytes per pair, and a table.
    ///
    /// # Errors
    /// If a number is not finite.
    pub fn page(&self) -> io::Result<String> {
        let note = self.note.as_ref().map_or(String::new(), |note| format!(" {note}"));
        let subtitle = format!(
            "{}, medians and quartiles of {}, every byte of the first and last call of each {}.{}{note}",
            table::count(self.ranks, "rank"),
            table::count(self.repetitions, "repetition"),
            if self.verified { "right" } else { "WRONG" },
            match self.left_out() {
                Some(sentence) => format!(" {sentence}."),
                None => String::new(),
            },
        );
        let many = format!("of {}", self.counted());
        let mean = self.geometric_mean_ratio.map(|mean| (mean, "as fast as MPI, geometric mean", many));
        let mut headlines: Vec<_> = mean.into_iter().collect();
        headlines.extend(self.worst.as_ref().map(|w| (w.ratio, "in the worst case", w.case.clone())));
        // The page shows the whole decision.
        let row = |case: &Outcome| case.cells().into_iter().chain([case.comparison.decision.clone()]).collect();
        let page = Ratios {
            heading: format!("{}: optiq_alltoallv beside MPI_Alltoallv", self.topology),
            subtitle,
            headlines,
            lines: self.lines(),
            heads: HEADS.into_iter().chain(["why"]).collect(),
            rows: self.cases.iter().map(row).collect(),
            data: self,
        };
        page.page()
    }

    /// A line for each demand set with each planner.
    fn lines(&self) -> Vec<Line> {
        let mut lines: Vec<Line> = Vec::new();
        let planners = self.several_planners();
        for case in &self.cases {
            let c = &case.comparison;
            let name = c.demands.strip_prefix("pattern:").unwrap_or(&c.demands);
            let name = if planners { format!("{name} ({})", case.planner) } else { name.to_owned() };
            let point = Point {
                // A demand set may have sizes of its own.
                bytes: c.total_bytes as f64 / c.pairs.max(1) as f64,
                ratio: c.ratio,
                bound_ratio: case.bound_ratio(),
                is_served_by_mpi: c.is_served_by_mpi,
                range: c.ratio_range(),
                case: case.case.clone(),
                decision: c.decision.clone(),
            };
            match lines.iter_mut().find(|line| line.name == name) {
                Some(line) => line.points.push(point),
                None => lines.push(Line { name, points: vec![point] }),
            }
        }
        lines.iter_mut().for_each(|line| line.points.sort_by(|a, b| a.bytes.total_cmp(&b.bytes)));
        lines
    }

    /// The cases that headline ratios are of.
    fn counted(&self) -> String {
        let counted = table::count(self.cases.len() - self.cases_served_by_mpi, "case");
        if self.cases_served_by_mpi > 0 { format!("{counted} on planned paths") } else { counted }
    }

    /// What is not in the headline ratios, if anything.
    fn left_out(&self) -> Option<String> {
        let cases = table::count(self.cases_served_by_mpi, "case");
        let are = if self.cases_served_by_mpi == 1 { "is" } else { "are" };
        let text = format!("{cases} that MPI served on both sides, with ratios in brackets, {are} in no mean");
        (self.cases_served_by_mpi > 0).then_some(text)
    }

    /// As text.
    pub fn text(&self) -> String {
        let planners = self.several_planners();
        let mut rows: Vec<Vec<String>> = vec![HEADS.map(String::from).to_vec()];
        rows.extend(self.cases.iter().map(Outcome::cells));
        if !planners {
            rows.iter_mut().for_each(|row| drop(row.remove(1)));
        }
        let note = self.note.as_ref().map_or(String::new(), |note| format!("{note}\n"));
        let worst = self.worst.as_ref().map_or(String::new(), |w| {
            let planner = if planners { format!(" with planner {}", w.planner) } else { String::new() };
            format!("; the worst is {:.2} x: {}{planner}", w.ratio, w.case)
        });
        let mean = self.geometric_mean_ratio.map_or(String::new(), |mean| {
            format!("geometric mean of the ratios of {}: {mean:.3} x{worst}\n", self.counted())
        });
        let left_out = self.left_out().map_or(String::new(), |sentence| format!("{sentence}\n"));
        let setups: Vec<f64> = self.cases.iter().map(|c| c.comparison.setup_seconds).collect();
        let (median, _) = median_and_quartiles(&setups);
        let setup = format!("sessions were set up in {} (median), which no call includes\n", table::seconds(median));
        format!(
            "{note}{}, {}{}, medians and quartiles of {}\n\n{}\n{mean}{left_out}{setup}{}\n",
            self.topology,
            table::count(self.ranks, "rank"),
            if self.all_ranks { ", demands spread over all ranks of a host" } else { "" },
            table::count(self.repetitions, "repetition"),
            // The decision is text.
            table::aligned(&rows, |column| column > usize::from(planners) && column + 1 < rows[0].len()),
            if self.verified {
                "every byte of the first and last call of each repetition is right"
            } else {
                "WRONG BYTES"
            },
        )
    }
}

const HEADS: [&str; 10] =
    ["case", "planner", "MPI", "OPTIQ", "ratio", "bound of MPI", "share", "bound of OPTIQ", "share", "served by"];

impl Outcome {
    /// The cells below `HEADS`.
    pub fn cells(&self) -> Vec<String> {
        let c = &self.comparison;
        vec![
            self.case.clone(),
            self.planner.clone(),
            c.mpi.times(),
            c.optiq.times(),
            if c.is_served_by_mpi { format!("({:.2} x)", c.ratio) } else { format!("{:.2} x", c.ratio) },
            table::seconds(c.mpi.link_bound_seconds),
            table::percent(c.mpi.share_of_bound),
            table::seconds(c.optiq.link_bound_seconds),
            table::percent(c.optiq.share_of_bound),
            c.served_by.clone(),
        ]
    }

    /// The ratio that the two link bounds allow: what it would be if both sides ran at theirs.
    pub fn bound_ratio(&self) -> f64 {
        self.comparison.mpi.link_bound_seconds / self.comparison.optiq.link_bound_seconds
    }
}

impl Comparison {
    /// How far the ratio spreads: the first quartile of MPI over the third of OPTIQ, and the third over the first. `None` of a
    /// single repetition.
    pub fn ratio_range(&self) -> Option<(f64, f64)> {
        let several = self.mpi.seconds.len() > 1 && self.optiq.seconds.len() > 1;
        let (mpi, optiq) = (self.mpi.quartiles, self.optiq.quartiles);
        several.then(|| {
            (
                mpi.first_quartile_seconds / optiq.third_quartile_seconds,
                mpi.third_quartile_seconds / optiq.first_quartile_seconds,
            )
        })
    }

    /// As text.
    pub fn text(&self) -> String {
        let row = |name: &str, side: &Side, ratio: String| {
            vec![
                name.to_string(),
                side.times(),
                table::seconds(side.link_bound_seconds),
                table::percent(side.share_of_bound),
                ratio,
                table::seconds(side.first_seconds),
            ]
        };
        let head = ["", "median (quartiles)", "link bound", "share of bound", "speed-up", "first call"]
            .map(String::from)
            .to_vec();
        let ratio = match self.is_served_by_mpi {
            true => format!("({:.2} x: MPI served both)", self.ratio),
            false => format!("{:.2} x", self.ratio),
        };
        let calls = match (self.mpi_calls, self.calls) {
            (1, 1) => String::new(),
            (mpi, optiq) => format!(" of {mpi} and {optiq} calls"),
        };
        format!(
            "{} on {}, {} ranks, {} repetitions{calls}, {} over the network\n\n{}\nOPTIQ: {} ({})\nset up in {}, which no call includes\n{}\n",
            self.demands,
            self.topology,
            self.ranks,
            self.mpi.seconds.len(),
            table::bytes(self.total_bytes as f64),
            table::table(&[
                head,
                row("MPI_Alltoallv", &self.mpi, "1.00 x".into()),
                row("optiq_alltoallv", &self.optiq, ratio),
            ]),
            self.decision,
            self.transport,
            table::seconds(self.setup_seconds),
            match (self.verified, self.calls.max(self.mpi_calls)) {
                (false, _) => "WRONG BYTES",
                (true, 1) => "every byte of every repetition is right",
                (true, _) => "every byte of the first and last call of each repetition is right",
            },
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    /// A case with these sizes and seconds.
    fn outcome(demands: &str, message_bytes: u64, planner: &str, mpi: f64, optiq: f64, bounds: (f64, f64)) -> Outcome {
        let side = |median: f64, bound: f64| Side::new(median, vec![0.9 * median, median, 1.1 * median], bound);
        let comparison = Comparison {
            topology: "torus:4x4".into(),
            demands: demands.into(),
            message_bytes,
            pairs: 8,
            total_bytes: 8 * message_bytes,
            ranks: 16,
            calls: 1,
            mpi_calls: 1,
            untimed_calls: 1,
            decision: "25 paths by planner <optimal>".into(),
            served_by: "25 paths".into(),
            is_served_by_mpi: false,
            repetitions_on_paths: 3,
            transport: "two-sided".into(),
            setup_seconds: 0.03,
            mpi: side(mpi, bounds.0),
            optiq: side(optiq, bounds.1),
            ratio: mpi / optiq,
            verified: true,
        };
        Outcome { case: format!("{demands}, {message_bytes}B"), planner: planner.into(), comparison }
    }

    fn suite() -> Suite {
        let cases = vec![
            outcome("pattern:disjoint", 1000, "auto", 0.4, 0.2, (0.2, 0.1)),
            outcome("pattern:disjoint", 64_000, "auto", 4.0, 0.5, (2.0, 0.4)),
            outcome("pattern:alltoall", 1000, "auto", 1.0, 2.0, (0.5, 0.5)),
        ];
        Suite::new(("torus:4x4".into(), None), 16, false, 3, cases)
    }

    /// Ratios 2, 8 and 1/2: their product is 8, the mean 2.
    #[test]
    fn mean_and_worst() {
        let suite = suite();
        assert!((suite.geometric_mean_ratio.unwrap() - 2.0).abs() < 1e-12);
        let worst = suite.worst.as_ref().unwrap();
        assert_eq!((worst.case.as_str(), worst.ratio), ("pattern:alltoall, 1000B", 0.5));
        let text = suite.text();
        assert!(text.contains("ratios of 3 cases: 2.000 x; the worst is 0.50 x: pattern:alltoall, 1000B\n"), "{text}");
        assert!(!text.contains("planner"), "{text}");
        let document: Suite = serde_json::from_str(&serde_json::to_string(&suite).unwrap()).unwrap();
        assert_eq!(document.text(), text);
    }

    /// MPI against itself: 0.14 and 10.74 were seen for the same code on both sides.
    #[test]
    fn cases_served_by_mpi_are_in_no_headline() {
        let mut cases = suite().cases;
        cases[2].comparison.is_served_by_mpi = true;
        let suite = Suite::new(("torus:4x4".into(), None), 16, false, 3, cases.clone());
        assert!((suite.geometric_mean_ratio.unwrap() - 4.0).abs() < 1e-12);
        assert_eq!((suite.cases_served_by_mpi, suite.worst.as_ref().unwrap().ratio), (1, 2.0));
        let text = suite.text();
        assert!(text.contains("ratios of 2 cases on planned paths: 4.000 x; the worst is 2.00 x"), "{text}");
        assert!(
            text.contains("1 case that MPI served on both sides, with ratios in brackets, is in no mean"),
            "{text}"
        );
        assert!(text.contains("(0.50 x)") && text.contains("400 ms (380 ms to 420 ms)"), "{text}");
        cases.iter_mut().for_each(|case| case.comparison.is_served_by_mpi = true);
        let none = Suite::new(("torus:4x4".into(), None), 16, false, 3, cases);
        assert_eq!((none.geometric_mean_ratio, none.worst.clone()), (None, None));
        assert!(!none.text().contains("geometric mean") && none.page().is_ok());
    }

    /// Times 1 to 5 and 2 to 4: quartiles 2 and 4 of MPI, 2.5 and 3.5 of OPTIQ.
    #[test]
    fn ratios_spread_from_quartile_to_quartile() {
        let mut comparison = outcome("pattern:disjoint", 1, "auto", 3.0, 3.0, (1.0, 1.0)).comparison;
        comparison.mpi = Side::new(3.0, vec![5.0, 1.0, 2.0, 4.0, 3.0], 1.0);
        comparison.optiq = Side::new(3.0, vec![4.0, 3.0, 2.0], 1.0);
        assert_eq!(comparison.ratio_range(), Some((2.0 / 3.5, 4.0 / 2.5)));
        comparison.optiq = Side::new(3.0, vec![3.0], 1.0);
        assert_eq!(comparison.ratio_range(), None);
    }

    #[test]
    fn a_page_has_every_case_and_the_document() {
        let page = suite().page().unwrap();
        // A point and a row for each case; disjoint has two of the points, and is one line.
        assert_eq!((page.matches("<circle").count(), page.matches("<tr>").count()), (3, 4));
        assert!(page.contains("<b>2.00\u{d7}</b>") && page.contains("<b>0.50\u{d7}</b>"), "{page}");
        assert_eq!(suite().lines().len(), 2);
        let data = page.split("id=\"data\">").nth(1).unwrap().split("</script>").next().unwrap();
        let read: Suite = serde_json::from_str(data).unwrap();
        assert_eq!(read.cases.len(), 3);
    }

    #[test]
    fn planners_have_a_column_where_they_differ() {
        let cases = ["heu2", "optimal"].map(|p| outcome("pattern:subset", 1, p, 1.0, 1.0, (1.0, 1.0)));
        let text = Suite::new(("star:4".into(), Some("A note.".into())), 4, true, 3, cases.to_vec()).text();
        assert!(text.starts_with("A note.\nstar:4, 4 ranks, demands spread over all ranks"), "{text}");
        assert!(
            text.contains("case                planner") && text.contains("1.00 x: pattern:subset, 1B with planner"),
            "{text}"
        );
    }
}

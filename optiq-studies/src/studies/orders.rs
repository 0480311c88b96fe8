//! The orders in which direct messages can go, beside each other in labs of 16 hosts: who sends to whom when.
//!
//! The cases are the groups of `data/cases.toml` on platform `orders`. Every order is forced on all of a group's cases by a job of its own, in turn in one
//! lab; `MPI_Alltoallv` runs in turn with it in each of these jobs. What the same orders reach where nothing is lost is simulated by [`super::scale`].

use super::lab::{self, BenchSuite, RATE};
use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::measurement_cases::{CaseRole, Platform};
use crate::selection::Selection;
use crate::workspace::{self, Workspace};
use optiq_lower::choices::DirectOrder;
use optiq_measure::statistics::{geometric_mean, median};
use optiq_view::table::{percent, seconds};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// What is forced, in the order in which it runs: what OPTIQ takes by itself, then each order.
const ORDERS: [DirectOrder; 7] = [
    DirectOrder::Auto,
    DirectOrder::Timetable,
    DirectOrder::Shifts,
    DirectOrder::Xor,
    DirectOrder::Stages,
    DirectOrder::Credits,
    DirectOrder::Proportion,
];

/// Without it MPI would serve some of the calls.
const FORCED: &str = "OPTIQ_ALGORITHM=multipath";

/// An order whose share of the bound is at least this part of the best one's counts as being as fast.
const AS_FAST: f64 = 0.97;

/// A group's cases by one order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrderRun {
    /// As `OPTIQ_DIRECT_ORDER` takes it.
    pub order: String,
    /// MPI as it comes, and OPTIQ.
    pub suite: BenchSuite,
}

/// One group on one network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrdersBench {
    /// Of `data/cases.toml`.
    pub group: String,
    /// The group's.
    pub role: CaseRole,
    /// The same cases by every order.
    pub runs: Vec<OrderRun>,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OrdersContent {
    /// Of the links.
    pub rate: String,
    /// Of each comparison.
    pub repetitions: u32,
    /// In the order in which they ran.
    pub benches: Vec<OrdersBench>,
}

/// The names that `--cases` takes.
///
/// # Errors
/// As [`crate::measurement_cases::groups`].
pub fn case_names() -> Result<Vec<String>, Failure> {
    Ok(lab::groups_on(Platform::Orders)?.into_iter().map(|group| group.name).collect())
}

/// Measures the selected groups in labs.
///
/// # Errors
/// [`Failure::Work`] if a lab cannot be brought up or a program in it fails.
pub fn run(workspace: &Workspace, repetitions: u32, selection: &Selection) -> Result<OrdersContent, Failure> {
    let mut groups = lab::groups_on(Platform::Orders)?;
    groups.retain(|group| selection.includes(&group.name));
    let mut benches = Vec::new();
    lab::in_labs(workspace, &groups, |group, _, cases| {
        let mut runs = Vec::new();
        for order in ORDERS {
            let order = order.to_string();
            let chosen = [FORCED, &format!("OPTIQ_DIRECT_ORDER={order}")];
            let suite = workspace::step(&format!("{}, {order}", group.name), || {
                lab::suite_of(workspace, group, cases, repetitions, &[], &chosen)
            })?;
            runs.push(OrderRun { order, suite });
        }
        benches.push(OrdersBench { group: group.name.clone(), role: group.role, runs });
        Ok(())
    })?;
    Ok(OrdersContent { rate: RATE.into(), repetitions, benches })
}

/// A case by every order.
struct OrdersCase {
    name: String,
    bound_seconds: f64,
    /// The median of MPI's medians in the jobs of all orders.
    mpi_seconds: f64,
    /// Shares of the link bound, in the order of the runs.
    shares: Vec<f64>,
}

impl OrdersBench {
    fn cases(&self) -> Vec<OrdersCase> {
        let Some(first) = self.runs.first() else { return Vec::new() };
        let case = |at: usize| {
            let of_order: Vec<_> = self.runs.iter().filter_map(|run| run.suite.cases.get(at)).collect();
            let first = of_order.first()?;
            let mpi: Vec<f64> = of_order.iter().map(|case| case.mpi.median_seconds).collect();
            Some(OrdersCase {
                name: first.name().into(),
                bound_seconds: first.optiq.link_bound_seconds,
                mpi_seconds: median(&mpi)?,
                shares: of_order.iter().map(|case| case.optiq.share_of_bound).collect(),
            })
        };
        (0..first.suite.cases.len()).filter_map(case).collect()
    }

    fn is_verified(&self) -> bool {
        self.runs.iter().all(|run| run.suite.verified)
    }

    fn orders(&self) -> impl Iterator<Item = &str> {
        self.runs.iter().map(|run| run.order.as_str())
    }
}

impl OrdersCase {
    /// Of the orders, and so not of what is taken by itself, which is one of them.
    fn best_share(&self) -> f64 {
        self.shares.iter().skip(1).copied().fold(0.0, f64::max)
    }

    fn row(&self) -> Vec<String> {
        let mpi = format!("{} ({})", seconds(self.mpi_seconds), percent(self.bound_seconds / self.mpi_seconds));
        let best = self.best_share();
        let share = |&share: &f64| if share == best { format!("**{}**", percent(share)) } else { percent(share) };
        [self.name.clone(), seconds(self.bound_seconds), mpi].into_iter().chain(self.shares.iter().map(share)).collect()
    }
}

impl OrdersContent {
    /// Of the page.
    pub const TITLE: &'static str = "Orders of direct messages beside each other in labs of 16 hosts";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let mut page = format!(
            "Labs of 16 hosts, one rank each, with links of {}: `{FORCED} OPTIQ_DIRECT_ORDER=ORDER optiq bench alltoallv --cases FILE --repetitions {}`, a job for \
             each order, one after the other in one lab. `auto` is what OPTIQ takes by itself once it serves a call. Bold is the best of the orders. `MPI_Alltoallv` runs in turn with OPTIQ in \
             each job; its time is the median of all jobs' medians. The other columns are shares of the link bound, of median times. {} The profile is tuned: its queues \
             are long. What short ones change is on the page [profiles](profiles.md), what a fabric that loses nothing changes on the page \
             [scale](scale.md).\n",
            self.rate,
            self.repetitions,
            lab::repetitions_of(self.benches.iter().flat_map(|bench| &bench.runs).map(|run| &run.suite))
        );
        for (role, title) in [(CaseRole::HeldOut, "Held-out cases"), (CaseRole::Training, "Training cases")] {
            let benches: Vec<&OrdersBench> = self.benches.iter().filter(|bench| bench.role == role).collect();
            page.push_str(&section(title, &benches));
        }
        page
    }
}

/// Empty without cases.
fn section(title: &str, benches: &[&OrdersBench]) -> String {
    let Some(first) = benches.first() else { return String::new() };
    let cases: Vec<OrdersCase> = benches.iter().flat_map(|bench| bench.cases()).collect();
    let mut means = TextTable::new(&["order<", "share of the bound", "the least", "as fast as the best"]);
    for (at, order) in first.orders().enumerate() {
        let of_order = || cases.iter().filter_map(|case| Some((*case.shares.get(at)?, case.best_share())));
        let shares: Vec<f64> = of_order().map(|(share, _)| share).collect();
        let as_fast = of_order().filter(|(share, best)| *share >= AS_FAST * best).count();
        means.rows.push(vec![
            order.into(),
            geometric_mean(&shares).map_or_else(|| "-".into(), percent),
            percent(shares.iter().copied().fold(f64::INFINITY, f64::min)),
            format!("{as_fast} of {}", shares.len()),
        ]);
    }
    let mut text = format!(
        "\n## {title}\n\nGeometric means over {} cases; as fast as the best is what has at least {AS_FAST} of its share.\n\n{}",
        cases.len(),
        means.markdown()
    );
    for bench in benches {
        let mut table =
            TextTable::new(&["case<", "bound", "MPI"].into_iter().chain(bench.orders()).collect::<Vec<_>>());
        table.rows.extend(bench.cases().iter().map(OrdersCase::row));
        let topology = bench.runs.first().map_or("", |run| &run.suite.topology);
        let _ = write!(text, "\n### {}, `{topology}`\n\n{}", bench.group, table.markdown());
        if !bench.is_verified() {
            text.push_str("\n**WRONG BYTES**\n");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::direct::tests::suite;
    use super::*;

    #[test]
    fn the_best_order_is_bold_and_close_ones_count_as_fast() {
        let bench = |times: [f64; 3], verified| {
            let run = |order: &str, mpi: f64, time: f64| OrderRun {
                order: order.into(),
                suite: BenchSuite { verified, ..suite(mpi, time) },
            };
            let runs = vec![run("auto", 0.2, times[0]), run("xor", 0.4, times[1]), run("credits", 0.3, times[2])];
            OrdersBench { group: "g".into(), role: CaseRole::HeldOut, runs }
        };
        // The bound is 0.1 s. By hand: shares of 50, 80 and 78.1 %, and of 100, 50 and 100 %.
        let benches = vec![bench([0.2, 0.125, 0.128], true), bench([0.1, 0.2, 0.1], true)];
        let mut content = OrdersContent { rate: RATE.into(), repetitions: 1, benches };
        let page = content.body();
        assert!(page.contains("| alltoall, 1MB | 100 ms | 300 ms (33.3 %) | 50.0 % | **80.0 %** | 78.1 % |"), "{page}");
        // The root of 0.8 times 0.5; 0.781 is at least 0.97 of 0.8, the half of the best is not.
        assert!(page.contains("| xor | 63.2 % | 50.0 % | 1 of 2 |"), "{page}");
        assert!(page.contains("| credits | 88.4 % | 78.1 % | 2 of 2 |"), "{page}");
        assert!(page.contains("| auto | 70.7 % | 50.0 % | 1 of 2 |") && !page.contains("WRONG"), "{page}");
        content.benches.push(bench([0.1; 3], false));
        assert!(content.body().contains("**WRONG BYTES**"));
    }
}

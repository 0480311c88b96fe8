//! MPI and OPTIQ in turn in labs of every profile: where links lose packets, where queues are short or long, where TCP is as the machine
//! has it, where a host is slow; and where ranks spin, as on machines on which the MPI library does not yield.
//!
//! The cases are the groups of `data/cases.toml` on platform `profiles`.

use super::lab::{self, BenchCase, BenchSuite, RATE};
use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::measurement_cases::{CaseGroup, CaseRole, MeasurementCase, Platform};
use crate::selection::Selection;
use crate::workspace::{self, Workspace};
use optiq_measure::statistics::{geometric_mean, mean, mean_interval};
use optiq_view::table::{percent, seconds};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// Profiles, whether ranks yield, and their names for `--cases` and in tables.
const SETTINGS: [(&str, bool, &str); 9] = [
    ("tuned", true, "tuned"),
    ("tuned", false, "tuned-spinning"),
    ("kernel", true, "kernel"),
    ("kernel", false, "kernel-spinning"),
    ("shallow", true, "shallow"),
    ("shallow", false, "shallow-spinning"),
    ("deep", true, "deep"),
    (LOSSY, true, "lossy"),
    ("slow-host", true, "slow-host"),
];

/// Under this profile up to one call in two waits for a timeout of 200 ms.
const LOSSY: &str = "lossy";
/// How many times as many repetitions it has as others, so that means have timeouts in proportion.
const LOSSY_REPETITIONS: u32 = 5;

/// Of the group that shows what the machine's processors cost.
const SLOW_LINKS: &str = "capacity=2.5MB/s";

/// For ranks that do not yield. The lab's own word for `mpirun` is overruled by the environment of the ranks.
const SPINNING: [&str; 1] = ["OMPI_MCA_mpi_yield_when_idle=0"];

/// One group in one lab.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfileBench {
    /// The profile and how ranks wait: `kernel`, `kernel-spinning`.
    pub setting: String,
    /// Whether constants were tuned on these cases. Documents of before flow control was tuned do not say so: they were held out.
    #[serde(default = "held_out")]
    pub role: CaseRole,
    /// What `optiq bench` found.
    pub suite: BenchSuite,
}

fn held_out() -> CaseRole {
    CaseRole::HeldOut
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProfilesContent {
    /// Of the links.
    pub rate: String,
    /// Of each comparison.
    pub repetitions: u32,
    /// In the order in which they ran.
    pub benches: Vec<ProfileBench>,
}

/// The names that `--cases` takes.
pub fn case_names() -> Vec<String> {
    SETTINGS.iter().map(|(.., name)| (*name).into()).collect()
}

/// Measures the selected settings.
///
/// # Errors
/// [`Failure::Work`] if a lab cannot be brought up or a program in it fails.
pub fn run(workspace: &Workspace, repetitions: u32, selection: &Selection) -> Result<ProfilesContent, Failure> {
    let mut benches = Vec::new();
    for group in lab::groups_on(Platform::Profiles)? {
        for topology in topologies(&group) {
            let cases: Vec<&MeasurementCase> = group.cases.iter().filter(|c| c.topology == topology).collect();
            for (profile, yields, name) in SETTINGS.into_iter().filter(|(.., name)| selection.includes(name)) {
                let environment: &[&str] = if yields { &[] } else { &SPINNING };
                let repetitions = repetitions * if profile == LOSSY { LOSSY_REPETITIONS } else { 1 };
                workspace::step(&format!("lab {topology}, {name}"), || {
                    lab::in_lab(workspace, topology, profile, || {
                        let suite = lab::suite_of(workspace, &group, &cases, repetitions, &[], environment)?;
                        benches.push(ProfileBench { setting: name.into(), role: group.role, suite });
                        Ok(())
                    })
                })?;
            }
        }
    }
    Ok(ProfilesContent { rate: RATE.into(), repetitions, benches })
}

/// Each once, in their order.
fn topologies(group: &CaseGroup) -> Vec<&str> {
    let mut topologies: Vec<&str> = group.cases.iter().map(|c| c.topology.as_str()).collect();
    topologies.dedup();
    topologies
}

impl ProfilesContent {
    /// Of the page.
    pub const TITLE: &'static str = "Labs with bad manners: OPTIQ and MPI where links lose, queue and slow down";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let mut page = format!(
            "Labs of 16 hosts, one rank each, with links of {}, brought up with `optiq lab up --profile PROFILE` (`optiq lab up --help` \
             says what each is); in them `optiq bench alltoallv --cases FILE --repetitions {}`: `MPI_Alltoallv` and what OPTIQ decides \
             by itself, in turn in one job. In the rows \"spinning\" Open MPI does not yield (`{}`), as where it does not know that \
             sixteen hosts share this machine's processors; elsewhere it does. Times are medians; in brackets, the share of the link \
             bound, that of the planned paths for OPTIQ. The first call is OPTIQ's over MPI's, planning and all trials' first call \
             included; the set-up of the session, which no call includes, stands beside it. Medians are over all repetitions: where OPTIQ \
             tries another flow control in one of the first calls (decision 039), these are in them. Flow control was tuned on the \
             training cases under the profiles `kernel` and `shallow`; until then they were held out. Nothing was tuned on the held-out \
             cases.\n",
            self.rate, self.repetitions, SPINNING[0]
        );
        if self.benches.iter().any(|bench| bench.suite.topology.ends_with(SLOW_LINKS)) {
            let _ = write!(
                page,
                "\nWhere the heading has {SLOW_LINKS}, links are a fifth as fast. There the patterns of the training cases show what \
                 is missing elsewhere because two processors play sixteen hosts: they have five times as long for each packet.\n"
            );
        }
        if self.benches.iter().any(|bench| bench.suite.has_untimed_calls()) {
            let _ = write!(
                page,
                "\n{} **Changed after a failure:** without it, until 2026-11-28, half of OPTIQ's repetitions came right after a call of MPI's \
                 over the same connections. On one switch under the profile kernel, all-to-all of 1 MB, they took 1.3 s and 1.5 to 3.4 s in \
                 turn, and this page had 1.02 x (8c57f31). MPI's repetitions come after MPI's calls now as well. A trial of OPTIQ's can fall into an \
                 untimed call. Means stand beside medians since then: where packets are lost, calls of both sides take either the links' time or \
                 200 ms more, and a median of few is one or the other by chance. Ratios of means have their interval at 95 %.\n",
                lab::repetitions_of(self.benches.iter().map(|bench| &bench.suite))
            );
        }
        if let Some(bench) = self.benches.iter().find(|bench| bench.suite.repetitions > self.repetitions as usize) {
            let _ = write!(
                page,
                "\nUnder the profile {LOSSY} there are {} repetitions, so that their mean has the timeouts in proportion. **Changed after a \
                 failure:** with {}, all-to-all of 64 kB on one switch was at 0.30 x here (8c57f31), and at 1.51 x and 0.28 x in runs by hand: chance.\n",
                bench.suite.repetitions, self.repetitions
            );
        }
        for (role, title) in [(CaseRole::HeldOut, "held-out cases"), (CaseRole::Training, "training cases")] {
            let benches: Vec<&ProfileBench> = self.benches.iter().filter(|bench| bench.role == role).collect();
            let mut topologies: Vec<&str> = benches.iter().map(|b| b.suite.topology.as_str()).collect();
            topologies.dedup();
            for topology in topologies {
                let benches = benches.iter().copied().filter(|b| b.suite.topology == topology);
                page.push_str(&section(topology, title, benches));
            }
        }
        page
    }
}

/// The cases of one network, and how they did.
fn section<'a>(topology: &str, title: &str, benches: impl Iterator<Item = &'a ProfileBench> + Clone) -> String {
    let mut text = format!("\n## `{topology}`, {title}\n\n{}", table(benches.clone()).markdown());
    if benches.clone().any(|b| !b.suite.verified) {
        text.push_str("\n**WRONG BYTES**\n");
    }
    let ratios: Vec<f64> = benches.flat_map(|b| &b.suite.cases).map(|c| c.ratio).collect();
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    if let Some(mean) = geometric_mean(&ratios) {
        let _ = write!(
            text,
            "\nOPTIQ is {mean:.3} x as fast as `MPI_Alltoallv` (geometric mean; the least {least:.2} x).\n"
        );
    }
    text
}

fn table<'a>(benches: impl Iterator<Item = &'a ProfileBench> + Clone) -> TextTable {
    // Where packets are lost, one call in two waits for a timeout of 200 ms, and the median of a few is with or without it by chance.
    let with_means = benches.clone().any(|bench| bench.suite.has_untimed_calls());
    let means = if with_means { &["the same of means, 95 %"][..] } else { &[] };
    let header =
        [&["profile<", "case<", "MPI", "OPTIQ", "OPTIQ over MPI"], means, &["first call", "set-up", "served by<"]]
            .concat();
    let mut table = TextTable::new(&header);
    for bench in benches {
        table.rows.extend(bench.suite.cases.iter().map(|case| row(&bench.setting, case, with_means)));
    }
    table
}

fn row(setting: &str, c: &BenchCase, with_means: bool) -> Vec<String> {
    let mut row = vec![
        setting.replace('-', " "),
        c.case.clone(),
        format!("{} ({})", seconds(c.mpi.median_seconds), percent(c.mpi.share_of_bound)),
        format!("{} ({})", seconds(c.optiq.median_seconds), percent(c.optiq.share_of_bound)),
        format!("{:.2} x", c.ratio),
    ];
    if with_means {
        row.push(match ratio_of_means(&c.mpi.seconds, &c.optiq.seconds) {
            Some((ratio, Some(half))) => format!("{ratio:.2} ± {half:.2} x"),
            Some((ratio, None)) => format!("{ratio:.2} x"),
            None => "-".into(),
        });
    }
    row.extend([
        format!("{:.2} x", c.optiq.first_seconds / c.mpi.first_seconds),
        seconds(c.setup_seconds),
        c.served_by.clone(),
    ]);
    row
}

/// The ratio of two independent means, and half the width of its interval at 95 %, which is not known below two values each: relative widths of both
/// means add up as squares (W. Cochran, "Sampling Techniques", 3rd edition, section 6.3: the first order of the ratio's expansion).
fn ratio_of_means(above: &[f64], below: &[f64]) -> Option<(f64, Option<f64>)> {
    let ratio = mean(above)? / mean(below)?;
    let relative = |values: &[f64]| mean_interval(values).map(|i| (i.high - i.low) / (i.high + i.low));
    let half = relative(above).zip(relative(below)).map(|(a, b)| ratio * a.hypot(b));
    Some((ratio, half))
}

#[cfg(test)]
mod tests {
    use super::super::lab::BenchSide;
    use super::*;

    #[test]
    fn every_profile_has_its_rows_and_the_least_gain_is_said() {
        let side = |median_seconds: f64, first_seconds: f64| BenchSide {
            seconds: vec![median_seconds],
            median_seconds,
            link_bound_seconds: 0.1,
            share_of_bound: 0.1 / median_seconds,
            first_seconds,
        };
        let bench = |setting: &str, mpi: f64| {
            let case = BenchCase {
                case: "alltoall, 1MB".into(),
                demands: "pattern:alltoall".into(),
                message_bytes: 1_000_000,
                served_by: "240 paths".into(),
                mpi: side(mpi, 0.4),
                optiq: side(0.2, 0.5),
                ratio: mpi / 0.2,
                setup_seconds: 0.05,
                transport: String::new(),
                mpi_calls: 0,
                untimed_calls: 0,
            };
            let topology = "star:16,capacity=12.5MB/s".into();
            let suite = BenchSuite { topology, ranks: 16, repetitions: 1, cases: vec![case], verified: true };
            ProfileBench { setting: setting.into(), role: CaseRole::HeldOut, suite }
        };
        let benches = vec![bench("lossy", 0.4), bench("tuned-spinning", 0.1)];
        let mut content = ProfilesContent { rate: RATE.into(), repetitions: 1, benches };
        let page = content.body();
        // By hand: 0.1 of 0.2 s; 0.4 and 0.1 over 0.2 s, whose mean is 1; first calls of 0.5 and 0.4 s.
        for said in
            ["| lossy |", "| tuned spinning |", "(50.0 %)", "2.00 x", "1.25 x", "1.000 x as fast", "the least 0.50 x"]
        {
            assert!(page.contains(said), "{said}: {page}");
        }
        assert!(!page.contains("decision 085"), "this is what documents had before: {page}");
        assert!(!page.contains("Under the profile lossy"), "as many repetitions as elsewhere: {page}");
        content.benches[0].suite.repetitions = 5;
        assert!(content.body().contains("Under the profile lossy there are 5 repetitions"));
        let case = &mut content.benches[0].suite.cases[0];
        case.untimed_calls = 1;
        case.optiq.seconds = vec![0.1, 0.1, 0.6];
        case.mpi.seconds = vec![0.4, 0.4, 0.4];
        let page = content.body();
        // By hand: the medians of before, 0.4 over 0.2 s; the sums are 1.2 and 0.8 s. OPTIQ's variance is 0.25 / 3, so that its mean is known to
        // 4.303 x sqrt(0.25 / 9) = 0.717 s, 2.69 of 0.267; MPI's is known exactly.
        assert!(page.contains("| 2.00 x | 1.50 ± 4.03 x |"), "{page}");
        assert!(
            page.contains("An untimed call of the same side") && page.contains("Changed after a failure"),
            "{page}"
        );
    }
}

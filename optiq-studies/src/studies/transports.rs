//! What carries chunks from rank to rank, in labs of 16 hosts: messages of MPI, puts by those who send and gets by those who receive, with Open MPI's two
//! components for windows and with MPICH.
//!
//! The cases are the groups of `data/cases.toml` on platform `transports`. OPTIQ serves every call along planned paths, by one transport in each job. The
//! jobs of all transports run in turn, three times, and the times of a transport's jobs count together.

use super::lab::{self, BenchSuite, RATE};
use super::mpich::{self, WithMpich};
use super::rivals::RaceLibrary;
use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::measurement_cases::{CaseGroup, MeasurementCase, Platform};
use crate::quartiles::median_and_quartiles;
use crate::selection::Selection;
use crate::workspace::Workspace;
use optiq_measure::statistics::{geometric_mean, median};
use optiq_view::table::percent;
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// How often each transport has its turn.
const ROUNDS: u32 = 3;
/// What issue 22 asks of gets, of messages.
const PULL_TARGET: f64 = 0.9;

/// What carries chunks, and below what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransportSetting {
    /// Below OPTIQ.
    library: RaceLibrary,
    transport: Transport,
    /// Open MPI's component for windows (`--mca osc`).
    component: Option<WindowComponent>,
}

/// As `OPTIQ_TRANSPORT` has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Transport {
    TwoSided,
    Pull,
    OneSided,
}

/// Of Open MPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum WindowComponent {
    Pt2pt,
    Rdma,
}

impl TransportSetting {
    /// Messages first, with which the others of a library are compared.
    const ALL: [TransportSetting; 8] = [
        Self::with_open_mpi(Transport::TwoSided, None),
        Self::with_open_mpi(Transport::Pull, Some(WindowComponent::Pt2pt)),
        Self::with_open_mpi(Transport::Pull, Some(WindowComponent::Rdma)),
        Self::with_open_mpi(Transport::OneSided, Some(WindowComponent::Pt2pt)),
        Self::with_open_mpi(Transport::OneSided, Some(WindowComponent::Rdma)),
        Self::with_mpich(Transport::TwoSided),
        Self::with_mpich(Transport::Pull),
        Self::with_mpich(Transport::OneSided),
    ];

    const fn with_open_mpi(transport: Transport, component: Option<WindowComponent>) -> Self {
        Self { library: RaceLibrary::OpenMpi, transport, component }
    }

    const fn with_mpich(transport: Transport) -> Self {
        Self { library: RaceLibrary::Mpich, transport, component: None }
    }

    /// As `OPTIQ_TRANSPORT` takes it, and as names of transports end.
    fn transport(self) -> &'static str {
        match self.transport {
            Transport::TwoSided => "two-sided",
            Transport::Pull => "pull",
            Transport::OneSided => "one-sided",
        }
    }

    /// Variables of the ranks.
    fn environment(self) -> Vec<String> {
        let transport = self.transport();
        let component = self.component.map(|component| match component {
            WindowComponent::Pt2pt => "OMPI_MCA_osc=pt2pt".to_owned(),
            WindowComponent::Rdma => "OMPI_MCA_osc=rdma".to_owned(),
        });
        let all = ["OPTIQ_ALGORITHM=multipath".to_owned(), format!("OPTIQ_TRANSPORT={transport}")];
        all.into_iter().chain(component).collect()
    }

    /// On the page.
    fn name(self) -> String {
        let transport = match self.transport {
            Transport::TwoSided => "messages",
            Transport::Pull => "gets",
            Transport::OneSided => "puts",
        };
        let component = match self.component {
            None => "",
            Some(WindowComponent::Pt2pt) => ", osc pt2pt",
            Some(WindowComponent::Rdma) => ", osc rdma",
        };
        format!("{}, {transport}{component}", self.library.name())
    }
}

/// One transport on one network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransportRun {
    setting: TransportSetting,
    /// OPTIQ's calls, of each case; in the order in which they ran.
    seconds: Vec<Vec<f64>>,
    /// Whether every byte came where it was to come.
    verified: bool,
    /// Why it did not come to its end.
    failure: Option<String>,
}

/// A case, whatever carries its chunks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct TransportCase {
    case: String,
    link_bound_seconds: f64,
}

/// A group of cases on one network.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransportBench {
    /// Of `data/cases.toml`.
    group: String,
    topology: String,
    cases: Vec<TransportCase>,
    runs: Vec<TransportRun>,
}

/// What was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TransportsContent {
    /// Of the links.
    rate: String,
    /// Of each transport and case, over all rounds.
    repetitions: u32,
    /// What could not be measured, and why.
    missing: Vec<String>,
    benches: Vec<TransportBench>,
}

/// The names that `--cases` takes.
///
/// # Errors
/// As [`crate::measurement_cases::groups`].
pub fn case_names() -> Result<Vec<String>, Failure> {
    Ok(lab::groups_on(Platform::Transports)?.into_iter().map(|group| group.name).collect())
}

/// Measures the selected groups, at least `repetitions` calls of each transport and case.
///
/// # Errors
/// [`Failure::Work`] if a lab cannot be brought up. A transport that fails is reported on the page.
pub fn run(workspace: &Workspace, repetitions: u32, selection: &Selection) -> Result<TransportsContent, Failure> {
    let each = repetitions.div_ceil(ROUNDS);
    let mut missing = Vec::new();
    let built = mpich::build(workspace).map_err(|why| missing.push(format!("MPICH: {why}"))).ok();
    let mut groups = lab::groups_on(Platform::Transports)?;
    groups.retain(|group| selection.includes(&group.name));
    let mut benches = Vec::new();
    lab::in_labs(workspace, &groups, |group, topology, cases| {
        let jobs = Jobs { workspace, group, cases, repetitions: each, built: built.as_ref() };
        benches.push(jobs.run(topology));
        Ok(())
    })?;
    Ok(TransportsContent { rate: RATE.into(), repetitions: each * ROUNDS, missing, benches })
}

/// The jobs of a group on the network that is up.
struct Jobs<'a> {
    workspace: &'a Workspace,
    group: &'a CaseGroup,
    cases: &'a [&'a MeasurementCase],
    repetitions: u32,
    /// None without MPICH.
    built: Option<&'a WithMpich>,
}

impl Jobs<'_> {
    fn run(&self, topology: &str) -> TransportBench {
        let settings = TransportSetting::ALL.into_iter();
        let settings = settings.filter(|s| s.library == RaceLibrary::OpenMpi || self.built.is_some());
        let none = vec![Vec::new(); self.cases.len()];
        let new = |setting| TransportRun { setting, seconds: none.clone(), verified: true, failure: None };
        let mut runs: Vec<TransportRun> = settings.map(new).collect();
        let mut cases = Vec::new();
        for _ in 0..ROUNDS {
            // What failed once would fail again, in as many seconds as it may take.
            for run in runs.iter_mut().filter(|run| run.failure.is_none()) {
                match self.suite(run.setting).map(|suite| (other_transport(&suite, run.setting), suite)) {
                    Ok((Some(other), _)) => {
                        run.failure = Some(format!("no windows can be had, so that {other} served the calls"));
                    }
                    Ok((None, suite)) => {
                        run.verified &= suite.verified;
                        run.seconds.iter_mut().zip(&suite.cases).for_each(|(all, c)| all.extend(&c.optiq.seconds));
                        if cases.is_empty() {
                            cases = cases_of(&suite);
                        }
                    }
                    Err(failure) => run.failure = Some(failure.to_string()),
                }
            }
        }
        TransportBench { group: self.group.name.clone(), topology: topology.into(), cases, runs }
    }

    fn suite(&self, setting: TransportSetting) -> Result<BenchSuite, Failure> {
        let built = self.built.filter(|_| setting.library == RaceLibrary::Mpich);
        let mut environment = setting.environment();
        environment.extend(built.map(|built| built.yields.clone()));
        let environment: Vec<&str> = environment.iter().map(String::as_str).collect();
        let program = built.map_or_else(|| self.workspace.built("optiq"), |built| built.optiq.clone());
        let words = ["--mpi", setting.library.option(), lab::TIMEOUT, mpich::MOST_SECONDS];
        lab::suite_by(self.workspace, &program, self.group, self.cases, self.repetitions, &words, &environment)
    }
}

/// What served a call in place of what was asked for, if anything did.
fn other_transport(suite: &BenchSuite, setting: TransportSetting) -> Option<String> {
    let other = suite.cases.iter().find(|case| !case.transport.ends_with(setting.transport()));
    other.map(|case| case.transport.clone())
}

fn cases_of(suite: &BenchSuite) -> Vec<TransportCase> {
    let case =
        |c: &lab::BenchCase| TransportCase { case: c.name().into(), link_bound_seconds: c.optiq.link_bound_seconds };
    suite.cases.iter().map(case).collect()
}

impl TransportRun {
    fn median(&self, case: usize) -> Option<f64> {
        median(self.seconds.get(case)?)
    }
}

impl TransportBench {
    /// The messages of the same library.
    fn messages(&self, library: RaceLibrary) -> Option<&TransportRun> {
        self.runs.iter().find(|run| run.setting.library == library && run.setting.transport == Transport::TwoSided)
    }

    /// How many times as fast as messages, for each case.
    fn over_messages(&self, run: &TransportRun) -> Vec<f64> {
        let Some(messages) = self.messages(run.setting.library) else { return Vec::new() };
        (0..self.cases.len()).filter_map(|case| Some(messages.median(case)? / run.median(case)?)).collect()
    }

    fn section(&self) -> String {
        let mut text = format!("\n## {}, `{}`\n\n", self.group, self.topology);
        let mut table =
            TextTable::new(&["case<", "carried by<", "median (quartiles)", "share of the bound", "of messages"]);
        for (i, case) in self.cases.iter().enumerate() {
            for run in self.runs.iter().filter(|run| run.seconds.get(i).is_some_and(|list| !list.is_empty())) {
                let (median, quartiles) = median_and_quartiles(&run.seconds[i]);
                let of_messages = self.messages(run.setting.library).and_then(|messages| messages.median(i));
                table.rows.push(vec![
                    case.case.clone(),
                    run.setting.name(),
                    quartiles.beside(median),
                    percent(case.link_bound_seconds / median),
                    of_messages.map_or_else(|| "-".into(), |messages| percent(messages / median)),
                ]);
            }
        }
        text.push_str(&table.markdown());
        for run in &self.runs {
            if !run.verified {
                let _ = write!(text, "\n**WRONG BYTES: {}**\n", run.setting.name());
            }
            if let Some(why) = &run.failure {
                let _ = write!(text, "\n{}: {why}\n", run.setting.name());
            }
        }
        text
    }
}

impl TransportsContent {
    /// Of the page.
    pub const TITLE: &'static str = "Messages, puts and gets: what carries chunks";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let mut page = format!(
            "Labs of 16 hosts, one rank each, with links of {}, `optiq bench alltoallv --cases FILE` with the cases of each group of `data/cases.toml`, \
             `OPTIQ_ALGORITHM=multipath` and one `OPTIQ_TRANSPORT`: messages (`two-sided`), gets by the receivers (`pull`, decision 064), puts by the senders \
             (`one-sided`, decision 006). The jobs of all transports run in turn, {ROUNDS} times, and give {} calls of each transport and case. Open MPI has two \
             components for windows, `pt2pt` and `rdma`, of which the second one asks for a network that reads and writes memory. \"Of messages\" is how fast a transport is beside messages of the same library. Asked for: gets with at \
             least {} of the speed of messages. **Changed after these cases had been measured once** (9ed5caca: gets 87.2 % with Open MPI, 87.0 % with MPICH): a receiver fetched all \
             that was announced at one time, and has two gets from each rank in flight now, found on the patterns of `torus:4x4` (decision 064).\n\n",
            self.rate,
            self.repetitions,
            percent(PULL_TARGET)
        );
        let mut table = TextTable::new(&["carried by<", "of messages, mean", "the least", "cases", "as asked"]);
        for setting in TransportSetting::ALL {
            let runs = |bench| -> Option<Vec<f64>> {
                let bench: &TransportBench = bench;
                Some(bench.over_messages(bench.runs.iter().find(|run| run.setting == setting)?))
            };
            let ratios: Vec<f64> = self.benches.iter().filter_map(runs).flatten().collect();
            let Some(mean) = geometric_mean(&ratios) else { continue };
            let reached = ratios.iter().filter(|&&ratio| ratio >= PULL_TARGET).count();
            table.rows.push(vec![
                setting.name(),
                percent(mean),
                percent(ratios.iter().copied().fold(f64::INFINITY, f64::min)),
                ratios.len().to_string(),
                if setting.transport == Transport::Pull { reached.to_string() } else { "-".into() },
            ]);
        }
        page.push_str(&table.markdown());
        for why in &self.missing {
            let _ = write!(page, "\nNot measured: {why}\n");
        }
        self.benches.iter().for_each(|bench| page.push_str(&bench.section()));
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gets_stand_beside_the_messages_of_their_library() {
        let run = |at: usize, seconds: &[f64]| TransportRun {
            setting: TransportSetting::ALL[at],
            seconds: vec![seconds.to_vec()],
            verified: true,
            failure: None,
        };
        let bench = TransportBench {
            group: "transports".into(),
            topology: "star:16".into(),
            cases: vec![TransportCase { case: "alltoall, 1MB".into(), link_bound_seconds: 0.9 }],
            runs: vec![run(0, &[1.0, 1.2, 1.1]), run(1, &[1.25, 1.0, 2.0]), run(5, &[2.0]), run(6, &[2.5])],
        };
        // By hand: 1.1 over 1.25, and 2 over 2.5.
        assert_eq!(bench.over_messages(&bench.runs[1]), [1.1 / 1.25]);
        assert_eq!(bench.over_messages(&bench.runs[3]), [0.8]);
        let content = TransportsContent { rate: "r".into(), repetitions: 3, missing: Vec::new(), benches: vec![bench] };
        let page = content.body();
        for row in
            ["| Open MPI, gets, osc pt2pt | 88.0 % | 88.0 % | 1 | 0 |", "| MPICH, gets | 80.0 % | 80.0 % | 1 | 0 |"]
        {
            assert!(page.contains(row), "{page}");
        }
        assert!(page.contains("| alltoall, 1MB | MPICH, gets | "), "{page}");
    }

    #[test]
    fn variables_name_the_transport_and_the_component() {
        let all = ["OPTIQ_ALGORITHM=multipath", "OPTIQ_TRANSPORT=pull", "OMPI_MCA_osc=rdma"];
        assert_eq!(TransportSetting::ALL[2].environment(), all);
        assert_eq!(TransportSetting::ALL[5].environment(), ["OPTIQ_ALGORITHM=multipath", "OPTIQ_TRANSPORT=two-sided"]);
    }
}

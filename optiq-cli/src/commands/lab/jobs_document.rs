//! What `optiq lab jobs` prints, as a document and for people. The names of figures are those of `optiq simulate --jobs`.

use super::real_jobs::Counted;
use crate::commands::simulate::jobs::document::{SlowdownDocument, Times};
use optiq_lab::{LabLink, Profile, Traffic};
use optiq_net::Network;
use optiq_sim::Model;
use optiq_sim::jobs::allocation::{Allocation, JobHosts};
use optiq_sim::jobs::file::JobFile;
use optiq_sim::jobs::programs::samples::RankSamples;
use optiq_sim::jobs::run::{JobResult, JobResults, JobRun};
use optiq_sim::jobs::statistics::{JobStatistics, NodeSamples, slowdown};
use optiq_studies::real_jobs::samples::ProcessSamples;
use optiq_view::table;
use serde::Serialize;

/// What a job has measured: by repetition, the samples of its ranks.
#[derive(Clone, Debug, Default)]
pub struct Measured {
    pub alone: Vec<Vec<RankSamples>>,
    pub together: Vec<Vec<RankSamples>>,
    /// All processes of the runs with all jobs, repetition by repetition, where they are asked for.
    pub processes: Vec<ProcessSamples>,
}

/// What was asked for.
pub struct Setting<'a> {
    pub file: &'a JobFile,
    pub network: &'a Network,
    pub model: &'a Model,
    pub allocation: &'a Allocation,
    pub profile: Profile,
    pub repetitions: u32,
    pub links: &'a [LabLink],
    pub with_samples: bool,
}

#[derive(Serialize)]
pub struct LabJobsDocument<'a> {
    title: &'a str,
    topology: &'a str,
    network_fingerprint: String,
    profile: Profile,
    /// Of the simulation.
    model: &'a str,
    seed: u64,
    placement_seed: u64,
    repetitions: u32,
    jobs: Vec<LabJobDocument<'a>>,
    /// What ports counted while all jobs ran.
    links: Vec<LinkDocument<'a>>,
    /// For how long, all repetitions together.
    counted_seconds: f64,
}

#[derive(Serialize)]
struct LinkDocument<'a> {
    from: &'a str,
    to: &'a str,
    bytes: u64,
    dropped_packets: u64,
    /// Of what the link carries in that time.
    utilisation_share: f64,
}

#[derive(Serialize)]
struct LabJobDocument<'a> {
    name: &'a str,
    program: String,
    placement: String,
    host_names: Vec<&'a str>,
    server_names: Vec<&'a str>,
    ranks: u32,
    measured: bool,
    /// Beside the others; alone, where the file has one job.
    #[serde(flatten)]
    figures: FiguresDocument,
    /// Of all repetitions together.
    #[serde(flatten)]
    slowdown: Option<SlowdownDocument>,
    /// Of each repetition on its own.
    slowdown_mean_by_repetition: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    alone: Option<FiguresDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    simulated: Option<SimulatedDocument>,
    /// The measured slowdown of the mean over the simulated one.
    #[serde(skip_serializing_if = "Option::is_none")]
    slowdown_ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    processes: Option<&'a [ProcessSamples]>,
}

#[derive(Serialize, Default)]
struct FiguresDocument {
    samples: usize,
    #[serde(flatten)]
    times: Option<Times>,
}

#[derive(Serialize)]
struct SimulatedDocument {
    #[serde(flatten)]
    figures: FiguresDocument,
    #[serde(flatten)]
    slowdown: Option<SlowdownDocument>,
    alone: FiguresDocument,
}

impl FiguresDocument {
    fn new(statistics: Option<&JobStatistics>) -> Self {
        Self { samples: statistics.map_or(0, |s| s.samples), times: statistics.map(Times::new) }
    }
}

/// Of each rank, the samples of all repetitions.
fn joined(repetitions: &[Vec<RankSamples>]) -> Vec<RankSamples> {
    let mut all: Vec<RankSamples> = Vec::new();
    for ranks in repetitions {
        all.resize(all.len().max(ranks.len()), RankSamples::default());
        for (of, rank) in all.iter_mut().zip(ranks) {
            of.samples.extend(&rank.samples);
            of.complete = rank.complete;
        }
    }
    all
}

/// By rank: its node, counted from 0 among the job's.
fn nodes(hosts: &JobHosts) -> Vec<u32> {
    let nodes = 0..hosts.hosts.len() as u32;
    nodes.flat_map(|node| std::iter::repeat_n(node, hosts.processes as usize)).collect()
}

impl<'a> LabJobsDocument<'a> {
    pub fn new(
        setting: &Setting<'a>,
        measured: &'a [Measured],
        simulated: Option<&JobResults>,
        counted: &Counted,
    ) -> Self {
        let file = setting.file;
        let job = |at: usize| document_of_job(setting, at, &measured[at], simulated.map(|found| &found.jobs[at]));
        Self {
            title: &file.title,
            topology: setting.network.spec(),
            network_fingerprint: setting.network.fingerprint().to_string(),
            profile: setting.profile,
            model: &setting.model.title,
            seed: file.seed,
            placement_seed: file.placement_seed,
            repetitions: setting.repetitions,
            jobs: (0..file.jobs.len()).map(job).collect(),
            links: setting.links.iter().zip(&counted.links).map(|(l, t)| link(l, t, counted.seconds)).collect(),
            counted_seconds: counted.seconds,
        }
    }

    /// For people.
    pub fn text(&self) -> String {
        let heads = ["job", "run", "samples", "mean", "q1", "median", "q3", "99 %"];
        let mut rows = vec![heads.map(String::from).to_vec()];
        for job in &self.jobs {
            let mut row = |run: &str, figures: &FiguresDocument| {
                let mut row = vec![job.name.to_owned(), run.to_owned(), figures.samples.to_string()];
                row.extend(figures.times.iter().flat_map(Times::seconds).map(table::seconds));
                row.resize(heads.len(), "-".into());
                rows.push(row);
            };
            let run = if job.alone.is_some() { "together" } else { "alone" };
            job.alone.iter().for_each(|alone| row("alone", alone));
            row(run, &job.figures);
            if let Some(simulated) = &job.simulated {
                row("alone, simulated", &simulated.alone);
                if job.alone.is_some() {
                    row("together, simulated", &simulated.figures);
                }
            }
        }
        let mut out = format!(
            "{} on {}, profile {}, {}\n\n",
            self.title,
            self.topology,
            self.profile,
            table::count(self.repetitions as usize, "repetition")
        );
        out += &table::list(&rows);
        out.push('\n');
        let busiest = self.links.iter().max_by(|a, b| a.utilisation_share.total_cmp(&b.utilisation_share));
        out += &busiest.map_or(String::new(), |link| {
            format!("busiest link {} -> {}: {}\n", link.from, link.to, table::percent(link.utilisation_share))
        });
        self.jobs.iter().for_each(|job| out += &job.words());
        out
    }
}

impl LabJobDocument<'_> {
    /// `solver: slowdown 1.93 (1.80 to 2.01), simulated 1.90, ratio 1.02`.
    fn words(&self) -> String {
        let Some(slowdown) = &self.slowdown else { return String::new() };
        let each = &self.slowdown_mean_by_repetition;
        let (low, high) = each.iter().fold((f64::MAX, f64::MIN), |(l, h), &s| (l.min(s), h.max(s)));
        let range = if each.len() > 1 { format!(" ({low:.2} to {high:.2})") } else { String::new() };
        let mut line = format!("{}: slowdown of the mean {:.2}{range}", self.name, slowdown.mean());
        let simulated = self.simulated.as_ref().and_then(|s| s.slowdown.as_ref());
        if let (Some(simulated), Some(ratio)) = (simulated, self.slowdown_ratio) {
            line += &format!(", simulated {:.2}, ratio {ratio:.2}", simulated.mean());
        }
        line + "\n"
    }
}

fn link<'a>(link: &'a LabLink, counted: &Traffic, seconds: f64) -> LinkDocument<'a> {
    let capacity = link.rate.bytes() * seconds;
    LinkDocument {
        from: &link.from,
        to: &link.to,
        bytes: counted.bytes,
        dropped_packets: counted.dropped,
        utilisation_share: if capacity > 0.0 { counted.bytes as f64 / capacity } else { 0.0 },
    }
}

fn document_of_job<'a>(
    setting: &Setting<'a>,
    at: usize,
    measured: &'a Measured,
    simulated: Option<&JobResult>,
) -> LabJobDocument<'a> {
    let (entry, hosts) = (&setting.file.jobs[at], &setting.allocation.jobs[at]);
    let nodes = nodes(hosts);
    let of = |ranks: &[RankSamples]| NodeSamples::new(nodes.iter().copied().zip(ranks)).statistics();
    let (alone, together) = (joined(&measured.alone), joined(&measured.together));
    let found = slowdown(&nodes, &alone, &together);
    let each = measured.alone.iter().zip(&measured.together);
    let each = each.filter_map(|(alone, together)| slowdown(&nodes, alone, together));
    let is_compared = !measured.together.is_empty();
    let shown = if is_compared { &together } else { &alone };
    let names = |nodes: &[optiq_net::NodeId]| nodes.iter().map(|&n| setting.network.name(n)).collect();
    let predicted = simulated.and_then(JobResult::slowdown);
    let ratio =
        found.as_ref().zip(predicted.as_ref()).map(|(found, predicted)| found.mean.value / predicted.mean.value);
    LabJobDocument {
        name: &entry.name,
        program: entry.program.to_string(),
        placement: entry.placement.to_string(),
        host_names: names(&hosts.hosts),
        server_names: names(&hosts.servers),
        ranks: hosts.ranks(),
        measured: entry.is_measured,
        figures: FiguresDocument::new(of(shown).as_ref()),
        slowdown: found.as_ref().map(SlowdownDocument::new),
        slowdown_mean_by_repetition: each.map(|s| s.mean.value).collect(),
        alone: (is_compared && !measured.alone.is_empty()).then(|| FiguresDocument::new(of(&alone).as_ref())),
        simulated: simulated.map(|result| document_of_simulated(result, predicted.as_ref().map(SlowdownDocument::new))),
        slowdown_ratio: ratio,
        processes: setting.with_samples.then_some(measured.processes.as_slice()),
    }
}

fn document_of_simulated(result: &JobResult, slowdown: Option<SlowdownDocument>) -> SimulatedDocument {
    let of = |run: &Option<JobRun>| FiguresDocument::new(run.as_ref().and_then(|run| result.statistics(run)).as_ref());
    let shown = if result.together.is_some() { &result.together } else { &result.alone };
    SimulatedDocument { figures: of(shown), slowdown, alone: of(&result.alone) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use optiq_sim::jobs::programs::samples::Sample;
    use optiq_sim::time::Time;

    #[test]
    fn repetitions_are_joined_by_rank() {
        let ranks = |times: &[u64]| -> Vec<RankSamples> {
            let sample = |&ms: &u64| Sample { start: Time::ZERO, duration: Time::picoseconds(ms) };
            times.iter().map(|ms| RankSamples { samples: vec![sample(ms)], complete: None }).collect()
        };
        let all = joined(&[ranks(&[1, 2]), ranks(&[3, 4])]);
        let times = |rank: &RankSamples| rank.samples.iter().map(|s| s.duration.as_picoseconds()).collect::<Vec<_>>();
        assert_eq!(all.iter().map(times).collect::<Vec<_>>(), [vec![1, 3], vec![2, 4]]);
        assert!(joined(&[]).is_empty());
        let hosts = JobHosts { hosts: vec![optiq_net::NodeId(4), optiq_net::NodeId(2)], processes: 2, servers: vec![] };
        assert_eq!(nodes(&hosts), [0, 0, 1, 1]);
    }
}

//! How much users feel congestion that others make, on every preset of the simulator: what `optiq congestion` prints, with the fabric's own
//! routes and with adaptive ones where the network has several ways.

use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::selection::Selection;
use optiq_net::Network;
use optiq_sim::jobs::congestion::{CONGESTOR_SHARE, CongestionOptions, CongestionTable, congestion};
use optiq_sim::{Model, Policy};
use optiq_view::table::seconds;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::thread;
use std::time::Instant;

/// A network and how much is simulated of it: operations of each victim that are measured, and how many come before.
struct Subject {
    topology: &'static str,
    samples: u32,
    warmup: u32,
}

const fn subject(topology: &'static str, samples: u32, warmup: u32) -> Subject {
    Subject { topology, samples, warmup }
}

/// The presets. Large networks have many victims, and few operations of each.
const SUBJECTS: &[Subject] = &[
    subject("star:64", 30, 10),
    subject("fattree:k=8", 30, 10),
    subject("fattree:brown1296", 2, 3),
    subject("bgq:512", 1, 1),
    subject("torus:8x8x8", 5, 5),
    subject("dragonfly:5586", 1, 1),
    subject("dragonfly+:3456", 1, 1),
];

/// A victim's times and impacts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VictimRow {
    victim: String,
    isolated_mean_seconds: f64,
    isolated_p99_seconds: f64,
    /// By congestor, in the order of [`CongestionCase::congestors`]: the mean over that alone, and the 99th percentile.
    impacts: Vec<[f64; 2]>,
}

/// A network with a routing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CongestionCase {
    topology: String,
    model: String,
    routing: String,
    victim_hosts: usize,
    congestor_hosts: usize,
    samples: u32,
    warmup: u32,
    /// The names of congestors.
    congestors: Vec<String>,
    victims: Vec<VictimRow>,
    /// How long all 15 simulations took together.
    simulation_seconds: f64,
}

/// What was simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CongestionContent {
    cases: Vec<CongestionCase>,
}

/// The names that `--cases` takes.
pub fn case_names() -> Vec<String> {
    SUBJECTS.iter().map(|subject| subject.topology.to_owned()).collect()
}

/// Simulates the selected networks.
///
/// # Errors
/// What the simulator reports.
pub fn run(selection: &Selection) -> Result<CongestionContent, Failure> {
    let mut cases = Vec::new();
    for subject in SUBJECTS.iter().filter(|subject| selection.includes(subject.topology)) {
        let network = Network::from_spec(subject.topology)?;
        let model = Model::for_network(&network);
        for routing in [Policy::Fabric].into_iter().chain(Policy::adaptive_of(&network)) {
            eprintln!("    {} {routing}", subject.topology);
            let started = Instant::now();
            let options = CongestionOptions {
                samples: subject.samples,
                warmup: subject.warmup,
                routing,
                threads: thread::available_parallelism().map_or(1, usize::from),
                ..CongestionOptions::default()
            };
            let found = congestion(&network, &model, &options)?;
            let took = started.elapsed().as_secs_f64();
            cases.push(CongestionCase::new(subject, &model, routing, (&found, took)));
        }
    }
    Ok(CongestionContent { cases })
}

impl CongestionCase {
    fn new(subject: &Subject, model: &Model, routing: Policy, (found, took): (&CongestionTable, f64)) -> Self {
        let congestors = found.results.first().map_or(&[][..], |result| &result.congested);
        let row = |result: &optiq_sim::jobs::congestion::VictimResult| VictimRow {
            victim: result.victim.name().into(),
            isolated_mean_seconds: result.isolated.mean,
            isolated_p99_seconds: result.isolated.p99,
            impacts: result.congested.iter().map(|c| [c.impact_mean, c.impact_p99]).collect(),
        };
        Self {
            topology: subject.topology.into(),
            model: model.title.clone(),
            routing: routing.to_string(),
            victim_hosts: found.victims,
            congestor_hosts: found.congestors,
            samples: subject.samples,
            warmup: subject.warmup,
            congestors: congestors.iter().map(|c| c.congestor.name().into()).collect(),
            victims: found.results.iter().map(row).collect(),
            simulation_seconds: took,
        }
    }

    fn section(&self) -> String {
        let mut table = TextTable::new(&["test<", "alone, mean", "99 %"]);
        for name in &self.congestors {
            table.head.extend([format!("{name}: mean"), "99 %".into()]);
            table.words.extend([false; 2]);
        }
        for victim in &self.victims {
            let mut row = vec![
                victim.victim.clone(),
                seconds(victim.isolated_mean_seconds),
                seconds(victim.isolated_p99_seconds),
            ];
            row.extend(victim.impacts.iter().flatten().map(|impact| format!("{impact:.2} x")));
            table.rows.push(row);
        }
        format!(
            "\n## `{}`, routing `{}`\n\n{}; {} victims and {} congestors; {} operations of each victim after {}; 15 simulations in {:.0} s.\n\n{}",
            self.topology,
            self.routing,
            self.model,
            self.victim_hosts,
            self.congestor_hosts,
            self.samples,
            self.warmup,
            self.simulation_seconds,
            table.markdown()
        )
    }

    /// The largest impact at the mean.
    fn worst(&self) -> f64 {
        self.victims.iter().flat_map(|victim| &victim.impacts).map(|impact| impact[0]).fold(0.0, f64::max)
    }
}

impl CongestionContent {
    /// Of the page.
    pub const TITLE: &'static str = "Congestion tables of the simulator's presets";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let mut page = format!(
            "`optiq congestion`: {:.0} % of the hosts, at random, make congestion of one kind, and the others measure latency (8 B) and bandwidth \
             (128 KiB) in a random ring and an allreduce (8 B), as GPCNeT does. An impact is the time of an operation beside the congestor over that without, \
             at the mean and at the 99th percentile. All are simulated, from one seed, with the fabric's own routes and, where a network \
             has several ways, with adaptive routing. Routers serve the packet that came first, not the round robin of other pages, by which \
             runs on saturated switches do not end (decision 046). The two incasts differ where a model's hosts take time for a message or \
             ask before they send 4 KiB. To limit the cost, victims of large networks have few operations: then there are \
             many victims, but congestion is younger than after the ten operations of warm-up that the command has, so that impacts are \
             lower than they become. No figure here was compared with a machine.\n\n",
            CONGESTOR_SHARE * 100.0
        );
        let mut table = TextTable::new(&["network<", "routing<", "hosts", "largest impact at the mean"]);
        for case in &self.cases {
            table.rows.push(vec![
                format!("`{}`", case.topology),
                format!("`{}`", case.routing),
                (case.victim_hosts + case.congestor_hosts).to_string(),
                format!("{:.2} x", case.worst()),
            ]);
        }
        page += &table.markdown();
        self.cases.iter().for_each(|case| page += &case.section());
        let took: f64 = self.cases.iter().map(|case| case.simulation_seconds).sum();
        // Writing to a string does not fail.
        let _ = write!(page, "\nAll simulations took {took:.0} s.\n");
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_every_network_and_its_impacts() {
        let case = CongestionCase {
            topology: "star:64".into(),
            model: "a model".into(),
            routing: "fabric".into(),
            victim_hosts: 13,
            congestor_hosts: 51,
            samples: 30,
            warmup: 10,
            congestors: vec!["alltoall".into(), "put incast".into()],
            victims: vec![VictimRow {
                victim: "allreduce (8 B)".into(),
                isolated_mean_seconds: 2e-6,
                isolated_p99_seconds: 3e-6,
                impacts: vec![[1.5, 2.25], [1.0, 1.0]],
            }],
            simulation_seconds: 2.0,
        };
        let page = CongestionContent { cases: vec![case.clone(), case] }.body();
        assert!(page.contains("| 1.50 x | 2.25 x | 1.00 x | 1.00 x |"), "{page}");
        assert!(page.contains("| `star:64` | `fabric` | 64 | 1.50 x |") && page.contains("took 4 s"), "{page}");
    }
}

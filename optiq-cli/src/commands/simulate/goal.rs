//! `optiq simulate --goal`: an application's communication, replayed.

use super::checkpoint;
use super::document::{Quantiles, end_of, waiting_most};
use super::queues::Fullest;
use super::report::Page;
use super::results::Targets;
use super::shown::Shown;
use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::progress::Progress;
use optiq_net::Network;
use optiq_sim::time::Time;
use optiq_sim::workload::goal::replay::{Replayed, replay};
use optiq_sim::workload::goal::schedule::Goal;
use optiq_sim::{Checkpoints, End, Model, RunOptions};
use optiq_view::table;
use serde::Serialize;
use std::path::Path;
use std::process::ExitCode;

/// Its keys are a contract with scripts.
#[derive(Serialize)]
struct ReplayDocument<'a> {
    topology: &'a str,
    network_fingerprint: String,
    goal: String,
    model: &'a Model,
    ranks: u32,
    operations: u64,
    end: &'static str,
    complete: bool,
    /// When the last rank was done.
    seconds: f64,
    first_rank_done_seconds: f64,
    messages: u64,
    payload_bytes: u64,
    packets: u64,
    events: u64,
    message_latency_seconds: Quantiles,
    link_bytes_max: u64,
    unreceived_messages: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    waiting_bytes_most: Option<u64>,
    #[serde(flatten)]
    fullest: Fullest,
    #[serde(skip_serializing_if = "Option::is_none")]
    series_interval_seconds: Option<f64>,
    outcome_fingerprint: String,
    simulation_seconds: f64,
}

/// What is read and written.
pub struct Files<'a> {
    pub schedule: &'a Path,
    pub checkpoints: &'a checkpoint::Files,
    pub targets: &'a Targets,
}

/// Replays a schedule and prints what it took.
pub fn run(
    net: &Network,
    model: &Model,
    files: &Files<'_>,
    options: &RunOptions<'_>,
    json: bool,
    progress: Progress,
) -> Result<ExitCode, Failure> {
    let &Files { schedule: file, checkpoints, targets } = files;
    progress.now(format!("reading {}", file.display()));
    let goal = Goal::read(file)?;
    progress.now(format!("replaying {}", file.display()));
    let keep = |bytes: &[u8]| checkpoints.keep(bytes);
    let options = RunOptions {
        checkpoints: checkpoints.wanted().map(|every| Checkpoints { every, keep: &keep }),
        resume: checkpoints.resume(),
        ..*options
    };
    let replayed = replay(net, model, &goal, &options).map_err(|e| checkpoints.named(e))?;
    let Replayed { finish, unreceived, outcome: o } = &replayed;
    let complete = o.end == End::Finished;
    let last = finish.iter().copied().max().unwrap_or(Time::ZERO);
    let time = if complete { last } else { o.time };
    let document = ReplayDocument {
        topology: net.spec(),
        network_fingerprint: net.fingerprint().to_string(),
        goal: file.display().to_string(),
        model,
        ranks: goal.ranks(),
        operations: goal.len() as u64,
        end: end_of(o.end),
        complete,
        seconds: time.seconds(),
        first_rank_done_seconds: finish.iter().copied().min().unwrap_or(Time::ZERO).seconds(),
        messages: o.messages,
        payload_bytes: o.payload_bytes,
        packets: o.packets,
        events: o.events,
        message_latency_seconds: Quantiles::of(&o.message_latency),
        link_bytes_max: o.link_bytes.iter().copied().max().unwrap_or(0),
        unreceived_messages: unreceived.len(),
        waiting_bytes_most: waiting_most(o),
        fullest: Fullest::of(o),
        series_interval_seconds: o.series.as_ref().map(|series| series.interval.seconds()),
        outcome_fingerprint: o.fingerprint().to_string(),
        simulation_seconds: o.wall_seconds,
    };
    let partial = (!complete).then_some(document.end);
    // Of a schedule that was ended early it is not known which ranks have operations left.
    let done = if complete { &finish[..] } else { &[] };
    let (name, seconds) = ("goal", document.seconds);
    let runs = [Shown { name, partial, seconds, done, bound: None, demanded: None, outcome: o }];
    let page = Page {
        heading: format!("{} on {}", document.goal, document.topology),
        subtitle: format!("model {}; routing {}", model.title, options.routing),
        figures: &document.rows(),
        runs: &runs,
    };
    targets.write(net, model, &page)?;
    drop(progress);
    if json {
        output::print_json(Schema::SimulateGoal, &document)?
    } else {
        output::print(&document.text(&checkpoints.hint()))?
    }
    Ok(if complete { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

impl ReplayDocument<'_> {
    /// All figures, for people.
    fn rows(&self) -> Vec<Vec<String>> {
        let mut rows = vec![
            ("", "goal".to_owned()),
            ("ranks", self.ranks.to_string()),
            ("operations", self.operations.to_string()),
            (
                "time",
                if self.complete {
                    table::seconds(self.seconds)
                } else {
                    format!("over {}", table::seconds(self.seconds))
                },
            ),
            ("first rank done", table::seconds(self.first_rank_done_seconds)),
            ("messages", self.messages.to_string()),
            ("bytes", table::bytes(self.payload_bytes as f64)),
            ("message latency, median", table::seconds(self.message_latency_seconds.median)),
            ("message latency, 99 %", table::seconds(self.message_latency_seconds.p99)),
            ("bytes on the busiest link", table::bytes(self.link_bytes_max as f64)),
            ("messages not received", self.unreceived_messages.to_string()),
            ("packets", self.packets.to_string()),
            ("events", self.events.to_string()),
            ("simulated in", table::seconds(self.simulation_seconds)),
        ];
        if let Some(most) = self.waiting_bytes_most {
            rows.insert(rows.len() - 1, ("most waiting at a link's end", table::bytes(most as f64)));
        }
        for (name, most) in self.fullest.rows().filter_map(|(name, most)| Some((name, most?))) {
            rows.insert(rows.len() - 1, (name, most));
        }
        rows.into_iter().map(|(name, value)| vec![name.to_owned(), value]).collect()
    }

    fn text(&self, hint: &str) -> String {
        // There is one column, which needs no name.
        let rows = table::table(&self.rows()[1..]);
        let mut text = format!("{} on {}; model {}\n\n{rows}", self.goal, self.topology, self.model.title);
        if !self.complete {
            text.push_str(&format!("\nended before the schedule did ({}); its figures are partial\n{hint}", self.end));
        }
        text
    }
}

//! `optiq sweep --plan-only`: how much there is to do.
//!
//! Packets are counted of some runs, which lie evenly among all, by what their jobs are to send; the others are taken to have as many
//! on average. The simulator's speed is that of the first seconds of the middle one of them.

use super::document::PlanDocument;
use super::execute::identify;
use super::store::Store;
use super::summary;
use crate::failure::Failure;
use crate::progress::Progress;
use optiq_sim::jobs::run::Which;
use optiq_sim::jobs::sweep::file::Sweep;
use optiq_sim::jobs::sweep::plan::{packets, packets_per_second};
use optiq_view::table;
use std::fmt::Write;
use std::time::Duration;

/// Of how many runs packets are counted.
const COUNTED: u64 = 24;
/// How long the simulator's speed is measured.
const MEASURED: Duration = Duration::from_secs(3);
/// Up to this number of runs it is looked whether they are finished; larger sweeps are taken to be at their beginning.
const LOOKED_FOR: u64 = 100_000;

pub fn plan(
    sweep: &Sweep,
    (which, threads): (Which, usize),
    store: &Store,
    progress: &Progress,
) -> Result<PlanDocument, Failure> {
    let runs = sweep.runs();
    let (mut finished, mut at_hand) = (0, None);
    if runs <= LOOKED_FOR && store.folder().is_dir() {
        for run in 0..runs {
            progress.now(format!("looking for run {run} of {runs}"));
            let (.., name) = identify(sweep, which, run, &mut at_hand)?;
            finished += u64::from(store.has(&name));
        }
    }
    let counted = runs.min(COUNTED);
    let of = |i: u64| if counted > 1 { i * (runs - 1) / (counted - 1) } else { 0 };
    let mut sum = 0.0;
    for i in 0..counted {
        progress.now(format!("counting packets of run {}", of(i)));
        let (file, machine, _) = identify(sweep, which, of(i), &mut at_hand)?;
        sum += packets(&file, &machine, which)?;
    }
    let left = runs - finished;
    let expected_packets = sum / counted as f64 * left as f64;
    let packets_per_second = if left > 0 {
        let (file, machine, _) = identify(sweep, which, of(counted / 2), &mut at_hand)?;
        progress.now("measuring the simulator");
        packets_per_second(&file, &machine, MEASURED)?
    } else {
        None
    };
    let at_once = threads.min(usize::try_from(left).unwrap_or(usize::MAX)).max(1);
    Ok(PlanDocument {
        title: sweep.job_file(0)?.title,
        file: sweep.label().to_owned(),
        lists: summary::lists(sweep),
        runs,
        finished,
        expected_packets,
        threads,
        packets_per_second,
        expected_seconds: packets_per_second.map(|rate| expected_packets / rate / at_once as f64),
        counted_runs: counted as usize,
    })
}

impl PlanDocument {
    pub fn text(&self) -> String {
        let lists: Vec<String> = self.lists.iter().map(|list| format!("{} {}", list.values.len(), list.name)).collect();
        let product = if lists.is_empty() { String::new() } else { format!(" ({})", lists.join(" x ")) };
        let mut out = format!(
            "{}: {}{product}, {} finished\n",
            self.title,
            table::count(self.runs as usize, "run"),
            self.finished
        );
        let counted = table::count(self.counted_runs, "run");
        // Writing to a string does not fail.
        let _ = writeln!(out, "about {:.3e} packets, counted of {counted}", self.expected_packets);
        if let (Some(rate), Some(seconds)) = (self.packets_per_second, self.expected_seconds) {
            let threads = table::count(self.threads, "thread");
            let time = table::seconds(seconds);
            let _ = writeln!(
                out,
                "about {time} on {threads}, at {rate:.3e} packets a second each, measured on this machine just now"
            );
        }
        out
    }
}

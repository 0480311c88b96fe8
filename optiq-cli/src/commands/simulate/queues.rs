//! What waited in each queue: a CSV file of each interval of time, and tables of the fullest ones.

use super::shown::{Shown, width};
use crate::csv::quoted;
use optiq_net::Network;
use optiq_sim::time::Time;
use optiq_sim::{Outcome, QueueKind, QueueSeries, Series};
use optiq_view::report::QueueTable;
use optiq_view::table;
use serde::Serialize;
use std::io::{self, Write};

/// Rows of a table.
const FULLEST: usize = 12;

/// Each kind: what it is called in files, one and several of them for people, and the figure of the fullest one.
const KINDS: [(QueueKind, &str, &str, &str, &str); 3] = [
    (QueueKind::Input, "input-buffer", "buffer", "buffers at links' ends", "most waiting in one buffer"),
    (QueueKind::Injection, "injection-buffer", "buffer", "buffers from memory", "most waiting to enter a router"),
    (QueueKind::Memory, "memory", "queue", "queues in memory", "most waiting in a host's memory"),
];

/// The most bytes that ever waited in one queue, if it is known.
#[derive(Serialize)]
pub struct Fullest {
    /// In the buffer of a virtual channel, at the end of a link's lane.
    #[serde(skip_serializing_if = "Option::is_none")]
    input_buffer_bytes_most: Option<u64>,
    /// Between a host's memory and its router, where hosts are joined directly.
    #[serde(skip_serializing_if = "Option::is_none")]
    injection_buffer_bytes_most: Option<u64>,
    /// In a host's memory, in front of its network.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_queue_bytes_most: Option<u64>,
}

impl Fullest {
    /// Of a run.
    pub fn of(outcome: &Outcome) -> Self {
        let most = |kind: QueueKind| {
            let queues = outcome.series.as_ref()?.queues.as_ref()?.iter();
            Some(queues.filter(|queue| queue.kind == kind).map(QueueSeries::most).max().unwrap_or(0))
        };
        Self {
            input_buffer_bytes_most: most(QueueKind::Input),
            injection_buffer_bytes_most: most(QueueKind::Injection),
            memory_queue_bytes_most: most(QueueKind::Memory),
        }
    }

    /// For people: what the figures are called, and what they are.
    pub fn rows(&self) -> impl Iterator<Item = (&'static str, Option<String>)> + use<> {
        let most = [self.input_buffer_bytes_most, self.injection_buffer_bytes_most, self.memory_queue_bytes_most];
        let cell = |most: Option<u64>| most.map(|most| table::bytes(most as f64));
        KINDS.into_iter().zip(most).map(move |(kind, most)| (kind.4, cell(most)))
    }
}

/// What a queue is called in files.
fn kind_of(queue: &QueueSeries) -> &'static str {
    KINDS.iter().find(|kind| kind.0 == queue.kind).map_or("", |kind| kind.1)
}

/// A line for each run, interval and queue that held something, if only for a moment.
pub fn write(out: &mut dyn Write, net: &Network, runs: &[Shown<'_>]) -> io::Result<()> {
    let (place, waiting) = ("queue,from,to,lane,virtual_channel", "waiting_bytes,waiting_bytes_most");
    writeln!(out, "run,start_seconds,interval_seconds,{place},{waiting}")?;
    for run in runs {
        let Some(series) = &run.outcome.series else { continue };
        let Some(queues) = &series.queues else { continue };
        for at in 0..series.bytes.len() {
            let start = (series.interval * at as u64).seconds();
            let long = width(series, at, run.outcome.time).seconds();
            for queue in queues.iter().filter(|queue| queue.waiting_most[at] > 0) {
                let QueueSeries { lane, virtual_channel, waiting_bytes, waiting_most, .. } = queue;
                // A host's only queue leads to no link in particular.
                let to = queue.link.map_or("", |link| net.name(net.link(link).to));
                let (from, to) = (quoted(net.name(queue.from)), quoted(to));
                let place = format!("{},{from},{to},{lane},{virtual_channel}", kind_of(queue));
                let (mean, most) = (waiting_bytes[at], waiting_most[at]);
                writeln!(out, "{},{start:.12},{long:.12},{place},{mean},{most}", quoted(run.name))?;
            }
        }
    }
    Ok(())
}

/// The fullest queues of a run, as tables of a page, one for each kind that there is.
pub fn tables(net: &Network, run: &Shown<'_>) -> Option<Vec<QueueTable>> {
    let series = run.outcome.series.as_ref()?;
    let queues = series.queues.as_ref()?;
    let mut tables = Vec::new();
    for (kind, _, one, several, _) in KINDS {
        let mut all: Vec<&QueueSeries> = queues.iter().filter(|queue| queue.kind == kind).collect();
        if all.is_empty() {
            continue;
        }
        // Those alike stay in the order of the network.
        all.sort_by_key(|queue| std::cmp::Reverse(queue.most()));
        let shown = all.len().min(FULLEST);
        let heading = match all.len() {
            n if shown < n => format!("{shown} of {n} {several} that had something wait"),
            n => format!("{n} {several} that had something wait"),
        };
        let row = |queue: &&QueueSeries| {
            let mean = table::bytes(mean(series, queue, run.outcome.time));
            vec![place(net, queue), table::bytes(queue.most() as f64), mean]
        };
        let rows = all[..shown].iter().map(row).collect();
        tables.push(QueueTable { heading, heads: [one, "most", "mean"], rows });
    }
    Some(tables)
}

/// What waits in a queue, on average over a run.
fn mean(series: &Series, queue: &QueueSeries, end: Time) -> f64 {
    let long = |at: usize| width(series, at, end).seconds();
    let sum: f64 = queue.waiting_bytes.iter().enumerate().map(|(at, &bytes)| bytes as f64 * long(at)).sum();
    sum / end.max(Time::PICOSECOND).seconds()
}

/// Where a queue is, for people.
fn place(net: &Network, queue: &QueueSeries) -> String {
    let mut text = net.name(queue.from).to_owned();
    let link = queue.link.map(|link| net.link(link));
    if let Some(link) = link {
        text.push_str(&format!(" \u{2192} {}", net.name(link.to)));
    }
    match queue.kind {
        QueueKind::Input => {
            if link.is_some_and(|link| link.lanes > 1) {
                text.push_str(&format!(", lane {}", queue.lane));
            }
            text.push_str(&format!(", virtual channel {}", queue.virtual_channel));
        }
        QueueKind::Injection if link.is_none() => {
            text.push_str(&format!(", virtual channel {}", queue.virtual_channel))
        }
        QueueKind::Injection | QueueKind::Memory => {}
    }
    text
}

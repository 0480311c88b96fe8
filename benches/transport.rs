//! What moving chunks costs apart from any network: `cargo bench --bench transport [-- --json]`.
//!
//! - *In-process*: one thread per rank over [`mesh`], a channel for each rank. Each chunk is allocated and copied once
//!   on every leg and copied again on arrival, so large chunks show the memory's speed, small ones the overhead.
//! - *Scheduler*: the state machines of all ranks, stepped by one thread; every chunk that is sent has arrived at once,
//!   and no byte is touched. This rate is the upper limit of any transport.
//!
//! Chunks and bytes count when they are delivered, however many legs they took.

mod common;

use common::{Document, Subject, in_turn, table};
use optiq_transport::{
    ChunkRule, ExecuteOptions, Memory, Path, PathId, QueueOrder, Rank, Schedule, ScheduleOptions, Scheduler,
    TransportError, execute, mesh,
};
use serde::Serialize;
use std::process::ExitCode;
use std::sync::Barrier;
use std::time::Instant;

const KIB: u64 = 1024;
/// Chunk sizes of the in-process exchanges, with the bytes of each path: 1,024 chunks and more take long enough.
const CHUNKS: [(u64, u64); 2] = [(4 * KIB, 16 << 20), (64 * KIB, 64 << 20)];
/// Chunks of all paths together that the bare schedulers move.
const SCHEDULED: u64 = 1 << 18;

/// Paths that are measured: what they are, and the ranks of each.
const CASES: [(&str, &[&[u32]]); 4] = [
    ("1 path of 1 leg", &[&[0, 1]]),
    ("1 path of 2 legs", &[&[0, 1, 2]]),
    ("2 paths of 1 and 2 legs", &[&[0, 2], &[0, 1, 2]]),
    ("2 paths of 2 legs", &[&[0, 1, 3], &[0, 2, 3]]),
];

#[derive(Serialize)]
struct Transport {
    repetitions: usize,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    /// `in-process` or `scheduler`.
    what: &'static str,
    paths: String,
    ranks: u32,
    chunk_bytes: u64,
    chunks: u64,
    seconds: f64,
    chunks_per_second: f64,
    /// `None` where no byte moves.
    bytes_per_second: Option<f64>,
}

fn main() -> ExitCode {
    common::main("transport", 7, measure)
}

/// An exchange, and where its times belong.
struct Exchange {
    what: &'static str,
    title: String,
    chunk: u64,
    paths: Vec<Path>,
    schedules: Vec<Schedule>,
}

fn measure(repetitions: usize) -> Result<Transport, String> {
    let mut exchanges = Vec::new();
    for (title, chains) in CASES {
        for (chunk, bytes) in CHUNKS {
            exchanges.push(Exchange::new("in-process", title.into(), paths(chains, 1, bytes), chunk)?);
        }
    }
    for (title, chains) in CASES {
        let total = SCHEDULED * 64 * KIB;
        exchanges.push(Exchange::new("scheduler", title.into(), paths(chains, 1, total), 64 * KIB)?);
    }
    let (title, chains) = CASES[CASES.len() - 1];
    let many = paths(chains, 32, SCHEDULED * 64 * KIB);
    exchanges.push(Exchange::new("scheduler", format!("32 times {title}"), many, 64 * KIB)?);

    let subject =
        |exchange| -> Subject<'_> { Box::new(move || Exchange::seconds(exchange).map_err(|e| e.to_string())) };
    let mut subjects: Vec<Subject<'_>> = exchanges.iter().map(subject).collect();
    let seconds = in_turn(repetitions, &mut subjects)?;
    drop(subjects);
    let rows = exchanges.into_iter().zip(seconds).map(|(exchange, seconds)| exchange.row(seconds)).collect();
    Ok(Transport { repetitions, rows })
}

/// Each chain of ranks `copies` times, so that all paths together carry `total` bytes, in equal parts.
fn paths(chains: &[&[u32]], copies: usize, total: u64) -> Vec<Path> {
    let n = (chains.len() * copies) as u64;
    let bytes = total / n;
    let path = |(id, chain): (u64, &&[u32])| Path {
        id: PathId(id as u32),
        ranks: chain.iter().copied().map(Rank).collect(),
        bytes,
        source_offset: id * bytes,
        destination_offset: id * bytes,
        starts_at: None,
        class: 0,
    };
    (0..n).zip(chains.iter().cycle()).map(path).collect()
}

impl Exchange {
    fn new(what: &'static str, title: String, paths: Vec<Path>, chunk: u64) -> Result<Self, String> {
        let ranks = paths.iter().flat_map(|p| &p.ranks).max().map_or(0, |last| last.0 + 1);
        let options = ScheduleOptions { chunk: ChunkRule::Fixed(chunk), ..ScheduleOptions::default() };
        let schedules: Result<Vec<_>, _> =
            (0..ranks).map(|r| Schedule::new(Rank(r), ranks, &paths, &options)).collect();
        Ok(Exchange { what, title, chunk, paths, schedules: schedules.map_err(|e| e.to_string())? })
    }

    fn seconds(&self) -> Result<f64, TransportError> {
        match self.what {
            "scheduler" => self.step(),
            _ => self.threads(),
        }
    }

    /// Over the in-process transport: from the moment at which all ranks are ready until the last one is done.
    fn threads(&self) -> Result<f64, TransportError> {
        let barrier = Barrier::new(self.schedules.len());
        let one = |mut end, schedule: &Schedule| {
            // Touched before, so that no page is mapped while the time runs.
            let send = vec![1u8; schedule.send_bytes() as usize];
            let mut receive = vec![2u8; schedule.receive_bytes() as usize];
            let memory = Memory::new(&send, &mut receive);
            barrier.wait();
            let start = Instant::now();
            execute(&mut end, schedule, &ExecuteOptions::default(), &memory)?;
            Ok(start.elapsed().as_secs_f64())
        };
        std::thread::scope(|scope| {
            let ends = mesh(self.schedules.len() as u32);
            let start = |(end, schedule)| scope.spawn(move || one(end, schedule));
            let threads: Vec<_> = ends.into_iter().zip(&self.schedules).map(start).collect();
            let all = threads.into_iter().map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            all.collect::<Result<Vec<f64>, _>>().map(|seconds| seconds.into_iter().fold(0.0, f64::max))
        })
    }

    /// Over nothing: what a rank sends, its receiver has in the next step.
    fn step(&self) -> Result<f64, TransportError> {
        let start = Instant::now();
        let mut ranks: Vec<Scheduler<&Schedule>> =
            self.schedules.iter().map(|s| Scheduler::new(s, QueueOrder::default())).collect();
        let (mut chunks, mut credits) = (Vec::new(), Vec::new());
        while !ranks.iter().all(Scheduler::is_done) {
            for (rank, scheduler) in ranks.iter_mut().enumerate() {
                while scheduler.poll_post().is_some() {}
                while let Some(t) = scheduler.poll_transmit() {
                    chunks.push((rank, t.to.index(), t.header.path, t.header.sequence));
                }
                credits.extend(std::iter::from_fn(|| scheduler.poll_credit()));
            }
            for (from, to, path, sequence) in chunks.drain(..) {
                ranks[to].handle_received(path, sequence)?;
                ranks[from].handle_sent(path, sequence)?;
            }
            for credit in credits.drain(..) {
                ranks[credit.to.index()].handle_credit(credit.path, credit.chunks)?;
            }
        }
        Ok(start.elapsed().as_secs_f64())
    }

    fn row(self, seconds: f64) -> Row {
        let bytes: u64 = self.paths.iter().map(|p| p.bytes).sum();
        let chunks: u64 = self.paths.iter().map(|p| p.bytes.div_ceil(self.chunk)).sum();
        Row {
            what: self.what,
            paths: self.title,
            ranks: self.schedules.len() as u32,
            chunk_bytes: self.chunk,
            chunks,
            seconds,
            chunks_per_second: chunks as f64 / seconds,
            bytes_per_second: (self.what != "scheduler").then_some(bytes as f64 / seconds),
        }
    }
}

impl Document for Transport {
    fn text(&self) -> String {
        let cells = |r: &Row| {
            vec![
                r.what.into(),
                r.paths.clone(),
                r.ranks.to_string(),
                format!("{} KiB", r.chunk_bytes / KIB),
                format!("{:.1}", r.seconds * 1e3),
                format!("{:.0}", r.chunks_per_second / 1e3),
                r.bytes_per_second.map_or_else(String::new, |b| format!("{:.2}", b / 1e9)),
            ]
        };
        let heads = ["", "paths", "ranks", "chunk", "ms", "1,000 chunks/s", "GB/s"];
        let rows: Vec<Vec<String>> = self.rows.iter().map(cells).collect();
        format!("medians of {} repetitions\n\n{}", self.repetitions, table(2, &heads, &rows))
    }
}

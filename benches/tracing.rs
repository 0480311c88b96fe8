//! What a trace costs: `cargo bench --bench tracing [-- --json]`.
//!
//! The same exchanges over threads with and without [`Traced`], in turn. *Paced* links are as slow as a network, which is
//! where traces are made: what counts is whether the exchange takes longer. *Unpaced* there is nothing but copies and
//! hand-overs, so that all that a trace does shows.

mod common;

use common::{Document, Subject, in_turn, table};
use optiq_trace::{Clock, DEFAULT_EVENTS, TraceOptions, Tracer};
use optiq_transport::{
    ChunkRule, ExecuteOptions, InProcess, LinkMap, Memory, Path, PathId, Rank, Schedule, ScheduleOptions, Traced,
    Transport, execute, mesh, paced_mesh,
};
use serde::Serialize;
use std::process::ExitCode;
use std::sync::Barrier;
use std::time::Instant;
use tempfile::TempDir;

/// Chunk size, bytes of all paths together, bytes per second of each rank's outgoing link or none.
const CASES: [(u64, u64, Option<f64>); 3] =
    [(64 << 10, 24 << 20, Some(100e6)), (64 << 10, 128 << 20, None), (4 << 10, 32 << 20, None)];
/// Directly, and over a forwarder.
const CHAINS: [&[Rank]; 2] = [&[Rank(0), Rank(2)], &[Rank(0), Rank(1), Rank(2)]];
const RANKS: u32 = 3;

#[derive(Serialize)]
struct Tracing {
    repetitions: usize,
    rows: Vec<Row>,
}

#[derive(Serialize)]
struct Row {
    links: &'static str,
    chunk_bytes: u64,
    bytes: u64,
    without_seconds: f64,
    with_seconds: f64,
    ratio: f64,
}

fn main() -> ExitCode {
    common::main("tracing", 15, measure)
}

/// Every rank has one link, which all that it sends takes.
struct Outgoing(Vec<f64>);

impl LinkMap for Outgoing {
    fn rates(&self) -> &[f64] {
        &self.0
    }

    fn links(&self, from: Rank, _: Rank) -> &[u32] {
        &[[0], [1], [2]][from.index()]
    }
}

fn measure(repetitions: usize) -> Result<Tracing, String> {
    let directory = TempDir::with_prefix("optiq-bench-tracing-").map_err(|e| e.to_string())?;
    let mut subjects: Vec<Subject<'_>> = Vec::new();
    for (chunk, total, rate) in CASES {
        for traced in [false, true] {
            let directory = directory.path();
            subjects.push(Box::new(move || seconds(chunk, total, rate, traced.then_some(directory))));
        }
    }
    let seconds = in_turn(repetitions, &mut subjects)?;
    drop(subjects);
    let row = |((chunk_bytes, bytes, rate), pair): (&(u64, u64, Option<f64>), &[f64])| Row {
        links: if rate.is_some() { "paced" } else { "unpaced" },
        chunk_bytes: *chunk_bytes,
        bytes: *bytes,
        without_seconds: pair[0],
        with_seconds: pair[1],
        ratio: pair[1] / pair[0],
    };
    Ok(Tracing { repetitions, rows: CASES.iter().zip(seconds.chunks(2)).map(row).collect() })
}

/// From the moment at which all ranks are ready until the last one is done.
fn seconds(chunk: u64, total: u64, rate: Option<f64>, directory: Option<&std::path::Path>) -> Result<f64, String> {
    let bytes = total / CHAINS.len() as u64;
    let path = |(id, ranks): (u32, &&[Rank])| Path {
        id: PathId(id),
        ranks: ranks.to_vec(),
        bytes,
        source_offset: u64::from(id) * bytes,
        destination_offset: u64::from(id) * bytes,
        starts_at: None,
        class: 0,
    };
    let paths: Vec<Path> = (0..).zip(&CHAINS).map(path).collect();
    let options = ScheduleOptions { chunk: ChunkRule::Fixed(chunk), ..ScheduleOptions::default() };
    let ends = match rate {
        None => mesh(RANKS),
        Some(rate) => paced_mesh(RANKS, Box::new(Outgoing(vec![rate; RANKS as usize]))),
    };
    let barrier = Barrier::new(ends.len());
    let clock = Clock::start();
    let one = |end: InProcess, rank: Rank| -> Result<f64, String> {
        let schedule = Schedule::new(rank, RANKS, &paths, &options).map_err(|e| e.to_string())?;
        // Touched before, so that no page is mapped while the time runs.
        let send = vec![1u8; schedule.send_bytes() as usize];
        let mut receive = vec![2u8; schedule.receive_bytes() as usize];
        let memory = Memory::new(&send, &mut receive);
        let mut end: Box<dyn Transport> = Box::new(end);
        if let Some(directory) = directory {
            let (directory, events, ranks) = (directory.to_owned(), DEFAULT_EVENTS, RANKS);
            let options = TraceOptions { directory, events, session: 1, rank, ranks, clock };
            let tracer = Tracer::create(&options, end.name()).map_err(|e| e.to_string())?;
            end = Box::new(Traced::new(end, tracer));
        }
        barrier.wait();
        let start = Instant::now();
        execute(&mut *end, &schedule, &ExecuteOptions::default(), &memory).map_err(|e| e.to_string())?;
        Ok(start.elapsed().as_secs_f64())
    };
    std::thread::scope(|scope| {
        let one = &one;
        let start = |(end, rank)| scope.spawn(move || one(end, rank));
        let threads: Vec<_> = ends.into_iter().zip((0..).map(Rank)).map(start).collect();
        let all = threads.into_iter().map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        all.collect::<Result<Vec<f64>, _>>().map(|seconds| seconds.into_iter().fold(0.0, f64::max))
    })
}

impl Document for Tracing {
    fn text(&self) -> String {
        let cells = |r: &Row| {
            vec![
                r.links.into(),
                format!("{} KiB", r.chunk_bytes / 1024),
                format!("{} MiB", r.bytes >> 20),
                format!("{:.2}", r.without_seconds * 1e3),
                format!("{:.2}", r.with_seconds * 1e3),
                format!("{:.3}", r.ratio),
            ]
        };
        let heads = ["links", "chunk", "bytes", "ms without", "ms with", "ratio"];
        let rows: Vec<Vec<String>> = self.rows.iter().map(cells).collect();
        format!("medians of {} repetitions\n\n{}", self.repetitions, table(1, &heads, &rows))
    }
}

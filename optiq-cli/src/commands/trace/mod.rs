//! `optiq trace`: what the ranks of a session did, and what their time went into.

mod perfetto;

use crate::failure::Failure;
use crate::output;
use clap::Args;
use optiq::trace::{CallSummary, Kind, Outcome, PairPath, RankSummary, Run, TraceError, WaitSummary};
use optiq_view::table;
use optiq_view::timeline;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Show what OPTIQ_TRACE recorded: who waited for whom, where the time went, which way bytes took
///
/// A rank's time in calls is waiting (nothing moved: until a chunk came, until a chunk that it sent was taken, or for room or
/// the end), copying (copies that OPTIQ makes itself), forwarding (chunks of
/// others), own (its own chunks and everything else), or in plain MPI.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  OPTIQ_TRACE=traces OPTIQ_TOPOLOGY=torus:2x2 OPTIQ_PLACEMENT=rank mpirun -n 4 ./program
  optiq trace traces
  optiq trace traces --pair 0:3 --call 2
  optiq trace traces --html timeline.html
  optiq trace traces --perfetto trace.perfetto   (open it at https://ui.perfetto.dev)")]
pub struct Arguments {
    /// The directory that OPTIQ_TRACE named
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Only this call, counted from 0
    #[arg(long, value_name = "N")]
    call: Option<u32>,
    /// Which ways the bytes from one rank to another took, and which leg was slowest
    #[arg(long, value_name = "SOURCE:DESTINATION", value_parser = parse_pair)]
    pair: Option<(u32, u32)>,
    /// The session, if the directory holds several [default: the last one]
    #[arg(long, value_name = "NUMBER", value_parser = parse_session)]
    session: Option<u64>,
    /// How many of the longest waits to show
    #[arg(long, value_name = "N", default_value_t = 5)]
    waits: usize,
    /// Write a page with a timeline of all ranks
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write a trace for Perfetto, in which each chunk can be followed
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Calls that are printed for people.
const CALLS: usize = 12;

fn parse_pair(text: &str) -> Result<(u32, u32), String> {
    let pair = text.split_once(':').and_then(|(a, b)| Some((a.trim().parse().ok()?, b.trim().parse().ok()?)));
    pair.ok_or_else(|| "two ranks as 0:3 are expected".into())
}

fn parse_session(text: &str) -> Result<u64, String> {
    u64::from_str_radix(text, 16)
        .map_err(|_| "the number in the files' names, 16 hexadecimal digits, is expected".into())
}

impl From<TraceError> for Failure {
    fn from(e: TraceError) -> Self {
        Failure::Input(e.to_string())
    }
}

#[derive(Serialize)]
struct Document {
    session: String,
    other_sessions: Vec<String>,
    ranks: u32,
    transport: String,
    clock_error_seconds: f64,
    complete: bool,
    notes: Vec<String>,
    calls: Vec<CallDocument>,
    by_rank: Vec<RankDocument>,
    chunks: u64,
    bytes: u64,
    forwarded_bytes: u64,
    records: u64,
    dropped_records: u64,
    longest_waits: Vec<WaitDocument>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pair: Option<PairDocument>,
}

#[derive(Serialize)]
struct CallDocument {
    call: u32,
    start_seconds: f64,
    seconds: f64,
    outcome: &'static str,
    served_by: String,
    ranks: usize,
    paths: usize,
    chunks: u64,
    bytes: u64,
    forwarded_bytes: u64,
}

/// Shares are of `seconds` and add up to 1, but for the two `waiting_for`, which are parts of `waiting`.
#[derive(Serialize)]
struct RankDocument {
    rank: u32,
    calls: u64,
    seconds: f64,
    waiting: f64,
    waiting_for_chunks: f64,
    waiting_for_confirmations: f64,
    copying: f64,
    forwarding: f64,
    own: f64,
    plain_mpi: f64,
    chunks_sent: u64,
    bytes_sent: u64,
    chunks_forwarded: u64,
    bytes_forwarded: u64,
    chunks_delivered: u64,
    bytes_delivered: u64,
    records: u64,
    dropped_records: u64,
    complete: bool,
}

#[derive(Serialize)]
struct WaitDocument {
    rank: u32,
    call: u32,
    start_seconds: f64,
    seconds: f64,
    waited_for: String,
    peer: Option<u32>,
    path: Option<u32>,
}

#[derive(Serialize)]
struct PairDocument {
    source: u32,
    destination: u32,
    bytes: u64,
    paths: Vec<PathDocument>,
    /// What served the calls, and in how many.
    why: BTreeMap<String, usize>,
}

#[derive(Serialize)]
struct PathDocument {
    ranks: Vec<u32>,
    all_ranks_known: bool,
    bytes: u64,
    share: f64,
    chunks: u64,
    first_sent_seconds: Option<f64>,
    last_arrived_seconds: Option<f64>,
    slowest_leg: Option<LegDocument>,
}

#[derive(Serialize)]
struct LegDocument {
    from: u32,
    to: u32,
    mean_seconds: f64,
    chunks: u64,
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e9
}

fn share(part: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { part as f64 / of as f64 }
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let mut runs = Run::load(&self.directory)?;
        let chosen = match self.session {
            None => 0,
            Some(session) => runs.iter().position(|r| r.session() == session).ok_or_else(|| {
                let there: Vec<String> = runs.iter().map(name).collect();
                let what = format!("{} holds no session {session:016x}", self.directory.display());
                Failure::Input(format!("{what}, but {}", there.join(", ")))
            })?,
        };
        let run = runs.swap_remove(chosen);
        let others = runs.iter().map(name).collect();
        if let Some(call) = self.call
            && run.calls(Some(call)).is_empty()
        {
            let calls = run.calls(None);
            let last = calls.last().map_or("none".into(), |c| format!("up to {}", c.number));
            return Err(Failure::Input(format!(
                "--call {call} was not recorded; calls are counted from 0, {last} here"
            )));
        }
        if let Some((a, b)) = self.pair
            && (a >= run.ranks() || b >= run.ranks())
        {
            let ranks = run.ranks();
            return Err(Failure::Input(format!("--pair {a}:{b} names a rank that is none: there are {ranks} ranks")));
        }
        let document = self.document(&run, others);
        if let Some(file) = &self.perfetto {
            write(file, &perfetto::encode(&run, self.call))?;
        }
        if let Some(file) = &self.html {
            write(file, timeline::page(&run, self.call, &document.notes, &document.waits_in_words()).as_bytes())?;
        }
        if self.json {
            output::print_json(&document)?
        } else {
            output::print(&document.text())?
        }
        Ok(ExitCode::SUCCESS)
    }

    fn document(&self, run: &Run, other_sessions: Vec<String>) -> Document {
        let by_rank = run.rank_summaries(self.call);
        let total = |f: fn(&RankSummary) -> u64| by_rank.iter().map(f).fold(0, u64::saturating_add);
        Document {
            session: name(run),
            other_sessions,
            ranks: run.ranks(),
            transport: run.transport().to_string(),
            clock_error_seconds: seconds(run.clock_error()),
            complete: run.missing().is_empty() && by_rank.iter().all(|r| r.complete),
            notes: notes(run, &by_rank),
            calls: run.calls(self.call).into_iter().map(CallDocument::new).collect(),
            chunks: total(|r| r.sent.0),
            bytes: total(|r| r.sent.1),
            forwarded_bytes: total(|r| r.forwarded.1),
            records: total(|r| r.records),
            dropped_records: total(|r| r.dropped),
            longest_waits: run.longest_waits(self.call, self.waits).iter().map(WaitDocument::new).collect(),
            pair: self.pair.map(|pair| PairDocument::new(run, pair, self.call)),
            by_rank: by_rank.iter().map(RankDocument::new).collect(),
        }
    }
}

fn name(run: &Run) -> String {
    format!("{:016x}", run.session())
}

fn write(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    std::fs::write(file, bytes).map_err(|e| Failure::Input(format!("{} cannot be written: {e}", file.display())))
}

/// What a reader must know to trust the figures.
fn notes(run: &Run, by_rank: &[RankSummary]) -> Vec<String> {
    let list = |ranks: &[u32]| {
        let shown: Vec<String> = ranks.iter().take(8).map(u32::to_string).collect();
        let more = if ranks.len() > 8 { format!(" and {} more", ranks.len() - 8) } else { String::new() };
        format!("{} {}{more}", if ranks.len() == 1 { "rank" } else { "ranks" }, shown.join(", "))
    };
    let mut notes = Vec::new();
    let missing = run.missing();
    if !missing.is_empty() {
        notes.push(format!("{} left no file here: what only they saw is missing", list(&missing)));
    }
    let cut: Vec<u32> = by_rank.iter().filter(|r| !r.complete).map(|r| r.rank).collect();
    if !cut.is_empty() {
        notes.push(format!("{} did not come to an end, or not yet: what was written by then is shown", list(&cut)));
    }
    let dropped: Vec<u32> = by_rank.iter().filter(|r| r.dropped > 0).map(|r| r.rank).collect();
    if !dropped.is_empty() {
        let records: u64 = by_rank.iter().map(|r| r.dropped).fold(0, u64::saturating_add);
        let gone = format!("{} dropped {records} records, the oldest of their exchanges", list(&dropped));
        notes.push(format!(
            "{gone}; sums are complete, chunks and waits are not (a larger OPTIQ_TRACE_EVENTS keeps more)"
        ));
    }
    notes
}

impl CallDocument {
    fn new(c: CallSummary) -> Self {
        let outcome = match c.outcome {
            Outcome::Planned => "planned",
            Outcome::Failed => "failed",
            Outcome::Plain => "plain MPI",
        };
        CallDocument {
            call: c.number,
            start_seconds: seconds(c.start),
            seconds: seconds(c.end - c.start),
            outcome,
            served_by: c.served_by,
            ranks: c.ranks,
            paths: c.paths,
            chunks: c.chunks,
            bytes: c.bytes,
            forwarded_bytes: c.forwarded_bytes,
        }
    }
}

impl RankDocument {
    fn new(r: &RankSummary) -> Self {
        let part = |nanoseconds| share(nanoseconds, r.time);
        RankDocument {
            rank: r.rank,
            calls: r.calls,
            seconds: seconds(r.time),
            waiting: part(r.waiting),
            waiting_for_chunks: part(r.for_chunks),
            waiting_for_confirmations: part(r.for_confirmations),
            copying: part(r.copying),
            forwarding: part(r.forwarding),
            own: part(r.own),
            plain_mpi: part(r.plain),
            chunks_sent: r.sent.0,
            bytes_sent: r.sent.1,
            chunks_forwarded: r.forwarded.0,
            bytes_forwarded: r.forwarded.1,
            chunks_delivered: r.delivered.0,
            bytes_delivered: r.delivered.1,
            records: r.records,
            dropped_records: r.dropped,
            complete: r.complete,
        }
    }
}

impl WaitDocument {
    fn new(w: &WaitSummary) -> Self {
        let (path, sequence) = (w.path, w.sequence);
        let waited_for = match (w.cause, w.peer) {
            (Some(Kind::Received), Some(peer)) => format!("chunk {sequence} of path {path} from rank {peer}"),
            (Some(Kind::Completed), Some(peer)) => format!("rank {peer} to take chunk {sequence} of path {path}"),
            (Some(Kind::CreditReceived), Some(peer)) => format!("rank {peer} to have room on path {path}"),
            _ => "the end of the call".into(),
        };
        WaitDocument {
            rank: w.rank,
            call: w.call,
            start_seconds: seconds(w.start),
            seconds: seconds(w.duration),
            waited_for,
            peer: w.peer,
            path: w.cause.map(|_| path),
        }
    }

    fn words(&self) -> String {
        let (for_how_long, at) = (table::seconds(self.seconds), table::seconds(self.start_seconds));
        format!("rank {} waited {for_how_long} in call {}, from {at} on, for {}", self.rank, self.call, self.waited_for)
    }
}

impl PairDocument {
    fn new(run: &Run, (source, destination): (u32, u32), only: Option<u32>) -> Self {
        let paths = run.pair(source, destination, only);
        let bytes = paths.iter().map(|p| p.bytes).fold(0, u64::saturating_add);
        let mut why: BTreeMap<String, usize> = BTreeMap::new();
        for call in run.calls(only) {
            *why.entry(call.served_by).or_default() += 1;
        }
        let path = |p: PairPath| PathDocument {
            ranks: p.ranks,
            all_ranks_known: p.known,
            bytes: p.bytes,
            share: share(p.bytes, bytes),
            chunks: p.chunks,
            first_sent_seconds: p.first.map(seconds),
            last_arrived_seconds: p.last.map(seconds),
            slowest_leg: p.slowest.map(|s| LegDocument {
                from: s.from,
                to: s.to,
                mean_seconds: seconds(s.mean),
                chunks: s.chunks,
            }),
        };
        PairDocument { source, destination, bytes, paths: paths.into_iter().map(path).collect(), why }
    }

    fn text(&self) -> String {
        let mut text = format!("\nFrom rank {} to rank {}:\n", self.source, self.destination);
        if self.paths.is_empty() {
            text.push_str("nothing on planned paths\n");
        } else {
            let heads = ["ranks", "bytes", "share", "chunks", "first sent", "last arrived", "slowest leg"];
            let mut rows = vec![heads.map(str::to_string).to_vec()];
            let time = |t: Option<f64>| t.map_or("-".into(), table::seconds);
            for p in &self.paths {
                let ranks: Vec<String> = p.ranks.iter().map(u32::to_string).collect();
                let unknown = if p.all_ranks_known { "" } else { " (not all known)" };
                let leg = p.slowest_leg.as_ref().map_or("-".into(), |l| {
                    format!("{} to {}: {} a chunk", l.from, l.to, table::seconds(l.mean_seconds))
                });
                rows.push(vec![
                    ranks.join(" > ") + unknown,
                    table::bytes(p.bytes as f64),
                    table::percent(p.share),
                    p.chunks.to_string(),
                    time(p.first_sent_seconds),
                    time(p.last_arrived_seconds),
                    leg,
                ]);
            }
            text.push_str(&table::table(&rows));
        }
        for (why, calls) in &self.why {
            text.push_str(&format!("{}: {why}\n", table::count(*calls, "call")));
        }
        text
    }
}

impl Document {
    fn waits_in_words(&self) -> Vec<String> {
        self.longest_waits.iter().map(WaitDocument::words).collect()
    }

    fn text(&self) -> String {
        let calls = table::count(self.calls.len(), "call");
        let mut text = format!("{} ranks over {}, {calls}, session {}\n", self.ranks, self.transport, self.session);
        if self.clock_error_seconds > 0.0 {
            let error = table::seconds(self.clock_error_seconds);
            text.push_str(&format!("times of different ranks agree to {error}\n"));
        }
        for note in &self.notes {
            text.push_str(&format!("note: {note}\n"));
        }
        if !self.other_sessions.is_empty() {
            text.push_str(&format!("note: also here, for --session: {}\n", self.other_sessions.join(", ")));
        }
        text.push('\n');
        let heads = ["call", "start", "time", "paths", "chunks", "bytes", "forwarded"];
        let mut rows = vec![heads.map(str::to_string).to_vec()];
        rows[0].push("served by".into());
        for c in self.calls.iter().take(CALLS) {
            let failed = if c.outcome == "failed" { "failed: " } else { "" };
            rows.push(vec![
                c.call.to_string(),
                table::seconds(c.start_seconds),
                table::seconds(c.seconds),
                c.paths.to_string(),
                c.chunks.to_string(),
                table::bytes(c.bytes as f64),
                table::bytes(c.forwarded_bytes as f64),
                format!("{failed}{}", c.served_by),
            ]);
        }
        text.push_str(&table::aligned(&rows, |column| column < 7));
        if self.calls.len() > CALLS {
            text.push_str(&format!("... and {} more (--json has all)\n", self.calls.len() - CALLS));
        }
        text.push('\n');
        let plain = self.by_rank.iter().any(|r| r.plain_mpi > 0.0);
        let mut heads =
            vec!["rank", "in calls", "waiting", "for chunks", "to be taken", "copying", "forwarding", "own"];
        if plain {
            heads.push("plain MPI");
        }
        heads.extend(["sent", "forwarded", "received", "records", "dropped"]);
        let mut rows = vec![heads.into_iter().map(str::to_string).collect::<Vec<_>>()];
        for r in &self.by_rank {
            let mut row = vec![r.rank.to_string(), table::seconds(r.seconds)];
            let waiting = [r.waiting, r.waiting_for_chunks, r.waiting_for_confirmations];
            row.extend(waiting.map(table::percent));
            row.extend([r.copying, r.forwarding, r.own].map(table::percent));
            if plain {
                row.push(table::percent(r.plain_mpi));
            }
            row.extend([r.bytes_sent, r.bytes_forwarded, r.bytes_delivered].map(|b| table::bytes(b as f64)));
            row.extend([r.records, r.dropped_records].map(|n| n.to_string()));
            rows.push(row);
        }
        text.push_str(&table::aligned(&rows, |_| true));
        if let Some(pair) = &self.pair {
            text.push_str(&pair.text());
        }
        if !self.longest_waits.is_empty() {
            text.push_str("\nlongest waits:\n");
            for wait in self.waits_in_words() {
                text.push_str(&format!("  {wait}\n"));
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs() {
        assert_eq!(parse_pair("0:13"), Ok((0, 13)));
        for bad in ["", "1", "1:", "a:b", "1:2:3", "-1:2"] {
            assert!(parse_pair(bad).is_err(), "{bad}");
        }
    }
}

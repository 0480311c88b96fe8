//! What `optiq trace` shows: one document, as JSON or as text.

use optiq_trace::{CallSummary, EventKind, Outcome, PairPath, Rank, RankSummary, Run, WaitSummary};
use optiq_view::{table, timeline};
use serde::Serialize;
use std::collections::BTreeMap;

/// Calls that are printed for people.
const CALLS: usize = 12;

/// Which part of a run is shown.
pub(super) struct Choice {
    /// Only this call.
    pub(super) call: Option<u32>,
    /// How many of the longest waits.
    pub(super) waits: usize,
    /// Source and destination of the bytes that are followed.
    pub(super) pair: Option<(Rank, Rank)>,
}

#[derive(Serialize)]
pub(super) struct TraceDocument {
    session: String,
    /// When it began, which is its name for people.
    #[serde(skip)]
    began: String,
    other_sessions: Vec<String>,
    /// When they began.
    #[serde(skip)]
    others_began: Vec<String>,
    ranks: u32,
    transport: String,
    clock_error_seconds: f64,
    complete: bool,
    pub(super) notes: Vec<String>,
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

/// What served a call, as the document says it.
#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
enum OutcomeDocument {
    #[serde(rename = "planned")]
    Planned,
    #[serde(rename = "failed")]
    Failed,
    #[serde(rename = "plain MPI")]
    Plain,
}

#[derive(Serialize)]
struct CallDocument {
    call: u32,
    start_seconds: f64,
    seconds: f64,
    outcome: OutcomeDocument,
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

/// A session's number as its files' names have it.
pub(super) fn name(run: &Run) -> String {
    format!("{:016x}", run.session())
}

/// What a reader must know to trust the figures.
fn notes(run: &Run, by_rank: &[RankSummary]) -> Vec<String> {
    let list = |ranks: &[Rank]| {
        let shown: Vec<String> = ranks.iter().take(8).map(Rank::to_string).collect();
        let more = if ranks.len() > 8 { format!(" and {} more", ranks.len() - 8) } else { String::new() };
        format!("{} {}{more}", if ranks.len() == 1 { "rank" } else { "ranks" }, shown.join(", "))
    };
    let mut notes = Vec::new();
    let missing = run.missing();
    if !missing.is_empty() {
        notes.push(format!("{} left no file here: what only they saw is missing", list(&missing)));
    }
    let cut: Vec<Rank> = by_rank.iter().filter(|r| !r.complete).map(|r| r.rank).collect();
    if !cut.is_empty() {
        notes.push(format!("{} did not come to an end, or not yet: what was written by then is shown", list(&cut)));
    }
    if let Some(first) = run.skipped().first() {
        let files = table::count(run.skipped().len(), "file");
        let more = if run.skipped().len() > 1 { "; the first: " } else { ": " };
        notes.push(format!("{files} cannot be read and left out{more}{first}"));
    }
    let dropped: Vec<Rank> = by_rank.iter().filter(|r| r.dropped > 0).map(|r| r.rank).collect();
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
            Outcome::Planned => OutcomeDocument::Planned,
            Outcome::Failed => OutcomeDocument::Failed,
            Outcome::Plain => OutcomeDocument::Plain,
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
            rank: r.rank.0,
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
            (Some(EventKind::Received), Some(peer)) => format!("chunk {sequence} of path {path} from rank {peer}"),
            (Some(EventKind::Completed), Some(peer)) => format!("rank {peer} to take chunk {sequence} of path {path}"),
            (Some(EventKind::CreditReceived), Some(peer)) => format!("rank {peer} to have room on path {path}"),
            _ => "the end of the call".into(),
        };
        WaitDocument {
            rank: w.rank.0,
            call: w.call,
            start_seconds: seconds(w.start),
            seconds: seconds(w.duration),
            waited_for,
            peer: w.peer.map(|p| p.0),
            path: w.cause.map(|_| path.0),
        }
    }

    fn words(&self) -> String {
        let (for_how_long, at) = (table::seconds(self.seconds), table::seconds(self.start_seconds));
        format!("rank {} waited {for_how_long} in call {}, from {at} on, for {}", self.rank, self.call, self.waited_for)
    }
}

impl PairDocument {
    fn new(run: &Run, (source, destination): (Rank, Rank), only: Option<u32>) -> Self {
        let paths = run.pair(source, destination, only);
        let bytes = paths.iter().map(|p| p.bytes).fold(0, u64::saturating_add);
        let mut why: BTreeMap<String, usize> = BTreeMap::new();
        for call in run.calls(only) {
            *why.entry(call.served_by).or_default() += 1;
        }
        let path = |p: PairPath| PathDocument {
            ranks: p.ranks.iter().map(|r| r.0).collect(),
            all_ranks_known: p.known,
            bytes: p.bytes,
            share: share(p.bytes, bytes),
            chunks: p.chunks,
            first_sent_seconds: p.first.map(seconds),
            last_arrived_seconds: p.last.map(seconds),
            slowest_leg: p.slowest.map(|s| LegDocument {
                from: s.from.0,
                to: s.to.0,
                mean_seconds: seconds(s.mean),
                chunks: s.chunks,
            }),
        };
        let paths = paths.into_iter().map(path).collect();
        PairDocument { source: source.0, destination: destination.0, bytes, paths, why }
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

impl TraceDocument {
    /// Of a run, or of one call of it, with its `waits` longest waits and how bytes went between a pair of ranks.
    pub(super) fn new(run: &Run, others: &[Run], choice: &Choice) -> Self {
        let Choice { call, waits, pair } = *choice;
        let by_rank = run.rank_summaries(call);
        let total = |f: fn(&RankSummary) -> u64| by_rank.iter().map(f).fold(0, u64::saturating_add);
        Self {
            session: name(run),
            began: timeline::began(run),
            other_sessions: others.iter().map(name).collect(),
            others_began: others.iter().map(timeline::began).collect(),
            ranks: run.ranks(),
            transport: run.transport().to_string(),
            clock_error_seconds: seconds(run.clock_error()),
            complete: run.missing().is_empty() && by_rank.iter().all(|r| r.complete),
            notes: notes(run, &by_rank),
            calls: run.calls(call).into_iter().map(CallDocument::new).collect(),
            chunks: total(|r| r.sent.0),
            bytes: total(|r| r.sent.1),
            forwarded_bytes: total(|r| r.forwarded.1),
            records: total(|r| r.records),
            dropped_records: total(|r| r.dropped),
            longest_waits: run.longest_waits(call, waits).iter().map(WaitDocument::new).collect(),
            pair: pair.map(|pair| PairDocument::new(run, pair, call)),
            by_rank: by_rank.iter().map(RankDocument::new).collect(),
        }
    }

    /// The longest waits as sentences.
    pub(super) fn waits_in_words(&self) -> Vec<String> {
        self.longest_waits.iter().map(WaitDocument::words).collect()
    }

    /// The document for people.
    pub(super) fn text(&self) -> String {
        let calls = table::count(self.calls.len(), "call");
        let mut text = format!("{} ranks over {}, {calls}, began on {}\n", self.ranks, self.transport, self.began);
        if self.clock_error_seconds > 0.0 {
            let error = table::seconds(self.clock_error_seconds);
            text.push_str(&format!("times of different ranks agree to {error}\n"));
        }
        for note in &self.notes {
            text.push_str(&format!("note: {note}\n"));
        }
        if !self.other_sessions.is_empty() {
            let other = |(began, session)| format!("began on {began} (--session {session})");
            let others: Vec<String> = self.others_began.iter().zip(&self.other_sessions).map(other).collect();
            text.push_str(&format!("note: this is session {}; also here: {}\n", self.session, others.join(", ")));
        }
        text.push('\n');
        let heads = ["call", "start", "time", "paths", "chunks", "bytes", "forwarded"];
        let mut rows = vec![heads.map(str::to_string).to_vec()];
        rows[0].push("served by".into());
        for c in self.calls.iter().take(CALLS) {
            let failed = if c.outcome == OutcomeDocument::Failed { "failed: " } else { "" };
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

//! `optiq trace`: what the ranks of a session did, and what their time went into.

mod document;

use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::target::{self, Target};
use clap::Args;
use document::{Choice, TraceDocument, name};
use optiq_trace::{Rank, Run, TraceError, perfetto};
use optiq_view::timeline;
use std::path::PathBuf;
use std::process::ExitCode;

/// Show what OPTIQ_TRACE recorded: who waited for whom, where the time went, which paths bytes took
///
/// A rank's time in calls is waiting (nothing moved: until a chunk came, until a chunk that it sent was taken, or for room or
/// the end), copying (copies that OPTIQ makes itself), forwarding (chunks of
/// others), own (its own chunks and everything else), or in plain MPI.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  OPTIQ_TRACE=traces OPTIQ_TOPOLOGY=star:2 OPTIQ_PLACEMENT=rank mpirun -n 2 ./program
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
    /// Which paths the bytes from one rank to another took, and which leg was slowest
    #[arg(long, value_name = "SOURCE:DESTINATION", value_parser = parse_pair)]
    pair: Option<(Rank, Rank)>,
    /// The session, if the directory holds several [default: the last one]
    #[arg(long, value_name = "NUMBER", value_parser = parse_session)]
    session: Option<u64>,
    /// How many of the longest waits to show
    #[arg(long, value_name = "N", default_value_t = 5)]
    waits: usize,
    /// Write a page with a timeline of all ranks; - is standard output
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// Write a trace for Perfetto, in which each chunk can be followed; - is standard output
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

fn parse_pair(text: &str) -> Result<(Rank, Rank), String> {
    let rank = |text: &str| text.trim().parse().ok().map(Rank);
    let pair = text.split_once(':').and_then(|(a, b)| Some((rank(a)?, rank(b)?)));
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

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        target::check_distinct(&[("--html", &self.html), ("--perfetto", &self.perfetto)])?;
        let [page, perfetto_file] =
            [&self.html, &self.perfetto].map(|file| file.as_deref().map(Target::new).transpose());
        let (page, perfetto_file) = (page?, perfetto_file?);
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
            && a.max(b).0 >= run.ranks()
        {
            let ranks = run.ranks();
            return Err(Failure::Input(format!(
                "--pair {a}:{b} names a rank that does not exist: there are {ranks} ranks"
            )));
        }
        let choice = Choice { call: self.call, waits: self.waits, pair: self.pair };
        let document = TraceDocument::new(&run, &runs, &choice);
        if let Some(target) = perfetto_file {
            target.write(|out| perfetto::write(&run, self.call, out))?;
        }
        if let Some(target) = page {
            let page = timeline::page(&run, self.call, &document.notes, &document.waits_in_words());
            target.write(|out| out.write_all(page.as_bytes()))?;
        }
        if self.json {
            output::print_json(Schema::Trace, &document)?
        } else {
            output::print(&document.text())?
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs() {
        assert_eq!(parse_pair("0:13"), Ok((Rank(0), Rank(13))));
        for bad in ["", "1", "1:", "a:b", "1:2:3", "-1:2"] {
            assert!(parse_pair(bad).is_err(), "{bad}");
        }
    }
}

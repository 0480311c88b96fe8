//! `optiq postcards`: which way marked packets took. Clocks, joining and the file's format are in `optiq_trace::postcards`, the
//! components that write in `optiq_sim`.

mod document;
mod page;
mod record;
mod summary;
mod text;

use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::progress::Progress;
use crate::target::Target;
use clap::{Args, Subcommand};
use document::JoinedDocument;
use optiq_trace::postcards::{Clocks, join, read};
use std::path::PathBuf;
use std::process::ExitCode;
use summary::Summary;

/// Follow single packets through every component that they pass: write postcards in a simulation, and join them
///
/// One command in N is marked. Each processor, adapter and switch that a marked packet passes writes a postcard with a clock of its
/// own into a buffer of 2 KB, which a drainer empties. Joining needs nothing that the whole system knows: clocks are estimated from
/// the postcards, what was lost is named, and what cannot be told apart is counted.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  optiq postcards record --jobs jobs.toml --one-in 10 --output run.postcards
  optiq postcards join run.postcards --report paths.html")]
pub struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    Record(record::Arguments),
    Join(JoinArguments),
}

/// Make whole paths of postcards: where each marked packet was, how long, which line of which program sent it, and what is missing
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq postcards join run.postcards
  optiq postcards join run.postcards --most 20 --json
  optiq postcards join run.postcards --report paths.html

Times at a component are from the arrival of a packet's head to its departure; at the source's adapter from the command to the
departure, at the destination's from the arrival to the end of the whole message. A path is intact if nothing is missing in it
and its postcards fit no other one.")]
struct JoinArguments {
    /// The file that `optiq postcards record` wrote
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// How many components, lines of programs and slowest paths are listed
    #[arg(long, value_name = "NUMBER", default_value_t = 8)]
    most: usize,
    /// Write a page with the paths over time, stacks by component and single packets to this file; - is standard output
    #[arg(long, value_name = "PAGE")]
    report: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        match self.action {
            Action::Record(record) => record.run(),
            Action::Join(join) => join.run(),
        }
    }
}

impl JoinArguments {
    fn run(self) -> Result<ExitCode, Failure> {
        let report = self.report.as_deref().map(Target::new).transpose()?;
        let progress = Progress::start("reading postcards");
        let collection = read(&self.file)?;
        progress.now("estimating clocks");
        let clocks = Clocks::estimate(&collection);
        progress.now("joining");
        let joined = join(&collection, &clocks);
        let summary = Summary::new(&collection, &clocks, &joined, self.most);
        if let Some(target) = &report {
            progress.now("drawing");
            target.write(|out| out.write_all(page::page(&summary, &self.file).as_bytes()))?;
        }
        drop(progress);
        match self.json {
            true => output::print_json(Schema::PostcardsJoin, &JoinedDocument::new(&summary))?,
            false => output::print(&text::text(&summary))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

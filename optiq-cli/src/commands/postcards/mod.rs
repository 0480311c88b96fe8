//! `optiq postcards`: which way marked packets took. Clocks, joining and the files' formats are in `optiq_trace::postcards`, the
//! components that write in `optiq_sim`, and in sessions of `optiq`.

mod document;
mod page;
mod record;
mod summary;
mod text;

use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::progress::Progress;
use crate::target::{self, Target};
use clap::{Args, Subcommand};
use document::JoinedDocument;
use optiq_trace::postcards::{CallSites, Clocks, Gathered, join, perfetto};
use std::path::PathBuf;
use std::process::ExitCode;
use summary::Summary;

/// Follow single packets through every component that they pass: write postcards in a simulation, or in a real run, and join them
///
/// One command in N is marked. Each processor, adapter and switch that a marked packet passes writes a postcard with a clock of its
/// own into a buffer of 2 KB, which a drainer empties; in a real run (OPTIQ_POSTCARDS) each rank does for OPTIQ's own chunks. Joining needs nothing that the whole system knows: clocks are estimated from
/// the postcards, what was lost is named, and what cannot be told apart is counted.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  optiq postcards record --jobs jobs.toml --one-in 10 --output run.postcards
  optiq postcards join run.postcards --report paths.html
  OPTIQ_POSTCARDS=cards OPTIQ_TOPOLOGY=star:2 OPTIQ_PLACEMENT=rank mpirun -n 2 ./program
  optiq postcards join cards")]
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
  optiq postcards join cards --perfetto paths.perfetto   (open it at https://ui.perfetto.dev)

Times at a component are from the arrival of a packet's head to its departure; at the source's adapter from the command to the
departure, at the destination's from the arrival to the end of the whole message. A path is intact if nothing is missing in it
and its postcards fit no other one. The lines of programs in real runs are found by addr2line of the GNU binutils, in programs that were
compiled with debug information (-g) and are where they were.")]
struct JoinArguments {
    /// Files that `optiq postcards record` or ranks wrote, or the directory that OPTIQ_POSTCARDS named
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// How many components, lines of programs and slowest paths are listed
    #[arg(long, value_name = "NUMBER", default_value_t = 8)]
    most: usize,
    /// Write a page with the paths over time, stacks by component and single packets to this file; - is standard output
    #[arg(long, value_name = "PAGE")]
    report: Option<PathBuf>,
    /// Write a trace for Perfetto, with one flow for each path; - is standard output
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
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
        target::check_distinct(&[("--report", &self.report), ("--perfetto", &self.perfetto)])?;
        let [report, trace] = [&self.report, &self.perfetto].map(|file| file.as_deref().map(Target::new).transpose());
        let (report, trace) = (report?, trace?);
        let progress = Progress::start("reading postcards");
        let mut gathered = Gathered::read(&self.files)?;
        progress.now("finding lines of programs");
        let sites = CallSites::of(gathered.call_stacks());
        let mut notes = std::mem::take(&mut gathered.notes);
        notes.extend(sites.notes.iter().cloned());
        let collection = gathered.collection(|stack| sites.line(stack));
        progress.now("estimating clocks");
        let clocks = Clocks::estimate(&collection);
        progress.now("joining");
        let joined = join(&collection, &clocks);
        let summary = Summary::new(&collection, &clocks, &joined, self.most, notes);
        if let Some(target) = &report {
            progress.now("drawing");
            let names: Vec<String> = self.files.iter().map(|file| file.display().to_string()).collect();
            target.write(|out| out.write_all(page::page(&summary, &names.join(", ")).as_bytes()))?;
        }
        if let Some(target) = &trace {
            target.write(|out| perfetto::write(&collection, &joined, out))?;
        }
        drop(progress);
        match self.json {
            true => output::print_json(Schema::PostcardsJoin, &JoinedDocument::new(&summary))?,
            false => output::print(&text::text(&summary))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

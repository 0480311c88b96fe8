//! `optiq throttle`.

mod document;

use super::simulate::interrupt;
use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::progress::Progress;
use clap::Args;
use document::ThrottleDocument;
use optiq_net::units::format_picoseconds;
use optiq_sim::jobs::file::JobFile;
use optiq_sim::jobs::run::{JobProgress, JobRunOptions};
use optiq_sim::jobs::throttle::{self, Target, Throttle, Verified};
use optiq_view::table;
use std::fmt::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

/// Compute the window with which an I/O job is throttled, from the closed queue of its clients and servers, and simulate all jobs
/// without it and with it
///
/// The window counts from the completion of a request to the start of the next one. With it a client's program is to be
/// window=...,window-from=completion.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq throttle --jobs jobs.toml
  optiq throttle --jobs jobs.toml --target slowdown=1.2
  optiq throttle --jobs jobs.toml --job checkpoint --target utilisation=50% --no-verify --json

Targets:
  threshold          clients in step do not wait for each other: (N / M - 1) S, of N clients, M servers, S for a request
  utilisation=PART   servers are busy for this part of the time, such as 50% or 0.5
  slowdown=FACTOR    what shares a link with the requests at a server takes at most FACTOR times as long: utilisation 1 - 1 / FACTOR")]
pub struct Arguments {
    /// The job file; - is standard input
    #[arg(long, value_name = "FILE")]
    jobs: PathBuf,
    /// Which job is throttled [default: the only one with I/O servers]
    #[arg(long, value_name = "NAME")]
    job: Option<String>,
    /// What the window is to reach
    #[arg(long, value_name = "TARGET", default_value = "threshold")]
    target: Target,
    /// Compute the window and simulate nothing
    #[arg(long)]
    no_verify: bool,
    /// Threads of the simulator [default: all processors]; results are the same with any number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    threads: Option<u8>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let progress = Progress::start("reading the job file");
        let file = JobFile::read(&self.jobs)?;
        let job = throttle::job_of(&file, self.job.as_deref())?;
        let network = file.load_network()?;
        let model = file.load_model(&network)?;
        let tell = |now: JobProgress| {
            let part = table::percent(now.part);
            progress.now(format!("simulating run {} of {}: {part} of the samples", now.number + 1, now.runs));
        };
        let options = JobRunOptions {
            threads: self.threads.map_or_else(|| thread::available_parallelism().map_or(1, usize::from), usize::from),
            stop: Some(interrupt::watch()?),
            progress: Some(&tell),
            ..JobRunOptions::default()
        };
        let verification = (!self.no_verify).then_some(&options);
        let (found, verified) = throttle::throttle((&file, &network, &model), (job, self.target), verification)?;
        drop(progress);
        if !self.no_verify && verified.is_none() {
            return Err(Failure::Work(
                "ended before the simulations were over; --no-verify computes the window alone".into(),
            ));
        }
        match self.json {
            true => output::print_json(Schema::Throttle, &ThrottleDocument::new(&file, &found, verified.as_ref()))?,
            false => output::print(&text(&file, &found, verified.as_ref()))?,
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn text(file: &JobFile, found: &Throttle, verified: Option<&Verified>) -> String {
    let queue = &found.queue;
    let name = &file.jobs[found.job].name;
    let window = format_picoseconds(found.window.as_picoseconds());
    let mut out = format!(
        "{}: job {name}: {} clients at {} of {} each, target {}\n",
        file.title,
        queue.clients,
        table::count(queue.servers as usize, "server"),
        table::seconds(queue.service_seconds),
        found.target
    );
    if window == "0" {
        out += "no window is needed\n";
    } else {
        // Writing to a string does not fail.
        let _ = writeln!(out, "window={window},window-from=completion");
    }
    let row = |what: &str, values: [String; 2]| {
        let [without, with] = values;
        vec![what.to_owned(), without, with]
    };
    let both = |of: fn(&optiq_sim::jobs::closed_queue::QueueFigures) -> String| [of(&found.without), of(&found.with)];
    let mut rows = vec![row("computed", ["without".into(), "with".into()])];
    rows.push(row("  response", both(|f| table::seconds(f.response_seconds))));
    rows.push(row("  utilisation of servers", both(|f| table::percent(f.utilisation))));
    rows.push(row("  cycle of a client, over that without", ["1.000".into(), format!("{:.3}", found.cost())]));
    if let Some(verified) = verified {
        rows.push(row("simulated", ["without".into(), "with".into()]));
        for (job, entry) in file.jobs.iter().enumerate() {
            let pair = [verified.without[job], verified.with[job]];
            let dash = || "-".to_owned();
            let mean = pair.map(|o| o.map_or_else(dash, |o| table::seconds(o.mean_seconds)));
            rows.push(row(&format!("  {}: mean time of an operation", entry.name), mean));
            let slowdown =
                pair.map(|o| o.and_then(|o| o.slowdown).map_or_else(dash, |s| format!("{:.3}", s.mean.value)));
            rows.push(row(&format!("  {}: mean slowdown", entry.name), slowdown));
            if job == found.job {
                let base = verified.without[job].map(|o| o.cycle_seconds);
                let cycle =
                    pair.map(|o| o.zip(base).map_or_else(dash, |(o, base)| format!("{:.3}", o.cycle_seconds / base)));
                rows.push(row(&format!("  {}: cycle of a client, over that without", entry.name), cycle));
            }
        }
    }
    out + "\n" + &table::table(&rows)
}

//! `optiq demo`: the main job from end to end, on a real network that is made for it and goes away with it.

use crate::arguments::specification;
use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::progress::Progress;
use crate::target::Target;
use clap::Args;
use optiq_lab::{Lab, Outcome, Rate, RunOptions, Stream, UpOptions, network_at};
use optiq_net::units::{format_rate, parse_bytes};
use optiq_solver::demands;
use optiq_solver::pipeline::{self, PlanOptions};
use optiq_solver::planner::PlannerName;
use optiq_studies::bench::comparison::Comparison;
use optiq_view::context::Context;
use optiq_view::plan::Picture;
use optiq_view::table;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Bring up a real network on this machine, run MPI_Alltoallv and optiq_alltoallv on it in turn, check every byte, and
/// show the times, the link bounds and a picture of the link loads
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq demo --repetitions 3 --message 1MB
  optiq demo --topology torus:4x4 --planner heu2 --rate 50Mbit/s --output demo")]
pub struct Arguments {
    /// The network [default: OPTIQ_TOPOLOGY, or torus:4x4]
    #[arg(long, value_name = "SPEC")]
    topology: Option<String>,
    /// The speed of every link
    #[arg(long, value_name = "RATE", default_value = "100Mbit/s")]
    rate: Rate,
    /// Which host sends what to which: a pattern or a file, as for optiq plan
    #[arg(long, value_name = "DEMANDS", default_value = "pattern:disjoint")]
    demands: String,
    /// Bytes per pair of a pattern
    #[arg(long, value_name = "SIZE", default_value = "4MB", value_parser = parse_bytes, allow_hyphen_values = true)]
    message: u64,
    /// The planner
    #[arg(long, value_name = "NAME", default_value_t = PlannerName::Optimal)]
    planner: PlannerName,
    /// Timed repetitions of each
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: u32,
    /// Directory for the picture and the results; made if it does not exist [default: none are written]
    #[arg(long, value_name = "DIRECTORY")]
    output: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct DemoDocument {
    #[serde(flatten)]
    comparison: Comparison,
    planner: String,
    lab_up_seconds: f64,
    calibration: Vec<Calibration>,
    bound_seconds: f64,
    binding: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    html: Option<String>,
}

/// What one stream reaches alone.
#[derive(Serialize)]
struct Calibration {
    from: String,
    to: String,
    links: usize,
    bytes_per_second: f64,
    share: f64,
}

impl From<Stream> for Calibration {
    fn from(s: Stream) -> Self {
        Self { from: s.from, to: s.to, links: s.links, bytes_per_second: s.bytes_per_second, share: s.share }
    }
}

/// The network unless one is named.
const TOPOLOGY: &str = "torus:4x4";

/// The name of the picture in the directory for results.
const PICTURE: &str = "link-loads.html";

fn make_directory(directory: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(directory).map_err(|e| Failure::Input(format!("cannot make {}: {e}", directory.display())))
}

/// Looks whether results can be written to a directory. A missing one is not made before there are results, so that a
/// demo that is interrupted leaves none.
fn check_directory(directory: &Path) -> Result<(), Failure> {
    let missing = directory.ancestors().take_while(|d| !d.as_os_str().is_empty() && !d.exists()).collect::<Vec<_>>();
    make_directory(directory)?;
    let checked = Target::new(&directory.join(PICTURE));
    for made in missing {
        // Somebody else may have put something there by now, which stays.
        let _ = std::fs::remove_dir(made);
    }
    checked.map(drop)
}

/// The lab's name; a second demo at the same time is refused.
const NAME: &str = "demo";

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let progress = Progress::start("planning");
        let topology =
            specification(self.topology.as_deref(), "--topology SPEC").unwrap_or_else(|_| TOPOLOGY.to_owned());
        let network = network_at(&topology, self.rate)?;
        let list = demands::parse(&self.demands, &network, self.message)?;
        let options = PlanOptions { planner: self.planner, ..PlanOptions::default() };
        let planned = pipeline::run(&network, &list, &options)?;
        if let Some(directory) = &self.output {
            check_directory(directory)?;
        }

        progress.now(format!("bringing up {topology}"));
        let began = std::time::Instant::now();
        // Attached: however this process ends, the lab ends with it.
        let lab = Lab::up(&network, &UpOptions { name: NAME.into(), attached: true, ..UpOptions::default() })?;
        let lab_up_seconds = began.elapsed().as_secs_f64();
        progress.now("calibrating");
        let calibration = lab.calibrate(Duration::from_secs(1))?.into_iter().map(Calibration::from).collect();
        progress.now(format!("running {} repetitions of each", self.repetitions));
        let outcome = lab.run(&self.bench()?, &self.run_options(&list))?;
        lab.down()?;
        drop(progress);

        let document = DemoDocument {
            comparison: self.read(&outcome)?,
            planner: self.planner.to_string(),
            lab_up_seconds,
            calibration,
            bound_seconds: planned.plan.bound_seconds,
            binding: planned.plan.binding.clone(),
            html: self.output.as_ref().map(|directory| directory.join(PICTURE).display().to_string()),
        };
        if let Some(directory) = &self.output {
            make_directory(directory)?;
            let context = Context::new(&network, &self.demands, &list);
            let picture = Picture::new(&network, &context, &planned.plan, &planned.report);
            Target::new(&directory.join(PICTURE))?.write(|out| out.write_all(picture.page()?.as_bytes()))?;
            let text = output::json(Schema::Demo, &document)?;
            Target::new(&directory.join("comparison.json"))?.write(|out| out.write_all(text.as_bytes()))?;
        }
        if self.json {
            output::print_json(Schema::Demo, &document)?
        } else {
            output::print(&document.text(self.rate))?
        }
        Ok(ExitCode::SUCCESS)
    }

    /// This program again, as every rank runs it.
    fn bench(&self) -> Result<Vec<std::ffi::OsString>, Failure> {
        let me = std::env::current_exe().map_err(|e| Failure::Work(format!("cannot find the running program: {e}")))?;
        let mut words = vec![me.into_os_string()];
        let (message, repetitions) = (self.message.to_string(), self.repetitions.to_string());
        let rest = ["bench", "alltoallv", "--json", "--demands", &self.demands, "--planner", self.planner.as_str()];
        words.extend(rest.iter().map(Into::into));
        words.extend(["--message", &message, "--repetitions", &repetitions].iter().map(Into::into));
        Ok(words)
    }

    fn run_options(&self, list: &[optiq_solver::Demand]) -> RunOptions {
        // A hundred times what the network needs in all, and a minute to start: then something hangs.
        let bytes: u64 = list.iter().fold(0, |sum, d| sum.saturating_add(d.bytes));
        let serial = bytes as f64 / self.rate.bytes();
        let limit = 60.0 + (2.0 * f64::from(self.repetitions) + 2.0) * serial * 100.0;
        RunOptions { timeout: Duration::try_from_secs_f64(limit).ok(), capture: true, ..RunOptions::default() }
    }

    fn read(&self, outcome: &Outcome) -> Result<Comparison, Failure> {
        if outcome.status != 0 {
            return Err(Failure::Work(format!(
                "the run in the lab ended with status {} after {:.0} s; its messages are above",
                outcome.status, outcome.seconds
            )));
        }
        let unreadable = |e| Failure::Work(format!("the run in the lab printed something else than its result: {e}"));
        serde_json::from_slice(&outcome.stdout).map_err(unreadable)
    }
}

impl DemoDocument {
    fn text(&self, rate: Rate) -> String {
        let streams = self.calibration.iter().map(|c| {
            format!("  one stream over {} reaches {} of it\n", table::count(c.links, "link"), table::percent(c.share))
        });
        let mut text = format!(
            "a lab of real links at {} came up in {}\n{}\n{}",
            format_rate(rate.bytes()),
            table::seconds(self.lab_up_seconds),
            streams.collect::<String>(),
            self.comparison.text(),
        );
        text.push_str(&format!(
            "no routing is below {}, because of {}\n",
            table::seconds(self.bound_seconds),
            self.binding
        ));
        if let Some(html) = &self.html {
            text.push_str(&format!("link loads before and after: {html}\n"));
        }
        text
    }
}

//! `optiq lab load`: others that use the links; `optiq lab counters`: what the links have carried.

use super::which::Which;
use crate::arguments::duration;
use crate::failure::Failure;
use crate::output::{self, Schema};
use clap::Args;
use optiq_files::output as files;
use optiq_lab::{Lab, LabLink, LinkRate, LoadFlow};
use optiq_lower::closed_loop::counters;
use serde::Serialize;
use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Load links of the lab with packets that no program waits for, at a steady rate, as another job would
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq lab up --topology torus:2x2
  optiq lab load --flow h0:h1=70Mbit/s --flow h2:h3=50Mbit/s --seconds 1
  optiq lab down")]
pub(super) struct Load {
    /// From one host to another, over the fabric's own route, at this rate; may be given several times
    #[arg(long = "flow", value_name = "FROM:TO=RATE", required = true)]
    flows: Vec<LinkRate>,
    /// For how long
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = duration)]
    seconds: Duration,
    #[command(flatten)]
    which: Which,
}

/// Print what each link has carried since the lab came up, in the form that OPTIQ_COUNTERS names a file of
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq lab up --topology torus:2x2
  optiq lab counters
  optiq lab counters --write counters.txt --every 0.1 --seconds 1
  optiq lab down")]
pub(super) struct Counters {
    /// Write them into this file again and again, whole each time
    #[arg(long, value_name = "FILE", requires = "every")]
    write: Option<PathBuf>,
    /// With --write: the time from one writing to the next
    #[arg(long, value_name = "SECONDS", value_parser = duration, requires = "write")]
    every: Option<Duration>,
    /// With --write: for how long [default: until it is ended, or the lab is gone]
    #[arg(long, value_name = "SECONDS", value_parser = duration, requires = "write")]
    seconds: Option<Duration>,
    #[command(flatten)]
    which: Which,
}

#[derive(Serialize)]
struct CountersDocument {
    links: Vec<CounterDocument>,
}

#[derive(Serialize)]
struct CounterDocument {
    from: String,
    to: String,
    bytes: u64,
    packets: u64,
    dropped_packets: u64,
}

impl Load {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let flow = |flow: LinkRate| match (flow.from, flow.to) {
            (Some(from), Some(to)) => Ok(LoadFlow::new(from, to, flow.rate)),
            _ => Err(Failure::Input("--flow: found *; a host that sends and one that receives are expected".into())),
        };
        let flows: Vec<LoadFlow> = self.flows.into_iter().map(flow).collect::<Result<_, _>>()?;
        Lab::open(&self.which.name, None)?.load(&flows, self.seconds)?;
        if self.which.json {
            output::print_json(Schema::LabLoad, &LoadDocument { flows, seconds: self.seconds.as_secs_f64() })?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

#[derive(Serialize)]
struct LoadDocument {
    flows: Vec<LoadFlow>,
    seconds: f64,
}

impl Counters {
    pub(super) fn run(self) -> Result<ExitCode, Failure> {
        let lab = Lab::open(&self.which.name, None)?;
        let began = Instant::now();
        let (Some(file), Some(every)) = (self.write, self.every) else {
            let (links, text) = read(&lab, began)?;
            if self.which.json {
                output::print_json(Schema::LabCounters, &CountersDocument { links })?;
            } else {
                output::print(&text)?;
            }
            return Ok(ExitCode::SUCCESS);
        };
        while self.seconds.is_none_or(|limit| began.elapsed() < limit) {
            let (_, text) = read(&lab, began)?;
            files::write(&file, files::PUBLIC, |out| out.write_all(text.as_bytes()))
                .map_err(|e| Failure::Input(format!("{} cannot be written: {e}", file.display())))?;
            std::thread::sleep(every);
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// The counters, and the same as a file.
fn read(lab: &Lab, began: Instant) -> Result<(Vec<CounterDocument>, String), Failure> {
    let status = lab.status()?;
    let counted = lab.counters()?;
    let document = |(link, traffic): (&LabLink, &optiq_lab::Traffic)| CounterDocument {
        from: link.from.clone(),
        to: link.to.clone(),
        bytes: traffic.bytes,
        packets: traffic.packets,
        dropped_packets: traffic.dropped,
    };
    let links: Vec<CounterDocument> = status.links.iter().zip(&counted).map(document).collect();
    let listed = links.iter().map(|link| (link.from.as_str(), link.to.as_str(), link.bytes));
    let text = counters::list(began.elapsed().as_secs_f64(), listed);
    Ok((links, text))
}

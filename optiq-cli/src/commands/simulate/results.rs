//! Files with what a simulation found: what each link carried, in all and over time, histograms, and a page.
//!
//! Exchanges and replayed schedules write them alike. All places are looked at before anything is simulated.

use super::queues;
use super::report::Page;
use super::shown::{Shown, rate, width};
use crate::csv::quoted;
use crate::failure::Failure;
use crate::target::Target;
use clap::Args;
use optiq_net::Network;
use optiq_sim::time::Time;
use optiq_sim::{Model, Recording};
use std::io::{self, Write};
use std::path::PathBuf;

/// Which files are wanted.
#[derive(Debug, Args)]
pub struct Results {
    /// Write what each link carried to a CSV file, and the most that waited at its end; - is standard output
    #[arg(long, value_name = "FILE")]
    links: Option<PathBuf>,
    /// Write to a CSV file what each link carried, and what waited at its end, in each interval of time; - is standard output
    #[arg(long, value_name = "FILE")]
    series: Option<PathBuf>,
    /// Write to a CSV file what waited in each interval of time in each queue: the buffer of each virtual channel, and hosts'
    /// memory; - is standard output
    #[arg(long, value_name = "FILE")]
    queues: Option<PathBuf>,
    /// Write how many packets and messages took how long to a CSV file; - is standard output
    #[arg(long, value_name = "FILE")]
    histogram: Option<PathBuf>,
    /// Write pictures of the runs to a page that needs nothing else: throughput, links, buffers and queues over time,
    /// latencies; - is standard output
    #[arg(long, value_name = "FILE.html")]
    report: Option<PathBuf>,
}

/// Where they will be.
pub struct Targets {
    links: Option<Target>,
    series: Option<Target>,
    queues: Option<Target>,
    histogram: Option<Target>,
    report: Option<Target>,
}

impl Results {
    /// Looks whether the files can be written.
    pub fn open(&self) -> Result<Targets, Failure> {
        let target = |path: &Option<PathBuf>| path.as_deref().map(Target::new).transpose();
        Ok(Targets {
            links: target(&self.links)?,
            series: target(&self.series)?,
            queues: target(&self.queues)?,
            histogram: target(&self.histogram)?,
            report: target(&self.report)?,
        })
    }
}

impl Targets {
    /// What they show of what happened over time.
    pub fn over_time(&self) -> Recording {
        if self.queues.is_some() || self.report.is_some() {
            Recording::Queues
        } else if self.links.is_some() || self.series.is_some() {
            Recording::Links
        } else {
            Recording::Nothing
        }
    }

    /// Where the page will be, if it is wanted.
    pub fn report(&self) -> Option<&Target> {
        self.report.as_ref()
    }

    /// Writes them.
    pub fn write(&self, net: &Network, model: &Model, page: &Page<'_>) -> Result<(), Failure> {
        let runs = page.runs;
        if let Some(target) = &self.links {
            target.write(|out| write_links(out, net, runs))?;
        }
        if let Some(target) = &self.series {
            target.write(|out| write_series(out, net, model, runs))?;
        }
        if let Some(target) = &self.queues {
            target.write(|out| queues::write(out, net, runs))?;
        }
        if let Some(target) = &self.histogram {
            target.write(|out| write_histograms(out, runs))?;
        }
        if let Some(target) = &self.report {
            target.write(|out| out.write_all(page.html(net, model).as_bytes()))?;
        }
        Ok(())
    }
}

/// A line for each run and link: who joins it, how many lanes it has, what it carried, for what part of the run it was busy,
/// and the most bytes that waited in the buffers at its end.
fn write_links(out: &mut dyn Write, net: &Network, runs: &[Shown<'_>]) -> io::Result<()> {
    writeln!(out, "run,from,to,lanes,capacity_bytes_per_second,bytes,busy_seconds,busy_share,waiting_bytes_most")?;
    for run in runs {
        let o = run.outcome;
        for (i, ((link, bytes), &busy)) in net.links().iter().zip(&o.link_bytes).zip(&o.link_busy).enumerate() {
            let busy = busy.seconds() / f64::from(link.lanes);
            let share = if run.seconds > 0.0 { busy / run.seconds } else { 0.0 };
            let (from, to) = (quoted(net.name(link.from)), quoted(net.name(link.to)));
            let most = o.series.as_ref().map_or(0, |series| series.waiting_most[i]);
            let (lanes, capacity) = (link.lanes, link.capacity);
            writeln!(out, "{},{from},{to},{lanes},{capacity},{bytes},{busy:.9},{share:.6},{most}", quoted(run.name))?;
        }
    }
    Ok(())
}

/// A line for each run, interval and link that carried or held something.
fn write_series(out: &mut dyn Write, net: &Network, model: &Model, runs: &[Shown<'_>]) -> io::Result<()> {
    writeln!(out, "run,start_seconds,interval_seconds,from,to,bytes,busy_share,waiting_bytes")?;
    for run in runs {
        let Some(series) = &run.outcome.series else { continue };
        for (at, (bytes, waiting)) in series.bytes.iter().zip(&series.waiting_bytes).enumerate() {
            let long = width(series, at, run.outcome.time).seconds();
            let start = (series.interval * at as u64).seconds();
            for (i, link) in net.links().iter().enumerate().filter(|&(i, _)| bytes[i] > 0 || waiting[i] > 0) {
                let share = if long > 0.0 { bytes[i] as f64 / (rate(net, model, i) * long) } else { 0.0 };
                let (from, to) = (quoted(net.name(link.from)), quoted(net.name(link.to)));
                writeln!(
                    out,
                    "{},{start:.12},{long:.12},{from},{to},{},{share:.6},{}",
                    quoted(run.name),
                    bytes[i],
                    waiting[i]
                )?;
            }
        }
    }
    Ok(())
}

/// A line for each run, kind and cell of its histogram that something fell into.
fn write_histograms(out: &mut dyn Write, runs: &[Shown<'_>]) -> io::Result<()> {
    writeln!(out, "run,kind,up_to_seconds,count")?;
    for run in runs {
        let (packets, messages) = (&run.outcome.packet_latency, &run.outcome.message_latency);
        for (kind, histogram) in [("packet", packets), ("message", messages)] {
            for cell in histogram.iter_recorded() {
                let up_to = Time::picoseconds(cell.value_iterated_to()).seconds();
                writeln!(out, "{},{kind},{up_to:.12},{}", quoted(run.name), cell.count_at_value())?;
            }
        }
    }
    Ok(())
}

//! The lab's half of C1 and C2: real MPI on 16 hosts of one emulated switch, whose links are 200 times slower than those of the source,
//! so that what messages wait for each other is far more than what they wait for a processor.
//!
//! Sleeps and computing are stretched by the same factor; sizes and numbers of messages are the source's. The truth is what the ports of
//! the switch counted meanwhile.

use super::campaign::told;
use super::system::Impact;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::proxies::Proxy;
use crate::real_jobs::samples::ProcessSamples;
use crate::real_runs::RealRuns;
use crate::workspace;
use optiq_measure::statistics::mean;
use optiq_probe::constants::JITTER_MILLIONTHS;
use optiq_probe::description::{CompressionB, ImpactB};
use optiq_probe::measure::calibration::{Calibration, KnownLoad};
use optiq_probe::measure::noise::WakeUps;
use optiq_sim::jobs::probes;
use optiq_sim::jobs::program_spec::ProgramSpec;
use serde::Deserialize;
use std::fmt::Write;
use std::fs;

/// Hosts of the lab.
pub(super) const HOSTS: u32 = 16;
/// Of its links, and how much slower that is than the source's 2.5 GB/s.
const RATE: &str = "100Mbit/s";
pub(super) const STRETCH: f64 = 200.0;
/// Samples of a probe that runs until something else is done.
const UNTIL_THE_END: u32 = 100_000;
/// From the end of a ping-pong to the next one where no application is timed beside it.
const INTERVAL_NANOSECONDS: u64 = 25_000_000;
/// Bytes of a message of a known load: four times what a link of the lab sends at once after a pause.
const KNOWN_BYTES: u64 = 200_000;
/// The longest that one run may take.
const LIMIT_SECONDS: &str = "90";
/// Of all runs.
const SEED: u64 = 4;

/// A lab that is up; it goes down with this.
pub(super) struct LabSwitch<'a> {
    runs: RealRuns,
    name: String,
    progress: &'a Progress<'a>,
}

impl Drop for LabSwitch<'_> {
    fn drop(&mut self) {
        if self.runs.lab_down(&self.name).is_err() {
            log::warn!("the lab {} is not taken down; it ends by itself", self.name);
        }
    }
}

/// A job of a run.
struct LabJob<'a> {
    name: &'a str,
    program: String,
    hosts: String,
    is_measured: bool,
}

#[derive(Deserialize)]
struct Printed {
    jobs: Vec<PrintedJob>,
    links: Vec<PrintedLink>,
}

#[derive(Deserialize)]
struct PrintedJob {
    processes: Vec<ProcessSamples>,
}

#[derive(Deserialize)]
struct PrintedLink {
    to: String,
    utilisation_share: f64,
}

/// What one run gave: what each job measured, and what ports to hosts counted.
pub(super) struct LabRun {
    jobs: Vec<Vec<ProcessSamples>>,
    /// The mean over all output ports of the switch, and the largest.
    truth: [f64; 2],
}

/// What ImpactB measured, and how noisy the scheduler was meanwhile, in seconds.
pub(super) struct LabImpact {
    pub impact: Impact,
    pub noise_seconds: f64,
}

impl LabRun {
    /// Of the job with this number.
    fn impact(&self, job: usize) -> LabImpact {
        let all = |process: &ProcessSamples| {
            process.start_seconds.iter().copied().zip(process.duration_seconds.iter().copied()).collect::<Vec<_>>()
        };
        let mut samples: Vec<(f64, f64)> = self.jobs[job].iter().flat_map(all).collect();
        samples.sort_by(|a, b| a.0.total_cmp(&b.0));
        let wake_ups: Vec<WakeUps> = self.jobs[job].iter().map(|process| process.wake_ups).collect();
        let noise_seconds = WakeUps::of_all(&wake_ups).noise_seconds();
        LabImpact { impact: Impact { samples, truth: self.truth, events: 0 }, noise_seconds }
    }

    /// The durations of all samples of a job.
    fn durations(&self, job: usize) -> Vec<f64> {
        self.jobs[job].iter().flat_map(|process| process.duration_seconds.iter().copied()).collect()
    }
}

impl<'a> LabSwitch<'a> {
    /// Brings the lab up.
    ///
    /// # Errors
    /// A sentence about what is missing.
    pub fn up(progress: &'a Progress<'a>) -> Result<Self, String> {
        let runs = RealRuns::find()?;
        let name = format!("probes-{}", std::process::id());
        progress.now(format!("bringing up a lab of {HOSTS} hosts"));
        runs.lab_up(&name, &format!("star:{HOSTS}"), RATE).map_err(|e| e.to_string())?;
        Ok(Self { runs, name, progress })
    }

    /// What pages say of it.
    pub fn note(&self) -> String {
        format!(
            "In the lab: {HOSTS} hosts of one switch (`optiq lab`: namespaces, TCP, Open MPI), links of {RATE}, {STRETCH} times slower than those of \
             the source. Sleeps of CompressionB and computing of applications are {STRETCH} times as long; computing is waited for, since all hosts share \
             this machine's processors. A proxy is scaled to {HOSTS} ranks, one a host, by its bytes and its work a rank \
             (`optiq_sim::jobs::steps_file`). True utilisations are bytes that the ports of the switch to hosts counted, headers included."
        )
    }

    /// Runs jobs at once until those that are measured are done.
    fn run(&self, what: &str, jobs: &[LabJob<'_>]) -> Result<LabRun, Failure> {
        self.progress.now(format!("in the lab: {what}"));
        let mut text = format!(
            "title = \"probes\"\nnetwork = \"star:{HOSTS},capacity={RATE}\"\nmodel = \"lab-jobs\"\nseed = {SEED}\n"
        );
        for LabJob { name, program, hosts, is_measured } in jobs {
            let program = program.escape_default();
            let _ = write!(
                text,
                "[[job]]\nname = \"{name}\"\nplacement = \"hosts:{hosts}\"\nprogram = \"{program}\"\nexclusive = false\nmeasured = {is_measured}\n"
            );
        }
        let file = self.runs.path("jobs.toml");
        fs::write(&file, text).map_err(|e| Failure::Work(format!("jobs.toml cannot be written: {e}")))?;
        let words =
            ["lab", "jobs", "jobs.toml", "--name", &self.name, "--repetitions", "1", "--timeout", LIMIT_SECONDS];
        let mut command = self.runs.optiq(&words);
        command.args(["--only-together", "--no-simulation", "--samples", "--json"]);
        let Printed { jobs, links } = workspace::json(&mut command)?;
        let ports: Vec<f64> =
            links.iter().filter(|link| link.to.starts_with('h')).map(|link| link.utilisation_share).collect();
        let truth = [mean(&ports).unwrap_or(0.0), ports.iter().copied().fold(0.0, f64::max)];
        Ok(LabRun { jobs: jobs.into_iter().map(|job| job.processes).collect(), truth })
    }

    fn all_hosts() -> String {
        format!("0-{}", HOSTS - 1)
    }

    /// Something that is over after a time, on the first two hosts: it computes, and sends nothing.
    fn timer(&self, seconds: f64) -> Result<LabJob<'static>, Failure> {
        let file = self.runs.path("timer.toml");
        // Steps begin anywhere in the first one, so they are short.
        let text = "ranks = 2\n[[step]]\ncompute = \"100ms\"\n";
        let steps = (seconds * 10.0).round();
        fs::write(&file, text).map_err(|e| Failure::Work(format!("timer.toml cannot be written: {e}")))?;
        let program = format!("steps,file={},samples={steps},warmup=0", file.display());
        Ok(LabJob { name: "timer", program, hosts: "0-1".into(), is_measured: true })
    }

    fn probes(interval_nanoseconds: u64) -> LabJob<'static> {
        let probe = ImpactB { interval_nanoseconds, ..ImpactB::default() };
        let program = probes::impact(&probe, UNTIL_THE_END, JITTER_MILLIONTHS).to_string();
        LabJob { name: "probes", program, hosts: Self::all_hosts(), is_measured: false }
    }

    /// ImpactB for a time, beside a load.
    ///
    /// # Errors
    /// As the runs have them.
    pub fn impact(&self, what: &str, load: Option<ProgramSpec>, seconds: f64) -> Result<LabImpact, Failure> {
        let load = load.map(|program| LabJob {
            name: "load",
            program: program.to_string(),
            hosts: Self::all_hosts(),
            is_measured: false,
        });
        let jobs: Vec<LabJob<'_>> =
            [self.timer(seconds)?, Self::probes(INTERVAL_NANOSECONDS)].into_iter().chain(load).collect();
        Ok(self.run(what, &jobs)?.impact(1))
    }

    /// Messages that come at random, on average this part of what each link carries.
    ///
    /// # Errors
    /// [`Failure::Input`] for no part of it.
    pub fn known(&self, part: f64) -> Result<ProgramSpec, Failure> {
        Ok(format!("open,message={KNOWN_BYTES}B,load={:.2}%,samples=1,warmup=0", part * 100.0).parse()?)
    }

    /// CompressionB with its sleep stretched.
    pub fn compression(&self, configuration: &CompressionB) -> (CompressionB, ProgramSpec) {
        let sleep_nanoseconds = (configuration.sleep_nanoseconds as f64 * STRETCH) as u64;
        let stretched = CompressionB { sleep_nanoseconds, ..*configuration };
        (stretched, probes::compression(&stretched, 1))
    }

    /// An application for some operations, alone or with ImpactB at its published interval beside it: the mean of an operation over all
    /// ranks, in seconds, and what the probes measured.
    ///
    /// # Errors
    /// As the runs have them.
    pub fn application(
        &self,
        proxy: &Proxy,
        operations: u32,
        is_probed: bool,
    ) -> Result<(f64, Option<LabImpact>), Failure> {
        let steps = proxy.steps()?.scaled(HOSTS, STRETCH)?;
        let file = self.runs.path(proxy.file);
        fs::write(&file, steps.text()).map_err(|e| Failure::Work(format!("{} cannot be written: {e}", proxy.file)))?;
        let program = format!("steps,file={},samples={operations},warmup=1", file.display());
        let application = LabJob { name: "application", program, hosts: Self::all_hosts(), is_measured: true };
        let probes = is_probed.then(|| Self::probes(ImpactB::default().interval_nanoseconds));
        let jobs: Vec<LabJob<'_>> = std::iter::once(application).chain(probes).collect();
        let found = self.run(&format!("{}{}", proxy.name, if is_probed { " beside ImpactB" } else { "" }), &jobs)?;
        let seconds = mean(&found.durations(0));
        let seconds = seconds.ok_or_else(|| Failure::Work(format!("{} has no operations", proxy.name)))?;
        Ok((seconds, is_probed.then(|| found.impact(1))))
    }
}

/// The probe in the lab, at no load and at known loads.
pub(super) struct LabCalibrated {
    pub idle: LabImpact,
    pub calibration: Calibration,
}

impl LabCalibrated {
    /// Fits it.
    ///
    /// # Errors
    /// As the runs have them; latencies that no queue explains.
    pub fn new(lab: &LabSwitch<'_>, loads: &[f64], seconds: f64) -> Result<Self, Failure> {
        let idle = lab.impact("ImpactB alone", None, seconds)?;
        let mut known = Vec::with_capacity(loads.len());
        for &load in loads {
            let what = format!("ImpactB at a known load of {:.0} %", load * 100.0);
            let found = lab.impact(&what, Some(lab.known(load)?), seconds)?;
            known.push(KnownLoad { utilisation: found.impact.truth[0], mean_seconds: found.impact.mean_seconds() });
        }
        let calibration = Calibration::fit(idle.impact.mean_seconds(), &known).map_err(told)?;
        Ok(Self { idle, calibration })
    }
}

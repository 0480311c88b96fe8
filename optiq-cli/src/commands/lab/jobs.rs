//! `optiq lab jobs`: the jobs of a file with real messages, each alone and all together, beside what is simulated.

use super::jobs_document::{self, Measured, Setting};
use super::real_jobs::{self, Counted, RealJob};
use crate::arguments::duration;
use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::progress::Progress;
use clap::Args;
use optiq_lab::Lab;
use optiq_net::{Network, NodeId};
use optiq_sim::Model;
use optiq_sim::jobs::allocation::Allocation;
use optiq_sim::jobs::file::JobFile;
use optiq_sim::jobs::run::{JobRunOptions, Jobs, run_jobs};
use optiq_studies::real_jobs::check_program;
use optiq_studies::real_jobs::samples::RealJobDocument;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// The model of jobs in a lab, where its links are of that rate and the file names none.
const LAB_MODEL: &str = "lab-jobs";

/// Run the jobs of a job file in a lab that is up, with real messages: each alone, then all together, several times in turn.
/// Beside each slowdown is the one that optiq simulate --jobs predicts for the same file
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq lab jobs --help

A file jobs.toml for a lab of eight hosts:
  network = \"star:8,capacity=100Mbit/s\"
  [[job]]
  name = \"solver\"
  hosts = 4
  program = \"alltoall,message=100KB,samples=10\"
  [[job]]
  name = \"checkpoint\"
  hosts = 3
  servers = \"random-node:1\"
  program = \"io-write,request=1MB\"
  measured = false
and then
  optiq lab up --topology star:8 --rate 100Mbit/s
  optiq lab jobs jobs.toml
  optiq lab down

Jobs get the hosts and random choices that they have when the file is simulated; jobs that may share hosts say exclusive = false.")]
pub struct JobsOf {
    /// The job file, as optiq simulate --jobs has it; its network must be the lab's
    file: PathBuf,
    /// The lab's name, where there are several
    #[arg(long, default_value = Lab::DEFAULT_NAME)]
    name: String,
    /// How often each job runs alone, and all together
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repetitions: u32,
    /// The longest time that a single run may take, in seconds
    #[arg(long, value_name = "SECONDS", value_parser = duration, default_value = "300")]
    timeout: Duration,
    /// Run all together only, and no job alone
    #[arg(long)]
    only_together: bool,
    /// Have all samples of the runs with all jobs in the document
    #[arg(long, requires = "json")]
    samples: bool,
    /// Measure only, and simulate nothing
    #[arg(long)]
    no_simulation: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl JobsOf {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let progress = Progress::start("reading the job file");
        let file = JobFile::read(&self.file)?;
        let network = file.load_network()?;
        let lab = Lab::open(&self.name, None)?;
        let status = lab.status()?;
        check_network(&file, &network, &status.topology)?;
        for (at, job) in file.jobs.iter().enumerate() {
            check_program(&job.program).map_err(|why| file.error(at, &why))?;
        }
        let model = model(&file, &network)?;
        let allocation = Allocation::new(&file, &network)?;
        let jobs: Vec<RealJob> = (0..file.jobs.len()).map(|job| real_job(&file, &network, &allocation, job)).collect();
        let (measured, counted) = self.measure(&lab, &jobs, &progress)?;
        progress.now("simulating the same");
        let simulated = match self.no_simulation {
            true => None,
            false => {
                let jobs = Jobs {
                    file: &file,
                    network: &network,
                    model: &model,
                    allocation: &allocation,
                    planning_networks: &[],
                };
                Some(run_jobs(&jobs, &JobRunOptions { threads: 1, ..JobRunOptions::default() })?)
            }
        };
        drop(progress);
        let setting = Setting {
            file: &file,
            network: &network,
            model: &model,
            allocation: &allocation,
            profile: status.profile,
            repetitions: self.repetitions,
            links: &status.links,
            with_samples: self.samples,
        };
        let document = jobs_document::LabJobsDocument::new(&setting, &measured, simulated.as_ref(), &counted);
        match self.json {
            true => output::print_json(Schema::LabJobs, &document)?,
            false => output::print(&document.text())?,
        }
        Ok(ExitCode::SUCCESS)
    }

    /// Each job alone, and all together, this number of times in turn; and what the links carried meanwhile when all ran together,
    /// or the only job did.
    fn measure(&self, lab: &Lab, jobs: &[RealJob], progress: &Progress) -> Result<(Vec<Measured>, Counted), Failure> {
        let mut measured: Vec<Measured> = jobs.iter().map(|_| Measured::default()).collect();
        let mut counted = Counted::default();
        for repetition in 1..=self.repetitions {
            let tell = |what: &str| progress.now(format!("repetition {repetition} of {}: {what}", self.repetitions));
            for (job, of) in jobs.iter().zip(&mut measured).filter(|_| !self.only_together) {
                tell(&format!("{} alone", job.name));
                // Alone every job is measured, as it is when it is simulated.
                let alone = RealJob { is_measured: true, ..job.clone() };
                let (documents, carried) = real_jobs::run_counted(lab, &[alone], self.timeout)?;
                of.alone.extend(documents.iter().map(RealJobDocument::ranks));
                if jobs.len() == 1 {
                    counted.add(&carried);
                }
            }
            if jobs.len() > 1 || self.only_together {
                tell("all together");
                let (documents, carried) = real_jobs::run_counted(lab, jobs, self.timeout)?;
                counted.add(&carried);
                for (of, document) in measured.iter_mut().zip(documents) {
                    of.together.push(document.ranks());
                    of.processes.extend(document.processes.into_iter().filter(|_| self.samples));
                }
            }
        }
        Ok((measured, counted))
    }
}

/// The lab must be of the file's network, links and their capacities included.
fn check_network(file: &JobFile, network: &Network, lab: &str) -> Result<(), Failure> {
    let up = Network::from_spec(lab)?;
    if up.fingerprint() == network.fingerprint() {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "job file {}: its network is {}, but the lab is {lab}; network = \"{lab}\" or another lab is expected",
        file.label(),
        network.spec()
    )))
}

fn model(file: &JobFile, network: &Network) -> Result<Model, Failure> {
    if file.model.is_none() {
        let lab = Model::read(LAB_MODEL)?;
        if lab.check_rate(network).is_ok() {
            return Ok(lab);
        }
    }
    Ok(file.load_model(network)?)
}

fn real_job(file: &JobFile, network: &Network, allocation: &Allocation, job: usize) -> RealJob {
    let (entry, hosts) = (&file.jobs[job], &allocation.jobs[job]);
    let name = |host: NodeId| network.name(host).to_owned();
    RealJob {
        name: entry.name.clone(),
        program: entry.program.clone(),
        hosts: hosts.of_processes().map(name).collect(),
        servers: hosts.servers.len(),
        seed: file.job_seed(job),
        is_measured: entry.is_measured,
    }
}

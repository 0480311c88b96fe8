//! The machine of document 000 and its two jobs, from a description to what they take alone and beside each other.
//!
//! Every set-up is a job file, as `optiq simulate --jobs` takes it: the I/O job first, so that its hosts are the same with and without MPI. The job that
//! is not measured keeps going until the other one has its samples, as in the document (section 5.3.4). Sizes are binary, as
//! the project's hand computations read them: 4 MiB at 12.5 GB/s are 335.5 us.

use crate::failure::Failure;
use crate::findings::Cell;
use crate::published_interference::Interference;
use optiq_net::Network;
use optiq_sim::jobs::allocation::Allocation;
use optiq_sim::jobs::certificate::Certificate;
use optiq_sim::jobs::file::JobFile;
use optiq_sim::jobs::run::{JobResult, JobRunOptions, Jobs, Which, run_jobs};
use optiq_sim::jobs::statistics::{Estimate, JobStatistics, Slowdown};
use optiq_sim::{End, Model, Policy};

/// The model with the fitted parameters.
pub const MODEL: &str = "brown1296";
/// How much larger packets are where requests and messages are of 4 MiB or 512 KiB and nothing small is measured beside them: 32 KiB.
pub const LARGE: u64 = 8;
/// I/O and MPI, in the order of the job files.
pub const IO: usize = 0;
/// See [`IO`].
pub const MPI: usize = 1;

/// What one job does, how many of its operations are measured, and how many come before.
#[derive(Clone, Debug)]
pub struct Load {
    /// With its size and its interval: `io-write,request=4MiB,think=1ms,jitter=5%`.
    pub program: String,
    /// Whether the run goes on until it has its samples.
    pub measured: bool,
    pub samples: u32,
    pub warmup: u32,
}

impl Load {
    /// Requests of a size, with this time from completion to the next one.
    pub fn io(request: &str, think: &str) -> Self {
        Self::new(format!("io-write,request={request},think={think},jitter=5%"))
    }

    /// Messages between fixed random pairs, likewise.
    pub fn mpi(message: &str, think: &str) -> Self {
        Self::new(format!("pairs,message={message},think={think},jitter=5%"))
    }

    /// A load that keeps going. Its one sample bounds what it takes alone, which is not looked at.
    pub fn new(program: String) -> Self {
        Self { program, measured: false, samples: 1, warmup: 0 }
    }

    /// With this number of samples of each node, after some that are left out.
    pub fn measured(self, samples: u32, warmup: u32) -> Self {
        Self { measured: true, samples, warmup, ..self }
    }
}

/// A set-up of one or two jobs.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The topology.
    pub network: String,
    /// Hosts of the I/O job's clients and of the MPI job.
    pub clients: [u32; 2],
    pub io: Option<Load>,
    pub mpi: Option<Load>,
    /// Of both jobs.
    pub placement: &'static str,
    pub servers: String,
    pub routing: Policy,
    /// How many times as large as the machine's the packets are.
    pub packets: u64,
}

impl Setup {
    /// I/O and MPI on random nodes, half of the clients each; I/O servers on the leaf switches of one place in each pod, two in each half.
    pub fn new(published: &Interference) -> Self {
        Setup {
            network: published.network.clone(),
            clients: [published.clients; 2],
            servers: format!("isolated-target:{}:congruent", published.servers),
            io: None,
            mpi: None,
            placement: "random-node",
            routing: Policy::Fabric,
            packets: 1,
        }
    }

    pub fn with_io(self, load: Load) -> Self {
        Setup { io: Some(load), ..self }
    }

    pub fn with_mpi(self, load: Load) -> Self {
        Setup { mpi: Some(load), ..self }
    }

    pub fn with_packets(self, packets: u64) -> Self {
        Setup { packets, ..self }
    }

    /// The text of its job file.
    fn text(&self) -> String {
        let mut text = format!("network = \"{}\"\nrouting = \"{}\"\n", self.network, self.routing);
        let loads = [("io", &self.io, self.clients[IO]), ("mpi", &self.mpi, self.clients[MPI])];
        for (name, load, hosts) in loads {
            let Some(Load { program, measured, samples, warmup }) = load else { continue };
            text += &format!(
                "[[job]]\nname = \"{name}\"\nhosts = {hosts}\nplacement = \"{}\"\nprogram = \"{program}\"\n\
                 measured = {measured}\nsamples = {samples}\nwarmup = {warmup}\n",
                self.placement
            );
            if name == "io" {
                text += &format!("servers = \"{}\"\n", self.servers);
            }
        }
        text
    }

    /// Network, file, model and places.
    fn prepare(&self, model: &Model) -> Result<Prepared, Failure> {
        let file = JobFile::parse(&self.text(), "of this claim")?;
        let network = file.load_network()?;
        let allocation = Allocation::new(&file, &network)?;
        Ok(Prepared { file, network, allocation, model: coarser(model, self.packets) })
    }

    /// Simulates each job alone and, if there are two, both together.
    pub fn run(&self, model: &Model) -> Result<Observed, Failure> {
        let which = if self.io.is_some() && self.mpi.is_some() { Which::Both } else { Which::Alone };
        self.simulate(model, which)
    }

    /// Simulates both jobs together, and none alone.
    pub fn run_together(&self, model: &Model) -> Result<Observed, Failure> {
        self.simulate(model, Which::Together)
    }

    fn simulate(&self, model: &Model, which: Which) -> Result<Observed, Failure> {
        let Prepared { file, network, allocation, model } = self.prepare(model)?;
        let jobs =
            Jobs { file: &file, network: &network, model: &model, allocation: &allocation, planning_networks: &[] };
        let results = run_jobs(&jobs, &JobRunOptions { which, threads: 1, ..JobRunOptions::default() })?;
        let runs = results.alone.iter().flatten().chain(&results.together);
        if runs.clone().any(|run| run.end != End::Measured) {
            return Err(Failure::Work("a simulation ended before its jobs had their samples".into()));
        }
        let packets = runs.map(|run| run.packets).sum();
        let mut jobs = results.jobs.into_iter();
        let [io, mpi] = [&self.io, &self.mpi].map(|load| load.as_ref().and_then(|_| jobs.next()));
        Ok(Observed { io, mpi, packets })
    }

    /// What the two jobs share, from the routes alone.
    pub fn certificate(&self, model: &Model) -> Result<Certificate, Failure> {
        let Prepared { file, network, allocation, model } = self.prepare(model)?;
        Ok(Certificate::new(&file, &network, &model, &allocation, |_, _| ())?)
    }

    /// Where the I/O job's clients and servers are, on which network.
    pub fn io_hosts(&self, model: &Model) -> Result<(Network, Allocation), Failure> {
        let Prepared { network, allocation, .. } = self.prepare(model)?;
        Ok((network, allocation))
    }
}

struct Prepared {
    file: JobFile,
    network: Network,
    allocation: Allocation,
    model: Model,
}

/// The model with packets that are larger; buffers hold four of them at least, so that store-and-forward keeps links busy.
fn coarser(model: &Model, times: u64) -> Model {
    let mut model = model.clone();
    model.link.packet_bytes *= times;
    model.router.buffer_bytes = model.router.buffer_bytes.max(4 * model.link.packet_bytes);
    model
}

/// What was observed of a set-up.
pub struct Observed {
    io: Option<JobResult>,
    mpi: Option<JobResult>,
    /// Of all runs.
    pub packets: u64,
}

impl Observed {
    fn job(&self, job: usize) -> Result<&JobResult, Failure> {
        let found = if job == IO { &self.io } else { &self.mpi };
        found.as_ref().ok_or_else(|| Failure::Work("a set-up without this job".into()))
    }

    /// Of a job alone.
    pub fn alone(&self, job: usize) -> Result<JobStatistics, Failure> {
        let result = self.job(job)?;
        let found = result.alone.as_ref().and_then(|run| result.statistics(run));
        found.ok_or_else(|| Failure::Work("no samples alone".into()))
    }

    /// Of a job beside the other one.
    pub fn together(&self, job: usize) -> Result<JobStatistics, Failure> {
        let result = self.job(job)?;
        let found = result.together.as_ref().and_then(|run| result.statistics(run));
        found.ok_or_else(|| Failure::Work("no samples of both jobs".into()))
    }

    /// How much slower a job is beside the other one.
    pub fn slowdown(&self, job: usize) -> Result<Slowdown, Failure> {
        self.job(job)?.slowdown().ok_or_else(|| Failure::Work("no samples of both jobs".into()))
    }

    /// From start to start, in seconds, on average over the nodes of a job beside the other one.
    pub fn cycle_seconds(&self, job: usize) -> Result<f64, Failure> {
        let ranks = self.job(job)?.together.iter().flat_map(|run| &run.ranks);
        let cycles = ranks.filter_map(|rank| {
            let (first, last) = (rank.samples.first()?, rank.samples.last()?);
            let between = rank.samples.len().checked_sub(1).filter(|&n| n > 0)?;
            Some((last.start - first.start).seconds() / between as f64)
        });
        let (sum, count) = cycles.fold((0.0, 0usize), |(sum, count), cycle| (sum + cycle, count + 1));
        if count == 0 {
            Err(Failure::Work("fewer than two samples of each node".into()))
        } else {
            Ok(sum / count as f64)
        }
    }
}

/// Microseconds.
pub fn us(estimate: &Estimate) -> f64 {
    estimate.value * 1e6
}

/// The same machine with buffers that never fill: no packet waits for space, and so none behind one that does.
pub fn never_full(model: &Model) -> Model {
    let mut roomy = model.clone();
    roomy.router.buffer_bytes = 1 << 30;
    roomy
}

/// `1.21 to 1.25`, an interval at 95 %.
pub fn interval(estimate: &Estimate) -> Cell {
    estimate.interval.map_or(Cell::Nothing, |i| Cell::Text(format!("{:.3} to {:.3}", i.low, i.high)))
}

/// How a page says how it sampled.
pub fn sampling(system: &str, packets: u64) -> String {
    format!(
        "Samples of each node are in the table, fewer than the 1,000 published, after those of a warm-up that are left out; with each client in the \
         run they are hundreds to thousands. Intervals are at 95 % by a bootstrap over nodes, as samples of one node resemble each other. {system} \
         All runs of this page are {:.1} million packets.",
        packets as f64 / 1e6
    )
}

//! What an exchange will cost, over planned paths and by plain MPI.
//!
//! With `C` the plan's congestion, `D` that of the fabric's own routes, `B` the slowest link's rate, `a` the time of an
//! agreement, `l` the latency of a message, `o` what a rank needs to handle a chunk, `m` what a forwarder needs to copy a byte (0 where
//! none does), `c` a path's chunk size and `f` its forwarders:
//!
//! ```text
//!     planned  =  a  +  max(C / p, o * chunks + m * forwarded bytes at the busiest host)
//!                    +  max over paths of f * (c / B + l + o + m c)
//!     plain    =  l  +  D / q
//! ```
//!
//! The last term of the first line fills the pipeline: a forwarder sends a chunk on when it has all of it. `p` and `q` are
//! the link efficiencies: the parts of the link bound that planned paths and plain MPI reach. Thesis 6.4.3 found 0.44 and 0.78;
//! docs/results/lab.md has ours. The prediction decides only until both were measured (the trials of `optiq::Session`).
//!
//! The times are measured when a session begins, or all parameters come from a file (`OPTIQ_CALIBRATION`), which
//! [`crate::machine`] reads.

use crate::constants::{
    AGREEMENT_SECONDS, AGREEMENTS_SAVED, CHUNK_SECONDS, LATENCY_SECONDS, MPI_LINK_EFFICIENCY, PLANNED_LINK_EFFICIENCY,
    STORE_AND_FORWARD_LINK_EFFICIENCY,
};
use optiq_solver::Plan;
use optiq_transport::{ChunkCost, ChunkRule};
use std::collections::BTreeMap;
use std::fmt;

/// Times that decide between planned paths and plain MPI, in seconds, and link efficiencies: parts of the link bound.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostModel {
    /// An agreement of all ranks: a reduction of a few words.
    pub agreement_seconds: f64,
    /// A short message between two hosts.
    pub latency_seconds: f64,
    /// A rank's work for a chunk that it sends, receives or passes on.
    pub chunk_seconds: f64,
    /// A forwarder's work for a byte of what it passes on, besides: 0 unless it copies that.
    pub copy_seconds_per_byte: f64,
    /// Part of the link bound that planned paths reach; above 0, at most 1.
    pub planned_link_efficiency: f64,
    /// The same with relays at every host on the way ([`crate::relays::RelayPolicy`]).
    pub store_and_forward_link_efficiency: f64,
    /// Part of the link bound that `MPI_Alltoallv` reaches.
    pub mpi_link_efficiency: f64,
}

impl Default for CostModel {
    /// For a cluster with messages of 100 us; a session starts from these and measures the times.
    fn default() -> Self {
        Self {
            agreement_seconds: AGREEMENT_SECONDS,
            latency_seconds: LATENCY_SECONDS,
            chunk_seconds: CHUNK_SECONDS,
            copy_seconds_per_byte: 0.0,
            planned_link_efficiency: PLANNED_LINK_EFFICIENCY,
            store_and_forward_link_efficiency: STORE_AND_FORWARD_LINK_EFFICIENCY,
            mpi_link_efficiency: MPI_LINK_EFFICIENCY,
        }
    }
}

/// What the model says about an exchange, in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prediction {
    /// Over the planned paths.
    pub planned_seconds: f64,
    /// By `MPI_Alltoallv`.
    pub plain_seconds: f64,
}

impl Prediction {
    /// How many times faster planned paths are.
    pub fn gain(&self) -> f64 {
        self.plain_seconds / self.planned_seconds
    }
}

/// What the time over planned paths is made of, but for the agreement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExecutionTime {
    /// The most loaded link, `C / p`.
    pub links_seconds: f64,
    /// The chunks at the busiest host.
    pub work_seconds: f64,
    /// Until the slowest path is full.
    pub fill_seconds: f64,
}

impl ExecutionTime {
    /// All of it: links and hosts work at the same time.
    pub fn seconds(&self) -> f64 {
        self.links_seconds.max(self.work_seconds) + self.fill_seconds
    }
}

impl CostModel {
    /// How long a plan's exchange takes, and how long plain MPI takes for the same demands. `unit_capacity` is the slowest
    /// link's rate in bytes per second, `chunk` the rule for chunk sizes; `scale` multiplies all bytes of the plan.
    pub fn predict(&self, plan: &Plan, unit_capacity: f64, chunk: ChunkRule, scale: f64) -> Prediction {
        let flows = plan.flows.iter().flatten();
        let paths = flows.map(|f| ((f.bytes as f64 * scale).max(1.0), f.stops.iter().copied()));
        let links = plan.congestion_seconds * scale / self.planned_link_efficiency;
        let plain = plan.direct_congestion_seconds * scale / self.mpi_link_efficiency;
        Prediction {
            planned_seconds: self.agreement_seconds + self.execution(paths, links, unit_capacity, chunk, 1.0).seconds(),
            plain_seconds: self.latency_seconds + plain,
        }
    }

    /// How long paths take, each given by its bytes and its stops (hosts or ranks) with both ends, if the links take
    /// `links_seconds`: the last two terms of the formula for planned paths. While paths fill, a chunk waits at a forwarder for
    /// `queued` chunks at most, itself included.
    pub(crate) fn execution<Stop: Ord, Stops: ExactSizeIterator<Item = Stop>>(
        &self,
        paths: impl Iterator<Item = (f64, Stops)>,
        links_seconds: f64,
        unit_capacity: f64,
        chunk: ChunkRule,
        queued: f64,
    ) -> ExecutionTime {
        let (mut fill_seconds, mut busy_seconds) = (0f64, BTreeMap::<Stop, f64>::new());
        for (bytes, stops) in paths {
            let (legs, forwarders) = (stops.len().saturating_sub(1), stops.len().saturating_sub(2));
            let size = chunk.chunk(bytes as u64, legs as u64, ChunkCost::default()) as f64;
            let chunks = (bytes / size).ceil();
            for (i, stop) in stops.enumerate() {
                let copied = if (1..legs).contains(&i) { bytes * self.copy_seconds_per_byte } else { 0.0 };
                *busy_seconds.entry(stop).or_default() += chunks * self.chunk_seconds + copied;
            }
            let queue = size * chunks.min(queued) / unit_capacity;
            let each = self.latency_seconds + self.chunk_seconds + size * self.copy_seconds_per_byte;
            fill_seconds = fill_seconds.max(forwarders as f64 * (queue + each));
        }
        let work_seconds = busy_seconds.into_values().fold(0f64, f64::max);
        ExecutionTime { links_seconds, work_seconds, fill_seconds }
    }

    /// The bytes of a host below which a plan cannot pay for an agreement: it saves half of their time on a link, where
    /// gains are as usual.
    pub fn least_bytes(&self, unit_capacity: f64) -> u64 {
        (AGREEMENTS_SAVED * self.agreement_seconds * unit_capacity).clamp(1.0, 1e15) as u64
    }

    /// The value of a parameter.
    pub fn get(&self, parameter: Parameter) -> f64 {
        match parameter {
            Parameter::Agreement => self.agreement_seconds,
            Parameter::Latency => self.latency_seconds,
            Parameter::Chunk => self.chunk_seconds,
            Parameter::PlannedLinkEfficiency => self.planned_link_efficiency,
            Parameter::StoreAndForwardLinkEfficiency => self.store_and_forward_link_efficiency,
            Parameter::MpiLinkEfficiency => self.mpi_link_efficiency,
        }
    }

    /// Changes a parameter.
    ///
    /// # Errors
    /// A sentence if the value is not above 0 and at most [`Parameter::largest`].
    pub fn set(&mut self, parameter: Parameter, value: f64) -> Result<(), String> {
        let largest = parameter.largest();
        if !(value > 0.0 && value <= largest) {
            return Err(format!("{parameter} is {value}; a number above 0 and at most {largest} is expected"));
        }
        *match parameter {
            Parameter::Agreement => &mut self.agreement_seconds,
            Parameter::Latency => &mut self.latency_seconds,
            Parameter::Chunk => &mut self.chunk_seconds,
            Parameter::PlannedLinkEfficiency => &mut self.planned_link_efficiency,
            Parameter::StoreAndForwardLinkEfficiency => &mut self.store_and_forward_link_efficiency,
            Parameter::MpiLinkEfficiency => &mut self.mpi_link_efficiency,
        } = value;
        Ok(())
    }
}

/// A parameter of [`CostModel`], as files name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Parameter {
    /// [`CostModel::agreement_seconds`].
    Agreement,
    /// [`CostModel::latency_seconds`].
    Latency,
    /// [`CostModel::chunk_seconds`].
    Chunk,
    /// [`CostModel::planned_link_efficiency`].
    PlannedLinkEfficiency,
    /// [`CostModel::store_and_forward_link_efficiency`].
    StoreAndForwardLinkEfficiency,
    /// [`CostModel::mpi_link_efficiency`].
    MpiLinkEfficiency,
}

impl Parameter {
    /// All of them, in the order of files.
    pub const ALL: [Parameter; 6] = [
        Parameter::Agreement,
        Parameter::Latency,
        Parameter::Chunk,
        Parameter::PlannedLinkEfficiency,
        Parameter::StoreAndForwardLinkEfficiency,
        Parameter::MpiLinkEfficiency,
    ];

    /// Its name in files and JSON documents.
    pub fn name(self) -> &'static str {
        match self {
            Parameter::Agreement => "agreement_seconds",
            Parameter::Latency => "latency_seconds",
            Parameter::Chunk => "chunk_seconds",
            Parameter::PlannedLinkEfficiency => "planned_link_efficiency",
            Parameter::StoreAndForwardLinkEfficiency => "store_and_forward_link_efficiency",
            Parameter::MpiLinkEfficiency => "mpi_link_efficiency",
        }
    }

    /// The parameter of this name.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|p| p.name() == name)
    }

    /// Whether it is a part of the link bound, and not a time in seconds.
    pub fn is_link_efficiency(self) -> bool {
        match self {
            Parameter::Agreement | Parameter::Latency | Parameter::Chunk => false,
            Parameter::PlannedLinkEfficiency
            | Parameter::StoreAndForwardLinkEfficiency
            | Parameter::MpiLinkEfficiency => true,
        }
    }

    /// The largest value: 1, or 10 seconds.
    pub fn largest(self) -> f64 {
        if self.is_link_efficiency() { 1.0 } else { 10.0 }
    }
}

impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// As a calibration file has it.
impl fmt::Display for CostModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Parameter::ALL.into_iter().try_for_each(|parameter| {
            let value = self.get(parameter);
            match parameter.is_link_efficiency() {
                true => writeln!(f, "{parameter} = {value}"),
                false => writeln!(f, "{parameter} = {value:e}"),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use optiq_net::{Network, NodeId};
    use optiq_solver::Demand;
    use optiq_solver::pipeline::{self, PlanOptions};

    #[test]
    fn a_forwarded_half_by_hand() {
        // Ring of four, 0 to 2, 1 MB: half straight on, half forwarded by 3. Chunks of 100 kB; links of 2 GB/s.
        let net = Network::from_spec("torus:4,capacity=2GB/s").unwrap();
        let demands = [Demand::new(NodeId(0), NodeId(2), 1_000_000)];
        let options = PlanOptions {
            planner: optiq_solver::planner::PlannerName::Heuristic2,
            chunk: 100_000,
            ..PlanOptions::default()
        };
        let plan = pipeline::run(&net, &demands, &options).unwrap().plan;
        let model = CostModel {
            agreement_seconds: 1.0,
            latency_seconds: 0.5,
            chunk_seconds: 0.25,
            copy_seconds_per_byte: 0.0,
            planned_link_efficiency: 0.5,
            store_and_forward_link_efficiency: 0.5,
            mpi_link_efficiency: 1.0,
        };
        let found = model.predict(&plan, net.unit_capacity(), ChunkRule::Fixed(100_000), 1.0);
        // Ten chunks at either end keep a rank busy for 2.5 s, far longer than the links.
        let fill = 1e5 / 2e9 + 0.5 + 0.25;
        assert!((found.planned_seconds - (1.0 + 2.5 + fill)).abs() < 1e-9, "{found:?}");
        assert!((found.plain_seconds - (0.5 + 1e6 / 2e9)).abs() < 1e-12, "{found:?}");
        // Half of the bytes are copied by host 3, at 1 us each in 0.5 s: with five chunks, less than what the ends do, which copy nothing.
        let copies = CostModel { copy_seconds_per_byte: 1e-6, ..model };
        let found = copies.predict(&plan, net.unit_capacity(), ChunkRule::Fixed(100_000), 1.0);
        assert!((found.planned_seconds - (1.0 + 2.5 + fill + 0.1)).abs() < 1e-9, "{found:?}");
        // At 10 us each it is 5 s, beside 1.25 s for the chunks.
        let copies = CostModel { copy_seconds_per_byte: 1e-5, ..model };
        let found = copies.predict(&plan, net.unit_capacity(), ChunkRule::Fixed(100_000), 1.0);
        assert!((found.planned_seconds - (1.0 + 6.25 + fill + 1.0)).abs() < 1e-9, "{found:?}");
        let scaled = model.predict(&plan, net.unit_capacity(), ChunkRule::Fixed(100_000), 1e6);
        assert!(scaled.planned_seconds > 2.5e6 && (scaled.plain_seconds - 500.5).abs() < 1e-6);
    }
}

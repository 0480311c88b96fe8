//! What every claim's run needs: networks, demands, plans, repetitions.

use crate::failure::Failure;
use crate::progress::Progress;
use crate::published::Published;
use optiq_measure::statistics::median;
use optiq_net::Network;
use optiq_solver::demands::{self, Demand};
use optiq_solver::pipeline::{self, PlanOptions, Planned};
use optiq_solver::planner::PlannerName;
use optiq_solver::{Candidates, PlanError};

/// Bytes of each pair in all of the thesis's tables that are shown again here.
pub const MESSAGE: u64 = 8 << 20;

/// How claims are run.
pub struct Setting<'a> {
    pub published: &'a Published,
    /// Nodes in place of the published number.
    pub nodes: Option<u32>,
    /// Of which times are medians.
    pub repetitions: usize,
    /// Divide published bytes by this in simulated claims, in place of the claim's own divisor.
    pub scale: Option<u64>,
    /// How many times as large as the machine's packets are in simulated claims, in place of the claim's own factor.
    pub packets: Option<u64>,
    /// The 91 cases.
    pub cases: &'a [super::thesis_cases::Case],
    pub progress: &'a Progress<'a>,
}

/// A partition, and whether it is the published one.
pub struct Partition {
    pub net: Network,
    pub nodes: u32,
    /// A number is judged only at the size that it was published for.
    pub published: bool,
}

impl Setting<'_> {
    /// The partition that a claim was published for, or the one asked for in its place.
    pub fn partition(&self, published: u32) -> Result<Partition, Failure> {
        let nodes = self.nodes.unwrap_or(published);
        Ok(Partition { net: self.network(nodes)?, nodes, published: nodes == published })
    }

    /// A partition with this number of nodes.
    pub fn network(&self, nodes: u32) -> Result<Network, Failure> {
        Ok(Network::from_spec(&format!("bgq:{nodes}"))?)
    }

    /// The thesis's pattern with 8 MiB for each pair.
    pub fn pattern(&self, name: &str, net: &Network) -> Result<Vec<Demand>, Failure> {
        Ok(demands::parse(&format!("pattern:{name}"), net, MESSAGE)?)
    }

    /// Plans once. `None` if this build lacks the planner.
    pub fn plan(
        &self,
        net: &Network,
        demands: &[Demand],
        options: &PlanOptions,
        candidates: Option<&Candidates>,
    ) -> Result<Option<Planned>, Failure> {
        match pipeline::run_with(net, demands, options, candidates) {
            Ok(planned) => Ok(Some(planned)),
            Err(PlanError::LeftOut { .. }) => Ok(None),
            Err(e) => Err(e.into()),
        }
    }

    /// Plans as often as repetitions are asked for: the plan, which is the same each time, and the median of the whole
    /// time from demands to checked plan. `None` if this build lacks the planner.
    pub fn timed(
        &self,
        net: &Network,
        demands: &[Demand],
        options: &PlanOptions,
    ) -> Result<Option<(Planned, f64)>, Failure> {
        let mut seconds = Vec::with_capacity(self.repetitions);
        let mut last = None;
        for _ in 0..self.repetitions {
            last = self.plan(net, demands, options, None)?;
            let Some(planned) = &last else { return Ok(None) };
            seconds.push(planned.timings.total_seconds);
        }
        Ok(last.map(|planned| (planned, median(&seconds).unwrap_or(0.0))))
    }
}

/// Options with this planner.
pub fn with_planner(planner: PlannerName) -> PlanOptions {
    PlanOptions { planner, ..PlanOptions::default() }
}

/// MB (decimal) on the worst physical link of a plan.
pub fn worst_megabytes(planned: &Planned) -> f64 {
    planned.report.bytes_per_link_max / 1e6
}

/// MB (decimal) below which no routing's worst link can be.
pub fn bound_megabytes(planned: &Planned, net: &Network) -> f64 {
    planned.report.bound_seconds * net.unit_capacity() / 1e6
}

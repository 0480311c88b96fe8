//! The simulated machine of the claims that were measured on Mira, and how far runs on it are smaller than the published
//! ones.

use super::exchange::simulate;
use super::setting::{Setting, with_planner};
use crate::compared_method::ComparedMethod;
use crate::failure::Failure;
use optiq_net::Network;
use optiq_sim::Model;
use optiq_sim::simulated_exchange::method::{MpiAlgorithm, TransferMethod};
use optiq_sim::simulated_exchange::run::SimulatedRun;
use optiq_solver::Demand;
use optiq_solver::planner::PlannerName;
use optiq_transport::ScheduleOptions;

/// How far, relatively, a figure may be below the one that it must exceed: a run is exact, but orders within a percent are not
/// significant.
pub const ORDER: f64 = 0.01;

/// The published approaches, and the planners that stand for them, worst first. The thesis's optimization is planner `lp`;
/// `optimal` solves the same problem without its limit to 50 paths, and in a fraction of its time.
pub const PLANNERS: [PlannerName; 3] = [PlannerName::Heuristic1, PlannerName::Heuristic2, PlannerName::Optimal];

/// By how much runs are smaller than the published ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Bytes of every pair are divided by this.
    pub bytes: u64,
    /// How many times as large packets and the buffers of routers are.
    pub packets: u64,
}

impl Scale {
    /// Nothing is smaller.
    pub const FULL: Scale = Scale { bytes: 1, packets: 1 };
}

/// Blue Gene/Q, whole or scaled.
pub struct Machine<'a> {
    setting: &'a Setting<'a>,
    model: Model,
    scale: Scale,
    /// Whether runs are no smaller than the claim's own: smaller ones are not judged.
    pub judged: bool,
}

/// How one method of moving the bytes did.
pub struct Measured {
    pub method: ComparedMethod,
    pub seconds: f64,
    /// GB/s (decimal), all bytes over the time.
    pub gigabytes: f64,
    /// Over the throughput of MPI.
    pub times_mpi: f64,
    /// The most loaded link's bytes over its capacity, over the time.
    pub share_of_bound: f64,
    pub paths: usize,
    pub paths_per_pair_max: usize,
    pub paths_per_pair_mean: f64,
}

impl<'a> Machine<'a> {
    /// The machine at a claim's own scale, or at the one that was asked for.
    ///
    /// # Errors
    /// [`Failure::Input`] for packets that the model cannot have.
    pub fn new(setting: &'a Setting<'a>, own: Scale) -> Result<Self, Failure> {
        let scale =
            Scale { bytes: setting.scale.unwrap_or(own.bytes), packets: setting.packets.unwrap_or(own.packets) };
        let judged = scale.bytes <= own.bytes && scale.packets <= own.packets;
        Self::at(setting, scale, judged)
    }

    /// The machine at the published scale, whatever was asked for.
    ///
    /// # Errors
    /// None but for a preset that cannot be read.
    pub fn full(setting: &'a Setting<'a>) -> Result<Self, Failure> {
        Self::at(setting, Scale::FULL, true)
    }

    fn at(setting: &'a Setting<'a>, scale: Scale, judged: bool) -> Result<Self, Failure> {
        let mut model = Model::read("bgq")?;
        model.link.packet_bytes = model.link.packet_bytes.saturating_mul(scale.packets);
        model.router.buffer_bytes = model.router.buffer_bytes.saturating_mul(scale.packets);
        model.check().map_err(|e| Failure::Input(format!("--packets {}: {e}", scale.packets)))?;
        Ok(Machine { setting, model, scale, judged })
    }

    /// Demands with their bytes divided; none becomes empty.
    pub fn scaled(&self, mut demands: Vec<Demand>) -> Vec<Demand> {
        demands.iter_mut().for_each(|d| d.bytes = d.bytes.div_ceil(self.scale.bytes));
        demands
    }

    /// The model, for what is computed beside a run.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Runs an exchange to its end.
    pub fn run(&self, net: &Network, demands: &[Demand], method: TransferMethod) -> Result<SimulatedRun, Failure> {
        simulate(net, &self.model, demands, method, self.setting.progress)
    }

    /// MPI, then each of the planners that this build has, on demands that are scaled already. `what` is for people who wait.
    pub fn compare(
        &self,
        net: &Network,
        demands: &[Demand],
        planners: &[PlannerName],
        what: &str,
    ) -> Result<Vec<Measured>, Failure> {
        let mut found: Vec<Measured> = Vec::with_capacity(1 + planners.len());
        let bytes = demands.iter().map(|d| d.bytes as f64).sum::<f64>();
        let mut add = |method, run: &SimulatedRun, (paths, most, mean): (usize, usize, f64)| {
            let seconds = run.seconds();
            let times_mpi = found.first().map_or(1.0, |mpi| mpi.seconds / seconds);
            found.push(Measured {
                method,
                seconds,
                gigabytes: bytes / seconds / 1e9,
                times_mpi,
                share_of_bound: run.link_bound / seconds,
                paths,
                paths_per_pair_max: most,
                paths_per_pair_mean: mean,
            });
        };
        self.setting.progress.now(format!("{what}: MPI"));
        add(
            ComparedMethod::Mpi,
            &self.run(net, demands, TransferMethod::Mpi(MpiAlgorithm::Linear))?,
            (demands.len(), 1, 1.0),
        );
        for &name in planners {
            self.setting.progress.now(format!("{what}: planning with {name}"));
            let Some(planned) = self.setting.plan(net, demands, &with_planner(name), None)? else { continue };
            let r = &planned.report;
            let paths = (r.paths, r.paths_per_demand_max, r.paths_per_demand_mean);
            add(
                ComparedMethod::Planned(name),
                &self.run(net, demands, TransferMethod::Planned(Box::new(planned), ScheduleOptions::default()))?,
                paths,
            );
        }
        Ok(found)
    }

    /// What is smaller than published, and how much that changes: one case of unscaled `demands`, run both ways. `None` if
    /// nothing is smaller. Where another scale than the claim's own was asked for, the comparison is left out.
    pub fn note(&self, net: &Network, demands: &[Demand], what: &str) -> Result<Option<String>, Failure> {
        let Scale { bytes, packets } = self.scale;
        if self.scale == Scale::FULL {
            return Ok(None);
        }
        let mut changes = Vec::new();
        if bytes > 1 {
            changes.push(format!("the bytes of all pairs are divided by {bytes}"));
        }
        if packets > 1 {
            let unscaled = Model::read("bgq")?;
            changes.push(format!(
                "packets are of {} bytes in place of {}, and buffers hold as many of them as before",
                self.model.link.packet_bytes, unscaled.link.packet_bytes
            ));
        }
        let mut note = format!("Scaled: {}.", changes.join("; "));
        if self.setting.scale.is_none() && self.setting.packets.is_none() {
            let ratio = |machine: &Machine, demands: &[Demand]| -> Result<f64, Failure> {
                let found =
                    machine.compare(net, demands, &[PlannerName::Optimal], &format!("{what}, to check the scale"))?;
                Ok(found.last().map_or(1.0, |m| m.times_mpi))
            };
            let full = ratio(&Machine::full(self.setting)?, demands)?;
            let small = ratio(self, &self.scaled(demands.to_vec()))?;
            note.push_str(&format!(
                " What that changes, on {what}: the plan is {small:.2} times as fast as MPI scaled, and {full:.2} times in \
                 full, so that the scaled run's ratio is {:.1} % {}.",
                (small / full - 1.0).abs() * 100.0,
                if small < full { "lower" } else { "higher" }
            ));
        }
        Ok(Some(note))
    }
}

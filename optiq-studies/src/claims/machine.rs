//! The simulated machine of the claims that were measured on Mira, and how far runs on it are smaller than the published
//! ones.

use super::baselines::{self, Strongest};
use super::exchange::simulate;
use super::setting::{Setting, with_planner};
use crate::compared_method::ComparedMethod;
use crate::failure::Failure;
use crate::findings::{Cell, Column, column};
use optiq_net::Network;
use optiq_sim::Model;
use optiq_sim::simulated_exchange::method::{MpiAlgorithm, TransferMethod};
use optiq_sim::simulated_exchange::run::SimulatedRun;
use optiq_solver::CandidateMethod;
use optiq_solver::Demand;
use optiq_solver::pipeline::{K, PlanOptions, Planned};
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
    candidates: CandidateMethod,
    /// Whether runs are no smaller than the claim's own: smaller ones are not judged.
    pub judged: bool,
}

/// The set-up of the strongest MPI, in rows of MPI; see [`Measured::beside_the_strongest`].
pub const STRONGEST_SETUP: Column = column("strongest MPI", "strongest_mpi", 0);

/// The throughput over that of the strongest MPI.
pub const TIMES_STRONGEST: Column = column("times the strongest MPI", "times_strongest_mpi", 2);

/// How one method of moving the bytes did.
#[derive(Clone)]
pub struct Measured {
    pub method: ComparedMethod,
    /// The strongest MPI for the same demands, where it was looked for.
    pub strongest: Option<Strongest>,
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

impl Measured {
    /// Of a run, beside MPI's; paths, the most of a pair and their mean.
    fn of(
        method: ComparedMethod,
        run: &SimulatedRun,
        (demands, mpi): (&[Demand], Option<&Measured>),
        (paths, paths_per_pair_max, paths_per_pair_mean): (usize, usize, f64),
    ) -> Self {
        let seconds = run.seconds();
        let bytes = demands.iter().map(|d| d.bytes as f64).sum::<f64>();
        Measured {
            method,
            strongest: None,
            seconds,
            gigabytes: bytes / seconds / 1e9,
            times_mpi: mpi.map_or(1.0, |mpi| mpi.seconds / seconds),
            share_of_bound: run.link_bound / seconds,
            paths,
            paths_per_pair_max,
            paths_per_pair_mean,
        }
    }

    /// Over the throughput of the strongest MPI, where that was looked for.
    pub fn times_strongest(&self) -> Option<f64> {
        self.strongest.map(|strongest| strongest.seconds / self.seconds)
    }

    /// GB/s of the strongest MPI for the same demands; 0 where it was not looked for.
    pub fn strongest_gigabytes(&self) -> f64 {
        self.strongest.map_or(0.0, |strongest| self.gigabytes * self.seconds / strongest.seconds)
    }

    /// The cells of [`STRONGEST_SETUP`] and [`TIMES_STRONGEST`].
    pub fn beside_the_strongest(&self) -> [Cell; 2] {
        let setup = self.strongest.filter(|_| self.method == ComparedMethod::Mpi).map(|s| s.setup.to_string());
        [setup.map_or(Cell::Nothing, Cell::Text), self.times_strongest().into()]
    }

    /// Cells: the link bound and the time, milliseconds, and the share of the bound, percent.
    pub fn beside_the_bound(&self) -> [Cell; 3] {
        let bound = self.share_of_bound * self.seconds;
        [(bound * 1e3).into(), (self.seconds * 1e3).into(), (self.share_of_bound * 100.0).into()]
    }
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
        model.enlarge_packets(scale.packets);
        model.check().map_err(|e| Failure::Input(format!("--packets {}: {e}", scale.packets)))?;
        Ok(Machine { setting, model, scale, candidates: CandidateMethod::default(), judged })
    }

    /// The same machine with plans over the thesis's candidates, the 50 shortest paths of each pair.
    pub fn with_thesis_candidates(self) -> Self {
        Machine { candidates: CandidateMethod::Yen, ..self }
    }

    /// The options of a planner.
    fn options(&self, name: PlannerName) -> PlanOptions {
        let k = (self.candidates == CandidateMethod::Yen).then_some(K);
        PlanOptions { method: self.candidates, k, ..with_planner(name) }
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

    /// GB/s (decimal) at which planned paths move these demands, which are scaled already.
    pub fn throughput(&self, net: &Network, demands: &[Demand], planned: Planned) -> Result<f64, Failure> {
        let run = self.run(net, demands, TransferMethod::Planned(Box::new(planned), ScheduleOptions::default()))?;
        Ok(demands.iter().map(|d| d.bytes as f64).sum::<f64>() / run.seconds() / 1e9)
    }

    /// MPI, then each of the planners that this build has, on demands that are scaled already. `what` is for people who wait.
    pub fn compare(
        &self,
        net: &Network,
        demands: &[Demand],
        planners: &[PlannerName],
        what: &str,
    ) -> Result<Vec<Measured>, Failure> {
        self.setting.progress.now(format!("{what}: MPI"));
        let run = self.run(net, demands, TransferMethod::Mpi(MpiAlgorithm::Linear))?;
        let mpi = Measured::of(ComparedMethod::Mpi, &run, (demands, None), (demands.len(), 1, 1.0));
        let planned = self.compare_planned(net, demands, planners, Some(&mpi), what)?;
        Ok(std::iter::once(mpi).chain(planned).collect())
    }

    /// Each of the planners that this build has, beside what was measured of MPI.
    pub fn compare_planned(
        &self,
        net: &Network,
        demands: &[Demand],
        planners: &[PlannerName],
        mpi: Option<&Measured>,
        what: &str,
    ) -> Result<Vec<Measured>, Failure> {
        let mut found = Vec::with_capacity(planners.len());
        for &name in planners {
            self.setting.progress.now(format!("{what}: planning with {name}"));
            let Some(planned) = self.setting.plan(net, demands, &self.options(name), None)? else { continue };
            let r = &planned.report;
            let paths = (r.paths, r.paths_per_demand_max, r.paths_per_demand_mean);
            let method = TransferMethod::Planned(Box::new(planned), ScheduleOptions::default());
            let run = self.run(net, demands, method)?;
            found.push(Measured::of(ComparedMethod::Planned(name), &run, (demands, mpi), paths));
        }
        Ok(found)
    }

    /// [`Machine::compare`], with the strongest MPI beside each.
    pub fn compare_with_strongest(
        &self,
        net: &Network,
        demands: &[Demand],
        planners: &[PlannerName],
        what: &str,
    ) -> Result<Vec<Measured>, Failure> {
        let mut found = self.compare(net, demands, planners, what)?;
        let Some(published) = found.first().map(|mpi| mpi.seconds) else { return Ok(found) };
        let waiting = (what, self.setting.progress);
        let strongest = baselines::strongest(net, &self.model, demands, published, waiting)?;
        found.iter_mut().for_each(|m| m.strongest = Some(strongest));
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

//! From demands to what a simulated exchange took.

use super::cost::cost_model;
use super::method::{Executor, MpiAlgorithm, TransferMethod};
use crate::constants::FLOW_MODEL_MESSAGES;
use crate::engine::limits::End;
use crate::error::SimError;
use crate::flow;
use crate::model::{Carry, Model};
use crate::options::RunOptions;
use crate::workload::exchange::{Exchanged, Method, exchange};
use crate::workload::message::Message;
use optiq_lower::choices::LegsChoice;
use optiq_lower::lower::{self, lower, lower_by_timetable};
use optiq_lower::model::ExecutionTime;
use optiq_lower::placement::Placement;
use optiq_lower::relays::RelayPolicy;
use optiq_lower::timetable;
use optiq_net::Network;
use optiq_solver::demands::Demand;
use optiq_solver::pipeline::{self, PlanOptions, Planned};
use optiq_solver::plan;
use optiq_transport::{Path, QueueOrder, Rank, ScheduleOptions};
use std::collections::BTreeMap;

/// What is exchanged, and on what.
#[derive(Clone, Copy)]
pub struct ExchangeSetting<'a> {
    /// The network.
    pub network: &'a Network,
    /// The machine's parameters.
    pub model: &'a Model,
    /// What is to be moved: at most one demand for each pair of hosts.
    pub demands: &'a [Demand],
    /// How planned paths are carried out.
    pub executor: Executor,
}

/// An exchange that is ready to be simulated.
pub struct PreparedExchange<'a> {
    setting: ExchangeSetting<'a>,
    method: Method,
    name: String,
    link_bound: f64,
    paths: usize,
    executor: Option<Executor>,
    predicted: Option<ExecutionTime>,
}

/// What the simulation of an exchange found.
pub struct SimulatedRun {
    /// The name of the planner, or of an algorithm of MPI.
    pub name: String,
    /// The link bound: the most loaded link's bytes over its capacity, in seconds.
    pub link_bound: f64,
    /// How many paths there were; of MPI, messages.
    pub paths: usize,
    /// Where chunks were stored and forwarded, and what carried them; `None` of MPI.
    pub executor: Option<Executor>,
    /// The time by the flow model, in seconds: of MPI with all messages at once, unless there are too many.
    pub flow_seconds: Option<f64>,
    /// When each host was done, and all that the simulation found.
    pub exchanged: Exchanged,
}

impl SimulatedRun {
    /// Whether it came to its end.
    pub fn finished(&self) -> bool {
        self.exchanged.outcome.end == End::Finished
    }

    /// When the last byte of each priority class had arrived, in seconds; nothing if all demands are of one class.
    pub fn class_seconds(&self) -> BTreeMap<u8, f64> {
        self.exchanged.class_done.iter().map(|(&class, time)| (class, time.seconds())).collect()
    }

    /// When the last host was done, in seconds; when the run ended, if it was ended early.
    pub fn seconds(&self) -> f64 {
        let time = if self.finished() { self.exchanged.time() } else { self.exchanged.outcome.time };
        time.seconds()
    }
}

/// Plans, if a plan is wanted, lowers and simulates an exchange.
///
/// # Errors
/// As [`ExchangeSetting::prepare`] and [`PreparedExchange::simulate`].
pub fn simulate_exchange(
    setting: ExchangeSetting<'_>,
    method: TransferMethod,
    options: &RunOptions<'_>,
) -> Result<SimulatedRun, SimError> {
    setting.prepare(method)?.simulate(options)
}

impl<'a> ExchangeSetting<'a> {
    /// Everything before the simulation: the plan, the paths between ranks, the relays and the sizes of chunks.
    ///
    /// # Errors
    /// What planners and the fabric's own routing report; [`SimError::Lowering`] for a plan of other demands.
    pub fn prepare(self, method: TransferMethod) -> Result<PreparedExchange<'a>, SimError> {
        match method {
            TransferMethod::Mpi(algorithm) => self.prepare_mpi(algorithm),
            TransferMethod::Planned(planned, schedule) => self.prepare_planned(&planned, schedule),
            TransferMethod::PlanWith(options, schedule) => {
                // Routers know no class, so paths are of all demands together; ranks send the urgent ones first.
                let options = PlanOptions { together: true, ..*options };
                let planned = pipeline::run(self.network, self.demands, &options)?;
                self.prepare_planned(&planned, schedule)
            }
        }
    }

    fn prepare_mpi(self, algorithm: MpiAlgorithm) -> Result<PreparedExchange<'a>, SimError> {
        let routes = self.demands.iter().map(|d| (d.src, d.dst, d.bytes));
        let load = self.network.route_load(routes)?;
        Ok(PreparedExchange {
            name: algorithm.name().to_owned(),
            link_bound: plan::congestion(self.network, &load),
            paths: self.demands.len(),
            executor: None,
            predicted: None,
            method: match algorithm {
                MpiAlgorithm::Linear => Method::Linear,
                MpiAlgorithm::Pairwise => Method::Pairwise,
            },
            setting: self,
        })
    }

    fn prepare_planned(self, planned: &Planned, options: ScheduleOptions) -> Result<PreparedExchange<'a>, SimError> {
        let Self { network, model, executor, .. } = self;
        let placement = Placement::by_rank(network, network.hosts(), 1).map_err(SimError::Workload)?;
        // Rank `r` is on host `r`.
        let message = |d: &Demand| {
            let (source, destination) = (Rank(d.src.0), Rank(d.dst.0));
            lower::Message { source, destination, bytes: d.bytes, class: d.class }
        };
        let messages = self.demands.iter().map(message).collect();
        let lowered = lower_planned((network, model), executor, (&placement, messages), planned, options)?;
        let LoweredPlan { paths, options, legs, predicted } = lowered;
        Ok(PreparedExchange {
            setting: self,
            name: planned.plan.planner.clone(),
            link_bound: planned.report.congestion_seconds,
            paths: paths.len(),
            executor: Some(Executor { legs, ..executor }),
            predicted: Some(predicted),
            method: Method::Paths { paths, options, order: QueueOrder::default(), carry: executor.carry },
        })
    }
}

/// A plan's paths between ranks, and how they are carried out.
pub(crate) struct LoweredPlan {
    /// The paths, with their relays.
    pub(crate) paths: Vec<Path>,
    /// Sizes of chunks, and what is in flight.
    pub(crate) options: ScheduleOptions,
    /// Where chunks are stored and forwarded.
    legs: LegsChoice,
    /// How long the cost model says that it takes.
    predicted: ExecutionTime,
}

/// Lowers a plan to the messages of ranks that are placed so.
///
/// # Errors
/// [`SimError::Lowering`] for a plan of other demands; what the fabric's own routing reports.
pub(crate) fn lower_planned(
    (network, model): (&Network, &Model),
    Executor { legs, carry, in_flight_part, direct_order }: Executor,
    (placement, mut messages): (&Placement, Vec<lower::Message>),
    planned: &Planned,
    mut options: ScheduleOptions,
) -> Result<LoweredPlan, SimError> {
    messages.sort_unstable();
    let timetable = timetable::of_plan(network, &planned.plan, direct_order);
    let lowered = match &timetable {
        Some(timetable) => lower_by_timetable(timetable, &messages, placement),
        None => lower(Some(&planned.plan), &messages, placement),
    };
    let mut paths = lowered.map_err(SimError::Lowering)?;
    let congestion_seconds = planned.report.congestion_seconds;
    let cost = cost_model(model, network, carry);
    let relays = RelayPolicy { network, placement, model: &cost, chunk: options.chunk, congestion_seconds };
    let (chosen, chunk) = relays.apply(&mut paths, if timetable.is_some() { LegsChoice::Planned } else { legs })?;
    log::debug!(
        "{}: {} paths, legs {chosen} (asked for: {legs}), chunks {chunk:?}, {}; link bound {congestion_seconds:.6} s, link \
         efficiency {} as planned and {} with relays at every host",
        planned.plan.planner,
        paths.len(),
        carry.name(),
        cost.planned_link_efficiency,
        cost.store_and_forward_link_efficiency,
    );
    let predicted = relays.predict(&paths, chosen, chunk);
    options.chunk = chunk;
    options.grants = timetable::grants(&planned.plan, direct_order, timetable.is_some());
    if carry == Carry::OneSided {
        options.in_flight_part = in_flight_part;
    }
    Ok(LoweredPlan { paths, options, legs: chosen, predicted })
}

impl<'a> PreparedExchange<'a> {
    /// With the time of each class of these demands in what the simulation finds, whatever the classes of those that were
    /// planned: the same pairs and bytes.
    #[must_use]
    pub fn timed_by_class(mut self, demands: &'a [Demand]) -> Self {
        self.setting.demands = demands;
        self
    }

    /// The name of the planner, or of an algorithm of MPI.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The link bound in seconds: no run ends before.
    pub fn link_bound(&self) -> f64 {
        self.link_bound
    }

    /// How planned paths are carried out, never [`optiq_lower::choices::LegsChoice::Auto`]; `None` of MPI.
    pub fn executor(&self) -> Option<Executor> {
        self.executor
    }

    /// How long the cost model says that planned paths take ([`RelayPolicy::predict`]); `None` of MPI.
    pub fn predicted(&self) -> Option<ExecutionTime> {
        self.predicted
    }

    /// Simulates it.
    ///
    /// # Errors
    /// As [`exchange`].
    pub fn simulate(self, options: &RunOptions<'_>) -> Result<SimulatedRun, SimError> {
        let ExchangeSetting { network, model, demands, .. } = self.setting;
        let message = |d: &Demand| {
            let (source, destination) = (d.src.0, d.dst.0);
            Message { source, destination, bytes: d.bytes, class: d.class }
        };
        let messages: Vec<Message> = demands.iter().map(message).collect();
        let exchanged = exchange(network, model, &messages, &self.method, options)?;
        // The flow model takes time that grows with the square of the flows.
        let flow_seconds = match self.method {
            Method::Linear if messages.len() <= FLOW_MODEL_MESSAGES => {
                Some(flow::exchange::exchange(network, model, &messages)?.makespan)
            }
            Method::Linear => {
                log::debug!("no flow model: {} messages, more than {FLOW_MODEL_MESSAGES}", messages.len());
                None
            }
            _ => None,
        };
        let Self { name, link_bound, paths, executor, .. } = self;
        Ok(SimulatedRun { name, link_bound, paths, executor, flow_seconds, exchanged })
    }
}

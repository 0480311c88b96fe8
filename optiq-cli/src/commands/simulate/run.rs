//! One simulated exchange.

use super::Mpi;
use super::checkpoint::Files;
use super::document::end_of;
use super::results::Shown;
use crate::failure::Failure;
use crate::progress::Progress;
use optiq_lower::choices::LegsChoice;
use optiq_lower::lower::{Message, lower};
use optiq_lower::model::CostModel;
use optiq_lower::placement::Placement;
use optiq_lower::relays::RelayPolicy;
use optiq_net::Network;
use optiq_sim::flow;
use optiq_sim::model::Carry;
use optiq_sim::time::{Time, seconds};
use optiq_sim::workload::exchange::{Exchanged, Method, exchange};
use optiq_sim::workload::message;
use optiq_sim::{Checkpoints, End, Limits, Model, Policy, Recording, RunOptions};
use optiq_solver::demands::Demand;
use optiq_solver::pipeline::Planned;
use optiq_solver::plan;
use optiq_transport::{Order, PUTS_IN_FLIGHT_PART, ScheduleOptions};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// What carries the bytes.
pub enum Way {
    /// The chunk scheduler, along a plan's paths.
    Planned(Box<Planned>, ScheduleOptions),
    /// MPI.
    Mpi(Mpi),
}

/// What all runs have in common.
pub struct Runner<'a> {
    pub net: &'a Network,
    pub model: &'a Model,
    pub demands: &'a [Demand],
    pub limits: Limits,
    pub threads: usize,
    pub seed: u64,
    pub routing: Policy,
    pub stop: &'static AtomicBool,
    pub progress: &'a Progress,
    pub checkpoints: &'a Files,
    pub executor: Executor,
    /// What is wanted of what happens over time.
    pub series: Recording,
}

/// How planned paths are carried out.
#[derive(Clone, Copy)]
pub struct Executor {
    pub legs: LegsChoice,
    pub carry: Carry,
    /// [`ScheduleOptions::in_flight_part`] of puts.
    pub under_way: u64,
}

impl Executor {
    /// What is the fastest on a machine, as far as its model knows.
    pub fn of(model: &Model) -> Executor {
        Executor { legs: LegsChoice::Auto, carry: model.host.chunks_by, under_way: PUTS_IN_FLIGHT_PART }
    }
}

/// Shares of the link bound that puts reach on Blue Gene/Q's model at 512 to 2,048 nodes, with chunks that stop where the plan
/// says so, and at every host (docs/executor.md).
const PLANNED_SHARE: f64 = 0.65;
const HOPS_SHARE: f64 = 0.92;

/// What a session would calibrate on the simulated machine: a short message, a reduction of all ranks by recursive doubling, and
/// what a forwarder does for a chunk. With messages that ask first, stopping at every host gains nothing that is sure.
pub fn cost_model(model: &Model, net: &Network, carry: Carry) -> CostModel {
    let hop = model.link.local_latency_picoseconds + model.router.delay_picoseconds;
    let (send, receive) = (model.host.send_overhead_picoseconds, model.host.receive_overhead_picoseconds);
    let hops = net.geometry().grid().map_or(1, |grid| grid.diameter()) / 2;
    let latency = (u64::from(hops) * hop + send + receive) as f64 / 1e12;
    let steps = net.hosts().next_power_of_two().trailing_zeros();
    let default = CostModel::default();
    let (messages, planned_share, hops_share) = match carry {
        Carry::TwoSided => (1, default.planned_link_efficiency, default.planned_link_efficiency),
        // The chunk, and the message that says that it is there.
        Carry::OneSided => (2, PLANNED_SHARE, HOPS_SHARE),
    };
    let chunk = messages * send + receive + model.host.forward_overhead_picoseconds;
    CostModel {
        agreement_seconds: f64::from(steps) * latency,
        latency_seconds: latency,
        chunk_seconds: chunk as f64 / 1e12,
        planned_link_efficiency: planned_share,
        store_and_forward_link_efficiency: hops_share,
        ..default
    }
}

/// More messages take the fluid model longer than a second.
const MOST_FLUIDS: usize = 10_000;

/// What one run found.
pub struct Run {
    /// A planner, or an algorithm of MPI.
    pub name: String,
    /// The most loaded link's bytes over its capacity.
    pub link_bound: f64,
    pub paths: usize,
    /// Where chunks stopped, and what carried them; nothing of MPI.
    pub executor: Option<Executor>,
    /// What the fluid model says.
    pub fluid: Option<f64>,
    pub exchanged: Exchanged,
}

impl Run {
    pub fn finished(&self) -> bool {
        self.exchanged.outcome.end == End::Finished
    }

    /// As files show it.
    pub fn shown(&self) -> Shown<'_> {
        let Exchanged { done, outcome } = &self.exchanged;
        let partial = (!self.finished()).then(|| end_of(outcome.end));
        Shown { name: &self.name, partial, seconds: self.seconds(), done, outcome }
    }

    /// When the last host was done; if the run was ended before, when that was.
    pub fn seconds(&self) -> f64 {
        seconds(if self.finished() { self.exchanged.time() } else { self.exchanged.outcome.time })
    }
}

impl Runner<'_> {
    pub fn run(&self, way: Way) -> Result<Run, Failure> {
        let messages: Vec<Message> =
            self.demands.iter().map(|d| Message { source: d.src.0, destination: d.dst.0, bytes: d.bytes }).collect();
        let mut executor = None;
        let (name, link_bound, paths, method) = match way {
            Way::Mpi(mpi) => {
                let routes = self.demands.iter().map(|d| (d.src, d.dst, d.bytes));
                let load = self.net.route_load(routes)?;
                let (name, method) = match mpi {
                    Mpi::Linear => ("mpi-linear", Method::Linear),
                    Mpi::Pairwise => ("mpi-pairwise", Method::Pairwise),
                };
                (name.to_owned(), plan::congestion(self.net, &load), self.demands.len(), method)
            }
            Way::Planned(planned, mut options) => {
                let Executor { legs, carry, under_way } = self.executor;
                let placement = Placement::by_rank(self.net, self.net.hosts(), 1).map_err(Failure::Input)?;
                let mut messages = messages.clone();
                messages.sort_unstable();
                let mut paths = lower(Some(&planned.plan), &messages, &placement).map_err(Failure::Work)?;
                let (name, bound) = (planned.plan.planner.clone(), planned.report.congestion_seconds);
                let model = cost_model(self.model, self.net, carry);
                let (network, placement, chunk) = (self.net, &placement, options.chunk);
                let stopping = RelayPolicy { network, placement, model: &model, chunk, congestion_seconds: bound };
                let (legs, chunk) = stopping.apply(&mut paths, legs)?;
                options.chunk = chunk;
                executor = Some(Executor { legs, ..self.executor });
                if carry == Carry::OneSided {
                    options.in_flight_part = under_way;
                }
                (name, bound, paths.len(), Method::Paths { paths, options, order: Order::default(), carry })
            }
        };
        let started = Instant::now();
        let tell = |now: Time, events: u64| {
            let rate = events as f64 / started.elapsed().as_secs_f64().max(1e-9);
            // The bound is where it would end at best.
            let (now, left) = (seconds(now), (link_bound - seconds(now)).max(0.0));
            let end = if now > 0.0 { started.elapsed().as_secs_f64() * left / now } else { 0.0 };
            self.progress.now(format!(
                "simulating {name}: {:.3} ms of at least {:.3} ms, {:.1} million events a second, {end:.0} s to go",
                now * 1e3,
                link_bound * 1e3,
                rate / 1e6,
            ));
        };
        let keep = |bytes: &[u8]| self.checkpoints.keep(bytes);
        let options = RunOptions {
            limits: self.limits,
            threads: self.threads,
            seed: self.seed,
            stop: Some(self.stop),
            progress: Some(&tell),
            routing: self.routing,
            checkpoints: self.checkpoints.wanted().map(|every| Checkpoints { every, keep: &keep }),
            resume: self.checkpoints.resume(),
            series: self.series,
            ..RunOptions::default()
        };
        let messages: Vec<message::Message> = messages
            .iter()
            .map(|m| message::Message { source: m.source, destination: m.destination, bytes: m.bytes })
            .collect();
        let exchanged =
            exchange(self.net, self.model, &messages, &method, &options).map_err(|e| self.checkpoints.named(e))?;
        // Its cost grows with the square of the flows.
        let fluid = match method {
            Method::Linear if messages.len() <= MOST_FLUIDS => {
                Some(flow::exchange(self.net, self.model, &messages)?.makespan)
            }
            _ => None,
        };
        Ok(Run { name, link_bound, paths, executor, fluid, exchanged })
    }
}

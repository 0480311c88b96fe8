//! One simulated exchange on the machine of a claim: demands, network, model and what carries the bytes in; times and loads out.
//!
//! The cost model is what a session would calibrate on the simulated machine.

use crate::failure::Failure;
use crate::progress::Progress;
use optiq::{CostModel, LegsChoice, Message, Placement, Stopping, lower};
use optiq_net::Network;
use optiq_sim::exchange::{self, Carry, Exchanged, Method};
use optiq_sim::time::{Time, seconds};
use optiq_sim::{Model, RunOptions};
use optiq_solver::demands::Demand;
use optiq_solver::pipeline::Planned;
use optiq_solver::plan;
use optiq_transport::{Order, PUTS_UNDER_WAY, ScheduleOptions};
use std::time::Instant;

/// What carries the bytes.
pub enum TransferMethod {
    /// The chunk scheduler, along a plan's paths.
    Planned(Box<Planned>, ScheduleOptions),
    /// MPI, all messages at once.
    MpiLinear,
}

/// Shares of the link bound that puts reach on Blue Gene/Q's model at 512 to 2,048 nodes, with chunks that are forwarded where the
/// plan says so, and at every host (docs/executor.md).
const PLANNED_SHARE: f64 = 0.65;
const HOPS_SHARE: f64 = 0.92;

/// What a session would calibrate on the simulated machine: a short message, a reduction of all ranks by recursive doubling, and
/// what a forwarder does for a chunk. With messages that ask first, relaying at every host is not sure to gain anything.
pub fn cost_model(model: &Model, net: &Network, carry: Carry) -> CostModel {
    let hop = model.link.local_latency_picoseconds + model.router.delay_picoseconds;
    let (send, receive) = (model.host.send_overhead_picoseconds, model.host.receive_overhead_picoseconds);
    let hops = net.geometry().grid().map_or(1, |grid| grid.diameter()) / 2;
    let latency = (u64::from(hops) * hop + send + receive) as f64 / 1e12;
    let steps = net.hosts().next_power_of_two().trailing_zeros();
    let default = CostModel::default();
    let (messages, planned_share, hops_share) = match carry {
        Carry::TwoSided => (1, default.planned_share, default.planned_share),
        // The chunk, and the message that announces it.
        Carry::OneSided => (2, PLANNED_SHARE, HOPS_SHARE),
    };
    let chunk = messages * send + receive + model.host.forward_overhead_picoseconds;
    CostModel {
        agreement_seconds: f64::from(steps) * latency,
        latency_seconds: latency,
        chunk_seconds: chunk as f64 / 1e12,
        planned_share,
        hops_share,
        ..default
    }
}

/// What one run found.
pub struct SimulatedRun {
    /// The most loaded link's bytes over its capacity, in seconds.
    pub link_bound: f64,
    /// When each host was done, and the statistics of the simulation.
    pub exchanged: Exchanged,
}

impl SimulatedRun {
    /// When the last host was done.
    pub fn seconds(&self) -> f64 {
        seconds(self.exchanged.time())
    }
}

/// Runs an exchange to its end, as the model's own executor does it.
pub fn simulate(
    net: &Network,
    model: &Model,
    demands: &[Demand],
    method: TransferMethod,
    progress: &Progress,
) -> Result<SimulatedRun, Failure> {
    let (name, link_bound, method) = match method {
        TransferMethod::MpiLinear => {
            let load = net.route_load(demands.iter().map(|d| (d.src, d.dst, d.bytes)))?;
            ("mpi-linear".to_owned(), plan::congestion(net, &load), Method::Linear)
        }
        TransferMethod::Planned(planned, options) => {
            let bound = planned.report.congestion_seconds;
            (planned.plan.planner.clone(), bound, lowered(net, model, demands, &planned, options)?)
        }
    };
    let started = Instant::now();
    let tell = |now: Time, events: u64| {
        let rate = events as f64 / started.elapsed().as_secs_f64().max(1e-9);
        progress.now(format!(
            "simulating {name}: {:.3} ms of at least {:.3} ms, {:.1} million events a second",
            seconds(now) * 1e3,
            link_bound * 1e3,
            rate / 1e6,
        ));
    };
    let messages: Vec<exchange::Message> =
        demands.iter().map(|d| exchange::Message { source: d.src.0, destination: d.dst.0, bytes: d.bytes }).collect();
    let options = RunOptions { threads: 1, seed: 1, progress: Some(&tell), ..RunOptions::default() };
    let exchanged = exchange::exchange(net, model, &messages, &method, &options)?;
    Ok(SimulatedRun { link_bound, exchanged })
}

/// A plan's paths between ranks, one rank on each host.
fn lowered(
    net: &Network,
    model: &Model,
    demands: &[Demand],
    planned: &Planned,
    mut options: ScheduleOptions,
) -> Result<Method, Failure> {
    let carry = model.host.chunks_by;
    let placement = Placement::by_rank(net, net.hosts(), 1).map_err(Failure::Input)?;
    let mut messages: Vec<Message> =
        demands.iter().map(|d| Message { source: d.src.0, destination: d.dst.0, bytes: d.bytes }).collect();
    messages.sort_unstable();
    let mut paths = lower(Some(&planned.plan), &messages, &placement).map_err(Failure::Work)?;
    let cost = cost_model(model, net, carry);
    let congestion_seconds = planned.report.congestion_seconds;
    let stopping =
        Stopping { network: net, placement: &placement, model: &cost, chunk: options.chunk, congestion_seconds };
    let (_, chunk) = stopping.apply(&mut paths, LegsChoice::Auto)?;
    options.chunk = chunk;
    if carry == Carry::OneSided {
        options.under_way_part = PUTS_UNDER_WAY;
    }
    Ok(Method::Paths { paths, options, order: Order::default(), carry })
}

//! One simulated exchange.

use super::Mpi;
use super::checkpoint::Files;
use super::document::end_of;
use super::results::Shown;
use crate::failure::Failure;
use crate::progress::Progress;
use optiq::{LegsChoice, Message, Placement, lower, stop_at_every_host};
use optiq_net::Network;
use optiq_sim::exchange::{self, Carry, Exchanged, Method, exchange};
use optiq_sim::flow;
use optiq_sim::time::{Time, seconds};
use optiq_sim::{Checkpoints, End, Limits, Model, Policy, Recording, RunOptions};
use optiq_solver::demands::Demand;
use optiq_solver::pipeline::Planned;
use optiq_solver::plan;
use optiq_transport::{Order, ScheduleOptions};
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
}

impl Executor {
    /// The library's defaults.
    pub const DEFAULT: Executor = Executor { legs: LegsChoice::Planned, carry: Carry::TwoSided };
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
            Way::Planned(planned, options) => {
                let placement = Placement::by_rank(self.net, self.net.hosts(), 1).map_err(Failure::Input)?;
                let mut messages = messages.clone();
                messages.sort_unstable();
                let mut paths = lower(Some(&planned.plan), &messages, &placement).map_err(Failure::Work)?;
                if self.executor.legs == LegsChoice::Hops {
                    stop_at_every_host(&mut paths, self.net, &placement)?;
                }
                let (name, bound) = (planned.plan.planner.clone(), planned.report.congestion_seconds);
                (
                    name,
                    bound,
                    paths.len(),
                    Method::Paths { paths, options, order: Order::default(), carry: self.executor.carry },
                )
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
        let messages: Vec<exchange::Message> = messages
            .iter()
            .map(|m| exchange::Message { source: m.source, destination: m.destination, bytes: m.bytes })
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
        Ok(Run { name, link_bound, paths, fluid, exchanged })
    }
}

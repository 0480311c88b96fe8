//! One simulated exchange on the machine of a claim, which tells those who wait how far it is.

use crate::failure::Failure;
use crate::progress::Progress;
use optiq_net::Network;
use optiq_sim::simulated_exchange::method::{Executor, TransferMethod};
use optiq_sim::simulated_exchange::run::{ExchangeSetting, SimulatedRun};
use optiq_sim::time::Time;
use optiq_sim::{Limits, Model, RunOptions};
use optiq_solver::demands::Demand;
use std::time::Instant;

/// Runs an exchange to its end, as the model's own executor does it.
pub fn simulate(
    network: &Network,
    model: &Model,
    demands: &[Demand],
    method: TransferMethod,
    progress: &Progress,
) -> Result<SimulatedRun, Failure> {
    simulate_within(network, model, demands, method, (None, progress))
}

/// As [`simulate`], but the run ends after the seconds of simulated time that are given, if any are.
pub fn simulate_within(
    network: &Network,
    model: &Model,
    demands: &[Demand],
    method: TransferMethod,
    (seconds, progress): (Option<f64>, &Progress),
) -> Result<SimulatedRun, Failure> {
    let prepared = ExchangeSetting { network, model, demands, executor: Executor::of(model) }.prepare(method)?;
    let (name, link_bound) = (prepared.name().to_owned(), prepared.link_bound());
    let started = Instant::now();
    let tell = |now: Time, events: u64| {
        let rate = events as f64 / started.elapsed().as_secs_f64().max(1e-9);
        progress.now(format!(
            "simulating {name}: {:.3} ms of at least {:.3} ms, {:.1} million events a second",
            now.seconds() * 1e3,
            link_bound * 1e3,
            rate / 1e6,
        ));
    };
    let limits = Limits { time: seconds.map(Time::from_seconds), ..Limits::default() };
    let options = RunOptions { threads: 1, seed: 1, limits, progress: Some(&tell), ..RunOptions::default() };
    Ok(prepared.simulate(&options)?)
}

//! A simulated exchange, with the progress and the checkpoints of a command.

use super::checkpoint::Files;
use super::document::end_of;
use super::shown::{Shown, useful_part};
use super::steps::Steps;
use crate::failure::Failure;
use crate::progress::Progress;
use optiq_sim::simulated_exchange::method::TransferMethod;
use optiq_sim::simulated_exchange::run::{ExchangeSetting, SimulatedRun};
use optiq_sim::time::Time;
use optiq_sim::{Checkpoints, RunOptions};
use std::time::{Duration, Instant};

/// What all runs have in common.
pub struct Runner<'a> {
    /// What is exchanged, and on what.
    pub setting: ExchangeSetting<'a>,
    /// How simulations run; the runner adds checkpoints and progress.
    pub options: RunOptions<'a>,
    pub progress: &'a Progress,
    pub checkpoints: &'a Files,
}

impl Runner<'_> {
    /// Simulates the exchange by one method, which is the next of `steps`.
    pub fn run_as(&self, method: TransferMethod, steps: &Steps) -> Result<SimulatedRun, Failure> {
        let exchange = self.setting.prepare(method)?;
        let (name, link_bound) = (exchange.name().to_owned(), exchange.link_bound());
        let started = Instant::now();
        let tell = |now: Time, events: u64| {
            let rate = events as f64 / started.elapsed().as_secs_f64().max(1e-9);
            // The bound is where it would end at best.
            let (now, left) = (now.seconds(), (link_bound - now.seconds()).max(0.0));
            let end = if now > 0.0 { started.elapsed().as_secs_f64() * left / now } else { 0.0 };
            let all = steps.words(Duration::try_from_secs_f64(end).unwrap_or_default());
            self.progress.now(format!(
                "{all}simulating {name}: {:.3} ms of at least {:.3} ms, {:.1} million events a second, {end:.0} s to go",
                now * 1e3,
                link_bound * 1e3,
                rate / 1e6,
            ));
        };
        let keep = |bytes: &[u8]| self.checkpoints.keep(bytes);
        let options = RunOptions {
            progress: Some(&tell),
            checkpoints: self.checkpoints.wanted().map(|every| Checkpoints { every, keep: &keep }),
            resume: self.checkpoints.resume(),
            ..self.options
        };
        let run = exchange.simulate(&options).map_err(|e| self.checkpoints.named(e))?;
        steps.over();
        Ok(run)
    }
}

/// A run of `setting` as files show it.
pub fn shown<'a>(run: &'a SimulatedRun, setting: &ExchangeSetting<'_>) -> Shown<'a> {
    let outcome = &run.exchanged.outcome;
    let partial = (!run.finished()).then(|| end_of(outcome.end));
    let demanded = setting.demands.iter().fold(0u64, |sum, d| sum.saturating_add(d.bytes));
    Shown {
        name: &run.name,
        partial,
        seconds: run.seconds(),
        done: &run.exchanged.done,
        bound: Some(run.link_bound / useful_part(setting.model)),
        demanded: Some(demanded),
        outcome,
    }
}

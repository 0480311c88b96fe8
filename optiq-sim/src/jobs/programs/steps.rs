//! The exchanges of CompressionB, and of the steps of a file with computing between them.

use super::phases::Exchange;
use crate::time::Time;
use optiq_probe::description::Rings;
use std::sync::Arc;

/// A round of CompressionB: some messages to each of the hosts before one's own.
pub(super) struct Round {
    pub(super) rings: Rings,
    pub(super) bytes: u64,
    pub(super) messages: u32,
}

impl Exchange for Round {
    fn phases(&self) -> u32 {
        1
    }

    fn phase(&self, rank: u32, _: u32, sends: &mut Vec<(u32, u64)>) -> u32 {
        for to in self.rings.destinations(rank) {
            sends.extend((0..self.messages).map(|_| (to, self.bytes)));
        }
        self.rings.partners() * self.messages
    }
}

/// A step: computing, then an exchange.
#[derive(Clone)]
pub(super) struct Step {
    pub(super) computing: Time,
    /// `None` for computing alone.
    pub(super) exchange: Option<Arc<dyn Exchange>>,
}

impl Step {
    /// Computing alone is a phase without messages.
    fn phases(&self) -> u32 {
        self.exchange.as_ref().map_or(1, |exchange| exchange.phases())
    }
}

/// Steps, one after the other: the phases of all of them.
pub(super) struct Steps {
    steps: Vec<Step>,
    /// Of each phase: its step, and its number there.
    places: Vec<(usize, u32)>,
}

impl Steps {
    /// Of at least one step.
    pub(super) fn new(steps: Vec<Step>) -> Self {
        let places = steps.iter().enumerate().flat_map(|(i, step)| (0..step.phases()).map(move |phase| (i, phase)));
        let places = places.collect();
        Self { steps, places }
    }
}

impl Exchange for Steps {
    fn phases(&self) -> u32 {
        self.places.len() as u32
    }

    fn phase(&self, rank: u32, phase: u32, sends: &mut Vec<(u32, u64)>) -> u32 {
        let (step, phase) = self.places[phase as usize];
        self.steps[step].exchange.as_ref().map_or(0, |exchange| exchange.phase(rank, phase, sends))
    }

    fn computing(&self, phase: u32) -> Time {
        match self.places[phase as usize] {
            (step, 0) => self.steps[step].computing,
            _ => Time::ZERO,
        }
    }
}

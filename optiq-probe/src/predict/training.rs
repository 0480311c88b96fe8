//! All methods, by name.

use super::lookup::Lookup;
use super::phase_aware::PhaseAware;
use super::predictor::Predictor;
use super::queue::Queue;
use super::table::TrainingTable;

/// How to predict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// The nearest mean.
    Average,
    /// The longest common part of mean and deviation.
    Deviation,
    /// The largest product of distributions.
    Density,
    /// The queue model.
    Queue,
    /// The queue model with phases and a monotone curve.
    Phases,
}

impl Method {
    /// All, the source's first.
    pub const ALL: [Method; 5] = [Method::Average, Method::Deviation, Method::Density, Method::Queue, Method::Phases];

    /// Trains it.
    pub fn train<'a>(self, table: &'a TrainingTable) -> Box<dyn Predictor + 'a> {
        match self {
            Method::Average => Box::new(Lookup::average(table)),
            Method::Deviation => Box::new(Lookup::deviation(table)),
            Method::Density => Box::new(Lookup::density(table)),
            Method::Queue => Box::new(Queue::new(table)),
            Method::Phases => Box::new(PhaseAware::new(table)),
        }
    }
}

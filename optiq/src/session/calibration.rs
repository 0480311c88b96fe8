//! What an agreement of a communicator's ranks takes: read from a file, known from another communicator of the same shape, or measured.
//!
//! Programs make communicators of one shape by the dozen (the rows and the columns of a process grid, duplicates), at about the same time. A
//! measurement is some twenty reductions, most of what a session costs to make, so that only the first of a shape in a process has one.

use crate::constants::{CALIBRATION_REDUCTIONS, MOST_CALIBRATION_SECONDS};
use crate::error::Error;
use optiq_lower::model::{CostModel, Parameter};
use optiq_lower::placement::Placement;
use optiq_measure::statistics::median;
use optiq_transport::mpi::{Communicator, MINIMA, Reduction, ReductionRecord};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::time::Instant;

/// What a session measures when it begins; the same on all ranks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Calibrated {
    pub(super) model: CostModel,
    /// What an agreement takes as a rule, in seconds.
    pub(super) usual_agreement_seconds: f64,
    /// Whether agreements are patient ([`Reduction::new`]).
    pub(super) patient: bool,
}

/// The ranks of a communicator, and the hosts that they are on. What was measured on one of a shape holds for others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Shape {
    ranks: u32,
    hosts: u32,
}

impl Shape {
    /// That of a session's ranks.
    pub(super) fn of(placement: &Placement) -> Self {
        let hosts = placement.can_forward().into_iter().filter(|&has_rank| has_rank).count();
        Self { ranks: placement.len() as u32, hosts: hosts as u32 }
    }
}

/// What sessions of this process have measured by now.
static MEASURED: Mutex<BTreeMap<Shape, Calibrated>> = Mutex::new(BTreeMap::new());

/// What this process knows of communicators of a shape, for a reduction over the ranks of another one; nothing of no shape.
pub(super) fn recalled_words(shape: Option<Shape>) -> [i64; WORDS] {
    let known = shape.and_then(|shape| MEASURED.lock().get(&shape).copied());
    known.map_or([0; WORDS], |Calibrated { model, usual_agreement_seconds, patient }| {
        let patient = i64::from(patient);
        [1, nanos(model.agreement_seconds), -nanos(usual_agreement_seconds), patient, -patient]
    })
}

/// How many words [`recalled_words`] are.
pub(super) const WORDS: usize = 5;

/// What the minima of all ranks' words say; nothing unless all know something, and the same of patience.
pub(super) fn recalled([known, least, usual, patient, impatient]: [i64; WORDS], ranks: u32) -> Option<Calibrated> {
    let all_know = known == 1 && patient == -impatient;
    all_know.then(|| Calibrated::new(least as f64 / 1e9, -usual as f64 / 1e9, patient == 1, ranks))
}

impl Calibrated {
    /// A message's latency follows from an agreement's time, as a reduction and its broadcast take two messages for each doubling of the
    /// ranks.
    fn new(least: f64, usual_agreement_seconds: f64, patient: bool, ranks: u32) -> Self {
        let latency_seconds = least / messages_in_a_row(ranks);
        let model = CostModel { agreement_seconds: least, latency_seconds, ..CostModel::default() };
        Self { model, usual_agreement_seconds, patient }
    }

    /// Measures what an agreement costs, and whether agreements should be patient; collective.
    pub(super) fn measure(comm: &Communicator, shape: Shape, shared_processors: bool) -> Result<Self, Error> {
        let patient = if shared_processors { reductions(comm, true)? } else { [f64::INFINITY; 3] };
        // An MPI library that yields is as fast without our help.
        let own = reductions(comm, false)?;
        let words = |[least, mean, median]: [f64; 3]| [nanos(least), -nanos(mean), -nanos(median)];
        let mut agreed = [patient, own].map(words).concat();
        comm.all_min(&mut agreed)?;
        // The longest mean, as ranks that come last to a reduction need not wait in it.
        let is_patient = -agreed[1] < -agreed[4];
        let chosen = if is_patient { &agreed[..3] } else { &agreed[3..] };
        let measured = Self::new(chosen[0] as f64 / 1e9, -chosen[2] as f64 / 1e9, is_patient, comm.size());
        MEASURED.lock().insert(shape, measured);
        Ok(measured)
    }

    /// What a file says: the smallest of each rank's parameters; collective.
    pub(super) fn of_file(comm: &Communicator, model: CostModel, patient: bool) -> Result<Self, Error> {
        let model = agree_on(comm, model)?;
        Ok(Self { model, usual_agreement_seconds: model.agreement_seconds, patient })
    }
}

/// As it travels.
fn nanos(seconds: f64) -> i64 {
    (seconds.min(1e6) * 1e9).max(1.0) as i64
}

/// The messages of an agreement of so many ranks that wait for each other.
pub(super) fn messages_in_a_row(ranks: u32) -> f64 {
    f64::from(2 * ranks.next_power_of_two().trailing_zeros().max(1))
}

/// The shortest of some reductions at this rank, in seconds, and the mean and the median of all but the first, which opens connections;
/// collective.
fn reductions(comm: &Communicator, patient: bool) -> Result<[f64; 3], Error> {
    let mut seconds = Vec::with_capacity(2 * CALIBRATION_REDUCTIONS);
    let reduction = Reduction::new(patient)?;
    let began = Instant::now();
    for _ in 0..2 * CALIBRATION_REDUCTIONS {
        // All ranks learn how long the one has been at it that began first, so all end after the same one.
        let mut record = ReductionRecord { minima: [0; MINIMA], sums: [0; 2] };
        record.minima[0] = -(began.elapsed().as_nanos() as i64);
        let start = Instant::now();
        reduction.reduce(comm, &mut record)?;
        seconds.push(start.elapsed().as_secs_f64());
        if -record.minima[0] as f64 > MOST_CALIBRATION_SECONDS * 1e9 {
            break;
        }
    }
    let least = seconds.iter().copied().fold(f64::INFINITY, f64::min);
    let later = &seconds[usize::from(seconds.len() > 1)..];
    Ok([least, later.iter().sum::<f64>() / later.len() as f64, median(later).unwrap_or(least)])
}

/// The smallest of each rank's parameters; collective.
fn agree_on(comm: &Communicator, mut model: CostModel) -> Result<CostModel, Error> {
    let mut words = Parameter::ALL.map(|parameter| nanos(model.get(parameter)));
    comm.all_min(&mut words)?;
    for (parameter, word) in Parameter::ALL.into_iter().zip(words) {
        model.set(parameter, word as f64 / 1e9).map_err(Error::Setup)?;
    }
    Ok(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_all_ranks_know_is_not_measured_again() {
        let words = |least: f64, usual: f64, patient: bool| {
            let usual = -nanos(usual);
            [1, nanos(least), usual, i64::from(patient), -i64::from(patient)]
        };
        let minima = |ranks: &[[i64; WORDS]]| {
            ranks.iter().copied().reduce(|a, b| std::array::from_fn(|i| a[i].min(b[i]))).and_then(|w| recalled(w, 4))
        };
        let both = minima(&[words(2e-6, 5e-4, true), words(3e-6, 4e-4, true)]);
        // By hand: the shortest of all, the longest usual one, and two messages for each of two doublings.
        assert_eq!(
            both.map(|b| (b.model.agreement_seconds, b.usual_agreement_seconds, b.patient)),
            Some((2e-6, 5e-4, true))
        );
        assert_eq!(both.map(|b| b.model.latency_seconds), Some(2e-6 / 4.0));
        assert_eq!(minima(&[words(2e-6, 5e-4, true), recalled_words(None)]), None, "one knows nothing");
        assert_eq!(minima(&[words(2e-6, 5e-4, true), words(2e-6, 5e-4, false)]), None, "they disagree");
        assert_eq!(recalled_words(Some(Shape { ranks: 99, hosts: 98 })), [0; WORDS]);
    }
}

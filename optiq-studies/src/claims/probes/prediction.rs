//! C4, C5 and C6: who slows whom, predicted from runs without any pair; training sets; and what training costs.

use super::super::setting::Setting;
use super::campaign::{Calibrated, Trained, pairs, told};
use super::system::System;
use crate::failure::Failure;
use crate::findings::{Cell, Column, Findings, Row, Verdict, column};
use crate::plot::{Plot, PlotKind};
use optiq_measure::statistics::mean;
use optiq_probe::description::CompressionB;
use optiq_probe::predict::accuracy::{Accuracy, PairError};
use optiq_probe::predict::cross_validation::leave_one_out;
use optiq_probe::predict::lookup::Lookup;
use optiq_probe::predict::table::TrainingTable;
use optiq_probe::predict::training::Method;
use std::collections::BTreeSet;

const PREDICTIONS: &[Column] = &[
    column("slowed", "victim", 0),
    column("beside", "aggressor", 0),
    column("published, %", "published_percent", 0),
    column("simulated, %", "simulated_percent", 1),
    column("AverageLT", "average_percent", 1),
    column("AverageStDevLT", "deviation_percent", 1),
    column("PDFLT", "density_percent", 1),
    column("Queue", "queue_percent", 1),
    column("Phases", "phases_percent", 1),
    column("no slowdown", "no_slowdown_percent", 1),
];

/// The errors of a method over all pairs; slowdowns of victims (rows) by aggressors.
fn errors(table: &TrainingTable, method: Method, measured: &[Vec<f64>]) -> Result<Vec<PairError>, Failure> {
    let predictor = method.train(table);
    let mut errors = Vec::new();
    for (victim, row) in table.applications.iter().zip(measured) {
        for (aggressor, &measured) in table.applications.iter().zip(row) {
            let predicted = predictor.predict(&victim.name, &aggressor.name).map_err(told)?;
            let (victim, aggressor) = (victim.name.clone(), aggressor.name.clone());
            errors.push(PairError { victim, aggressor, predicted, measured });
        }
    }
    Ok(errors)
}

fn accuracy(errors: &[PairError]) -> Result<Accuracy, Failure> {
    Accuracy::of(errors).ok_or_else(|| Failure::Work("no pairs".into()))
}

/// A row with an amount for each method, and for predicting no slowdown at all.
fn summary(what: &str, published: Cell, nothing: f64, values: [f64; 5], verdict: Verdict) -> Row {
    let mut cells = vec![what.into(), Cell::Nothing, published, Cell::Nothing];
    cells.extend(values.map(Cell::from));
    cells.push(nothing.into());
    Row::new(cells, verdict)
}

/// C4: four predictors, and this project's.
pub(in super::super) fn predictors(setting: &Setting) -> Result<Findings, Failure> {
    let system = System::new(setting)?;
    let published = system.published;
    let all = CompressionB::all(&published.partners, &published.messages, &published.sleep_cycles);
    let calibrated = Calibrated::new(&system)?;
    let trained = Trained::new(&system, &calibrated, &all)?;
    let measured = pairs(&system, &trained.alone)?;
    let table = &trained.table;
    let by_method =
        Method::ALL.iter().map(|&method| errors(table, method, &measured)).collect::<Result<Vec<_>, _>>()?;
    let mut rows = Vec::new();
    for pair in 0..by_method[0].len() {
        let (victim, aggressor) = (pair / measured.len(), pair % measured.len());
        let mut cells: Vec<Cell> = vec![
            by_method[0][pair].victim.as_str().into(),
            by_method[0][pair].aggressor.as_str().into(),
            published.slowdown_percent[victim][aggressor].into(),
            (measured[victim][aggressor] * 100.0).into(),
        ];
        cells.extend(by_method.iter().map(|errors| Cell::from(errors[pair].predicted * 100.0)));
        cells.push(0.0.into());
        rows.push(Row::new(cells, Verdict::NotJudged));
    }
    let found = by_method.iter().map(|errors| accuracy(errors)).collect::<Result<Vec<_>, _>>()?;
    let nothing = accuracy(&PairError::of_no_slowdown(&by_method[0]))?;
    let each = |of: &dyn Fn(&Accuracy) -> f64| -> [f64; 5] { std::array::from_fn(|method| of(&found[method])) };
    let [queue, ours] = [&found[3], &found[4]];
    let least =
        [published.mean_error_points, queue.points.mean, nothing.points.mean].into_iter().fold(f64::MAX, f64::min);
    let mean = Verdict::of(ours.points.mean <= least, || {
        format!(
            "the mean error of Phases is {:.1} points, that of Queue {:.1}, that of predicting no slowdown {:.1}",
            ours.points.mean, queue.points.mean, nothing.points.mean
        )
    });
    let share = Verdict::of(ours.share_below_10 * 100.0 >= published.below_10_percent, || {
        format!("Phases has {:.0} % of pairs below 10 points", ours.share_below_10 * 100.0)
    });
    rows.push(summary(
        "mean error, points",
        published.mean_error_points.into(),
        nothing.points.mean,
        each(&|a| a.points.mean),
        mean,
    ));
    rows.push(summary(
        "median error, points",
        published.median_error_points.into(),
        nothing.points.median,
        each(&|a| a.points.median),
        Verdict::NotJudged,
    ));
    rows.push(summary(
        "largest error, points",
        Cell::Nothing,
        nothing.points.maximum,
        each(&|a| a.points.maximum),
        Verdict::NotJudged,
    ));
    rows.push(summary(
        "below 10 points, %",
        published.below_10_percent.into(),
        nothing.share_below_10 * 100.0,
        each(&|a| a.share_below_10 * 100.0),
        share,
    ));
    let cross =
        Method::ALL.map(|method| leave_one_out(table, method).map_err(told).and_then(|errors| accuracy(&errors)));
    let mut of_cross = [0.0; 5];
    for (value, found) in of_cross.iter_mut().zip(cross) {
        *value = found?.points.mean;
    }
    rows.push(summary("cross-validation, mean", Cell::Nothing, slowdown_mean(table), of_cross, Verdict::NotJudged));
    Ok(Findings::new(PREDICTIONS, rows, notes(&system, &calibrated, &trained)).with_plot(matrix(&system, &by_method)))
}

/// The mean of all slowdowns of a table, in points: the error of predicting none.
fn slowdown_mean(table: &TrainingTable) -> f64 {
    let all: Vec<f64> = table.applications.iter().flat_map(|a| &a.slowdowns).map(|s| s.abs()).collect();
    mean(&all).unwrap_or(0.0) * 100.0
}

fn notes(system: &System, calibrated: &Calibrated, trained: &Trained) -> Vec<String> {
    let published = system.published;
    let flat: Vec<f64> = published.slowdown_percent.iter().flatten().copied().collect();
    let mean = mean(&flat).unwrap_or(0.0);
    let below = flat.iter().filter(|&&v| v < 10.0).count() as f64 / flat.len() as f64;
    let utilisations = trained.table.applications.iter().zip(&trained.truth[1]).map(|(application, truth)| {
        let estimate = trained.table.calibration.utilisation(application.impact.mean_seconds);
        format!("{} {:.0} % (true {:.0} %)", application.name, estimate * 100.0, truth * 100.0)
    });
    vec![
        format!(
            "Judged: the mean error of Phases is no more than the published {} points of the queue model, than that of Queue here, and than that of predicting no \
             slowdown at all; at least {} % of pairs below 10 points. (That it has to be better than no slowdown was added after a first run, in which it was: \
             most slowdowns are small, and a method that is no better says nothing.) Predicting no slowdown at all has a mean error of {mean:.1} points on the published Table 1, with {:.0} % of pairs below 10: less than the \
             published queue model.",
            published.mean_error_points,
            published.below_10_percent,
            below * 100.0
        ),
        "No method has seen a pair: they are trained on each application alone with ImpactB, on each beside CompressionB, and on CompressionB with ImpactB. The \
         cross-validation leaves out each configuration of CompressionB in turn and predicts what applications suffer beside it from the others; the column of \
         simulated slowdowns there has the mean of all slowdowns."
            .into(),
        format!(
            "Utilisation by the applications alone, estimated: {}. Where the estimate is far above the truth, traffic comes in bursts: a mean latency is \
             then that of a higher constant load, for which the queue model takes it.", utilisations.collect::<Vec<_>>().join(", ")
        ),
        calibrated.sentence(),
        system.note(),
    ]
}

/// Measured and predicted slowdowns, a panel for each application that is slowed.
fn matrix(system: &System, by_method: &[Vec<PairError>]) -> Plot {
    let names = system.published.applications.to_vec();
    let count = names.len();
    let title = "Slowdowns of each application beside each: simulated, and predicted by two methods";
    let mut plot = Plot::new(PlotKind::Bars, title, "slowdown, %", "beside", names);
    for (pair, error) in by_method[3].iter().enumerate() {
        let (panel, category) = (error.victim.as_str(), pair % count);
        plot.set(panel, "simulated", category, error.measured * 100.0);
        plot.set(panel, "Queue", category, error.predicted * 100.0);
        plot.set(panel, "Phases", category, by_method[4][pair].predicted * 100.0);
    }
    plot
}

const SETS: &[Column] = &[
    column("set", "set", 0),
    column("points", "points", 0),
    column("smallest B, us", "sleep_microseconds", 1),
    column("AverageLT", "average_points", 2),
    column("AverageStDevLT", "deviation_points", 2),
    column("PDFLT", "density_points", 2),
    column("Queue", "queue_points", 2),
    column("Phases", "phases_points", 2),
    column("largest: AverageLT", "largest_average_points", 1),
    column("AverageStDevLT", "largest_deviation_points", 1),
    column("PDFLT", "largest_density_points", 1),
    column("Queue", "largest_queue_points", 1),
    column("Phases", "largest_phases_points", 1),
    column("largest deviation : mean", "deviation_of_mean", 2),
    column("PDFLT takes", "density_takes", 0),
];

/// Partners of the smaller training sets here.
const PARTNERS: [u32; 3] = [1, 9, 17];
/// Sleeps that are longer than a simulation are left out: the first two of Table 2.
const LEFT_OUT: usize = 2;

/// C5: errors by training set.
pub(in super::super) fn training_sets(setting: &Setting) -> Result<Findings, Failure> {
    let system = System::new(setting)?;
    let published = system.published;
    let sleeps = &published.training_sleep_cycles[LEFT_OUT..];
    let all = CompressionB::all(&PARTNERS, &published.messages, sleeps);
    let calibrated = Calibrated::new(&system)?;
    let trained = Trained::new(&system, &calibrated, &all)?;
    let measured = pairs(&system, &trained.alone)?;
    let a_sleep = PARTNERS.len() * published.messages.len();
    let (mut rows, mut means, mut why) = (Vec::new(), Vec::new(), Vec::new());
    let categories = (1..=sleeps.len()).map(|set| (set + LEFT_OUT).to_string()).collect();
    let title = "Mean errors over 36 pairs by training set";
    let mut plot = Plot::new(PlotKind::Lines, title, "mean error, points", "training set", categories);
    for set in 1..=sleeps.len() {
        let table = first(&trained.table, set * a_sleep);
        let (mut found, mut largest) = ([0.0; 5], [0.0; 5]);
        for (number, method) in Method::ALL.into_iter().enumerate() {
            let points = accuracy(&errors(&table, method, &measured)?)?.points;
            (found[number], largest[number]) = (points.mean, points.maximum);
            plot.set("", method.train(&table).name(), set - 1, points.mean);
        }
        let impacts = table.configurations.iter().map(|c| c.impact.deviation_seconds / c.impact.mean_seconds);
        let widest = impacts.fold(0.0, f64::max);
        let density = Lookup::density(&table);
        let taken: BTreeSet<usize> = table.applications.iter().map(|a| density.closest(&a.impact) + 1).collect();
        let taken = taken.iter().map(usize::to_string).collect::<Vec<_>>().join(", ");
        why.push(OfSet { widest, taken: taken.clone(), queue: largest[3] });
        let smallest = CompressionB::of_cycles(1, 1, sleeps[set - 1]).sleep_nanoseconds as f64 / 1e3;
        let mut cells: Vec<Cell> = vec![(set + LEFT_OUT).to_string().into(), (set * a_sleep).into(), smallest.into()];
        cells.extend(found.iter().chain(&largest).chain([&widest]).map(|&value| Cell::from(value)));
        cells.push(taken.into());
        rows.push(Row::new(cells, Verdict::NotJudged));
        means.push(found);
    }
    let (smallest, largest) = (means[0], means[means.len() - 1]);
    for (number, method) in Method::ALL[..4].iter().enumerate() {
        let (from, to) = (smallest[number], largest[number]);
        let worse = *method != Method::Queue;
        let name = method.train(&trained.table).name();
        let verdict = Verdict::of(if worse { to > from } else { to < from }, || {
            format!("{name}: {from:.2} points with the smallest set, {to:.2} with the largest")
        });
        let mut cells: Vec<Cell> =
            vec![format!("{name}, from smallest to largest").into(), Cell::Nothing, Cell::Nothing];
        cells.extend((0..5).map(|i| if i == number { Cell::Number(to - from) } else { Cell::Nothing }));
        cells.extend((0..7).map(|_| Cell::Nothing));
        rows.push(Row::new(cells, verdict));
    }
    let notes = vec![
        format!(
            "Judged: with the largest set look-up tables have a larger mean error than with the smallest one, the queue model a smaller one. \
             Scaled down: {} of 16 numbers of partners, and no sleeps of 0.1 and 1 s, which are longer than what is simulated; so sets are {} to {} with {} points \
             each sleep in place of 32 (34 by the source's counts, which do not agree with each other).",
            PARTNERS.len(),
            LEFT_OUT + 1,
            LEFT_OUT + sleeps.len(),
            a_sleep
        ),
        differences(&why),
        calibrated.sentence(),
        system.note(),
    ];
    Ok(Findings::new(SETS, rows, notes).with_plot(plot))
}

/// What explains how errors change from a training set to the next one.
struct OfSet {
    /// The largest deviation of ImpactB's latencies beside a configuration, over their mean.
    widest: f64,
    /// The configurations that PDFLT takes, by number.
    taken: String,
    /// The largest error of the queue model, in points.
    queue: f64,
}

/// Why methods change otherwise than published, from the smallest set to the largest.
fn differences(sets: &[OfSet]) -> String {
    let (Some(first), Some(last)) = (sets.first(), sets.last()) else { return String::new() };
    let most = sets.iter().map(|set| set.queue).fold(0.0, f64::max);
    format!(
        "Why: in the source, later sets bring noisier configurations (up to 2.18 times the mean as deviation, 1.5 before), whose wide intervals stand for \
         quieter applications. A simulated switch has no noise but bursts, and these are widest at long sleeps: a deviation of {:.2} times the mean in the smallest set, {:.2} in \
         the largest. PDFLT takes configuration {} with the smallest set and {} with the largest, the one with nearly idle latencies. The largest error of the queue model is {:.0} points with the smallest \
         set, {most:.0} at most and {:.0} with the largest: what the source shows falling is this one (over 90 to 60 points), while its median and mean hardly change. With the smallest set nothing loads the \
         switch, so that hardly any slowdown is predicted, and most are small.",
        first.widest, last.widest, first.taken, last.taken, first.queue, last.queue
    )
}

/// The same table with its first configurations only.
fn first(table: &TrainingTable, configurations: usize) -> TrainingTable {
    let mut smaller = table.clone();
    smaller.configurations.truncate(configurations);
    smaller.applications.iter_mut().for_each(|application| application.slowdowns.truncate(configurations));
    smaller
}

const COST: &[Column] = &[
    column("applications", "applications", 0),
    column("training runs", "training_runs", 0),
    column("n (k + 3) + k", "formula", 0),
    column("million events", "million_events", 2),
    column("events an application", "events_per_application", 2),
    column("pairs", "pairs", 0),
];

/// C6: what training costs.
pub(in super::super) fn cost(setting: &Setting) -> Result<Findings, Failure> {
    let system = System::new(setting)?;
    let published = system.published;
    // Five configurations are enough to count.
    let all = CompressionB::all(&published.partners, &published.messages[..1], &published.sleep_cycles[1..2]);
    let calibrated = Calibrated::new(&system)?;
    let trained = Trained::new(&system, &calibrated, &all)?;
    let (of_compression, of_applications) = &trained.events;
    let once = of_compression + calibrated.events;
    let k = all.len();
    let mut rows = Vec::new();
    let per_application: Vec<f64> = of_applications.iter().map(|&events| events as f64).collect();
    let mean = mean(&per_application).unwrap_or(0.0);
    for n in 1..=of_applications.len() {
        let runs = trained.runs[..n].iter().sum::<usize>() + k;
        let formula = n * (k + 3) + k;
        let events = once as f64 + per_application[..n].iter().sum::<f64>();
        let cells = vec![
            n.into(),
            runs.into(),
            formula.into(),
            (events / 1e6).into(),
            (per_application[n - 1] / 1e6).into(),
            (n * n).into(),
        ];
        let verdict =
            Verdict::of(runs == formula, || format!("{n} applications took {runs} runs in place of {formula}"));
        rows.push(Row::new(cells, verdict));
    }
    let notes = vec![
        format!(
            "Judged: each application costs the same number of runs: k + 1 as published, beside k = {k} configurations of CompressionB here and with ImpactB, \
             and two alone, for the time that slowdowns are of; CompressionB costs k. Events of the simulations are those of all runs, calibration \
             included ({:.1} million); an application takes {:.1} million on average. Pairs grow with the square.",
            calibrated.events as f64 / 1e6,
            mean / 1e6
        ),
        system.note(),
    ];
    Ok(Findings::new(COST, rows, notes))
}

//! C1, C2 and C3: what probes see and cost, what CompressionB loads, and how far the estimated utilisation is from the true one.

use super::super::setting::Setting;
use super::campaign::{Calibrated, applications_alone, beside_applications, configurations, told};
use super::system::System;
use crate::failure::Failure;
use crate::findings::{Cell, Column, Findings, Row, Verdict, column};
use crate::plot::{Plot, PlotKind};
use optiq_measure::statistics::Interval;
use optiq_probe::description::CompressionB;
use optiq_probe::measure::estimate::{Estimate, mean_latency};
use optiq_probe::measure::pollaczek_khinchine::Service;

/// Latencies beyond this are those that the source says have shifted (section 3.1).
const SHIFTED_SECONDS: f64 = 2.5e-6;

const IMPACT: &[Column] = &[
    column("application", "application", 0),
    column("operations", "operations", 0),
    column("alone, ms", "alone_milliseconds", 4),
    column("with ImpactB, ms", "probed_milliseconds", 4),
    column("slower by, %", "slower_percent", 3),
    column("latency idle, us", "idle_microseconds", 3),
    column("beside it, us", "latency_microseconds", 3),
    column("95 %", "latency_microseconds_interval", 0),
    column("above 2.5 us, %", "shifted_percent", 1),
];

/// `1.21 to 1.25`.
fn interval(interval: Option<Interval>, times: f64) -> Cell {
    interval.map_or(Cell::Nothing, |i| Cell::Text(format!("{:.3} to {:.3}", i.low * times, i.high * times)))
}

/// A row that stands for what was not run.
fn missing(columns: usize, what: &str) -> Row {
    let mut cells = vec![Cell::from(what)];
    cells.resize(columns, Cell::Nothing);
    Row::new(cells, Verdict::NotShown(format!("{what}: not run")))
}

/// C1: ImpactB sees applications without disturbing them.
pub(in super::super) fn impact(setting: &Setting) -> Result<Findings, Failure> {
    let system = System::new(setting)?;
    let published = system.published;
    let names = &published.applications;
    let idle = system.impact(None, 1)?;
    let seen = beside_applications(&system)?;
    let alone = applications_alone(&system)?;
    let probes = system.probes();
    let probed = system.all("applications beside ImpactB", names.len(), |number| {
        system.timed(number, Some(&probes), alone[number].operations)
    })?;
    let mut rows = Vec::new();
    for (number, name) in names.iter().enumerate() {
        let latencies = seen[number].latencies();
        let found = mean_latency(&latencies).unwrap_or(Estimate { value: 0.0, interval: None });
        let shifted = latencies.iter().filter(|&&l| l > SHIFTED_SECONDS).count() as f64 / latencies.len() as f64;
        let slower = (probed[number].seconds / alone[number].seconds - 1.0) * 100.0;
        let sees = found.interval.is_some_and(|i| i.low > idle.mean_seconds());
        let verdict = Verdict::of(sees && slower < published.slowed_percent_asked, || {
            format!("{name}: {slower:.2} % slower, latency {:.3} us", found.value * 1e6)
        });
        let mut cells: Vec<Cell> = vec![name.as_str().into(), u64::from(alone[number].operations).into()];
        cells.extend([alone[number].seconds * 1e3, probed[number].seconds * 1e3, slower].map(Cell::from));
        cells.extend([(idle.mean_seconds() * 1e6).into(), (found.value * 1e6).into()]);
        cells.extend([interval(found.interval, 1e6), (shifted * 100.0).into()]);
        rows.push(Row::new(cells, verdict));
    }
    rows.push(missing(IMPACT.len(), "real MPI"));
    let notes = vec![
        format!(
            "Judged: slower by less than {} %, and a mean latency whose interval at 95 % is above the idle one. The claim asks for real MPI; \
             what is here is simulated, where a probe has a processor of its own.",
            published.slowed_percent_asked
        ),
        system.note(),
    ];
    Ok(Findings::new(IMPACT, rows, notes))
}

const COMPRESSION: &[Column] = &[
    column("P", "partners", 0),
    column("M", "messages", 0),
    column("B, us", "sleep_microseconds", 1),
    column("true, %", "true_percent", 2),
    column("busiest port, %", "true_busiest_percent", 2),
    column("latency, us", "latency_microseconds", 3),
    column("estimated, %", "estimated_percent", 1),
    column("95 %", "estimated_percent_interval", 0),
    column("printed formula, %", "printed_percent", 1),
];

/// The utilisation of a mean time by the printed formula, in per cent; a number below zero is none.
fn printed(service: &Service, seconds: f64) -> Result<f64, Failure> {
    Ok(service.utilisation(seconds).map_err(told)?.max(0.0) * 100.0)
}

/// C2: what the configurations of CompressionB load.
pub(in super::super) fn compression(setting: &Setting) -> Result<Findings, Failure> {
    let system = System::new(setting)?;
    let published = system.published;
    let all = CompressionB::all(&published.partners, &published.messages, &published.sleep_cycles);
    let calibrated = Calibrated::new(&system)?;
    let beside = configurations(&system, &all)?;
    let (mut rows, mut truths) = (Vec::new(), Vec::new());
    let sleeps: Vec<String> = published
        .sleep_cycles
        .iter()
        .map(|&b| format!("{:.0}", CompressionB::of_cycles(1, 1, b).sleep_nanoseconds as f64 / 1e3))
        .collect();
    let title = "Utilisation of the switch by CompressionB, counted at the ports";
    let mut plot = Plot::new(PlotKind::Lines, title, "utilisation, %", "sleep B, us", sleeps);
    for (configuration, impact) in all.iter().zip(&beside) {
        let found = calibrated.estimate(impact);
        let sleep = configuration.sleep_nanoseconds as f64 / 1e3;
        let [truth, busiest] = impact.truth.map(|part| part * 100.0);
        truths.push(truth);
        let place = published
            .sleep_cycles
            .iter()
            .position(|&b| CompressionB::of_cycles(1, 1, b).sleep_nanoseconds == configuration.sleep_nanoseconds);
        plot.set("", &format!("P {} M {}", configuration.partners, configuration.messages), place.unwrap_or(0), truth);
        let mut cells: Vec<Cell> =
            [configuration.partners, configuration.messages].map(|n| Cell::from(u64::from(n))).into();
        cells.extend([sleep, truth, busiest, impact.mean_seconds() * 1e6, found.value * 100.0].map(Cell::from));
        cells.extend([interval(found.interval, 100.0), printed(&calibrated.printed, impact.mean_seconds())?.into()]);
        rows.push(Row::new(cells, Verdict::NotJudged));
    }
    let (low, high) = truths.iter().fold((f64::MAX, f64::MIN), |(l, h), &t| (l.min(t), h.max(t)));
    let [least, most] = published.utilisation_percent_asked;
    let idle = printed(&calibrated.printed, calibrated.idle.mean_seconds())?;
    let mut span: Vec<Cell> = vec!["all".into(), Cell::Nothing, Cell::Nothing];
    span.push(format!("{low:.2} to {high:.2}").into());
    span.resize(COMPRESSION.len(), Cell::Nothing);
    let verdict =
        Verdict::of(low <= least && high >= most, || format!("true utilisations from {low:.1} to {high:.1} %"));
    rows.push(Row::new(span, verdict));
    rows.push(missing(COMPRESSION.len(), "in the lab"));
    let [from, to] = published.utilisation_percent;
    let notes = vec![
        format!(
            "Published: {from} to {to} % by the printed formula, whose smallest value is that of an idle switch: a mean latency of 1.25 us over \
             a smallest one of 1 us is 26 to 33 %. The simulated idle switch has no noise: there the formula gives {idle:.1} %. Asked: true utilisations, counted at the \
             ports, from {least} % or less to {most} % or more."
        ),
        calibrated.sentence(),
        system.note(),
    ];
    Ok(Findings::new(COMPRESSION, rows, notes).with_plot(plot))
}

const ESTIMATES: &[Column] = &[
    column("load", "load", 0),
    column("true, %", "true_percent", 2),
    column("latency, us", "latency_microseconds", 3),
    column("estimated, %", "estimated_percent", 2),
    column("95 %", "estimated_percent_interval", 0),
    column("off by, points", "error_points", 2),
    column("printed formula, %", "printed_percent", 2),
];

/// C3: from mean latency to utilisation.
pub(in super::super) fn estimates(setting: &Setting) -> Result<Findings, Failure> {
    let system = System::new(setting)?;
    let mut rows = synthetic()?;
    let calibrated = Calibrated::new(&system)?;
    let loads: Vec<f64> = (1..=9).map(|tenths| f64::from(tenths) / 10.0).collect();
    let impacts = system.all("ImpactB at known loads", loads.len(), |number| {
        system.impact(Some(&system.known(loads[number])?), 500 + number as u64)
    })?;
    let categories = loads.iter().map(|load| format!("{:.0}", load * 100.0)).collect();
    let title = "Estimated and true utilisation of the simulated switch";
    let mut plot = Plot::new(PlotKind::Lines, title, "utilisation, %", "offered load, %", categories);
    for (number, (load, impact)) in loads.iter().zip(&impacts).enumerate() {
        let found = calibrated.estimate(impact);
        let (truth, estimated) = (impact.truth[0] * 100.0, found.value * 100.0);
        let formula = printed(&calibrated.printed, impact.mean_seconds())?;
        for (name, value) in [("true", truth), ("estimated", estimated), ("printed formula", formula)] {
            plot.set("", name, number, value);
        }
        let error = (estimated - truth).abs();
        let cells = vec![
            format!("{:.0} % of each link, Poisson", load * 100.0).into(),
            truth.into(),
            (impact.mean_seconds() * 1e6).into(),
            estimated.into(),
            interval(found.interval, 100.0),
            error.into(),
            formula.into(),
        ];
        let verdict = Verdict::of(error <= system.published.points_asked, || {
            format!("at {truth:.1} % the estimate is off by {error:.1} points")
        });
        rows.push(Row::new(cells, verdict));
    }
    let notes = vec![
        format!(
            "Synthetic rows: the time that equation (1) gives for a queue with 1/mu = 1.25 us, and what equation (3) makes of it; judged exact \
             to 1e-9. Simulated rows: judged within {} points of what was counted at the ports. Loads of calibration and of this table have other \
             seeds and, but for 50 and 70 %, other values.",
            system.published.points_asked
        ),
        calibrated.sentence(),
        system.note(),
    ];
    Ok(Findings::new(ESTIMATES, rows, notes).with_plot(plot))
}

/// Equations (1) and (3) on M/D/1 and M/M/1.
fn synthetic() -> Result<Vec<Row>, Failure> {
    let mean_seconds = 1.25e-6;
    let mut rows = Vec::new();
    for (name, variance) in [("M/D/1", 0.0), ("M/M/1", mean_seconds * mean_seconds)] {
        let service = Service { mean_seconds, variance };
        for load in [0.1, 0.5, 0.9] {
            let time = service.mean_time(load);
            let found = service.utilisation(time).map_err(told)?;
            let error = (found - load).abs();
            let verdict = Verdict::of(error < 1e-9, || format!("{name} at {load}: {found}"));
            let cells = vec![
                format!("{name}, synthetic").into(),
                (load * 100.0).into(),
                (time * 1e6).into(),
                Cell::Nothing,
                Cell::Nothing,
                (error * 100.0).into(),
                (found * 100.0).into(),
            ];
            rows.push(Row::new(cells, verdict));
        }
    }
    Ok(rows)
}

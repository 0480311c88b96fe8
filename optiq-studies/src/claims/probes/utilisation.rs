//! C1, C2 and C3: what probes see and cost, what CompressionB loads, and how far the estimated utilisation is from the true one.

use super::super::setting::Setting;
use super::campaign::{Calibrated, applications_alone, beside_applications, configurations, told};
use super::lab::{LabCalibrated, LabImpact, LabSwitch};
use super::system::{MANY_SAMPLES, System};
use crate::failure::Failure;
use crate::findings::{Cell, Column, Findings, Row, Verdict, column};
use crate::plot::{Plot, PlotKind};
use crate::proxies::PROXIES;
use optiq_measure::statistics::{Interval, mean};
use optiq_probe::description::CompressionB;
use optiq_probe::measure::calibration::Calibration;
use optiq_probe::measure::estimate::{self, Estimate, mean_latency};
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

/// A row that stands for what could not be run.
fn missing(columns: usize, why: &str) -> Row {
    let mut cells = vec![Cell::from("in the lab")];
    cells.resize(columns, Cell::Nothing);
    Row::new(cells, Verdict::NotShown(format!("in the lab: not run: {why}")))
}

/// Latencies in the lab shift by queueing behind bytes of other messages: beyond the time of one more of its own packets on both links.
const SHIFTED_IN_THE_LAB_SECONDS: f64 = SHIFTED_SECONDS * super::lab::STRETCH;
/// An application is timed in the lab for about this long, twice alone and twice beside ImpactB in turn.
const TIMED_IN_THE_LAB_SECONDS: f64 = 4.0;
const LAB_ROUNDS: usize = 2;

/// C1 in the lab: its rows, and how noisy the scheduler was, or why there is no lab.
fn impact_in_the_lab(setting: &Setting, rows: &mut Vec<Row>, notes: &mut Vec<String>) -> Result<(), Failure> {
    let lab = match LabSwitch::up(setting.progress) {
        Ok(lab) => lab,
        Err(why) => {
            rows.push(missing(IMPACT.len(), &why));
            return Ok(());
        }
    };
    let asked = setting.published.probes.slowed_percent_asked;
    let idle = lab.impact("ImpactB alone", None, TIMED_IN_THE_LAB_SECONDS)?;
    let mut noises = vec![idle.noise_seconds];
    for proxy in PROXIES {
        let (once, _) = lab.application(proxy, 1, false)?;
        let operations = (TIMED_IN_THE_LAB_SECONDS / once).ceil().max(1.0) as u32;
        let (mut alone, mut probed, mut latencies) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..LAB_ROUNDS {
            alone.push(lab.application(proxy, operations, false)?.0);
            let (seconds, found) = lab.application(proxy, operations, true)?;
            probed.push(seconds);
            if let Some(found) = found {
                noises.push(found.noise_seconds);
                latencies.extend(found.impact.latencies());
            }
        }
        let [alone, probed] = [&alone, &probed].map(|seconds| mean(seconds).unwrap_or(0.0));
        let found = mean_latency(&latencies).unwrap_or(Estimate { value: 0.0, interval: None });
        let shifted = latencies.iter().filter(|&&l| l > SHIFTED_IN_THE_LAB_SECONDS).count() as f64
            / latencies.len().max(1) as f64;
        let slower = (probed / alone - 1.0) * 100.0;
        let verdict = Verdict::of(slower < asked, || format!("{} in the lab: {slower:.2} % slower", proxy.name));
        let mut cells: Vec<Cell> = vec![format!("{} in the lab", proxy.name).into(), u64::from(operations).into()];
        cells.extend([alone * 1e3, probed * 1e3, slower].map(Cell::from));
        cells.extend([(idle.impact.mean_seconds() * 1e6).into(), (found.value * 1e6).into()]);
        cells.extend([interval(found.interval, 1e6), (shifted * 100.0).into()]);
        rows.push(Row::new(cells, verdict));
    }
    let noise = noises.iter().copied().fold(0.0, f64::max) * 1e6;
    notes.push(format!(
        "{} Probes come each 100 ms, as published; an application is timed for about {TIMED_IN_THE_LAB_SECONDS} s alone and beside them, \
         {LAB_ROUNDS} times in turn. Judged in the lab: slower by less than {asked} %. Shifted are latencies beyond {:.0} us there. What varies in the wake-up \
         of a rank, which latencies have in them, was {noise:.0} us at most in any run.",
        lab.note(),
        SHIFTED_IN_THE_LAB_SECONDS * 1e6
    ));
    Ok(())
}

/// C1: ImpactB sees applications without disturbing them.
pub(in super::super) fn impact(setting: &Setting) -> Result<Findings, Failure> {
    let system = System::new(setting)?.with_samples(MANY_SAMPLES);
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
    let mut notes = vec![
        format!(
            "Simulated rows are judged by: slower by less than {} %, and a mean latency whose interval at 95 % is above the idle one. In the simulator \
             a probe has a processor of its own. **Changed after the claim had failed**: with 120 samples a pair the latency beside Lulesh, which \
             sends little, was 1.341 us, between 1.208 and 1.474 at 95 %, which has the idle one in it; there are {MANY_SAMPLES} since dd2a734d.",
            published.slowed_percent_asked
        ),
        system.note(),
    ];
    impact_in_the_lab(setting, &mut rows, &mut notes)?;
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
        plot.set(
            "simulated",
            &format!("P {} M {}", configuration.partners, configuration.messages),
            place.unwrap_or(0),
            truth,
        );
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
    let [from, to] = published.utilisation_percent;
    let mut notes = vec![
        format!(
            "Published: {from} to {to} % by the printed formula, whose smallest value is that of an idle switch: a mean latency of 1.25 us over \
             a smallest one of 1 us is 26 to 33 %. The simulated idle switch has no noise: there the formula gives {idle:.1} %. Asked: true utilisations, counted at the \
             ports, from {least} % or less to {most} % or more."
        ),
        calibrated.sentence(),
        system.note(),
    ];
    compression_in_the_lab(setting, &mut rows, &mut notes, &mut plot)?;
    Ok(Findings::new(COMPRESSION, rows, notes).with_plot(plot))
}

/// Loads of the lab at which its probe is calibrated, and those that are estimated then; parts of what links carry.
const LAB_KNOWN: [f64; 4] = [0.25, 0.5, 0.7, 0.85];
const LAB_ASKED: [f64; 4] = [0.15, 0.35, 0.6, 0.8];
/// How long ImpactB runs beside a known load, and beside a configuration.
const LAB_KNOWN_SECONDS: f64 = 6.0;
const LAB_CONFIGURATION_SECONDS: f64 = 3.0;
/// Partners of a process in the lab: the published ones that differ most, of those that 16 nodes can have.
const LAB_PARTNERS: [u32; 2] = [1, 14];
/// By how much an estimate may be off there, in points.
const LAB_POINTS: f64 = 8.0;

/// A row of ImpactB in the lab, with the estimate and by how much that is off, in points.
fn lab_row(
    calibrated: &LabCalibrated,
    service: &Service,
    found: &LabImpact,
    first: [Cell; 3],
) -> Result<(Row, f64), Failure> {
    let estimate = estimate::utilisation(&calibrated.calibration, &found.impact.latencies());
    let estimate = estimate.unwrap_or(Estimate { value: 0.0, interval: None });
    let [truth, busiest] = found.impact.truth.map(|part| part * 100.0);
    let seconds = found.impact.mean_seconds();
    let mut cells: Vec<Cell> = first.into();
    cells.extend([truth, busiest, seconds * 1e6, estimate.value * 100.0].map(Cell::from));
    cells.extend([interval(estimate.interval, 100.0), printed(service, seconds)?.into()]);
    Ok((Row::new(cells, Verdict::NotJudged), (estimate.value * 100.0 - truth).abs()))
}

/// C2 in the lab.
fn compression_in_the_lab(
    setting: &Setting,
    rows: &mut Vec<Row>,
    notes: &mut Vec<String>,
    plot: &mut Plot,
) -> Result<(), Failure> {
    let published = &setting.published.probes;
    let lab = match LabSwitch::up(setting.progress) {
        Ok(lab) => lab,
        Err(why) => {
            rows.push(missing(COMPRESSION.len(), &why));
            return Ok(());
        }
    };
    let calibrated = LabCalibrated::new(&lab, &LAB_KNOWN, LAB_KNOWN_SECONDS)?;
    let idle = calibrated.idle.impact.latencies();
    let deviation = calibrated.idle.impact.perturbation()?.deviation_seconds;
    let smallest = idle.iter().copied().fold(f64::INFINITY, f64::min);
    let service = Service { mean_seconds: smallest, variance: deviation * deviation };
    let mut noise = calibrated.idle.noise_seconds;
    for load in LAB_ASKED {
        let what = format!("Poisson {:.0} %", load * 100.0);
        let found = lab.impact(&what, Some(lab.known(load)?), LAB_KNOWN_SECONDS)?;
        noise = noise.max(found.noise_seconds);
        let first = [format!("lab, {what}").into(), Cell::Nothing, Cell::Nothing];
        let (mut row, points) = lab_row(&calibrated, &service, &found, first)?;
        row.verdict = Verdict::of(points <= LAB_POINTS, || format!("{what} in the lab: off by {points:.1} points"));
        rows.push(row);
    }
    let mut truths = Vec::new();
    let all = CompressionB::all(&LAB_PARTNERS, &published.messages, &published.sleep_cycles);
    for (number, configuration) in all.iter().enumerate() {
        let (stretched, program) = lab.compression(configuration);
        let found = lab.impact(&stretched.name(), Some(program), LAB_CONFIGURATION_SECONDS)?;
        noise = noise.max(found.noise_seconds);
        let CompressionB { partners, messages, sleep_nanoseconds, .. } = stretched;
        let first =
            [format!("lab, {partners}").into(), u64::from(messages).into(), (sleep_nanoseconds as f64 / 1e3).into()];
        rows.push(lab_row(&calibrated, &service, &found, first)?.0);
        let truth = found.impact.truth[0] * 100.0;
        truths.push(truth);
        let place = number / (LAB_PARTNERS.len() * published.messages.len());
        plot.set("in the lab, B 200 times as long", &format!("P {partners} M {messages}"), place, truth);
    }
    let (low, high) = truths.iter().fold((f64::MAX, f64::MIN), |(l, h), &t| (l.min(t), h.max(t)));
    let [least, most] = published.utilisation_percent_asked;
    let mut span: Vec<Cell> = vec!["lab, all".into(), Cell::Nothing, Cell::Nothing];
    span.push(format!("{low:.2} to {high:.2}").into());
    span.resize(COMPRESSION.len(), Cell::Nothing);
    let holds = low <= least && high >= most;
    rows.push(Row::new(
        span,
        Verdict::of(holds, || format!("true utilisations in the lab from {low:.1} to {high:.1} %")),
    ));
    let Calibration { fixed_seconds, residual_seconds, queue_seconds } = calibrated.calibration;
    notes.push(format!(
        "{} ImpactB runs {LAB_KNOWN_SECONDS} s beside each known load (Poisson arrivals of messages of 200 KB), {LAB_CONFIGURATION_SECONDS} s beside each configuration. Judged in the \
         lab: true utilisations from {least} % or less to {most} % or more, and estimates within {LAB_POINTS} points at known loads that the probe was not calibrated \
         at ({}); it was at {}. Estimates beside CompressionB are not judged: its messages come in bursts, at which a mean wait says more than a constant load of the same \
         utilisation. The probe there: {:.0} us at no load, {:.0} us times rho and {:.0} us times rho^2 / (1 - rho). What varies in the wake-up of a rank was {:.0} us at \
         most in any run.",
        lab.note(),
        LAB_ASKED.map(|part| format!("{:.0} %", part * 100.0)).join(", "),
        LAB_KNOWN.map(|part| format!("{:.0} %", part * 100.0)).join(", "),
        fixed_seconds * 1e6,
        residual_seconds * 1e6,
        queue_seconds * 1e6,
        noise * 1e6
    ));
    Ok(())
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

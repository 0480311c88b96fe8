//! B12, B13 and B14: what MPI suffers from I/O, and adaptive routing (document 000, sections 5.4.2 and 5.4.3).

use super::system::{IO, Load, MODEL, MPI, Observed, Setup, interval, sampling, us};
use crate::claims::setting::Setting;
use crate::failure::Failure;
use crate::findings::{Cell, Column, Findings, Row, Verdict, column};
use optiq_sim::jobs::statistics::Estimate;
use optiq_sim::{Model, Policy};

/// A pair of loads: message and interval of MPI with samples and warm-up, request and interval of I/O likewise, and packets. Samples are chosen so
/// that both jobs take about as long.
type Pair = ([&'static str; 2], (u32, u32), [&'static str; 2], (u32, u32), u64);

/// Of the survey, each kind of pair that the document has charts of, with I/O before and beyond its threshold.
const PAIRS: [Pair; 9] = [
    (["4KiB", "500us"], (30, 10), ["512KiB", "100us"], (30, 10), 1),
    (["4KiB", "500us"], (30, 10), ["4MiB", "100us"], (4, 2), 1),
    (["4KiB", "500us"], (30, 10), ["4MiB", "10us"], (4, 2), 1),
    (["512KiB", "500us"], (30, 5), ["512KiB", "1ms"], (20, 3), 2),
    (["512KiB", "500us"], (30, 5), ["512KiB", "100us"], (40, 10), 2),
    (["512KiB", "500us"], (30, 5), ["4MiB", "100us"], (6, 2), 2),
    (["4MiB", "5ms"], (10, 2), ["4MiB", "100us"], (20, 4), 8),
    (["4MiB", "500us"], (30, 5), ["4MiB", "5ms"], (8, 2), 8),
    (["4MiB", "500us"], (30, 5), ["4MiB", "1ms"], (12, 3), 8),
];

/// How many times as many samples there are where the intervals of both slowdowns overlap, so that it is not clear which is larger.
const MORE: u32 = 8;

const ORDER: &[Column] = &[
    column("MPI", "mpi", 0),
    column("I/O", "io", 0),
    column("MPI's samples", "mpi_samples_per_node", 0),
    column("I/O's", "io_samples_per_node", 0),
    column("packets, KiB", "packet_kibibytes", 0),
    column("MPI alone, us", "mpi_alone_mean_microseconds", 1),
    column("MPI's slowdown", "mpi_slowdown_mean", 3),
    column("95 %", "mpi_slowdown_mean_interval", 0),
    column("I/O's slowdown", "io_slowdown_mean", 3),
    column("I/O, 95 %", "io_slowdown_mean_interval", 0),
];

fn setup(setting: &Setting, packets: u64) -> Setup {
    Setup::new(&setting.published.interference).with_packets(packets)
}

/// B12: MPI always suffers more than I/O, and how much at most.
pub fn order_and_peak(setting: &Setting) -> Result<Findings, Failure> {
    let published = &setting.published.interference;
    let model = Model::read(MODEL)?;
    let [low, high] = published.b12.band;
    let (mut rows, mut packets, mut peak) = (Vec::new(), 0, 0.0_f64);
    for ([message, pause], of_mpi, [request, think], of_io, larger) in PAIRS {
        let run = |times: u32| -> Result<(Observed, [Estimate; 2]), Failure> {
            setting
                .progress
                .now(format!("MPI {message} after {pause}, I/O {request} after {think}, {times} times the samples"));
            let mpi = Load::mpi(message, pause).measured(times * of_mpi.0, of_mpi.1);
            let io = Load::io(request, think).measured(times * of_io.0, of_io.1);
            let seen = setup(setting, larger).with_io(io).with_mpi(mpi).run(&model)?;
            let slower = [seen.slowdown(IO)?.mean, seen.slowdown(MPI)?.mean];
            Ok((seen, slower))
        };
        let (mut times, (mut seen, mut slower)) = (1, run(1)?);
        packets += seen.packets;
        if overlap(&slower) {
            times = MORE;
            (seen, slower) = run(MORE)?;
            packets += seen.packets;
        }
        let [of_io_job, of_mpi_job] = slower;
        peak = peak.max(of_mpi_job.value);
        let mut cells: Vec<Cell> =
            vec![format!("{message} after {pause}").into(), format!("{request} after {think}").into()];
        cells.extend([u64::from(times * of_mpi.0), u64::from(times * of_io.0), 4 * larger].map(Cell::from));
        cells.extend([us(&seen.alone(MPI)?.mean).into(), of_mpi_job.value.into(), interval(&of_mpi_job)]);
        cells.extend([of_io_job.value.into(), interval(&of_io_job)]);
        let verdict = Verdict::of(of_mpi_job.value > of_io_job.value, || {
            format!("MPI {:.2} times, I/O {:.2} times", of_mpi_job.value, of_io_job.value)
        });
        rows.push(Row::new(cells, verdict));
    }
    let mut cells: Vec<Cell> = vec!["peak".into(), format!("published {}", published.b12.peak).into()];
    cells.extend([
        Cell::Nothing,
        Cell::Nothing,
        Cell::Nothing,
        Cell::Nothing,
        peak.into(),
        Cell::Nothing,
        Cell::Nothing,
        Cell::Nothing,
    ]);
    rows.push(Row::new(cells, Verdict::of((low..=high).contains(&peak), || format!("the peak is {peak:.2} times"))));
    let notes = vec![
        format!(
            "Each row is judged by whether MPI's mean slows more than I/O's, the peak, the largest slowdown of MPI's mean in the table, by {low} to {high} times. \
             Where the intervals of both overlap, the pair is run again with {MORE} times as many samples, which are judged. **Added after a failure:** one row \
             had not been shown with overlapping intervals (1.047 for MPI and 1.066 for I/O, of 30 and 8 samples)."
        ),
        sampling("Both jobs are measured in one run.", packets),
    ];
    Ok(Findings::new(ORDER, rows, notes))
}

/// Whether intervals leave open which of two is larger.
fn overlap(two: &[Estimate; 2]) -> bool {
    let [Some(a), Some(b)] = two.each_ref().map(|one| one.interval) else { return true };
    a.low <= b.high && b.low <= a.high
}

const FREQUENCY: &[Column] = &[
    column("interval of MPI", "interval", 0),
    column("samples", "samples_per_node", 0),
    column("alone, us", "alone_mean_microseconds", 2),
    column("beside I/O, us", "together_mean_microseconds", 2),
    column("median, us", "together_median_microseconds", 2),
    column("slowdown", "slowdown_mean", 3),
    column("95 %", "slowdown_mean_interval", 0),
];

/// B13: the more often MPI sends, the less it suffers.
pub fn by_frequency(setting: &Setting) -> Result<Findings, Failure> {
    let model = Model::read(MODEL)?;
    let (mut rows, mut packets, mut found) = (Vec::new(), 0, Vec::new());
    // About 20 ms of simulated time each.
    for (pause, samples, warmup) in [("5ms", 4, 1), ("1ms", 15, 5), ("500us", 30, 10), ("100us", 120, 50)] {
        setting.progress.now(format!("MPI after {pause} beside congested I/O"));
        let mpi = Load::mpi("4KiB", pause).measured(samples, warmup);
        let seen = setup(setting, 1).with_io(Load::io("4MiB", "10us")).with_mpi(mpi).run(&model)?;
        packets += seen.packets;
        let slower = seen.slowdown(MPI)?.mean;
        let together = seen.together(MPI)?;
        found.push(slower);
        let mut cells: Vec<Cell> = vec![pause.into(), u64::from(samples).into(), us(&seen.alone(MPI)?.mean).into()];
        cells.extend([us(&together.mean).into(), us(&together.median).into(), slower.value.into(), interval(&slower)]);
        rows.push(Row::new(cells, Verdict::NotJudged));
    }
    if let (Some(row), Some(rare), Some(often)) = (rows.last_mut(), found.first(), found.last()) {
        // A difference that the intervals allow to be none shows nothing.
        let apart = match (rare.interval, often.interval) {
            (Some(rare), Some(often)) => often.high < rare.low,
            _ => false,
        };
        row.verdict = Verdict::of(apart, || {
            let side = if often.value < rare.value { "lower, but within the intervals" } else { "not lower" };
            format!("{:.2} times after 100us and {:.2} after 5ms: {side}", often.value, rare.value)
        });
    }
    let notes = vec![
        "4 KiB of MPI beside 4 MiB of I/O after 10us. Judged by the last row against the first: a lower slowdown, and intervals that do not overlap.".into(),
        sampling("Packets are of 4 KiB, as the machine's.", packets),
    ];
    Ok(Findings::new(FREQUENCY, rows, notes))
}

const ROUTINGS: &[Column] = &[
    column("I/O after", "io_interval", 0),
    column("job", "job", 0),
    column("samples", "samples_per_node", 0),
    column("alone, us", "alone_mean_microseconds_fabric", 2),
    column("alone, adaptive, us", "alone_mean_microseconds_adaptive", 2),
    column("slowdown", "slowdown_mean_fabric", 3),
    column("95 %", "slowdown_mean_interval_fabric", 0),
    column("slowdown, adaptive", "slowdown_mean_adaptive", 3),
    column("95 %, adaptive", "slowdown_mean_interval_adaptive", 0),
    column("judged", "judged", 0),
];

/// B14: adaptive routing.
pub fn routing(setting: &Setting) -> Result<Findings, Failure> {
    let model = Model::read(MODEL)?;
    let (mut rows, mut packets, mut alone) = (Vec::new(), 0, String::new());
    for (think, of_io, before) in [("1ms", (30, 5), true), ("500us", (30, 5), true), ("100us", (30, 10), false)] {
        let run = |policy: Policy| -> Result<Observed, Failure> {
            setting.progress.now(format!("I/O after {think}, {policy}"));
            let io = Load::io("512KiB", think).measured(of_io.0, of_io.1);
            let mpi = Load::mpi("512KiB", "100us").measured(30, 10);
            Setup { routing: policy, ..setup(setting, 2) }.with_io(io).with_mpi(mpi).run(&model)
        };
        let (fixed, adaptive) = (run(Policy::Fabric)?, run(Policy::AdaptiveUp)?);
        packets += fixed.packets + adaptive.packets;
        // MPI alone is the same in all three.
        if alone.is_empty() {
            alone = baseline_note(&fixed, &adaptive)?;
        }
        for (job, name, samples) in [(IO, "I/O", of_io.0), (MPI, "MPI", 30)] {
            rows.extend(routing_rows((think, before), (job, name, samples), &fixed, &adaptive)?);
        }
    }
    let notes = vec![
        "512 KiB of I/O beside 512 KiB of MPI after 100us. Adaptive routing is adaptive-up: up by the port with the shortest queue, down by the only way. \
         Before the threshold (1ms, 500us) it is judged by a slowdown that is lower than with the fabric's own routes, and by a baseline that is higher; the \
         claim asks for both directions."
            .into(),
        alone,
        sampling("Packets are of 8 KiB in place of 4 KiB. Both jobs are measured in one run.", packets),
    ];
    Ok(Findings::new(ROUTINGS, rows, notes))
}

/// What MPI's messages take alone, by both kinds of routes.
fn baseline_note(fixed: &Observed, adaptive: &Observed) -> Result<String, Failure> {
    let [own, chosen] = [fixed.alone(MPI)?, adaptive.alone(MPI)?];
    Ok(format!(
        "Why MPI's baseline is not raised here: alone, a quarter of its messages take {:.2} us at most with the fabric's own routes, which is what one takes that meets no other, and \
         the mean is {:.2} us, as routes of some pairs share a link; with adaptive routes quartiles and mean are {:.2}, {:.2} and {:.2} us. Here a switch sees the \
         queues of this moment, and chooses an empty way where there is one, so that no two messages of this job meet.",
        us(&own.first_quartile),
        us(&own.mean),
        us(&chosen.first_quartile),
        us(&chosen.third_quartile),
        us(&chosen.mean),
    ))
}

/// Two rows of a job: its interference, and its baseline.
fn routing_rows(
    (think, before): (&str, bool),
    (job, name, samples): (usize, &str, u32),
    fixed: &Observed,
    adaptive: &Observed,
) -> Result<[Row; 2], Failure> {
    let alone = [us(&fixed.alone(job)?.mean), us(&adaptive.alone(job)?.mean)];
    let slower = [fixed.slowdown(job)?.mean, adaptive.slowdown(job)?.mean];
    let row = |judged: &str, holds: bool, why: String| {
        let mut cells: Vec<Cell> = vec![think.into(), name.into(), u64::from(samples).into()];
        cells.extend([alone[0].into(), alone[1].into(), slower[0].value.into(), interval(&slower[0])]);
        cells.extend([
            slower[1].value.into(),
            interval(&slower[1]),
            if before { judged.into() } else { "context".into() },
        ]);
        Row::new(cells, if before { Verdict::of(holds, || why) } else { Verdict::NotJudged })
    };
    let less = format!("{:.2} times with adaptive routes, {:.2} without", slower[1].value, slower[0].value);
    let raised = format!("{:.1} us alone with adaptive routes, {:.1} us without", alone[1], alone[0]);
    Ok([row("interference", slower[1].value < slower[0].value, less), row("baseline", alone[1] > alone[0], raised)])
}

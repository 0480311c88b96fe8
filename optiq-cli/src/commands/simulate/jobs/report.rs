//! The page of `optiq simulate --jobs --report`.

use super::figures::{BusyLink, Found, busy_links};
use super::text::{self, ratio};
use crate::commands::simulate::shown::width;
use optiq_sim::jobs::programs::samples::RankSamples;
use optiq_sim::jobs::run::RunOutcome;
use optiq_sim::jobs::statistics::JobStatistics;
use optiq_sim::time::Time;
use optiq_view::axis::number;
use optiq_view::boxes::{Boxes, TimeBox};
use optiq_view::curves::{Curve, Curves, Panel};
use optiq_view::jobs::{ALONE, Job, JobsReport, TOGETHER};
use optiq_view::stacks::Stack;
use optiq_view::table;
use std::cmp::Reverse;

/// Points of a curve, at most about.
const POINTS: u64 = 128;
/// Links that are shown.
const LINKS: usize = 32;

/// Values over time, and until when the last one holds.
type Values = (Vec<(f64, f64)>, f64);

pub fn page(found: &Found<'_>) -> String {
    let (links, links_note) = links(found);
    let page = JobsReport {
        heading: format!("{} on {}", found.file.title, found.network.spec()),
        subtitle: format!(
            "{}; model {}; routing {}; seed {}, of placements {}{}",
            table::count(found.file.jobs.len(), "job"),
            found.model.title,
            found.file.routing,
            found.file.seed,
            found.file.placement_seed,
            if found.finite { "; ranks end after their samples" } else { "" }
        ),
        model: found.model.title.clone(),
        notes: text::notes(found),
        figures: text::rows(found),
        jobs: (0..found.file.jobs.len()).map(|job| of_job(found, job)).collect(),
        links,
        links_note,
    };
    page.page()
}

fn of_job(found: &Found<'_>, job: usize) -> Job {
    let (entry, hosts, figures) = (&found.file.jobs[job], &found.allocation.jobs[job], &found.figures[job]);
    let servers = match &entry.servers {
        Some(rule) => format!(", {} ({rule})", table::count(hosts.servers.len(), "server")),
        None => String::new(),
    };
    Job {
        name: entry.name.clone(),
        subtitle: format!(
            "{}: {} on {} ({}){servers}",
            entry.program,
            table::count(hosts.ranks() as usize, "rank"),
            table::count(hosts.hosts.len(), "host"),
            entry.placement
        ),
        slowdown: figures.slowdown.as_ref().map(|s| ratio(&s.mean)),
        boxes: Boxes {
            label: format!("Box plots of the samples of {}", entry.name),
            horizontal: "time of an operation".into(),
            boxes: [("alone", ALONE, &figures.alone), ("together", TOGETHER, &figures.together)]
                .into_iter()
                .filter_map(|(name, number, s)| s.as_ref().map(|s| time_box(name, number, s)))
                .collect(),
        },
        delivered: delivered(found, job),
        latency: latency(found, job),
    }
}

pub fn time_box(name: &str, number: usize, s: &JobStatistics) -> TimeBox {
    TimeBox {
        name: name.to_owned(),
        number,
        minimum: s.minimum,
        quartiles: [s.first_quartile.value, s.median.value, s.third_quartile.value],
        p99: s.p99.value,
        maximum: s.maximum,
        mean: s.mean.value,
    }
}

/// The curves of a job alone and together, in the largest of these units that leaves a value of one or more.
fn curves(
    [alone, together]: [Option<Values>; 2],
    units: &[(f64, &'static str)],
    (label, vertical): (String, &str),
) -> Curves {
    let curve = |name: &str, number, values: Option<Values>| {
        values.map(|(points, end)| Curve { number, name: name.to_owned(), points, end })
    };
    let mut curves: Vec<Curve> =
        [curve("alone", ALONE, alone), curve("together", TOGETHER, together)].into_iter().flatten().collect();
    let most = curves.iter().flat_map(|c| &c.points).map(|p| p.1).fold(0.0, f64::max);
    let found = units.iter().copied().find(|&(unit, _)| most >= unit).or(units.last().copied());
    let (unit, name) = found.unwrap_or((1.0, ""));
    curves.iter_mut().flat_map(|c| &mut c.points).for_each(|p| p.1 /= unit);
    Curves {
        label,
        vertical: format!("{vertical}, {name}"),
        horizontal: "time since the start of the run".into(),
        logarithmic: false,
        high: None,
        panels: vec![Panel { title: String::new(), curves }],
    }
}

/// Bytes of messages that arrived, per second.
fn delivered(found: &Found<'_>, job: usize) -> Curves {
    let name = &found.file.jobs[job].name;
    // Alone the job is the first one of its run.
    let values = [rate(found.results.alone[job].as_ref(), 0), rate(found.results.together.as_ref(), job)];
    let units = [(1e12, "TB/s"), (1e9, "GB/s"), (1e6, "MB/s"), (1e3, "kB/s"), (1.0, "B/s")];
    curves(values, &units, (format!("Bytes that arrived for {name} over time"), "payload that arrives"))
}

fn rate(run: Option<&RunOutcome>, job: usize) -> Option<Values> {
    let (run, series) = run.and_then(|run| Some((run, run.series.as_ref()?)))?;
    let bytes = &series.jobs.get(job)?.delivered_bytes;
    let enough = |n: &usize| (series.interval * *n as u64).saturating_mul(POINTS) >= run.time;
    let joined = std::iter::successors(Some(1), |n| Some(2 * n)).find(enough).unwrap_or(1);
    let mean = |(i, bytes): (usize, &[u64])| {
        let from = i * joined;
        let long: Time = (from..from + bytes.len()).map(|at| width(series, at, run.time)).sum();
        let sum = bytes.iter().sum::<u64>() as f64;
        (long > Time::ZERO).then(|| (from as f64 * series.interval.seconds(), sum / long.seconds()))
    };
    Some((bytes.chunks(joined).enumerate().filter_map(mean).collect(), run.time.seconds()))
}

/// How long operations took on average, by the time at which they started.
fn latency(found: &Found<'_>, job: usize) -> Curves {
    let (result, name) = (&found.results.jobs[job], &found.file.jobs[job].name);
    let values = [&result.alone, &result.together].map(|run| Some(means(&run.as_ref()?.ranks)));
    let units = [(1.0, "s"), (1e-3, "ms"), (1e-6, "\u{b5}s")];
    curves(
        values,
        &units,
        (format!("How long operations of {name} took over time"), "mean time of the operations that start"),
    )
}

fn means(ranks: &[RankSamples]) -> Values {
    let samples = || ranks.iter().flat_map(|rank| &rank.samples);
    let last = samples().map(|s| s.start).max().unwrap_or(Time::ZERO);
    let interval = Time::picoseconds(last.as_picoseconds() / POINTS + 1);
    let mut sums = vec![(0u64, 0.0); POINTS as usize + 1];
    for sample in samples() {
        let sum = &mut sums[(sample.start / interval) as usize];
        *sum = (sum.0 + 1, sum.1 + sample.duration.seconds());
    }
    let mean = |(i, (count, sum)): (usize, (u64, f64))| (i as f64 * interval.seconds(), sum / count as f64);
    let points = sums.into_iter().enumerate().filter(|(_, sum)| sum.0 > 0).map(mean).collect();
    (points, last.seconds())
}

/// The links on which jobs have most beside another job; or the busiest of all, if they share none.
fn links(found: &Found<'_>) -> (Vec<Stack>, String) {
    let mut all = busy_links(found);
    let shared = all.iter().filter(|link| link.is_shared()).count();
    // What all jobs but the one with the most have there. Confirmations of a few bytes come last.
    all.sort_by_key(|link| Reverse(link.bytes - link.of_jobs.iter().max().copied().unwrap_or(0)));
    let stacks: Vec<Stack> =
        all.iter().take(if shared == 0 { LINKS } else { LINKS.min(shared) }).map(|link| stack(found, link)).collect();
    let what = if shared == 0 { "busiest" } else { "with the most of other jobs than the one that has the most there" };
    let note = format!(
        "In the run of all jobs together {} carried something, and {shared} of them carried bytes of several jobs; shown are the {} {what}. \
         Behind each bar: the part of the run in which the link was busy.",
        table::count(all.len(), "link"),
        stacks.len()
    );
    (stacks, note)
}

fn stack(found: &Found<'_>, link: &BusyLink) -> Stack {
    let ends = found.network.link(link.link);
    let name = format!("{} \u{2192} {}", found.network.name(ends.from), found.network.name(ends.to));
    let of = found.file.jobs.iter().zip(&link.of_jobs);
    let parts: Vec<String> = of.map(|(job, &bytes)| format!("{} {}", job.name, table::bytes(bytes as f64))).collect();
    let words = format!("{} %", number(link.share * 100.0));
    Stack { tip: format!("{name}: {}; busy {words}", parts.join(", ")), name, parts: link.of_jobs.clone(), words }
}

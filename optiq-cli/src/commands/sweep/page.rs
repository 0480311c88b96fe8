//! The page of a sweep: which of its lists is the horizontal axis, which are lines, and which are pictures of their own.
//!
//! The horizontal axis is the longest list of amounts, or of words where there are none of amounts. Lists of seeds are repetitions: their
//! points are medians, with whiskers to the smallest and the largest. All other lists are lines if they make at most [`MOST_LINES`], and
//! else the longest of them that does; the rest are pictures.

use super::document::{JobDocument, ResultDocument, SweepDocument, Times};
use super::text;
use optiq_measure::statistics::Summary;
use optiq_sim::jobs::sweep::axis::{Amount, Axis};
use optiq_sim::jobs::sweep::file::Sweep;
use optiq_view::boxes::{Boxes, TimeBox};
use optiq_view::lines::{Height, Line, Lines, Panel, Point};
use optiq_view::sweep::{Figure, SweepPage};
use optiq_view::table;
use std::collections::BTreeMap;

/// The most lines of a picture.
const MOST_LINES: usize = 10;
/// The most pictures of lines.
const MOST_FIGURES: usize = 24;
/// The most boxes of a picture; of a run there are two.
const MOST_BOXES: usize = 48;
/// The most rows of the table.
const MOST_ROWS: usize = 2000;

/// Which lists are what, by number.
struct Roles {
    across: Option<usize>,
    lines: Vec<usize>,
    pictures: Vec<usize>,
}

impl Roles {
    fn of(axes: &[Axis]) -> Self {
        let mut others: Vec<usize> =
            (0..axes.len()).filter(|&i| !axes[i].is_repetition() && axes[i].values.len() > 1).collect();
        let rank = |i: usize| (axes[i].amounts().0 != Amount::Word, axes[i].values.len());
        // Of equals the first one.
        let across = others.iter().copied().rev().max_by_key(|&i| rank(i));
        others.retain(|&i| Some(i) != across);
        let product: usize = others.iter().map(|&i| axes[i].values.len()).fold(1, usize::saturating_mul);
        if product <= MOST_LINES {
            return Roles { across, lines: others, pictures: Vec::new() };
        }
        let line = others
            .iter()
            .copied()
            .filter(|&i| axes[i].values.len() <= MOST_LINES)
            .max_by_key(|&i| axes[i].values.len());
        others.retain(|&i| Some(i) != line);
        Roles { across, lines: line.into_iter().collect(), pictures: others }
    }
}

/// A list's name in a few words.
fn short(name: &str) -> String {
    name.strip_prefix("job.").unwrap_or(name).replace(".program.", " ").replace('.', " ")
}

/// The values that a run has of some lists, in words.
fn words(axes: &[Axis], which: &[usize], choices: &[usize]) -> String {
    let pairs = which.iter().map(|&i| format!("{} {}", short(&axes[i].name), axes[i].values[choices[i]]));
    pairs.collect::<Vec<_>>().join(", ")
}

pub fn page(sweep: &Sweep, found: &SweepDocument) -> String {
    let axes = sweep.axes();
    let roles = Roles::of(axes);
    let (mut heads, mut rows) = text::rows(sweep, found);
    let runs = rows.len();
    rows.truncate(MOST_ROWS);
    heads.iter_mut().for_each(|head| *head = head.strip_prefix("job.").unwrap_or(head).to_owned());
    let slowest = found.results.iter().flat_map(|r| &r.jobs).filter_map(|j| Some(j.slowdown.as_ref()?.slowdown_mean));
    let slowest = slowest.fold(f64::NAN, f64::max);
    let mut cards = vec![
        (format!("{} of {}", found.finished, found.runs), "runs finished".to_owned()),
        (format!("{:.3e}", found.packets as f64), "packets simulated".to_owned()),
    ];
    if slowest.is_finite() {
        cards.push((format!("{slowest:.2}\u{d7}"), "the largest mean slowdown of a job".to_owned()));
    }
    let (figures, left_out) = figures(sweep, found, &roles);
    let (boxes, unboxed) = boxes(sweep, found);
    let topology = sweep.job_file(0).map_or_else(|_| String::new(), |file| file.network);
    let lists: Vec<String> = axes.iter().map(|axis| format!("{}: {}", axis.name, axis.values.join(", "))).collect();
    let more =
        |n: usize, what: &str| if n > 0 { format!(" {n} more {what} are in sweep.json.") } else { String::new() };
    SweepPage {
        heading: format!("Sweep: {}", found.title),
        subtitle: format!("{topology}. {}", lists.join("; ")),
        cards,
        figures,
        curves_note: format!(
            "Means over the operations of a job beside the others, and how many times as long as alone. Points of several seeds are their \
             medians, with whiskers from the smallest to the largest; of one seed, whiskers are 95 % intervals over nodes.{}",
            more(left_out, "pictures")
        ),
        boxes,
        boxes_note: format!(
            "Boxes are from the lower to the upper quartile, with the median and, as a dot, the mean; whiskers from the smallest to the largest, \
             with a short line at 99 %. Grey: the job alone.{}",
            more(unboxed, "runs")
        ),
        heads,
        rows,
        table_note: if runs > MOST_ROWS { format!("{} more are in sweep.json.", runs - MOST_ROWS) } else { String::new() },
    }
    .page()
}

/// Results with the same values of some lists, by these.
fn grouped<'a>(
    results: &[(&'a ResultDocument, Vec<usize>)],
    which: &[usize],
) -> BTreeMap<Vec<usize>, Vec<(&'a ResultDocument, Vec<usize>)>> {
    let mut groups: BTreeMap<Vec<usize>, Vec<_>> = BTreeMap::new();
    for (result, choices) in results {
        let key = which.iter().map(|&i| choices[i]).collect();
        groups.entry(key).or_default().push((*result, choices.clone()));
    }
    groups
}

/// Curves, and how many pictures were left out.
fn figures(sweep: &Sweep, found: &SweepDocument, roles: &Roles) -> (Vec<Figure>, usize) {
    let Some(across) = roles.across else { return (Vec::new(), 0) };
    let axes = sweep.axes();
    let all: Vec<_> = found.results.iter().map(|result| (result, sweep.choices(result.run))).collect();
    let jobs = found.results.first().map_or(0, |result| result.jobs.len());
    let (mut figures, mut left_out) = (Vec::new(), 0);
    for group in grouped(&all, &roles.pictures).into_values() {
        for job in 0..jobs {
            if figures.len() >= MOST_FIGURES {
                left_out += 1;
                continue;
            }
            let name = &group[0].0.jobs[job].placed.name;
            let of = words(axes, &roles.pictures, &group[0].1);
            let title = if of.is_empty() { name.clone() } else { format!("{name}, {of}") };
            let lines: Vec<_> = grouped(&group, &roles.lines).into_values().collect();
            let keys = lines.iter().enumerate().map(|(number, line)| (number, words(axes, &roles.lines, &line[0].1)));
            let keys = if roles.lines.is_empty() { Vec::new() } else { keys.collect() };
            figures.push(Figure { lines: picture(axes, across, (&title, job), &lines), title, keys });
        }
    }
    (figures, left_out)
}

fn picture(
    axes: &[Axis],
    across: usize,
    (title, job): (&str, usize),
    lines: &[Vec<(&ResultDocument, Vec<usize>)>],
) -> Lines {
    let (amount, amounts) = axes[across].amounts();
    let values = axes[across].values.iter().zip(amounts);
    let values = values.map(|(words, value)| (words.clone(), (amount != Amount::Word).then_some(value))).collect();
    let panel = |title: &str, height, of: Figured| Panel {
        title: title.to_owned(),
        height,
        lines: (lines.iter().enumerate())
            .map(|(number, line)| Line { number, points: points(axes, across, job, line, (height, of)) })
            .collect(),
    };
    let mean: Figured = |job| job.times.as_ref().map(|t| (t.mean_seconds, t.mean_interval_seconds));
    let slowdown: Figured = |job| job.slowdown.as_ref().map(|s| (s.slowdown_mean, s.slowdown_mean_interval));
    let mut panels = vec![panel("mean time of an operation", Height::Time, mean)];
    if lines.iter().flatten().any(|(result, _)| result.jobs[job].slowdown.is_some()) {
        panels.push(panel("mean slowdown", Height::Ratio, slowdown));
    }
    let horizontal = axes[across].name.strip_prefix("job.").unwrap_or(&axes[across].name).to_owned();
    Lines { label: format!("{title}: figures over {}", axes[across].name), horizontal, values, panels }
}

/// A figure of a job with its interval.
type Figured = fn(&JobDocument) -> Option<(f64, Option<[f64; 2]>)>;

fn points(
    axes: &[Axis],
    across: usize,
    job: usize,
    line: &[(&ResultDocument, Vec<usize>)],
    (height, of): (Height, Figured),
) -> Vec<Point> {
    let point = |(key, group): (Vec<usize>, Vec<(&ResultDocument, Vec<usize>)>)| {
        let figures: Vec<_> = group.iter().filter_map(|(result, _)| of(result.jobs.get(job)?)).collect();
        let summary = Summary::of(&figures.iter().map(|figure| figure.0).collect::<Vec<_>>())?;
        let range = match figures[..] {
            [(_, interval)] => interval.map(|[low, high]| (low, high)),
            _ => Some((summary.minimum, summary.maximum)),
        };
        let shown = |v: f64| if height == Height::Time { table::seconds(v) } else { format!("{v:.3}") };
        let spread = range.map_or_else(String::new, |(low, high)| format!(" ({} to {})", shown(low), shown(high)));
        let y = summary.median;
        let tip = format!("{}: {}{spread}", axes[across].values[key[0]], shown(y));
        Some(Point { value: key[0], y, range, tip })
    };
    grouped(line, &[across]).into_iter().filter_map(point).collect()
}

/// Box plots of each job, and how many runs have none.
fn boxes(sweep: &Sweep, found: &SweepDocument) -> (Vec<(String, Boxes)>, usize) {
    let axes = sweep.axes();
    let swept: Vec<usize> = (0..axes.len()).filter(|&i| axes[i].values.len() > 1).collect();
    let lists = swept.iter().map(|&i| short(&axes[i].name)).collect::<Vec<_>>().join(", ");
    let shown = found.results.len().min(MOST_BOXES / 2);
    let jobs = found.results.first().map_or(&[][..], |result| &result.jobs);
    let of_job = |(job, first): (usize, &JobDocument)| {
        let mut boxes = Vec::new();
        for result in &found.results[..shown] {
            // Names are short; what their values are of, the title says.
            let choices = sweep.choices(result.run);
            let values: Vec<&str> = swept.iter().map(|&i| axes[i].values[choices[i]].as_str()).collect();
            let name = if values.is_empty() { first.placed.name.clone() } else { values.join(", ") };
            let Some(this) = result.jobs.get(job) else { continue };
            boxes.extend(this.times.as_ref().map(|times| time_box(&name, 1 + job, times)));
            boxes.extend(this.alone.as_ref().map(|times| time_box("alone", 0, times)));
        }
        let label = format!("Times of the operations of {}, run by run", first.placed.name);
        let title =
            if swept.is_empty() { first.placed.name.clone() } else { format!("{}, by {lists}", first.placed.name) };
        (title, Boxes { label, horizontal: "time of an operation".into(), boxes })
    };
    (jobs.iter().enumerate().map(of_job).collect(), found.results.len() - shown)
}

fn time_box(name: &str, number: usize, times: &Times) -> TimeBox {
    TimeBox {
        name: name.to_owned(),
        number,
        minimum: times.min_seconds,
        quartiles: [times.q1_seconds, times.median_seconds, times.q3_seconds],
        p99: times.p99_seconds,
        maximum: times.max_seconds,
        mean: times.mean_seconds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn axis(name: &str, values: &[&str]) -> Axis {
        Axis { name: name.into(), values: values.iter().map(|&v| v.into()).collect() }
    }

    #[test]
    fn lists_get_their_roles() {
        let think = axis("job.a.program.think", &["0", "1ms", "2ms"]);
        let place = axis("job.a.placement", &["x", "y", "z", "w"]);
        let seeds = axis("seed", &["1", "2", "3", "4", "5", "6"]);
        let of = |axes: &[Axis]| {
            let roles = Roles::of(axes);
            (roles.across, roles.lines, roles.pictures)
        };
        // Amounts before words, however many; seeds are repetitions.
        assert_eq!(of(&[place.clone(), think.clone(), seeds.clone()]), (Some(1), vec![0], vec![]));
        assert_eq!(of(&[place.clone(), seeds.clone()]), (Some(0), vec![], vec![]));
        assert_eq!(of(&[seeds]), (None, vec![], vec![]));
        // 4 x 3 lines are too many: the longer list makes lines, the other one pictures.
        let size = axis("job.b.program.message", &["1KB", "2KB", "3KB", "4KB"]);
        assert_eq!(of(&[place, think, size]), (Some(2), vec![0], vec![1]));
        assert_eq!(words(&[axis("job.a.program.think", &["0", "1ms"])], &[0], &[1]), "a think 1ms");
    }
}

//! K2 to K5: uniform random, 3-D stencil and tornado, alone and beside a background.

use super::system::{Background, Partners, Pattern, Placement, System};
use super::table::{COLUMNS, judged_if, mean, ratio, within};
use crate::claims::setting::Setting;
use crate::failure::Failure;
use crate::findings::{Findings, Row, Verdict};
use crate::published_dragonfly_plus::{ByPlacement, MessageSize};

/// Of 50, 90 and 130 %.
const LOADS: [&str; 3] = ["50", "90", "130"];
/// 130 %.
const OVERLOADED: usize = 2;
/// The reading of the background that is judged (decision 043).
const READING: Partners = Partners::Both;
/// The factor within which K2's ratios are asked for.
const BASELINE_FACTOR: f64 = 1.5;
/// K4's, and K5's.
const PLACEMENT_FACTOR: f64 = 2.0;
const TORNADO_FACTOR: f64 = 1.7;

/// Messages a rank with which overloaded means are run besides, to show how they grow.
const OTHER_MESSAGES: [u64; 3] = [75, 150, 300];

/// `4 KB each 0.5 us`.
fn each(size: &MessageSize, interval: usize) -> String {
    let us = size.intervals_nanoseconds[interval] as f64 / 1e3;
    format!("{} each {us} us", size.name)
}

fn of<T: Copy>(values: &ByPlacement<T>, placement: Placement) -> T {
    match placement {
        Placement::Contiguous => values.contiguous,
        Placement::Random => values.random,
    }
}

/// K2: baselines of uniform random traffic.
pub(in super::super) fn baselines(setting: &Setting) -> Result<Findings, Failure> {
    let system = System::new(setting)?;
    let mut rows = Vec::new();
    for (s, size) in system.published.size.iter().enumerate() {
        for placement in Placement::ALL {
            let published = size.uniform_microseconds.as_ref().map(|values| of(values, placement));
            let messages = system.messages(s);
            let mut means = Vec::new();
            for interval in 0..3 {
                let ours = system.mean((Pattern::Uniform, placement), (s, interval), messages, None)?;
                let case = format!("{}, {}", placement.name(), each(size, interval));
                let verdict = match means.last() {
                    Some(&before) if published.is_some() => {
                        Verdict::of(ours > before, || format!("{case}: {ours:.2} us after {before:.2} us"))
                    }
                    _ => Verdict::NotJudged,
                };
                means.push(ours);
                rows.push(mean(case, messages, published.map(|p| p[interval]), ours, verdict));
            }
            let theirs = published.map(|p| p[2] / p[0]);
            let case = format!("{}, {}: overloaded over underutilised", placement.name(), size.name);
            // The claim asks for those of 4 KB.
            let asked = theirs.filter(|_| s == 0).map(|theirs| within(theirs, BASELINE_FACTOR));
            rows.push(ratio(case, messages, theirs, means[2] / means[0], asked));
        }
    }
    rows.extend(growth(&system, Pattern::Uniform)?);
    let notes = vec![
        system.note(),
        "The fit: the first three rows. Means of overloaded jobs grow with the number of messages, which the source does not give, as the \
         last rows show. So the first of the two ratios is fitted, and the second one is not."
            .into(),
    ];
    Ok(Findings::new(COLUMNS, judged_if(system.judged, rows), notes))
}

/// Means of 4 KB each 0.5 us with other numbers of messages.
fn growth(system: &System<'_>, pattern: Pattern) -> Result<Vec<Row>, Failure> {
    let mut rows = Vec::new();
    for placement in Placement::ALL {
        for messages in OTHER_MESSAGES.map(|messages| system.scaled(messages)) {
            let ours = system.mean((pattern, placement), (0, 2), messages, None)?;
            let case =
                format!("{}, {}, another number of messages", placement.name(), each(&system.published.size[0], 2));
            rows.push(mean(case, messages, None, ours, Verdict::NotJudged));
        }
    }
    Ok(rows)
}

/// What the published network and ours carry under random placement, by their overloaded baselines: for pages about jobs beside each other
/// there.
fn capacities(system: &System<'_>) -> Result<String, Failure> {
    let (size, messages) = (&system.published.size[0], system.messages(0));
    let ours = system.mean((Pattern::Uniform, Placement::Random), (0, 2), messages, None)?;
    let interval = size.intervals_nanoseconds[2] as f64 / 1e3;
    let taken = |mean: f64| interval + 2.0 * mean / messages as f64;
    let published = size.uniform_microseconds.as_ref().map_or(f64::NAN, |values| of(values, Placement::Random)[2]);
    Ok(format!(
        "Why ours slow less under random placement: if a network takes a message of each rank each t, and ranks send n of them each i, a backlog grows, and \
         the mean is about n (t - i) / 2. The published {published:.2} us of uniform random messages each {interval} us are a t of {:.2} us with {messages} messages, and \
         our {ours:.2} us one of {:.2} us: ours carries {:.0} % more before messages wait, and a background of 130 % leaves enough of that.",
        taken(published),
        taken(ours),
        (taken(published) / taken(ours) - 1.0) * 100.0,
    ))
}

/// K3: uniform random traffic beside a background of 130 %.
pub(in super::super) fn uniform_beside(setting: &Setting) -> Result<Findings, Failure> {
    let system = System::new(setting)?;
    let asked = &system.published.uniform_asked;
    let mut rows = Vec::new();
    for placement in Placement::ALL {
        let mut largest = (0.0, String::new(), 0);
        for (s, size) in system.published.size.iter().enumerate() {
            let messages = system.messages(s);
            for interval in 0..3 {
                let run = |load| system.mean((Pattern::Uniform, placement), (s, interval), messages, load);
                let (alone, beside) = (run(None)?, run(Some(Background::of(size, OVERLOADED, READING)))?);
                let case = format!("{}, {}, beside 130 %", placement.name(), each(size, interval));
                let slowdown = beside / alone;
                let published =
                    Some(size.uniform_beside_130_microseconds[interval]).filter(|_| placement == Placement::Random);
                rows.push(mean(case.clone(), messages, published, beside, Verdict::NotJudged));
                let most = (placement == Placement::Contiguous).then_some([0.0, asked.contiguous_below]);
                rows.push(ratio(format!("{case}: slowdown"), messages, None, slowdown, most));
                if slowdown > largest.0 {
                    largest = (slowdown, case, messages);
                }
            }
        }
        let (slowdown, case, messages) = largest;
        let published = Some(of(&system.published.uniform_slowdown, placement));
        let least = match placement {
            Placement::Contiguous => [0.0, asked.contiguous_below],
            Placement::Random => [asked.random_at_least, f64::INFINITY],
        };
        rows.push(ratio(format!("largest slowdown, {case}"), messages, published, slowdown, Some(least)));
    }
    let notes = vec![system.note(), capacities(&system)?];
    Ok(Findings::new(COLUMNS, judged_if(system.judged, rows), notes))
}

/// K4: which placement stencil and tornado prefer.
pub(in super::super) fn stencil_and_tornado(setting: &Setting) -> Result<Findings, Failure> {
    let system = System::new(setting)?;
    let mut rows = Vec::new();
    for (pattern, name) in [(Pattern::Stencil, "stencil"), (Pattern::Tornado, "tornado")] {
        for (s, size) in system.published.size.iter().enumerate() {
            // A rank of a stencil sends six messages each interval.
            let messages =
                if pattern == Pattern::Stencil && s > 0 { system.messages(s).div_ceil(3) } else { system.messages(s) };
            let tornado = size.tornado_microseconds.as_ref().filter(|_| pattern == Pattern::Tornado);
            let mut largest = (0.0, 0);
            for interval in 0..3 {
                let mut means = [0.0; 2];
                for (placement, found) in Placement::ALL.into_iter().zip(&mut means) {
                    *found = system.mean((pattern, placement), (s, interval), messages, None)?;
                    let case = format!("{name}, {}, {}", placement.name(), each(size, interval));
                    let published = tornado.map(|values| of(values, placement)[interval]);
                    rows.push(mean(case, messages, published, *found, Verdict::NotJudged));
                }
                let [contiguous, random] = means;
                let found = if pattern == Pattern::Stencil { random / contiguous } else { contiguous / random };
                if found > largest.0 {
                    largest = (found, interval);
                }
            }
            let (published, what) = match pattern {
                Pattern::Stencil => (size.stencil_ratio, "random over contiguous"),
                _ => (size.tornado_ratio, "contiguous over random"),
            };
            let asked = if s == 0 { within(published, PLACEMENT_FACTOR) } else { [1.0, f64::INFINITY] };
            let case = format!("{name}, {what}, the largest: {}", each(size, largest.1));
            rows.push(ratio(case, messages, Some(published), largest.0, Some(asked)));
        }
    }
    rows.extend(growth(&system, Pattern::Tornado)?);
    let stencil = "The stencil is a grid of 16 x 12 x 12 ranks that closes to rings. A rank sends to all six neighbours each interval; \
                   where messages have 512 KB or 4 MB, it does so a third as often as the others. Means of overloaded jobs grow with \
                   the number of messages: see the last rows."
        .into();
    Ok(Findings::new(COLUMNS, judged_if(system.judged, rows), vec![system.note(), stencil]))
}

/// K5: tornado beside backgrounds.
pub(in super::super) fn tornado_beside(setting: &Setting) -> Result<Findings, Failure> {
    let system = System::new(setting)?;
    let (s, interval) = (1, 1);
    let size = &system.published.size[s];
    let messages = system.messages(s);
    let mut rows = Vec::new();
    for placement in Placement::ALL {
        let run = |load| system.mean((Pattern::Tornado, placement), (s, interval), messages, load);
        let alone = run(None)?;
        let case = |what: &str| format!("{}, {}, {what}", placement.name(), each(size, interval));
        rows.push(mean(case("alone"), messages, None, alone, Verdict::NotJudged));
        let mut largest: f64 = 0.0;
        for partners in Partners::ALL {
            for (load, percent) in LOADS.iter().enumerate() {
                let beside = run(Some(Background::of(size, load, partners)))?;
                let case = case(&format!("beside {percent} % to {}", partners.name()));
                rows.push(mean(case.clone(), messages, None, beside, Verdict::NotJudged));
                rows.push(ratio(format!("{case}: slowdown"), messages, None, beside / alone, None));
                if partners == READING {
                    largest = largest.max(beside / alone);
                }
            }
        }
        let published = of(&system.published.tornado_slowdown, placement);
        let asked = within(published, TORNADO_FACTOR);
        rows.push(ratio(
            case(&format!("the largest slowdown, {}", READING.name())),
            messages,
            Some(published),
            largest,
            Some(asked),
        ));
    }
    let notes = vec![system.note(), capacities(&system)?];
    Ok(Findings::new(COLUMNS, judged_if(system.judged, rows), notes))
}

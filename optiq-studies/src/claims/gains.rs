//! O6: the mean gain of each planner over MPI in the 91 cases, on four partitions (thesis Table VI), simulated.

use super::baselines;
use super::machine::{Machine, Measured, PLANNERS};
use super::scaling::{CHECKED, SCALE};
use super::setting::Setting;
use crate::compared_method::ComparedMethod;
use crate::failure::Failure;
use crate::findings::{Column, Findings, Row, Verdict, column};
use crate::plot::{Plot, PlotKind};
use optiq_net::random::SplitMix64;
use optiq_sim::jobs::parallel::in_parallel;
use std::thread::available_parallelism;

/// How many cases are run on each of the partitions of Table VI: a case takes twice as long on twice as many nodes.
const SAMPLES: [usize; 4] = [91, 91, 40, 20];

/// Of the draws of [`sample`], which is the same for all partitions.
const SEED: u64 = 23;

/// The places of `count` of `cases`, drawn at random without replacement (Fisher and Yates), ascending. The first one is always
/// among them, as it is run both scaled and in full.
fn sample(cases: usize, count: usize) -> Vec<usize> {
    let mut random = SplitMix64::new(SEED);
    let mut places: Vec<usize> = (0..cases).collect();
    for last in (2..cases).rev() {
        places.swap(last, 1 + random.below(last as u64) as usize);
    }
    places.truncate(count);
    places.sort_unstable();
    places
}

const GAINS: &[Column] = &[
    column("nodes", "nodes", 0),
    column("planner", "planner", 0),
    column("cases", "cases", 0),
    column("published gain, %", "published_gain_percent", 2),
    column("mean gain, %", "gain_percent", 2),
    column("least", "gain_percent_min", 1),
    column("most", "gain_percent_max", 1),
    column("mean gain over the strongest MPI, %", "gain_over_strongest_percent", 2),
    column("least", "gain_over_strongest_percent_min", 1),
    column("gain of the summed throughput, %", "gain_of_sum_percent", 2),
    column("mean time saved, %", "time_saved_percent", 2),
];

/// Sums over the cases of one planner and partition.
struct Sums {
    method: ComparedMethod,
    gains: Vec<f64>,
    /// Over the strongest MPI.
    over_strongest: Vec<f64>,
    saved: f64,
    gigabytes: f64,
    mpi_gigabytes: f64,
}

impl Sums {
    fn of(method: ComparedMethod) -> Self {
        let (gains, over_strongest) = (Vec::new(), Vec::new());
        Sums { method, gains, over_strongest, saved: 0.0, gigabytes: 0.0, mpi_gigabytes: 0.0 }
    }

    fn add(&mut self, m: &Measured, mpi: &Measured) {
        self.gains.push((m.times_mpi - 1.0) * 100.0);
        self.over_strongest.extend(m.times_strongest().map(|times| (times - 1.0) * 100.0));
        self.saved += (1.0 - m.seconds / mpi.seconds) * 100.0;
        self.gigabytes += m.gigabytes;
        self.mpi_gigabytes += mpi.gigabytes;
    }
}

/// A partition's cases, which do not depend on each other, on all processors: what each planner gains in all of them.
fn sums(setting: &Setting, machine: &Machine, nodes: u32, places: &[usize]) -> Result<Vec<Sums>, Failure> {
    let net = setting.network(nodes)?;
    let run = |i: usize| {
        let (place, case) = (places[i], &setting.cases[places[i]]);
        let demands = machine.scaled(case.demands(net.hosts())?);
        let what = format!("case {} of {} on {nodes} nodes, {}", place + 1, setting.cases.len(), case.id);
        machine.compare_with_strongest(&net, &demands, &PLANNERS, &what)
    };
    let mut sums: Vec<Sums> = Vec::new();
    for found in in_parallel(available_parallelism().map_or(1, usize::from), places.len(), run) {
        let found = found?;
        let Some((mpi, planned)) = found.split_first() else { continue };
        for m in planned {
            let s = sums.iter().position(|s| s.method == m.method).unwrap_or_else(|| {
                sums.push(Sums::of(m.method));
                sums.len() - 1
            });
            sums[s].add(m, mpi);
        }
    }
    Ok(sums)
}

/// Table VI.
pub fn table(setting: &Setting) -> Result<Findings, Failure> {
    let vi = &setting.published.table_vi;
    let machine = Machine::new(setting, SCALE)?;
    let wanted = |nodes: u32| setting.nodes.is_none_or(|only| only == nodes);
    let partitions: Vec<usize> = (0..vi.nodes.len()).filter(|&i| wanted(vi.nodes[i])).collect();
    let categories = partitions.iter().map(|&i| vi.nodes[i].to_string()).collect();
    let title = "Table VI: mean gain of throughput over MPI in the 91 cases";
    let mut plot = Plot::new(PlotKind::Bars, title, "%", "nodes", categories);
    let mut rows = Vec::new();
    let mut taken = Vec::new();
    // Of how many the smallest reading is no less than published.
    let mut by_all = 0;
    for (place, &i) in partitions.iter().enumerate() {
        let (nodes, places) = (vi.nodes[i], sample(setting.cases.len(), SAMPLES[i]));
        for s in &sums(setting, &machine, nodes, &places)? {
            let (published, count) = (vi.of(s.method)[i], s.gains.len() as f64);
            let gain = s.gains.iter().sum::<f64>() / count;
            let verdict = match machine.judged {
                true => Verdict::of(gain >= published, || format!("{nodes} nodes: {} gains {gain:.2} %", s.method)),
                false => Verdict::NotJudged,
            };
            by_all += usize::from(s.saved / count >= published);
            plot.set(s.method.as_str(), "published", place, published);
            plot.set(s.method.as_str(), "simulated", place, gain);
            let cells = vec![
                u64::from(nodes).into(),
                s.method.as_str().into(),
                s.gains.len().into(),
                published.into(),
                gain.into(),
                s.gains.iter().copied().fold(f64::INFINITY, f64::min).into(),
                s.gains.iter().copied().fold(f64::NEG_INFINITY, f64::max).into(),
                (s.over_strongest.iter().sum::<f64>() / count).into(),
                s.over_strongest.iter().copied().fold(f64::INFINITY, f64::min).into(),
                ((s.gigabytes / s.mpi_gigabytes - 1.0) * 100.0).into(),
                (s.saved / count).into(),
            ];
            rows.push(Row::new(cells, verdict));
        }
        taken.push(match places.len() == setting.cases.len() {
            true => format!("all on {nodes} nodes"),
            false => format!("{} on {nodes} nodes", places.len()),
        });
    }
    let mut notes: Vec<String> = Vec::new();
    // The first case is in every sample.
    if let Some(case) = setting.cases.first() {
        let net = setting.network(CHECKED)?;
        let what = format!("case {} on {CHECKED} nodes", case.id);
        notes.extend(machine.note(&net, &case.demands(net.hosts())?, &what)?);
    }
    notes.push(format!(
        "A case's gain is its throughput over MPI's, less one; the mean is over cases. The thesis does not say how its \
         \"improvement on average\" was formed, so two other readings stand beside it: from the sum of all throughputs (its \
         Figure 7 shows them in a row), and as the part of MPI's time that is saved, which is always the smallest: by that, \
         {by_all} of {} are at least the published ones. Cases come from `data/thesis91.toml`, of which are run: {}. Samples are \
         drawn at random with seed {SEED}. Planner `optimal` stands for the thesis's optimization.",
        rows.len(),
        taken.join(", ")
    ));
    notes.push(baselines::note(partitions.iter().map(|&i| vi.nodes[i] as usize).max().unwrap_or(0)));
    Ok(Findings::new(GAINS, rows, notes).with_plot(plot))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::thesis_cases;
    use std::collections::BTreeSet;

    #[test]
    fn samples_are_of_different_cases_and_the_same_each_time() {
        let cases = thesis_cases::built_in().unwrap().len();
        for count in SAMPLES {
            let drawn = sample(cases, count);
            assert_eq!(drawn.iter().collect::<BTreeSet<_>>().len(), count, "{count} cases");
            assert!(drawn.iter().all(|&case| case < cases) && drawn == sample(cases, count), "{count} cases");
        }
    }
}

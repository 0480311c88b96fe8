//! An exchange beside other jobs, simulated on three networks: MPI's algorithms, with the fabric's own routes and adaptive ones, OPTIQ's plan as
//! if the job were alone, and OPTIQ's plan beside the measured load of the others; what `optiq cures --only exchange` tries.
//!
//! The job files' own seed is the training case: with it the files were written. Other seeds give other hosts, partners and random
//! numbers, and are held out.

use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::measurement_cases::CaseRole;
use crate::selection::Selection;
use crate::workspace::Workspace;
use optiq_measure::statistics::median;
use optiq_sim::jobs::cures::exchange_bounds::LinkTimes;
use optiq_sim::jobs::cures::remedies::{self, Action, ExchangeMethod, RemedyKind};
use optiq_sim::jobs::cures::trial::{TrialOptions, Trials, try_out};
use optiq_sim::jobs::file::JobFile;
use optiq_view::table::{percent, seconds};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::thread;
use std::time::Instant;

/// The cases by name; `data/jobs/cures-NAME.toml` has the jobs, of which the first exchanges.
const CASES: [&str; 3] = ["torus", "fattree", "dragonfly"];
/// Besides the file's.
const HELD_OUT_SEEDS: [u64; 3] = [11, 12, 13];
/// The job that exchanges.
const EXCHANGE: usize = 0;

/// A way to exchange in one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MethodRun {
    /// In words.
    method: String,
    is_optiq: bool,
    is_beside: bool,
    /// From the start of an exchange to the start of the next one, beside the others.
    cycle_seconds: f64,
    /// An exchange alone, and beside the others.
    alone_median_seconds: f64,
    median_seconds: f64,
    /// Of the other job.
    others_slowdown: f64,
}

/// All ways with one seed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SeedRun {
    seed: u64,
    role: CaseRole,
    /// The part of its capacity that the others have of the link that they load most.
    busiest_share: f64,
    /// What the most loaded link takes on what the others leave: the bound, the fabric's routes, and both plans.
    bound_seconds: f64,
    fabric_seconds: f64,
    planned_alone_seconds: f64,
    planned_beside_seconds: f64,
    methods: Vec<MethodRun>,
}

/// A job file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CuresCase {
    name: String,
    title: String,
    topology: String,
    model: String,
    /// The programs of the jobs, by name.
    jobs: Vec<[String; 2]>,
    runs: Vec<SeedRun>,
    simulation_seconds: f64,
}

/// What was simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CuresContent {
    cases: Vec<CuresCase>,
}

/// The names that `--cases` takes.
pub fn case_names() -> Vec<String> {
    CASES.map(String::from).to_vec()
}

/// Simulates the selected cases.
///
/// # Errors
/// What planners and the simulator report.
pub fn run(workspace: &Workspace, selection: &Selection) -> Result<CuresContent, Failure> {
    let mut cases = Vec::new();
    for name in CASES.into_iter().filter(|name| selection.includes(name)) {
        let file = JobFile::read(&workspace.path(&format!("data/jobs/cures-{name}.toml")))?;
        let network = file.load_network()?;
        let model = file.load_model(&network)?;
        let started = Instant::now();
        let mut runs = Vec::new();
        for (seed, role) in
            [(file.seed, CaseRole::Training)].into_iter().chain(HELD_OUT_SEEDS.map(|seed| (seed, CaseRole::HeldOut)))
        {
            eprintln!("    {name}, seed {seed}");
            let mut file = file.clone();
            (file.seed, file.placement_seed) = (seed, seed);
            let threads = thread::available_parallelism().map_or(1, usize::from);
            let options = TrialOptions { threads, ..TrialOptions::default() };
            let wanted = remedies::Selection {
                kinds: &[RemedyKind::Exchange],
                jobs: &[EXCHANGE],
                ..remedies::Selection::default()
            };
            let found = try_out((&file, &network, &model), &wanted, &options)?;
            runs.push(SeedRun::new((seed, role), &found)?);
        }
        cases.push(CuresCase {
            name: name.into(),
            title: file.title.clone(),
            topology: network.spec().into(),
            model: model.title.clone(),
            jobs: file.jobs.iter().map(|job| [job.name.clone(), job.program.to_string()]).collect(),
            runs,
            simulation_seconds: started.elapsed().as_secs_f64(),
        });
    }
    Ok(CuresContent { cases })
}

impl SeedRun {
    fn new((seed, role): (u64, CaseRole), found: &Trials) -> Result<Self, Failure> {
        let missing = |what: &str| Failure::Work(format!("cures, seed {seed}: no {what}"));
        if let Some(refused) = found.refused.first() {
            return Err(missing(&format!("figures, as one was refused: {}", refused.why)));
        }
        let exchange = found.exchanges.first().ok_or_else(|| missing("exchange that is planned beside others"))?;
        let mut methods = Vec::new();
        for tried in &found.tried {
            let Action::Exchange { method, .. } = tried.remedy.action else { continue };
            let figures = tried.jobs[EXCHANGE].as_ref().ok_or_else(|| missing("samples of the exchange"))?;
            let others = tried.jobs.iter().skip(EXCHANGE + 1).flatten().filter_map(|job| job.slowdown.as_ref());
            methods.push(MethodRun {
                method: method.to_string(),
                is_optiq: !matches!(method, ExchangeMethod::Mpi(..)),
                is_beside: method == ExchangeMethod::Beside,
                cycle_seconds: figures.cycle_seconds.ok_or_else(|| missing("second exchange"))?,
                alone_median_seconds: figures.alone.median.value,
                median_seconds: figures.together.median.value,
                others_slowdown: others.map(|slowdown| slowdown.mean.value).fold(0.0, f64::max),
            });
        }
        let LinkTimes { bound_seconds, fabric_seconds, alone_seconds, beside_seconds } = exchange.left;
        Ok(Self {
            seed,
            role,
            busiest_share: exchange.busiest.first().map_or(0.0, |(_, share)| *share),
            bound_seconds,
            fabric_seconds,
            planned_alone_seconds: alone_seconds,
            planned_beside_seconds: beside_seconds,
            methods,
        })
    }

    /// The cycle of a way over that of the plan beside the others; `None` if either is missing.
    fn over_beside(&self, is_wanted: impl Fn(&&MethodRun) -> bool) -> Option<f64> {
        let beside = self.methods.iter().find(|m| m.is_beside)?.cycle_seconds;
        let cycles = self.methods.iter().filter(is_wanted).map(|m| m.cycle_seconds / beside);
        cycles.min_by(f64::total_cmp)
    }
}

/// The median of a figure over runs.
fn middle(runs: &[&SeedRun], of: impl Fn(&SeedRun) -> Option<f64>) -> f64 {
    median(&runs.iter().filter_map(|run| of(run)).collect::<Vec<_>>()).unwrap_or(f64::NAN)
}

impl CuresCase {
    fn held_out(&self) -> Vec<&SeedRun> {
        self.runs.iter().filter(|run| run.role == CaseRole::HeldOut).collect()
    }

    /// How many times as long the plan that knows nothing of the others takes, and the fastest way of MPI.
    fn ratios(&self, run: &SeedRun) -> [Option<f64>; 2] {
        [run.over_beside(|m| m.is_optiq && !m.is_beside), run.over_beside(|m| !m.is_optiq)]
    }

    fn verdict(&self) -> String {
        let runs = self.held_out();
        let words = |which: usize| {
            let all: Vec<f64> = runs.iter().filter_map(|run| self.ratios(run)[which]).collect();
            let least = all.iter().copied().fold(f64::INFINITY, f64::min);
            let most = all.iter().copied().fold(0.0, f64::max);
            format!("{:.2} times ({least:.2} to {most:.2})", median(&all).unwrap_or(f64::NAN))
        };
        format!(
            "Held-out seeds: from start to start, the plan that knows nothing of the others takes {} as long as the one beside them, and the \
             fastest way of MPI with any routing {}. Below 1 the plan beside the others is the slower one.\n",
            words(0),
            words(1)
        )
    }

    fn table(&self) -> TextTable {
        let mut table = TextTable::new(&[
            "way<",
            "start to start, median",
            "of the bound",
            "by seed<",
            "an exchange, median",
            "alone",
            "the others' slowdown",
        ]);
        let runs = self.held_out();
        let methods = self.runs.first().map_or(&[][..], |run| &run.methods);
        for (at, method) in methods.iter().enumerate() {
            let of = |figure: fn(&MethodRun) -> f64| middle(&runs, |run| run.methods.get(at).map(figure));
            let share = middle(&runs, |run| run.methods.get(at).map(|m| run.bound_seconds / m.cycle_seconds));
            let by_seed = self.runs.iter().filter_map(|run| run.methods.get(at)).map(|m| seconds(m.cycle_seconds));
            table.rows.push(vec![
                method.method.clone(),
                seconds(of(|m| m.cycle_seconds)),
                percent(share),
                by_seed.collect::<Vec<_>>().join(", "),
                seconds(of(|m| m.median_seconds)),
                seconds(of(|m| m.alone_median_seconds)),
                format!("{:.2} x", of(|m| m.others_slowdown)),
            ]);
        }
        table
    }

    fn limits(&self) -> TextTable {
        let mut table = TextTable::new(&[
            "seed<",
            "busiest link of the others",
            "bound",
            "the fabric's routes",
            "planned alone",
            "planned beside",
        ]);
        for run in &self.runs {
            let role = if run.role == CaseRole::Training { "training" } else { "held out" };
            let times = [run.bound_seconds, run.fabric_seconds, run.planned_alone_seconds, run.planned_beside_seconds];
            let cells = [format!("{}, {role}", run.seed), percent(run.busiest_share)];
            table.rows.push(cells.into_iter().chain(times.map(seconds)).collect());
        }
        table
    }
}

impl CuresContent {
    /// Of the page.
    pub const TITLE: &'static str =
        "An exchange beside other jobs: MPI, adaptive routing, and plans that know the others";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let mut page = String::from(
            "`optiq cures --only exchange` on the job files `data/jobs/cures-*.toml`, simulated: a job exchanges among its ranks beside \
             another one. OPTIQ plans once as if it were alone, and once on what the measured load of the others (bytes a second of each link in a \
             run without the job) leaves of the network, a tenth of each link at least. Ranks of MPI are not held together between exchanges, and \
             OPTIQ's ranks agree before each; so ways are compared by the time from the start of an exchange to the start of the next one, \
             which has both. Medians are over the held-out seeds, which change hosts, partners and random numbers; the file's own \
             seed, with which the files were written, is the first one listed. The bound holds for every routing on what the others leave, as long as they keep \
             their rates: others that wait for their own messages give way, and then a run can be faster. Adaptive routing is that of the \
             network for all jobs.\n",
        );
        for case in &self.cases {
            let jobs: Vec<String> = case.jobs.iter().map(|[name, program]| format!("{name}: `{program}`")).collect();
            // Writing to a string does not fail.
            let _ = write!(
                page,
                "\n## {}\n\n`{}`, {}; {}.\n\n{}\n{}\nWhat the most loaded link takes on what the others leave:\n\n{}",
                case.title,
                case.topology,
                case.model,
                jobs.join("; "),
                case.verdict(),
                case.table().markdown(),
                case.limits().markdown()
            );
        }
        let took: f64 = self.cases.iter().map(|case| case.simulation_seconds).sum();
        let _ = write!(page, "\nAll simulations took {took:.0} s.\n");
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(seed: u64, role: CaseRole, cycles: [f64; 3]) -> SeedRun {
        let method = |method: &str, is_optiq, is_beside, cycle_seconds| MethodRun {
            method: method.into(),
            is_optiq,
            is_beside,
            cycle_seconds,
            alone_median_seconds: 1e-3,
            median_seconds: 2e-3,
            others_slowdown: 1.5,
        };
        SeedRun {
            seed,
            role,
            busiest_share: 0.5,
            bound_seconds: 1e-3,
            fabric_seconds: 3e-3,
            planned_alone_seconds: 2e-3,
            planned_beside_seconds: 1e-3,
            methods: vec![
                method("MPI linear", false, false, cycles[0]),
                method("OPTIQ, planned alone", true, false, cycles[1]),
                method("OPTIQ, planned beside the others", true, true, cycles[2]),
            ],
        }
    }

    #[test]
    fn medians_are_of_held_out_seeds_and_ratios_say_who_is_slower() {
        let case = CuresCase {
            name: "torus".into(),
            title: "an exchange".into(),
            topology: "torus:4x4".into(),
            model: "a model".into(),
            jobs: vec![["exchange".into(), "alltoallv".into()]],
            runs: vec![
                run(1, CaseRole::Training, [9.0, 9.0, 9.0]),
                run(11, CaseRole::HeldOut, [4e-3, 3e-3, 2e-3]),
                run(12, CaseRole::HeldOut, [2e-3, 2e-3, 2e-3]),
                run(13, CaseRole::HeldOut, [1e-3, 4e-3, 2e-3]),
            ],
            simulation_seconds: 1.0,
        };
        let page = CuresContent { cases: vec![case] }.body();
        // By hand: planned alone over beside 1.5, 1, 2; MPI over beside 2, 1, 0.5.
        assert!(page.contains("takes 1.50 times (1.00 to 2.00) as long"), "{page}");
        assert!(page.contains("any routing 1.00 times (0.50 to 2.00)"), "{page}");
        // The bound of 1 ms over 2 ms.
        assert!(page.contains("| OPTIQ, planned beside the others | 2.00 ms | 50.0 % |"), "{page}");
        assert!(page.contains("1, training") && page.contains("13, held out"), "{page}");
    }
}

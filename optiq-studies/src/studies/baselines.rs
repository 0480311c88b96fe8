//! What OPTIQ serves on a simulated fabric beside the strongest MPI on the same fabric: with the fabric's own routes and with minimal
//! adaptive ones. OPTIQ knows which of the two it has, plans, predicts and decides as in a session: planned paths, with the relays that
//! the cost model chooses, or MPI's own exchange where the prediction says that they would not pay.
//!
//! The strongest MPI on a fabric is the faster of all messages at once and pairwise. What OPTIQ hands over to MPI takes as long as that,
//! and an agreement longer where one is made: where the link bound is above two agreements
//! ([`optiq_lower::decide`]).

use crate::claims::baselines::{MpiSetup, machine};
use crate::claims::setting::with_planner;
use crate::claims::thesis_cases;
use crate::failure::Failure;
use crate::markdown::TextTable;
use crate::selection::Selection;
use optiq::Config;
use optiq_lower::decide::{BeforePlanning, Decision, decide, decide_before_planning};
use optiq_net::{Network, units};
use optiq_sim::simulated_exchange::cost::cost_model;
use optiq_sim::simulated_exchange::method::{Executor, MpiAlgorithm, TransferMethod};
use optiq_sim::simulated_exchange::run::{ExchangeSetting, SimulatedRun};
use optiq_sim::{Model, RunOptions};
use optiq_solver::demands::{self, Demand, by_pair};
use optiq_solver::pipeline;
use optiq_solver::planner::PlannerName;
use optiq_transport::ScheduleOptions;
use serde::{Deserialize, Serialize};

/// OPTIQ may be so much slower than the strongest MPI.
const NEVER_BELOW: f64 = 0.97;

/// Of the 91 cases each eleventh is run, from the first on: nine.
const STEP: usize = 11;
/// Of which the bytes are divided, and packets are larger, by this.
const CASE_BYTES: u64 = 16;
const CASE_PACKETS: u64 = 8;

/// Groups of exchanges, each with a network, demands and sizes of messages.
const GROUPS: &[Group] = &[
    Group { name: "patterns-512", topology: "bgq:512", demands: &PATTERNS, sizes: &SIZES },
    Group { name: "patterns-1024", topology: "bgq:1024", demands: &PATTERNS, sizes: &SIZES },
    Group { name: "patterns-2048", topology: "bgq:2048", demands: &PATTERNS, sizes: &LARGER },
    Group { name: "patterns-4096", topology: "bgq:4096", demands: &["pattern:disjoint"], sizes: &LARGER },
    Group { name: "random-512", topology: "bgq:512", demands: &RANDOM, sizes: &SIZES },
    Group { name: "random-1024", topology: "bgq:1024", demands: &RANDOM, sizes: &SIZES },
];
const PATTERNS: [&str; 3] = ["pattern:disjoint", "pattern:overlap", "pattern:subset"];
const RANDOM: [&str; 2] = ["pattern:random,count=256,seed=201", "pattern:random,count=2048,seed=202"];
const SIZES: [u64; 5] = [4 << 10, 64 << 10, 256 << 10, 1 << 20, 8 << 20];
const LARGER: [u64; 2] = [64 << 10, 1 << 20];
/// The group of the 91 cases, on 1,024 nodes.
const CASES: &str = "cases-1024";

struct Group {
    name: &'static str,
    topology: &'static str,
    demands: &'static [&'static str],
    sizes: &'static [u64],
}

/// What OPTIQ did on one fabric, and MPI.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FabricRun {
    adaptive: bool,
    /// All at once, and pairwise where it was tried.
    mpi_seconds: Vec<f64>,
    /// What the load of direct messages says that MPI takes at least, or is estimated to take where routers choose.
    direct_bound_seconds: f64,
    planned_bound_seconds: f64,
    planned_seconds: f64,
    /// Where planned paths were relayed.
    relays: String,
    /// Whether OPTIQ hands the exchange over to MPI.
    by_mpi: bool,
    /// The agreement that was made for it, in seconds.
    agreement_seconds: f64,
}

impl FabricRun {
    fn strongest(&self) -> f64 {
        self.mpi_seconds.iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// What OPTIQ takes.
    fn optiq_seconds(&self) -> f64 {
        self.agreement_seconds + if self.by_mpi { self.strongest() } else { self.planned_seconds }
    }

    /// OPTIQ's throughput over the strongest MPI's.
    fn ratio(&self) -> f64 {
        self.strongest() / self.optiq_seconds()
    }
}

/// An exchange on both fabrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ComparedExchange {
    group: String,
    topology: String,
    demands: String,
    message_bytes: Option<u64>,
    fabrics: Vec<FabricRun>,
}

/// What was simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BaselinesContent {
    exchanges: Vec<ComparedExchange>,
}

/// The names that `--cases` takes.
pub fn case_names() -> Vec<String> {
    GROUPS.iter().map(|group| group.name).chain([CASES]).map(str::to_owned).collect()
}

/// Simulates the selected groups, each for minutes.
///
/// # Errors
/// What planners and the simulator report.
pub fn run(selection: &Selection) -> Result<BaselinesContent, Failure> {
    let model = Model::read("bgq")?;
    let mut exchanges = Vec::new();
    for group in GROUPS.iter().filter(|group| selection.includes(group.name)) {
        let net = Network::from_spec(group.topology)?;
        for spec in group.demands {
            for &bytes in group.sizes {
                eprintln!("    {} {spec} {}", group.topology, units::format_bytes(bytes));
                let demands = by_pair(demands::parse(spec, &net, bytes)?);
                exchanges.push(ComparedExchange {
                    group: group.name.into(),
                    topology: group.topology.into(),
                    demands: (*spec).into(),
                    message_bytes: Some(bytes),
                    fabrics: on_both(&net, &model, &demands)?,
                });
            }
        }
    }
    if selection.includes(CASES) {
        let (net, mut model) = (Network::from_spec("bgq:1024")?, model);
        model.link.packet_bytes *= CASE_PACKETS;
        model.router.buffer_bytes *= CASE_PACKETS;
        for case in thesis_cases::built_in()?.iter().step_by(STEP) {
            eprintln!("    {}", case.id);
            let mut demands = case.demands(net.hosts())?;
            demands.iter_mut().for_each(|d| d.bytes = d.bytes.div_ceil(CASE_BYTES));
            exchanges.push(ComparedExchange {
                group: CASES.into(),
                topology: "bgq:1024".into(),
                demands: case.id.clone(),
                message_bytes: None,
                fabrics: on_both(&net, &model, &demands)?,
            });
        }
    }
    Ok(BaselinesContent { exchanges })
}

fn on_both(net: &Network, model: &Model, demands: &[Demand]) -> Result<Vec<FabricRun>, Failure> {
    [false, true].into_iter().map(|adaptive| on_fabric(net, model, demands, adaptive)).collect()
}

fn on_fabric(net: &Network, model: &Model, demands: &[Demand], adaptive: bool) -> Result<FabricRun, Failure> {
    let setup = MpiSetup { adaptive, ..MpiSetup::PUBLISHED };
    let (net, model) = machine(net, model, setup)?;
    let executor = Executor::of(&model);
    let simulate = |method: TransferMethod| -> Result<SimulatedRun, Failure> {
        let prepared = ExchangeSetting { network: &net, model: &model, demands, executor }.prepare(method)?;
        Ok(prepared.simulate(&RunOptions { threads: 1, seed: 1, ..RunOptions::default() })?)
    };
    let mut mpi_seconds = Vec::new();
    for pairwise in [false, true] {
        if (MpiSetup { pairwise, ..setup }).is_tried(net.hosts()) {
            let algorithm = if pairwise { MpiAlgorithm::Pairwise } else { MpiAlgorithm::Linear };
            mpi_seconds.push(simulate(TransferMethod::Mpi(algorithm))?.seconds());
        }
    }
    let planned = pipeline::run(&net, demands, &with_planner(PlannerName::Optimal))?;
    let cost = cost_model(&model, &net, executor.carry);
    let config = Config::default();
    let options = config.decision_options();
    let direct = planned.plan.direct_congestion_seconds;
    let before = decide_before_planning(demands, direct, &options, &cost, true);
    let by_mpi = !matches!(before, BeforePlanning::Plan)
        || matches!(decide(&planned.plan, &net, &options, &cost), Decision::Mpi { .. });
    // What is too short for an agreement has none.
    let agreed = matches!(before, BeforePlanning::Plan);
    let planned_bound_seconds = planned.plan.congestion_seconds;
    let run = simulate(TransferMethod::Planned(Box::new(planned), ScheduleOptions::default()))?;
    Ok(FabricRun {
        adaptive,
        mpi_seconds,
        direct_bound_seconds: direct,
        planned_bound_seconds,
        planned_seconds: run.seconds(),
        relays: run.executor.map_or(String::new(), |e| e.legs.to_string()),
        by_mpi,
        agreement_seconds: if agreed { cost.agreement_seconds } else { 0.0 },
    })
}

impl BaselinesContent {
    /// Of the page.
    pub const TITLE: &'static str = "OPTIQ beside the strongest MPI on the same simulated fabric";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let runs = || self.exchanges.iter().flat_map(|e| &e.fabrics);
        let below = runs().filter(|r| r.ratio() < NEVER_BELOW).count();
        let least = runs().map(FabricRun::ratio).fold(f64::INFINITY, f64::min);
        let mut page = format!(
            "Model `data/sim/bgq.toml`. Each exchange runs on the fabric's deterministic routes and, as if the network had \
             `routing=adaptive`, on minimal adaptive ones; OPTIQ knows which it has. Where routers choose, plans have relays at every host, \
             and what direct messages put on links is an estimate, pieces that take the emptier port at every hop. The strongest MPI is the faster of all messages at \
             once and pairwise, on the same fabric. OPTIQ's time has the agreement in it, where one is made, and MPI's own exchange where the \
             cost model hands it over; then the ratio is what the agreement leaves, by construction.\n\n\
             Of {} runs {below} are below {NEVER_BELOW} of the strongest MPI; the least ratio is {least:.3}.\n",
            runs().count()
        );
        let mut groups: Vec<&str> = self.exchanges.iter().map(|e| e.group.as_str()).collect();
        groups.dedup();
        for group in groups {
            let of_group = self.exchanges.iter().filter(|e| e.group == group);
            page.push_str(&format!("\n## {group}\n\n{}", table(of_group).markdown()));
        }
        if self.exchanges.iter().any(|e| e.group == CASES) {
            page.push_str(&format!(
                "\nOf `{CASES}`, which are every {STEP}th of the 91 cases on 1,024 nodes, bytes are divided by {CASE_BYTES} and packets \
                 {CASE_PACKETS} times as large.\n"
            ));
        }
        page
    }
}

fn table<'a>(exchanges: impl Iterator<Item = &'a ComparedExchange>) -> TextTable {
    let mut table = TextTable::new(&[
        "network<",
        "demands<",
        "message",
        "routes<",
        "MPI, all at once, ms",
        "pairwise, ms",
        "direct load, ms",
        "plan's link bound, ms",
        "planned paths, ms",
        "relays<",
        "served by<",
        "OPTIQ over the strongest MPI",
    ]);
    for e in exchanges {
        for r in &e.fabrics {
            let milliseconds = |seconds: f64| format!("{:.4}", seconds * 1e3);
            table.rows.push(vec![
                format!("`{}`", e.topology),
                e.demands.trim_start_matches("pattern:").to_owned(),
                e.message_bytes.map_or(String::new(), units::format_bytes),
                if r.adaptive { "adaptive" } else { "deterministic" }.to_owned(),
                r.mpi_seconds.first().copied().map_or(String::new(), milliseconds),
                r.mpi_seconds.get(1).copied().map_or("-".to_owned(), milliseconds),
                milliseconds(r.direct_bound_seconds),
                milliseconds(r.planned_bound_seconds),
                milliseconds(r.planned_seconds),
                r.relays.clone(),
                if r.by_mpi { "MPI" } else { "planned paths" }.to_owned(),
                format!("{:.3}", r.ratio()),
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn run(mpi: &[f64], planned: f64, by_mpi: bool, agreement: f64) -> FabricRun {
        FabricRun {
            adaptive: true,
            mpi_seconds: mpi.to_vec(),
            direct_bound_seconds: 1.0,
            planned_bound_seconds: 0.5,
            planned_seconds: planned,
            relays: "hops".into(),
            by_mpi,
            agreement_seconds: agreement,
        }
    }

    /// The faster of MPI's two is what counts, and the agreement is OPTIQ's.
    #[test]
    fn ratios_by_hand() {
        assert_eq!(run(&[3.0, 2.0], 0.75, false, 0.25).ratio(), 2.0);
        assert_eq!(run(&[3.0, 2.0], 9.0, true, 0.0).ratio(), 1.0);
        assert_eq!(run(&[3.0], 9.0, true, 1.0).ratio(), 0.75);
    }

    #[test]
    fn what_is_below_is_counted() {
        let fabrics = vec![run(&[1.0], 2.0, false, 0.0), run(&[1.0], 0.5, false, 0.0)];
        let exchange = ComparedExchange {
            group: "g".into(),
            topology: "torus:4".into(),
            demands: "pattern:disjoint".into(),
            message_bytes: Some(1 << 20),
            fabrics,
        };
        let page = BaselinesContent { exchanges: vec![exchange] }.body();
        assert!(page.contains("Of 2 runs 1 are below 0.97 of the strongest MPI; the least ratio is 0.500."), "{page}");
    }

    /// Two hosts half a ring apart: routers that choose use both ways round, and the direct load knows it.
    #[test]
    fn the_direct_load_is_that_of_the_fabric() {
        let net = Network::from_spec("torus:8").unwrap();
        let demands = [Demand::new(optiq_net::NodeId(0), optiq_net::NodeId(4), 1 << 20)];
        let found = on_both(&net, &Model::default(), &demands).unwrap();
        assert!((found[0].direct_bound_seconds / found[1].direct_bound_seconds - 2.0).abs() < 1e-9, "{found:?}");
        // Where a route is a leg, the plan gives a little to it, as that has no forwarder.
        assert!((found[0].planned_bound_seconds / found[1].planned_bound_seconds - 1.0).abs() < 0.02, "{found:?}");
        assert!(found.iter().all(|r| r.ratio() >= NEVER_BELOW), "{found:?}");
    }
}

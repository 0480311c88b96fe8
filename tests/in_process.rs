//! Every case's plans carried out over the in-process transport: one thread per host, every byte checked.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use optiq_lower::legs::Legs;
use optiq_lower::lower::{Message, lower, merge};
use optiq_lower::placement::{Placement, PlacementRule};
use optiq_net::{Network, NodeId};
use optiq_solver::pipeline;
use optiq_suite::{cases, exchange};
use optiq_transport::{ExecuteOptions, Execution, InProcess, LinkMap, Path, Rank, ScheduleOptions, Transport};
use optiq_transport::{mesh, paced_mesh};
use std::time::{Duration, Instant};

fn run_all(ends: Vec<InProcess>, paths: &[Path], options: &ScheduleOptions) -> Result<Vec<Execution>, String> {
    let ranks = ends.len() as u32;
    let how = ExecuteOptions { give_up_after: Some(Duration::from_secs(30)), ..Default::default() };
    std::thread::scope(|scope| {
        let run = |(mut end, rank): (InProcess, Rank)| {
            scope.spawn(move || exchange::run(&mut end, rank, ranks, paths, options, &how, 0))
        };
        let threads: Vec<_> = ends.into_iter().zip((0..).map(Rank)).map(run).collect();
        threads.into_iter().map(|t| t.join().map_err(|_| "a rank panicked".to_string())?).collect()
    })
}

/// Messages between ranks for the case's demands, with `per_host` ranks on each host: each demand is divided
/// unevenly over all rank pairs.
fn messages(demands: &[optiq_solver::Demand], per_host: u32) -> Vec<Message> {
    let mut list = Vec::new();
    for demand in demands {
        let pairs = u64::from(per_host * per_host);
        let mut left = demand.bytes;
        for pair in 0..pairs {
            let bytes = if pair + 1 == pairs { left } else { left / 2 };
            left -= bytes;
            let (a, b) = (pair as u32 / per_host, pair as u32 % per_host);
            if bytes > 0 {
                let (source, destination) = (Rank(demand.src.0 * per_host + a), Rank(demand.dst.0 * per_host + b));
                list.push(Message { source, destination, bytes, class: 0 });
            }
        }
    }
    list.sort_unstable();
    list
}

#[test]
fn all_cases_over_threads_with_one_and_three_ranks_per_host() {
    let name = mesh(1)[0].name();
    let mut failures = Vec::new();
    for case in cases::all().unwrap() {
        if let Some(reason) = case.exceptions.get(name) {
            println!("{} is not run {name}: {reason}", case.name);
            continue;
        }
        for (planner, per_host) in [("heu2", 1), ("lp", 1), ("heu2", 3)] {
            if planner == "lp" && cfg!(not(feature = "highs")) {
                continue;
            }
            if let Err(e) = check(&case, planner, per_host) {
                failures.push(format!("{} with {planner}, {per_host} ranks per host: {e}", case.name));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn check(case: &cases::Case, planner: &str, per_host: u32) -> Result<(), String> {
    let network = case.network()?;
    let demands = case.demands(&network)?;
    let ranks = network.hosts() as u32 * per_host;
    let placement = Placement::new(&network, &vec![String::new(); ranks as usize], &PlacementRule::Ranks { per_host })?;
    let messages = messages(&demands, per_host);
    let mut expected = demands.clone();
    expected.sort_by_key(|d| (d.src, d.dst));
    if merge(&messages, &placement)? != expected {
        return Err("merging the ranks' messages does not give the demands back".into());
    }
    let options = pipeline::PlanOptions { planner: planner.parse().unwrap(), chunk: 4096, ..Default::default() };
    let planned = pipeline::run(&network, &expected, &options).map_err(|e| e.to_string())?;
    let mut paths = lower(Some(&planned.plan), &messages, &placement)?;
    separate(&mut paths);
    let executions = run_all(mesh(ranks), &paths, &ScheduleOptions { budget: 1 << 20, ..Default::default() })?;
    let forwarded: u64 = executions.iter().map(|e| e.bytes_forwarded).sum();
    if forwarded != planned.report.forwarded_bytes {
        return Err(format!("{forwarded} bytes were forwarded, the plan says {}", planned.report.forwarded_bytes));
    }
    Ok(())
}

/// Gives every message a place of its own in the receive buffers.
fn separate(paths: &mut [Path]) {
    let mut next = std::collections::BTreeMap::<Rank, u64>::new();
    let mut base = std::collections::BTreeMap::<(Rank, Rank), u64>::new();
    let lengths = paths.iter().fold(std::collections::BTreeMap::<(Rank, Rank), u64>::new(), |mut l, p| {
        *l.entry((p.source(), p.destination())).or_default() += p.bytes;
        l
    });
    for path in paths {
        let pair = (path.source(), path.destination());
        let at = base.entry(pair).or_insert_with(|| {
            let next = next.entry(pair.1).or_default();
            *next += lengths[&pair];
            *next - lengths[&pair]
        });
        path.destination_offset += *at;
        path.source_offset += *at;
    }
}

#[test]
fn a_plan_at_the_speed_of_a_network_takes_no_less_than_its_link_bound() {
    // 2 MiB from each of four sources over links of 100 MB/s: 10 ms with the best plan, 21 ms on the fabric's routes.
    // How much longer it takes depends on the machine; less it cannot be.
    let network = Network::from_spec("torus:4x4,capacity=100MB/s").unwrap();
    let demands = optiq_solver::demands::parse("pattern:disjoint", &network, 1 << 20).unwrap();
    let placement = Placement::new(&network, &vec![String::new(); 16], &PlacementRule::Ranks { per_host: 1 }).unwrap();
    let messages = messages(&demands, 1);
    for planner in ["direct", "heu2"] {
        let options = pipeline::PlanOptions { planner: planner.parse().unwrap(), ..Default::default() };
        let plan = pipeline::run(&network, &merge(&messages, &placement).unwrap(), &options).unwrap().plan;
        let mut paths = lower(Some(&plan), &messages, &placement).unwrap();
        separate(&mut paths);
        let ends = paced_mesh(16, Box::new(Legs::new(&network, &placement).unwrap()));
        let began = Instant::now();
        run_all(ends, &paths, &ScheduleOptions::default()).unwrap();
        let took = began.elapsed().as_secs_f64();
        println!("{planner}: {:.1} ms, link bound {:.1} ms", took * 1e3, plan.congestion_seconds * 1e3);
        assert!(took >= plan.congestion_seconds * 0.999, "{planner}: {took} s");
    }
}

#[test]
fn legs_are_the_fabrics_routes() {
    let network = Network::from_spec("torus:3x3").unwrap();
    let placement = Placement::new(&network, &vec![String::new(); 18], &PlacementRule::Ranks { per_host: 2 }).unwrap();
    let legs = Legs::new(&network, &placement).unwrap();
    for (a, b) in [(0, 17), (5, 4), (16, 3), (8, 8)] {
        let mut route = Vec::new();
        network.route(NodeId(a / 2), NodeId(b / 2), &mut route).unwrap();
        assert_eq!(legs.links(Rank(a), Rank(b)), route.iter().map(|l| l.0).collect::<Vec<_>>());
    }
    assert_eq!(legs.rates().len(), network.links().len());
}

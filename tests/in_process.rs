//! Every case's plans carried out over the in-process transport: one thread per host, every byte checked.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use optiq::{Message, Placement, PlacementRule, lower, merge};
use optiq_solver::pipeline;
use optiq_suite::{cases, exchange};
use optiq_transport::{ExecuteOptions, Execution, Path, Rank, ScheduleOptions, Transport, mesh};
use std::time::Duration;

fn run_all(ranks: Rank, paths: &[Path], options: &ScheduleOptions) -> Result<Vec<Execution>, String> {
    let how = ExecuteOptions { give_up_after: Some(Duration::from_secs(30)), ..Default::default() };
    std::thread::scope(|scope| {
        let run = |(mut end, rank): (optiq_transport::InProcess, Rank)| {
            scope.spawn(move || exchange::run(&mut end, rank, ranks, paths, options, &how, 0))
        };
        let threads: Vec<_> = mesh(ranks).into_iter().zip(0..).map(run).collect();
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
                let (source, destination) = (demand.src.0 * per_host + a, demand.dst.0 * per_host + b);
                list.push(Message { source, destination, bytes });
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
    let placement = Placement::new(&network, &vec![String::new(); ranks as usize], PlacementRule::Ranks { per_host })?;
    let messages = messages(&demands, per_host);
    let mut expected = demands.clone();
    expected.sort_by_key(|d| (d.src, d.dst));
    if merge(&messages, &placement)? != expected {
        return Err("merging the ranks' messages does not give the demands back".into());
    }
    let options = pipeline::PlanOptions { planner: planner.into(), chunk: 4096, ..Default::default() };
    let planned = pipeline::run(&network, &expected, &options).map_err(|e| e.to_string())?;
    let mut paths = lower(Some(&planned.plan), &messages, &placement)?;
    separate(&mut paths);
    let executions = run_all(ranks, &paths, &ScheduleOptions { budget: 1 << 20, ..Default::default() })?;
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

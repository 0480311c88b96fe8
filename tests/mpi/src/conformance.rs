//! The transports by themselves: planned and random paths, every byte checked.

use optiq_lower::lower::{Message, lower};
use optiq_lower::placement::{Placement, PlacementRule};
use optiq_solver::{Demand, pipeline};
use optiq_suite::{cases, exchange};
use optiq_transport::{ChunkRule, ExecuteOptions, Path, QueueOrder, Rank, ScheduleOptions};
use std::time::Duration;

use crate::support::{rank, size};

fn how(order: QueueOrder, sends_in_flight: usize) -> ExecuteOptions {
    ExecuteOptions { order, sends_in_flight, give_up_after: Some(Duration::from_secs(60)), ..Default::default() }
}

/// `rounds` times three exchanges of random paths under large and small budgets, and two of large messages, one after the
/// other on the same transport. Three rounds have each order of sending once.
pub fn random_exchanges(transport: &str, rounds: u64) -> Result<(), String> {
    let (rank, ranks) = (Rank(rank()), size());
    let mut transport = crate::transport::transport(transport)?;
    let mut run = |paths: &[Path], options: ScheduleOptions, how, round| {
        exchange::run(&mut *transport, rank, ranks, paths, &options, &how, round).map(drop)
    };
    let options = ScheduleOptions::default();
    run(&[], options, how(QueueOrder::ForwardFirst, 1), 0)?;
    for round in 1..=rounds {
        let order =
            [QueueOrder::Proportional, QueueOrder::ForwardFirst, QueueOrder::LocalFirst, QueueOrder::RoundRobin]
                [round as usize % 4];
        let count = 1 + (round as usize * 7) % 40;
        let paths = exchange::random_paths(ranks, count, 60_000, round);
        run(&paths, options, how(order, 64), round)?;
        // One slot of about a hundred bytes per path: every forwarder waits for every other one.
        let paths = exchange::random_paths(ranks, 40, 3000, round + 100);
        let small = ScheduleOptions { chunk: ChunkRule::Fixed(97), budget: 4000, window: 3, ..options };
        run(&paths, small, how(order, 4), round)?;
        // The smallest budget there is: a byte per path.
        let paths = exchange::random_paths(ranks, 12, 60, round + 200);
        let smallest = ScheduleOptions { chunk: ChunkRule::Fixed(97), budget: 12, window: 8, ..options };
        run(&paths, smallest, how(order, 1), round)?;
    }
    // Larger than any eager limit, and chunks of a megabyte.
    let paths = exchange::random_paths(ranks, 6, 5_000_000, 999);
    run(&paths, options, how(QueueOrder::ForwardFirst, 64), 13)?;
    let large = ScheduleOptions { chunk: ChunkRule::Fixed(1 << 20), ..options };
    run(&paths, large, how(QueueOrder::ForwardFirst, 64), 14)
}

/// The cases of the shared suite that have as many hosts as there are ranks.
pub fn cases(transport_name: &str) -> Result<(), String> {
    let (rank, ranks) = (Rank(rank()), size());
    let mut transport = crate::transport::transport(transport_name)?;
    let mut done = 0;
    for case in cases::all()? {
        let network = case.network()?;
        if network.hosts() != ranks as usize {
            continue;
        }
        if let Some(reason) = case.exceptions.get(transport.name()) {
            println!("{} is not run over {}: {reason}", case.name, transport.name());
            continue;
        }
        let demands = case.demands(&network)?;
        let options = pipeline::PlanOptions {
            planner: optiq_solver::planner::PlannerName::Heuristic2,
            chunk: 4096,
            ..Default::default()
        };
        let planned = pipeline::run(&network, &demands, &options).map_err(|e| e.to_string())?;
        let names = vec![String::new(); ranks as usize];
        let placement = Placement::new(&network, &names, &PlacementRule::Ranks { per_host: 1 })?;
        // Rank `r` is on host `r`.
        let message = |d: &Demand| {
            let (source, destination) = (Rank(d.src.0), Rank(d.dst.0));
            Message { source, destination, bytes: d.bytes, class: d.class }
        };
        let mut messages: Vec<Message> = demands.iter().map(message).collect();
        messages.sort_unstable();
        let mut paths = lower(Some(&planned.plan), &messages, &placement)?;
        // A place of its own for each source in the receive buffers.
        let longest = messages.iter().map(|m| m.bytes).max().unwrap_or(0);
        for path in &mut paths {
            path.destination_offset += u64::from(path.source().0) * longest;
        }
        let how = how(QueueOrder::ForwardFirst, 64);
        exchange::run(&mut *transport, rank, ranks, &paths, &ScheduleOptions::default(), &how, done)
            .map_err(|e| format!("{}: {e}", case.name))?;
        done += 1;
    }
    if done == 0 {
        return Err(format!("no case has {ranks} hosts"));
    }
    Ok(())
}

//! How long the certificate of two jobs of 1,000 hosts takes, in which any host may talk to any other: at most 100 ms is wanted.
//!
//! `cargo bench -p optiq-sim --bench certificate`
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a benchmark")]

use optiq_sim::Model;
use optiq_sim::jobs::allocation::Allocation;
use optiq_sim::jobs::certificate::Certificate;
use optiq_sim::jobs::file::JobFile;
use std::time::Instant;

const RUNS: usize = 21;

fn main() {
    for (network, overlap) in [("fattree:brown1296", true), ("dragonfly+:3456", false)] {
        for placement in ["contiguous", "random-node"] {
            for routing in ["fabric", "adaptive"] {
                run(network, overlap, placement, routing);
            }
        }
    }
}

/// On the smaller network two jobs of 1,000 hosts share hosts.
fn run(network: &str, overlap: bool, placement: &str, routing: &str) {
    let adaptive = if network.starts_with("fattree") { "adaptive-up" } else { "fpar" };
    let routing = if routing == "fabric" { routing } else { adaptive };
    let job = |name: &str, rule: &str| {
        format!(
            "[[job]]\nname = \"{name}\"\nhosts = 1000\nplacement = \"{rule}\"\nexclusive = {}\nprogram = \"alltoall,message=4KB\"\n",
            !overlap
        )
    };
    // Shared hosts: each draws its own 1,000.
    let rules = match (placement, overlap) {
        ("contiguous", true) => ["contiguous", "contiguous:296"],
        (rule, _) => [rule, rule],
    };
    let text =
        format!("network = \"{network}\"\nrouting = \"{routing}\"\n{}{}", job("a", rules[0]), job("b", rules[1]));
    let file = JobFile::parse(&text, "bench").unwrap();
    let net = file.load_network().unwrap();
    let allocation = Allocation::new(&file, &net).unwrap();
    let model = Model::default();
    let mut times: Vec<f64> = (0..RUNS)
        .map(|_| {
            let start = Instant::now();
            let found = Certificate::new(&file, &net, &model, &allocation, |_, _| {}).unwrap();
            assert_eq!(found.pairs.len(), 1);
            start.elapsed().as_secs_f64() * 1e3
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let found = Certificate::new(&file, &net, &model, &allocation, |_, _| {}).unwrap();
    let links = found.pairs[0].sharing.links.len();
    println!(
        "{network} {} {routing}: {:.1} ms (quartiles {:.1}, {:.1}), {links} shared links",
        rules[1],
        times[RUNS / 2],
        times[RUNS / 4],
        times[RUNS * 3 / 4]
    );
}

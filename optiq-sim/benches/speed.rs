//! How fast the simulator is, on the configurations of CODES's own examples (../shared/anchors.md, section 2): uniform random
//! messages of 4 KB, one a microsecond from each host. `cargo bench -p optiq-sim --bench speed`; with arguments
//! `TOPOLOGY ROUTING MESSAGES THREADS [JOBS]` one configuration, whose hosts are dealt out to jobs of which each has statistics of
//! its own. With `against BINARY [ROUNDS]` this build and the same benchmark of another commit in turn, one thread, and the ratios of
//! packets a second: `cargo bench -p optiq-sim --bench speed -- against target/before/release/deps/speed-...`.
#![allow(clippy::unwrap_used, reason = "a benchmark")]

use optiq_measure::statistics::quantile;
use optiq_net::Network;
use optiq_sim::time::Time;
use optiq_sim::workload::synthetic::{Gaps, Open, Pattern, Sizes};
use optiq_sim::{Layout, Model, Outcome, Policy, Process, Program, RunOptions, simulate_jobs};

/// Topology, routing, messages of each host.
const CONFIGURATIONS: [(&str, &str, u64); 4] = [
    ("fattree:brown1296", "fabric", 500),
    ("fattree:brown1296", "adaptive-up", 500),
    ("dragonfly+:3456", "fabric", 150),
    ("dragonfly+:3456", "fpar", 150),
];

fn run(spec: &str, routing: &str, messages: u64, (threads, jobs): (usize, u16)) -> Outcome {
    let network = Network::from_spec(spec).unwrap();
    let hosts = network.hosts() as u32;
    let gaps = Gaps::Fixed(Time::picoseconds(1_000_000));
    let (pattern, sizes) = (Pattern::Uniform, Sizes::Fixed(4096));
    let open = Open { pattern, gaps, sizes, messages, hosts };
    let programs = (0..hosts).map(|_| Box::new(open.clone()) as Box<dyn Program>).collect();
    let routing: Policy = routing.parse().unwrap();
    let options = RunOptions { threads, seed: 1, routing, ..RunOptions::default() };
    let process = |host: u32| Process { host, job: host as u16 % jobs };
    let layout = Layout::new((0..hosts).map(process).collect());
    simulate_jobs(&network, &Model::for_topology(spec), &layout, programs, &options).unwrap()
}

/// The most memory that this process had, in MB.
fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    line.and_then(|l| l.split_whitespace().next()?.parse::<f64>().ok()).map_or(0.0, |kib| kib * 1024.0 / 1e6)
}

fn line(spec: &str, routing: &str, messages: u64, (threads, jobs): (usize, u16)) {
    let mut runs: Vec<Outcome> = (0..3).map(|_| run(spec, routing, messages, (threads, jobs))).collect();
    runs.sort_by(|a, b| a.wall_seconds.total_cmp(&b.wall_seconds));
    let o = &runs[1];
    // What was popped from the queue, as others count.
    let events = (o.events + o.wakes) as f64;
    println!(
        "| `{spec}` | {routing} | {threads} | {} | {:.1} | {:.2} | {:.0} | {:.0} | {:.2} | {:.2} |",
        o.packets,
        events / o.packets as f64,
        events / o.wall_seconds / 1e6,
        o.packets as f64 / o.wall_seconds / 1e3,
        peak_megabytes(),
        o.message_latency_mean / 1e6,
        o.message_latency.value_at_quantile(0.99) as f64 / 1e6,
    );
}

/// What a build of this benchmark prints as k packets/s of one configuration on one thread.
fn rate_of(binary: &std::ffi::OsStr, (spec, routing, messages): (&str, &str, u64)) -> f64 {
    let arguments = [spec, routing, &messages.to_string(), "1"];
    let output = std::process::Command::new(binary).args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let row = text.lines().last().filter(|row| row.contains(spec)).unwrap();
    row.split('|').nth(7).unwrap().trim().parse().unwrap()
}

/// This build and another one in turn, each first in every other round: the ratio of each round is of runs that follow each other.
fn against(other: &str, rounds: usize) {
    println!("| topology | routing | k packets/s, other | k packets/s, this | ratio, quartiles of {rounds} rounds |");
    println!("| --- | --- | ---: | ---: | ---: |");
    let this = std::env::current_exe().unwrap();
    let binaries = [std::ffi::OsStr::new(other), this.as_os_str()];
    for configuration in CONFIGURATIONS {
        let mut rates = [vec![], vec![]];
        for round in 0..rounds {
            for which in [round % 2, 1 - round % 2] {
                rates[which].push(rate_of(binaries[which], configuration));
            }
        }
        let ratios: Vec<f64> = rates[0].iter().zip(&rates[1]).map(|(other, this)| this / other).collect();
        let [low, median, high] = [0.25, 0.5, 0.75].map(|q| quantile(&ratios, q).unwrap());
        let [other, this] = rates.map(|rates| quantile(&rates, 0.5).unwrap());
        let (spec, routing, _) = configuration;
        println!("| `{spec}` | {routing} | {other:.0} | {this:.0} | {low:.2} {median:.2} {high:.2} |");
    }
}

fn main() {
    // `cargo bench` adds --bench.
    let words: Vec<String> = std::env::args().skip(1).filter(|a| !a.starts_with("--")).collect();
    if let [word, other, rounds @ ..] = &words[..]
        && word == "against"
    {
        return against(other, rounds.first().map_or(7, |rounds| rounds.parse().unwrap()));
    }
    println!(
        "| topology | routing | threads | packets | events a packet | M events/s | k packets/s | memory, MB | mean latency, us | 99 %, us |"
    );
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
    if let [spec, routing, messages, threads, jobs @ ..] = &words[..] {
        let jobs = jobs.first().map_or(1, |jobs| jobs.parse().unwrap());
        return line(spec, routing, messages.parse().unwrap(), (threads.parse().unwrap(), jobs));
    }
    for (spec, routing, messages) in CONFIGURATIONS {
        for threads in [1, 2] {
            line(spec, routing, messages, (threads, 1));
        }
    }
}

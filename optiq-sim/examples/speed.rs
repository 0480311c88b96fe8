//! Events and packets per second on the configurations of CODES's own examples.
#![allow(clippy::unwrap_used, reason = "a benchmark")]
use optiq_net::Network;
use optiq_sim::workload::{Gaps, Open, Pattern, Sizes};
use optiq_sim::{Model, Policy, Program, RunOptions, simulate};

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let spec = arguments.get(1).map_or("fattree:brown1296", String::as_str);
    let messages = arguments.get(2).map_or(500, |m| m.parse().unwrap());
    let threads = arguments.get(3).map_or(1, |m| m.parse().unwrap());
    let routing = arguments.get(4).map_or(Policy::Fabric, |r| r.parse().unwrap());
    let network = Network::from_spec(spec).unwrap();
    let model = Model::for_topology(spec);
    let hosts = network.hosts() as u32;
    let open =
        Open { pattern: Pattern::Uniform, gaps: Gaps::Fixed(1_000_000), sizes: Sizes::Fixed(4096), messages, hosts };
    let programs = (0..hosts).map(|_| Box::new(open.clone()) as Box<dyn Program>).collect();
    let options = RunOptions { threads, seed: 1, routing, ..RunOptions::default() };
    let o = simulate(&network, &model, programs, &options).unwrap();
    println!(
        "{spec}, {routing}: {} packets, {} events and {} wake-ups ({:.2} a packet), {:.3} s: {:.2} M events/s, {:.0} k packets/s; mean latency {:.3} us, 99 % {:.3} us, end {} ps",
        o.packets,
        o.events,
        o.wakes,
        (o.events + o.wakes) as f64 / o.packets as f64,
        o.wall_seconds,
        (o.events + o.wakes) as f64 / o.wall_seconds / 1e6,
        o.packets as f64 / o.wall_seconds / 1e3,
        o.message_latency.mean() / 1e6,
        o.message_latency.value_at_quantile(0.99) as f64 / 1e6,
        o.time,
    );
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    println!("{}", status.lines().find(|l| l.starts_with("VmHWM")).unwrap());
}

//! No packet waits for ever at a saturated switch that serves in the order of arrival; by round robin or age one may.
#![allow(clippy::unwrap_used, reason = "tests")]

use optiq_net::Network;
use optiq_sim::jobs::placed::{PlacedJob, PlacedOutcome, simulate_placed};
use optiq_sim::model::Arbitration;
use optiq_sim::{End, Limits, Model, RunOptions};

fn job(program: &str, hosts: &[u32], is_measured: bool) -> PlacedJob {
    PlacedJob { program: program.parse().unwrap(), hosts: hosts.to_vec(), servers: 0, is_measured }
}

fn run(network: &Network, model: &Model, jobs: &[PlacedJob], arbitration: Arbitration, events: u64) -> PlacedOutcome {
    let mut model = model.clone();
    model.router.arbitration = arbitration;
    let options = RunOptions { limits: Limits { events: Some(events), ..Limits::default() }, ..RunOptions::default() };
    simulate_placed(network, &model, jobs, &options).unwrap()
}

/// Two switches with one link between them, 1 ns a byte. Hosts 1 to 4 and, on the other side, 6 send packets of 64 bytes to host 5
/// without a pause, so that the buffer behind the link is full and has room for 64 bytes at a time; host 0 has packets of 4 KiB for
/// host 7. As soon as there is room somebody else's packet fits.
#[test]
fn small_packets_starve_a_large_one_unless_it_is_in_line() {
    let network = Network::from_spec("fattree:5x2:1x1").unwrap();
    let mut model = Model::default();
    model.router.buffer_bytes = 8192;
    let jobs = [
        job("incast,message=4096B,root=1,samples=20,warmup=5,think=5us", &[0, 7], true),
        job("incast,message=64B,interval=64ns", &[5, 1, 2, 3, 4, 6], false),
    ];
    let found = run(&network, &model, &jobs, Arbitration::RoundRobin, 2_000_000);
    assert_eq!((found.outcome.end, found.reports[0].complete()), (End::EventLimit, None));
    let found = run(&network, &model, &jobs, Arbitration::FirstCome, 2_000_000);
    assert_eq!(found.outcome.end, End::Measured);
    // The packets of host 0 share its switch's link with four hosts whose packets of 64 bytes came before: those in the four
    // input buffers of 8 KiB and what is in the full one behind the link leave at half the link's rate at least, as host 6 takes the
    // other half of host 5's link.
    let most = 2.0 * 5.0 * 8192e-9 + 2.0 * 4096e-9 + 1e-6;
    let worst = found.reports[0].durations().into_iter().max().unwrap().seconds();
    assert!((4096e-9..most).contains(&worst), "{worst} s, at most {most} s are expected");
}

#[test]
fn zz_experiment() {
    for (spec, routing) in [
        ("torus:4x4x4", optiq_sim::Policy::Fabric),
        ("torus:4x4x4", optiq_sim::Policy::MinimalAdaptive),
        ("fattree:k=8", optiq_sim::Policy::Fabric),
        ("fattree:k=8", optiq_sim::Policy::AdaptiveUp),
        ("dragonfly:p=3,a=6,h=3", optiq_sim::Policy::Fabric),
        ("dragonfly:p=3,a=6,h=3", optiq_sim::Policy::Par),
        ("bgq:128", optiq_sim::Policy::Fabric),
    ] {
        let network = Network::from_spec(spec).unwrap();
        let hosts: Vec<u32> = (0..network.hosts() as u32).collect();
        for program in [
            "uniform,message=16KB,interval=1us,samples=40,warmup=0,start=together",
            "alltoall,message=4KB,algorithm=linear,samples=1,warmup=0",
        ] {
            let mut line = format!("{spec} {routing} {program}:");
            for arbitration in [Arbitration::RoundRobin, Arbitration::Age, Arbitration::FirstCome] {
                let mut model = Model::for_network(&network);
                model.router.arbitration = arbitration;
                let options = RunOptions { routing, ..RunOptions::default() };
                let start = std::time::Instant::now();
                let found = simulate_placed(&network, &model, &[job(program, &hosts, true)], &options).unwrap();
                line +=
                    &format!(" {:.1} us ({:.2} s)", found.outcome.time.seconds() * 1e6, start.elapsed().as_secs_f64());
            }
            println!("{line}");
        }
    }
}

//! No packet waits for ever at a saturated switch that serves in the order of arrival; by round robin one may.
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
    // In front of a packet of host 0 are what came before to its switch, at most the four full buffers of the others there, and
    // the full one behind the link. What is there leaves in the time of two buffers, as host 5's link serves by arrival too and host 6
    // has one full buffer there; a turn of credits adds latencies of below 0.5 us. One more such time may pass until there is room for
    // 4 KiB; then the packet itself takes two links.
    let most = 6.0 * (2.0 * 8192e-9 + 0.5e-6) + 2.0 * 4096e-9;
    let worst = found.reports[0].durations().into_iter().max().unwrap().seconds();
    assert!((4096e-9..most).contains(&worst), "{worst} s, at most {most} s are expected");
}

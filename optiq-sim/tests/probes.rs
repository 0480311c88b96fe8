//! Probes as programs of jobs: their times by hand, their bytes, and what they say of a switch whose load is known.
#![allow(clippy::unwrap_used, reason = "tests")]

use optiq_measure::statistics::mean;
use optiq_net::Network;
use optiq_probe::description::{CompressionB, ImpactB, LinkProbe};
use optiq_probe::measure::calibration::{Calibration, KnownLoad};
use optiq_probe::measure::estimate;
use optiq_sim::jobs::placed::{PlacedJob, PlacedOutcome, simulate_placed};
use optiq_sim::jobs::probes;
use optiq_sim::jobs::program_spec::ProgramSpec;
use optiq_sim::jobs::programs::setting::JobSetting;
use optiq_sim::jobs::programs::traffic::traffic;
use optiq_sim::time::Time;
use optiq_sim::{Model, RunOptions};

fn job(program: &ProgramSpec, hosts: &[u32], is_measured: bool) -> PlacedJob {
    PlacedJob { program: program.clone(), hosts: hosts.to_vec(), servers: 0, is_measured }
}

fn run(network: &str, model: &Model, jobs: &[PlacedJob], seed: u64) -> PlacedOutcome {
    let network = Network::from_spec(network).unwrap();
    simulate_placed(&network, model, jobs, &RunOptions { seed, ..RunOptions::default() }).unwrap()
}

fn alone(program: &str, hosts: &[u32]) -> PlacedOutcome {
    run("star:4", &Model::default(), &[job(&program.parse().unwrap(), hosts, true)], 1)
}

#[test]
fn half_of_a_round_trip_is_a_message() {
    let found = alone("impact,message=1KiB,think=1ms,samples=5,warmup=1", &[0, 1, 2, 3]);
    // 1,024 bytes at 1 GB/s, two cables of 10 ns and a router of 100 ns, cut through: 1,144 ns.
    assert_eq!(found.reports[0].durations(), vec![Time::picoseconds(1_144_000); 10]);
    // Ranks 0 and 2 begin and have the samples; six exchanges of two messages each, of two pairs.
    assert_eq!((found.reports[0].rank(1).samples.len(), found.outcome.messages), (0, 24));
    let same = alone("pairs,message=1KiB,think=1ms,samples=5,warmup=1", &[0, 1]);
    assert_eq!(same.reports[0].durations()[0], Time::picoseconds(1_144_000));
}

#[test]
fn an_odd_host_has_no_partner_and_one_host_is_refused() {
    let found = alone("impact,message=1KiB,think=1ms,samples=2,warmup=0", &[0, 1, 2]);
    assert_eq!(found.reports[0].durations().len(), 2);
    let network = Network::from_spec("star:4").unwrap();
    let program = "impact,message=1KiB".parse().unwrap();
    let refused = simulate_placed(&network, &Model::default(), &[job(&program, &[1, 1], true)], &RunOptions::default());
    let refused = refused.err().unwrap().to_string();
    assert_eq!(refused, "impact: found probes on 1 node; at least two nodes are expected");
}

#[test]
fn rounds_of_compression_start_a_sleep_after_each_other_or_when_all_has_arrived() {
    // Four hosts send 2 x 3 messages of 40 KiB, 246 us of a link of 1 GB/s.
    let of = |sleep: u64| {
        let program = CompressionB { partners: 2, messages: 3, message_bytes: 40_960, sleep_nanoseconds: sleep };
        run("star:4", &Model::default(), &[job(&probes::compression(&program, 3), &[0, 1, 2, 3], true)], 1)
    };
    let found = of(1_000_000);
    assert_eq!(found.outcome.payload_bytes, 4 * 3 * 6 * 40_960);
    let starts: Vec<u64> =
        found.reports[0].rank(2).samples.iter().map(|sample| sample.start.as_picoseconds()).collect();
    assert_eq!(starts, [0, 1_000_000_000, 2_000_000_000]);
    let found = of(1000);
    let samples = found.reports[0].rank(2).samples;
    assert_eq!(samples[1].start, samples[0].start + samples[0].duration);
    assert!(samples[0].duration.seconds() >= 6.0 * 40_960e-9);
}

#[test]
fn steps_compute_before_they_exchange() {
    let file = tempfile("ranks = 2\n[[step]]\ntimes = 2\ncompute = \"1ms\"\nexchange = \"alltoall,message=1000B\"\n");
    let program = format!("steps,file={},samples=3,warmup=0", file.display());
    let found = alone(&program, &[0, 1]);
    let exchange = alone("alltoall,message=1000B,samples=1,warmup=0", &[0, 1]).reports[0].durations()[0];
    let expected = (Time::picoseconds(1_000_000_000) + exchange) * 2;
    assert_eq!(found.reports[0].durations(), vec![expected; 6]);
    // Who may send to whom: both to each other, both steps.
    let network = Network::from_spec("star:4").unwrap();
    let (model, program) = (Model::default(), program.parse().unwrap());
    let setting = JobSetting {
        network: &network,
        model: &model,
        hosts: &[0, 1],
        servers: 0,
        first: 0,
        seed: 1,
        keep_going: false,
        planning_network: None,
    };
    let flows = traffic(&program, &setting).unwrap();
    assert_eq!(flows.iter().map(|f| f.bytes).collect::<Vec<_>>(), [2000.0; 2]);
    let refused = traffic(&program, &JobSetting { hosts: &[0, 1, 2], ..setting }).unwrap_err().to_string();
    assert_eq!(refused, "steps: found a file of 2 ranks for 3; the same number is expected");
    std::fs::remove_file(file).unwrap();
}

fn tempfile(text: &str) -> std::path::PathBuf {
    let path = std::env::temp_dir().join(format!("optiq-steps-{}.toml", std::process::id()));
    std::fs::write(&path, text).unwrap();
    path
}

#[test]
fn a_link_probe_has_the_latency_of_one_direction() {
    let probe = LinkProbe { interval_nanoseconds: 1_000_000, ..LinkProbe::default() };
    let found = run("star:4", &Model::default(), &[job(&probes::link(&probe, 4, 0), &[3, 1], true)], 1);
    assert_eq!(found.reports[0].rank(0).samples.len(), 4);
    assert!(found.reports[0].durations().iter().all(|&time| time == Time::picoseconds(1_144_000)));
}

/// Six hosts of the switch of data/sim/cab18.toml.
const SWITCH: &str = "star:6,capacity=2.5GB/s";
const HOSTS: [u32; 6] = [0, 1, 2, 3, 4, 5];

/// Latencies of ImpactB beside packets at random, and the utilisation that is counted at the output ports.
fn measured(load: Option<f64>, seed: u64) -> (Vec<f64>, f64) {
    let model = Model::read("cab18").unwrap();
    let probe = ImpactB { interval_nanoseconds: 100_000, ..ImpactB::default() };
    let mut jobs = vec![job(&probes::impact(&probe, 500, 50_000), &HOSTS, true)];
    if let Some(load) = load {
        let program = format!("open,message=4096B,load={}%,samples=1,warmup=0", load * 100.0);
        jobs.push(job(&program.parse().unwrap(), &HOSTS, false));
    }
    let found = run(SWITCH, &model, &jobs, seed);
    let network = Network::from_spec(SWITCH).unwrap();
    let links = network.links().iter().zip(&found.outcome.link_busy).filter(|(link, _)| network.is_host(link.to));
    let busy: Vec<f64> = links.map(|(_, busy)| busy.seconds() / found.outcome.time.seconds()).collect();
    let samples = (0..6).flat_map(|rank| found.reports[0].rank(rank).samples);
    let mut samples: Vec<(Time, f64)> = samples.map(|sample| (sample.start, sample.duration.seconds())).collect();
    samples.sort_by_key(|sample| sample.0);
    (samples.into_iter().map(|sample| sample.1).collect(), mean(&busy).unwrap())
}

#[test]
fn utilisation_is_within_three_points_of_the_truth() {
    let (idle, none) = measured(None, 1);
    let idle = mean(&idle).unwrap();
    // The published latency of the idle switch, on which the machine is fitted; probes alone are 0.2 % of a link.
    assert!((idle * 1e6 - 1.25).abs() < 0.01, "{idle}");
    assert!(none < 0.006, "{none}");
    let known = (10..).zip([0.25, 0.5, 0.7, 0.85]).map(|(seed, load)| {
        let (latencies, utilisation) = measured(Some(load), seed);
        KnownLoad { utilisation, mean_seconds: mean(&latencies).unwrap() }
    });
    let switch = Calibration::fit(idle, &known.collect::<Vec<_>>()).unwrap();
    for (seed, load) in (20..).zip([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9]) {
        let (latencies, truth) = measured(Some(load), seed);
        let found = estimate::utilisation(&switch, &latencies).unwrap();
        assert!((found.value - truth).abs() < 0.03, "{load}: {found:?}, true {truth}");
    }
}

//! BookSim's curves, and ours: for the tests, and for the tables of `benches/booksim.rs`.

use optiq_net::Network;
use optiq_sim::time::Time;
use optiq_sim::workload::synthetic::{Gaps, Open, Pattern, Sizes};
use optiq_sim::workload::window::Window;
use optiq_sim::{Limits, Model, Outcome, Policy, RunOptions, simulate};
use serde::Deserialize;

/// What a link takes for a flit, which is a byte here.
pub const CYCLE: Time = Time::picoseconds(1000);
/// How close we want to be (issue 6): mean latencies below saturation, and saturation.
const LATENCY_WITHIN: f64 = 0.05;
const SATURATION_WITHIN: f64 = 0.03;

#[derive(Deserialize)]
pub struct File {
    pub commit: String,
    pub curve: Vec<Curve>,
}

#[derive(Deserialize)]
pub struct Curve {
    pub name: String,
    /// How BookSim was run.
    pub booksim: String,
    pub topology: String,
    pub routing: String,
    /// Of a packet.
    pub flits: u64,
    /// Cycles before packets are counted, and in which they are.
    pub warm_up: u64,
    pub cycles: u64,
    pub model: Model,
    /// Mean packet latency, in cycles.
    pub latency: Vec<Point>,
    /// Accepted flits per host and cycle.
    pub accepted: Vec<Point>,
}

#[derive(Deserialize)]
pub struct Point {
    /// Offered flits per host and cycle.
    pub load: f64,
    /// What BookSim finds: the least, the mean and the most of its runs.
    pub booksim: [f64; 3],
    /// What is known of it from elsewhere (anchors.md).
    pub published: Option<f64>,
    /// Why ours need not be close.
    pub except: Option<String>,
}

pub fn file() -> File {
    toml::from_str(include_str!("../data/booksim.toml")).unwrap()
}

pub fn routing(curve: &Curve) -> Policy {
    curve.routing.parse().unwrap()
}

/// The run, the mean latency in cycles of the packets of the window, and what was accepted there per host and cycle.
pub fn run(curve: &Curve, model: &Model, load: f64, threads: usize) -> (Outcome, f64, f64) {
    let network = Network::from_spec(&curve.topology).unwrap();
    let hosts = network.hosts() as u32;
    let millionths = (load / curve.flits as f64 * 1e6).round() as u32;
    let from = CYCLE * curve.warm_up;
    let to = from + CYCLE * curve.cycles;
    let window = Window::new(from..to);
    let open = Open {
        pattern: Pattern::UniformWithSelf,
        gaps: Gaps::Bernoulli { cycle: CYCLE, millionths },
        sizes: Sizes::Fixed(curve.flits),
        messages: u64::MAX,
        hosts,
    };
    let programs = (0..hosts).map(|_| window.watch(open.clone())).collect();
    // Time for those that were sent last: below saturation none takes longer.
    let limits = Limits { time: Some(to + CYCLE * 2000), ..Limits::default() };
    let options = RunOptions { seed: 1, threads, routing: routing(curve), limits, ..RunOptions::default() };
    let outcome = simulate(&network, model, programs, &options).unwrap();
    let accepted = window.bytes() as f64 / f64::from(hosts) / curve.cycles as f64;
    (outcome, window.mean_latency() / CYCLE.as_picoseconds() as f64, accepted)
}

/// One load of a curve, beside BookSim.
pub struct Compared<'a> {
    pub point: &'a Point,
    pub is_latency: bool,
    pub ours: f64,
}

impl Compared<'_> {
    pub fn off(&self) -> f64 {
        self.ours / self.point.booksim[1] - 1.0
    }

    pub fn within(&self) -> f64 {
        if self.is_latency { LATENCY_WITHIN } else { SATURATION_WITHIN }
    }
}

pub fn compare<'a>(curve: &'a Curve, model: &Model) -> Vec<Compared<'a>> {
    let latencies = curve.latency.iter().map(|point| (point, true));
    let points = latencies.chain(curve.accepted.iter().map(|point| (point, false)));
    let compared = points.map(|(point, is_latency)| {
        let (_, latency, accepted) = run(curve, model, point.load, 1);
        Compared { point, is_latency, ours: if is_latency { latency } else { accepted } }
    });
    compared.collect()
}

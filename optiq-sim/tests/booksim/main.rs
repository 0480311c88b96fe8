//! Load-latency curves beside those of BookSim2 with the same routers. `data/booksim.toml` has BookSim's figures, how they were
//! found, and what is known of the differences. `cargo test -p optiq-sim --test booksim -- --nocapture` prints them as tables.
#![allow(clippy::unwrap_used, reason = "tests")]

use optiq_net::Network;
use optiq_sim::model::Pipeline;
use optiq_sim::workload::{Gaps, Open, Pattern, Sizes, Window};
use optiq_sim::{Delivery, Host, Limits, Model, Notice, Outcome, Policy, Program, RunOptions, simulate};
use serde::Deserialize;

/// What a link takes for a flit, which is a byte here.
const CYCLE: u64 = 1000;
/// How close we want to be (issue 6): mean latencies below saturation, and saturation.
const LATENCY_WITHIN: f64 = 0.05;
const SATURATION_WITHIN: f64 = 0.03;

#[derive(Deserialize)]
struct File {
    commit: String,
    curve: Vec<Curve>,
}

#[derive(Deserialize)]
struct Curve {
    name: String,
    /// How BookSim was run.
    booksim: String,
    topology: String,
    routing: String,
    /// Of a packet.
    flits: u64,
    /// Cycles before packets are counted, and in which they are.
    warm_up: u64,
    cycles: u64,
    model: Model,
    /// Mean packet latency, in cycles.
    latency: Vec<Point>,
    /// Accepted flits per host and cycle.
    accepted: Vec<Point>,
}

#[derive(Deserialize)]
struct Point {
    /// Offered flits per host and cycle.
    load: f64,
    /// What BookSim finds: the least, the mean and the most of its runs.
    booksim: [f64; 3],
    /// What is known of it from elsewhere (anchors.md).
    published: Option<f64>,
    /// Why ours need not be close.
    except: Option<String>,
}

fn file() -> File {
    toml::from_str(include_str!("data/booksim.toml")).unwrap()
}

fn routing(curve: &Curve) -> Policy {
    curve.routing.parse().unwrap()
}

/// The run, the mean latency in cycles of the packets of the window, and what was accepted there per host and cycle.
fn run(curve: &Curve, model: &Model, load: f64, threads: usize) -> (Outcome, f64, f64) {
    let network = Network::from_spec(&curve.topology).unwrap();
    let hosts = network.hosts() as u32;
    let millionths = (load / curve.flits as f64 * 1e6).round() as u32;
    let from = curve.warm_up * CYCLE;
    let to = from + curve.cycles * CYCLE;
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
    let limits = Limits { time: Some(to + 2000 * CYCLE), ..Limits::default() };
    let options = RunOptions { seed: 1, threads, routing: routing(curve), limits, ..RunOptions::default() };
    let outcome = simulate(&network, model, programs, &options).unwrap();
    let accepted = window.bytes() as f64 / f64::from(hosts) / curve.cycles as f64;
    (outcome, window.mean_latency() / CYCLE as f64, accepted)
}

/// Routers without a pipeline, that take as long for a packet that has nothing in its way.
fn without_pipeline(curve: &Curve) -> Model {
    let mut model = curve.model.clone();
    let Pipeline { cycle_picoseconds, speedup, routing_steps, .. } = model.router.pipeline.take().unwrap();
    // Routing, allocation of a virtual channel and of the switch, the switch.
    let steps = u64::from(routing_steps) + 3;
    model.router.delay_picoseconds = (steps * cycle_picoseconds).div_ceil(u64::from(speedup)).next_multiple_of(CYCLE);
    model
}

/// One load of a curve, beside BookSim.
struct Compared<'a> {
    point: &'a Point,
    is_latency: bool,
    ours: f64,
}

impl Compared<'_> {
    fn off(&self) -> f64 {
        self.ours / self.point.booksim[1] - 1.0
    }

    fn within(&self) -> f64 {
        if self.is_latency { LATENCY_WITHIN } else { SATURATION_WITHIN }
    }
}

fn compare<'a>(curve: &'a Curve, model: &Model) -> Vec<Compared<'a>> {
    let latencies = curve.latency.iter().map(|point| (point, true));
    let points = latencies.chain(curve.accepted.iter().map(|point| (point, false)));
    let compared = points.map(|(point, is_latency)| {
        let (_, latency, accepted) = run(curve, model, point.load, 1);
        Compared { point, is_latency, ours: if is_latency { latency } else { accepted } }
    });
    compared.collect()
}

/// One test a curve, so that they run side by side.
fn check(at: usize) {
    let curve = &file().curve[at];
    let mut wrong = Vec::new();
    for c in compare(curve, &curve.model) {
        let line = format!("{}, load {}: {:.4}, BookSim {:.4}", curve.name, c.point.load, c.ours, c.point.booksim[1]);
        println!("{line}: {:+.1} %; {}", c.off() * 100.0, c.point.except.as_deref().unwrap_or("asked for"));
        if c.point.except.is_none() && c.off().abs() > c.within() {
            wrong.push(line);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn torus_with_two_virtual_channels() {
    check(0);
}

#[test]
fn torus_with_eight_virtual_channels() {
    check(1);
}

#[test]
fn fat_tree() {
    check(2);
}

#[test]
fn dragonfly() {
    check(3);
}

#[test]
fn no_curve_is_left_out() {
    assert_eq!(file().curve.len(), 4);
}

/// Sends one-flit messages to one host, all at once.
struct Stream {
    to: u32,
    messages: u32,
}

impl Program for Stream {
    fn start(&mut self, host: &mut Host<'_>) {
        (0..self.messages).for_each(|_| host.send(self.to, 1, 0, Notice::None));
    }

    fn received(&mut self, _: &mut Host<'_>, _: Delivery) {}
}

/// With nothing in the way a packet takes the sum of its stages, to the picosecond; and packets of one virtual channel follow
/// each other as closely as its stages let them.
#[test]
fn stages_add_up() {
    let time = |curve: &Curve, to, messages| {
        let network = Network::from_spec(&curve.topology).unwrap();
        let programs: Vec<Box<dyn Program>> = vec![Box::new(Stream { to, messages })];
        let options = RunOptions { routing: routing(curve), ..RunOptions::default() };
        simulate(&network, &curve.model, programs, &options).unwrap().time / CYCLE
    };
    let curves = file().curve;
    // BookSim: two cycles into the first router; routing, two allocations and the switch, a cycle each, and two and one on
    // each link; and three on the last one.
    for hops in [1, 2, 3] {
        assert_eq!(time(&curves[0], hops, 1), 2 + 6 * u64::from(hops) + 5);
        // Twice as fast routers, the same links.
        assert_eq!(time(&curves[1], hops, 1), 2 + 4 * u64::from(hops) + 3);
    }
    // Two switches up, the top, two down: no routing, links of one cycle.
    assert_eq!(time(&curves[2], 63, 1), 2 + 4 * 4 + 4);
    // Routing and two allocations, three cycles for each packet in a virtual channel.
    let (few, many) = (time(&curves[0], 1, 20), time(&curves[0], 1, 120));
    assert_eq!(many - few, 100 * 3);
}

/// The same bits on two threads.
#[test]
fn threads_make_no_difference() {
    for mut curve in file().curve {
        (curve.warm_up, curve.cycles) = (100, 300);
        let [one, two] = [1, 2].map(|threads| run(&curve, &curve.model, 0.6, threads));
        assert!(one.0.messages > 1000, "{}", curve.name);
        assert_eq!((one.0.events, one.0.time, one.0.messages), (two.0.events, two.0.time, two.0.messages));
        assert_eq!(one.0.link_bytes, two.0.link_bytes);
        assert_eq!(one.0.message_latency, two.0.message_latency);
        assert_eq!((one.1, one.2), (two.1, two.2), "{}", curve.name);
    }
}

#[test]
fn routing_that_reserves_room_is_refused() {
    let curve = &file().curve[0];
    let network = Network::from_spec(&curve.topology).unwrap();
    let options = RunOptions { routing: Policy::MinimalAdaptive, ..RunOptions::default() };
    let error = simulate(&network, &curve.model, Vec::new(), &options).map(|_| ()).unwrap_err();
    assert!(error.to_string().contains("routers with a pipeline"), "{error}");
}

/// The tables of `docs/results/booksim.md`, over longer times.
#[test]
#[ignore = "minutes; made by cargo xtask results --only booksim"]
fn tables() {
    let file = file();
    println!("BookSim2 at commit {}.", file.commit);
    for mut curve in file.curve {
        curve.cycles *= 4;
        println!(
            "\n## {}\n\nOurs: `{}`, routing {}. BookSim: `{}`.\n",
            curve.name, curve.topology, curve.routing, curve.booksim
        );
        println!("| load | | BookSim | its runs | anchors.md | ours | off, % | at most, % | without the pipeline |");
        println!("| ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        let mut notes = String::new();
        for (c, plain) in compare(&curve, &curve.model).iter().zip(compare(&curve, &without_pipeline(&curve))) {
            let Point { load, booksim: [least, mean, most], published, except } = c.point;
            let (what, digits) = if c.is_latency { ("latency", 2) } else { ("accepted", 4) };
            let published = published.map_or(String::new(), |p| p.to_string());
            let most_off = if except.is_some() { "-".into() } else { format!("{:.0}", c.within() * 100.0) };
            println!(
                "| {load} | {what} | {mean:.digits$} | {least:.digits$} to {most:.digits$} | {published} | {:.digits$} | {:+.1} | {most_off} | {:.digits$} |",
                c.ours,
                c.off() * 100.0,
                plain.ours,
            );
            if let Some(why) = except {
                notes.push_str(&format!("\nLoad {load}: {why}\n"));
            }
        }
        print!("{notes}");
    }
    println!("<end>");
}

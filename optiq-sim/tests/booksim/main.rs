//! Load-latency curves beside those of BookSim2 with the same routers. `../data/booksim.toml` has BookSim's figures, how they were
//! found, and what is known of the differences. `cargo bench -p optiq-sim --bench booksim` prints them as tables.
#![allow(clippy::unwrap_used, reason = "tests")]

#[allow(dead_code, reason = "the tables need more of it")]
mod curves;

use curves::{CYCLE, Curve, compare, file, routing, run};
use optiq_net::Network;
use optiq_sim::{Delivery, Host, Notice, Policy, Program, RunOptions, simulate};

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

/// Without contention a packet takes the sum of its stages, to the picosecond; and packets of one virtual channel follow
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

//! How long the places of a fabric take, from its connections to the end. `cargo bench -p optiq-view --bench fabric_layout`.
#![allow(clippy::unwrap_used, reason = "a benchmark")]

use optiq_net::Network;
use optiq_view::fabric::FabricLayout;
use std::time::Instant;

fn main() {
    // 2,000 hosts in two levels; Brown's 1,296 in three; 3,456 in three, on a dragonfly and on a Dragonfly+; 2,048 of a torus.
    for spec in ["fattree:20x100:1x20", "fattree:brown1296", "fattree:18x16x12:1x18x6", "dragonfly:p=8,a=16,h=8,g=27"]
        .into_iter()
        .chain(["dragonfly+:3456", "torus:16x16x8"])
    {
        let net = Network::from_spec(spec).unwrap();
        let start = Instant::now();
        let layout = FabricLayout::of(&net);
        let seconds = start.elapsed().as_secs_f64();
        println!("{spec}: {} hosts, {} links, {}: {seconds:.4} s", net.hosts(), net.links().len(), layout.words);
    }
}

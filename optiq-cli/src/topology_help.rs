//! The grammar of topologies for people, from the tables of [`optiq_net::grammar`].

use optiq_net::grammar::{Entry, KINDS, OPTIONS, ROUTINGS};
use std::fmt::Write;

/// What `--topology` and its kin take, in one line.
pub const SHORT: &str = "The network: torus:4x4, mesh:4x4, bgq:1024, star:16, fattree:k=4, dragonfly:p=2,a=4,h=2, \
                         dragonfly+:3456, file:net.toml or - for standard input, with options such as ,capacity=100Mbit/s or ,names=node[001-016]";

/// The same with everything that there is.
pub fn long() -> String {
    let mut text = format!("{SHORT}\n");
    for (heading, entries) in [("Networks", KINDS), ("Options, after commas", OPTIONS), ("routing=", ROUTINGS)] {
        let _ = write!(text, "\n{heading}:\n{}", list(entries));
    }
    text.push_str("\nFiles, lists of names and examples: optiq-topology(7)");
    text
}

fn list(entries: &[Entry]) -> String {
    entries.iter().map(|e| format!("- {}: {}\n", e.syntax, e.meaning)).collect()
}

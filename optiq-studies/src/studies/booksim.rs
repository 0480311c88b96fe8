//! `docs/results/booksim.md`: load-latency curves beside those of BookSim2.

use crate::failure::Outcome;
use crate::process::{self, Project};

/// Simulates for some minutes; returns the page.
pub fn page(project: &Project, about: &str) -> Outcome<String> {
    let tables = process::capture(&mut project.cargo("bench", ["--package", "optiq-sim", "--bench", "booksim"]))?;
    Ok(format!(
        "# Load-latency curves, beside BookSim2\n\n{about}\n\
         Open loop: each host makes a packet in a cycle with the same probability, for any host, itself as well. Latency is the \
         mean in cycles from when a packet is made until its last flit is in memory; accepted are flits per host and cycle. \
         BookSim's figures are in `optiq-sim/tests/data/booksim.toml` with the parameters of the routers, and the same \
         comparison is a test (`cargo test -p optiq-sim --test booksim`). At most 5 % off is asked for below saturation, and \
         3 % in saturation. The last column is the default model of a router, with the same buffers and the same time for a \
         packet that has nothing in its way: what the pipeline makes of a curve is the difference.\n\n{tables}"
    ))
}

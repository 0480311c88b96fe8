//! Load-latency curves of the simulator beside those of BookSim2.

use crate::failure::Failure;
use crate::markdown::{self, MarkdownBlock};
use crate::workspace::{self, Workspace};
use serde::{Deserialize, Serialize};

/// The tables that the benchmark prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BooksimContent {
    /// Headings, words and tables, in order.
    pub blocks: Vec<MarkdownBlock>,
}

/// Simulates for some minutes.
///
/// # Errors
/// [`Failure::Work`] if the benchmark cannot be built or fails.
pub fn run(workspace: &Workspace) -> Result<BooksimContent, Failure> {
    let text = workspace::capture(&mut workspace.cargo("bench", ["--package", "optiq-sim", "--bench", "booksim"]))?;
    Ok(BooksimContent { blocks: markdown::parse(&text) })
}

impl BooksimContent {
    /// Of the page.
    pub const TITLE: &'static str = "Load-latency curves, beside BookSim2";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        format!(
            "Open loop: each host makes a packet in a cycle with the same probability, for any host, itself as well. Latency is the \
             mean in cycles from when a packet is made until its last flit is in memory; accepted are flits per host and cycle. \
             BookSim's figures are in `optiq-sim/tests/data/booksim.toml` with the parameters of the routers, and the same \
             comparison is a test (`cargo test -p optiq-sim --test booksim`). At most 5 % off is asked for below saturation, and \
             3 % in saturation. The last column is the default model of a router, with the same buffers and the same time for a \
             packet that has nothing in its way: what the pipeline makes of a curve is the difference.\n\n{}",
            markdown::render(&self.blocks)
        )
    }
}

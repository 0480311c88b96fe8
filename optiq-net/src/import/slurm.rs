//! Slurm's `topology.conf`: which nodes are below which switch (`topology/tree`), or in which block (`topology/block`).
//!
//! ```text
//! SwitchName=s0 Nodes=tux[0-5]
//! SwitchName=s2 Switches=s[0-1] LinkSpeed=1000
//! BlockName=b1 Nodes=node[01-18]
//! ```
//!
//! Keys are of any case; a line that ends in `\` goes on in the next. It knows neither ports nor rates nor tables.

use super::collected::{Collected, Place, SlurmSwitch};

/// The longest line with its continuations, in bytes.
const MAX_LINE: usize = 4 << 20;

/// What a switch above all blocks is called, which Slurm does not name.
pub(super) const ABOVE_BLOCKS: &str = "above-blocks";

/// Lines that are continued, and blocks, of a file that is being read.
#[derive(Default)]
pub(super) struct SlurmLines {
    /// The beginning of a line that goes on.
    begun: String,
    blocks: Vec<String>,
}

fn value_of<'t>(line: &'t str, key: &str) -> Option<&'t str> {
    line.split_whitespace().find_map(|word| {
        let (name, value) = word.split_once('=')?;
        name.eq_ignore_ascii_case(key).then_some(value)
    })
}

/// Whether a line names a switch or a block.
pub(super) fn is_line(line: &str) -> bool {
    let key = line.split('=').next().unwrap_or_default().trim();
    line.contains('=') && ["SwitchName", "BlockName", "BlockSizes"].iter().any(|name| key.eq_ignore_ascii_case(name))
}

impl SlurmLines {
    /// Whether the line before goes on in this one.
    pub fn goes_on(&self) -> bool {
        !self.begun.is_empty()
    }

    /// Reads a line; whether it could.
    pub fn line(&mut self, line: &str, place: Place, into: &mut Collected) -> bool {
        let line = line.split('#').next().unwrap_or_default();
        if let Some(begun) = line.strip_suffix('\\') {
            if self.begun.len() + begun.len() < MAX_LINE {
                self.begun.push_str(begun);
            }
            return true;
        }
        self.begun.push_str(line);
        let line = std::mem::take(&mut self.begun);
        let list = |key| value_of(&line, key).map(|list| vec![list.to_owned()]).unwrap_or_default();
        if let Some(name) = value_of(&line, "SwitchName").filter(|name| !name.is_empty()) {
            into.slurm.push(SlurmSwitch {
                name: name.to_owned(),
                nodes: list("Nodes"),
                switches: list("Switches"),
                place,
            });
            return true;
        }
        if let Some(name) = value_of(&line, "BlockName").filter(|name| !name.is_empty()) {
            self.blocks.push(name.to_owned());
            into.slurm.push(SlurmSwitch { name: name.to_owned(), nodes: list("Nodes"), switches: Vec::new(), place });
            return true;
        }
        value_of(&line, "BlockSizes").is_some()
    }

    /// Ends the file.
    pub fn end(&mut self, place: Place, into: &mut Collected) {
        join_blocks(std::mem::take(&mut self.blocks), place, into);
    }
}

/// Joins blocks by one switch, as nothing is said of what joins them.
pub(super) fn join_blocks(blocks: Vec<String>, place: Place, into: &mut Collected) {
    if blocks.len() < 2 {
        return;
    }
    let why = format!(
        "nothing is said of what joins the {} blocks; one switch, \"{ABOVE_BLOCKS}\", is taken to",
        blocks.len()
    );
    into.trouble(place, &why);
    into.slurm.push(SlurmSwitch { name: ABOVE_BLOCKS.into(), nodes: Vec::new(), switches: blocks, place });
}

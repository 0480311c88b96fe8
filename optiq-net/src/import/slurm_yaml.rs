//! Slurm's `topology.yaml` (Slurm 25.05): named topologies, of which one is the cluster's default.
//!
//! ```text
//! - topology: topo1
//!   cluster_default: true
//!   tree:
//!     switches:
//!       - switch: sw_root
//!         children: s[1-2]
//!       - switch: s1
//!         nodes: node[01-02]
//! - topology: topo2
//!   block:
//!     block_sizes: [4, 16]
//!     blocks:
//!       - block: b1
//!         nodes: node[01-04]
//! ```
//!
//! Only this form of YAML is read: keys with a value in a line, and lists of them with `- `; braces may stand around an
//! entry.

use super::collected::{Collected, Place, SlurmSwitch};
use super::slurm::join_blocks;

#[derive(Default)]
struct Topology {
    name: String,
    is_default: bool,
    switches: Vec<SlurmSwitch>,
    blocks: Vec<String>,
}

/// An entry of a list of switches or blocks, as far as it was read.
#[derive(Default)]
struct Entry {
    name: Option<String>,
    is_block: bool,
    nodes: Vec<String>,
    switches: Vec<String>,
}

/// A file that is being read.
#[derive(Default)]
pub(super) struct SlurmYaml {
    topologies: Vec<Topology>,
    entry: Option<(Entry, Place)>,
}

/// Whether a line begins such a file.
pub(super) fn is_heading(line: &str) -> bool {
    let (item, key) = match line.trim_start().strip_prefix("- ") {
        Some(key) => (true, key.trim_start()),
        None => (false, line.trim_start()),
    };
    key.starts_with("topology:") || (item && (key.starts_with("switch:") || key.starts_with("block:")))
}

fn unquoted(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}

/// `key: value` pairs of a line; in braces there may be several, separated by commas outside of brackets.
fn pairs(line: &str) -> Vec<(&str, &str)> {
    let inner = line.trim().trim_start_matches('{').trim_end_matches('}');
    let (mut depth, mut start, mut parts) = (0usize, 0, Vec::new());
    for (at, c) in inner.char_indices() {
        match c {
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 && line.trim().starts_with('{') => {
                parts.push(&inner[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&inner[start..]);
    let pairs = parts.into_iter().filter_map(|part| part.split_once(':'));
    pairs.map(|(key, value)| (unquoted(key), unquoted(value))).collect()
}

impl SlurmYaml {
    /// Reads a line.
    pub fn line(&mut self, line: &str, place: Place) {
        let line = line.split(" #").next().unwrap_or_default();
        let content = line.trim_start();
        if content.is_empty() || content.starts_with('#') || content == "---" {
            return;
        }
        let content = match content.strip_prefix("- ") {
            Some(content) => {
                self.end_entry();
                content
            }
            None => content,
        };
        for (key, value) in pairs(content) {
            self.pair(key, value, place);
        }
    }

    fn pair(&mut self, key: &str, value: &str, place: Place) {
        if self.topologies.is_empty() {
            self.topologies.push(Topology::default());
        }
        let last = self.topologies.len() - 1;
        let list = |value: &str| vec![value.to_owned()];
        match key {
            "topology" => {
                self.end_entry();
                let unnamed = self.topologies[last].name.is_empty() && self.topologies[last].switches.is_empty();
                let topology = Topology { name: value.to_owned(), ..Topology::default() };
                if unnamed { self.topologies[last] = topology } else { self.topologies.push(topology) }
            }
            "cluster_default" => self.topologies[last].is_default = value.eq_ignore_ascii_case("true"),
            _ if value.is_empty() => {}
            "switch" | "block" => {
                let (entry, _) = self.entry.get_or_insert_with(|| (Entry::default(), place));
                (entry.name, entry.is_block) = (Some(value.to_owned()), key == "block");
            }
            "nodes" => self.entry.get_or_insert_with(|| (Entry::default(), place)).0.nodes = list(value),
            "children" => self.entry.get_or_insert_with(|| (Entry::default(), place)).0.switches = list(value),
            _ => {}
        }
    }

    fn end_entry(&mut self) {
        let Some((Entry { name: Some(name), is_block, nodes, switches }, place)) = self.entry.take() else { return };
        let Some(topology) = self.topologies.last_mut() else { return };
        if is_block {
            topology.blocks.push(name.clone());
        }
        topology.switches.push(SlurmSwitch { name, nodes, switches, place });
    }

    /// Ends the file: the default topology is taken, or else the first.
    pub fn end(mut self, place: Place, into: &mut Collected) {
        self.end_entry();
        let count = self.topologies.len();
        let taken = self.topologies.iter().position(|topology| topology.is_default).unwrap_or(0);
        let Some(topology) = self.topologies.into_iter().nth(taken) else { return };
        if count > 1 {
            let why = format!(
                "it has {count} topologies; only the cluster's default, \"{}\", is taken",
                crate::text_file::shorten(&topology.name)
            );
            into.trouble(place, &why);
        }
        into.slurm.extend(topology.switches);
        join_blocks(topology.blocks, place, into);
    }
}

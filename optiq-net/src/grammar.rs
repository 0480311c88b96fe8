//! The grammar of topologies as data, for whoever explains it: help, manual page, `optiq info`. Tests hold it against the
//! parsers.

/// A word of the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entry {
    /// How it is written.
    pub syntax: &'static str,
    /// What it means, a sentence or a part of one without a full stop.
    pub meaning: &'static str,
    /// A specification that has it.
    pub example: &'static str,
}

/// A word of a topology file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileKey {
    /// The table that it stands in, as it is written.
    pub table: &'static str,
    /// The key; a further form after a blank.
    pub key: &'static str,
    /// What it means, a sentence or a part of one without a full stop.
    pub meaning: &'static str,
}

const fn entry(syntax: &'static str, meaning: &'static str, example: &'static str) -> Entry {
    Entry { syntax, meaning, example }
}

const fn key(table: &'static str, key: &'static str, meaning: &'static str) -> FileKey {
    FileKey { table, key, meaning }
}

/// What networks there are.
pub const KINDS: &[Entry] = &[
    entry("torus:LxLx...", "a torus of these lengths, every dimension a ring", "torus:4x4x4"),
    entry("mesh:LxLx...", "a mesh of these lengths", "mesh:4x4"),
    entry(
        "bgq:512|1024|2048|4096",
        "a Blue Gene/Q partition: 4x4x4x4x2, 4x4x4x8x2, 4x4x4x16x2 or 4x4x8x16x2, links of 1.8 GB/s, two bridge nodes in each 128",
        "bgq:512",
    ),
    entry("star:HOSTS", "hosts around one switch", "star:16"),
    entry(
        "fattree:k=PORTS",
        "the three-level fat tree of switches with this even number of ports, k^3/4 hosts",
        "fattree:k=4",
    ),
    entry(
        "fattree:CHILDREN:PARENTS[:CABLES]",
        "a fat tree by its levels above the hosts, joined by x: the children of a switch of the level, the parents of what is \
         below it, and the parallel cables between the two (1 unless given). 18x8:1x9 are 8 leaves of 18 hosts and 9 spines",
        "fattree:18x8:1x9",
    ),
    entry("fattree:brown1296", "18x18x4:1x18x2:1x1x9 with links of 12.5 GB/s, 1,296 hosts", "fattree:brown1296"),
    entry(
        "dragonfly:p=HOSTS,a=ROUTERS,h=GLOBAL[,g=GROUPS]",
        "a dragonfly: hosts of a router, routers of a group, global links of a router, groups (a h + 1 unless given)",
        "dragonfly:p=2,a=4,h=2",
    ),
    entry(
        "dragonfly:5586",
        "p=7,a=14,h=4,g=57 with links of 10 GB/s to hosts, 5.25 GB/s within and 4.7 GB/s between groups",
        "dragonfly:5586",
    ),
    entry(
        "dragonfly+:p=HOSTS,l=LEAVES,s=SPINES,h=GLOBAL[,g=GROUPS]",
        "a Dragonfly+: hosts of a leaf, leaves and spines of a group, global links of a spine, groups (s h + 1 unless given)",
        "dragonfly+:p=2,l=2,s=2,h=1",
    ),
    entry(
        "dragonfly+:3456",
        "p=16,l=24,s=24,h=16,g=9 with links of 16 GiB/s to hosts, 5.25 GiB/s within and 4.37 GiB/s between groups",
        "dragonfly+:3456",
    ),
    entry(
        "file:PATH",
        "any network, from a file, or from files that tools of a fabric print, with + between several",
        "",
    ),
];

/// Options of specifications; files have none.
pub const OPTIONS: &[Entry] = &[
    entry(
        "capacity=RATE",
        "of every physical link, in each direction, as 100Mbit/s or 12.5GB/s; 1GB/s unless given",
        "torus:4x4,capacity=100Mbit/s",
    ),
    entry(
        "terminal=RATE, local=RATE, global=RATE",
        "of a dragonfly's links to hosts, within groups and between groups",
        "dragonfly:p=2,a=4,h=2,terminal=10GB/s,local=5GB/s,global=4GB/s",
    ),
    entry("wrap=11110", "which dimensions of a torus or mesh close to rings, one digit for each", "bgq:512,wrap=11110"),
    entry(
        "rails=N",
        "N mirrored planes of the switches of a star, fat tree or dragonfly, with an adapter of every host in each",
        "fattree:18x8:1x9,rails=2",
    ),
    entry(
        "adapters=[HOST.]ADAPTER@SPEED+...",
        "adapters that differ, by number from 0: a rate, a percentage of what links to hosts carry, or none; of all hosts, of one or of \
         several (0-3.1@none)",
        "star:8,rails=4,adapters=1@50%+7.3@none",
    ),
    entry(
        "nodes=ADAPTERS@RATE",
        "in place of rails, where ranks own adapters: this number of consecutive hosts are the adapters of one node, joined by its \
         memory, of which each has this rate",
        "star:16,nodes=4@50GB/s",
    ),
    entry("routing=NAME", "the fabric's own routing, one of those below", "fattree:k=4,routing=smodk"),
    entry("seed=N", "of the random choices of routing zone0 and zone1", "bgq:512,routing=zone1,seed=7"),
    entry(
        "names=LIST",
        "the names of all hosts, in the order of their numbers, as a list in Slurm's grammar",
        "torus:4x4,names=nid[00008-00023]",
    ),
    entry("hosts=FILE", "the same from a file: a line for each host, with or without its number or coordinates", ""),
    entry(
        "io=HOST[@RATE]+...",
        "I/O hosts by number or name, with what their links to the storage carry; none for no I/O hosts on bgq:",
        "torus:4x4,io=0+10@2GB/s",
    ),
];

/// Routings, by the networks that have them.
pub const ROUTINGS: &[Entry] = &[
    entry("dor", "torus, mesh, grids in files: dimension by dimension; their default", "torus:4x4,routing=dor"),
    entry("longest", "torus, mesh, bgq:, grids in files: the longest dimension first", "torus:4x8,routing=longest"),
    entry(
        "bgq",
        "torus, mesh, bgq:, grids in files: Blue Gene/Q's deterministic order; the default of bgq:",
        "bgq:512,routing=bgq",
    ),
    entry(
        "zone0, zone1, zone2, zone3",
        "torus, mesh, bgq:, grids in files: Blue Gene/Q's routing zones, of which 0 and 1 choose at random",
        "bgq:512,routing=zone2",
    ),
    entry(
        "adaptive",
        "torus, mesh, bgq:, grids in files: routers choose among all directions that lead closer; a plan relays at every host, and \
         what messages put on links is an estimate",
        "bgq:512,routing=adaptive",
    ),
    entry(
        "dmodk",
        "fat trees, files: the destination's number chooses among equal paths; their default",
        "fattree:k=4,routing=dmodk",
    ),
    entry("smodk", "fat trees: the source's number chooses", "fattree:k=4,routing=smodk"),
    entry("minimal", "dragonflies: local, global, local; their default", "dragonfly:p=2,a=4,h=2,routing=minimal"),
    entry("ecmp", "files: a hash of source and destination chooses among equal paths; seed = N for another draw", ""),
    entry("tables", "files: next hops from the file's [[tables]] or [[next_hops]]", ""),
    entry(
        "shortest",
        "all: the lowest-numbered link of those that lead closer. It leaves equal paths unused, as no fabric does: there is a \
         warning, and no gain over it is claimed",
        "torus:4x4,routing=shortest",
    ),
];

/// What topology files say.
pub const FILE_KEYS: &[FileKey] = &[
    key("[network]", "name", "a title for people"),
    key("[network]", "capacity", "of links that give none, as \"100Mbit/s\" or bytes per second; 1GB/s unless given"),
    key(
        "[network]",
        "routing",
        "see ROUTINGS; dor on a grid, dmodk elsewhere, tables where there are [[tables]] or [[next_hops]]",
    ),
    key("[network]", "seed", "of routing ecmp, zone0 and zone1"),
    key("[hosts]", "names", "a list of names, in TOML or as \"node[001-144]\"; the first is host 0"),
    key("[hosts]", "count", "in place of names: how many, called h0, h1, ..."),
    key("[hosts]", "prefix", "with count: what names begin with"),
    key("[hosts]", "first", "with count: the first number"),
    key("[hosts]", "width", "with count: zeros are put before numbers of fewer digits"),
    key("[hosts.aliases]", "\"further\" = \"name\"", "a further name of a host"),
    key("[switches]", "names, count, prefix, first, width", "as for hosts; s0, s1, ... unless named"),
    key("[[links]]", "from, to", "names, lists of names; every vertex of from is joined with every one of to"),
    key("[[links]]", "capacity", "of each lane"),
    key("[[links]]", "lanes", "parallel physical links; 1 unless given"),
    key("[[links]]", "duplex", "false for one direction only"),
    key("[[next_hops]]", "to", "towards this host, or these ..."),
    key(
        "[[next_hops]]",
        "via",
        "... each vertex of the table sends to the neighbour that it names; one with a single link needs no entry",
    ),
    key(
        "[[tables]]",
        "at",
        "the forwarding table of this switch, or of this host with several links; there is one row for each",
    ),
    key("[[tables]]", "via", "names of its neighbours, which next counts from 0; without them the row has - only"),
    key(
        "[[tables]]",
        "next",
        "\"0 1*3 -\": for each host in order, the neighbour that is next; 1*3 is three times 1, - is none. A host with a single link \
         needs no row",
    ),
    key(
        "[grid]",
        "dims",
        "in place of links: the lengths of a torus or mesh whose vertices are all hosts, the last coordinate changing fastest; \
         [[links]] then give single links another capacity",
    ),
    key("[grid]", "wrap", "which dimensions close to rings; all unless given"),
    key("[[io]]", "host", "an I/O host, or several"),
    key("[[io]]", "capacity", "of each one's link to the storage"),
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::network::Network;

    #[test]
    fn every_example_is_a_network() {
        for entry in [KINDS, OPTIONS, ROUTINGS].concat().iter().filter(|e| !e.example.is_empty()) {
            let network = Network::from_spec(entry.example).unwrap_or_else(|e| panic!("{}: {e}", entry.example));
            assert!(network.hosts() > 1, "{}", entry.example);
        }
    }

    /// The words that a parser says it expects.
    fn expected(spec: &str, before: &str) -> Vec<String> {
        let error = Network::from_spec(spec).unwrap_err().to_string();
        let list = error.split(before).last().unwrap().split(" is expected").next().unwrap().to_string();
        list.split([',', ' ']).filter(|w| !w.is_empty() && *w != "or").map(String::from).collect()
    }

    #[test]
    fn every_word_of_the_parsers_is_explained() {
        let explained = |entries: &[Entry], word: &str| {
            entries
                .iter()
                .any(|e| e.syntax.split([',', ' ']).any(|part| part == word || part.split('=').next() == Some(word)))
        };
        let parameters = ["p", "a", "h", "g", "l", "s"];
        for spec in [
            "torus:4,x=1",
            "fattree:k=4,x=1",
            "star:4,rails=2,x=1",
            "dragonfly:5586,x=1",
            "dragonfly:x=1",
            "dragonfly+:x=1",
        ] {
            let words = expected(spec, "\"x\"; ");
            assert!(words.len() >= 3, "{spec}: {words:?}");
            for word in words.iter().filter(|w| !parameters.contains(&w.as_str())) {
                assert!(explained(OPTIONS, word), "{spec}: {word}");
            }
        }
        for spec in ["torus:4,routing=x", "fattree:k=4,routing=x", "dragonfly:5586,routing=x"] {
            for word in expected(spec, "\"x\"; ") {
                assert!(explained(ROUTINGS, &word), "{spec}: {word}");
            }
        }
        for kind in expected("x:4", "\"x\"; ") {
            assert!(KINDS.iter().any(|e| e.syntax.starts_with(&format!("{kind}:"))), "{kind}");
        }
        let error =
            Network::from_toml("[network]\nrouting = \"x\"\n[hosts]\ncount = 1\n", "x").unwrap_err().to_string();
        for word in ["dmodk", "ecmp", "tables", "shortest", "zone3"] {
            assert!(error.contains(word) && explained(ROUTINGS, word), "{error}");
        }
    }

    /// serde names the keys of a table where it finds another.
    #[test]
    fn every_key_of_a_file_is_explained() {
        for (text, table) in [
            ("[network]\nx = 1", "[network]"),
            ("[hosts]\nx = 1", "[hosts]"),
            ("[switches]\nx = 1", "[switches]"),
            ("[grid]\nx = 1", "[grid]"),
            ("[[links]]\nx = 1", "[[links]]"),
            ("[[next_hops]]\nx = 1", "[[next_hops]]"),
            ("[[tables]]\nx = 1", "[[tables]]"),
            ("[[io]]\nx = 1", "[[io]]"),
        ] {
            let error = Network::from_toml(text, "x").unwrap_err().to_string();
            let keys: Vec<&str> = error.split('`').skip(3).step_by(2).collect();
            assert!(keys.len() >= 2, "{error}");
            for key in keys.into_iter().filter(|&key| key != "aliases") {
                let explained = FILE_KEYS.iter().any(|k| k.table == table && k.key.split(", ").any(|word| word == key));
                assert!(explained, "{table} {key}");
            }
        }
    }
}

//! optiq-topology(7): the whole grammar of topologies, from the tables of [`optiq_net::grammar`].

use super::roff::Page;
use optiq_net::grammar::{Entry, FILE_KEYS, KINDS, OPTIONS, ROUTINGS};

/// A fat tree of four racks and two rails, as a file.
const FOUR_RACKS: &str = include_str!("../../../../examples/topologies/four-racks.toml");

/// A torus with names for its hosts, as a file.
const NAMED_TORUS: &str = include_str!("../../../../examples/topologies/named-torus.toml");

/// Specifications, each with what it is.
const EXAMPLES: [(&str, &str); 4] = [
    (
        "torus:4x4,names=nid[00008-00023],io=nid00008@2GB/s",
        "A torus whose hosts have names, of which one reaches the storage:",
    ),
    (
        "fattree:18x8:1x9,rails=2,names=rack[1-8]n[01-18]",
        "A fat tree of eight racks of 18 hosts and two rails of 9 spines:",
    ),
    (
        "dragonfly:p=2,a=4,h=2,terminal=12.5GB/s,local=12.5GB/s,global=25GB/s,names=nid[001-072]",
        "A dragonfly of nine groups with faster links between groups:",
    ),
    ("bgq:512,routing=zone1,seed=7", "A Blue Gene/Q partition under random routes:"),
];

/// optiq-topology(7).
pub fn page() -> String {
    let mut page = Page::new("optiq-topology", 7);
    page.section("NAME");
    page.text("optiq-topology - how networks are described to OPTIQ");
    page.section("SYNOPSIS");
    page.code("KIND:SHAPE[,OPTION=VALUE]...\nfile:PATH");
    page.section("DESCRIPTION");
    page.paragraph(
        "A specification names a network: its hosts, switches and links, and the route that the fabric itself takes between two \
         hosts. `OPTIQ_TOPOLOGY` has it for programs, `--topology` for commands, and `optiq topology` shows what it means.",
    );
    page.paragraph(
        "`auto` in place of a specification is for programs that run under MPI, and for `optiq calibrate`(1): every processor name \
         is then a host, one switch joins them, and the rate of its links is measured at first use. `optiq wrap`(1) sets it where no \
         network is named.",
    );
    page.section("NETWORKS");
    entries(&mut page, KINDS);
    page.section("OPTIONS");
    page.paragraph("They follow the shape, in any order, each once. Files have none.");
    entries(&mut page, OPTIONS);
    page.section("ROUTINGS");
    entries(&mut page, ROUTINGS);
    names(&mut page);
    ranks(&mut page);
    page.section("FILES");
    page.paragraph(
        "A file is TOML. It has `[hosts]`, and `[switches]` and `[[links]]` or a `[grid]`. Names of hosts and switches may be \
         lists wherever there can be several.",
    );
    for key in FILE_KEYS {
        page.item(&format!("`{}` {}", key.table, key.key), &sentence(key.meaning));
    }
    page.section("LIMITS");
    page.paragraph(
        "4,194,304 hosts and switches, 16,777,216 links (one for each direction and pair of neighbours), files of 16 MiB. \
         Programs refuse networks of more than `OPTIQ_MAX_HOSTS` hosts and switches, 131,072 unless set.",
    );
    page.section("EXAMPLES");
    for (spec, meaning) in EXAMPLES {
        page.paragraph(meaning);
        page.code(spec);
    }
    page.paragraph("Four racks with two rails, as a file:");
    page.code(FOUR_RACKS);
    page.paragraph("A torus with names for its hosts and a link that is slower, as a file:");
    page.code(NAMED_TORUS);
    page.section("SEE ALSO");
    page.text("`optiq-topology`(1), `optiq.conf`(5)");
    page.finish()
}

fn names(page: &mut Page) {
    page.section("NAMES OF HOSTS");
    page.paragraph(
        "Hosts are called h0, h1, ... and switches s0, s1, ... unless they are named. On a grid the last coordinate changes \
         fastest; in a fat tree the hosts of a leaf follow each other; in a dragonfly those of a router, then the routers of a \
         group.",
    );
    page.paragraph(
        "A list of names is written as Slurm writes it, so that `$SLURM_JOB_NODELIST` will do: names joined by commas; in \
         brackets, numbers and ranges joined by commas. `node[001-003,7]` is node001, node002, node003, node7; a range is padded \
         with zeros to the width of its first number. Several brackets give all combinations, the last changing fastest: \
         `rack[1-2]n[1-2]` is rack1n1, rack1n2, rack2n1, rack2n2. Brackets may stand in brackets: `n[1-2,1[0-3]]`.",
    );
    page.paragraph(
        "A file of names has a line for each host, in the order of their numbers; a line may be a list. Or each line has a name, \
         a blank and the host's number or coordinates, in any order. `#` starts a comment. There must be a name for every host.",
    );
}

fn ranks(page: &mut Page) {
    page.section("POSITIONS OF RANKS");
    page.paragraph(
        "A rank is on the host that has its processor's name. A name without a domain finds one with a domain, and the other way \
         round, if there is only one such host; names in two domains are two hosts. A position that is not known is never \
         guessed: if one name is unknown, all calls go to plain MPI, and one line says which name, and what to set.",
    );
    page.item("`OPTIQ_PLACEMENT=rank:K`", "K ranks on each host, in rank order.");
    page.item(
        "`OPTIQ_PLACEMENT=file:FILE`",
        "A line for each rank, in rank order, with its host's name, number or coordinates; `#` starts a comment.",
    );
    page.item(
        "`OPTIQ_PLACEMENT=auto`",
        "The default: by name; and if all ranks run on one processor that the topology does not have, as on a machine for \
         tests, they are taken to be on one host.",
    );
    page.item("`OPTIQ_PLACEMENT=names`", "By name only.");
}

fn entries(page: &mut Page, entries: &[Entry]) {
    for entry in entries {
        page.item(&format!("`{}`", entry.syntax), &sentence(entry.meaning));
    }
}

fn sentence(text: &str) -> String {
    let mut rest = text.chars();
    let first = rest.next().map(|c| c.to_ascii_uppercase());
    first.into_iter().chain(rest).chain(['.']).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use optiq_net::{Network, NodeId};

    #[test]
    fn every_word_of_the_grammar_is_on_the_page() {
        let page = page().replace("\\-", "-").replace("\\(ha", "^").replace("\\(dq", "\"");
        for entry in [KINDS, OPTIONS, ROUTINGS].concat() {
            assert!(page.contains(entry.syntax), "{}", entry.syntax);
        }
        for key in FILE_KEYS {
            assert!(page.contains(&format!("{}\\fR {}", key.table, key.key)), "{} {}", key.table, key.key);
        }
    }

    #[test]
    fn the_examples_are_networks() {
        for (spec, _) in EXAMPLES {
            assert!(Network::from_spec(spec).unwrap().warnings().is_empty(), "{spec}");
        }
        let torus = Network::from_toml(NAMED_TORUS, "named-torus.toml").unwrap();
        assert_eq!((torus.hosts(), torus.host("nid00023")), (16, Some(NodeId(15))));
        assert_eq!(torus.io_hosts().len(), 2);
    }

    /// Every spine carries its part of what racks send to each other.
    #[test]
    fn four_racks_use_all_their_spines() {
        let net = Network::from_toml(FOUR_RACKS, "four-racks.toml").unwrap();
        assert_eq!((net.hosts(), net.vertices()), (32, 44));
        let all = (0..32).flat_map(|a| (0..32).map(move |b| (NodeId(a), NodeId(b), 1)));
        let load = net.route_load(all).unwrap();
        let into = |switch: &str| -> u64 {
            let switch = net.resolve(switch).unwrap();
            net.in_links(switch).iter().map(|l| load.bytes[l.index()]).sum()
        };
        for spine in ["spine1rail1", "spine2rail1", "spine1rail2", "spine2rail2"] {
            assert_eq!(into(spine), 32 * 24 / 4, "{spine}");
        }
    }
}

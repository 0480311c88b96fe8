//! Networks from TOML files, and names.
#![allow(clippy::unwrap_used)]

use optiq_net::{Geometry, NetError, Network, NodeId, Routing};
use proptest::prelude::*;
use std::path::Path;

const LAB: &str = r#"[network]
name = "two leaves"
capacity = "100Mbit/s"
routing = "table"

[hosts]
names = ["a.site.gov", "b", "10.0.0.3"]
[hosts.aliases]
"b-ib0" = "b"

[switches]
count = 2

[[links]]
from = "s0"
to = ["a.site.gov", "b"]

[[links]]
from = "s1"
to = "10.0.0.3"
capacity = 1000
duplex = false

[[links]]
from = "10.0.0.3"
to = "s1"
duplex = false

[[links]]
from = "s0"
to = "s1"
capacity = "1GB/s"
lanes = 2

[[next_hops]]
to = "a.site.gov"
via = { s0 = "a.site.gov", s1 = "s0" }

[[next_hops]]
to = "b"
via = { s0 = "b-ib0", s1 = "s0" }

[[next_hops]]
to = "10.0.0.3"
via = { s0 = "s1" , s1 = "10.0.0.3" }

[[io]]
host = ["b", "a.site.gov"]
capacity = "2GB/s"
"#;

#[test]
fn a_whole_file() {
    let network = Network::from_toml(LAB, "lab.toml").unwrap();
    assert_eq!((network.spec(), network.title()), ("file:lab.toml", "two leaves"));
    assert_eq!((network.hosts(), network.vertices(), network.links().len()), (3, 5, 8));
    let link = |a: &str, b: &str| {
        let [a, b] = [a, b].map(|n| network.resolve(n).unwrap());
        *network.link(network.link_between(a, b).unwrap())
    };
    assert_eq!(link("s0", "b").capacity, 12.5e6);
    assert_eq!(link("s1", "10.0.0.3").capacity, 1000.0);
    assert_eq!(link("10.0.0.3", "s1").capacity, 12.5e6);
    assert_eq!((link("s1", "s0").capacity, link("s1", "s0").lanes), (2e9, 2));
    let mut route = Vec::new();
    network.route(NodeId(0), NodeId(2), &mut route).unwrap();
    assert_eq!(route.iter().map(|l| network.link(*l).to.0).collect::<Vec<_>>(), [3, 4, 2]);
    assert!(network.routing().is_destination_based() && matches!(network.geometry(), Geometry::General));
}

#[test]
fn names_indices_and_coordinates() {
    let network = Network::from_toml(LAB, "lab.toml").unwrap();
    assert_eq!(network.host("a"), Some(NodeId(0)), "the file has the domain");
    assert_eq!(network.host("b.site.gov"), Some(NodeId(1)), "the launcher has it");
    assert_eq!(network.host("b-ib0"), Some(NodeId(1)));
    assert_eq!(network.host("10"), None, "an address is no name with a domain");
    assert_eq!(network.host("s0"), None, "a switch");
    assert_eq!(network.resolve("s0"), Ok(NodeId(3)));
    assert_eq!(network.resolve(" 2 "), Ok(NodeId(2)));
    for text in ["5", "99999999999", "c", "", "0,1", "-1"] {
        let error = network.resolve(text).unwrap_err();
        assert!(matches!(error, NetError::Unknown { .. }), "{text}: {error}");
    }
    let torus = Network::from_spec("torus:4x3").unwrap();
    assert_eq!(torus.resolve("h5"), Ok(NodeId(5)));
    assert_eq!(torus.resolve("(1, 2)"), Ok(NodeId(5)));
    assert_eq!(
        torus.resolve("1,3").unwrap_err().to_string(),
        "\"1,3\" is not in the network; coordinates inside 4x3 is expected"
    );
    assert!(torus.resolve("1,2,0").is_err());

    // Two hosts with one short name: it means neither.
    let twins = "hosts = { names = [\"n.east\", \"n.west\", \"m.east\", \"m\"] }";
    let twins = Network::from_toml(twins, "twins").unwrap();
    assert_eq!((twins.host("n"), twins.host("n.west"), twins.host("m")), (None, Some(NodeId(1)), Some(NodeId(3))));
}

#[test]
fn grids_in_files() {
    let text = "network = { capacity = \"1GB/s\" }\ngrid = { dims = [4, 4], wrap = [true, false] }\n\
                hosts = { prefix = \"nid\", width = 5, first = 8 }\n\
                links = [{ from = \"nid00008\", to = \"nid00009\", capacity = \"2GB/s\" }]";
    let network = Network::from_toml(text, "grid.toml").unwrap();
    assert_eq!(network.hosts(), 16);
    assert_eq!(network.host("nid00023"), Some(NodeId(15)));
    assert_eq!(network.diameter(), 5);
    let capacity = |a, b| network.link(network.link_between(NodeId(a), NodeId(b)).unwrap()).capacity;
    assert_eq!((capacity(0, 1), capacity(1, 0), capacity(1, 2)), (2e9, 2e9, 1e9));
    assert!(matches!(network.routing(), Routing::DimensionOrder(_)));
    assert!(network.link_between(NodeId(0), NodeId(3)).is_none());
    assert!(network.link_between(NodeId(0), NodeId(12)).is_some());
}

#[test]
fn errors_name_the_line() {
    let cases = [
        ("[hosts]\nnames = [\"a\"\n", "line ", "array"),
        ("\n\n[hots]\n", "line 3", "unknown field `hots`"),
        ("[hosts]\ncount = -1\n", "line 2", "-1"),
        ("[hosts]\ncount = 99999999999\n", "line 1", "at most 4194304"),
        ("[hosts]\nnames = [\"a\", \"a\"]\n", "line 1", "\"a\" is given twice"),
        ("[hosts]\nnames = [\"a\"]\ncount = 1\n", "line 1", "one or the other"),
        ("[hosts]\ncount = 2\n[[links]]\nfrom = \"h0\"\nto = \"h9\"\n", "line 3", "no host or switch \"h9\""),
        ("[hosts]\ncount = 2\n[[links]]\nfrom = \"h0\"\nto = \"h0\"\n", "line 3", "to itself"),
        ("[hosts]\ncount = 2\n[[links]]\nfrom = \"h0\"\nto = \"h1\"\nlanes = 0\n", "line 3", "lanes = 0"),
        ("[hosts]\ncount = 2\n[[links]]\nfrom = \"h0\"\nto = []\n", "line 5", "empty list"),
        ("[hosts]\ncount = 2\n[[links]]\nfrom = \"h0\"\nto = \"h1\"\ncapacity = \"fast\"\n", "line 6", "is not a rate"),
        ("[hosts]\ncount = 2\n[[links]]\nfrom = \"h0\"\nto = \"h1\"\ncapacity = inf\n", "line 6", "is not a rate"),
        ("[hosts]\ncount = 2\n[[links]]\nfrom = \"h0\"\nto = \"h1\"\ncapacity = -3\n", "line 6", "is not a rate"),
        ("[hosts]\ncount = 2\n[[links]]\nfrom = \"h0\"\nto = [\"h1\", \"h1\"]\n", "line 3", "given twice"),
        ("[network]\nrouting = \"best\"\n[hosts]\ncount = 1\n", "line 2", "dmodk, ecmp, tables, dor"),
        ("[network]\nrouting = \"table\"\n[hosts]\ncount = 1\n", "line 2", "[[next_hops]]"),
        ("[network]\nseed = 1\n[hosts]\ncount = 1\n", "line 2", "zone0"),
        ("[grid]\ndims = [4, 0]\n", "line 1", "length 0"),
        ("[grid]\ndims = [65536, 65536]\n", "line 1", "more than"),
        ("[grid]\ndims = [4]\nwrap = [true, true]\n", "line 1", "wrap"),
        ("hosts = { count = 3 }\n[grid]\ndims = [4]\n", "line 1", "4 vertices"),
        ("[grid]\ndims = [5]\n[[links]]\nfrom = \"h0\"\nto = \"h2\"\n", "line 3", "neighbours of the grid"),
        ("[hosts]\ncount = 1\n[hosts.aliases]\nx = \"y\"\n", "line 4", "no host or switch \"y\""),
        ("[hosts]\ncount = 2\n[hosts.aliases]\nh1 = \"h0\"\n", "line 4", "given twice"),
        ("[hosts]\ncount = 2\n[[next_hops]]\nto = \"h0\"\nvia = { h1 = \"h0\" }\n", "line 3", "no link"),
    ];
    for (text, line, expected) in cases {
        let error = Network::from_toml(text, "net.toml").unwrap_err().to_string();
        assert!(error.starts_with("topology file net.toml, ") && error.contains(line), "{text}: {error}");
        assert!(error.contains(expected) && !error.contains('\n'), "{text}: {error}");
    }
    let whole = [
        ("", "at least one host"),
        ("network = { routing = \"dor\" }\nhosts = { count = 2 }", "needs a mesh or a torus"),
        ("grid = { dims = [4] }\nnext_hops = [{ to = \"h0\", via = { h1 = \"h2\", h2 = \"h1\" } }]", "h1 -> h2 -> h1"),
    ];
    for (text, expected) in whole {
        let error = Network::from_toml(text, "net.toml").unwrap_err().to_string();
        assert!(error.starts_with("topology file net.toml: ") && error.contains(expected), "{text}: {error}");
    }
}

#[test]
fn files_that_cannot_be_read() {
    for (path, expected) in [
        ("no/such/file.toml", "topology file no/such/file.toml: "),
        (".", "regular file"),
        ("/dev/zero", "regular file"),
    ] {
        let error = Network::from_spec(&format!("file:{path}")).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let dir = std::env::temp_dir().join(format!("optiq-net-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("net.toml");
    std::fs::write(&path, LAB).unwrap();
    let network = Network::from_file(Path::new(&path)).unwrap();
    std::fs::write(&path, b"\xff\xfe").unwrap();
    let error = Network::from_file(&path).unwrap_err().to_string();
    std::fs::remove_dir_all(&dir).unwrap();
    assert_eq!(network.fingerprint(), Network::from_toml(LAB, "elsewhere").unwrap().fingerprint());
    assert!(error.contains("not UTF-8"), "{error}");
}

const MARKED: &str = r#"
[hosts]
count = 4
[switches]
count = 1
[[links]]
from = "s0"
to = ["h0", "h1", "h2", "h3"]
[[io]]
host = ["h3", "h1"]
capacity = "2GB/s"
[[io]]
host = "h0"
"#;

#[test]
fn hosts_are_marked_for_io() {
    let net = Network::from_toml(MARKED, "net.toml").unwrap();
    let found: Vec<_> = net.io_hosts().iter().map(|io| (io.host.0, io.storage)).collect();
    assert_eq!(found, [(0, None), (1, Some(2e9)), (3, Some(2e9))]);
    let plain = Network::from_toml(MARKED.split("[[io]]").next().unwrap(), "net.toml").unwrap();
    assert!(plain.io_hosts().is_empty());
    assert_eq!(net.fingerprint(), plain.fingerprint());
    for (from, to, expected) in [
        ("host = \"h0\"", "host = \"h1\"", "line 12: the I/O host \"h1\" is given twice"),
        ("host = \"h0\"", "host = \"s0\"", "line 12: \"s0\" is a switch"),
        ("host = \"h0\"", "host = \"h9\"", "line 12: there is no host or switch \"h9\""),
        ("host = \"h0\"", "name = \"h0\"", "unknown field"),
        ("\"2GB/s\"", "0", "above zero"),
    ] {
        let error = Network::from_toml(&MARKED.replace(from, to), "net.toml").unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

proptest! {
    #[test]
    fn random_text_does_not_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), text in "[a-z\\[\\]{}=\",.0-9\n ]{0,120}") {
        let _ = Network::from_toml(&String::from_utf8_lossy(&bytes), "random");
        let _ = Network::from_toml(&text, "random");
    }

    #[test]
    fn damaged_files_do_not_panic(at in 0usize..1000, cut in 0usize..12, with in "[a-z0-9\\[\\]{}=\",\n-]{0,6}") {
        let at = at.min(LAB.len());
        let end = (at + cut).min(LAB.len());
        let text = format!("{}{with}{}", &LAB[..at], &LAB[end..]);
        if let Err(error) = Network::from_toml(&text, "damaged") {
            prop_assert!(error.to_string().starts_with("topology file damaged"), "{}", error);
        }
    }
}

/// A fat tree as a file lists it, link by link.
fn as_file(spec: &str, routing: &str) -> Network {
    let tree = Network::from_spec(spec).unwrap();
    let switches = tree.vertices() - tree.hosts();
    let mut text = format!("{routing}\nhosts = {{ count = {} }}\nswitches = {{ count = {switches} }}\n", tree.hosts());
    for link in tree.links() {
        let (from, to, lanes) = (tree.name(link.from), tree.name(link.to), link.lanes);
        text += &format!("[[links]]\nfrom = \"{from}\"\nto = \"{to}\"\nlanes = {lanes}\nduplex = false\n");
    }
    Network::from_toml(&text, "tree.toml").unwrap()
}

fn route(network: &Network, src: u32, dst: u32) -> Vec<u32> {
    let mut route = Vec::new();
    network.route(NodeId(src), NodeId(dst), &mut route).unwrap();
    route.iter().map(|l| network.link(*l).to.0).collect()
}

#[test]
fn a_fat_tree_in_a_file_is_routed_as_that_of_a_specification() {
    for spec in ["fattree:4x4:1x2", "fattree:k=4", "fattree:3x3x2:1x3x2:1x1x2", "fattree:2x3x2:1x2x4"] {
        let tree = Network::from_spec(spec).unwrap();
        for file in [as_file(spec, ""), as_file(spec, "network = { routing = \"dmodk\" }")] {
            let hosts = tree.hosts() as u32;
            for (a, b) in (0..hosts).flat_map(|a| (0..hosts).map(move |b| (a, b))) {
                assert_eq!(route(&file, a, b), route(&tree, a, b), "{spec}: {a} to {b}");
            }
            assert!(file.warnings().is_empty() && file.routing().is_destination_based());
        }
    }
}

#[test]
fn the_order_in_which_hosts_are_listed_does_not_matter_to_dmodk() {
    // Hosts are dealt out to four leaves, so that those of a leaf have numbers that are alike modulo two.
    let mut text =
        String::from("hosts = { count = 16 }\nswitches = { names = [\"l0\", \"l1\", \"l2\", \"l3\", \"a\", \"b\"] }\n");
    (0..16).for_each(|h| text += &format!("[[links]]\nfrom = \"h{h}\"\nto = \"l{}\"\n", h % 4));
    text += "[[links]]\nfrom = [\"a\", \"b\"]\nto = \"l[0-3]\"\n";
    let network = Network::from_toml(&text, "striped.toml").unwrap();
    let all = (0..16).flat_map(|a| (0..16).map(move |b| (NodeId(a), NodeId(b), 1)));
    let load = network.route_load(all).unwrap();
    let from = |spine: &str| network.out_links(network.resolve(spine).unwrap()).map(|l| load.bytes[l.index()]);
    assert!(from("a").chain(from("b")).all(|bytes| bytes == 24), "a spine carries more than the other");
}

#[test]
fn shortest_routes_leave_equal_paths_unused_and_that_is_said() {
    let spec = "fattree:4x4:1x2";
    let one_spine = as_file(spec, "network = { routing = \"shortest\" }");
    assert!((0..4).flat_map(|a| (12..16).map(move |b| (a, b))).all(|(a, b)| route(&one_spine, a, b)[1] == 20));
    let warnings = one_spine.warnings();
    assert!(warnings.len() == 1 && warnings[0].contains("equal paths unused, as from s1 towards h0"), "{warnings:?}");
    assert!(!warnings[0].contains('\n'));
    for unambiguous in ["star:16", "fattree:4x4:1x1,routing=shortest", "torus:4x4", "mesh:5,routing=shortest"] {
        assert!(Network::from_spec(unambiguous).unwrap().warnings().is_empty(), "{unambiguous}");
    }
    assert!(Network::from_spec("torus:4x4,routing=shortest").unwrap().unused_equal_paths().is_some());
}

#[test]
fn ecmp_spreads_pairs_over_equal_paths_by_seed() {
    let spec = "fattree:8x8:1x4";
    let network = as_file(spec, "network = { routing = \"ecmp\" }");
    assert!(!network.routing().is_destination_based() && network.warnings().is_empty());
    let spines = |network: &Network| -> Vec<u32> {
        (0..8).flat_map(|a| (8..64).map(move |b| (a, b))).map(|(a, b)| route(network, a, b)[1] - 72).collect()
    };
    let chosen = spines(&network);
    for spine in 0..4 {
        let share = chosen.iter().filter(|&&s| s == spine).count();
        assert!((80..150).contains(&share), "spine {spine} has {share} of 448 pairs");
    }
    assert_eq!(chosen, spines(&as_file(spec, "network = { routing = \"ecmp\", seed = 0 }")));
    let other = as_file(spec, "network = { routing = \"ecmp\", seed = 1 }");
    assert_ne!(chosen, spines(&other));
    assert_ne!(network.fingerprint(), other.fingerprint());
}

#[test]
fn files_take_lists_of_names() {
    let text = "[hosts]\nnames = \"n[1-4]\"\n[switches]\nnames = [\"s[1-2]\", \"top\"]\n[network]\nrouting = \"tables\"\n\
                [[links]]\nfrom = \"s1\"\nto = \"n[1-2],top\"\n[[links]]\nfrom = \"s2\"\nto = [\"n[3-4]\", \"top\"]\n\
                [[next_hops]]\nto = \"n[1-2]\"\nvia = { s2 = \"top\", top = \"s1\" }\n\
                [[next_hops]]\nto = \"n[3-4]\"\nvia = { s1 = \"top\", top = \"s2\" }\n\
                [[next_hops]]\nto = \"n1\"\nvia = { s1 = \"n1\" }\n[[next_hops]]\nto = \"n4\"\nvia = { s2 = \"n4\" }\n\
                [[io]]\nhost = \"n[2-3]\"\n";
    let network = Network::from_toml(text, "lists.toml").unwrap();
    assert_eq!((network.hosts(), network.vertices(), network.links().len()), (4, 7, 12));
    assert_eq!(route(&network, 0, 3), [4, 6, 5, 3]);
    assert_eq!(network.io_hosts().len(), 2);
    for (text, expected) in [
        ("hosts = { names = \"n[1-\" }", "line 1: list of names \"n[1-\": found the range \"1-\""),
        ("hosts = { names = \"n[1-9999999]\" }", "more than 4194304 names"),
        ("hosts = { names = \"n[1-2]\" }\nlinks = [{ from = \"n1\", to = \"n[1-9]\" }]", "line 2: list of names"),
        (
            "hosts = { names = \"n[1-2]\" }\nlinks = [{ from = \"n[1-2]\", to = \"n[1-2]\" }]",
            "line 2: this link joins a vertex",
        ),
    ] {
        let error = Network::from_toml(text, "x").unwrap_err().to_string();
        assert!(error.contains(expected) && !error.contains('\n'), "{error}");
    }
}

#[test]
fn names_in_two_domains_are_two_hosts() {
    let network = Network::from_toml("hosts = { names = [\"n1.east\", \"n2.east\", \"n3\"] }", "x").unwrap();
    assert_eq!(network.host("n1"), Some(NodeId(0)));
    assert_eq!(network.host("n1.west"), None, "another domain");
    assert_eq!(network.host("n3.west"), Some(NodeId(2)));
    assert!(network.find_host("n3").unwrap().exact && !network.find_host("n3.west").unwrap().exact);
}

#[test]
fn a_network_beyond_a_limit_is_not_built() {
    for (spec, vertices) in
        [("torus:1024x1024", 1 << 20), ("star:5000", 5001), ("fattree:k=48", 30528), ("dragonfly+:3456", 3888)]
    {
        let error = Network::from_spec_within(spec, 3000).unwrap_err();
        assert_eq!(error, NetError::TooLarge { spec: spec.into(), vertices, most: 3000 });
    }
    assert!(Network::from_spec_within("star:2999", 3000).is_ok());
}

//! Fabrics from what their tools print. The files in data/fabrics/ are of OpenSM on a simulated fabric;
//! data/fabrics/README.md says which.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

use optiq_net::import::{HostRule, ImportOptions, ImportedFabric, Importer};
use optiq_net::{NetError, Network, NodeId};
use std::path::Path;

/// A file of data/fabrics/.
fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/fabrics").join(name);
    std::fs::read_to_string(path).unwrap()
}

fn import_with(texts: &[&[u8]], options: &ImportOptions) -> Result<ImportedFabric, NetError> {
    let mut importer = Importer::new();
    for (number, text) in texts.iter().enumerate() {
        importer.read(*text, &format!("f{number}"))?;
    }
    importer.finish(options)
}

fn import(texts: &[&str]) -> ImportedFabric {
    let bytes: Vec<&[u8]> = texts.iter().map(|text| text.as_bytes()).collect();
    import_with(&bytes, &ImportOptions::default()).unwrap()
}

fn refusal(text: &[u8]) -> String {
    import_with(&[text], &ImportOptions::default()).unwrap_err().to_string()
}

fn network(fabric: &ImportedFabric) -> Network {
    Network::from_toml(&fabric.toml("test").unwrap(), "test.toml").unwrap()
}

fn route(net: &Network, from: &str, to: &str) -> Vec<String> {
    let mut links = Vec::new();
    net.route(net.resolve(from).unwrap(), net.resolve(to).unwrap(), &mut links).unwrap();
    links.iter().map(|link| net.name(net.link(*link).to).to_owned()).collect()
}

fn routes(fabric: &ImportedFabric) -> String {
    let mut text = Vec::new();
    fabric.write_routes(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn warned(fabric: &ImportedFabric, words: &str) {
    assert!(fabric.warnings.iter().any(|w| w.contains(words)), "\"{words}\" is not in {:#?}", fabric.warnings);
}

/// The fabric of data/fabrics/: numbers follow from its README.
fn check_small(fabric: &ImportedFabric) {
    assert_eq!(fabric.warnings, Vec::<String>::new());
    assert_eq!((fabric.hosts, fabric.switches, fabric.levels), (16, 6, 2));
    // 16 cables to hosts and 4 x 2 x 2 between switches, both ways; the latter come in pairs.
    assert_eq!((fabric.links, fabric.parallel_links), (2 * (16 + 16), 2 * 16));
    assert_eq!((fabric.rails, fabric.subnets, fabric.other_adapters, fabric.tables), (1, 1, 0, 6));
    assert_eq!((fabric.pairs, fabric.pairs_resolved, fabric.pairs_unresolved()), (16 * 15, 16 * 15, 0));
}

#[test]
fn all_forms_give_the_same_network() {
    let cables = ["ibnetdiscover.txt", "opensm-subnet.lst", "ibsim.net"].map(data);
    let tables = ["opensm-lfts.dump", "dump_fts.txt", "opensm.fdbs"].map(data);
    let mut first = None;
    for (c, cables) in cables.iter().enumerate() {
        for (t, tables) in tables.iter().enumerate() {
            // Net files have no GUIDs, and opensm.fdbs no names.
            if (c, t) == (2, 2) {
                continue;
            }
            let (fabric, other_way) = (import(&[cables, tables]), import(&[tables, cables]));
            check_small(&fabric);
            check_small(&other_way);
            let found = (network(&fabric).fingerprint(), routes(&fabric));
            assert_eq!((network(&other_way).fingerprint(), routes(&other_way)), found);
            // ibsim.net says no rate, and 1 GB/s is what SDR has.
            assert_eq!(fabric.links_without_rate, if c == 2 { fabric.links } else { 0 });
            assert_eq!(*first.get_or_insert_with(|| found.clone()), found, "forms {c} and {t}");
        }
    }
    let (_, routes) = first.unwrap();
    // By hand from the tables: for LID 0x16 L-00 has port 8, S2-1 port 8, L-03 port 4.
    assert!(routes.contains("\nnode0001,node0016,1>L-00/1 8>S2-1/2 8>L-03/8 4>node0016/1\n"), "{routes}");
    assert!(routes.contains("\nnode0001,node0002,1>L-00/1 2>node0002/1\n"), "{routes}");
    assert_eq!(routes.lines().count(), 1 + 16 * 15);
}

#[test]
fn routes_of_the_network_are_those_of_the_tables() {
    let fabric = import(&[&data("ibnetdiscover.txt"), &data("opensm-lfts.dump")]);
    let net = network(&fabric);
    for line in routes(&fabric).lines().skip(1) {
        let mut cells = line.split(',');
        let (from, to, words) = (cells.next().unwrap(), cells.next().unwrap(), cells.next().unwrap());
        let vertices: Vec<&str> = words.split(' ').map(|w| w.split(['>', '/']).nth(1).unwrap()).collect();
        assert_eq!(route(&net, from, to), vertices);
    }
    // Each leaf's four hosts are reached from twelve others, by four cables of which OpenSM gives each one host.
    assert_eq!(fabric.routes_per_link_max, Some(12));
}

#[test]
fn packets_may_carry_further_lids() {
    let texts = [data("lmc1-ibnetdiscover.txt"), data("lmc1-opensm-lfts.dump")];
    let texts = texts.each_ref().map(|text| text.as_bytes());
    let with = |lid_offset| import_with(&texts, &ImportOptions { lid_offset, ..ImportOptions::default() }).unwrap();
    for fabric in [with(0), with(1), with(2)] {
        check_small(&fabric);
    }
    // What ibtracert says of LIDs 2 to 38 and 3 to 39.
    assert!(routes(&with(0)).contains("\nnode0001,node0016,1>L-00/1 8>S2-1/2 8>L-03/8 4>node0016/1\n"));
    assert!(routes(&with(1)).contains("\nnode0001,node0016,1>L-00/1 6>S2-0/2 7>L-03/5 4>node0016/1\n"));
    assert_eq!(routes(&with(2)), routes(&with(0)));
}

#[test]
fn dialects_are_read_alike() {
    let (cables, tables, distances) = (data("ibnetdiscover.txt"), data("opensm-lfts.dump"), data("opensm.fdbs"));
    let expected = network(&import(&[&cables, &tables])).fingerprint();
    let same = |texts: &[&[u8]]| {
        let fabric = import_with(texts, &ImportOptions::default()).unwrap();
        assert_eq!(fabric.warnings, Vec::<String>::new());
        assert_eq!(network(&fabric).fingerprint(), expected);
    };
    let old = cables.replace("base port 0", "port 0").replace("\nCa\t", "\nHca\t").replace(" lmc 0", "");
    same(&[old.as_bytes(), tables.as_bytes()]);
    let external = cables.replace("[5]\t\"S-", "[5][ext 3]\t\"S-").replace("base port 0", "enhanced port 0");
    same(&[external.as_bytes(), tables.as_bytes()]);
    same(&[format!("\u{feff}{}", cables.replace('\n', "\r\n")).as_bytes(), tables.replace('\n', "\r\n").as_bytes()]);
    let utf16: Vec<u8> = format!("\u{feff}{tables}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    same(&[cables.as_bytes(), &utf16]);
    // Decimal LIDs, no comments, no quotes around names, a directed route for a LID.
    let mut plain = String::new();
    for line in tables.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[0].strip_prefix("0x") {
            Some(lid) => plain.push_str(&format!("{} {}\n", u16::from_str_radix(lid, 16).unwrap(), words[1])),
            None => {
                plain.push_str(&format!("{}\n", line.replace('\'', "").replace("Lid ", "DR path slid 0; dlid 0; 0,")))
            }
        }
    }
    same(&[cables.as_bytes(), plain.as_bytes()]);
    let older = distances.replace("dump_ucast_routes", "__osm_ucast_mgr_dump_ucast_routes");
    same(&[cables.as_bytes(), older.replace(": 02   : yes", ": 02   : No! : 1 hop better").as_bytes()]);
    // One file, with the words of other tools before, between and behind.
    let noise = "-E- Cannot find something\nibwarn: [12] sim_connect: attached\n*** WARNING ***: replaced\n\n# end\n";
    same(&[format!("{noise}{tables}{noise}{cables}{noise}").as_bytes()]);
    let list = data("opensm-subnet.lst").replace("LID:", "LID:0x").replace("{S2-1}", "{S2-{1}}");
    assert_eq!(network(&import(&[&list, &distances])).fingerprint(), expected);
}

#[test]
fn lids_of_zero_come_from_tables() {
    let mut cables = data("ibnetdiscover.txt");
    for lid in 1..=22 {
        cables = cables.replace(&format!(" lid {lid} "), " lid 0 ");
    }
    check_small(&import(&[&cables, &data("dump_fts.txt")]));
    let fabric = import(&[&cables, &data("opensm.fdbs")]);
    assert_eq!(fabric.pairs_resolved, 0);
    warned(
        &fabric,
        "240 pairs of hosts stop at their source, such as node0002 to node0001: the destination has no LID",
    );
}

#[test]
fn a_table_that_names_a_port_without_a_cable_is_told() {
    // The cable between L-03's port 8 and S2-1's port 8 is gone.
    let cables: Vec<String> = data("ibnetdiscover.txt")
        .split("\n\n")
        .map(|block| match (block.contains("# \"L-03\" base"), block.contains("# \"S2-1\" base")) {
            (false, false) => block.to_owned(),
            _ => block.lines().filter(|l| !l.starts_with("[8]")).collect::<Vec<_>>().join("\n"),
        })
        .collect();
    let fabric = import(&[&cables.join("\n\n"), &data("opensm-lfts.dump")]);
    warned(&fabric, "stop at \"S2-1\", such as node0001 to node0016: its table names port 8, which has no cable");
    let stop = fabric.unresolved.iter().find(|u| u.at.as_deref() == Some("S2-1") && u.to == "node0016").unwrap();
    assert!(stop.pairs >= 1 && stop.why.ends_with("no cable"), "{stop:?}");
    assert_eq!(fabric.unresolved.iter().map(|u| u.pairs).sum::<u64>(), fabric.pairs_unresolved());
    // Every pair that is left has its route, the others have none.
    let net = network(&fabric);
    let [from, to] = ["node0001", "node0016"].map(|name| net.resolve(name).unwrap());
    assert!(matches!(net.route(from, to, &mut Vec::new()), Err(NetError::Unreachable { .. })));
    assert_eq!(routes(&fabric).lines().count() as u64, 1 + fabric.pairs_resolved);
}

/// Two switches with a host each.
const PAIR: &str = "Switch 4 \"s0\"\n[1] \"a\"[1]\n[2] \"s1\"[2]\n\nSwitch 4 \"s1\"\n[1] \"b\"[1]\n[2] \"s0\"[2]\n\n\
                    Hca 1 \"a\"\n[1] \"s0\"[1]\n\nHca 1 \"b\"\n[1] \"s1\"[1]\n";

/// Its tables: LIDs 3 of a and 4 of b, with the port of s1 towards b.
fn pair_tables(port: &str) -> String {
    let a = "0x0003 {} : (Channel Adapter portguid 0x11: 'a')\n";
    let b = "0x0004 {} : (Channel Adapter portguid 0x21: 'b')\n";
    let table = |guid: u32, name: &str, towards_a: &str, towards_b: &str| {
        let (a, b) = (a.replace("{}", towards_a), b.replace("{}", towards_b));
        format!("Unicast lids [0x0-0x4] of switch Lid 1 guid 0x{guid:016x} ({name}):\n{a}{b}2 valid lids dumped\n")
    };
    table(1, "s0", "001", "002") + &table(2, "s1", "002", port)
}

#[test]
fn loops_are_named() {
    let fabric = import(&[PAIR, &pair_tables("002")]);
    assert_eq!(fabric.pairs_resolved, 1);
    warned(&fabric, "the tables towards b form a loop: s0 -> s1 -> s0");
    assert_eq!(routes(&fabric), "from,to,route\nb,a,1>s1/1 2>s0/2 1>a/1\n");
    assert_eq!(route(&network(&fabric), "b", "a"), ["s1", "s0", "a"]);
}

#[test]
fn other_stops_are_named() {
    let whole = import(&[PAIR, &pair_tables("001")]);
    assert_eq!((whole.pairs_resolved, whole.warnings.len()), (2, 0), "{:?}", whole.warnings);
    let fabric = import(&[PAIR, &pair_tables("255")]);
    warned(&fabric, "1 pairs of hosts stop at \"s1\", such as a to b: its table has no entry");
    warned(&import(&[PAIR, &pair_tables("000")]), "its table names port 0, and something else is joined there");
    let (first, _) = pair_tables("001")
        .split_once("Unicast lids [0x0-0x4] of switch Lid 1 guid 0x0000000000000002")
        .map(|(a, b)| (a.to_owned(), b.to_owned()))
        .unwrap();
    warned(&import(&[PAIR, &first]), "stop at \"s1\", such as b to a: no file has its table");
    warned(
        &import(&[PAIR, &pair_tables("001").replace("(s1)", "(s9)")]),
        "the table of 0x0000000000000002 \"s9\" is left out",
    );
    let twice = pair_tables("001") + &pair_tables("002");
    warned(&import(&[PAIR, &twice]), "the table of \"s1\" gives 1 LIDs another port than a table that was read before");
}

#[test]
fn contradictions_between_files_are_told() {
    let cables = data("ibnetdiscover.txt");
    // L-00's ports 5 and 6 are exchanged in a second file.
    let other = cables.replace("[5]\t\"S-0000000000200000\"[1]", "[5]\t\"S-0000000000200000\"[2]");
    let fabric = import(&[&cables, &other, &data("opensm-lfts.dump")]);
    warned(&fabric, "port 5 of \"L-00\" (0x0000000000200002) is joined to port 2 of \"S2-0\"");
    assert_eq!(fabric.pairs_resolved, 240);
    let lids = cables
        .replace("\"node0002\" lid 5 ", "\"node0002\" lid 2 ")
        .replace("# lid 5 lmc 0 \"L-00\"", "# lid 2 lmc 0 \"L-00\"");
    let fabric = import(&[&lids]);
    warned(&fabric, "the LID 2 is given twice: to port 1 of \"node0001\"");
    let fabric = import(&[&lids, &data("opensm-lfts.dump")]);
    warned(&fabric, "1 LIDs in tables are others than those of the file with the cables: \"node0002\"");
}

#[test]
fn what_was_cut_is_told() {
    let (cables, tables) = (data("ibnetdiscover.txt"), data("opensm-lfts.dump"));
    for end in (1..tables.len()).step_by(101) {
        let fabric = match import_with(&[cables.as_bytes(), &tables.as_bytes()[..end]], &ImportOptions::default()) {
            Ok(fabric) => fabric,
            Err(why) => {
                assert!(end < 40 && why.to_string().contains("is expected"), "{end}: {why}");
                continue;
            }
        };
        let ends_a_table = tables[..end].ends_with("dumped\n");
        assert!(ends_a_table || !fabric.warnings.is_empty(), "{end}");
        assert!(fabric.pairs_unresolved() > 0 || end + 101 > tables.len(), "{end}");
        network(&fabric);
    }
    for end in (1..cables.len()).step_by(97) {
        if let Ok(fabric) = import_with(&[&cables.as_bytes()[..end], tables.as_bytes()], &ImportOptions::default()) {
            assert!(fabric.hosts < 16 || !fabric.warnings.is_empty() || end + 97 > cables.len(), "{end}");
            network(&fabric);
        }
    }
    let list = data("opensm-subnet.lst");
    for end in [list.len() - 3, list.len() - 100, list.len() - 240] {
        let fabric = import(&[&list[..end], &tables]);
        assert_eq!(fabric.pairs_resolved, 240);
        // Of the speed only a digit is gone.
        assert_eq!(fabric.warnings.is_empty(), end == list.len() - 3, "{:?}", fabric.warnings);
    }
    warned(&import(&[&cables, &tables[..400]]), "as if it were cut");
    warned(&import(&[&cables[..1500], &tables]), "are only named at the other end of cables");
}

#[test]
fn what_is_no_fabric_is_refused() {
    assert!(refusal(b"").starts_with("fabric file f0: it is empty; what ibnetdiscover, dump_lfts"));
    assert!(refusal(b"\n\nhello \x07\n").starts_with("fabric file f0: it begins with \"hello"));
    let tables = data("opensm-lfts.dump");
    assert!(refusal(tables.as_bytes()).starts_with("no cables are in f0; what ibnetdiscover prints"));
    assert!(refusal(b"Switch 4 \"s\"\n").starts_with("no hosts are in f0; at least one channel adapter"));
    assert!(refusal(b"SwitchName=s Nodes=n[1-\n").starts_with("fabric file f0, line 1: list of names \"n[1-\""));
}

#[test]
fn adapters_are_told_by_what_they_are_joined_to() {
    // Two leaves of 4 hosts, two spines; an aggregation node inside leaf0 (37 ports), a manager at spine1.
    let mut text = String::from("Switch 37 \"leaf0\"\n[37] \"sharp\"[1]\n\nHca 1 \"sharp\"\n[1] \"leaf0\"[37]\n\n");
    text += "Switch 36 \"spine1\"\n[30] \"manager\"[1]\n\nHca 1 \"manager\"\n[1] \"spine1\"[30]\n\n";
    for leaf in 0..3 {
        let radix = if leaf == 0 { 37 } else { 36 };
        text += &format!("Switch {radix} \"leaf{leaf}\"\n");
        for spine in 0..2 {
            text += &format!("[{}] \"spine{spine}\"[{}]\n", 10 + spine, leaf + 1);
        }
        text += "\n";
        // The last leaf has a single host, and stays a leaf.
        for host in 0..if leaf == 2 { 1 } else { 4 } {
            text += &format!("Hca 1 \"n{leaf}{host}\"\n[1] \"leaf{leaf}\"[{}]\n\n", host + 1);
        }
    }
    for spine in 0..2 {
        text += &format!("Switch 36 \"spine{spine}\"\n\n");
    }
    let fabric = import(&[&text]);
    assert_eq!((fabric.hosts, fabric.other_adapters, fabric.switches, fabric.levels), (9, 2, 5, 2));
    let with = |hosts: Option<&str>, others: Option<&str>| {
        let rule = |text: Option<&str>| text.map(|text| HostRule::parse(text).unwrap());
        let options = ImportOptions { hosts: rule(hosts), others: rule(others), ..ImportOptions::default() };
        import_with(&[text.as_bytes()], &options).unwrap()
    };
    let everything = with(Some("*"), None);
    assert_eq!((everything.hosts, everything.other_adapters, everything.levels), (11, 0, 2));
    assert_eq!((with(Some("n0[0-1],manager"), None).hosts, with(None, Some("n1*")).hosts), (3, 5));
    // Slurm's list of nodes says it too, and its switches are not taken.
    let listed = import(&[&text, "SwitchName=any Nodes=n0[0-3],other\n"]);
    assert_eq!((listed.hosts, listed.other_adapters, listed.switches), (4, 7, 5));
}

#[test]
fn hosts_may_have_several_rails() {
    // Two planes of one switch, which are two subnets; LIDs are the same in both.
    let mut text = String::new();
    for plane in 0..2u32 {
        text += &format!(
            "switchguid=0x{0:x}({0:x})\nSwitch 8 \"S-{0:016x}\" # \"sw{plane}\" base port 0 lid 1 lmc 0\n",
            0x200 + plane
        );
        for host in 1..=3u32 {
            let guid = 0x100 * (plane + 1) + 0x10 * host + 0xa000;
            text += &format!("[{host}] \"H-{guid:016x}\"[1] # \"n{host} HCA-{}\" lid {} 4xEDR\n", plane + 1, host + 1);
        }
        for host in 1..=3u32 {
            let guid = 0x100 * (plane + 1) + 0x10 * host + 0xa000;
            text += &format!("\nCa 1 \"H-{guid:016x}\" # \"n{host} HCA-{}\"\n", plane + 1);
            text += &format!(
                "[1] \"S-{:016x}\"[{host}] # lid {} lmc 0 \"sw{plane}\" lid 1 4xEDR\n",
                0x200 + plane,
                host + 1
            );
        }
        text += "\n";
    }
    let table = |plane: u32, hosts: &[u32]| {
        let mut text = format!("Unicast lids [0x0-0x4] of switch Lid 1 guid 0x{:016x} (sw{plane}):\n", 0x200 + plane);
        hosts.iter().for_each(|host| text += &format!("0x{:04x} {host:03}\n", host + 1));
        text + "3 valid lids dumped\n"
    };
    let fabric = import(&[&text, &table(0, &[1, 2, 3]), &table(1, &[1, 2, 3])]);
    assert_eq!((fabric.hosts, fabric.switches, fabric.rails, fabric.subnets), (3, 2, 2, 2));
    assert_eq!((fabric.pairs_resolved, fabric.warnings.len()), (6, 0), "{:?}", fabric.warnings);
    assert_eq!(route(&network(&fabric), "n1", "n3"), ["sw0", "n3"]);
    assert_eq!(network(&fabric).unit_capacity(), 12.5e9);
    // The first plane does not know n3; the second does.
    let fabric = import(&[&text, &table(0, &[1, 2]), &table(1, &[1, 2, 3])]);
    assert_eq!(fabric.pairs_resolved, 6);
    assert_eq!(route(&network(&fabric), "n1", "n3"), ["sw1", "n3"]);
    assert_eq!(route(&network(&fabric), "n1", "n2"), ["sw0", "n2"]);
}

#[test]
fn names_that_adapters_share_are_made_different() {
    let text = "Switch 4 \"S-0000000000000001\" # \"Quantum Mellanox Technologies\" base port 0 lid 1 lmc 0\n\
                [1] \"H-000000000000000a\"[1] # \"localhost mlx5_0\" lid 2 4xHDR\n\
                [2] \"H-000000000000000b\"[1] # \"localhost mlx5_0\" lid 3 4xHDR\n\
                [3] \"H-000000000000000c\"[1] # \"c,1 [x]\" lid 4 4xHDR\n\n\
                Ca 1 \"H-000000000000000a\" # \"localhost mlx5_0\"\n\nCa 1 \"H-000000000000000b\" # \"localhost mlx5_0\"\n\n\
                Ca 1 \"H-000000000000000c\" # \"c,1 [x]\"\n";
    let fabric = import(&[text]);
    warned(&fabric, "2 adapters share their names with others, such as \"localhost\"");
    let net = network(&fabric);
    let names: Vec<&str> = (0..4).map(|v| net.name(NodeId(v))).collect();
    assert_eq!(
        names,
        ["c_1-_x_", "localhost-000000000000000a", "localhost-000000000000000b", "Quantum-Mellanox-Technologies"]
    );
}

#[test]
fn slurm_says_what_is_below_what() {
    let conf = "# Slurm's own example, with a comment\nSwitchName=s0 Nodes=tux[0-5]\nswitchname=s1 nodes=tux[6-11] LinkSpeed=9 # x\n\
                SwitchName=s2 Nodes=tux[12-17]\nSwitchName=s3 \\\n  Switches=s[0-2]\n";
    let yaml = "---\n- topology: topo1\n  tree:\n    switches:\n      - switch: wrong\n        nodes: a\n- topology: topo2\n  \
                cluster_default: true\n  tree:\n    switches:\n      - switch: s3\n        children: s[0-2]\n      - nodes: tux[0-5]\n        \
                switch: s0\n      - {switch: s1, nodes: \"tux[6-8,9-11]\"}\n      - switch: s2  # x\n        nodes: 'tux[12-17]'\n";
    let (from_conf, from_yaml) = (import(&[conf]), import(&[yaml]));
    warned(&from_yaml, "it has 2 topologies; only the cluster's default, \"topo2\", is taken");
    assert_eq!((from_conf.warnings.len(), from_yaml.warnings.len()), (0, 1), "{:?}", from_conf.warnings);
    for fabric in [&from_conf, &from_yaml] {
        assert_eq!((fabric.hosts, fabric.switches, fabric.levels, fabric.links), (18, 4, 2, 2 * 21));
        assert_eq!((fabric.pairs_resolved, fabric.routes_per_link_max), (18 * 17, None));
        assert_eq!(route(&network(fabric), "tux5", "tux12"), ["s0", "s3", "s2", "tux12"]);
    }
    assert_eq!(network(&from_conf).fingerprint(), network(&from_yaml).fingerprint());
    let blocks = import(&["BlockName=b1 Nodes=n[1-4]\nBlockName=b2 Nodes=n[5-8]\nBlockSizes=4,8\n"]);
    warned(&blocks, "nothing is said of what joins the 2 blocks");
    assert_eq!((blocks.hosts, blocks.switches, blocks.pairs_resolved), (8, 3, 56));
    let blocks = import(&[
        "- topology: t\n  block:\n    block_sizes:\n      - 4\n    blocks:\n      - block: b1\n        nodes: n[1-4]\n",
    ]);
    assert_eq!((blocks.hosts, blocks.switches), (4, 1));
    let apart = import(&["SwitchName=s0 Nodes=a[1-2]\nSwitchName=s1 Nodes=b[1-2]\n"]);
    assert_eq!((apart.subnets, apart.pairs_resolved), (2, 4));
    warned(&apart, "8 pairs of hosts are in 2 subnets that are not connected");
}

mod random {
    //! Random fabrics with random tables, walked by other means.
    use super::*;
    use proptest::prelude::*;

    /// Switches, hosts (the switch of each), cables between switches, and a table for each switch with a port for each
    /// host.
    #[derive(Debug)]
    struct RandomFabric {
        switches: usize,
        hosts: Vec<usize>,
        /// `ports[switch][port - 1]`: the host, or the other switch with its port.
        ports: Vec<Vec<Peer>>,
        tables: Vec<Vec<u8>>,
    }

    #[derive(Clone, Copy, Debug)]
    enum Peer {
        Host(usize),
        Switch(usize, usize),
    }

    fn fabric() -> impl Strategy<Value = RandomFabric> {
        let shape = (1usize..5, prop::collection::vec(any::<prop::sample::Index>(), 1..7));
        let cables = prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 0..8);
        let entries = prop::collection::vec(any::<prop::sample::Index>(), 5 * 7);
        (shape, cables, entries).prop_map(|((switches, hosts), cables, entries)| {
            let hosts: Vec<usize> = hosts.iter().map(|index| index.index(switches)).collect();
            let mut ports: Vec<Vec<Peer>> = vec![Vec::new(); switches];
            for (host, switch) in hosts.iter().enumerate() {
                ports[*switch].push(Peer::Host(host));
            }
            for (a, b) in cables {
                let (a, b) = (a.index(switches), b.index(switches));
                if a != b {
                    let (at_a, at_b) = (ports[a].len() + 1, ports[b].len() + 1);
                    ports[a].push(Peer::Switch(b, at_b));
                    ports[b].push(Peer::Switch(a, at_a));
                }
            }
            let mut entries = entries.into_iter();
            // From 0, the switch itself, to a port without a cable; about half lead to where the host is.
            let mut entry = |switch: usize, host: usize| {
                let index = entries.next().unwrap().index(2 * (ports[switch].len() + 2));
                let direct = |p: &Peer| match p {
                    Peer::Host(h) => *h == host,
                    Peer::Switch(s, _) => *s == hosts[host],
                };
                let right = ports[switch].iter().position(direct).map(|at| at + 1);
                right.filter(|_| index >= ports[switch].len() + 2).unwrap_or(index % (ports[switch].len() + 2)) as u8
            };
            let tables = (0..switches).map(|s| (0..hosts.len()).map(|h| entry(s, h)).collect()).collect();
            RandomFabric { switches, hosts, ports, tables }
        })
    }

    impl RandomFabric {
        fn cables(&self) -> String {
            let host_port = |host: usize| {
                let peer = |p: &Peer| matches!(p, Peer::Host(h) if *h == host);
                self.ports[self.hosts[host]].iter().position(peer).unwrap() + 1
            };
            let mut text = String::new();
            for (switch, ports) in self.ports.iter().enumerate() {
                text += &format!(
                    "Switch 36 \"S-{:016x}\" # \"sw{switch}\" base port 0 lid {} lmc 0\n",
                    0x200 + switch,
                    switch + 1
                );
                for (port, peer) in ports.iter().enumerate() {
                    let (id, far) = match peer {
                        Peer::Host(host) => (format!("H-{:016x}", 0x100 + 2 * host), 1),
                        Peer::Switch(other, far) => (format!("S-{:016x}", 0x200 + other), *far),
                    };
                    text += &format!("[{}] \"{id}\"[{far}] # \"\" 4xEDR\n", port + 1);
                }
                text += "\n";
            }
            for (host, &switch) in self.hosts.iter().enumerate() {
                let port = host_port(host);
                text += &format!(
                    "Ca 1 \"H-{:016x}\" # \"n{host}\"\n[1]({:x}) \"S-{:016x}\"[{port}] # lid {} lmc 0 \"sw{switch}\" lid {} 4xEDR\n\n",
                    0x100 + 2 * host,
                    0x101 + 2 * host,
                    0x200 + switch,
                    100 + host,
                    switch + 1
                );
            }
            text
        }

        fn tables(&self) -> String {
            let mut text = String::new();
            for (switch, table) in self.tables.iter().enumerate() {
                text += &format!(
                    "Unicast lids [0-200] of switch Lid {} guid 0x{:016x} ('sw{switch}'):\n",
                    switch + 1,
                    0x200 + switch
                );
                for (host, port) in table.iter().enumerate() {
                    text += &format!("0x{:04x} {port:03}\n", 100 + host);
                }
                text += &format!("{} lids dumped\n", table.len());
            }
            text
        }

        /// The vertices after `from` on the way to `to`, hop by hop.
        fn walk(&self, from: usize, to: usize) -> Option<Vec<String>> {
            let mut at = self.hosts[from];
            let mut vertices = vec![format!("sw{at}")];
            for _ in 0..=self.switches {
                let port = usize::from(self.tables[at][to]);
                match self.ports[at].get(port.checked_sub(1)?)? {
                    Peer::Host(host) if *host == to => {
                        vertices.push(format!("n{to}"));
                        return Some(vertices);
                    }
                    Peer::Host(_) => return None,
                    Peer::Switch(next, _) => at = *next,
                }
                vertices.push(format!("sw{at}"));
            }
            None
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// What is imported, written and read again has the routes of the tables and no others.
        #[test]
        fn every_route_is_that_of_the_tables(random in fabric()) {
            let options = ImportOptions { hosts: Some(HostRule::parse("n*").unwrap()), ..ImportOptions::default() };
            let texts = [random.cables(), random.tables()];
            let imported = import_with(&texts.each_ref().map(|t| t.as_bytes()), &options).unwrap();
            let net = network(&imported);
            let mut arrive = 0;
            for (from, to) in (0..random.hosts.len()).flat_map(|a| (0..random.hosts.len()).map(move |b| (a, b))) {
                let expected = if from == to { Some(Vec::new()) } else { random.walk(from, to) };
                arrive += u64::from(from != to && expected.is_some());
                let ends = [from, to].map(|h| net.resolve(&format!("n{h}")).unwrap());
                let mut links = Vec::new();
                let found = net.route(ends[0], ends[1], &mut links).ok();
                let found = found.map(|()| links.iter().map(|l| net.name(net.link(*l).to).to_owned()).collect());
                prop_assert_eq!(found, expected, "n{} to n{}", from, to);
            }
            prop_assert_eq!(imported.pairs_resolved, arrive);
            prop_assert_eq!(routes(&imported).lines().count() as u64, 1 + arrive);
            prop_assert_eq!(imported.unresolved.iter().map(|u| u.pairs).sum::<u64>(), imported.pairs_unresolved());
        }
    }
}

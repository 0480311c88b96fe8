//! Imported routes beside those of the fabric's own tools: `ibsim` simulates switches, OpenSM routes them, and every
//! route that the import finds must be the one that the simulator's console (`route FROM TO`, along the switches' own
//! tables) and `ibtracert` find, port by port; and `optiq traffic` must put bytes where `ibtracert` goes.
//!
//! Needs Debian's packages opensm, ibsim-utils and infiniband-diags, which `cargo xtask test` installs where it may; skipped with the reason
//! where they are not there. Of 324 hosts a sample of the pairs is compared, and larger fabrics are left out, as all of it takes
//! minutes: `OPTIQ_TEST_IBSIM=all cargo test --release -p optiq-cli --test ibsim -- --nocapture --test-threads 1`, and with `traced` in place of
//! `all`, 10,050 pairs of 1,296 hosts and all 104,652 of 324 by `ibtracert`, for which tests are better named: three quarters of an hour, and hours.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod support;

use optiq_studies::simulated_subnet::{CABLES, FatTree, Routes, Subnet, TABLES, missing};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::fs::File;
use std::process::Child;
use std::time::{Duration, Instant};
use support::Folder;

const TREE_324: FatTree = FatTree { leaf_lanes: 2, ..FatTree::two_levels(18, 18, 9) };
const TREE_1296: FatTree = FatTree { lanes: 9, ..FatTree::three_levels(4, 18, 18, 18, 2) };
const TREE_3456: FatTree = FatTree { lanes: 3, ..FatTree::three_levels(12, 16, 18, 18, 6) };

/// Whether the tools are there; says so if they are not.
fn has_tools() -> bool {
    let why = missing();
    if let Some(why) = &why {
        println!("skipped: {why}");
    }
    why.is_none()
}

/// Whether everything is asked for, however long it takes; says so if it is not.
fn everything() -> bool {
    let all = std::env::var_os("OPTIQ_TEST_IBSIM").is_some_and(|value| value == "all") || traces_all();
    if !all {
        println!("skipped: OPTIQ_TEST_IBSIM=all asks for what takes minutes");
    }
    all
}

/// Whether `ibtracert` is asked for each of the pairs of 1,296 hosts, which takes an hour.
fn traces_all() -> bool {
    std::env::var_os("OPTIQ_TEST_IBSIM").is_some_and(|value| value == "traced")
}

/// The words that name a subnet's files.
fn files(subnet: &Subnet) -> String {
    [CABLES, TABLES].map(|name| subnet.file(1, name).display().to_string()).join(" ")
}

/// The imported route of every pair, and what the import printed.
fn import(folder: &Folder, subnet: &Subnet, offset: u32) -> (Routes, Value) {
    let files = files(subnet);
    let line = format!("fabric import {files} --lid-offset {offset} --output net.toml --routes routes.csv --json");
    let document = serde_json::from_str(&folder.succeed(&line)).unwrap();
    let text = String::from_utf8(folder.read("routes.csv")).unwrap();
    let routes = text.lines().skip(1).map(|line| {
        let cells: Vec<&str> = line.split(',').collect();
        ((cells[0].to_owned(), cells[1].to_owned()), cells[2].to_owned())
    });
    (routes.collect(), document)
}

/// Every `step`-th pair, and every `traced`-th of those by `ibtracert` as well.
fn compare(tree: &FatTree, routing: &str, (step, traced): (usize, usize)) {
    for lmc in [0, 1] {
        let folder = Folder::new(&format!("ibsim-{}-{routing}-{lmc}", tree.hosts()));
        let mut subnet = Subnet::start(tree, routing, lmc).unwrap();
        let lids = subnet.lids(1).unwrap();
        assert_eq!(lids.len(), tree.hosts());
        let ends: Vec<(&String, u32)> = lids.iter().map(|(name, lid)| (name, *lid)).collect();
        let pairs =
            || ends.iter().flat_map(|a| ends.iter().map(move |b| (*a, *b))).filter(|(a, b)| a.1 != b.1).step_by(step);
        for offset in 0..1 << lmc {
            let (imported, document) = import(&folder, &subnet, offset);
            let all = (tree.hosts() * (tree.hosts() - 1)) as u64;
            assert_eq!((document["pairs_resolved"].as_u64(), imported.len() as u64), (Some(all), all));
            let asked: Vec<(u32, u32)> = pairs().map(|(a, b)| (a.1 + offset, b.1 + offset)).collect();
            let found = subnet.console(&asked).unwrap();
            let mut equal = 0;
            for (a, b) in pairs() {
                let key = (a.0.clone(), b.0.clone());
                assert_eq!(imported[&key], found[&key], "{routing}, LMC {lmc}, LID + {offset}: {key:?}");
                equal += 1;
            }
            let mut equal_traced = 0;
            for (a, b) in pairs().step_by(traced) {
                let key = (a.0.clone(), b.0.clone());
                let route = subnet.ibtracert(1, a.1 + offset, b.1 + offset).unwrap();
                assert_eq!(imported[&key], route, "{routing}: {key:?}");
                equal_traced += 1;
            }
            println!(
                "{} hosts, {routing}, LMC {lmc}, LID + {offset}: {equal} of {equal} pairs as the simulator's console has them, \
                 {equal_traced} of {equal_traced} as ibtracert; {} routes on a link at most",
                tree.hosts(),
                document["routes_per_link_max"]
            );
        }
    }
}

/// All pairs of 324 hosts as the simulator's console has them, and 101 of them as `ibtracert`, every one if that is asked for; else a sample.
fn compare_324(routing: &str) {
    if has_tools() {
        let of_all = (1, if traces_all() { 1 } else { 1046 });
        compare(&TREE_324, routing, if everything() { of_all } else { (97, 270) });
    }
}

#[test]
fn routes_of_324_hosts_under_ftree_are_those_of_ibtracert() {
    compare_324("ftree");
}

#[test]
fn routes_of_324_hosts_under_updn_are_those_of_ibtracert() {
    compare_324("updn");
}

#[test]
fn routes_of_324_hosts_under_dfsssp_are_those_of_ibtracert() {
    compare_324("dfsssp");
}

/// 10,050 pairs of 1,296 hosts, each as the simulator's console has it, and every hundredth as `ibtracert`; every one if that is asked for.
fn compare_1296(routing: &str) {
    if has_tools() && everything() {
        compare(&TREE_1296, routing, (167, if traces_all() { 1 } else { 100 }));
    }
}

#[test]
fn routes_of_1296_hosts_under_ftree_are_those_of_ibtracert() {
    compare_1296("ftree");
}

#[test]
fn routes_of_1296_hosts_under_updn_are_those_of_ibtracert() {
    compare_1296("updn");
}

#[test]
fn routes_of_1296_hosts_under_dfsssp_are_those_of_ibtracert() {
    compare_1296("dfsssp");
}

/// Bytes of each pair of ranks; rank r is on the r-th host by name.
fn amount(from: usize, to: usize) -> u64 {
    (1000 * (from + 1) + to) as u64
}

/// Writes a profile with a rank on each host.
fn write_profile(folder: &Folder, names: &[&String]) {
    let ranks = names.len();
    for (rank, name) in names.iter().enumerate() {
        let sent: Vec<Value> = (0..ranks).filter(|to| *to != rank).map(|to| json!([to, 1, amount(rank, to)])).collect();
        let region = json!({"name": "", "entries": 1, "seconds": 1.0, "sent": sent, "put": [], "got": []});
        let file = json!({
            "schema": "optiq-profile-rank/1", "job": "1", "rank": rank, "ranks": ranks, "host": name, "library": "",
            "source": {"name": "pml_monitoring", "collectives": true}, "complete": true, "unmatched_ends": 0,
            "merged_entries": 0, "interfaces": [], "regions": [region],
        });
        folder.write(&format!("optiq-profile-{rank:05}.json"), file.to_string());
    }
}

/// By both ends of each link that is used.
type LinkBytes = BTreeMap<(String, String), u64>;

/// What walking `ibtracert` for every pair puts on links.
fn walked(subnet: &Subnet, lids: &BTreeMap<String, u32>) -> LinkBytes {
    let mut bytes = LinkBytes::new();
    for (i, (from, lid)) in lids.iter().enumerate() {
        for (j, (_, to_lid)) in lids.iter().enumerate().filter(|(j, _)| *j != i) {
            let mut at = from.clone();
            for hop in subnet.ibtracert(1, *lid, *to_lid).unwrap().split(' ') {
                let next = hop.split(['>', '/']).nth(1).unwrap().to_owned();
                *bytes.entry((at, next.clone())).or_default() += amount(i, j);
                at = next;
            }
        }
    }
    bytes
}

/// The links of a YAML document, of which only lines of three keys are looked at.
fn links_of_yaml(text: &str) -> LinkBytes {
    let links = text.lines().skip_while(|line| *line != "\"links\":");
    let value = |line: &str, key: &str| {
        line.trim_start_matches([' ', '-']).strip_prefix(key).map(|v| v.trim_matches('"').to_owned())
    };
    let (mut bytes, mut ends, mut amount) = (LinkBytes::new(), Vec::new(), 0);
    for line in links {
        if let Some(found) = value(line, "\"bytes\": ") {
            amount = found.parse().unwrap();
        }
        if let Some(found) = value(line, "\"from\": ").or_else(|| value(line, "\"to\": ")) {
            ends.push(found);
        }
        // Keys are sorted, so that the far end comes last.
        if let [from, to] = &ends[..] {
            bytes.insert((from.clone(), to.clone()), amount);
            ends.clear();
        }
    }
    bytes
}

#[test]
fn traffic_is_where_ibtracert_goes_in_csv_and_in_yaml() {
    if !has_tools() {
        return;
    }
    let subnet = Subnet::start(&FatTree::three_levels(2, 2, 2, 2, 1), "ftree", 0).unwrap();
    let folder = Folder::new("ibsim-traffic");
    let lids = subnet.lids(1).unwrap();
    write_profile(&folder, &lids.keys().collect::<Vec<_>>());
    folder.succeed(&format!("fabric import {} --output net.toml", files(&subnet)));
    let expected = walked(&subnet, &lids);
    let csv = folder.succeed("traffic --topology file:net.toml --profile . --csv");
    let rows = csv.lines().skip(1).map(|line| line.split(',').collect::<Vec<_>>());
    let in_csv =
        rows.map(|r| ((r[0].to_owned(), r[1].to_owned()), r[6].parse().unwrap())).filter(|(_, bytes)| *bytes > 0);
    assert_eq!(in_csv.collect::<LinkBytes>(), expected);
    let yaml = folder.succeed("traffic --topology file:net.toml --profile . --yaml");
    assert!(yaml.starts_with("---\n") && yaml.contains("\n\"schema\": \"optiq-traffic/1\"\n"), "{yaml}");
    assert_eq!(links_of_yaml(&yaml), expected);
}

/// The second number of issue 20: import and walk of 3,456 hosts. It prints the time and holds the memory to 1 GB.
#[test]
fn a_fabric_of_3456_hosts_is_imported_in_a_gigabyte() {
    if !has_tools() || !everything() {
        return;
    }
    let subnet = Subnet::start(&TREE_3456, "ftree", 0).unwrap();
    let folder = Folder::new("ibsim-3456");
    let lines = |name: &str| std::fs::read(subnet.file(1, name)).unwrap().split(|b| *b == b'\n').count();
    let lines = lines(CABLES) + lines(TABLES);
    let line = format!("fabric import {} --output net.toml --json", files(&subnet));
    let mut command = folder.command(&line.split_whitespace().collect::<Vec<_>>());
    let began = Instant::now();
    let child = command.stdout(File::create(folder.path("document.json")).unwrap()).spawn().unwrap();
    let kib = peak_memory(child);
    let seconds = began.elapsed().as_secs_f64();
    let document: Value = serde_json::from_slice(&folder.read("document.json")).unwrap();
    assert_eq!((document["hosts"].as_u64(), document["pairs_unresolved"].as_u64()), (Some(3456), Some(0)));
    println!(
        "3456 hosts: {lines} lines in {seconds:.2} s, of which {} s for all pairs, {kib} KiB; the network file has {} bytes",
        document["routing_seconds"],
        folder.read("net.toml").len()
    );
    assert!(kib < 1_000_000_000 / 1024);
    let began = Instant::now();
    folder.succeed("topology file:net.toml --route node0001 node3456");
    println!("optiq topology reads it in {:.2} s", began.elapsed().as_secs_f64());
}

/// Waits for a child, and gives the most memory that it has had resident, in KiB, as far as it was looked at.
fn peak_memory(mut child: Child) -> i64 {
    let mut most = 0;
    loop {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse().ok());
        most = most.max(kib.unwrap_or(0));
        if let Some(status) = child.try_wait().unwrap() {
            assert!(status.success());
            return most;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

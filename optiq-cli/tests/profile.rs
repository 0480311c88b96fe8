//! `optiq profile` and `optiq traffic`: what is set, what is shown of files that were written by hand, and how gaps are told.
//! Runs under MPI are in tests/profile.rs.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "support/profiled.rs"]
mod profiled;
mod support;

use profiled::{file, file_with_sites, profiled, two_jobs};
use serde_json::{Value, json};
use std::process::Command;
use support::Folder;

const TREE: &str = "fattree:2x2:1x1";

#[test]
fn totals_regions_and_pairs_are_shown() {
    let folder = profiled("profile-show");
    let document: Value = serde_json::from_str(&folder.succeed("profile show . --json")).unwrap();
    assert_eq!((&document["bytes"], &document["messages"]), (&json!(1190), &json!(8)));
    let bytes: Vec<_> = document["regions"].as_array().unwrap().iter().map(|r| (&r["name"], &r["bytes"])).collect();
    assert_eq!(bytes, [(&json!(""), &json!(80)), (&json!("solve"), &json!(110)), (&json!("solve/halo"), &json!(1000))]);
    assert_eq!(document["ranks"][0]["received_bytes"], 1003);
    // One host has two ranks, which see the same interface.
    assert_eq!(document["interfaces"].as_array().unwrap().len(), 4);
    assert_eq!(document["interfaces"][0]["sent_bytes"], 101);
    let solve: Value = serde_json::from_str(&folder.succeed("profile show . --region solve --json")).unwrap();
    assert_eq!((&solve["bytes"], &solve["only_region"]), (&json!(1110), &json!("solve")));
    let csv = folder.succeed("profile show . --csv");
    assert_eq!(csv.lines().next(), Some("region,moved,from_rank,to_rank,messages,bytes"));
    assert!(csv.contains("\nsolve/halo,sent,3,0,1,1000\n"), "{csv}");
    let sum: u64 = csv.lines().skip(1).map(|l| l.rsplit(',').next().unwrap().parse::<u64>().unwrap()).sum();
    assert_eq!(sum, 1190);
    let text = folder.succeed("profile show .");
    assert!(text.starts_with("job 17 of 5 ranks on 4 hosts\ncounted at the sender by pml_monitoring"), "{text}");
    assert!(text.contains("(in no region)") && text.contains("from / to"), "{text}");
}

/// By hand: h0 sends 120 to h2 and 10 to h3; h1 7 to h3 and 3 to h0; h2 1000 to h0. h0 and h1 share a leaf, as do h2 and h3.
#[test]
fn link_ends_carry_what_a_walk_by_hand_gives() {
    let folder = profiled("traffic");
    let line = format!("traffic --topology {TREE} --profile . --json");
    let document: Value = serde_json::from_str(&folder.succeed(&line)).unwrap();
    assert_eq!((&document["bytes"], &document["inside_bytes"]), (&json!(1140), &json!(50)));
    let link = |from: &str, to: &str| {
        let links = document["links"].as_array().unwrap();
        let is_end = |l: &&Value, key: &str, name: &str| l[key] == name;
        links.iter().find(|l| is_end(l, "from", from) && is_end(l, "to", to)).map(|l| l["bytes"].as_u64().unwrap())
    };
    let topology: Value =
        serde_json::from_str(&folder.succeed(&format!("topology {TREE} --neighbours h0 --json"))).unwrap();
    assert!(topology.is_object());
    let csv = folder.succeed(&format!("traffic --topology {TREE} --profile . --csv"));
    let rows: Vec<Vec<&str>> = csv.lines().skip(1).map(|l| l.split(',').collect()).collect();
    let of =
        |from: &str, to: &str| rows.iter().find(|r| r[0] == from && r[1] == to).unwrap()[6].parse::<u64>().unwrap();
    let up = |host: &str| rows.iter().find(|r| r[0] == host).unwrap()[1];
    let (left, right) = (up("h0"), up("h2"));
    let spine = rows.iter().find(|r| r[0] == left && r[3] == "2").unwrap()[1];
    assert_eq!([of("h0", left), of("h1", left), of("h2", right), of("h3", right)], [130, 10, 1000, 0]);
    assert_eq!([of(left, "h0"), of(left, "h1"), of(right, "h2"), of(right, "h3")], [1003, 0, 120, 17]);
    assert_eq!([of(left, spine), of(spine, right), of(right, spine), of(spine, left)], [137, 137, 1000, 1000]);
    assert_eq!((link("h0", left), link(right, "h3")), (Some(130), Some(17)));
    // Levels: from hosts up, and down again.
    let levels: Vec<u64> =
        document["levels"].as_array().unwrap().iter().map(|l| l["bytes"].as_u64().unwrap()).collect();
    assert_eq!(levels, [1140, 1140, 1137, 1137]);
    let busiest = &document["busiest"][0];
    assert_eq!((&busiest["bytes"], &busiest["makers"][0]["region"]), (&json!(1003), &json!("solve/halo")));
    assert_eq!(busiest["makers"][1], json!({"from_host": "h1", "to_host": "h0", "region": "", "bytes": 3}));
    // One region alone.
    let halo: Value = serde_json::from_str(&folder.succeed(&format!("{line} --region solve/halo"))).unwrap();
    assert_eq!(halo["bytes"], 1000);
}

/// h0 sends 100 to h2 from one line and 20 from another, h1 sends 7 to h3 from a line that h0 has as well: the leaf sends 127 up.
#[test]
fn busiest_links_name_the_lines_that_load_them() {
    let folder = Folder::new("traffic-lines");
    let write = |rank: u32, host: &str, records: &[(&str, Option<u32>, Value)]| {
        // The same two calls, at other addresses of the list in each rank.
        let addresses = if rank == 1 { [0x40, 0x20] } else { [0x20, 0x40] };
        folder.write(&format!("optiq-profile-{rank:05}.json"), file_with_sites(rank, 4, host, &addresses, records));
    };
    write(0, "h0", &[("", None, json!([])), ("s", Some(0), json!([[2, 4, 100]])), ("s", Some(1), json!([[2, 1, 20]]))]);
    write(1, "h1", &[("", None, json!([])), ("", Some(0), json!([[3, 1, 7]]))]);
    write(2, "h2", &[("", None, json!([]))]);
    write(3, "h3", &[("", None, json!([]))]);
    let document: Value =
        serde_json::from_str(&folder.succeed(&format!("traffic --topology {TREE} --profile . --json"))).unwrap();
    let up = document["busiest"].as_array().unwrap().iter().find(|link| link["bytes"] == 127).unwrap();
    let line = |function: &str, bytes: u64| json!({"file": "", "line": 0, "function": function, "bytes": bytes});
    assert_eq!(up["call_sites"], json!([line("app+0x20", 100), line("app+0x40", 27)]));
    assert_eq!((&up["makers"][0]["call_site"], &up["makers"][0]["region"]), (&json!("app+0x20"), &json!("s")));
    let text = folder.succeed(&format!("traffic --topology {TREE} --profile ."));
    assert!(text.contains("h0 to h2 in s at app+0x20 100 B"), "{text}");
    let shown: Value = serde_json::from_str(&folder.succeed("profile show . --json")).unwrap();
    let calls: Vec<_> =
        shown["call_sites"].as_array().unwrap().iter().map(|c| (&c["function"], &c["bytes"], &c["calls"])).collect();
    assert_eq!(calls, [(&json!("app+0x20"), &json!(100), &json!(1)), (&json!("app+0x40"), &json!(27), &json!(2))]);
    assert!(shown["notes"][0].as_str().unwrap().contains("/gone/app"), "{shown}");
    // A region's time is that of all its records.
    assert_eq!((&shown["regions"][1]["name"], &shown["regions"][1]["seconds_max"]), (&json!("s"), &json!(1.0)));
    let text = folder.succeed("profile show . --region s");
    assert!(text.contains("called from") && !text.contains("27 B"), "{text}");
}

#[test]
fn several_jobs_are_told_apart() {
    let folder = two_jobs("traffic-jobs");
    let line = format!("traffic --topology {TREE} --profile one --profile two");
    let document: Value = serde_json::from_str(&folder.succeed(&format!("{line} --json"))).unwrap();
    assert_eq!((&document["bytes"], &document["rank_count"]), (&json!(1540), &json!(4)));
    assert_eq!(document["jobs"][1], json!({"job": "two (two)", "rank_count": 2, "bytes": 440}));
    // Both jobs send from one leaf to the other.
    let up = document["busiest"].as_array().unwrap().iter().find(|link| link["bytes"] == 1400).unwrap();
    assert_eq!(up["jobs"], json!([{"job": "one (one)", "bytes": 1000}, {"job": "two (two)", "bytes": 400}]));
    for (more, says) in [
        ("--what-if placement=rank:2", "--what-if placement=rank:2 is for one job, and --profile names 2"),
        ("--profile one", "--profile one is given twice"),
    ] {
        let output = folder.run(&format!("{line} {more}"));
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && text.contains(says), "{text}");
    }
}

/// What goes by one-sided calls is seen at both ends, and files by rank.
#[test]
fn one_sided_traffic_and_files_are_shown_at_their_ranks() {
    let folder = Folder::new("profile-ends");
    for rank in 0..2u32 {
        let mut value: Value =
            serde_json::from_str(&file(rank, 2, &format!("h{rank}"), &[("", json!([])), ("io", json!([]))])).unwrap();
        value["schema"] = json!("optiq-profile-rank/2");
        if rank == 0 {
            value["regions"][0]["put"] = json!([[1, 1, 4000]]);
            value["regions"][0]["got"] = json!([[1, 1, 500]]);
        }
        value["regions"][1]["files"] = json!({"reads": 1, "read_bytes": 10 + rank, "writes": 2, "written_bytes": 300});
        value["connections"] =
            json!([{"interface": "eth0", "peer": "10.0.0.9", "connections": 1, "sent_bytes": 70, "received_bytes": 7}]);
        folder.write(&format!("optiq-profile-{rank:05}.json"), value.to_string());
    }
    let document: Value = serde_json::from_str(&folder.succeed("profile show . --json")).unwrap();
    let of = |rank: usize| {
        ["one_sided_sent_bytes", "one_sided_received_bytes", "read_bytes", "written_bytes"]
            .map(|key| document["ranks"][rank][key].as_u64().unwrap())
    };
    assert_eq!([of(0), of(1)], [[4000, 500, 10, 300], [500, 4000, 11, 300]]);
    assert_eq!((&document["read_bytes"], &document["regions"][1]["written_bytes"]), (&json!(21), &json!(600)));
    assert_eq!(document["connections"][0]["sent_bytes"], 70);
    let text = folder.succeed("profile show .");
    assert!(text.contains("one-sided sent") && text.contains("files: 21 B read, 600 B written"), "{text}");
    assert!(text.contains("10.0.0.9"), "{text}");
}

#[test]
fn what_would_be_otherwise() {
    let folder = profiled("traffic-what-if");
    let run = |more: &str| -> Value {
        serde_json::from_str(&folder.succeed(&format!("traffic --topology {TREE} --profile . --json {more}"))).unwrap()
    };
    // All on two hosts: ranks 0 to 3 send each other nothing over links, and rank 4 is on the second host.
    let moved = run("--what-if placement=rank:4");
    assert_eq!(moved["what_if"], "placement=rank:4");
    let sum =
        |d: &Value| d["levels"].as_array().unwrap().iter().map(|l| l["what_if_bytes"].as_u64().unwrap()).sum::<u64>();
    // 10 and 7 bytes to rank 4: up to the leaf and down.
    assert_eq!(sum(&moved), 2 * 17);
    // A tree has one path for each pair.
    let planned = run("--what-if plan");
    assert_eq!(planned["what_if_congestion_seconds"], planned["congestion_seconds"]);
    let text = folder.succeed(&format!("traffic --topology {TREE} --profile . --what-if plan"));
    assert!(text.contains("; with plan ") && text.contains("h2 to h0 in solve/halo 1.00 kB"), "{text}");
}

#[test]
fn hosts_are_never_guessed() {
    let folder = profiled("traffic-hosts");
    let sentence = |line: &str| {
        let output = folder.run(line);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && output.stdout.is_empty() && text.lines().count() == 1, "{text}");
        text
    };
    let other = sentence("traffic --topology fattree:2x2:1x1,names=n[0-3] --profile .");
    assert!(other.contains("rank 0 of the profile ran on \"h0\", which is no host of"), "{other}");
    folder.write("map", "h0 n2 # a comment\n\nh1 n3\nh2 n0\nh3 n1\n");
    let text = folder.succeed("traffic --topology fattree:2x2:1x1,names=n[0-3] --profile . --hosts map --csv");
    let from_n2: u64 = text
        .lines()
        .filter(|l| l.starts_with("n2,"))
        .map(|l| l.split(',').nth(6).unwrap().parse::<u64>().unwrap())
        .sum();
    assert_eq!(from_n2, 130);
    for (map, says) in [
        ("h0 n9\n", "map:1: "),
        ("h0 n0\nh1\n", "map:2: found 1 words; a processor name and a host are expected"),
        ("h0 n0\nh0 n1\n", "map:2: \"h0\" is on line 1 already"),
        ("h0 n0\nh1 n0\nh2 n1\nh3 n2\n", "the processors \"h0\" and \"h1\" would both be the host \"n0\""),
    ] {
        folder.write("map", map);
        let text = sentence("traffic --topology fattree:2x2:1x1,names=n[0-3] --profile . --hosts map");
        assert!(text.contains(says), "{text}");
    }
}

#[test]
fn gaps_are_told_and_the_rest_is_shown() {
    let folder = profiled("profile-gaps");
    std::fs::remove_file(folder.path("optiq-profile-00002.json")).unwrap();
    folder.write("optiq-profile-00003.json", "{\n\"schema\":\"optiq-profile-rank/1\",\n\"job\":7}");
    let early = file(4, 5, "h3", &[("", json!([]))]).replace("\"complete\":true", "\"complete\":false");
    folder.write("optiq-profile-00004.json", early);
    for line in ["profile show . --json".to_owned(), format!("traffic --topology {TREE} --profile . --json")] {
        let output = folder.run(&line);
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(1), "{said}");
        for words in [
            "optiq-profile-00003.json is no profile that can be read: invalid type: integer `7`, expected a string at line 3",
            "no profile of rank 2-3: what they sent is not known",
            "rank 4 did not come to MPI_Finalize",
        ] {
            assert!(said.contains(words), "{said}");
        }
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(document["gaps"].as_array().unwrap().len(), 3);
        if line.starts_with("traffic") {
            // 120 bytes to rank 3, whose host is not known any more.
            assert_eq!((&document["unplaced_bytes"], &document["bytes"]), (&json!(120), &json!(10)));
        }
    }
}

/// Files that are of no use: all are named, nothing is printed as if it were a result.
#[test]
fn profiles_of_other_jobs_and_empty_ones_are_refused() {
    let refused = |folder: &Folder, says: &str| {
        for line in ["profile show . --json".to_owned(), format!("traffic --topology {TREE} --profile . --json")] {
            let output = folder.run(&line);
            let said = String::from_utf8(output.stderr).unwrap();
            assert!(output.status.code() == Some(2) && output.stdout.is_empty(), "{line}: {said}");
            assert!(said.contains(says) && said.lines().count() == 1, "{line}: {said}");
        }
    };
    let mixed = profiled("profile-mixed");
    mixed.write("optiq-profile-00002.json", file(2, 5, "h1", &[("", json!([]))]).replace("\"17\"", "\"18\""));
    refused(&mixed, "of job \"18\" with 5 ranks; the files of one job are expected");
    let empty = Folder::new("profile-empty");
    refused(&empty, "holds no profile; files such as optiq-profile-00000.json are expected");
    empty.write("optiq-profile-00000.json", "");
    refused(&empty, "it is empty; a JSON object is expected");
    // Ranks that sent nothing are a profile all the same.
    empty.write("optiq-profile-00000.json", file(0, 1, "h0", &[("", json!([]))]));
    let document: Value =
        serde_json::from_str(&empty.succeed(&format!("traffic --topology {TREE} --profile . --json"))).unwrap();
    assert_eq!((&document["bytes"], &document["links"]), (&json!(0), &json!([])));
}

#[test]
fn a_full_disk_is_an_error_and_leaves_no_part_of_a_file() {
    let folder = profiled("traffic-full");
    let line = format!("traffic --topology {TREE} --profile . --csv");
    let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let words: Vec<&str> = line.split_whitespace().collect();
    let output = folder.command(&words).stdout(full()).output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(1) && said.contains("No space left"), "{said}");
    let may = Command::new("unshare").args(["-rm", "true"]).status().is_ok_and(|s| s.success());
    if !may {
        println!("skipped: no user namespaces here, in which a file system could be mounted");
        return;
    }
    // One page, which is taken.
    std::fs::create_dir(folder.path("full")).unwrap();
    let inside =
        "mount -t tmpfs -o size=4k none full && echo x > full/taken && \"$@\"; status=$?; ls -A full; exit $status";
    for option in ["--report", "--svg", "--png"] {
        let mut command = Command::new("unshare");
        command.args(["-rm", "sh", "-c", inside, "sh", env!("CARGO_BIN_EXE_optiq")]).current_dir(folder.path(""));
        command.args(["traffic", "--topology", TREE, "--profile", ".", "--csv", option, "full/picture"]);
        let output = command.env("OPTIQ_CONF", "none").output().unwrap();
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(output.status.code() == Some(2) && said.contains("No space left"), "{option}: {said}");
        assert_eq!(String::from_utf8_lossy(&output.stdout), "taken\n", "{option}");
    }
}

/// A library that can be preloaded into everything: this test.
fn library() -> String {
    std::env::current_exe().unwrap().to_str().unwrap().to_owned()
}

#[test]
fn a_launcher_is_told_and_old_files_are_refused() {
    let folder = Folder::new("profile-run");
    let library = library();
    let run = |more: &[&str]| {
        let words = [&["profile", "--library", &library, "--output", "p", "--json"][..], more].concat();
        let mut command: Command = folder.command(&words);
        command.env_remove("LD_PRELOAD").output().unwrap()
    };
    let output = run(&["--signal", "usr2", "--", "mpirun.openmpi", "-n", "2", "a"]);
    let document: Value = serde_json::from_slice(&output.stdout).unwrap();
    let command: Vec<&str> = document["command"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert_eq!(command[0], "mpirun.openmpi");
    let profile = command.iter().find(|w| w.starts_with("OPTIQ_PROFILE=")).unwrap();
    assert!(profile.starts_with("OPTIQ_PROFILE=/") && profile.ends_with("/p"), "{profile}");
    assert!(command.contains(&"OPTIQ_PROFILE_SIGNAL=USR2") && command.contains(&"OPTIQ_ALGORITHM=mpi"), "{command:?}");
    std::fs::create_dir(folder.path("p")).unwrap();
    folder.write("p/optiq-profile-00000.json", "");
    let output = run(&["--", "mpirun.openmpi", "-n", "2", "a"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && said.contains("--output p holds the profile of another run"), "{said}");
}

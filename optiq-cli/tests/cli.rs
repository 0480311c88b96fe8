//! The command as scripts and people meet it: the built binary, its documents, its examples, its refusals.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod support;

use serde_json::Value;
use std::process::{Command, Stdio};
use support::Folder;

fn json(folder: &Folder, line: &str) -> Value {
    serde_json::from_str(&folder.succeed(line)).unwrap_or_else(|e| panic!("optiq {line}: {e}"))
}

#[test]
fn plan_document_keeps_the_contract() {
    let folder = Folder::new("contract");
    // One demand of 8 MiB from h0 to its neighbour h1; with k = 1 there is only the network's own route. 1 GB/s links.
    folder.write("one.txt", "h0 h1 8MiB\n");
    let line = "plan --topology torus:4x4 --demands file:one.txt --k 1 --planner heu2 --json";
    let plan = json(&folder, line);
    for (key, expected) in [
        ("hosts", 16.0),
        ("links", 64.0),
        ("demand_count", 1.0),
        ("paths", 1.0),
        ("paths_per_demand_max", 1.0),
        ("paths_per_demand_mean", 1.0),
        ("paths_per_link_max", 1.0),
        ("paths_per_link_mean", 1.0),
        ("bytes_per_link_max", 8_388_608.0),
        ("congestion_seconds", 0.008388608),
        ("direct_congestion_seconds", 0.008388608),
        ("direct_bytes_per_link_max", 8_388_608.0),
        ("forwarders", 0.0),
        ("forwarded_bytes", 0.0),
        ("demand_bytes", 8_388_608.0),
        ("k", 1.0),
    ] {
        let found = plan[key].as_f64().unwrap_or_else(|| panic!("{key} is {}", plan[key]));
        assert!((found - expected).abs() <= 1e-9 * expected, "{key} is {found}, not {expected}");
    }
    assert_eq!((&plan["planner"], &plan["topology"]), (&Value::from("heu2"), &Value::from("torus:4x4")));
    let seconds = |key: &str| plan[key].as_f64().unwrap();
    assert!(seconds("total_seconds") >= seconds("candidates_seconds") + seconds("plan_seconds"));
    assert!(seconds("bound_seconds") > 0.0 && seconds("bound_seconds") <= seconds("congestion_seconds"));
    for key in ["gap", "binding", "network_fingerprint", "message_bytes", "direct_paths_per_link_mean"] {
        assert!(!plan[key].is_null(), "{key} is missing");
    }
}

#[test]
fn bytes_per_link_are_per_unit_capacity() {
    let folder = Folder::new("unit");
    // On Blue Gene/Q h0 and h1 are neighbours in the dimension of length 2, which two links of 1.8 GB/s join.
    folder.write("one.txt", "0 1 8MiB\n");
    let plan = json(&folder, "plan --topology bgq:512 --demands file:one.txt --planner direct --json");
    assert_eq!(plan["bytes_per_link_max"].as_f64(), Some(4_194_304.0));
    assert_eq!(plan["unit_capacity_bytes_per_second"].as_f64(), Some(1.8e9));
}

#[test]
fn every_planner_of_the_build_plans() {
    let folder = Folder::new("planners");
    let document = json(&folder, "plan --topology torus:4x4 --demands pattern:disjoint --compare --json");
    let compared: Vec<&str> =
        document["compared"].as_array().unwrap().iter().map(|p| p["planner"].as_str().unwrap()).collect();
    let info = json(&folder, "info --json");
    assert_eq!(Value::from(compared.clone()), info["planners"]);
    assert!(compared.starts_with(&["direct", "heu1", "heu2"]));
    let congestion = |i: usize| document["compared"][i]["congestion_seconds"].as_f64().unwrap();
    assert!(congestion(1) < congestion(0) && congestion(2) < congestion(0));

    let lp = folder.run("plan --topology torus:4x4 --demands pattern:disjoint --planner lp --json");
    if cfg!(feature = "highs") {
        assert!(lp.status.success());
    } else {
        assert_eq!(lp.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&lp.stderr).contains("highs"));
    }
}

#[test]
fn plan_files_are_the_same_each_time_and_can_be_explained() {
    let folder = Folder::new("files");
    let plan = "plan --topology torus:4x4 --demands pattern:disjoint --output";
    for file in ["a.json", "b.json", "a.optiq", "b.optiq"] {
        folder.succeed(&format!("{plan} {file}"));
    }
    assert_eq!(folder.read("a.json"), folder.read("b.json"));
    assert_eq!(folder.read("a.optiq"), folder.read("b.optiq"));
    assert!(folder.read("a.optiq").starts_with(b"OPTIQPLN"));
    assert_eq!(folder.names(), ["a.json", "a.optiq", "b.json", "b.optiq"]);

    for file in ["a.json", "a.optiq"] {
        let all = json(&folder, &format!("explain {file} --topology torus:4x4 --json"));
        assert_eq!(all["demands_explained"].as_array().unwrap().len(), 8);
        let one = json(&folder, &format!("explain {file} --topology torus:4x4 --from h0 --to (2,0) --json"));
        let demands = one["demands_explained"].as_array().unwrap();
        assert_eq!(demands.len(), 1);
        let paths = demands[0]["paths"].as_array().unwrap();
        assert_eq!(paths.iter().map(|p| p["bytes"].as_u64().unwrap()).sum::<u64>(), 8 << 20);
        for path in paths {
            let nodes: Vec<&str> = path["nodes"].as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
            assert_eq!((nodes[0], nodes[nodes.len() - 1]), ("h0", "h8"));
            // The legs, one after the other, are the path.
            let legs = path["legs"].as_array().unwrap();
            assert_eq!(legs.len(), path["forwarders"].as_array().unwrap().len() + 1);
            let mut walked = vec!["h0"];
            for leg in legs {
                let leg: Vec<&str> = leg.as_array().unwrap().iter().map(|n| n.as_str().unwrap()).collect();
                assert_eq!(walked.last(), leg.first());
                walked.extend(&leg[1..]);
            }
            assert_eq!(walked, nodes);
        }
        let links = all["most_loaded_links"].as_array().unwrap();
        assert_eq!(links[0]["seconds"], all["congestion_seconds"]);
        let crossing = links[0]["demands"].as_array().unwrap().iter().map(|d| d["bytes"].as_u64().unwrap());
        assert_eq!(Some(crossing.sum::<u64>()), links[0]["bytes"].as_u64());
    }
}

#[test]
fn path_files_serve_the_planner() {
    let folder = Folder::new("paths");
    let summary = json(&folder, "paths --topology mesh:4x4 --demands pattern:disjoint --k 6 --output p.paths --json");
    assert_eq!((summary["pairs"].as_u64(), summary["output"].as_str()), (Some(8), Some("p.paths")));
    // Without --output the file goes to standard output.
    let printed = folder.succeed("paths --topology mesh:4x4 --demands pattern:disjoint --k 6");
    assert_eq!(printed.as_bytes(), folder.read("p.paths"));
    let figure = |line: &str| json(&folder, line)["congestion_seconds"].clone();
    assert_eq!(
        figure("plan --topology mesh:4x4 --demands pattern:disjoint --paths p.paths --json"),
        figure("plan --topology mesh:4x4 --demands pattern:disjoint --k 6 --json")
    );
    let pair = json(&folder, "paths --topology torus:4x4 --from h0 --to h5 --k 3 --method yen --json");
    let paths = pair["candidates"][0]["paths"].as_array().unwrap();
    assert_eq!(paths.len(), 3);
    assert_eq!((pair["candidates"][0]["distance"].as_u64(), paths[0]["hops"].as_u64()), (Some(2), Some(2)));
}

#[test]
fn every_mode_is_timed() {
    let folder = Folder::new("modes");
    // Online, hybrid with a set for a host list (thesis 4.2.2), and offline.
    let summary = json(&folder, "paths --topology torus:4x4 --hosts 0-2,(3,3),h9,h9 --k 5 --output h.paths --json");
    assert_eq!((summary["pairs"].as_u64(), summary["paths"].as_u64()), (Some(20), Some(100)));
    folder.write("d.txt", "h9 0 3MiB\n(0,1) 15 1MiB\nh9 0 1MiB\n");
    let plan = "plan --topology torus:4x4 --demands file:d.txt --planner heu2";
    let online = json(&folder, &format!("{plan} --k 5 --json"));
    let hybrid = json(&folder, &format!("{plan} --paths h.paths --output h.optiq --json"));
    assert_eq!(online["congestion_seconds"], hybrid["congestion_seconds"]);
    for document in [&online, &hybrid] {
        let [candidates, planning, total] =
            ["candidates_seconds", "plan_seconds", "total_seconds"].map(|key| document[key].as_f64().unwrap());
        assert!(candidates > 0.0 && planning > 0.0 && total >= candidates + planning);
    }
    let offline = json(&folder, "explain h.optiq --topology torus:4x4 --json");
    assert!(offline["read_seconds"].as_f64().unwrap() > 0.0 && offline["plan_seconds"].is_null());
    let now = json(&folder, "explain --topology torus:4x4 --demands file:d.txt --json");
    assert!(now["plan_seconds"].as_f64().unwrap() > 0.0 && now["read_seconds"].is_null());
    let table = folder.succeed(&format!("{plan} --paths h.paths"));
    for row in ["time to read candidates", "time for planning", "time in all"] {
        assert!(table.contains(row), "{row} is not in: {table}");
    }
    assert!(folder.succeed(&format!("{plan} --k 5")).contains("time for candidates"));

    let all = json(&folder, "paths --topology star:5 --hosts all --output all.paths --json");
    assert_eq!(all["pairs"], 20);
    for planner in ["heu1", "heu2", "optimal"] {
        folder.succeed(&format!(
            "plan --topology star:5 --demands pattern:alltoall --paths all.paths --planner {planner}"
        ));
    }
}

#[test]
fn background_load_is_planned_around() {
    let folder = Folder::new("background");
    // Ring of four, 0 to 2: both paths are two hops, and of one link on the path through h1 half is left. 6 MiB: 2 on
    // that path and 4 on the other, at a GB/s.
    folder.write("load.txt", "# what the other job uses\nh0 h1 50%\n");
    folder.write("d.txt", "0 2 6MiB\n");
    let line = "--topology torus:4 --demands file:d.txt --planner heu2 --background load.txt";
    let plan = json(&folder, &format!("plan {line} --chunk 64KiB --output p.json --json"));
    assert_eq!((&plan["topology"], &plan["background"]), (&Value::from("torus:4"), &Value::from("load.txt")));
    assert_eq!(plan["bytes_per_link_max"].as_f64(), Some(4_194_304.0));
    assert_eq!(plan["unit_capacity_bytes_per_second"].as_f64(), Some(1e9));
    let explained = json(&folder, "explain p.json --topology torus:4 --background load.txt --json");
    assert_eq!(explained["background"], "load.txt");
    let paths = explained["demands_explained"][0]["paths"].as_array().unwrap();
    let mut bytes: Vec<u64> = paths.iter().map(|p| p["bytes"].as_u64().unwrap()).collect();
    bytes.sort_unstable();
    assert_eq!(bytes, [2 << 20, 4 << 20]);
    assert!(folder.succeed(&format!("plan {line}")).contains("beside load.txt"));
    // As a program writes it that measures the load; the same load, hence the same plan.
    assert_eq!(explained["links_taken_for_busy"].as_array().unwrap().len(), 0);
    folder.write("busy.txt", "h0 h1 50.0% # since 2026-11-25T21:30:00Z\n");
    let busy = json(&folder, "explain p.json --topology torus:4 --background busy.txt --json");
    let found = &busy["links_taken_for_busy"][0];
    assert_eq!((&found["from"], &found["to"], found["share_left"].as_f64()), (&"h0".into(), &"h1".into(), Some(0.5)));
    assert_eq!(found["since"], "2026-11-25T21:30:00Z");
    let text = folder.succeed("explain p.json --topology torus:4 --background busy.txt");
    assert!(
        text.contains("\ntaken for busy by a program\n  h0 -> h1  50.0 % left, since 2026-11-25T21:30:00Z\n"),
        "{text}"
    );
    // Plans and paths of the one network are not those of the other.
    refused(&folder, "explain p.json --topology torus:4", "made for network");
    folder.succeed("paths --topology torus:4 --demands file:d.txt --output p.paths");
    refused(&folder, &format!("plan {line} --paths p.paths"), "p.paths holds paths of network");
    folder.succeed("paths --topology torus:4 --demands file:d.txt --background load.txt --output p.paths");
    folder.succeed(&format!("plan {line} --paths p.paths"));

    folder.write("full.txt", "* * 40%\nh3 * 60%\n");
    let says = "full.txt:2: nothing is left of link h3 -> h0, which has 1GB/s";
    refused(&folder, "plan --topology torus:4 --demands file:d.txt --background full.txt", says);
    refused(&folder, "paths --topology torus:4 --demands file:d.txt --background full.txt", says);
    refused(&folder, "explain --topology torus:4 --demands file:d.txt --background full.txt", says);
    folder.write("odd.txt", "h0 h2 5%\n");
    refused(
        &folder,
        "plan --topology torus:4 --demands file:d.txt --background odd.txt",
        "odd.txt:1: there is no link",
    );
    refused(&folder, "plan --topology torus:4 --demands file:d.txt --background absent", "background file absent");
}

#[test]
fn classes_are_planned_in_turn() {
    let folder = Folder::new("classes");
    folder.write("both.txt", "0 5 3MiB class=2\n0 6 9MiB\n1 5 8MiB # bulk, too\n");
    folder.write("urgent.txt", "0 5 3MiB class=2\n");
    let plan = |file: &str| json(&folder, &format!("plan --topology torus:4x4 --demands file:{file} --json"));
    let (both, urgent) = (plan("both.txt"), plan("urgent.txt"));
    let classes = both["classes"].as_array().unwrap();
    assert_eq!(classes.len(), 2);
    assert_eq!(classes[0], urgent["classes"][0]);
    assert_eq!(urgent["classes"][0]["congestion_seconds"], urgent["congestion_seconds"]);
    let figures = |i: usize| ["class", "demands", "bytes"].map(|key| classes[i][key].as_u64().unwrap());
    assert_eq!((figures(0), figures(1)), ([2, 1, 3 << 20], [0, 2, 17 << 20]));
    let table =
        |file: &str| folder.succeed(&format!("plan --topology torus:4x4 --demands file:{file} --output {file}.json"));
    assert!(table("both.txt").contains("when each class is done"));
    assert!(!table("urgent.txt").contains("class"), "one class needs no table");
    assert!(folder.succeed("explain both.txt.json --topology torus:4x4").contains("class 2: 1 demand, 3.15 MB"));
}

#[test]
fn topologies_are_described() {
    let folder = Folder::new("topology");
    let t = json(&folder, "topology bgq:512 --json");
    // 4x4x4x4x2: diameter 2+2+2+2+1; 512 hosts with 8 links to 8 neighbours and 2 to the ninth.
    assert_eq!(t["hosts"], 512);
    assert_eq!((&t["links"], &t["link_bundles"]), (&Value::from(5120), &Value::from(4608)));
    assert_eq!((&t["diameter"], &t["geometry"]["kind"]), (&Value::from(9), &Value::from("grid")));
    let route = json(&folder, "topology torus:4x4 --route h0 (0,2) --neighbours h0 --json");
    assert_eq!(route["route"]["hops"], 2);
    assert_eq!(route["neighbours"].as_array().unwrap().len(), 4);
    assert!(folder.succeed("topology star:4 --neighbours s0").contains("neighbours"));
}

/// The example lines of a help text.
fn examples(help: &str) -> Vec<String> {
    let from = help.find("Examples:").unwrap_or_else(|| panic!("no examples in {help}"));
    help[from..].lines().filter_map(|l| l.strip_prefix("  optiq ")).map(|l| format!("optiq {l}")).collect()
}

/// Runs a line of shell with the built command in the path.
fn shell(folder: &Folder, line: &str) -> std::process::Output {
    let binaries = std::path::Path::new(env!("CARGO_BIN_EXE_optiq")).parent().unwrap();
    let path = format!("{}:{}", binaries.display(), std::env::var("PATH").unwrap_or_default());
    let mut sh = Command::new("sh");
    sh.args(["-c", line]).env("PATH", path).env("XDG_RUNTIME_DIR", folder.path(".")).env_remove("OPTIQ_LOG");
    sh.env("OPTIQ_CONF", "none");
    sh.current_dir(folder.path(".")).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn examples_of_the_help_run() {
    for command in ["", "topology", "paths", "plan", "explain", "info", "transfers", "generate"] {
        let folder = Folder::new(&format!("help-{command}"));
        let lines = examples(&folder.succeed(&format!("{command} --help")));
        assert!(lines.len() >= 2, "{command} has {} examples", lines.len());
        for line in lines {
            let output = shell(&folder, &line);
            assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
            assert!(!output.stdout.is_empty(), "{line}");
            if line.contains("--json") {
                serde_json::from_slice::<Value>(&output.stdout).unwrap_or_else(|e| panic!("{line}: {e}"));
            }
        }
    }
}

#[test]
fn examples_of_the_lab_run_where_a_lab_can_be() {
    let folder = Folder::new("lab");
    let probe = folder.run("lab up --topology star:2 --name probe --lifetime 60 --no-calibration --json");
    if !probe.status.success() {
        let reason = String::from_utf8_lossy(&probe.stderr);
        assert!(reason.starts_with("optiq: ") && reason.trim_end().lines().count() == 1, "{reason}");
        println!("skipped: no lab can be had here: {}", reason.trim_end());
        return;
    }
    assert_eq!(serde_json::from_slice::<Value>(&probe.stdout).unwrap()["hosts"].as_array().unwrap().len(), 2);
    let second = folder.run("lab up --topology star:2 --name probe");
    assert_eq!(second.status.code(), Some(1));
    let status = json(&folder, "lab status --json");
    assert_eq!(status["labs"][0]["name"], "probe");
    // The status of the program is passed on.
    let exec = folder.command(&["lab", "exec", "h1", "--name", "probe", "--", "sh", "-c", "hostname; exit 7"]).output();
    let exec = exec.unwrap();
    assert_eq!((exec.status.code(), exec.stdout.as_slice()), (Some(7), b"h1\n".as_slice()));
    // Links change while the lab is up; what cannot be is refused before anything is touched.
    let changed = json(&folder, "lab rate h0 s0 20Mbit/s --both --name probe --json");
    let rates: Vec<&Value> = changed["links"].as_array().unwrap().iter().map(|l| &l["rate_bytes_per_second"]).collect();
    assert_eq!(rates, [2.5e6, 2.5e6]);
    assert_eq!(folder.succeed("lab cut h0 s0 --name probe"), "link h0 -> s0: 20 Mbit/s, cut\n");
    assert_eq!(json(&folder, "lab restore h0 s0 --name probe --json")["links"][0]["cut"], false);
    refused(&folder, "lab cut h0 h1 --name probe", "no link from \"h0\" to \"h1\"");
    refused(&folder, "lab rate h0 s0 fast --name probe", "fast");
    refused(&folder, "lab up --topology star:2 --link-rate h0:h1=20Mbit/s --name other", "no link from h0 to h1");
    refused(&folder, "lab up --topology star:2 --link-rate h0:s0 --name other", "FROM:TO=RATE");
    assert_eq!(json(&folder, "lab down --name probe --json")["was_up"], true);

    let up = json(&folder, "lab up --topology star:2 --link-rate h0:*=20Mbit/s --lifetime 60 --json");
    let stream = &up["calibration"][0];
    assert_eq!((&stream["from"], &stream["capacity_bytes_per_second"]), (&Value::from("h0"), &Value::from(2.5e6)));
    assert!((0.5..1.1).contains(&stream["share"].as_f64().unwrap()), "{stream}");
    let told = folder.succeed("lab exec h1 -- sh -c cat<$OPTIQ_BACKGROUND").replace('\n', "");
    assert_eq!(told, "h0 s0 80000000bit/s");
    folder.succeed("lab down");

    let mpirun = Command::new("mpirun").arg("--version").output().is_ok();
    let commands = ["up", "run", "exec", "rate", "cut", "restore", "status", "down"].map(|c| format!("lab {c}"));
    for command in ["lab".to_string()].iter().chain(&commands) {
        for line in examples(&folder.succeed(&format!("{command} --help"))) {
            if line.contains("lab run") && !mpirun {
                println!("skipped, as there is no mpirun: {line}");
                continue;
            }
            let output = shell(&folder, &line);
            assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        }
    }
    assert_eq!(json(&folder, "lab status --json")["labs"].as_array().unwrap().len(), 0);
}

/// Runs a line that must be refused as bad input: one sentence that contains `says`, exit status 2, nothing printed.
fn refused(folder: &Folder, line: &str, says: &str) {
    let before = folder.names();
    let output = folder.run(line);
    let error = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "optiq {line}: {error}");
    assert!(error.starts_with("optiq: ") && error.ends_with('\n'), "optiq {line}: {error}");
    assert_eq!(error.lines().count(), 1, "optiq {line}: {error}");
    assert!(error.contains(says), "optiq {line}: \"{says}\" is not in: {error}");
    assert!(output.stdout.is_empty(), "optiq {line}");
    assert_eq!(folder.names(), before, "optiq {line} left something behind");
}

/// A command that would write two files, but for its demands.
const ON_TORUS: &str = "plan --topology torus:4x4 --output out.optiq --html out.html --demands";

/// The planners of this build.
fn info_planners(folder: &Folder) -> Vec<String> {
    let info = json(folder, "info --json");
    info["planners"].as_array().unwrap().iter().map(|p| p.as_str().unwrap().to_owned()).collect()
}

#[test]
fn bad_topologies_and_demands_get_one_sentence() {
    let folder = Folder::new("bad-demands");
    let plan = "plan --demands pattern:disjoint --topology";
    let on_torus = ON_TORUS;

    // Topologies.
    refused(&folder, &format!("{plan} ring:4"), "ring");
    refused(&folder, &format!("{plan} torus:0x4"), "above zero");
    refused(&folder, &format!("{plan} bgq:1000"), "512, 1024, 2048 or 4096");
    refused(&folder, &format!("{plan} torus:99999x99999"), "more than");
    refused(&folder, &format!("{plan} file:absent.toml"), "absent.toml");
    folder.write("broken.toml", "[hosts\nnames = 3\n");
    refused(&folder, &format!("{plan} file:broken.toml"), "broken.toml");

    // Demands.
    refused(&folder, &format!("{on_torus} pattern:spiral"), "spiral");
    refused(&folder, &format!("{on_torus} everything"), "everything");
    refused(&folder, &format!("{on_torus} pattern:disjoint,sources=0"), "sources");
    refused(&folder, &format!("{on_torus} pattern:disjoint --message -5"), "-5");
    refused(&folder, &format!("{on_torus} pattern:disjoint --message 8MiX"), "8MiX");
    refused(&folder, &format!("{on_torus} file:absent.txt"), "absent.txt");
    folder.write("beyond.txt", "0 1 5\n0 99 5\n");
    refused(&folder, &format!("{on_torus} file:beyond.txt"), "beyond.txt:2");
    folder.write("negative.txt", "0 1 -5\n");
    refused(&folder, &format!("{on_torus} file:negative.txt"), "negative.txt:1");

    folder.write("class.txt", "0 1 5\n0 1 5 class=256\n");
    refused(&folder, &format!("{on_torus} file:class.txt"), "class.txt:2: class=256: a whole number from 0 to 255");
    folder.write("sum.txt", "0 1 18446744073709551615\n\n1 2 1\n");
    refused(&folder, &format!("{on_torus} file:sum.txt"), "sum.txt:3: the demands up to here sum to more bytes");
    // 2^60 bytes each: the sixteenth is one too many.
    let message = 1u64 << 60;
    for planner in ["direct", "heu1", "heu2", "optimal"] {
        let line = format!("{on_torus} pattern:alltoall --message {message} --planner {planner}");
        refused(&folder, &line, "the demands up to demand 15 (from h1 to h0) sum to more bytes than 64 bits hold");
    }
}

#[test]
fn bad_capacities_and_shapes_get_one_sentence() {
    let folder = Folder::new("bad-shapes");
    let plan = "plan --demands pattern:disjoint --topology";

    // Capacities that are none, and shapes that do not fit together.
    for capacity in ["0", "-1", "nan", "-inf", "1e999"] {
        refused(&folder, &format!("{plan} torus:4x4,capacity={capacity}"), "is not a rate");
        for value in [capacity.to_owned(), format!("\"{capacity}\"")] {
            let text =
                format!("[hosts]\nnames = [\"a\", \"b\"]\n[[links]]\nfrom = \"a\"\nto = \"b\"\ncapacity = {value}\n");
            folder.write("capacity.toml", text);
            refused(&folder, &format!("{plan} file:capacity.toml"), "capacity.toml, line 6: ");
        }
    }
    for (spec, says) in [
        ("torus:4x4,wrap=111", "2 digits"),
        ("fattree:4x4:1", "equally many are expected"),
        ("fattree:k=3", "even number of ports"),
        ("dragonfly:p=4,a=8", "h= is missing"),
        ("dragonfly:p=4,a=8,h=4,g=34", "at most 33"),
        ("dragonfly+:p=1,l=1,s=2,h=2,g=6", "at most 5"),
        ("star:0", "1 to 4194303"),
    ] {
        refused(&folder, &format!("{plan} {spec}"), says);
    }

    // Two hosts that nothing joins.
    folder.write("apart.toml", "[hosts]\nnames = [\"a\", \"b\", \"c\"]\n[[links]]\nfrom = \"a\"\nto = \"b\"\n");
    folder.write("apart.txt", "a c 5\n");
    for planner in info_planners(&folder) {
        let line = format!("plan --topology file:apart.toml --demands file:apart.txt --planner {planner}");
        refused(&folder, &line, "from a to c");
    }
    refused(&folder, "paths --topology file:apart.toml --from a --to c", "from a to c");
    refused(&folder, "topology file:apart.toml --route a c", "from a to c");
}

#[test]
fn bad_arguments_get_one_sentence() {
    let folder = Folder::new("bad-arguments");
    let on_torus = ON_TORUS;

    // Numbers and names.
    refused(&folder, &format!("{on_torus} pattern:disjoint --k 0"), "k is 0");
    refused(&folder, "paths --topology torus:4x4 --from h0 --to h1 --k 0", "k is 0");
    refused(&folder, &format!("{on_torus} pattern:disjoint --planner magic"), "magic");
    refused(&folder, &format!("{on_torus} pattern:disjoint --planner heu1 --maxload 0"), "maxload");
    refused(&folder, &format!("{on_torus} pattern:disjoint --planner heu2 --chunk 0"), "chunk");
    refused(&folder, &format!("{on_torus} pattern:disjoint --method best"), "best");
    refused(&folder, &format!("{on_torus} pattern:disjoint --paths absent.paths"), "absent.paths");
    for (option, values) in [
        ("--gap", "0 0% -1 -1% nan inf wide"),
        ("--time-limit", "0 -1 nan inf 1e30 1e-15 soon"),
        ("--slack", "-0.01 -1% nan inf loose"),
    ] {
        for value in values.split(' ') {
            refused(&folder, &format!("{on_torus} pattern:disjoint {option} {value}"), "zero is expected, such as");
            refused(
                &folder,
                &format!("explain --topology torus:4x4 --demands pattern:disjoint {option}={value}"),
                option,
            );
        }
    }
    folder.write("other.paths", folder.succeed("paths --topology torus:4x2 --demands pattern:disjoint"));
    refused(&folder, &format!("{on_torus} pattern:disjoint --paths other.paths"), "other.paths holds paths of network");
    folder.write("few.paths", folder.succeed("paths --topology torus:4x4 --hosts 0-3"));
    let few = "plan --topology torus:4x4 --demands pattern:disjoint --paths few.paths";
    refused(&folder, few, "hold none from h0 to h8, which demand 0 needs");
    for (hosts, says) in [
        ("0", "--hosts lists 1 host; at least 2 are expected"),
        ("0-99", "\"99\" is not in the network"),
        ("3-1", "3-1 runs backwards"),
        ("0,,1", "\"\" is not in the network"),
        ("0,(9,9)", "\"(9,9)\" is not in the network"),
        ("(0,1", "is not in the network"),
    ] {
        refused(&folder, &format!("paths --topology torus:4x4 --hosts {hosts}"), says);
    }
    refused(&folder, "paths --topology star:4 --hosts all,s0", "\"all\" is not in the network");
    refused(&folder, "paths --topology star:4 --hosts 0,s0", "s0 is a switch");
    refused(&folder, "paths --topology torus:64x64x4 --hosts all", "at most 16777216 are possible");
    refused(&folder, "paths --topology torus:4x4 --hosts all --demands pattern:disjoint", "cannot be used with");
    refused(&folder, "paths --topology torus:4x4 --from h0 --to h0", "two different hosts");
    refused(&folder, "paths --topology torus:4x4 --from h0 --to unknown", "unknown");
    refused(&folder, "paths --topology star:4 --from h0 --to s0", "s0 is a switch");
    refused(&folder, "lab up --topology torus:4x4 --rate fast", "fast");

    // Arguments.
    refused(&folder, "", "--help");
    refused(&folder, "dance", "dance");
    refused(&folder, "plan --demands pattern:disjoint", "--topology");
    refused(&folder, "plan --topologie torus:4x4", "--topology");
    refused(&folder, "explain --topology torus:4x4", "PLAN");
}

#[test]
fn places_that_cannot_be_written_are_refused_at_once() {
    let folder = Folder::new("places");
    std::fs::create_dir(folder.path("there")).unwrap();
    for option in ["--output", "--html"] {
        let line = |file: &str| format!("plan --topology torus:4x4 --demands pattern:disjoint {option} {file}");
        refused(&folder, &line("absent/plan.json"), "absent/plan.json");
        refused(&folder, &line("there"), "regular file");
        refused(&folder, &line("/dev/null"), "regular file");
    }
    refused(&folder, "paths --topology torus:4x4 --demands pattern:disjoint --output absent/x", "absent/x");
    let both = "plan --topology torus:4x4 --demands pattern:disjoint --output same --html same";
    refused(&folder, both, "same file");
    let large = "plan --topology torus:64x64x64 --demands pattern:disjoint --html large.html";
    refused(&folder, large, "picture");
}

#[test]
fn damaged_plans_are_refused() {
    let folder = Folder::new("damaged");
    let plan = "plan --topology torus:4x4 --demands pattern:disjoint --output";
    folder.succeed(&format!("{plan} whole.optiq"));
    folder.succeed(&format!("{plan} whole.json"));
    let explain = |file: &str| format!("explain {file} --topology torus:4x4");

    let whole = folder.read("whole.optiq");
    folder.write("cut.optiq", &whole[..whole.len() / 2]);
    refused(&folder, &explain("cut.optiq"), "cut off");
    folder.write("stump.optiq", &whole[..20]);
    refused(&folder, &explain("stump.optiq"), "stump.optiq");
    let mut flipped = whole.clone();
    flipped[whole.len() - 3] ^= 1;
    folder.write("flipped.optiq", flipped);
    refused(&folder, &explain("flipped.optiq"), "damaged");

    let text = String::from_utf8(folder.read("whole.json")).unwrap();
    folder.write("cut.json", &text[..text.len() / 2]);
    refused(&folder, &explain("cut.json"), "cut.json");
    folder.write("changed.json", text.replacen("8388608", "8388609", 1));
    refused(&folder, &explain("changed.json"), "changed.json");
    folder.write("other.txt", "hello");
    refused(&folder, &explain("other.txt"), "not an OPTIQ plan");
    folder.write("empty.json", "");
    refused(&folder, &explain("empty.json"), "empty.json");
    refused(&folder, &explain("absent.json"), "absent.json");

    for file in ["whole.optiq", "whole.json"] {
        refused(&folder, &format!("explain {file} --topology torus:4x8"), "made for network");
        refused(&folder, &format!("{} --from h5 --to h6", explain(file)), "no demand from h5 to h6");
    }
}

#[test]
fn a_level_that_is_none_is_refused() {
    let folder = Folder::new("level");
    let output = folder.command(&["info"]).env("OPTIQ_LOG", "loud").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("optiq: OPTIQ_LOG is \"loud\""));
    let output = folder.command(&["info"]).env("OPTIQ_LOG", "debug").output().unwrap();
    assert!(output.status.success());
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = Folder::new("pipe");
    let mut child = folder
        .command(&["paths", "--topology", "bgq:512", "--demands", "pattern:disjoint", "--k", "20"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_full_disk_is_told() {
    let folder = Folder::new("full");
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = folder.command(&["info"]).stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output();
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("optiq: cannot write to standard output"));
}

#[test]
fn options_are_listed_with_where_they_come_from() {
    let folder = Folder::new("options");
    folder.write("site.conf", "topology = torus:4x4 # ours\nscores = \"0-1KiB=mpi\"\nk=3\n");
    let run = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let mut command = folder.command(&words);
        command.env("OPTIQ_CONF", folder.path("site.conf")).env("OPTIQ_K", "9").env("OPTIQ_KK", "1");
        let output = command.output().unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    };
    let (status, listed, warned) = run("info -c");
    assert_eq!(status, Some(0));
    assert_eq!(warned, "optiq: OPTIQ_KK is set, but OPTIQ has no such option; OPTIQ_K is the nearest\n");
    let line = |text: &str, key: &str| {
        let line = text.lines().find(|l| l.trim_start_matches("# ").starts_with(&format!("{key} =")));
        line.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let conf = folder.path("site.conf");
    assert_eq!(line(&listed, "topology"), format!("topology = torus:4x4 # {}:1", conf.display()));
    assert_eq!(line(&listed, "k"), "k = 9 # environment");
    assert_eq!(line(&listed, "window"), "window = 32 # default");
    assert_eq!(line(&listed, "trace"), "# trace = # default");
    let (_, full, _) = run("info -cf");
    assert!(full.contains("# Candidate paths per pair of hosts.\n# takes: number\nk = 9"), "{full}");
    let (_, json, _) = run("info -c --json");
    let document: serde_json::Value = serde_json::from_str(&json).unwrap();
    let k = document["options"].as_array().unwrap().iter().find(|o| o["name"] == "OPTIQ_K").unwrap();
    assert_eq!(
        (k["value"].as_str(), k["origin"].as_str(), k["default"].as_str()),
        (Some("9"), Some("environment"), Some("20"))
    );

    // What is printed is a file of options with the same values.
    folder.write("site.conf", &full);
    let (status, again, _) = run("info -c");
    assert_eq!(
        (status, line(&again, "scores")),
        (
            Some(0),
            format!("scores = 0-1KiB=mpi # {}:{}", conf.display(), {
                1 + full.lines().position(|l| l.starts_with("scores")).unwrap()
            })
        )
    );
    folder.write("site.conf", "k 3");
    let (status, _, said) = run("info -c");
    assert_eq!(status, Some(2));
    assert!(said.contains("site.conf:1: found \"k 3\"; KEY = value is expected"), "{said}");
}

#[test]
fn predictions_of_a_table_stand_beside_each_other() {
    let folder = Folder::new("probe");
    folder.write("t.toml", include_str!("../../fuzz/corpus/probe_table/seed-small"));
    // One configuration at 2 us, beside which FFTW is 10 % slower; FFTW itself has 3 us. A curve through (0, 0) ends at 10 % as well.
    let text = folder.succeed("probe predict t.toml FFTW FFTW");
    assert!(text.starts_with("t: 2 runs with an application, 1 without"), "{text}");
    assert_eq!(text.matches("10.0 %").count(), 5, "{text}");
    let found = json(&folder, "probe predict t.toml --html page.html --json");
    let pair = &found["pairs"][0];
    assert_eq!((&pair["slowed"], &pair["beside"]), (&"FFTW".into(), &"FFTW".into()));
    assert!(pair["slowdowns"].as_array().unwrap().iter().all(|s| (s.as_f64().unwrap() - 0.1).abs() < 1e-9), "{pair}");
    // With one configuration none is left to predict it from.
    assert!(found["methods"].as_array().unwrap().len() == 5 && found["no_slowdown"]["mean_error_points"].is_null());
    let page = std::fs::read_to_string(folder.path("page.html")).unwrap();
    assert_eq!(page.matches("10.0 %").count(), 5, "{page}");
    // Two configurations: each is predicted from the other, 20 points off; no slowdown at all is off by 10 and 30.
    let two =
        include_str!("../../fuzz/corpus/probe_table/seed-small").replace("slowdowns = [0.1]", "slowdowns = [0.1, 0.3]");
    let again = "[[configuration]]\nname = \"more\"\nimpact = { mean_seconds = 4e-6, deviation_seconds = 1e-6, counts = [0, 3, 9, 4] }\n[[application]]";
    folder.write("two.toml", two.replacen("[[application]]", again, 1));
    let found = json(&folder, "probe predict two.toml --json");
    assert!((found["no_slowdown"]["mean_error_points"].as_f64().unwrap() - 20.0).abs() < 1e-9, "{found}");
    assert!((found["methods"][0]["mean_error_points"].as_f64().unwrap() - 20.0).abs() < 1e-9, "{found}");
    assert!(folder.succeed("probe predict two.toml").contains("20.0"));
}

//! `optiq reproduce` as scripts and people meet it: documents, pages, examples, refusals.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod support;

use serde_json::Value;
use support::Folder;

fn json(folder: &Folder, line: &str) -> Value {
    serde_json::from_str(&folder.succeed(line)).unwrap_or_else(|e| panic!("optiq {line}: {e}"))
}

/// One case of one source, host 0 of 512, which sends 8 MiB to each of hosts 256 to 263.
const ONE_CASE: &str = "\
[[case]]
id = \"one\"
section = \"6.4.4.2\"
pattern = \"disjoint\"
sources = \"1/512\"
each = 8
first = \"1/2\"
bytes = \"8MiB\"
why = \"One source.\"
";

#[test]
fn the_row_of_mpi_is_equal() {
    let folder = Folder::new("reproduce-o1");
    let document = json(&folder, "reproduce o1 --json");
    for key in ["optiq_version", "date", "processor", "system"] {
        assert!(document[key].as_str().is_some_and(|v| !v.is_empty()), "{key} is {}", document[key]);
    }
    let claim = &document["claims"][0];
    assert_eq!((&claim["id"], &claim["verdict"]), (&Value::from("O1"), &Value::from("shown")));
    assert_eq!(claim["command"], "optiq reproduce O1");
    let rows = claim["rows"].as_array().unwrap();
    assert_eq!(rows.len(), 3);
    for row in rows {
        // 16 messages of 8 MiB are 134,217,728 bytes.
        assert_eq!(row["megabytes_per_link_max"].as_f64(), Some(134.217_728), "{row}");
        assert_eq!((row["paths"].as_u64(), row["paths_per_link_max"].as_u64()), (Some(512), Some(16)));
        assert_eq!((&row["verdict"], &row["published_megabytes_per_link_max"]), (&"shown".into(), &134.21.into()));
    }
}

#[test]
fn plans_are_no_worse_than_published() {
    let folder = Folder::new("reproduce-o3");
    let document = json(&folder, "reproduce O3 O4 --repetitions 1 --json");
    let claims = document["claims"].as_array().unwrap();
    assert_eq!(claims.iter().map(|c| c["id"].as_str().unwrap()).collect::<Vec<_>>(), ["O3", "O4"]);
    for claim in claims {
        assert_eq!(claim["verdict"], "shown", "{claim}");
        let (ours, thesis): (Vec<&Value>, Vec<&Value>) =
            claim["rows"].as_array().unwrap().iter().partition(|row| row["candidate_method"] == "ours");
        // The thesis's candidates stand beside ours, and are not judged.
        assert_eq!((ours.len(), thesis.len()), (3, 3), "{claim}");
        assert!(thesis.iter().all(|row| row["verdict"] == "not judged"), "{claim}");
        for row in ours {
            let figure = |key: &str| row[key].as_f64().unwrap();
            assert!(figure("megabytes_per_link_max") <= figure("published_megabytes_per_link_max") + 0.01);
            assert!(figure("bound_megabytes_per_link_max") <= figure("megabytes_per_link_max"));
        }
    }
}

#[test]
fn other_partitions_are_not_judged() {
    let folder = Folder::new("reproduce-nodes");
    let document = json(&folder, "reproduce O3 --nodes 512 --repetitions 1 --json");
    let claim = &document["claims"][0];
    assert_eq!(claim["verdict"], "not judged");
    assert_eq!(claim["command"], "optiq reproduce O3 --nodes 512 --repetitions 1");
}

#[test]
fn a_case_by_hand() {
    let folder = Folder::new("reproduce-case");
    folder.write("one.toml", ONE_CASE);
    let document = json(&folder, "reproduce 91 --nodes 512 --cases one.toml --json");
    let claim = &document["claims"][0];
    let row = &claim["rows"][0];
    assert_eq!((&row["case"], row["demands"].as_u64()), (&Value::from("one"), Some(8)));
    // 64 MiB leave h0 over its 10 links (4x4x4x4x2: two each way in four dimensions, two parallel ones in the fifth).
    let bound = f64::from(64 << 20) / 10.0 / 1e6;
    let figure = |key: &str| row[key].as_f64().unwrap();
    assert!((figure("bound_megabytes_per_link_max") - bound).abs() < 1e-9, "{row}");
    assert!(figure("gap_percent") <= 1.0 && figure("megabytes_per_link_max") <= bound * 1.01, "{row}");
    // 1.8 GB/s for each link.
    assert!((figure("congestion_milliseconds") - figure("megabytes_per_link_max") / 1.8).abs() < 1e-9, "{row}");
    assert_eq!(claim["totals"]["cases"].as_u64(), Some(1));
    assert_eq!(claim["totals"]["cases_within_gap"].as_u64(), Some(1));
    // One case is not 91: the thesis's sum has no place beside it.
    assert!(claim["totals"]["published_seconds"].is_null());
}

#[test]
fn all_91_cases_are_planned() {
    let folder = Folder::new("reproduce-91");
    let document = json(&folder, "reproduce 91 --nodes 512 --planner heu2 --json");
    let claim = &document["claims"][0];
    let rows = claim["rows"].as_array().unwrap();
    assert_eq!((rows.len(), claim["totals"]["cases"].as_u64()), (91, Some(91)));
    for row in rows {
        let figure = |key: &str| row[key].as_f64().unwrap();
        assert!(figure("congestion_milliseconds") <= figure("direct_congestion_milliseconds"), "{row}");
        assert!(figure("improvement") >= 1.0 && figure("gap_percent") >= 0.0, "{row}");
    }
}

/// Simulated claims, small: 512 nodes, a 64th of the bytes, packets of 8 KiB. Nothing of that is judged.
const SMALL: &str = "--nodes 512 --scale 64 --packets 16 --json";

/// The rows of one claim's small run. Each has a throughput no higher than its link bound allows, and MPI's ratio is 1.
fn small(name: &str, claim: &str) -> Vec<Value> {
    let folder = Folder::new(name);
    let document = json(&folder, &format!("reproduce {claim} {SMALL}"));
    let claim = &document["claims"][0];
    assert_eq!(claim["verdict"], "not judged");
    assert!(claim["command"].as_str().unwrap().ends_with("--nodes 512 --scale 64 --packets 16"), "{claim}");
    let rows = claim["rows"].as_array().unwrap().clone();
    for row in &rows {
        let figure = |key: &str| row[key].as_f64();
        assert!(figure("gigabytes_per_second").unwrap() > 0.0, "{row}");
        assert!(figure("share_of_bound_percent").is_none_or(|share| share > 0.0 && share <= 100.01), "{row}");
        if row["planner"] == "MPI, all at once" {
            assert!(figure("times_mpi").is_none_or(|times| times == 1.0), "{row}");
        }
    }
    rows
}

#[test]
fn throughputs_by_nodes_and_sizes_run_small() {
    let rows = small("reproduce-o7", "O7");
    // Three patterns, MPI and three planners.
    assert_eq!(rows.len(), 12);
    let of = |row: &Value| row["times_mpi"].as_f64().unwrap();
    assert!(rows.iter().filter(|r| r["planner"] == "optimal").all(|r| of(r) > 1.5), "{rows:?}");
    assert_eq!(small("reproduce-o8", "O8").len(), 12);
}

#[test]
fn throughputs_by_distance_run_small() {
    let rows = small("reproduce-o9", "O9");
    // Three patterns at four positions, MPI and three planners; in the first one three over the thesis's candidates, which are judged.
    assert_eq!(rows.len(), 3 * 4 * 4 + 4 * 3);
    let thesis = rows.iter().filter(|r| r["candidate_method"] == "the thesis's");
    assert!(thesis.clone().all(|r| r["pattern"] == "disjoint" && r["paths"].as_u64().is_some_and(|paths| paths > 0)));
    assert_eq!(thesis.map(|r| r["planner"].as_str().unwrap()).collect::<Vec<_>>(), ["heu1", "heu2", "lp"].repeat(4));
    // Pairs of the first 64 hosts of 4x4x4x4x2 with hosts 64 to 191, or 384 to 511, are at most 9 hops apart.
    for row in &rows {
        let (mean, most) = (row["distance_mean"].as_f64().unwrap(), row["distance_max"].as_f64().unwrap());
        assert!(mean <= most && most <= 9.0 && mean > 1.0, "{row}");
    }
    assert!(rows.iter().all(|r| r["planner"] != "MPI, all at once" || r["published_paths"].is_null()));
}

#[test]
fn throughputs_by_destinations_run_small() {
    let rows = small("reproduce-o10", "O10");
    assert_eq!(rows.len(), 3 * 4 * 4);
    let destinations: Vec<u64> = rows.iter().step_by(4).take(4).map(|r| r["destinations"].as_u64().unwrap()).collect();
    assert_eq!(destinations, [2, 4, 8, 16]);
}

#[test]
fn throughputs_of_random_pairings_run_small() {
    let rows = small("reproduce-o11", "O11");
    assert_eq!(rows.len(), 12);
    for row in rows.iter().filter(|r| r["planner"] != "MPI, all at once") {
        let figure = |key: &str| row[key].as_f64().unwrap();
        assert!(
            figure("times_mpi_min") <= figure("times_mpi") && figure("times_mpi") <= figure("times_mpi_max"),
            "{row}"
        );
    }
}

#[test]
fn gains_over_one_case() {
    let folder = Folder::new("reproduce-o6");
    folder.write("one.toml", ONE_CASE);
    let document = json(&folder, "reproduce O6 --nodes 512 --scale 64 --packets 16 --cases one.toml --json");
    let claim = &document["claims"][0];
    let rows = claim["rows"].as_array().unwrap();
    assert_eq!((rows.len(), &claim["verdict"]), (3, &Value::from("not judged")));
    for row in rows {
        let figure = |key: &str| row[key].as_f64().unwrap();
        // With one case all readings of a gain are of the same two times.
        let gain = figure("gain_percent");
        assert!((figure("gain_of_sum_percent") - gain).abs() < 1e-9, "{row}");
        assert!((figure("time_saved_percent") - (100.0 - 100.0 / (1.0 + gain / 100.0))).abs() < 1e-9, "{row}");
        assert_eq!((row["cases"].as_u64(), figure("gain_percent_min")), (Some(1), figure("gain_percent_max")));
    }
    let percent = |i: usize| rows[i]["published_gain_percent"].as_f64().unwrap();
    assert_eq!([percent(0), percent(1), percent(2)], [29.98, 31.61, 50.63]);
}

#[test]
fn couplings_run_small() {
    let rows = small("reproduce-o18", "O18");
    assert_eq!(rows.len(), 9);
    let pairs: Vec<u64> = rows.iter().map(|r| r["demands"].as_u64().unwrap()).collect();
    assert_eq!(pairs, [2233, 2233, 2233, 2911, 2911, 2911, 502, 502, 502]);
    for row in rows.iter().filter(|r| r["planner"] == "MPI, all at once") {
        assert_eq!((row["gain_percent"].as_f64(), &row["paths"]), (Some(0.0), &row["demands"]));
    }
}

#[test]
fn aggregation_runs_small() {
    let rows = small("reproduce-o19", "O19");
    let of = |key: &str| rows.iter().map(|r| r[key].clone()).collect::<Vec<Value>>();
    let (first, random) = ("default, ties to the first", "default, ties at random");
    let three = |assignment| [assignment; 3];
    assert_eq!(of("assignment"), [&three("default")[..], &three(first), &three(random), &["balanced"]].concat());
    // Of 128 nodes 32 are nearer to one of their two bridge nodes, 32 to the other, and 64 as near to both. So a bridge node has 64
    // where they alternate, 96 where all go to the first, itself being one of them; about 64 at random, and if balanced.
    assert_eq!(of("hosts_of_io_host_max")[..6], [63, 63, 63, 95, 95, 95]);
    for row in &rows[6..9] {
        assert!((64..80).contains(&row["hosts_of_io_host_max"].as_u64().unwrap()), "{row}");
    }
    assert!(rows[9]["hosts_of_io_host_max"].as_u64().unwrap() < 70, "{}", rows[9]);
    assert!(of("cores").iter().all(|cores| *cores == 8192));
}

#[test]
fn urgent_messages_are_timed_small() {
    let folder = Folder::new("reproduce-o21");
    let document = json(&folder, &format!("reproduce O21 {SMALL}"));
    let rows = document["claims"][0]["rows"].as_array().unwrap();
    let found = |case: &str, what: &str| {
        let row = rows.iter().find(|r| r["case"] == case && r["what"] == what);
        row.unwrap_or_else(|| panic!("no {what} of {case}"))["found"].as_f64().unwrap()
    };
    for pattern in ["disjoint", "overlap", "subset"] {
        assert!(found(&format!("{pattern} alone"), "bulk alone") > 0.0);
    }
    // With a 64th of the bytes a message is a chunk or a few, and one case or another does not change; all together do.
    let mut ratio = 1.0;
    for case in ["disjoint", "overlap", "subset"]
        .into_iter()
        .flat_map(|pattern| ["64KiB", "1MiB"].map(|size| format!("{size} of class 1 beside {pattern}")))
    {
        let of = |what: &str| found(&case, what);
        assert!(of("urgent alone") > 0.0 && of("bulk, with classes") > 0.0);
        ratio *= of("urgent beside it, with classes") / of("urgent beside it, without classes");
    }
    assert!(ratio < 0.8, "{ratio}");
}

#[test]
fn jobs_on_a_dragonfly_plus_run_small() {
    let folder = Folder::new("reproduce-k");
    let structure = json(&folder, "reproduce K1 --json");
    assert_eq!(structure["claims"][0]["verdict"], "shown");
    let document = json(&folder, "reproduce K5 --scale 30 --json");
    let claim = &document["claims"][0];
    // A message of each rank is no run that could be judged.
    assert_eq!((&claim["verdict"], &claim["command"]), (&"not judged".into(), &"optiq reproduce K5 --scale 30".into()));
    let rows = claim["rows"].as_array().unwrap();
    // Per placement: alone, six backgrounds with their slowdowns, the largest of these.
    assert_eq!(rows.len(), 2 * (1 + 2 * 6 + 1));
    assert!(rows.iter().all(|row| row["messages_per_rank"] == 1));
    let alone = rows[0]["microseconds"].as_f64().unwrap();
    assert!((50.0..500.0).contains(&alone), "{alone}");
}

#[test]
fn pages_have_pictures() {
    let folder = Folder::new("reproduce-picture");
    folder.write("one.toml", ONE_CASE);
    folder.succeed("reproduce O6 --nodes 512 --scale 64 --packets 16 --cases one.toml --output pages");
    let page = String::from_utf8(folder.read("pages/o6-512.md")).unwrap();
    assert!(page.contains("](o6-512.svg)\n"), "{page}");
    assert!(page.contains("Scaled: the bytes of all pairs are divided by 64"), "{page}");
    let picture = String::from_utf8(folder.read("pages/o6-512.svg")).unwrap();
    assert!(picture.starts_with("<svg ") && picture.contains(">heu2</text>"), "{picture}");
}

#[test]
fn pages_are_written() {
    let folder = Folder::new("reproduce-pages");
    folder.write("one.toml", ONE_CASE);
    let printed = folder.succeed("reproduce O1 91 --nodes 512 --cases one.toml --output pages/here");
    let page = String::from_utf8(folder.read("pages/here/o1-512.md")).unwrap();
    assert!(page.starts_with("# O1: Table VII, what MPI puts on the links\n"), "{page}");
    for part in [
        "Verdict: **not judged**.",
        "Made on 20",
        "Machine: ",
        "OPTIQ ",
        "`optiq reproduce O1 --nodes 512`",
        "| pattern |",
    ] {
        assert!(page.contains(part), "{part} is not in {page}");
    }
    let page = String::from_utf8(folder.read("pages/here/cases-91-512.md")).unwrap();
    assert!(
        page.contains("| one | 6.4.4.2 | 8 |") && page.contains("`optiq reproduce 91 --nodes 512 --cases one.toml`"),
        "{page}"
    );
    assert!(printed.contains("written: pages/here/o1-512.md") && printed.contains("91: shown"), "{printed}");
}

#[test]
fn the_help_s_examples_run() {
    let folder = Folder::new("reproduce-help");
    let help = folder.succeed("reproduce --help");
    let from = help.find("Examples:").unwrap();
    let lines: Vec<&str> = help[from..].lines().filter_map(|l| l.strip_prefix("  optiq ")).collect();
    assert!(lines.len() >= 3, "{help}");
    for line in lines {
        let printed = folder.succeed(line);
        if line.contains("--json") {
            serde_json::from_str::<Value>(&printed).unwrap_or_else(|e| panic!("{line}: {e}"));
        }
        assert!(!printed.is_empty());
    }
}

#[test]
fn bad_input_gets_one_sentence() {
    let folder = Folder::new("reproduce-refusals");
    folder.write("bad.toml", ONE_CASE.replace("each = 8", "each = 0"));
    folder.write("third.toml", ONE_CASE.replace("1/512", "1/3"));
    let before = folder.names();
    for (line, says) in [
        (
            "reproduce O99",
            "there is no claim \"O99\"; the claims are O1, O2, O3, O4, O5, O6, O7, O8, O9, O10, O11, O12, O13, O14, O15, O16, O17, O18, O19, O20, O21, B1, B2, B3, B4, B5, B6, B7, B8, B9, B10, B11, B12, B13, B14, B15, B16, B17, B18, K1, K2, K3, K4, K5, K6, K7, K8, C1, C2, C3, C4, C5, C6, Y1, Y2, Y3, Y4, Y5, 91",
        ),
        ("reproduce", "required"),
        ("reproduce O1 --nodes 1000", "--nodes is 1000; 512, 1024, 2048 or 4096 is expected"),
        ("reproduce O1 --nodes -1", "--nodes"),
        ("reproduce B10 --nodes 512", "--nodes is given, but B10 is not about a partition"),
        ("reproduce O1 K1 --nodes 512", "--nodes is given, but K1 is not about a partition"),
        ("reproduce O3 --repetitions 0", "--repetitions is 0; at least 1 is expected"),
        ("reproduce 91 --planner best", "there is no planner \"best\""),
        ("reproduce O1 --planner heu2", "only 91 takes one"),
        ("reproduce O1 --cases bad.toml", "only 91, O6 and O15 take cases"),
        ("reproduce 91 --cases bad.toml", "bad.toml: case \"one\": each is 0"),
        ("reproduce 91 --cases none.toml", "case file none.toml cannot be read"),
        ("reproduce 91 --nodes 512 --cases third.toml", "1/3 of them is not a whole number of hosts"),
        ("reproduce O1 --scale 2", "--scale is given, but of the claims only O5, O6"),
        ("reproduce O12 --packets 2", "--packets is given, but of the claims only O5, O6"),
        ("reproduce O7 --scale 0", "--scale"),
        ("reproduce O7 --packets 99999999999999999999", "--packets"),
        ("reproduce O1 --output bad.toml", "cannot make the directory bad.toml"),
    ] {
        let output = folder.run(line);
        let error = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "optiq {line}: {error}");
        assert!(error.starts_with("optiq: ") && error.lines().count() == 1, "optiq {line}: {error}");
        assert!(error.contains(says), "optiq {line}: \"{says}\" is not in: {error}");
        assert!(output.stdout.is_empty(), "optiq {line}");
        assert_eq!(folder.names(), before, "optiq {line} left something behind");
    }
}

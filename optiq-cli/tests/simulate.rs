//! `optiq simulate`: its documents, and what it refuses.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

#[allow(dead_code, reason = "not all helpers are needed here")]
mod support;

use serde_json::Value;
use support::Folder;

fn json(folder: &Folder, line: &str) -> Value {
    serde_json::from_str(&folder.succeed(line)).unwrap_or_else(|e| panic!("optiq {line}: {e}"))
}

/// The sentence with which the command refuses.
fn refuse(folder: &Folder, line: &str, status: i32) -> String {
    let output = folder.run(line);
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.code() == Some(status) && output.stdout.is_empty(),
        "optiq {line}: {} {error}",
        output.status
    );
    assert!(error.starts_with("optiq: ") && error.lines().count() == 1, "optiq {line}: {error}");
    error
}

/// Two ways around a ring of four: twice the throughput, and close to the link bound.
#[test]
fn planned_paths_are_faster_where_there_are_two() {
    let folder = Folder::new("two-ways");
    folder.write("one.txt", "h0 h2 8MB\n");
    let line = "simulate --topology torus:4 --demands file:one.txt --compare --json";
    let document = json(&folder, line);
    let run = |name: &str| document["runs"].as_array().unwrap().iter().find(|r| r["name"] == name).unwrap().clone();
    let (mpi, ours) = (run("mpi-linear"), run("optimal"));
    for r in [&mpi, &ours] {
        assert_eq!((&r["end"], &r["complete"]), (&Value::from("finished"), &Value::from(true)));
        let share = r["share_of_wire_bound"].as_f64().unwrap();
        assert!((0.9..=1.0).contains(&share), "{} reaches {share}", r["name"]);
    }
    assert_eq!(mpi["link_bound_seconds"].as_f64(), Some(0.008));
    let gain = mpi["seconds"].as_f64().unwrap() / ours["seconds"].as_f64().unwrap();
    assert!((1.8..2.0).contains(&gain), "{gain}");
    // Fluids are as fast as packets where a link is full.
    let fluid = mpi["flow_model_seconds"].as_f64().unwrap() / mpi["seconds"].as_f64().unwrap();
    assert!((0.99..1.01).contains(&fluid), "{fluid}");
    // The same on any number of threads, but for what the simulation itself takes.
    let mut more = json(&folder, &format!("{line} --threads 3"));
    let mut first = document.clone();
    for d in [&mut first, &mut more] {
        d["runs"].as_array_mut().unwrap().iter_mut().for_each(|r| r["simulation_seconds"] = Value::Null);
    }
    assert_eq!(first, more);
}

#[test]
fn several_demands_of_a_pair_are_one_message() {
    let folder = Folder::new("twice");
    folder.write("twice.txt", "h0 h1 1MB\nh0 h1 2MB\n");
    let document = json(&folder, "simulate --topology torus:4x4 --demands file:twice.txt --compare --json");
    assert!(
        document["runs"].as_array().unwrap().iter().all(|r| r["complete"] == true && r["seconds"].as_f64() > Some(0.0))
    );
    assert_eq!(document["demand_bytes"].as_u64(), Some(3_000_000));
}

/// On Blue Gene/Q chunks are put; long messages stop at every host, short ones where the plan says so.
#[test]
fn stops_and_transport_are_chosen_by_the_machine_and_the_size() {
    let folder = Folder::new("stops");
    let chosen = |options: &str| {
        let line = format!(
            "simulate --topology torus:4x4x4,capacity=1.8GB/s --model bgq --demands pattern:disjoint --events 1000 --json {options}"
        );
        let output = folder.run(&line);
        assert_eq!(output.status.code(), Some(1), "ended early: {line}");
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let run = &document["runs"][0];
        [&run["legs"], &run["transport"]].map(|v| v.as_str().unwrap_or("-").to_owned())
    };
    assert_eq!(chosen("--message 16MiB"), ["hops", "one-sided"]);
    assert_eq!(chosen("--message 16KiB"), ["planned", "one-sided"]);
    assert_eq!(chosen("--message 16MiB --legs planned"), ["planned", "one-sided"]);
    assert_eq!(chosen("--message 16KiB --legs hops --transport two-sided"), ["hops", "two-sided"]);
    // A transport with a rendezvous does not relay at every host by default; MPI has neither option.
    assert_eq!(chosen("--message 16MiB --transport two-sided"), ["planned", "two-sided"]);
    assert_eq!(chosen("--message 16MiB --mpi linear"), ["-", "-"]);
}

#[test]
fn links_are_written_as_a_table() {
    let folder = Folder::new("links");
    folder.write("one.txt", "h0 h2 1MB\n");
    folder.succeed("simulate --topology star:3 --demands file:one.txt --mpi linear --links links.csv");
    let text = String::from_utf8(folder.read("links.csv")).unwrap();
    let rows: Vec<Vec<&str>> = text.lines().map(|l| l.split(',').collect()).collect();
    assert_eq!((rows.len(), rows[0][5]), (7, "bytes"));
    let carried: Vec<_> = rows[1..].iter().filter(|r| r[5] != "0").map(|r| (r[1], r[2], r[5])).collect();
    assert_eq!(carried.len(), 2);
    assert!(carried[0].0 == "h0" && carried[1].1 == "h2" && carried.iter().all(|c| c.2 == "1000000"), "{carried:?}");
}

#[test]
fn limits_leave_partial_results_that_are_marked() {
    let folder = Folder::new("partial");
    for (limit, end) in [("--until 0.001", "limit of simulated time"), ("--events 1000", "limit of events")] {
        let line = format!("simulate --topology torus:4x4 --demands pattern:disjoint {limit} --json");
        let output = folder.run(&line);
        assert_eq!(output.status.code(), Some(1), "{line}");
        let document: Value = serde_json::from_slice(&output.stdout).unwrap();
        let run = &document["runs"][0];
        assert_eq!((&run["end"], &run["complete"]), (&Value::from(end), &Value::from(false)));
        assert!(run["packets"].as_u64().unwrap() > 0);
        assert_eq!(run["bytes_per_second"].as_f64(), Some(0.0));
    }
}

#[test]
fn schedules_are_replayed_and_a_deadlock_is_told() {
    let folder = Folder::new("goal");
    // 8 bytes there and back.
    folder.write(
        "ping.goal",
        "num_ranks 2\nrank 0 {\na: send 8b to 1 tag 1\nb: recv 8b from 1 tag 2\nb requires a\n}\n\
         rank 1 {\na: recv 8b from 0 tag 1\nb: send 8b to 0 tag 2\nb requires a\n}\n",
    );
    let done = json(&folder, "simulate --topology star:2 --goal ping.goal --json");
    assert_eq!((done["ranks"].as_u64(), done["messages"].as_u64()), (Some(2), Some(2)));
    // Twice two wires of 10 ns, a router of 100 ns and 8 ns on the wire, with the default model.
    assert_eq!(done["seconds"].as_f64(), Some(256e-9));
    folder.write(
        "wait.goal",
        "num_ranks 2\nrank 0 {\na: recv 8b from 1 tag 1\n}\nrank 1 {\na: recv 8b from 0 tag 1\n}\n",
    );
    let sentence = refuse(&folder, "simulate --topology star:2 --goal wait.goal", 1);
    assert!(sentence.contains("rank 0") && sentence.contains("rank 1") && sentence.contains("deadlock"), "{sentence}");
}

#[test]
fn what_cannot_be_is_refused_in_a_sentence() {
    let folder = Folder::new("refused");
    folder.write("small.toml", "[router]\nbuffer_bytes = 100\n");
    folder.write("typo.toml", "[router]\nbufer_bytes = 100\n");
    folder.write("bad.goal", "num_ranks 2\nrank 0 {\na: sned 8b to 1\n}\n");
    let demands = "--demands pattern:disjoint";
    for (line, words) in [
        (
            format!("simulate --topology torus:4x4 {demands} --model small.toml"),
            "small.toml: router.buffer_bytes is 100",
        ),
        (format!("simulate --topology torus:4x4 {demands} --model typo.toml"), "bufer_bytes"),
        (format!("simulate --topology torus:4x4 {demands} --model nosuch"), "presets bgq"),
        (format!("simulate --topology torus:4x4 {demands} --routing fpar"), "fpar needs a Dragonfly+"),
        (format!("simulate --topology torus:4x4 {demands} --routing best"), "no routing \"best\""),
        (format!("simulate --topology torus:4x4 {demands} --until 0"), "above zero"),
        (format!("simulate --topology torus:4x4 {demands} --chunks 0"), "above zero"),
        ("simulate --topology torus:4x4".into(), "--demands"),
        ("simulate --topology star:2 --goal bad.goal".into(), "bad.goal:3"),
        ("simulate --topology star:2 --goal nosuch.goal".into(), "nosuch.goal"),
    ] {
        let sentence = refuse(&folder, &line, 2);
        assert!(sentence.contains(words), "{line}: {sentence}");
    }
}

/// A run that a limit ends and that resumes from its checkpoint ends as an uninterrupted one.
#[test]
fn an_ended_run_goes_on() {
    let folder = Folder::new("go-on");
    let line = "simulate --topology torus:4x4 --demands pattern:overlap --message 1MB --plan-only --json";
    let mut whole = json(&folder, line);
    let half = whole["runs"][0]["events"].as_u64().unwrap() / 2;
    let output = folder.run(&format!("{line} --events {half} --checkpoint half.ckpt"));
    let ended: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!((&ended["runs"][0]["end"], &ended["runs"][0]["complete"]), (&"limit of events".into(), &false.into()));
    let mut resumed = json(&folder, &format!("{line} --resume half.ckpt"));
    for document in [&mut whole, &mut resumed] {
        document["runs"][0]["simulation_seconds"] = Value::Null;
    }
    assert_eq!(whole, resumed);
    // Checkpoints during the run, and the output says how to resume.
    let line = "simulate --topology torus:4x4 --demands pattern:overlap --message 1MB --plan-only";
    let text = folder.run(&format!("{line} --events {half} --checkpoint half.ckpt --every 0.001"));
    let text = String::from_utf8_lossy(&text.stdout).into_owned();
    assert!(text.contains("to go on: the same command with --resume half.ckpt"), "{text}");
    // Another simulation, a damaged file, none.
    let other = refuse(&folder, "simulate --topology torus:4x4 --demands pattern:subset --resume half.ckpt", 2);
    assert!(other.contains("half.ckpt: the checkpoint is of another simulation"), "{other}");
    let bytes = std::fs::read(folder.path("half.ckpt")).unwrap();
    std::fs::write(folder.path("cut.ckpt"), &bytes[..bytes.len() / 2]).unwrap();
    let cut = refuse(&folder, &format!("{line} --resume cut.ckpt"), 2);
    assert!(cut.contains("cut.ckpt: the checkpoint is damaged"), "{cut}");
    let none = refuse(&folder, &format!("{line} --resume none.ckpt"), 2);
    assert!(none.contains("cannot read none.ckpt"), "{none}");
    let nowhere = refuse(&folder, &format!("{line} --checkpoint no/such/file"), 2);
    assert!(nowhere.contains("cannot write no/such/file"), "{nowhere}");
}

/// The rows of a CSV file, by the names of its columns.
fn csv(folder: &Folder, file: &str) -> Vec<std::collections::BTreeMap<String, String>> {
    let text = String::from_utf8(folder.read(file)).unwrap();
    let mut lines = text.lines().map(|line| line.split(',').map(str::to_owned).collect::<Vec<_>>());
    let head = lines.next().unwrap();
    lines
        .map(|line| {
            assert_eq!(line.len(), head.len(), "{file}: {line:?}");
            head.iter().cloned().zip(line).collect()
        })
        .collect()
}

/// Sums of a column, by run and link.
fn sums(rows: &[std::collections::BTreeMap<String, String>], value: impl Fn(&str, f64) -> f64) -> Vec<(String, f64)> {
    let mut sums = std::collections::BTreeMap::new();
    for row in rows {
        let long = row.get("interval_seconds").map_or(1.0, |text| text.parse().unwrap());
        for column in ["bytes", "busy_seconds", "busy_share"] {
            if let Some(text) = row.get(column) {
                let key = format!("{} {} {} {column}", row["run"], row["from"], row["to"]);
                *sums.entry(key).or_insert(0.0) += text.parse::<f64>().unwrap() * value(column, long);
            }
        }
    }
    sums.into_iter().filter(|(_, sum)| *sum > 0.0).collect()
}

/// What links carry over time adds up to what they carry in all, and so do times for which they are busy; histograms count
/// what the document counts.
#[test]
fn series_and_histograms_add_up() {
    let folder = Folder::new("series");
    let line = "simulate --topology torus:4x4 --demands pattern:overlap --message 1MB --compare --json";
    let plain = json(&folder, line);
    let files = "--links links.csv --series series.csv --queues queues.csv --histogram latency.csv";
    let document = json(&folder, &format!("{line} {files}"));
    let queues = csv(&folder, "queues.csv");
    let (links, series) = (csv(&folder, "links.csv"), csv(&folder, "series.csv"));
    let only = |sums: Vec<(String, f64)>, column: &str| -> Vec<(String, f64)> {
        sums.into_iter().filter_map(|(key, sum)| Some((key.strip_suffix(column)?.to_owned(), sum))).collect()
    };
    let weight = |column: &str, long: f64| if column == "busy_share" { long } else { 1.0 };
    let (all, parts) = (only(sums(&links, weight), "bytes"), only(sums(&series, weight), "bytes"));
    assert!(!all.is_empty());
    assert_eq!(all, parts);
    let (all, parts) = (only(sums(&links, weight), "busy_seconds"), only(sums(&series, weight), "busy_share"));
    assert_eq!(all.len(), parts.len());
    for ((link, all), (same, parts)) in all.iter().zip(&parts) {
        // Shares have six digits, and seconds nine.
        assert!(link == same && (all - parts).abs() <= 1e-3 * all + 1e-9, "{link}: {all} s, {parts} s");
    }
    let histogram = csv(&folder, "latency.csv");
    for run in document["runs"].as_array().unwrap() {
        let rows = |kind: &str| -> Vec<(f64, u64)> {
            let own = histogram.iter().filter(|row| row["run"] == run["name"].as_str().unwrap() && row["kind"] == kind);
            own.map(|row| (row["up_to_seconds"].parse().unwrap(), row["count"].parse().unwrap())).collect()
        };
        for (kind, count, latency) in
            [("packet", "packets", "packet_latency_seconds"), ("message", "messages", "message_latency_seconds")]
        {
            let cells = rows(kind);
            assert_eq!(cells.iter().map(|cell| cell.1).sum::<u64>(), run[count].as_u64().unwrap(), "{run}");
            assert!(cells.is_sorted_by(|a, b| a.0 < b.0));
            let last = cells.last().unwrap().0 / run[latency]["max"].as_f64().unwrap();
            assert!((0.999..1.001).contains(&last), "{last}");
        }
        // The most that waited anywhere is in the table of links, too; what waited on average is not above it.
        let most = run["waiting_bytes_most"].as_u64().unwrap();
        let own = |row: &&std::collections::BTreeMap<String, String>| row["run"] == run["name"].as_str().unwrap();
        let of = |rows: &[std::collections::BTreeMap<String, String>], column: &str| {
            rows.iter().filter(own).map(|row| row[column].parse::<u64>().unwrap()).max().unwrap()
        };
        assert!(most > 0 && most == of(&links, "waiting_bytes_most") && of(&series, "waiting_bytes") <= most);
        assert!(run["series_interval_seconds"].as_f64().unwrap() > 0.0);
        // So is the most of each kind of queue in the table of queues; a buffer holds no more than all at its link's end.
        let fullest = |kind: &str| {
            let rows = queues.iter().filter(own).filter(|row| row["queue"] == kind);
            rows.map(|row| row["waiting_bytes_most"].parse::<u64>().unwrap()).max().unwrap()
        };
        for (kind, key) in [
            ("input-buffer", "input_buffer_bytes_most"),
            ("injection-buffer", "injection_buffer_bytes_most"),
            ("memory", "memory_queue_bytes_most"),
        ] {
            assert_eq!(run[key].as_u64(), Some(fullest(kind)), "{key}");
        }
        assert!(fullest("input-buffer") <= most);
    }
    for row in &queues {
        let [mean, most] = ["waiting_bytes", "waiting_bytes_most"].map(|column| row[column].parse::<u64>().unwrap());
        assert!(mean <= most && most > 0 && row["lane"] == "0" && !row["to"].is_empty(), "{row:?}");
    }
    // Looking changes nothing.
    for (before, after) in plain["runs"].as_array().unwrap().iter().zip(document["runs"].as_array().unwrap()) {
        assert_eq!(before["outcome_fingerprint"], after["outcome_fingerprint"]);
        assert!(before.get("waiting_bytes_most").is_none() && before.get("series_interval_seconds").is_none());
        assert!(before.get("input_buffer_bytes_most").is_none() && before.get("memory_queue_bytes_most").is_none());
    }
    // Of links alone nothing is known of queues.
    let document = json(&folder, &format!("{line} --links links.csv"));
    let run = &document["runs"][0];
    assert!(run["waiting_bytes_most"].as_u64().is_some() && run.get("input_buffer_bytes_most").is_none());
}

/// Whether every element of a page that needs an end has one, in its place.
fn well_formed(page: &str) -> Result<(), String> {
    const ALONE: [&str; 2] = ["!DOCTYPE", "meta"];
    let mut open: Vec<&str> = Vec::new();
    let mut rest = page;
    while let Some((_, after)) = rest.split_once('<') {
        let (tag, after) = after.split_once('>').ok_or("a tag does not end")?;
        rest = after;
        let name = tag.split([' ', '/', '\n']).find(|word| !word.is_empty()).unwrap_or_default();
        if let Some(name) = tag.strip_prefix('/') {
            match open.pop() {
                Some(last) if last == name => {}
                last => return Err(format!("</{name}> ends {last:?}")),
            }
        } else if !tag.ends_with('/') && !ALONE.contains(&name) {
            open.push(name);
        }
        if tag.matches('"').count() % 2 == 1 {
            return Err(format!("a quotation mark is open in <{tag}>"));
        }
    }
    if open.is_empty() { Ok(()) } else { Err(format!("not ended: {open:?}")) }
}

#[test]
fn a_report_shows_every_run_and_fetches_nothing() {
    let folder = Folder::new("report");
    let line = "simulate --topology torus:4x4 --demands pattern:subset --message 256KiB --compare --json";
    let document = json(&folder, &format!("{line} --report report.html"));
    let page = String::from_utf8(folder.read("report.html")).unwrap();
    assert_eq!(well_formed(&page), Ok(()));
    for foreign in ["http:", "https:", "src=", "@import", "url(", "<script", "{{", "NaN", "inf"] {
        assert!(!page.contains(foreign), "the page has {foreign}");
    }
    let runs = document["runs"].as_array().unwrap();
    for (i, run) in runs.iter().enumerate() {
        let name = run["name"].as_str().unwrap();
        for part in [format!("<th scope=\"col\">{name}</th>"), format!("<h3 class=\"run\">{name}</h3>")] {
            assert_eq!(page.matches(&part).count(), 1, "{part}");
        }
        // Throughput, hosts, packets, messages.
        let class = format!("curve c{}{}\"", i % 7, if i < 7 { "" } else { " again" });
        assert_eq!(page.matches(&class).count(), 4, "{class}");
    }
    assert!(page.contains("pattern:subset on torus:4x4") && !page.contains("partial:"));
    assert_eq!(page.matches("<svg class=\"heat\"").count(), 2 * runs.len());
    // Of each run the fullest buffers of both kinds, and the fullest queues in memory.
    assert_eq!(page.matches("<th scope=\"col\">buffer</th>").count(), 2 * runs.len());
    assert_eq!(page.matches("<th scope=\"col\">queue</th>").count(), runs.len());
    // A run that was ended is marked as such, and its page is written as well.
    let line = "simulate --topology torus:4x4 --demands pattern:disjoint --until 0.001 --report partial.html";
    assert_eq!(folder.run(line).status.code(), Some(1));
    let page = String::from_utf8(folder.read("partial.html")).unwrap();
    assert!(page.contains("optimal is partial: it was ended before its end (limit of simulated time)"));
    assert!(page.contains("optimal (partial)") && well_formed(&page).is_ok());
}

#[test]
fn replays_have_results_as_well() {
    let folder = Folder::new("goal-results");
    folder.write(
        "ping.goal",
        "num_ranks 2\nrank 0 {\na: send 8b to 1 tag 1\nb: recv 8b from 1 tag 2\nb requires a\n}\n\
         rank 1 {\na: recv 8b from 0 tag 1\nb: send 8b to 0 tag 2\nb requires a\n}\n",
    );
    let files =
        "--links links.csv --series series.csv --queues queues.csv --histogram latency.csv --report report.html";
    let document = json(&folder, &format!("simulate --topology star:2 --goal ping.goal --json {files}"));
    let (links, series) = (csv(&folder, "links.csv"), csv(&folder, "series.csv"));
    // 8 bytes there and back, over two links each.
    assert_eq!(links.iter().map(|row| row["bytes"].as_str()).collect::<Vec<_>>(), ["8"; 4]);
    assert_eq!(series.iter().map(|row| row["bytes"].parse::<u64>().unwrap()).sum::<u64>(), 32);
    // Each message waits a moment in its host's memory, and in the switch.
    let mut queues: Vec<String> = csv(&folder, "queues.csv")
        .iter()
        .map(|row| ["queue", "from", "to", "waiting_bytes_most"].map(|column| row[column].as_str()).join(" "))
        .collect();
    queues.sort();
    assert_eq!(queues, ["input-buffer h0 s0 8", "input-buffer h1 s0 8", "memory h0 s0 8", "memory h1 s0 8"]);
    assert_eq!(document["memory_queue_bytes_most"].as_u64(), Some(8));
    let messages: Vec<String> = csv(&folder, "latency.csv")
        .into_iter()
        .filter(|r| r["kind"] == "message")
        .map(|r| r["count"].clone())
        .collect();
    assert_eq!((messages, document["messages"].as_u64()), (vec!["2".to_owned()], Some(2)));
    assert!(document["series_interval_seconds"].as_f64().is_some());
    let page = String::from_utf8(folder.read("report.html")).unwrap();
    assert!(page.contains("ping.goal on star:2") && well_formed(&page).is_ok());
    // Throughput, hosts, packets, messages; of hosts nothing is known where a limit came first.
    assert_eq!(page.matches("class=\"curve ").count(), 4);
    assert_eq!(
        folder.run("simulate --topology star:2 --goal ping.goal --events 10 --report cut.html").status.code(),
        Some(1)
    );
    let page = String::from_utf8(folder.read("cut.html")).unwrap();
    assert!(
        page.contains("goal is partial") && page.contains("<div class=\"panel wide\"><p class=\"note\">Nothing was")
    );
}

/// Nothing is simulated for a file that cannot be written: this would take minutes.
#[test]
fn results_that_cannot_be_written_are_refused_before_the_work() {
    let folder = Folder::new("nowhere");
    for option in ["--links", "--series", "--queues", "--histogram", "--report"] {
        let line = "simulate --topology bgq:4096 --demands pattern:alltoall --mpi linear";
        let started = std::time::Instant::now();
        let sentence = refuse(&folder, &format!("{line} {option} no/such/file"), 2);
        assert!(sentence.contains("cannot write no/such/file"), "{sentence}");
        assert!(started.elapsed().as_secs() < 20, "{option} took {:?}", started.elapsed());
    }
}

/// A machine in which packets of 1,000 bytes take a microsecond, a confirmation takes a nanosecond, and nothing else takes time.
const ONLY_LINKS: &str = "title = \"only links\"\n[link]\nrates_bytes_per_second = [1e9]\npacket_bytes = 1000\nheader_bytes = 0\n\
    terminal_latency_picoseconds = 0\nlocal_latency_picoseconds = 0\n[router]\ndelay_picoseconds = 0\n[host]\n\
    send_overhead_picoseconds = 0\nreceive_overhead_picoseconds = 0\neager_bytes = 1000000000\ncontrol_bytes = 1\n";

/// Two leaf switches with two hosts each and one link up. Each job sends from the second of its hosts to the first.
fn two_jobs(folder: &Folder, a: &str, b: &str) -> String {
    folder.write("only-links.toml", ONLY_LINKS);
    let job = |name: &str, hosts: &str| {
        format!(
            "[[job]]\nname = \"{name}\"\nplacement = \"hosts:{hosts}\"\nprogram = \"incast,message=40kB,samples=5,warmup=1\"\n"
        )
    };
    let top = "network = \"fattree:2x2:1x1,capacity=1GB/s\"\nmodel = \"only-links.toml\"\n";
    let text = format!("{top}{}{}", job("a", a), job("b", b));
    folder.write("two.toml", text);
    "simulate --jobs two.toml --json".to_owned()
}

#[test]
fn jobs_that_share_a_link_are_twice_as_slow_and_others_not_at_all() {
    let folder = Folder::new("jobs-two");
    // From h0 and h1 to h2 and h3, over the one link up, in turn: from start to start 80 us in place of 40 us,
    // of which the last nanosecond is the confirmation.
    let line = two_jobs(&folder, "2+0", "3+1");
    let document = json(&folder, &line);
    // Two links up and down with messages, two with confirmations.
    assert_eq!((&document["complete"], document["links_shared"].as_u64()), (&true.into(), Some(4)));
    for job in document["jobs"].as_array().unwrap() {
        for key in ["slowdown_mean", "slowdown_median", "slowdown_p99"] {
            assert!((job[key].as_f64().unwrap() - 79.999 / 40.0).abs() < 1e-9, "{key} of {job}");
        }
        for key in ["mean_seconds", "q1_seconds", "median_seconds", "q3_seconds", "p99_seconds", "max_seconds"] {
            let close = |value: &Value, expected: f64| (value.as_f64().unwrap() - expected).abs() < 1e-12;
            assert!(close(&job[key], 79.999e-6) && close(&job["alone"][key], 40e-6), "{key} of {job}");
        }
        assert_eq!((job["hosts"].as_u64(), job["samples"].as_u64()), (Some(2), Some(5)));
    }
    // Both jobs have six messages or more on it, and one that is not complete at most.
    let link = &document["links"][0];
    let bytes: Vec<u64> = link["job_bytes"].as_array().unwrap().iter().map(|b| b.as_u64().unwrap()).collect();
    assert!(bytes.iter().all(|&b| b >= 240_000) && bytes[0].abs_diff(bytes[1]) <= 40_000, "{link}");
    assert_eq!(bytes.iter().sum::<u64>(), link["total_bytes"].as_u64().unwrap());

    // Each within its leaf switch.
    let apart = json(&folder, &two_jobs(&folder, "1+0", "3+2"));
    assert_eq!(apart["links_shared"].as_u64(), Some(0));
    for job in apart["jobs"].as_array().unwrap() {
        assert_eq!((job["slowdown_mean"].as_f64(), job["slowdown_p99"].as_f64()), (Some(1.0), Some(1.0)), "{job}");
    }
}

#[test]
fn what_jobs_take_does_not_depend_on_threads_and_follows_from_the_seed() {
    let folder = Folder::new("jobs-threads");
    folder.write(
        "j.toml",
        "network = \"fattree:4x4:1x2\"\n[[job]]\nname = \"a\"\nhosts = 8\nprogram = \"pairs,message=64KB,think=2us,jitter=5%,samples=8\"\n\
         [[job]]\nname = \"b\"\nhosts = 7\nprogram = \"uniform,message=16KB,interval=5us\"\nmeasured = false\n",
    );
    let document = |options: &str| {
        let mut document = json(&folder, &format!("simulate --jobs j.toml --json {options}"));
        document["runs"].as_array_mut().unwrap().iter_mut().for_each(|run| run["simulation_seconds"] = Value::Null);
        document
    };
    let first = document("--threads 1");
    let job = &first["jobs"][0];
    let (low, high) = (&job["slowdown_mean_interval"][0], &job["slowdown_mean_interval"][1]);
    let slowdown = job["slowdown_mean"].as_f64().unwrap();
    assert!(low.as_f64().unwrap() <= slowdown && slowdown <= high.as_f64().unwrap(), "{job}");
    for threads in ["--threads 2", "--threads 7", "--threads 3 --report r.html"] {
        assert_eq!(document(threads), first, "{threads}");
    }
    assert_ne!(document("--seed 5")["outcome_fingerprint"], first["outcome_fingerprint"]);
    let page = String::from_utf8(folder.read("r.html")).unwrap();
    assert!(!page.contains("http") && page.matches("class=\"boxes\"").count() == 2, "{page}");
    // Without the runs of each job alone there is no slowdown; what was ended early says so, and leaves its page all the same.
    let only = document("--only together");
    assert!(only["jobs"][0].get("slowdown_mean").is_none() && only["runs"].as_array().unwrap().len() == 1);
    let output = folder.run("simulate --jobs j.toml --until 0.00001 --report early.html");
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.contains("together: ended before all samples were there (limit of simulated time)"), "{text}");
    assert!(String::from_utf8(folder.read("early.html")).unwrap().contains("ended before all samples"));
}

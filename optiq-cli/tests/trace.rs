//! `optiq trace` on a real run: four ranks under `mpirun`, each traced, read back by the command.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod support;

use support::Folder;

fn refuses(folder: &Folder, line: &str, words: &str) {
    let output = folder.run(line);
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "optiq {line}: {error}");
    assert!(error.starts_with("optiq: ") && error.lines().count() == 1 && error.contains(words), "{error}");
}

#[test]
fn what_is_no_trace_is_refused_in_one_sentence() {
    let folder = Folder::new("trace-bad");
    refuses(&folder, "trace nowhere", "nowhere: the directory cannot be read");
    refuses(&folder, "trace .", "holds no file that ends in .optiqtrace");
    folder.write("a.optiqtrace", "OPTIQTRC and then something else");
    refuses(&folder, "trace .", "a.optiqtrace is no trace that can be read: it has format version");
    refuses(&folder, "trace . --pair 3", "two ranks as 0:3 are expected");
    refuses(&folder, "trace . --session xyz", "16 hexadecimal digits");
}

/// As on pages; the numbers are there for `--session`.
#[test]
fn sessions_are_named_by_when_they_began() {
    use optiq::trace::{Clock, Rank, TraceOptions, Tracer};
    let folder = Folder::new("trace-sessions");
    let trace = |session: u64| {
        let (directory, clock) = (folder.path("traces"), Clock::start());
        let options = TraceOptions { directory, events: 16, session, rank: Rank(0), ranks: 1, clock };
        Tracer::create(&options, "by hand").unwrap().plain("MPI_Alltoallv", || ());
    };
    trace(0xabc);
    let alone = folder.succeed("trace traces");
    let began =
        alone.lines().next().unwrap().strip_prefix("1 ranks over by hand, 1 call, began on ").unwrap().to_owned();
    assert!(began.ends_with(" UTC") && !alone.contains("0000000000000abc"), "{alone}");
    trace(0xdef);
    let both = folder.succeed("trace traces --session 0000000000000def");
    let note =
        format!("note: this is session 0000000000000def; also here: began on {began} (--session 0000000000000abc)\n");
    assert!(both.contains(&note), "{both}");
}

#[cfg(feature = "mpi")]
mod under_mpirun {
    use super::{Folder, refuses};
    use serde_json::Value;
    use std::time::{Duration, Instant};

    /// Four ranks on the corners of a square over planned paths, with forwarders: 0 sends 900 kB to its neighbour 1, 3 sends
    /// 300 kB to 0; `transport` carries them.
    fn traced_run(folder: &Folder, transport: &str, events: &str) {
        folder.write("demands.txt", "h0 h1 900kB\nh3 h0 300kB\n");
        let mut command = folder.mpirun("mpirun");
        command.args(["-n", "4", env!("CARGO_BIN_EXE_optiq"), "bench", "alltoallv", "--demands", "file:demands.txt"]);
        command.args(["--repetitions", "2", "--force", "--json"]);
        for (name, value) in [
            ("TOPOLOGY", "torus:2x2"),
            ("PLACEMENT", "rank"),
            ("PLANNER", "heu2"),
            ("CHUNK", "16KiB"),
            ("TRANSPORT", transport),
            ("TRACE", "traces"),
            ("TRACE_EVENTS", events),
        ] {
            command.env(format!("OPTIQ_{name}"), value);
        }
        let log = std::fs::File::create(folder.path("mpirun.log")).unwrap();
        command.stdout(log.try_clone().unwrap()).stderr(log);
        let mut child = command.spawn().unwrap();
        let deadline = Instant::now() + Duration::from_secs(180);
        let status = loop {
            match child.try_wait().unwrap() {
                Some(status) => break Some(status),
                None if Instant::now() > deadline => {
                    child.kill().unwrap();
                    child.wait().unwrap();
                    break None;
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        let said = String::from_utf8_lossy(&folder.read("mpirun.log")).into_owned();
        assert!(status.is_some_and(|s| s.success()), "{said}");
    }

    fn document(folder: &Folder, line: &str) -> Value {
        serde_json::from_str(&folder.succeed(line)).unwrap()
    }

    fn number(value: &Value) -> u64 {
        value.as_u64().unwrap_or_else(|| panic!("{value} is no number"))
    }

    #[test]
    fn four_ranks_are_traced_and_every_byte_is_accounted_for() {
        for transport in ["two-sided", "one-sided"] {
            let folder = Folder::new(&format!("trace-{transport}"));
            traced_run(&folder, transport, "65536");
            let all = document(&folder, "trace traces --json --pair 0:1 --waits 3");
            assert_eq!(
                (&all["ranks"], &all["complete"], &all["dropped_records"]),
                (&4.into(), &true.into(), &0.into())
            );
            assert_eq!(all["transport"], format!("mpi-{transport}"));
            let calls = all["calls"].as_array().unwrap();
            let planned: Vec<&Value> = calls.iter().filter(|c| c["outcome"] == "planned").collect();
            assert!(!planned.is_empty());
            for call in &planned {
                assert_eq!((number(&call["bytes"]), number(&call["ranks"])), (1_200_000, 4), "{call}");
                assert!(call["served_by"].as_str().unwrap().contains("planner heu2"), "{call}");
            }
            let sum = |key: &str| all["by_rank"].as_array().unwrap().iter().map(|r| number(&r[key])).sum::<u64>();
            assert_eq!(sum("bytes_sent"), planned.len() as u64 * 1_200_000);
            assert_eq!(sum("bytes_delivered"), sum("bytes_sent"));
            for rank in all["by_rank"].as_array().unwrap() {
                let parts = ["waiting", "copying", "forwarding", "own", "plain_mpi"];
                let shares: f64 = parts.iter().map(|p| rank[p].as_f64().unwrap()).sum();
                assert!((shares - 1.0).abs() < 1e-9, "{rank}");
                // Puts that end here are copied out of the window by us; messages are received in place.
                let copies = transport == "one-sided" && number(&rank["bytes_delivered"]) > 0;
                assert_eq!(rank["copying"].as_f64().unwrap() > 0.0, copies, "{rank}");
                let forwards = number(&rank["bytes_forwarded"]) > 0;
                assert_eq!(rank["forwarding"].as_f64().unwrap() > 0.0, forwards, "{rank}");
            }
            assert!(number(&all["forwarded_bytes"]) > 0);
            // What went from 0 to 1 adds up, over known ranks, with times in order.
            let pair = &all["pair"];
            assert_eq!(number(&pair["bytes"]), planned.len() as u64 * 900_000);
            let mut bytes = 0;
            for path in pair["paths"].as_array().unwrap() {
                bytes += number(&path["bytes"]);
                let ranks = path["ranks"].as_array().unwrap();
                assert_eq!((&ranks[0], ranks.last().unwrap()), (&0.into(), &1.into()));
                assert_eq!(path["all_ranks_known"], true);
                let time = |key: &str| path[key].as_f64().unwrap();
                assert!(time("first_sent_seconds") < time("last_arrived_seconds"), "{path}");
                assert!(path["slowest_leg"]["mean_seconds"].as_f64().unwrap() > 0.0);
            }
            assert_eq!(bytes, number(&pair["bytes"]));
            assert!(pair["paths"].as_array().unwrap().len() > 1, "{pair}");
            assert_eq!(all["longest_waits"].as_array().unwrap().len(), 3);

            // One call of them, the other outputs, and questions that cannot be answered.
            let first = number(&planned[0]["call"]);
            let one =
                document(&folder, &format!("trace traces --json --call {first} --html t.html --perfetto t.pftrace"));
            assert_eq!(number(&one["bytes"]), 1_200_000);
            assert!(folder.read("t.pftrace").len() > 1000);
            let page = String::from_utf8(folder.read("t.html")).unwrap();
            assert_eq!(page.matches("<g class=\"rank\">").count(), 4);
            assert!(
                page.contains("planner heu2")
                    && !page.contains("{{")
                    && !page.contains("NaN")
                    && !page.contains("http")
            );
            let text = folder.succeed("trace traces");
            assert!(text.contains("served by") && text.contains("longest waits:"), "{text}");
            // A fast machine makes thousands of calls in a repetition.
            refuses(&folder, "trace traces --call 4000000", "--call 4000000 was not recorded");
            refuses(&folder, "trace traces --pair 0:4", "there are 4 ranks");
            refuses(&folder, "trace traces --session 1", "holds no session 0000000000000001");
            refuses(&folder, "trace traces --html no/such/place.html", "cannot write no/such/place.html: ");
        }
    }

    #[test]
    fn a_small_ring_and_a_killed_rank_are_said() {
        let folder = Folder::new("trace-small");
        traced_run(&folder, "two-sided", "16");
        let all = document(&folder, "trace traces --json");
        assert!(number(&all["dropped_records"]) > 0);
        assert!(all["notes"][0].as_str().unwrap().contains("OPTIQ_TRACE_EVENTS"), "{}", all["notes"]);
        // A file that ends in the middle of a block, and a missing one.
        let mut files =
            std::fs::read_dir(folder.path("traces")).unwrap().map(|e| e.unwrap().path()).collect::<Vec<_>>();
        files.sort();
        let bytes = std::fs::read(&files[1]).unwrap();
        std::fs::write(&files[1], &bytes[..bytes.len() - 10]).unwrap();
        std::fs::remove_file(&files[3]).unwrap();
        let text = folder.succeed("trace traces");
        assert!(text.contains("note: rank 3 left no file here"), "{text}");
        assert!(text.contains("note: rank 1 did not come to an end"), "{text}");
        assert_eq!(document(&folder, "trace traces --json")["complete"], false);
    }
}

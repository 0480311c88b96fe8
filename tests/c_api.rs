//! The C interface as C programs see it: each is compiled against the committed header, and run under `mpirun`. A program
//! checks itself, and says "all is well" on rank 0.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![cfg(feature = "mpi")]

mod common;

use std::fs;
use std::path::PathBuf;

fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("c-{name}"));
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// Compiles `tests/c/NAME.c` and runs it.
fn run(name: &str, ranks: u32, arguments: &[&str], environment: &[(&str, &str)]) -> common::Run {
    let program = folder(name).join("program");
    {
        // Two tests may run the same program: one compiles it, the other one waits.
        let mut compiled = COMPILED.lock().unwrap();
        if !compiled.contains(&name.to_string()) {
            common::compile_c(&format!("tests/c/{name}.c"), &program);
            compiled.push(name.to_string());
        }
    }
    common::mpirun(ranks, &program, arguments, environment)
}

/// The same, which must end well.
fn passes(name: &str, ranks: u32, arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let run = run(name, ranks, arguments, environment);
    assert!(
        run.success && run.output.contains("all is well"),
        "{name} on {ranks} ranks {environment:?}:\n{}",
        run.output
    );
    run.output
}

static COMPILED: std::sync::Mutex<Vec<String>> = std::sync::Mutex::new(Vec::new());

const PLACED: (&str, &str) = ("OPTIQ_PLACEMENT", "rank");

#[test]
fn options_from_file_environment_program_and_communicator() {
    let conf = folder("options").join("optiq.conf");
    fs::write(&conf, "# of this test\ntopology = torus:4\nk = 7\nwindow = 9 # overruled\nmin_gian = 2\n").unwrap();
    let environment = [PLACED, ("OPTIQ_CONF", conf.to_str().unwrap()), ("OPTIQ_WINDOW", "11"), ("OPTIQ_BUGDET", "1M")];
    let output = passes("options", 4, &[], &environment);
    let warned = |text: &str| assert_eq!(output.matches(text).count(), 1, "{text}: {output}");
    warned("optiq.conf:5: there is no option \"min_gian\"; OPTIQ_MIN_GAIN is the nearest");
    warned("OPTIQ_BUGDET is set, but OPTIQ has no such option; OPTIQ_BUDGET is the nearest");
}

#[test]
fn a_file_that_cannot_be_used_is_named() {
    let conf = folder("options-wrong").join("optiq.conf");
    fs::write(&conf, "topology = torus:4\nk = many\n").unwrap();
    let wrong = ("OPTIQ_CONF", conf.to_str().unwrap());
    let data = conf.with_file_name("data");
    let fallback = ["fallback", data.to_str().unwrap()];
    let output = passes("options", 2, &fallback, &[PLACED, wrong]);
    assert!(output.contains("optiq.conf:2: k is \"many\"; a whole number of at least 1 is expected"), "{output}");
    let missing = conf.with_file_name("missing.conf");
    let output = passes("options", 2, &fallback, &[PLACED, ("OPTIQ_CONF", missing.to_str().unwrap())]);
    assert!(output.contains("missing.conf: No such file or directory"), "{output}");
    passes("options", 2, &["strict"], &[PLACED, wrong, ("OPTIQ_STRICT", "1")]);
}

#[test]
fn what_one_run_learned_the_next_one_knows() {
    let file = folder("learned").join("learned.json");
    let _ = fs::remove_file(&file);
    let path = file.to_str().unwrap();
    // A switch that is faster than memory, so that MPI leaves something to be gained.
    let fast = ("OPTIQ_TOPOLOGY", "star:2,capacity=50GB/s");
    let options = [PLACED, fast, ("OPTIQ_LEARNED", path), ("OPTIQ_REPORT", "1")];
    let calls = || {
        let output = passes("report", 2, &["learn"], &options);
        assert!(output.contains("  learned, as shares of the link bound on the fabric's own routes:\n"), "{output}");
        assert!(output.contains("2 ranks, direct, 4194304 to 16777216 bytes for each pair of hosts"), "{output}");
        let text = fs::read_to_string(&file).unwrap();
        let count = |key: &str| -> u64 {
            let lines: Vec<&str> = text.lines().filter_map(|l| l.trim().strip_prefix(key)).collect();
            assert_eq!(lines.len(), 1, "{text}");
            lines[0].trim_end_matches(',').parse().unwrap()
        };
        [count("\"mpi_calls\": "), count("\"optiq_calls\": ")]
    };
    // Both sides are tried. The last call, and calls that MPI serves unasked, are not followed by an agreement, and so not
    // learned of.
    let [mpi, optiq] = calls();
    assert!(mpi >= 1 && optiq >= 1 && mpi + optiq <= 39, "{mpi} {optiq}");
    let [mpi_then, optiq_then] = calls();
    assert!(mpi_then >= mpi && optiq_then >= optiq && mpi_then + optiq_then > mpi + optiq, "{mpi_then} {optiq_then}");
    fs::write(&file, "my notes").unwrap();
    let output = passes("report", 2, &["learn"], &options);
    assert_eq!(output.matches("learned.json: not what was learned by OPTIQ").count(), 2, "{output}");
    assert_eq!(fs::read_to_string(&file).unwrap(), "my notes");
}

#[test]
fn a_program_that_calls_the_library_gets_a_report() {
    let planned = [PLACED, ("OPTIQ_TOPOLOGY", "star:2"), ("OPTIQ_ALGORITHM", "multipath"), ("OPTIQ_REPORT", "1")];
    let output = passes("report", 2, &[], &planned);
    assert_eq!(output.matches("optiq: calls of rank 0 to the library\n").count(), 1, "{output}");
    assert!(output.contains("  optiq_alltoallv: 2 served by planned paths, 0 by plain MPI\n"), "{output}");
    // The start that was refused is none.
    assert!(output.contains("  started exchanges: 1 served by planned paths, 0 by plain MPI\n"), "{output}");
    let output = passes("report", 2, &[], &[PLACED, ("OPTIQ_REPORT", "1")]);
    assert!(output.contains("  optiq_alltoallv: 0 served by planned paths, 2 by plain MPI\n"), "{output}");
    assert!(output.contains("    1: OPTIQ_TOPOLOGY is not set"), "{output}");
    assert!(!passes("report", 2, &[], &planned[..3]).contains("calls of rank 0"));
}

#[test]
fn a_transport_given_from_c_carries_every_byte() {
    let planned = [PLACED, ("OPTIQ_TOPOLOGY", "torus:2x4"), ("OPTIQ_ALGORITHM", "multipath")];
    let output = passes("transport", 8, &["good"], &planned);
    assert!(output.contains("messages carried by the program's transport: "), "{output}");
    // Small windows, so that there are credits.
    passes(
        "transport",
        8,
        &["good"],
        &[planned[0], planned[1], planned[2], ("OPTIQ_CHUNK", "4KiB"), ("OPTIQ_BUDGET", "64KiB")],
    );
    // What a transport does wrong is an error that names the function, on the rank where it happens.
    for (wrong, said) in [
        ("send", "the transport counting: send returned 7"),
        ("receive", "the transport counting: receive returned 7"),
        ("test", "the transport counting: test returned 7"),
        ("complete", "the transport counting: test says 2 of operation"),
        ("bytes", "has 1 bytes, where"),
    ] {
        let marker = folder("transport").join(wrong);
        let _ = fs::remove_file(&marker);
        let run = run("transport", 8, &[wrong, said, marker.to_str().unwrap()], &planned);
        assert!(!run.success && marker.exists(), "{wrong}: {}", run.output);
    }
    // Where one rank cannot connect, all take MPI; if OPTIQ must not fall back, all fail.
    let output = passes("transport", 8, &["connect"], &planned);
    assert!(output.contains("the transport counting: connect returned 7 and failed; chunks travel by MPI"), "{output}");
    passes("transport", 8, &["strict"], &[planned[0], planned[1], planned[2], ("OPTIQ_STRICT", "1")]);
}

#[test]
fn table_iv_of_the_thesis() {
    let folder = folder("table-iv");
    let directory = folder.to_str().unwrap();
    passes("table_iv", 16, &[directory], &[PLACED, ("OPTIQ_TOPOLOGY", "torus:4x4")]);
    let text = fs::read_to_string(folder.join("jobs.txt")).unwrap();
    assert!(text.starts_with("optiq-jobs 1\ntopology torus:4x4\nnetwork "), "{text}");
}

//! `optiq sweep`: documents are the same however the runs were made, at once or with a kill between, alone or under mpirun; what is
//! finished is never made again.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests panic as tests do")]

mod support;

use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};
use support::Folder;

/// Far above what anything here takes.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Two jobs that meet at a switch; 2 x 3 x `seeds` runs.
fn sweep(samples: u32, seeds: u32) -> String {
    let seeds: Vec<u32> = (1..=seeds).collect();
    format!(
        "network = \"fattree:4x4:1x2\"\ntitle = \"think times\"\nsamples = {samples}\n\
         [[job]]\nname = \"solver\"\nhosts = 6\nplacement = [\"random-node\", \"contiguous\"]\n\
         program = \"pairs,message=64KB,think=20us,jitter=5%\"\n\
         [[job]]\nname = \"io\"\nhosts = 6\nservers = \"spread-target:2\"\nprogram = \"io-write,request=128KB,jitter=5%\"\n\
         [sweep]\n\"job.io.program.think\" = [\"0\", \"50us\", \"200us\"]\nseed = {seeds:?}\n"
    )
}

/// The documents of runs in a directory, by name.
fn documents(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let Ok(entries) = fs::read_dir(folder.join("runs")) else { return BTreeMap::new() };
    let each = entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "json"));
    each.map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(&path).unwrap())).collect()
}

fn written(folder: &Path) -> BTreeMap<String, SystemTime> {
    let of = |name: &String| fs::metadata(folder.join("runs").join(name)).unwrap().modified().unwrap();
    documents(folder).keys().map(|name| (name.clone(), of(name))).collect()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// What a program printed; it is killed when its time is up. Its output is read all the while, as a pipe takes 64 KiB only.
fn ended(mut child: Child) -> Output {
    fn read(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<Vec<u8>> {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            pipe.map(|mut pipe| pipe.read_to_end(&mut bytes).unwrap());
            bytes
        })
    }
    let (stdout, stderr) = (read(child.stdout.take()), read(child.stderr.take()));
    let deadline = Instant::now() + TIMEOUT;
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
        }
        thread::sleep(Duration::from_millis(10));
    };
    Output { status, stdout: stdout.join().unwrap(), stderr: stderr.join().unwrap() }
}

#[test]
fn runs_are_made_once_and_what_changed_is_made_again() {
    let folder = Folder::new("sweep");
    folder.write("s.toml", sweep(4, 2));
    let printed = folder.succeed("sweep s.toml --output out --json");
    let document: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((&document["runs"], &document["finished"]), (&Value::from(12), &Value::from(12)));
    let results = document["results"].as_array().unwrap();
    // The last list varies fastest.
    assert_eq!(results[1]["values"]["seed"], "2");
    assert_eq!(results[2]["values"]["job.io.program.think"], "50us");
    assert_eq!(results[6]["values"]["job.solver.placement"], "contiguous");
    for result in results {
        assert!(result["jobs"][0]["slowdown_mean"].as_f64().unwrap() > 0.5, "{result}");
        assert_eq!(result["jobs"][0]["samples"], 24);
    }
    let out = folder.path("out");
    assert_eq!(documents(&out).len(), 12);
    assert_eq!(fs::read_to_string(out.join("sweep.json")).unwrap(), printed);
    let page = fs::read_to_string(out.join("index.html")).unwrap();
    // Two jobs: a picture of curves and one of boxes for each; nothing from elsewhere.
    assert_eq!((page.matches("<svg class=\"lines\"").count(), page.matches("<svg class=\"boxes\"").count()), (2, 2));
    assert!(!page.contains("http") && !page.contains("NaN"));
    // Nothing is made again, on any number of threads.
    let times = written(&out);
    let again = folder.succeed("sweep s.toml --output out --threads 3");
    assert!(again.contains("12 runs, 12 finished; 0 made now, 12 there before"), "{again}");
    assert_eq!(written(&out), times);
    // Words that change no result change no run; another value makes the runs that have it.
    let changed = sweep(4, 2).replace("think times", "others").replace("\"200us\"", "\"300us\"");
    folder.write("s.toml", format!("# a comment\n{changed}"));
    let changed = folder.succeed("sweep s.toml --output out");
    assert!(changed.contains("12 runs, 12 finished; 4 made now, 8 there before"), "{changed}");
    assert_eq!(documents(&out).len(), 16);
}

/// Started, and killed as soon as some runs are finished; then started again.
#[test]
fn a_killed_sweep_goes_on_where_it_was() {
    let folder = Folder::new("sweep-killed");
    folder.write("s.toml", sweep(60, 4));
    for (out, signal) in [("killed", nix::sys::signal::SIGKILL), ("interrupted", nix::sys::signal::SIGINT)] {
        let mut command = folder.command(&["sweep", "s.toml", "--output", out, "--threads", "1"]);
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
        let deadline = Instant::now() + TIMEOUT;
        while documents(&folder.path(out)).len() < 3 {
            assert!(Instant::now() < deadline, "no run was finished");
            thread::sleep(Duration::from_millis(2));
        }
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(child.id() as i32), signal).unwrap();
        let output = ended(child);
        let before = written(&folder.path(out));
        if output.status.success() {
            panic!("it was over before it was killed: {} runs", before.len());
        }
        if signal == nix::sys::signal::SIGINT {
            assert_eq!(output.status.code(), Some(1));
            let text = format!("ended before all runs were made; {} of 24 are finished", before.len());
            assert!(said(&output).contains(&text) && said(&output).lines().count() == 1, "{}", said(&output));
        }
        assert!(before.len() < 24);
        for bytes in documents(&folder.path(out)).values() {
            serde_json::from_slice::<Value>(bytes).unwrap();
        }
        let again = folder.succeed(&format!("sweep s.toml --output {out} --threads 2"));
        assert!(again.contains(&format!("{} made now, {} there before", 24 - before.len(), before.len())), "{again}");
        let after = written(&folder.path(out));
        assert!(before.iter().all(|(name, time)| after.get(name) == Some(time)), "a finished run was made again");
    }
    assert_eq!(documents(&folder.path("killed")), documents(&folder.path("interrupted")));
}

#[test]
fn under_mpirun_documents_are_the_same() {
    let folder = Folder::new("sweep-mpirun");
    folder.write("s.toml", sweep(4, 3));
    folder.succeed("sweep s.toml --output alone");
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = |name: &str| std::env::split_paths(&path).any(|directory| directory.join(name).is_file());
    let Some(launcher) = ["mpirun.openmpi", "mpirun"].into_iter().find(|name| found(name)) else {
        println!("skipped, as there is no mpirun");
        return;
    };
    // A rank that died has left half of its runs.
    fs::create_dir_all(folder.path("ranks/runs")).unwrap();
    for (name, bytes) in documents(&folder.path("alone")).into_iter().step_by(4) {
        fs::write(folder.path("ranks/runs").join(name), bytes).unwrap();
    }
    let mut command = folder.mpirun(launcher);
    command.args(["-n", "2", env!("CARGO_BIN_EXE_optiq"), "sweep", "s.toml", "--output", "ranks", "--json"]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let output = ended(child);
    assert!(output.status.success(), "{}", said(&output));
    let alone = documents(&folder.path("alone"));
    assert_eq!(alone.len(), 18);
    assert!(alone == documents(&folder.path("ranks")), "documents differ");
    // One rank prints, for all.
    let printed: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(printed["finished"], 18);
    let all = |out: &str| -> Value { serde_json::from_slice(&folder.read(&format!("{out}/sweep.json"))).unwrap() };
    assert_eq!(all("alone")["results"], all("ranks")["results"]);
}

/// Each rank makes its share, without the other.
#[test]
fn a_rank_alone_makes_its_share() {
    let folder = Folder::new("sweep-rank");
    folder.write("s.toml", sweep(2, 1));
    let mut command = folder.command(&["sweep", "s.toml", "--output", "out"]);
    let output = command.env("SLURM_PROCID", "1").env("SLURM_NTASKS", "2").output().unwrap();
    assert!(output.status.success() && output.stdout.is_empty(), "{}", said(&output));
    assert_eq!(documents(&folder.path("out")).len(), 3);
    assert!(!folder.path("out/sweep.json").exists());
    let rest = folder.succeed("sweep s.toml --output out");
    assert!(rest.contains("3 made now, 3 there before"), "{rest}");
}

/// Files may not grow beyond 512 bytes, as if the disk was full from there on. A run's document is larger.
#[test]
fn a_full_disk_is_told_in_one_sentence() {
    let folder = Folder::new("sweep-full");
    folder.write("s.toml", sweep(2, 1));
    folder.succeed("sweep s.toml --output whole");
    let (name, kept) = documents(&folder.path("whole")).into_iter().next().unwrap();
    fs::create_dir_all(folder.path("full/runs")).unwrap();
    fs::write(folder.path("full/runs").join(&name), &kept).unwrap();
    // An ignored signal stays ignored: then writing fails in place of killing.
    let line = format!("trap '' XFSZ; ulimit -f 1; exec {} sweep s.toml --output full", env!("CARGO_BIN_EXE_optiq"));
    let output =
        Command::new("sh").args(["-c", &line]).current_dir(folder.path(".")).env("OPTIQ_CONF", "none").output();
    let output = output.unwrap();
    let error = said(&output);
    assert_eq!((output.status.code(), error.lines().count()), (Some(1), 1), "{error}");
    assert!(
        error.starts_with("optiq: cannot write full/runs/") && error.contains("what was finished is kept"),
        "{error}"
    );
    // No draft is left.
    assert_eq!(fs::read_dir(folder.path("full/runs")).unwrap().count(), 1);
    let rest = folder.succeed("sweep s.toml --output full");
    assert!(rest.contains("5 made now, 1 there before"), "{rest}");
    assert_eq!(documents(&folder.path("full")), documents(&folder.path("whole")));
}

/// A combination that does not fit is told at the end; all others are made.
#[test]
fn others_go_on_where_one_run_fails() {
    let folder = Folder::new("sweep-fails");
    folder.write("s.toml", sweep(2, 1).replace("hosts = 6\nplacement", "hosts = [6, 12]\nplacement"));
    let output = folder.run("sweep s.toml --output out");
    let error = said(&output);
    assert_eq!((output.status.code(), error.lines().count()), (Some(1), 1), "{error}");
    let first =
        "optiq: 6 of 12 runs failed, the first of them run 6 (job.solver.hosts=12, job.solver.placement=random-node,";
    assert!(error.starts_with(first) && error.contains("hosts do not fit"), "{error}");
    assert_eq!(documents(&folder.path("out")).len(), 6);
    assert!(String::from_utf8(output.stdout).unwrap().contains("12 runs, 6 finished"));
}

#[test]
fn a_plan_says_how_much_there_is_and_leaves_nothing() {
    let folder = Folder::new("sweep-plan");
    folder.write("s.toml", sweep(4, 2));
    let plan: Value = serde_json::from_str(&folder.succeed("sweep s.toml --output out --plan-only --json")).unwrap();
    assert_eq!((&plan["runs"], &plan["finished"]), (&Value::from(12), &Value::from(0)));
    assert_eq!(folder.names(), ["s.toml"]);
    // What is planned is about what is then simulated: jobs also send what they send while they wait for each other.
    let made: Value = serde_json::from_str(&folder.succeed("sweep s.toml --output out --json")).unwrap();
    let ratio = made["packets"].as_f64().unwrap() / plan["expected_packets"].as_f64().unwrap();
    assert!((0.8..4.0).contains(&ratio), "{ratio}");
    let plan: Value = serde_json::from_str(&folder.succeed("sweep s.toml --output out --plan-only --json")).unwrap();
    assert_eq!((&plan["finished"], &plan["expected_packets"]), (&Value::from(12), &Value::from(0.0)));
}

#[test]
fn throttles_are_computed_and_simulated() {
    let folder = Folder::new("throttle");
    folder.write(
        "j.toml",
        sweep(12, 1).split("[sweep]").next().unwrap().replace("[\"random-node\", \"contiguous\"]", "\"random-node\""),
    );
    let text = folder.succeed("throttle --jobs j.toml --target utilisation=50%");
    assert!(
        text.contains("window=") && text.contains(",window-from=completion") && text.contains("io: mean slowdown"),
        "{text}"
    );
    let document: Value = serde_json::from_str(&folder.succeed("throttle --jobs j.toml --no-verify --json")).unwrap();
    let number = |key: &str| document[key].as_f64().unwrap();
    assert_eq!((number("clients"), number("servers")), (6.0, 2.0));
    // (N / M - 1) S, in whole nanoseconds.
    assert!((number("window_seconds") - 2.0 * number("service_seconds")).abs() < 1.1e-9, "{document}");
    assert_eq!(folder.run("throttle --jobs j.toml --job solver").status.code(), Some(2));
}

#[test]
fn cures_have_every_job_with_the_jobs_as_they_are_first() {
    let folder = Folder::new("cures");
    folder.write(
        "j.toml",
        "network = \"torus:4x4\"\nseed = 2\n[[job]]\nname = \"exchange\"\nhosts = 6\nsamples = 2\n\
         program = \"alltoallv,message=32KB,algorithm=linear\"\n\
         [[job]]\nname = \"io\"\nhosts = 6\nsamples = 4\nservers = \"hosts:0+5\"\nprogram = \"io-write,request=128KB,jitter=5%\"\n",
    );
    let text = folder.succeed("cures --jobs j.toml --report c.html");
    for expected in ["as it is", "placement contiguous", "routing adaptive", "io: window", "the bound of every routing"]
    {
        assert!(text.contains(expected), "{expected}: {text}");
    }
    assert!(fs::read_to_string(folder.path("c.html")).unwrap().contains("exchange: OPTIQ, planned beside the others"));
    let of = |line: &str| -> Value { serde_json::from_str(&folder.succeed(line)).unwrap() };
    let document = of("cures --jobs j.toml --only exchange --threads 1 --json");
    let cures = document["cures"].as_array().unwrap();
    assert_eq!((cures.len(), &cures[0]["kind"]), (7, &Value::from("as-it-is")));
    // The file's own algorithm is what it is, and its runs are not made twice.
    assert_eq!(cures[1]["cure"], "exchange: MPI linear");
    assert_eq!(cures[1]["jobs"], cures[0]["jobs"]);
    assert_eq!(cures[0]["jobs"][0]["cycle_over_as_it_is"], 1.0);
    let limits = &document["exchanges"][0];
    let bound = |of: &str| limits[of]["bound_seconds"].as_f64().unwrap();
    assert!(bound("beside_others") >= bound("without_others") && bound("without_others") > 0.0, "{limits}");
    assert_eq!(document, of("cures --jobs j.toml --only exchange --threads 3 --json"));
    assert_eq!(of("cures --jobs j.toml --only throttle --job io --json")["exchanges"], Value::Array(Vec::new()));
}

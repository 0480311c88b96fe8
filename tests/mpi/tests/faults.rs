//! What goes wrong under the real thing: ranks that die, stop or come late, links that slow down or are cut in the midst
//! of an exchange, topologies that lie, budgets that must hold, and a short soak.
//!
//! Has a main of its own because the lab starts the running binary again. The cases in the lab are skipped, with the
//! reason, where the system permits no namespaces. Every run has a hard limit.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../../common/mod.rs"]
mod common;
mod in_lab;

use optiq_lab::{End, Lab, LabError, Outcome, RunOptions, network_at};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

/// No run takes longer, however busy the machine.
const LIMIT: Duration = Duration::from_secs(100);

const PROGRAM: &str = env!("CARGO_BIN_EXE_optiq-mpi-tests");

/// Four hosts in a ring of two by two. Both ways around a ring of two are one bundle of two lanes, so that each link runs
/// at 50 Mbit/s, 6.25 MB/s.
const SPEC: &str = "torus:2x2";
const RATE: &str = "25Mbit/s";
const RANKS: usize = 4;

const FORCED: [&str; 1] = ["OPTIQ_ALGORITHM=multipath"];

fn main() {
    let selected = in_lab::begin(MACHINE.iter().map(|c| c.0).chain(LAB.iter().map(|c| c.0)));
    let (mut passed, mut skipped) = (0, 0);
    for (name, case) in MACHINE.iter().filter(|(name, _)| selected.has(name)) {
        timed(name, case);
        passed += 1;
    }
    let chosen: Vec<_> = LAB.iter().filter(|(name, _)| selected.has(name)).collect();
    if !chosen.is_empty() {
        let root = Root(env::temp_dir().join(format!("optiq-faults-{}", std::process::id())));
        match up(&root.0) {
            Ok(lab) => {
                for (name, case) in chosen {
                    timed(name, || case(&lab));
                    passed += 1;
                }
                lab.down().expect("down");
            }
            Err(LabError::Missing(why)) => {
                println!("skipped: {why}");
                skipped = chosen.len();
            }
            Err(e) => panic!("{e}"),
        }
    }
    println!("{passed} passed, 0 failed, {skipped} skipped");
}

fn timed(name: &str, case: impl FnOnce()) {
    let began = Instant::now();
    case();
    println!("test {name} ... ok ({:.1} s)", began.elapsed().as_secs_f64());
}

/// Where this test keeps its lab.
struct Root(PathBuf);

impl Drop for Root {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn up(root: &Path) -> Result<Lab, LabError> {
    in_lab::up("faults", &network_at(SPEC, RATE.parse()?)?, root)
}

// What needs no network: ranks of this machine.

type OnTheMachine = (&'static str, fn());
type InTheLab = (&'static str, fn(&Lab));

const MACHINE: [OnTheMachine; 4] = [
    ("a_dead_rank_is_named", a_dead_rank_is_named),
    ("memory_stays_within_the_budget", memory_stays_within_the_budget),
    ("soak_over_planned_paths", soak_over_planned_paths),
    ("soak_with_the_defaults", soak_with_the_defaults),
];

fn machine(ranks: u32, words: &[&str], environment: &[(&str, &str)]) -> common::Run {
    common::mpirun(ranks, Path::new(PROGRAM), words, environment)
}

/// mpirun says which rank it was, over memory and over TCP; no rank waits for what cannot come.
fn a_dead_rank_is_named() {
    let forced = [("OPTIQ_TOPOLOGY", SPEC), ("OPTIQ_PLACEMENT", "rank:1"), ("OPTIQ_ALGORITHM", "multipath")];
    let tcp = [&forced[..], &[("OMPI_MCA_btl", "tcp,self")]].concat();
    for (environment, word, says) in [(&forced[..], "exit=2", "Exit code:    3"), (&tcp, "die=2", "exited on signal 9")]
    {
        let run = machine(4, &["fault", "uniform", "1000000", "rounds=1000000", word], environment);
        assert!(!run.success && run.output.contains(says), "{word}:\n{}", run.output);
        assert!(!run.output.contains("killed after the timeout"), "{word}:\n{}", run.output);
        assert!(!run.output.contains("all is well"), "{word}:\n{}", run.output);
    }
}

/// What may be taken beyond the budget, all of it MPI's: its copies of at most 64 sends in flight, of 64 KiB each, and 2 MiB
/// for receives that come before they are posted, requests, the plan on rank 0 and the heap's own leftovers.
const ALLOWANCE: u64 = 6 << 20;

/// What the ranks for which `counts` say about memory: how far it grew at most beyond the user's buffers, and the most
/// bytes in slots of forwarders. Some of these there must be, or the exchange did not need what it tests.
fn memory(output: &str, counts: impl Fn(u32) -> bool) -> (u64, u64) {
    let lines = output.lines().filter_map(|l| l.strip_prefix("memory of rank "));
    let read = |line: &str| -> Option<(u32, u64, u64)> {
        let (rank, rest) = line.split_once(": ")?;
        let (grown, slots) = rest.split_once("grown by ")?.1.split_once(", ")?;
        Some((rank.parse().ok()?, grown.parse().ok()?, slots.split(' ').next()?.parse().ok()?))
    };
    let ranks = lines.map(|l| read(l).unwrap_or_else(|| panic!("{l}")));
    let ranks: Vec<(u32, u64, u64)> = ranks.filter(|r| counts(r.0)).collect();
    let grown = ranks.iter().map(|r| r.1).max().unwrap_or(0);
    let slots = ranks.iter().map(|r| r.2).max().unwrap_or(0);
    assert!(slots > 0, "no rank forwarded anything:\n{output}");
    (grown, slots)
}

/// Two of 8 ranks send 32 MB each over the others, with a budget of 1 MiB.
fn memory_stays_within_the_budget() {
    let budget = 1 << 20;
    for transport in ["two-sided", "one-sided"] {
        let environment = [
            ("OPTIQ_TOPOLOGY", "torus:2x4"),
            ("OPTIQ_PLACEMENT", "rank:1"),
            ("OPTIQ_ALGORITHM", "multipath"),
            ("OPTIQ_TRANSPORT", transport),
            ("OPTIQ_BUDGET", "1MiB"),
        ];
        let run = machine(8, &["fault", "few", "8000000", "rounds=2"], &environment);
        assert!(run.success && run.output.matches("all is well").count() == 8, "{}", run.output);
        let (grown, slots) = memory(&run.output, |_| true);
        println!("{transport}: grown by {grown} bytes at most, {slots} in slots, budget {budget}");
        assert!(slots <= budget && grown <= budget + ALLOWANCE, "{}", run.output);
    }
}

/// A few hundred calls, every byte checked by the program, and no growth once all kinds of calls were seen.
/// Returns how many calls planned paths served.
fn soak(ranks: u32, calls: &str, environment: &[(&str, &str)]) -> u64 {
    let run = machine(ranks, &["soak", calls, "7"], environment);
    assert!(run.success && run.output.matches("all is well").count() == ranks as usize, "{}", run.output);
    let line = run.output.lines().find(|l| l.contains("of them over planned paths")).unwrap();
    let planned: u64 = line.split(", ").nth(1).and_then(|w| w.split(' ').next()?.parse().ok()).unwrap();
    let resident =
        run.output.lines().filter_map(|l| l.split_once("calls: resident ")?.1.split(' ').next()?.parse().ok());
    let resident: Vec<u64> = resident.collect();
    println!("{line}; resident {resident:?}");
    assert_eq!(resident.len(), 5, "{}", run.output);
    // The largest call alone holds some 20 MB; a plan that is never let go would be in every one of hundreds.
    assert!(resident[4] < resident[2] + (16 << 20), "{resident:?}");
    planned
}

fn soak_over_planned_paths() {
    let forced = [("OPTIQ_TOPOLOGY", SPEC), ("OPTIQ_PLACEMENT", "rank:1"), ("OPTIQ_ALGORITHM", "multipath")];
    assert!(soak(4, "600", &forced) > 0);
}

fn soak_with_the_defaults() {
    // Links so slow that the cost model plans the large calls, one in fifty. Which calls are agreed upon, and so can be
    // planned, is a matter of time, unless all are.
    let slow = [("OPTIQ_TOPOLOGY", "torus:5,capacity=10MB/s"), ("OPTIQ_PLACEMENT", "rank:1")];
    soak(5, "600", &slow);
    assert!(soak(5, "600", &[&slow[..], &[("OPTIQ_CHECK", "1")]].concat()) > 0);
}

// What needs a network whose links change.

const LAB: [InTheLab; 7] = [
    ("a_dead_rank_ends_the_job", a_dead_rank_ends_the_job),
    ("a_slow_link_only_slows", a_slow_link_only_slows),
    ("a_cut_link_loses_nothing", a_cut_link_loses_nothing),
    ("late_and_stopped_ranks_hold_no_memory", late_and_stopped_ranks_hold_no_memory),
    ("a_topology_that_lies", a_topology_that_lies),
    ("a_name_that_the_topology_lacks_moves_no_rank", a_name_that_the_topology_lacks_moves_no_rank),
    ("several_ranks_per_host", several_ranks_per_host),
];

/// Runs the test program on the lab's hosts with these variables.
fn run(lab: &Lab, per_host: usize, environment: &[&str], words: &[&str]) -> Outcome {
    let options = RunOptions { timeout: Some(LIMIT), capture: true, ranks_per_host: per_host, ..RunOptions::default() };
    let program: Vec<OsString> =
        ["env"].iter().chain(environment).chain(&[PROGRAM]).chain(words).map(OsString::from).collect();
    lab.run(&program, &options).expect("run")
}

fn said(outcome: &Outcome) -> String {
    String::from_utf8_lossy(&outcome.stdout).into_owned()
}

/// Every rank has found every byte in its place, and planned paths carried them.
fn all_well(outcome: &Outcome, ranks: usize) -> String {
    let output = said(outcome);
    assert_eq!((outcome.end, outcome.status), (End::Exited, 0), "{output}");
    assert_eq!(output.matches("all is well").count(), ranks, "{output}");
    assert!(output.contains("paths by planner"), "{output}");
    output
}

/// The seconds of the first exchange.
fn seconds(output: &str) -> f64 {
    let line = output.lines().find_map(|l| l.strip_prefix("round 0: "));
    line.and_then(|l| l.split(' ').next()?.parse().ok()).unwrap_or_else(|| panic!("{output}"))
}

fn a_dead_rank_ends_the_job(lab: &Lab) {
    // Each link carries 16 MB, more than two seconds' worth: the rank is gone after 0.3 s.
    let outcome = run(lab, 1, &FORCED, &["fault", "uniform", "8000000", "die=2"]);
    let output = said(&outcome);
    assert!(outcome.end == End::Exited && outcome.status != 0, "{outcome:?}\n{output}");
    assert!(!output.contains("round 0") && !output.contains("all is well"), "{output}");
    println!("over after {:.1} s with status {}", outcome.seconds, outcome.status);
}

/// Bytes that the link from one host to another has carried.
fn carried(lab: &Lab, from: &str, to: &str) -> u64 {
    let status = lab.status().expect("status");
    let link = status.links.iter().position(|l| l.from == from && l.to == to).expect("a link");
    lab.counters().expect("counters")[link].bytes
}

/// Everybody sends 3 MB to h2: the links from its two neighbours carry half of the 9 MB each, among them a part of what h1
/// sends that h0 forwards.
const WORDS: [&str; 3] = ["fault", "into", "3000000"];
/// The link to which something happens, and after how many bytes.
const FROM: &str = "h0";
const TO: &str = "h2";
const PART: u64 = 500_000;

/// Waits until the link has carried so much more than `before`.
fn wait_for(lab: &Lab, before: u64, more: u64) {
    let began = Instant::now();
    while carried(lab, FROM, TO) < before + more {
        assert!(began.elapsed() < LIMIT, "nothing moves over the link");
        thread::sleep(Duration::from_millis(10));
    }
}

/// An exchange in whose midst `change` is made, once the link has carried a part of it; with what the change returns,
/// and how long the exchange went on after the change had begun.
fn in_the_midst<T: Send>(lab: &Lab, change: impl FnOnce() -> T + Send) -> (Outcome, T, Duration) {
    let before = carried(lab, FROM, TO);
    let (began, changed) = mpsc::channel();
    thread::scope(|scope| {
        let changing = scope.spawn(move || {
            wait_for(lab, before, PART);
            began.send(Instant::now()).unwrap();
            change()
        });
        let outcome = run(lab, 1, &FORCED, &WORDS);
        let ended = Instant::now();
        let after = changed.recv().map(|at| ended.saturating_duration_since(at)).unwrap();
        (outcome, changing.join().unwrap(), after)
    })
}

fn both_ways(mut change: impl FnMut(&str, &str)) {
    change(FROM, TO);
    change(TO, FROM);
}

/// What a tenth of the link's rate carries, in bytes per second.
const TENTH: f64 = 625_000.0;

/// The link falls to a tenth of its rate, both ways.
fn a_slow_link_only_slows(lab: &Lab) {
    let undisturbed = all_well(&run(lab, 1, &FORCED, &WORDS), RANKS);
    memory(&undisturbed, |rank| rank != 2);
    let (outcome, (changed, before), _) = in_the_midst(lab, || {
        both_ways(|from, to| lab.set_rate(from, to, "5Mbit/s".parse().unwrap()).expect("set rate"));
        (Instant::now(), carried(lab, FROM, TO))
    });
    let went_on = changed.elapsed().as_secs_f64();
    let rest = (carried(lab, FROM, TO) - before) as f64;
    let output = all_well(&outcome, RANKS);
    both_ways(|from, to| lab.set_rate(from, to, "50Mbit/s".parse().unwrap()).expect("set rate"));
    println!(
        "{:.2} s; {:.2} s with a link that slows down to a tenth, {rest} bytes of it in {went_on:.2} s",
        seconds(&undisturbed),
        seconds(&output)
    );
    // Or the change came too late to mean anything, or did not slow: a queue's burst of 32 KiB apart, these bytes needed
    // their time.
    assert!(rest > 500_000.0 && went_on > 0.8 * rest / TENTH, "{output}");
}

/// How long the link is away.
const AWAY: Duration = Duration::from_millis(1500);

/// The link is cut, both ways, and comes back.
fn a_cut_link_loses_nothing(lab: &Lab) {
    let (outcome, recovery, after) = in_the_midst(lab, || {
        both_ways(|from, to| lab.cut(from, to).expect("cut"));
        thread::sleep(AWAY);
        let before = carried(lab, FROM, TO);
        both_ways(|from, to| lab.restore(from, to).expect("restore"));
        let restored = Instant::now();
        wait_for(lab, before, 50_000);
        restored.elapsed()
    });
    let output = all_well(&outcome, RANKS);
    // It could not end while the link was away: there was more to come over it.
    assert!(after > AWAY, "the exchange ended {after:?} after the cut:\n{output}");
    println!("cut for {AWAY:?}; traffic is back {recovery:?} after the link; {:.2} s in all", seconds(&output));
}

/// What the others may take in the lab beyond the budget while one rank is away. Chunks are small under a small budget, so
/// MPI's copies of 64 of them are, and the rest is as in [`ALLOWANCE`].
const ALLOWANCE_IN_THE_LAB: u64 = 3 << 20;

/// Everybody sends 10 MB to rank 2, which calls 2 s after the others, or stands still for 2 s in the midst: what is meant
/// for it piles up nowhere.
fn late_and_stopped_ranks_hold_no_memory(lab: &Lab) {
    let budget = 256 << 10;
    let environment = ["OPTIQ_ALGORITHM=multipath", "OPTIQ_BUDGET=256KiB"];
    for word in ["late=2:2.0", "stop=2:2.0"] {
        let outcome = run(lab, 1, &environment, &["fault", "into", "10000000", word]);
        let output = all_well(&outcome, RANKS);
        let (grown, slots) = memory(&output, |rank| rank != 2);
        println!(
            "{word}: {:.2} s; grown by {grown} bytes at most, {slots} in slots, budget {budget}",
            seconds(&output)
        );
        assert!(seconds(&output) > 2.0, "{output}");
        assert!(slots <= budget && grown <= budget + ALLOWANCE_IN_THE_LAB, "{output}");
    }
}

/// Other shapes, other capacities, ranks on the wrong hosts: the bytes are right, whatever it costs.
fn a_topology_that_lies(lab: &Lab) {
    for lie in [
        &["OPTIQ_TOPOLOGY=mesh:4"][..],
        &["OPTIQ_TOPOLOGY=torus:4x4", "OPTIQ_PLACEMENT=rank:1"],
        &["OPTIQ_TOPOLOGY=torus:2x2,capacity=3GB/s"],
        &["OPTIQ_TOPOLOGY=fattree:2x2:1x2"],
        &["OPTIQ_TOPOLOGY=torus:3", "OPTIQ_PLACEMENT=rank:2"],
    ] {
        let environment: Vec<&str> = FORCED.iter().chain(lie).copied().collect();
        let outcome = run(lab, 1, &environment, &["fault", "few", "900000", "rounds=2"]);
        let output = all_well(&outcome, RANKS);
        println!("{lie:?}: {:.2} s", seconds(&output));
    }
}

/// The hosts are h0 to h3. With one unknown name nothing is planned, where all ranks used to be numbered anew.
fn a_name_that_the_topology_lacks_moves_no_rank(lab: &Lab) {
    let words = ["fault", "few", "900000", "rounds=2"];
    for topology in ["OPTIQ_TOPOLOGY=torus:2x2,names=h0,h1,h2,node999", "OPTIQ_TOPOLOGY=torus:2x2,names=node[001-004]"]
    {
        let outcome = run(lab, 1, &[FORCED[0], topology], &words);
        let output = said(&outcome);
        assert_eq!((outcome.end, outcome.status), (End::Exited, 0), "{output}");
        assert_eq!(output.matches("all is well").count(), RANKS, "{output}");
        assert!(!output.contains("paths by planner"), "{output}");
        assert!(output.contains("which is not a host of the topology; name the hosts"), "{output}");
        assert!(output.contains("set OPTIQ_PLACEMENT to rank:K"), "{output}");
    }
    // Names in another order are other positions, and known ones.
    all_well(&run(lab, 1, &[FORCED[0], "OPTIQ_TOPOLOGY=torus:2x2,names=h[2,0,3,1]"], &words), RANKS);
}

fn several_ranks_per_host(lab: &Lab) {
    let outcome = run(lab, 2, &FORCED, &["fault", "uniform", "100000", "rounds=2"]);
    all_well(&outcome, 2 * RANKS);
}

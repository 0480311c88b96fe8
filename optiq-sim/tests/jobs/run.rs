//! Jobs of a file, alone and together: exact slowdowns by hand, and the same bits however many threads there are.

use optiq_sim::jobs::allocation::Allocation;
use optiq_sim::jobs::file::JobFile;
use optiq_sim::jobs::programs::samples::RankSamples;
use optiq_sim::jobs::run::{JobResults, JobRunOptions, Jobs, Which, run_jobs};
use optiq_sim::jobs::statistics::Estimate;
use optiq_sim::time::Time;
use optiq_sim::{End, Limits, Model, Recording, SimError};
use std::sync::atomic::AtomicBool;

/// Packets of 1,000 bytes take a microsecond, a confirmation takes a nanosecond, and nothing else takes time.
fn model() -> Model {
    let mut model = Model::default();
    model.link.packet_bytes = 1000;
    model.link.header_bytes = 0;
    model.link.terminal_latency_picoseconds = 0;
    model.link.local_latency_picoseconds = 0;
    model.router.delay_picoseconds = 0;
    model.host.send_overhead_picoseconds = 0;
    model.host.receive_overhead_picoseconds = 0;
    model.host.eager_bytes = 1 << 30;
    model.host.control_bytes = 1;
    model
}

fn run_text(text: &str, model: &Model, options: &JobRunOptions<'_>) -> Result<JobResults, SimError> {
    let file = JobFile::parse(text, "j.toml")?;
    let network = file.load_network()?;
    let allocation = Allocation::new(&file, &network)?;
    let (file, network, allocation) = (&file, &network, &allocation);
    run_jobs(&Jobs { file, network, model, allocation, planning_networks: &[] }, options)
}

/// Two leaf switches with two hosts each and one link up; each job sends from one of these hosts to another one.
fn two_streams(a: &str, b: &str) -> String {
    let job = |name: &str, hosts: &str| {
        let program = "incast,message=40kB,samples=5,warmup=1";
        format!("[[job]]\nname = \"{name}\"\nplacement = \"hosts:{hosts}\"\nprogram = \"{program}\"\n")
    };
    format!("network = \"fattree:2x2:1x1,capacity=1GB/s\"\n{}{}", job("a", a), job("b", b))
}

const ONE: Estimate = Estimate { value: 1.0, interval: None };

/// 0 to 2 and 1 to 3: both take the link up from the first leaf switch, packet by packet in turn. A message of 40 packets alone takes
/// 40 us. Together each has every second packet, and from start to start there are 80 us, of which the last nanosecond is
/// the confirmation.
#[test]
fn two_streams_over_one_link_are_twice_as_slow() {
    let options = JobRunOptions::default();
    let found = run_text(&two_streams("2+0", "3+1"), &model(), &options).unwrap();
    assert!(found.is_complete());
    for job in &found.jobs {
        let (alone, together) = (job.alone.as_ref().unwrap(), job.together.as_ref().unwrap());
        // The root receives, and measures nothing.
        assert_eq!((alone.ranks[0].samples.len(), alone.ranks[1].samples.len()), (0, 5));
        let nanoseconds = |rank: &RankSamples| -> Vec<u64> {
            rank.samples.iter().map(|s| s.duration.as_picoseconds() / 1000).collect()
        };
        assert_eq!(nanoseconds(&alone.ranks[1]), [40_000; 5]);
        assert_eq!(nanoseconds(&together.ranks[1]), [79_999; 5]);
        let slowdown = job.slowdown().unwrap();
        for estimate in [slowdown.mean, slowdown.median, slowdown.p99] {
            assert!(
                (estimate.value - 79_999.0 / 40_000.0).abs() < 1e-12 && estimate.interval.is_none(),
                "{estimate:?}"
            );
        }
    }
}

/// A bulk and small messages from one host to another. Without classes both have every second packet while both have some: a small one
/// of 10 packets takes 20 us for 10. With a class it waits for the packet that is on the link, at most, whatever the bulk has queued.
#[test]
fn urgent_packets_leave_a_host_first() {
    let text = |class: u8| {
        let job = |name: &str, program: &str, keys: &str| {
            format!(
                "[[job]]\nname = \"{name}\"\nplacement = \"hosts:1+0\"\nexclusive = false\nprogram = \"{program}\"\n{keys}"
            )
        };
        let bulk = job("bulk", "incast,message=400kB,samples=5,warmup=1", "");
        let urgent = job("urgent", "incast,message=10kB,samples=20,warmup=1", &format!("class = {class}\n"));
        format!("network = \"star:2,capacity=1GB/s\"\n{bulk}{urgent}")
    };
    // Mean times in nanoseconds: the bulk's, and those of urgent messages.
    let means = |class| {
        let found = run_text(&text(class), &model(), &JobRunOptions::default()).unwrap();
        let mean = |job: usize| {
            let samples = &found.jobs[job].together.as_ref().unwrap().ranks[1].samples;
            samples.iter().map(|s| s.duration.as_picoseconds() / 1000).sum::<u64>() / samples.len() as u64
        };
        (mean(0), mean(1))
    };
    let (plain, urgent) = (means(0), means(3));
    println!("bulk and small, without classes {plain:?} ns, with {urgent:?} ns");
    assert!(plain.1 >= 19_000, "{plain:?}");
    assert!((10_000..=11_100).contains(&urgent.1), "{urgent:?}");
    // The link carries the same bytes.
    assert!(urgent.0 >= plain.0, "{plain:?} {urgent:?}");
}

#[test]
fn streams_on_links_of_their_own_do_not_slow_each_other() {
    let options = JobRunOptions { threads: 2, ..JobRunOptions::default() };
    // 0 to 1 and 2 to 3: each within its leaf switch. 0 to 2 and 3 to 1: the link is there once in each direction.
    for (a, b) in [("1+0", "3+2"), ("2+0", "1+3")] {
        let found = run_text(&two_streams(a, b), &model(), &options).unwrap();
        for job in &found.jobs {
            let slowdown = job.slowdown().unwrap();
            assert_eq!((slowdown.mean, slowdown.median, slowdown.p99), (ONE, ONE, ONE));
        }
    }
}

const SEVERAL: &str = r#"
network = "fattree:4x4x3:1x4x2:1x1x2"
seed = 7
[[job]]
name = "solver"
hosts = 20
processes = 2
program = "pairs,message=20KB,think=2us,jitter=5%,samples=6,warmup=1"
[[job]]
name = "checkpoint"
hosts = 12
servers = "spread-target:8"
program = "io-write,request=60KB,think=1us,jitter=5%,samples=5"
[[job]]
name = "load"
hosts = 4
program = "uniform,message=4KB,interval=3us"
measured = false
"#;

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let with = |threads| {
        let options = JobRunOptions { threads, series: Recording::Links, ..JobRunOptions::default() };
        run_text(SEVERAL, &Model::default(), &options).unwrap()
    };
    let first = with(1);
    assert!(first.is_complete());
    for threads in [3, 8] {
        let found = with(threads);
        assert_eq!(found.fingerprint(), first.fingerprint(), "{threads} threads");
        let runs = |found: &JobResults| {
            let all = found.alone.iter().chain([&found.together]).flatten();
            all.map(|run| (run.time, run.packets, run.link_bytes.clone(), run.series.clone())).collect::<Vec<_>>()
        };
        assert_eq!(runs(&found), runs(&first), "{threads} threads");
        let slowdowns = |found: &JobResults| found.jobs.iter().map(|job| job.slowdown()).collect::<Vec<_>>();
        assert_eq!(slowdowns(&found), slowdowns(&first));
    }
    // The load has its own samples alone, and keeps going beside the others until they have theirs.
    let load = &first.jobs[2];
    assert!(load.alone.as_ref().unwrap().complete.is_some());
    let together = first.together.as_ref().unwrap();
    let sums: Vec<u64> = (0..together.link_bytes.len())
        .map(|link| first.jobs.iter().map(|job| job.together.as_ref().unwrap().outcome.link_bytes[link]).sum())
        .collect();
    assert_eq!(sums, together.link_bytes);
}

#[test]
fn only_what_is_wanted_is_run() {
    let which = |which| {
        let options = JobRunOptions { which, ..JobRunOptions::default() };
        let found = run_text(SEVERAL, &Model::default(), &options).unwrap();
        assert!(found.is_complete() && found.jobs.iter().all(|job| job.slowdown().is_none()));
        (found.together.is_some(), found.alone.iter().flatten().count())
    };
    assert_eq!((which(Which::Together), which(Which::Alone)), ((true, 0), (false, 3)));
    // One job alone is all jobs together.
    let one = "network = \"star:4\"\n[[job]]\nname = \"a\"\nhosts = 4\nprogram = \"pairs,message=4KB,samples=3\"\n";
    let found = run_text(one, &Model::default(), &JobRunOptions::default()).unwrap();
    assert_eq!(found.jobs[0].slowdown().unwrap().mean, ONE);
}

/// The samples are there all the same; the run is over with the last of them, at the picosecond, and not at the end of a slice.
#[test]
fn ranks_of_finite_jobs_end_after_their_samples() {
    let with = |is_finite| {
        let options = JobRunOptions { is_finite, ..JobRunOptions::default() };
        run_text(&two_streams("2+0", "3+1"), &model(), &options).unwrap()
    };
    let (finite, endless) = (with(true), with(false));
    let durations = |found: &JobResults| {
        let runs = found.jobs.iter().map(|job| job.together.as_ref().unwrap());
        runs.map(|run| run.ranks[1].samples.iter().map(|s| s.duration).collect::<Vec<_>>()).collect::<Vec<_>>()
    };
    assert!(finite.is_complete() && endless.is_complete());
    assert_eq!(durations(&finite)[0][..4], durations(&endless)[0][..4]);
    let bytes = |found: &JobResults| found.together.as_ref().unwrap().link_bytes.iter().max().copied();
    // Six messages of each of the two, and a nanosecond's confirmation for each.
    assert_eq!(bytes(&finite), Some(2 * 6 * 40_000));
    assert!(bytes(&endless) > bytes(&finite));
}

#[test]
fn limits_and_requests_to_stop_leave_what_was_found() {
    let limits = Limits { time: Some(Time::picoseconds(30_000_000)), ..Limits::default() };
    let found = run_text(SEVERAL, &Model::default(), &JobRunOptions { limits, ..JobRunOptions::default() }).unwrap();
    assert!(!found.is_complete());
    assert_eq!(found.together.as_ref().unwrap().end, End::TimeLimit);
    assert!(found.jobs[0].together.as_ref().unwrap().complete.is_none());
    let stop = AtomicBool::new(true);
    let options = JobRunOptions { stop: Some(&stop), ..JobRunOptions::default() };
    let found = run_text(SEVERAL, &Model::default(), &options).unwrap();
    assert_eq!((found.left_out, found.is_complete()), (4, false));
}

#[test]
fn a_program_that_does_not_fit_names_its_job() {
    let text = "network = \"star:5\"\n[[job]]\nname = \"odd\"\nhosts = 3\nprogram = \"pairs,message=4KB\"\n";
    let why = run_text(text, &Model::default(), &JobRunOptions::default()).unwrap_err().to_string();
    assert_eq!(why, "job file j.toml, line 2: job odd: pairs: found 3 ranks; an even number is expected");
}

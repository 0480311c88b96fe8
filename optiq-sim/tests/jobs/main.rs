//! Jobs and processes: by hand where that is possible, sums over jobs, and the same bits on any number of threads.
#![allow(clippy::unwrap_used, reason = "tests")]

mod conservation;
mod exact;
mod programs;
mod run;

use optiq_net::Network;
use optiq_sim::time::Time;
use optiq_sim::{
    Checkpoints, Delivery, End, Host, Idle, Layout, Limits, Model, Outcome, Process, Program, Recording, RunOptions,
    SimError, simulate, simulate_jobs,
};
use programs::{Closed, Stream};
use std::sync::Mutex;

const MICROSECOND: Time = Time::picoseconds(1_000_000);

/// Three jobs on a network: a closed loop with two processes on each second host, which is measured; an open loop without end
/// on all other hosts and one process beside the first job on each fourth; one that sends nothing.
fn layout(hosts: u32) -> (Layout, [u32; 3]) {
    let closed = (0..hosts).filter(|host| host % 2 == 0).flat_map(|host| [host, host]);
    let open = (0..hosts).filter(|host| host % 2 == 1 || host % 4 == 0);
    let process = |job: u16| move |host: u32| Process { host, job };
    let mut processes: Vec<Process> = closed.map(process(0)).collect();
    let first = processes.len() as u32;
    processes.extend(open.map(process(1)));
    let second = processes.len() as u32 - first;
    processes.push(Process { host: 0, job: 2 });
    (Layout::new(processes).measure(0), [first, second, 1])
}

fn programs(layout: &Layout, [first, second, _]: [u32; 3]) -> Vec<Box<dyn Program>> {
    let think = MICROSECOND * 2;
    let closed = Closed { first: 0, ranks: first, bytes: 12_000, think, warm_up: 2, samples: 6, sent: 0 };
    let open = Stream { first, ranks: second, bytes: 9000, gap: MICROSECOND * 9 };
    let program = |process: &Process| -> Box<dyn Program> {
        match process.job {
            0 => Box::new(closed.clone()),
            1 => Box::new(open.clone()),
            _ => Box::new(Idle),
        }
    };
    layout.processes().iter().map(program).collect()
}

/// Network, preset, routing.
const CASES: [(&str, &str, &str); 5] = [
    ("torus:4x2x2,capacity=2GB/s", "bgq", "adaptive"),
    ("fattree:6x6x4:1x6x2:1x1x3,capacity=12.5GB/s", "fattree-12.5", "fabric"),
    ("fattree:k=4,capacity=12.5GB/s", "fattree-12.5", "adaptive-up"),
    ("dragonfly:p=2,a=4,h=2,capacity=5GB/s", "edison", "par"),
    ("dragonfly+:p=2,l=4,s=4,h=4,terminal=17GB/s,local=5.6GB/s,global=4.7GB/s", "dragonfly+3456", "fpar"),
];

fn run((spec, preset, routing): (&str, &str, &str), options: &RunOptions<'_>) -> Outcome {
    let network = Network::from_spec(spec).unwrap();
    let mut model = Model::read(preset).unwrap();
    model.host.eager_bytes = 10_000;
    let (layout, sizes) = layout(network.hosts() as u32);
    let programs = programs(&layout, sizes);
    let options = RunOptions { routing: routing.parse().unwrap(), series: Recording::Links, ..*options };
    simulate_jobs(&network, &model, &layout, programs, &options).unwrap()
}

#[test]
fn threads_make_no_difference() {
    for case in CASES {
        let whole = run(case, &RunOptions::default());
        assert_eq!(whole.end, End::Measured, "{case:?}");
        // All have their samples, and no program has stopped.
        let done = whole.jobs[0].done.unwrap();
        assert!(whole.time >= done && whole.time < done + MICROSECOND * 10, "{case:?}");
        assert!(whole.jobs[1].done.is_none() && whole.jobs[2].packets == 0);
        assert!(whole.jobs[1].messages > 10 && whole.jobs[0].messages > whole.jobs[0].message_latency.len());
        for threads in [2, 3, 4] {
            let other = run(case, &RunOptions { threads, ..RunOptions::default() });
            assert_eq!((other.end, other.time, other.events), (whole.end, whole.time, whole.events), "{case:?}");
            assert_eq!(other.fingerprint(), whole.fingerprint(), "{case:?} on {threads} threads");
            assert_eq!(other.series, whole.series, "{case:?} on {threads} threads");
        }
    }
}

#[test]
fn jobs_go_on_from_checkpoints() {
    for case in CASES {
        for threads in [1, 2] {
            let whole = run(case, &RunOptions { threads, ..RunOptions::default() });
            let kept = Mutex::new(Vec::new());
            let keep = |bytes: &[u8]| {
                *kept.lock().unwrap() = bytes.to_vec();
                Ok(())
            };
            let checkpoints = Some(Checkpoints { every: None, keep: &keep });
            let mut last: Option<Vec<u8>> = None;
            // Behind the last event nothing is left but the end. On several threads a limit may be met a window later.
            let most = if threads == 1 { whole.events - 1 } else { whole.events * 3 / 4 };
            for part in [whole.events / 3, whole.events * 2 / 3, most] {
                let limits = Limits { events: Some(part), ..Limits::default() };
                let options =
                    RunOptions { threads, limits, checkpoints, resume: last.as_deref(), ..Default::default() };
                assert_eq!(run(case, &options).end, End::EventLimit, "{case:?}");
                last = Some(kept.lock().unwrap().clone());
            }
            let resumed = run(case, &RunOptions { resume: last.as_deref(), ..RunOptions::default() });
            assert_eq!((resumed.end, resumed.events), (End::Measured, whole.events), "{case:?}");
            assert_eq!(resumed.fingerprint(), whole.fingerprint(), "{case:?} on {threads} threads");
            assert_eq!(resumed.series, whole.series, "{case:?} on {threads} threads");
        }
    }
}

/// The checkpoint of one layout is none of another one.
#[test]
fn checkpoints_know_their_layout() {
    let network = Network::from_spec("star:4").unwrap();
    let place = |second: u32, job: u16| Layout::new(vec![Process { host: 0, job: 0 }, Process { host: second, job }]);
    let kept = Mutex::new(Vec::new());
    let keep = |bytes: &[u8]| {
        *kept.lock().unwrap() = bytes.to_vec();
        Ok(())
    };
    let run = |layout: &Layout, resume: Option<&[u8]>| {
        let stream = Stream { first: 0, ranks: 2, bytes: 5000, gap: MICROSECOND };
        let programs: Vec<Box<dyn Program>> = vec![Box::new(stream.clone()), Box::new(stream)];
        let limits = Limits { events: Some(if resume.is_some() { 400 } else { 200 }), ..Limits::default() };
        let checkpoints = Some(Checkpoints { every: None, keep: &keep });
        let options = RunOptions { limits, checkpoints, resume, ..RunOptions::default() };
        simulate_jobs(&network, &Model::default(), layout, programs, &options).map(|o| o.end).map_err(|e| e.to_string())
    };
    assert_eq!(run(&place(1, 0), None), Ok(End::EventLimit));
    let one = kept.lock().unwrap().clone();
    assert_eq!(run(&place(1, 0), Some(&one)), Ok(End::EventLimit));
    for other in [place(2, 0), place(1, 1), place(1, 0).measure(0)] {
        let text = run(&other, Some(&one)).unwrap_err();
        assert!(text.contains("of another simulation"), "{text}");
    }
}

/// A job alone finds what it finds beside one that does nothing, whatever number that has and wherever it is.
#[test]
fn a_job_that_sends_nothing_changes_nothing() {
    for (spec, preset, routing) in CASES {
        let network = Network::from_spec(spec).unwrap();
        let model = Model::read(preset).unwrap();
        let ranks = network.hosts() as u32 / 2;
        let alone: Vec<Process> = (0..ranks).map(|rank| Process { host: rank * 2, job: 0 }).collect();
        let mut beside = alone.clone();
        beside.extend((0..network.hosts() as u32).map(|host| Process { host, job: 1 }));
        let closed = Closed { first: 0, ranks, bytes: 20_000, think: MICROSECOND, warm_up: 1, samples: 5, sent: 0 };
        let options = RunOptions { routing: routing.parse().unwrap(), ..RunOptions::default() };
        let run = |processes: &[Process]| {
            let program = |p: &Process| match p.job {
                0 => Box::new(closed.clone()) as Box<dyn Program>,
                _ => Box::new(Idle),
            };
            let programs = processes.iter().map(program).collect();
            let layout = Layout::new(processes.to_vec()).measure(0);
            simulate_jobs(&network, &model, &layout, programs, &options).unwrap()
        };
        let (alone, beside) = (run(&alone), run(&beside));
        assert_eq!((alone.end, alone.jobs.len(), beside.jobs.len()), (End::Measured, 1, 2));
        assert_eq!(alone.jobs[0].fingerprint(), beside.jobs[0].fingerprint(), "{spec}");
        assert_eq!(alone.time, beside.time);
        assert_eq!((beside.jobs[1].packets, beside.jobs[1].link_bytes.iter().sum::<u64>()), (0, 0));
    }
}

/// One job on all hosts is what [`simulate`] runs.
#[test]
fn one_job_is_a_simulation_without_jobs() {
    let network = Network::from_spec("torus:4x4,capacity=2GB/s").unwrap();
    let model = Model::read("bgq").unwrap();
    let layout = Layout::one_job(16);
    let stream = || (0..16).map(|_| Box::new(Stream { first: 0, ranks: 16, bytes: 9000, gap: MICROSECOND }) as _);
    let limits = Limits { time: Some(MICROSECOND * 100), ..Limits::default() };
    let options = RunOptions { limits, ..RunOptions::default() };
    let plain = simulate(&network, &model, stream().collect(), &options).unwrap();
    let job = simulate_jobs(&network, &model, &layout, stream().collect(), &options).unwrap();
    assert_eq!(plain.fingerprint(), job.fingerprint());
    assert_eq!(plain.jobs[0].link_bytes, plain.link_bytes);
    assert_eq!((plain.jobs[0].packets, plain.jobs[0].payload_bytes), (plain.packets, plain.payload_bytes));
}

/// Waits for a message that never comes; says at once that it is done, or not.
struct Waits(bool);

impl Program for Waits {
    fn start(&mut self, host: &mut Host<'_>) {
        if self.0 {
            host.done();
        }
    }

    fn received(&mut self, _: &mut Host<'_>, _: Delivery) {}

    fn waits_for(&self) -> Option<String> {
        Some("a message that never comes".into())
    }
}

/// Who waits, where nothing can happen any more: a measured job that is not done, and no other.
#[test]
fn only_measured_jobs_that_are_not_done_are_waited_for() {
    let network = Network::from_spec("star:2").unwrap();
    let run = |measured: bool, done: [bool; 2]| {
        let layout = Layout::new(vec![Process { host: 1, job: 0 }, Process { host: 1, job: 1 }]);
        let layout = if measured { layout.measure(1) } else { layout };
        let programs: Vec<Box<dyn Program>> = vec![Box::new(Waits(done[0])), Box::new(Waits(done[1]))];
        simulate_jobs(&network, &Model::default(), &layout, programs, &RunOptions::default()).map(|o| o.end)
    };
    assert!(matches!(run(true, [false, true]), Ok(End::Measured)));
    let text = |run: Result<End, SimError>| match run {
        Err(error @ SimError::Deadlock { .. }) => error.to_string(),
        other => panic!("no deadlock: {other:?}"),
    };
    let both = text(run(false, [true, true]));
    assert!(
        both.contains("process 0 (job 0, host 1) waits for a message that never comes; process 1 (job 1, host 1)"),
        "{both}"
    );
    let one = text(run(true, [true, false]));
    assert!(one.contains("process 1 (job 1") && !one.contains("process 0"), "{one}");
}

#[test]
fn what_does_not_fit_is_said() {
    let network = Network::from_spec("star:2").unwrap();
    let run = |layout: &Layout, programs: Vec<Box<dyn Program>>| {
        let run = simulate_jobs(&network, &Model::default(), layout, programs, &RunOptions::default());
        run.map(|o| o.end).unwrap_err().to_string()
    };
    let two = Layout::new(vec![Process { host: 0, job: 0 }, Process { host: 2, job: 0 }]);
    assert_eq!(
        run(&two, vec![Box::new(Idle), Box::new(Idle)]),
        "process 1 of job 0 is on host 2, but there are 2 hosts"
    );
    let two = Layout::new(vec![Process { host: 0, job: 0 }, Process { host: 0, job: 0 }]);
    assert_eq!(run(&two, vec![Box::new(Idle)]), "1 programs for 2 processes");
    let stray = Stream { first: 1, ranks: 5, bytes: 10, gap: MICROSECOND };
    // Process 1 is its rank 0 and sends to process 2.
    assert_eq!(
        run(&two, vec![Box::new(Idle), Box::new(stray)]),
        "process 1 (job 0, host 0) sends to process 2, but there are 2 processes"
    );
}

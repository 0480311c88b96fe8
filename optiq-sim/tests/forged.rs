//! Checkpoints that were forged: changed, and given a checksum that fits. What is resumed from them ends with a result or an error.

use optiq_net::Network;
use optiq_net::random::SplitMix64;
use optiq_sim::time::Time;
use optiq_sim::workload::exchange::{Method, exchange};
use optiq_sim::workload::message::Message;
use optiq_sim::workload::synthetic::{Gaps, Open, Pattern, Sizes};
use optiq_sim::{
    Checkpoints, Layout, Limits, Model, Process, Program, Recording, RunOptions, SimError, seal_checkpoint,
    simulate_jobs,
};
use std::sync::Mutex;

/// Behind the header.
const BODY: usize = 44;

fn run(
    jobs: bool,
    threads: usize,
    resume: Option<&[u8]>,
    checkpoints: Option<Checkpoints<'_>>,
) -> Result<(), SimError> {
    let net = Network::from_spec("torus:4x4").expect("a network");
    let limits = Limits { events: Some(if resume.is_some() { 600 } else { 150 }), ..Limits::default() };
    let options =
        RunOptions { limits, resume, checkpoints, threads, series: Recording::Queues, ..RunOptions::default() };
    if jobs {
        return run_jobs(&net, &options);
    }
    let message = |source, destination, bytes| Message { source, destination, bytes, class: 0 };
    let messages = [message(0, 5, 20_000), message(3, 9, 90_000), message(12, 1, 40_000)];
    exchange(&net, &Model::default(), &messages, &Method::Linear, &options).map(drop)
}

/// Two measured jobs, two processes of each on each of four hosts, and messages that wait for grants.
fn run_jobs(net: &Network, options: &RunOptions<'_>) -> Result<(), SimError> {
    let process = |number: u16| Process { host: u32::from(number % 4) * 5, job: number / 8 };
    let layout = Layout::new((0..16).map(process).collect()).measure(0).measure(1);
    let gaps = Gaps::Fixed(Time::picoseconds(10_000_000));
    let open = Open { pattern: Pattern::Uniform, gaps, sizes: Sizes::Either(500, 5000), messages: 20, hosts: 16 };
    let programs = (0..16).map(|_| Box::new(open.clone()) as Box<dyn Program>).collect();
    let mut model = Model::default();
    model.host.eager_bytes = 1000;
    simulate_jobs(net, &model, &layout, programs, options).map(drop)
}

fn whole(jobs: bool, threads: usize) -> Vec<u8> {
    let kept = Mutex::new(Vec::new());
    let keep = |bytes: &[u8]| {
        *kept.lock().expect("no thread has failed") = bytes.to_vec();
        Ok(())
    };
    run(jobs, threads, None, Some(Checkpoints { every: None, keep: &keep })).expect("a simulation");
    kept.into_inner().expect("no thread has failed")
}

/// Changes bytes everywhere, to values that stand for small and for large numbers.
#[test]
fn forged_checkpoints_end_in_a_result_or_in_one_sentence() {
    // Panics of the simulation are expected here, and would fill the screen.
    std::panic::set_hook(Box::new(|_| {}));
    let mut refused = Vec::new();
    // Threads wait for each other at every step, which takes its time on a busy machine.
    for (jobs, threads, step) in [(false, 1, 3), (false, 2, 97), (true, 1, 11), (true, 2, 401)] {
        let whole = whole(jobs, threads);
        assert!(run(jobs, threads, Some(&whole), None).is_ok());
        let mut random = SplitMix64::new(7);
        for at in (BODY..whole.len()).step_by(step) {
            let mut forged = whole.clone();
            forged[at] = [0, 1, 250, 251, 253, 255, random.next_u64() as u8][(random.next_u64() % 7) as usize];
            seal_checkpoint(&mut forged);
            match run(jobs, threads, Some(&forged), None) {
                Ok(()) => {}
                Err(error) => refused.push(error.to_string()),
            }
        }
    }
    drop(std::panic::take_hook());
    assert!(refused.iter().all(|text| !text.is_empty() && !text.contains('\n')));
    assert!(refused.iter().any(|text| text.contains("although its checksum fits")), "no forged number was met");
}

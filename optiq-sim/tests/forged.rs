//! Checkpoints that were forged: changed, and given a checksum that fits. What is resumed from them ends with a result or an error.

use optiq_net::Network;
use optiq_net::random::SplitMix64;
use optiq_sim::workload::exchange::{Method, exchange};
use optiq_sim::workload::message::Message;
use optiq_sim::{Checkpoints, Limits, Model, Recording, RunOptions, SimError, seal_checkpoint};
use std::sync::Mutex;

/// Behind the header.
const BODY: usize = 44;

fn run(threads: usize, resume: Option<&[u8]>, checkpoints: Option<Checkpoints<'_>>) -> Result<(), SimError> {
    let net = Network::from_spec("torus:4x4").expect("a network");
    let message = |source, destination, bytes| Message { source, destination, bytes };
    let messages = [message(0, 5, 20_000), message(3, 9, 90_000), message(12, 1, 40_000)];
    let limits = Limits { events: Some(if resume.is_some() { 600 } else { 150 }), ..Limits::default() };
    let options =
        RunOptions { limits, resume, checkpoints, threads, series: Recording::Queues, ..RunOptions::default() };
    exchange(&net, &Model::default(), &messages, &Method::Linear, &options).map(drop)
}

fn whole(threads: usize) -> Vec<u8> {
    let kept = Mutex::new(Vec::new());
    let keep = |bytes: &[u8]| {
        *kept.lock().expect("no thread has failed") = bytes.to_vec();
        Ok(())
    };
    run(threads, None, Some(Checkpoints { every: None, keep: &keep })).expect("a simulation");
    kept.into_inner().expect("no thread has failed")
}

/// Changes bytes everywhere, to values that stand for small and for large numbers.
#[test]
fn forged_checkpoints_end_in_a_result_or_in_one_sentence() {
    // Panics of the simulation are expected here, and would fill the screen.
    std::panic::set_hook(Box::new(|_| {}));
    let mut refused = Vec::new();
    // Threads wait for each other at every step, which takes its time on a busy machine.
    for (threads, step) in [(1, 3), (2, 97)] {
        let whole = whole(threads);
        assert!(run(threads, Some(&whole), None).is_ok());
        let mut random = SplitMix64::new(7);
        for at in (BODY..whole.len()).step_by(step) {
            let mut forged = whole.clone();
            forged[at] = [0, 1, 250, 251, 253, 255, random.next_u64() as u8][(random.next_u64() % 7) as usize];
            seal_checkpoint(&mut forged);
            match run(threads, Some(&forged), None) {
                Ok(()) => {}
                Err(error) => refused.push(error.to_string()),
            }
        }
    }
    drop(std::panic::take_hook());
    assert!(refused.iter().all(|text| !text.is_empty() && !text.contains('\n')));
    assert!(refused.iter().any(|text| text.contains("although its checksum fits")), "no forged number was met");
}

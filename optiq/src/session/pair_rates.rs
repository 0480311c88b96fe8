//! The rates that pairs of ranks reach, measured by messages while nothing else moves.

use crate::constants::MEASURING_PAUSE_SECONDS;
use crate::error::Error;
use optiq_lower::constants::{PROBE_IN_FLIGHT, PROBE_LARGEST_BYTES};
use optiq_lower::guessed_network::RateProbe;
use optiq_net::units::format_rate;
use optiq_transport::Rank;
use optiq_transport::mpi::{Communicator, Message};
use std::collections::VecDeque;
use std::thread;
use std::time::{Duration, Instant};

/// The rates of pairs of ranks, no rank in two of them, all at the same time, for `seconds`; in bytes per second. Opens connections and measures
/// nothing if that is 0. Collective, the same on all ranks; nothing else may move on the communicator.
pub(super) fn pair_rates(comm: &Communicator, pairs: &[(Rank, Rank)], seconds: f64) -> Result<Vec<u64>, Error> {
    let own = pairs.iter().find(|pair| [pair.0, pair.1].contains(&comm.rank()));
    let mine = match own {
        Some(&(from, to)) if from == comm.rank() => send(comm, to, seconds)?,
        Some(&(from, _)) => receive(comm, from).map(|()| 0)?,
        None => 0,
    };
    let mut gathering = comm.start_all_gather(&[mine])?;
    let all = loop {
        if let Some(all) = gathering.test()? {
            break all.to_vec();
        }
        thread::sleep(Duration::from_secs_f64(MEASURING_PAUSE_SECONDS));
    };
    let rates: Vec<u64> = pairs.iter().map(|pair| all[pair.0.index()]).collect();
    if comm.rank() == Rank(0) && seconds > 0.0 {
        let text: Vec<String> = rates.iter().map(|&rate| format_rate(rate as f64)).collect();
        log::debug!("rates between hosts, pairs at once: {}", text.join(", "));
    }
    Ok(rates)
}

/// Waits for a message, and gives the processor away meanwhile: hosts of a test share them.
fn complete(mut message: Message) -> Result<(Vec<u8>, usize), Error> {
    loop {
        if let Some(done) = message.test()? {
            return Ok(done);
        }
        thread::yield_now();
    }
}

/// Sends until the time is over; the bytes per second that arrived.
fn send(comm: &Communicator, to: Rank, seconds: f64) -> Result<u64, Error> {
    let start = Instant::now();
    let mut probe = RateProbe::default();
    let mut idle: Vec<Vec<u8>> = (0..PROBE_IN_FLIGHT).map(|_| vec![0; PROBE_LARGEST_BYTES as usize]).collect();
    let mut flying = VecDeque::new();
    loop {
        while !idle.is_empty() {
            let Some(bytes) = probe.next(start.elapsed(), seconds) else { break };
            let answer = comm.start_receive(Vec::new(), to)?;
            let message = comm.start_send(idle.pop().unwrap_or_default(), bytes as usize, to)?;
            flying.push_back((message, answer, bytes));
        }
        let Some((message, answer, bytes)) = flying.pop_front() else { break };
        complete(answer)?;
        probe.answered(bytes, start.elapsed());
        idle.push(complete(message)?.0);
    }
    // An empty message for each receive that is left.
    for _ in 0..PROBE_IN_FLIGHT {
        let answer = comm.start_receive(Vec::new(), to)?;
        complete(comm.start_send(Vec::new(), 0, to)?)?;
        complete(answer)?;
    }
    Ok(probe.rate())
}

/// Answers every message with an empty one, until as many came empty as are received at a time.
fn receive(comm: &Communicator, from: Rank) -> Result<(), Error> {
    let begin = |memory| comm.start_receive(memory, from);
    let memories = (0..PROBE_IN_FLIGHT).map(|_| begin(vec![0; PROBE_LARGEST_BYTES as usize]));
    let mut posted = memories.collect::<Result<VecDeque<Message>, _>>()?;
    while let Some(message) = posted.pop_front() {
        let (memory, bytes) = complete(message)?;
        complete(comm.start_send(Vec::new(), 0, from)?)?;
        if bytes > 0 {
            posted.push_back(begin(memory)?);
        }
    }
    Ok(())
}

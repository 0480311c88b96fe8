//! How far the clocks of ranks are from rank 0's ([`optiq_probe::measure::clocks`]), by questions over MPI.

use optiq_probe::measure::clocks::Offset;
use optiq_transport::Rank;
use optiq_transport::mpi::{Communicator, Message};
use std::thread::{sleep, yield_now};
use std::time::Duration;

/// Questions of each rank.
const QUESTIONS: usize = 16;
/// Polls before one who waits sleeps, and for how long.
const POLLS: u32 = 1000;
const NAP: Duration = Duration::from_micros(100);

/// How far this rank's clock is from rank 0's; collective.
///
/// # Errors
/// What MPI reports.
pub fn against_first(comm: &Communicator, clock: &dyn Fn() -> u64) -> Result<Offset, String> {
    let (me, all) = (comm.rank().0, comm.size());
    let word = |bytes: &[u8]| bytes.first_chunk().map_or(0, |first| u64::from_le_bytes(*first));
    if me == 0 {
        for rank in (1..all).map(Rank) {
            for _ in 0..QUESTIONS {
                complete(comm.start_receive(vec![0; 8], rank).map_err(|e| e.to_string())?)?;
                let now = clock().to_le_bytes().to_vec();
                complete(comm.start_send(now, 8, rank).map_err(|e| e.to_string())?)?;
            }
        }
        return Ok(Offset::default());
    }
    let mut answers = Vec::with_capacity(QUESTIONS);
    for _ in 0..QUESTIONS {
        let before = clock();
        complete(comm.start_send(vec![0; 8], 8, Rank(0)).map_err(|e| e.to_string())?)?;
        let there = word(&complete(comm.start_receive(vec![0; 8], Rank(0)).map_err(|e| e.to_string())?)?);
        answers.push([before, there, clock()]);
    }
    Ok(Offset::of(answers))
}

fn complete(mut message: Message) -> Result<Vec<u8>, String> {
    let mut polls = 0;
    loop {
        if let Some((memory, _)) = message.test().map_err(|e| e.to_string())? {
            return Ok(memory);
        }
        polls += 1;
        if polls < POLLS { yield_now() } else { sleep(NAP) }
    }
}

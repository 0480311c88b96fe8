//! Small calls that come again and again: who serves them after a while, that their bytes are right, and what they take beside plain MPI.

use crate::load::{self, Load};
use crate::support::{rank, size};
use optiq::{Config, Decision, Session};
use optiq_lower::choices::Algorithm;
use optiq_net::random::SplitMix64;
use optiq_transport::mpi::{check, ffi};
use std::time::Instant;

/// Calls until a session knows which way is faster.
const UNTIL_SETTLED: u64 = 200;
const REPETITIONS: usize = 7;
/// Calls of one way in a repetition.
const CALLS: u64 = 20;

/// The longest of a time over all ranks, in seconds.
fn longest(seconds: f64) -> Result<f64, String> {
    let mut longest = 0.0;
    // SAFETY: one number on both sides.
    let code = unsafe {
        let (from, into) = ((&raw const seconds).cast(), (&raw mut longest).cast());
        ffi::PMPI_Allreduce(from, into, 1, ffi::RSMPI_DOUBLE, ffi::RSMPI_MAX, ffi::RSMPI_COMM_WORLD)
    };
    check(code, "MPI_Allreduce").map_err(|e| e.to_string())?;
    Ok(longest)
}

/// Seconds of a call, of some in a row, on the slowest rank; the last one's bytes are checked.
fn timed(session: &Session, load: &mut Load, calls: u64, round: u64) -> Result<f64, String> {
    load.fill(round);
    load::barrier()?;
    let start = Instant::now();
    for _ in 0..calls {
        load.exchange(session)?;
    }
    let seconds = longest(start.elapsed().as_secs_f64())? / calls as f64;
    load.check(round)?;
    Ok(seconds)
}

fn median(mut seconds: Vec<f64>) -> f64 {
    seconds.sort_unstable_by(f64::total_cmp);
    seconds[seconds.len() / 2]
}

/// Messages of each of these sizes (`8,64,1024`) between all pairs of ranks, or one pair in `one_in`.
pub fn run(sizes: &str, one_in: &str) -> Result<(), String> {
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("{text}: a number is expected"));
    let one_in = number(one_in)?;
    let configured = load::session()?;
    let config = Config { algorithm: Algorithm::Mpi, ..Config::read().usable().map_err(|e| e.to_string())? };
    // SAFETY: MPI is initialised, and the session is dropped before it is finalised.
    let plain = unsafe { Session::new(ffi::RSMPI_COMM_WORLD, config) }.map_err(|e| e.to_string())?;
    for bytes in sizes.split(',') {
        let bytes = number(bytes)? as usize;
        let pair = |from: u32, to: u32| {
            let mut random = SplitMix64::new(u64::from(from) << 32 | u64::from(to));
            if random.below(one_in) == 0 { bytes } else { 0 }
        };
        let mut load = Load::new(rank(), size(), pair);
        timed(&plain, &mut load, CALLS, 0)?;
        timed(&configured, &mut load, UNTIL_SETTLED, 1)?;
        let (mut mpi, mut optiq, mut combined) = (Vec::new(), Vec::new(), 0);
        for repetition in 0..REPETITIONS {
            let round = 2 + repetition as u64;
            let mut sides = [(&plain, &mut mpi), (&configured, &mut optiq)];
            if repetition % 2 == 1 {
                sides.swap(0, 1);
            }
            for (session, seconds) in sides {
                seconds.push(timed(session, &mut load, CALLS, round)?);
            }
            combined += usize::from(matches!(configured.decision(), Decision::Combined { .. }));
        }
        let (mpi, optiq) = (median(mpi), median(optiq));
        if rank() == 0 {
            let ratio = mpi / optiq;
            println!(
                "{bytes} bytes, one pair in {one_in}: MPI {mpi:.3e} s, OPTIQ {optiq:.3e} s, {ratio:.2} times as fast, combined in {combined} of \
                 {REPETITIONS} repetitions: {}",
                configured.decision()
            );
        }
    }
    Ok(())
}

/// Of 4 ranks on two hosts, rank 0 sends more to rank 2 than that expects, once: an error on the host that sees it, and nowhere else; later
/// calls are right.
pub fn disagreeing() -> Result<(), String> {
    let session = load::session()?;
    let me = rank();
    let mut right = Load::new(me, size(), |_, _| 8);
    timed(&session, &mut right, 20, 0)?;
    if !matches!(session.decision(), Decision::Combined { .. }) {
        return Err(format!("combined messages are expected, and not {}", session.decision()));
    }
    let mut wrong = Load::new(me, size(), |from, to| if me == 0 && (from, to) == (0, 2) { 16 } else { 8 });
    wrong.fill(1);
    match (wrong.exchange(&session), me >= 2) {
        (Ok(()), false) => wrong.check(1)?,
        (Err(error), true) if error.contains("40 bytes from ranks 0, 1") && error.contains("32 that were expected") => {
        }
        (result, _) => return Err(format!("{result:?} at rank {me}")),
    }
    timed(&session, &mut right, 5, 2).map(drop)
}

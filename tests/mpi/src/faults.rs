//! Exchanges in which something goes wrong; `tests/faults.rs` sees to what goes wrong outside the program.
//!
//! ```text
//! fault shift 4000000 rounds=3        # three exchanges of 4 MB per pair, every byte checked
//! fault few 4000000 die=2             # rank 2 is killed in the midst of the first
//! fault few 4000000 exit=2            # rank 2 ends in the midst of the first, without MPI_Finalize
//! fault uniform 400000 late=1:2.0     # rank 1 calls 2 s after the others
//! fault uniform 400000 stop=1:2.0     # rank 1 stands still for 2 s in the midst of the first
//! ```
//!
//! Every rank prints one line about its memory: how far the resident size went above what it was when the buffers and
//! MPI's connections were there.

use crate::load::{self, Load};
use crate::support::{rank, size};
use std::ffi::c_int;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

/// How long an exchange has been under way when a rank dies or stops.
const MIDST: f64 = 0.3;

unsafe extern "C" {
    /// _exit(2): no destructors, no `MPI_Finalize`.
    fn _exit(status: c_int) -> !;
}

#[derive(Clone, Copy, Debug)]
enum Pattern {
    /// Everybody to everybody else.
    Uniform,
    /// Everybody to the rank half the world further on, less one.
    Shift,
    /// The first quarter of the ranks to the second half.
    Few,
    /// Everybody to the rank in the middle.
    Into,
}

impl Pattern {
    fn sends(self, from: u32, to: u32, ranks: u32) -> bool {
        match self {
            Pattern::Uniform => from != to,
            Pattern::Shift => to == (from + (ranks / 2).max(2) - 1) % ranks,
            Pattern::Few => from < ranks.div_ceil(4) && to >= ranks / 2,
            Pattern::Into => from != to && to == ranks / 2,
        }
    }
}

/// What goes wrong, and at which rank.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Die(u32),
    Exit(u32),
    Late(u32, f64),
    Stop(u32, f64),
}

struct Task {
    pattern: Pattern,
    bytes: usize,
    rounds: u64,
    fault: Option<Fault>,
}

fn parse(words: &[&str]) -> Option<Task> {
    let [pattern, bytes, options @ ..] = words else { return None };
    let pattern = match *pattern {
        "uniform" => Pattern::Uniform,
        "shift" => Pattern::Shift,
        "few" => Pattern::Few,
        "into" => Pattern::Into,
        _ => return None,
    };
    let mut task = Task { pattern, bytes: bytes.parse().ok()?, rounds: 1, fault: None };
    for option in options {
        let (key, value) = option.split_once('=')?;
        let timed = || {
            let (rank, seconds) = value.split_once(':')?;
            Some((rank.parse().ok()?, seconds.parse().ok()?))
        };
        match key {
            "rounds" => task.rounds = value.parse().ok()?,
            "die" => task.fault = Some(Fault::Die(value.parse().ok()?)),
            "exit" => task.fault = Some(Fault::Exit(value.parse().ok()?)),
            "late" => task.fault = timed().map(|(rank, seconds)| Fault::Late(rank, seconds)),
            "stop" => task.fault = timed().map(|(rank, seconds)| Fault::Stop(rank, seconds)),
            _ => return None,
        }
    }
    Some(task)
}

/// Starts what will happen to this process, should anything.
fn arm(fault: Option<Fault>) -> Result<(), String> {
    let me = rank();
    let pid = std::process::id();
    // Signals that a process cannot ignore, from another one.
    let shell = |script: String| {
        let command = Command::new("sh").args(["-c", &script]).stdin(Stdio::null()).spawn();
        command.map(drop).map_err(|e| format!("sh: {e}"))
    };
    match fault {
        Some(Fault::Die(rank)) if rank == me => shell(format!("sleep {MIDST}; kill -KILL {pid}"))?,
        Some(Fault::Exit(rank)) if rank == me => {
            thread::spawn(|| {
                thread::sleep(Duration::from_secs_f64(MIDST));
                // SAFETY: ends the process, which is the point.
                unsafe { _exit(3) }
            });
        }
        Some(Fault::Late(rank, seconds)) if rank == me => thread::sleep(Duration::from_secs_f64(seconds)),
        Some(Fault::Stop(rank, seconds)) if rank == me => {
            shell(format!("sleep {MIDST}; kill -STOP {pid}; sleep {seconds}; kill -CONT {pid}"))?;
        }
        _ => {}
    }
    Ok(())
}

/// The exchanges.
pub fn run(words: &[&str]) -> Result<(), String> {
    let task =
        parse(words).ok_or_else(|| format!("fault PATTERN BYTES [OPTION=VALUE...] is expected, not {words:?}"))?;
    let (me, ranks) = (rank(), size());
    let session = load::session()?;
    let bytes = |from, to| if task.pattern.sends(from, to, ranks) { task.bytes } else { 0 };
    let mut load = Load::new(me, ranks, bytes);
    load::connect(ranks)?;
    load.fill(0);
    load::barrier()?;
    load::forget_peak()?;
    let before = load::resident()?;
    let mut peak_slot_bytes = 0;
    for round in 0..task.rounds {
        load.fill(round);
        load::barrier()?;
        let began = Instant::now();
        arm(if round == 0 { task.fault } else { None })?;
        load.exchange(&session)?;
        // Until the last rank has what it needs.
        load::barrier()?;
        let seconds = began.elapsed().as_secs_f64();
        load.check(round)?;
        peak_slot_bytes = peak_slot_bytes.max(session.execution().peak_slot_bytes);
        if me == 0 {
            println!("round {round}: {seconds:.3} s, served by {}", session.decision());
        }
    }
    let grown = load::resident()?.peak.saturating_sub(before.now);
    println!(
        "memory of rank {me}: {} sent, {} before, grown by {grown}, {peak_slot_bytes} in slots",
        load.sent(),
        before.now
    );
    Ok(())
}

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

fn number(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("{text}: a number is expected"))
}

/// A session that leaves everything to MPI.
fn plain_session() -> Result<Session, String> {
    let config = Config { algorithm: Algorithm::Mpi, ..Config::read().usable().map_err(|e| e.to_string())? };
    // SAFETY: MPI is initialised, and the session is dropped before it is finalised.
    unsafe { Session::new(ffi::RSMPI_COMM_WORLD, config) }.map_err(|e| e.to_string())
}

/// Exchanges that are planned once, and started and waited for again and again, with messages of each of these sizes between all pairs of
/// ranks.
pub fn started(sizes: &str) -> Result<(), String> {
    let (configured, plain) = (load::session()?, plain_session()?);
    for bytes in sizes.split(',') {
        let bytes = number(bytes)? as usize;
        let mut load = Load::new(rank(), size(), |_, _| bytes);
        let (mut mpi, mut optiq, mut decision) = (Vec::new(), Vec::new(), String::new());
        // The first repetition opens connections.
        for round in 0..=REPETITIONS as u64 {
            let mut sides = [(&plain, &mut mpi), (&configured, &mut optiq)];
            if round % 2 == 1 {
                sides.swap(0, 1);
            }
            for (session, seconds) in sides {
                load.fill(round);
                let mut exchange = load.init(session)?;
                load::barrier()?;
                let start = Instant::now();
                for _ in 0..CALLS {
                    exchange.start().and_then(|()| exchange.wait()).map_err(|e| e.to_string())?;
                }
                let took = longest(start.elapsed().as_secs_f64())? / CALLS as f64;
                if round > 0 {
                    seconds.push(took);
                }
                if std::ptr::eq(session, &configured) {
                    decision = exchange.decision().to_string();
                }
                drop(exchange);
                load.check(round)?;
            }
        }
        let (mpi, optiq) = (median(mpi), median(optiq));
        if rank() == 0 {
            let ratio = mpi / optiq;
            println!(
                "{bytes} bytes, started: MPI {mpi:.3e} s, OPTIQ {optiq:.3e} s, {ratio:.2} times as fast: {decision}"
            );
        }
    }
    Ok(())
}

/// Messages of each of these sizes (`8,64,1024`) between all pairs of ranks, or one pair in `one_in`.
pub fn run(sizes: &str, one_in: &str) -> Result<(), String> {
    let one_in = number(one_in)?;
    let (configured, plain) = (load::session()?, plain_session()?);
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

/// Calls of each pattern of [`sparse`], and how often they come.
const SPARSE_CALLS: u64 = 40;

/// Messages of a few sizes between some ranks of hosts with these numbers of ranks (`3,1,2`), by number: one pattern for many calls after the
/// other, then one after the other. Every byte of every call is checked. Prints what served the last call of each pattern.
pub fn sparse(hosts: &str) -> Result<(), String> {
    let sizes = hosts.split(',').map(number).collect::<Result<Vec<_>, _>>()?;
    let host_of: Vec<usize> = sizes.iter().enumerate().flat_map(|(host, &n)| vec![host; n as usize]).collect();
    let host = |rank: u32| host_of[rank as usize];
    let hosts = sizes.len();
    let size = |from: u32, to: u32| (1 + 7 * from as usize + 13 * to as usize) % 600;
    let loads = |pattern: &dyn Fn(u32, u32) -> bool| {
        Load::new(self::rank(), self::size(), |from, to| if pattern(from, to) { size(from, to) } else { 0 })
    };
    let mut patterns: Vec<(&str, Load)> = vec![
        ("one pair of hosts", loads(&|from, to| host(from) == 0 && host(to) == 1)),
        ("nothing", loads(&|_, _| false)),
        ("a ring of hosts", loads(&|from, to| (host(from) + 1) % hosts == host(to))),
        ("within hosts", loads(&|from, to| host(from) == host(to))),
        ("one pair of ranks", loads(&|from, to| from + 1 == self::size() && to == 0)),
        ("some pairs of ranks", loads(&|from, to| (from * 7 + to * 5) % 4 == 0)),
        ("all", loads(&|_, _| true)),
        ("to themselves", loads(&|from, to| from == to)),
        // Larger than what is combined.
        (
            "one large message",
            Load::new(self::rank(), self::size(), |from, to| if (from, to) == (1, 3) { 9000 } else { 0 }),
        ),
    ];
    let session = load::session()?;
    let mut round = 0;
    let mut call = |load: &mut Load, name: &str| {
        round += 1;
        load.fill(round);
        load.exchange(&session)?;
        load.check(round).map_err(|e| format!("{name}: {e}"))
    };
    for (name, load) in &mut patterns {
        (0..SPARSE_CALLS).try_for_each(|_| call(load, name))?;
        if self::rank() == 0 {
            println!("{name}: {}", session.decision());
        }
    }
    (0..SPARSE_CALLS).try_for_each(|_| patterns.iter_mut().try_for_each(|(name, load)| call(load, name)))
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

//! Exchanges that are started, and when ranks agree: bytes are right whatever the order, and handles are checked.

use crate::blocks::{Blocks, free, start, test, wait};
use crate::support::{expect, init, last_message, rank, size, succeeds, text, world};
use optiq::c_api::{
    optiq_alltoallv_free, optiq_alltoallv_init, optiq_alltoallv_start, optiq_alltoallv_test, optiq_alltoallv_wait,
    optiq_finalize, optiq_last_decision,
};
use optiq::{Status, c_api::optiq_strerror};
use optiq_transport::mpi::{check, ffi, in_place};
use std::ffi::{c_int, c_void};
use std::ptr::null_mut;

/// Two persistent exchanges active at a time, waited for in either order, with blocking calls between.
pub fn many_rounds() -> Result<(), String> {
    init()?;
    let (mut large, mut small, mut blocking) = (Blocks::new(40_000), Blocks::new(100), Blocks::new(3000));
    let (mut first, mut second) = (large.init()?, small.init()?);
    if rank() == 0 {
        println!("persistent exchange served by {}", text(optiq_last_decision()));
    }
    for round in 0..30 {
        large.fill(round);
        small.fill(round);
        start(&mut first)?;
        start(&mut second)?;
        if round % 3 == 0 {
            blocking.fill(round);
            succeeds("a blocking call", blocking.block())?;
            blocking.arrived(round)?;
        }
        if round % 2 == 0 {
            wait(&mut second)?;
            while !test(&mut first)? {}
        } else {
            while !test(&mut first)? {}
            wait(&mut second)?;
        }
        large.arrived(round)?;
        small.arrived(round)?;
        if !test(&mut first)? {
            return Err("an inactive exchange is not complete".into());
        }
    }
    for request in [&mut first, &mut second] {
        // SAFETY: a valid pointer.
        succeeds("optiq_alltoallv_free", unsafe { optiq_alltoallv_free(request) })?;
    }
    succeeds("optiq_finalize", optiq_finalize())
}

/// A started exchange whose messages are forwarded, and calls so small that plain MPI serves them without an agreement. Odd ranks wait for the exchange
/// before the next small call, and the others after it: they have to forward in it.
pub fn crossing() -> Result<(), String> {
    init()?;
    let one = |from, to| if (from, to) == (0, size() / 2) { 2_000_000 } else { 0 };
    let (mut large, mut small) = (Blocks::with(one), Blocks::new(1));
    let mut request = large.init()?;
    println!("crossing exchange served by {}", text(optiq_last_decision()));
    for round in 0..60 {
        large.fill(round);
        small.fill(round);
        let waits_later = rank().is_multiple_of(2);
        start(&mut request)?;
        if !waits_later {
            wait(&mut request)?;
        }
        succeeds("a small call", small.block())?;
        small.arrived(round)?;
        if waits_later {
            wait(&mut request)?;
        }
        large.arrived(round)?;
    }
    free(&mut request)?;
    succeeds("optiq_finalize", optiq_finalize())
}

/// Two started exchanges, on communicators of their own, in which messages are forwarded. Even ranks wait for the first one first, odd ranks for the
/// second one, by testing in every other round.
pub fn two_communicators() -> Result<(), String> {
    init()?;
    let one = |from, to| if (from, to) == (0, size() / 2) { 2_000_000 } else { 0 };
    let other = |from, to| if (from, to) == (1, (1 + size() / 2) % size()) { 2_000_000 } else { 0 };
    let (mut first, mut second) = (Blocks::with(one), Blocks::with(other));
    // SAFETY: an out-parameter; the communicator is freed below.
    check(unsafe { ffi::PMPI_Comm_dup(world(), &mut second.comm) }, "MPI_Comm_dup").map_err(|e| e.to_string())?;
    let mut requests = [first.init()?, second.init()?];
    println!("second exchange served by {}", text(optiq_last_decision()));
    for round in 0..20 {
        first.fill(round);
        second.fill(round);
        requests.iter_mut().try_for_each(start)?;
        let order = if rank().is_multiple_of(2) { [0, 1] } else { [1, 0] };
        for i in order {
            if round % 2 == 0 {
                wait(&mut requests[i])?;
            } else {
                while !test(&mut requests[i])? {}
            }
        }
        first.arrived(round)?;
        second.arrived(round)?;
    }
    requests.iter_mut().try_for_each(free)?;
    // SAFETY: as above.
    check(unsafe { ffi::PMPI_Comm_free(&mut second.comm) }, "MPI_Comm_free").map_err(|e| e.to_string())?;
    succeeds("optiq_finalize", optiq_finalize())
}

/// Handles that are wrong, and calls at the wrong time.
pub fn handles() -> Result<(), String> {
    init()?;
    let mut blocks = Blocks::new(20_000);
    blocks.fill(1);
    let mut request = blocks.init()?;
    start(&mut request)?;
    // SAFETY: valid pointers in all of these, or NULL, which must be refused.
    unsafe {
        // One rank alone may err: nothing of it reaches the others.
        if rank() == 1 {
            let twice = optiq_alltoallv_start(&mut request);
            expect("started twice", twice, Status::Argument, "was started before")?;
            let early = optiq_alltoallv_free(&mut request);
            expect("freed while active", early, Status::Argument, "is active")?;
        }
        wait(&mut request)?;
        blocks.arrived(1)?;
        let mut copy = request;
        succeeds("optiq_alltoallv_free", optiq_alltoallv_free(&mut request))?;
        expect("a freed request", optiq_alltoallv_start(&mut copy), Status::Argument, "freed or never made")?;
        expect("request 0", optiq_alltoallv_wait(&mut request), Status::Argument, "the handle is 0")?;
        expect("no request", optiq_alltoallv_wait(null_mut()), Status::Argument, "is NULL")?;
        let nowhere = optiq_alltoallv_test(&mut copy, null_mut());
        expect("a freed request without a flag", nowhere, Status::Argument, "freed or never made")?;
    }
    // In place: plain MPI serves it, and every start sends what is in the buffer then.
    let n = size() as usize;
    let (counts, displacements): (Vec<c_int>, Vec<c_int>) = (vec![8; n], (0..n as c_int).map(|i| 8 * i).collect());
    let mut buffer = vec![rank() as u8 + 1; 8 * n];
    let mut request = 0;
    // SAFETY: arrays of as many elements as there are ranks.
    let status = unsafe {
        let (nothing, byte): (*const c_int, _) = (std::ptr::null(), ffi::RSMPI_UINT8_T);
        let (counts, at) = (counts.as_ptr(), displacements.as_ptr());
        let buffer: *mut c_void = buffer.as_mut_ptr().cast();
        let here = in_place();
        optiq_alltoallv_init(here, nothing, nothing, byte, buffer, counts, at, byte, world(), &mut request)
    };
    succeeds("in place", status)?;
    start(&mut request)?;
    wait(&mut request)?;
    if buffer.chunks(8).zip(1..).any(|(block, from)| block.iter().any(|&b| b != from)) {
        return Err(format!("wrong bytes in place: {buffer:?}; {}", last_message()));
    }
    // Forgotten on purpose: optiq_finalize cleans up.
    assert!(!optiq_strerror(0).is_null());
    succeeds("optiq_finalize", optiq_finalize())
}

/// Demand sets in turn, of which most ranks know nothing but their own blocks, which are the same in several: as many
/// plans are made as are asked for.
pub fn in_turn(plans: &str) -> Result<(), String> {
    let expected: u64 = plans.parse().map_err(|_| format!("{plans} is no number of plans"))?;
    let last = size() - 1;
    // One message in each of two: all ranks but its ends have nothing. Then the other way around, and twice as long.
    let messages = [(0, 1, 5000), (1, last, 5000), (1, 0, 5000), (0, 1, 10_000)];
    let bytes = |round: usize, pair| {
        let (source, destination, bytes) = messages[round % messages.len()];
        if pair == (source, destination) { bytes } else { 0 }
    };
    match planned_calls(12, bytes)? {
        made if made == expected => Ok(()),
        made => Err(format!("{made} plans were made instead of {expected}")),
    }
}

/// Two messages, a little longer each time, one of them twice as long from the seventh call on.
pub fn nearly_the_same() -> Result<(), String> {
    let bytes = |round: usize, pair: (u32, u32)| {
        let longer = 4 * round as c_int;
        match pair {
            (0, 3) => 200_000 + longer,
            (1, 4) if round < 6 => 200_000 + longer,
            (1, 4) => 400_000 + longer,
            _ => 0,
        }
    };
    planned_calls(9, bytes).map(drop)
}

/// Calls of a session that planned paths must serve, of so many `bytes` in each call for each pair of ranks; how many plans were made.
fn planned_calls(calls: usize, bytes: impl Fn(usize, (u32, u32)) -> c_int) -> Result<u64, String> {
    let config = optiq::Config::read().usable().map_err(|e| e.to_string())?;
    // SAFETY: MPI is initialised; the session is dropped before it is finalised.
    let session = unsafe { optiq::Session::new(world(), config) }.map_err(|e| e.to_string())?;
    for round in 0..calls {
        let mut blocks = Blocks::with(|from, to| bytes(round, (from, to)));
        blocks.fill(round);
        let wide = |list: &[c_int]| list.iter().map(|&x| x as usize).collect::<Vec<_>>();
        let [counts, displacements] = [&blocks.counts, &blocks.displacements].map(|list| wide(list));
        let [expected, places] = [&blocks.receive_counts, &blocks.receive_displacements].map(|list| wide(list));
        session
            .alltoallv(&blocks.send, &counts, &displacements, &mut blocks.receive, &expected, &places)
            .map_err(|e| e.to_string())?;
        if !matches!(session.decision(), optiq::Decision::Multipath { .. }) {
            return Err(format!("served by {}", session.decision()));
        }
        blocks.arrived(round)?;
    }
    Ok(session.plans_made())
}

/// Small calls, then large ones, then both in turn: the decisions differ, the bytes are always right.
pub fn forecasts() -> Result<(), String> {
    init()?;
    // One message halfway around a ring: it gains most from a second way.
    let one = |from, to| if (from, to) == (0, size() / 2) { 2_000_000 } else { 0 };
    let (mut small, mut large) = (Blocks::new(1), Blocks::with(one));
    let mut planned = [0; 3];
    let mut call = |blocks: &mut Blocks, round: usize, phase: usize| {
        blocks.fill(round);
        succeeds("a call", blocks.block())?;
        planned[phase] += usize::from(text(optiq_last_decision()).contains("paths by planner"));
        blocks.arrived(round)
    };
    for round in 0..300 {
        call(&mut small, round, 0)?;
    }
    // More than can go by before ranks agree again.
    for round in 0..400 {
        call(&mut large, round, 1)?;
    }
    for round in 0..100 {
        call(if round % 4 == 0 { &mut large } else { &mut small }, round, 2)?;
    }
    if rank() == 0 {
        println!("of 300 small, 400 large, 25 large among 75 small calls {planned:?} were planned");
    }
    succeeds("optiq_finalize", optiq_finalize())
}

/// With `OPTIQ_CHECK=1`, counts that disagree are named in calls of any size.
pub fn checked() -> Result<(), String> {
    init()?;
    let last = size() - 1;
    for round in 0..40 {
        let mut blocks = Blocks::new(4);
        blocks.fill(round);
        let wrong = round % 10 == 7;
        if wrong && rank() == last {
            blocks.receive_counts[0] -= 1;
        }
        let status = blocks.block();
        if wrong {
            let sentence = if rank() == last { "bytes from rank 0, which sends" } else { "expects other byte counts" };
            expect("counts that disagree", status, Status::Counts, sentence)?;
        } else {
            succeeds("a checked call", status)?;
            blocks.arrived(round)?;
        }
    }
    succeeds("optiq_finalize", optiq_finalize())
}

/// Rank 0 forwards while it waits in a call of plain MPI that the others enter only when they have their bytes. Without a
/// thread, this would never end.
pub fn thread() -> Result<(), String> {
    init()?;
    // On a ring of two by two, one way from 1 to 2 or back leads through 0.
    let mut blocks = Blocks::with(|from, to| if from + to == 3 && from * to == 2 { 3_000_000 } else { 0 });
    let mut request = blocks.init()?;
    for round in 0..3 {
        blocks.fill(round);
        start(&mut request)?;
        if rank() != 0 {
            wait(&mut request)?;
        }
        // SAFETY: MPI is initialised.
        check(unsafe { ffi::PMPI_Barrier(world()) }, "MPI_Barrier").map_err(|e| e.to_string())?;
        wait(&mut request)?;
        blocks.arrived(round)?;
    }
    // SAFETY: a valid pointer.
    succeeds("optiq_alltoallv_free", unsafe { optiq_alltoallv_free(&mut request) })?;
    succeeds("optiq_finalize", optiq_finalize())
}

//! Wrong arguments, wrong order of calls, lifetimes: the right status on every rank, and nothing hangs.

use crate::support::{alltoallv, expect, init, last_message, rank, size, succeeds, text, world};
use optiq::Status;
use optiq::c_api::{optiq_alltoallv, optiq_finalize, optiq_init, optiq_last_decision, optiq_strerror, optiq_version};
use optiq_transport::mpi::{check, ffi};
use std::ffi::c_int;
use std::ptr::{null, null_mut};

/// Bytes to all ranks, with what a test wants to spoil.
struct Bytes {
    send: Vec<u8>,
    counts: Vec<c_int>,
    displacements: Vec<c_int>,
    receive: Vec<u8>,
    receive_counts: Vec<c_int>,
}

impl Bytes {
    fn new(each: usize) -> Self {
        let n = size() as usize;
        let counts = vec![each as c_int; n];
        let displacements = (0..n).map(|i| (i * each) as c_int).collect();
        let (send, receive) = (vec![rank() as u8 + 1; n * each], vec![0xaa; n * each]);
        Self { send, counts: counts.clone(), displacements, receive, receive_counts: counts }
    }

    fn call(&mut self, comm: ffi::MPI_Comm) -> c_int {
        let Self { send, counts, displacements, receive, receive_counts } = self;
        alltoallv((send, counts, displacements), (receive, receive_counts, displacements), comm)
    }

    fn untouched(&self) -> Result<(), String> {
        if self.receive.iter().all(|&b| b == 0xaa) { Ok(()) } else { Err("data was moved after an error".into()) }
    }

    fn arrived(&self) -> Result<(), String> {
        let each = self.receive.len() / size() as usize;
        let right = self.receive.chunks(each).zip(1..).all(|(block, r)| block.iter().all(|&b| b == r));
        if right { Ok(()) } else { Err("wrong bytes".into()) }
    }
}

pub fn arguments() -> Result<(), String> {
    init()?;
    let (me, last) = (rank(), size() - 1);

    // A negative count on one rank.
    let mut call = Bytes::new(1000);
    if me == 1 {
        call.counts[0] = -5;
    }
    let status = call.call(world());
    let sentence = if me == 1 { "the send count for rank 0 is -5" } else { "rank 1 passed an invalid argument" };
    expect("a negative count", status, Status::Argument, sentence)?;
    call.untouched()?;

    // Counts that disagree: rank 0 sends less to the last rank than that expects.
    let mut call = Bytes::new(1000);
    if me == 0 {
        call.counts[last as usize] = 400;
    }
    let status = call.call(world());
    let sentence = if me == last {
        format!("rank {last} expects 1000 bytes from rank 0, which sends 400")
    } else {
        format!("rank {last} expects other byte counts")
    };
    expect("counts that disagree", status, Status::Counts, &sentence)?;
    call.untouched()?;

    // The same after the right counts are in the cache: the cache must not hide it.
    let mut call = Bytes::new(1000);
    succeeds("right counts", call.call(world()))?;
    call.arrived()?;
    let mut call = Bytes::new(1000);
    if me == last {
        call.receive_counts[0] = 999;
    }
    let status = call.call(world());
    expect("counts that disagree with a cached plan", status, Status::Counts, "no data was moved")?;
    call.untouched()?;

    null_arguments()?;

    // After all this the session still works.
    let mut call = Bytes::new(5000);
    succeeds("after errors", call.call(world()))?;
    call.arrived()?;
    let decision = text(optiq_last_decision());
    if !decision.contains("paths by planner") {
        return Err(format!("the last call was served otherwise: {decision}"));
    }
    // SAFETY: a constant.
    let null = unsafe { ffi::RSMPI_COMM_NULL };
    expect("MPI_COMM_NULL", call.call(null), Status::Argument, "MPI_COMM_NULL")?;
    succeeds("optiq_finalize", optiq_finalize())
}

/// NULL arrays and NULL buffers are refused.
fn null_arguments() -> Result<(), String> {
    // SAFETY: to be refused before anything is read.
    let status = unsafe {
        optiq_alltoallv(
            null(),
            null(),
            null(),
            ffi::RSMPI_UINT8_T,
            null_mut(),
            null(),
            null(),
            ffi::RSMPI_UINT8_T,
            world(),
        )
    };
    expect("NULL arrays", status, Status::Argument, "the array of receive counts is NULL")?;
    let call = Bytes::new(10);
    // SAFETY: to be refused before anything is read.
    let status = unsafe {
        optiq_alltoallv(
            null(),
            call.counts.as_ptr(),
            call.displacements.as_ptr(),
            ffi::RSMPI_UINT8_T,
            null_mut(),
            call.counts.as_ptr(),
            call.displacements.as_ptr(),
            ffi::RSMPI_UINT8_T,
            world(),
        )
    };
    expect("NULL buffers", status, Status::Argument, "buffer is NULL, but")
}

/// Without a topology there is no agreement: a wrong argument ends the job, as it does in MPI.
pub fn plain() -> Result<(), String> {
    init()?;
    let mut call = Bytes::new(1000);
    if rank() == 1 {
        call.counts[0] = -5;
    }
    call.call(world());
    Err("the job should have ended".into())
}

pub fn before_and_after() -> Result<(), String> {
    let mut call = Bytes::new(10);
    expect("before init", call.call(world()), Status::NotInitialized, "optiq_alltoallv was called before")?;
    expect("finalize before init", optiq_finalize(), Status::NotInitialized, "optiq_finalize")?;
    init()?;
    // SAFETY: NULL is allowed.
    expect("init twice", unsafe { optiq_init(null_mut(), null_mut()) }, Status::Argument, "twice")?;
    succeeds("a call", call.call(world()))?;
    call.arrived()?;
    succeeds("optiq_finalize", optiq_finalize())?;
    expect("after finalize", call.call(world()), Status::NotInitialized, "after optiq_finalize")?;
    // And once more from the start.
    init()?;
    let mut call = Bytes::new(10);
    succeeds("a call after a second init", call.call(world()))?;
    call.arrived()?;
    succeeds("optiq_finalize", optiq_finalize())?;

    for status in Status::ALL {
        if text(optiq_strerror(status as c_int)) != status.describe() {
            return Err(format!("optiq_strerror({status:?}) is wrong"));
        }
    }
    if text(optiq_strerror(-1)) != "unknown status code" || optiq_version() != optiq::VERSION {
        return Err("optiq_strerror(-1) or optiq_version is wrong".into());
    }
    Ok(())
}

pub fn lifetimes() -> Result<(), String> {
    init()?;
    for round in 0..20 {
        // SAFETY: MPI is up; the duplicate is freed below.
        let mut comm = unsafe {
            let mut comm = ffi::RSMPI_COMM_NULL;
            check(ffi::PMPI_Comm_dup(world(), &mut comm), "MPI_Comm_dup").map_err(|e| e.to_string())?;
            comm
        };
        let mut call = Bytes::new(100 + round);
        succeeds("on a duplicate", call.call(comm))?;
        call.arrived()?;
        if round % 2 == 0 {
            let mut call = Bytes::new(50);
            succeeds("on the world", call.call(world()))?;
            call.arrived()?;
        }
        // SAFETY: made above.
        check(unsafe { ffi::PMPI_Comm_free(&mut comm) }, "MPI_Comm_free").map_err(|e| e.to_string())?;
    }
    // More demand sets than the cache holds.
    for each in 1..40 {
        let mut call = Bytes::new(each * 10);
        succeeds("many demand sets", call.call(world()))?;
        call.arrived()?;
    }
    // optiq_finalize is left out on purpose: MPI_Finalize must clean up and not hang.
    Ok(())
}

pub fn strict() -> Result<(), String> {
    // SAFETY: NULL is allowed.
    let mut status = unsafe { optiq_init(null_mut(), null_mut()) };
    if status == Status::Success as c_int {
        status = Bytes::new(10).call(world());
    }
    println!("{}", last_message());
    expect("a wrong configuration with OPTIQ_STRICT=1", status, Status::Config, "")
}

//! Buffers of an exchange of bytes, and the calls that start and complete it.

use crate::support::{alltoallv, rank, size, succeeds, world};
use optiq::c_api::{
    Request, optiq_alltoallv_free, optiq_alltoallv_init, optiq_alltoallv_init_class, optiq_alltoallv_start,
    optiq_alltoallv_test, optiq_alltoallv_wait, optiq_ialltoallv, optiq_ialltoallv_class,
};
use optiq_transport::mpi::ffi;
use std::ffi::c_int;

fn unsigned_byte() -> ffi::MPI_Datatype {
    // SAFETY: a constant.
    unsafe { ffi::RSMPI_UINT8_T }
}

/// `each` bytes, and a few more for higher ranks, from every rank to every rank.
pub struct Blocks {
    pub send: Vec<u8>,
    pub counts: Vec<c_int>,
    pub displacements: Vec<c_int>,
    pub receive: Vec<u8>,
    pub receive_counts: Vec<c_int>,
    pub receive_displacements: Vec<c_int>,
    /// Where exchanges are planned; `MPI_COMM_WORLD` at first.
    pub comm: ffi::MPI_Comm,
}

/// What rank `from` sends in round `round`.
fn value(from: u32, round: usize) -> u8 {
    (from as usize * 37 + round * 11 + 1) as u8
}

impl Blocks {
    /// About as many bytes for each pair.
    pub fn new(each: usize) -> Self {
        Self::with(|from, to| (each + (from as usize * 3 + to as usize) % 5) as c_int)
    }

    /// As many bytes from one rank to another as `count` says.
    pub fn with(count: impl Fn(u32, u32) -> c_int) -> Self {
        let n = size();
        let counts: Vec<c_int> = (0..n).map(|to| count(rank(), to)).collect();
        let receive_counts: Vec<c_int> = (0..n).map(|from| count(from, rank())).collect();
        let lay_out = |counts: &[c_int]| {
            let displacements = counts.iter().scan(0, |at, c| {
                *at += c;
                Some(*at - c)
            });
            (displacements.collect::<Vec<_>>(), counts.iter().sum::<c_int>() as usize)
        };
        let (displacements, sent) = lay_out(&counts);
        let (receive_displacements, received) = lay_out(&receive_counts);
        let (send, receive) = (vec![0; sent + 1], vec![0; received + 1]);
        Self { send, counts, displacements, receive, receive_counts, receive_displacements, comm: world() }
    }

    /// What is sent in a round.
    pub fn fill(&mut self, round: usize) {
        self.send.fill(value(rank(), round));
        self.receive.fill(0);
    }

    /// Whether it has arrived.
    pub fn arrived(&self, round: usize) -> Result<(), String> {
        for (from, (&count, &at)) in self.receive_counts.iter().zip(&self.receive_displacements).enumerate() {
            let block = &self.receive[at as usize..(at + count) as usize];
            if block.iter().any(|&b| b != value(from as u32, round)) {
                return Err(format!("wrong bytes from rank {from} in round {round}"));
            }
        }
        Ok(())
    }

    /// `optiq_alltoallv_init`.
    pub fn init(&mut self) -> Result<Request, String> {
        self.init_class(0)
    }

    /// `optiq_alltoallv_init_class`, or the form without one for class 0.
    pub fn init_class(&mut self, class: c_int) -> Result<Request, String> {
        let mut request = 0;
        succeeds("optiq_alltoallv_init_class", self.planned(class, false, &mut request))?;
        Ok(request)
    }

    /// The status of planning an exchange of a class, and of starting it if `starts`.
    pub fn planned(&mut self, class: c_int, starts: bool, request: &mut Request) -> c_int {
        let (byte, comm) = (unsigned_byte(), self.comm);
        let (send, counts, at) = (self.send.as_ptr().cast(), self.counts.as_ptr(), self.displacements.as_ptr());
        let receive = self.receive.as_mut_ptr().cast();
        let (expected, into) = (self.receive_counts.as_ptr(), self.receive_displacements.as_ptr());
        // SAFETY: arrays of as many elements as there are ranks, buffers that fit them and stay where they are.
        unsafe {
            match (class, starts) {
                (0, false) => {
                    optiq_alltoallv_init(send, counts, at, byte, receive, expected, into, byte, comm, request)
                }
                (0, true) => optiq_ialltoallv(send, counts, at, byte, receive, expected, into, byte, comm, request),
                (_, false) => optiq_alltoallv_init_class(
                    send, counts, at, byte, receive, expected, into, byte, class, comm, request,
                ),
                (_, true) => {
                    optiq_ialltoallv_class(send, counts, at, byte, receive, expected, into, byte, class, comm, request)
                }
            }
        }
    }

    /// The status of `optiq_alltoallv`.
    pub fn block(&mut self) -> c_int {
        let Self { send, counts, displacements, receive, receive_counts, receive_displacements, .. } = self;
        alltoallv((send, counts, displacements), (receive, receive_counts, receive_displacements), world())
    }
}

/// `optiq_alltoallv_start`.
pub fn start(request: &mut Request) -> Result<(), String> {
    // SAFETY: a valid pointer; the buffers live as long as the request.
    succeeds("optiq_alltoallv_start", unsafe { optiq_alltoallv_start(request) })
}

/// `optiq_alltoallv_wait`.
pub fn wait(request: &mut Request) -> Result<(), String> {
    // SAFETY: a valid pointer.
    succeeds("optiq_alltoallv_wait", unsafe { optiq_alltoallv_wait(request) })
}

/// `optiq_alltoallv_test`.
pub fn test(request: &mut Request) -> Result<bool, String> {
    let mut flag = 0;
    // SAFETY: valid pointers.
    succeeds("optiq_alltoallv_test", unsafe { optiq_alltoallv_test(request, &mut flag) })?;
    Ok(flag != 0)
}

/// `optiq_alltoallv_free`.
pub fn free(request: &mut Request) -> Result<(), String> {
    // SAFETY: a valid pointer.
    succeeds("optiq_alltoallv_free", unsafe { optiq_alltoallv_free(request) })
}

//! An exchange of bytes through a session, every byte of it checked, and what it costs in memory.

use optiq::{Config, Persistent, Session};
use optiq_transport::mpi::{check, ffi};
use std::fs;

/// A session on the world, configured by the environment. An option that cannot be used is an error here: a test that
/// measures something else than it says must not pass.
pub fn session() -> Result<Session, String> {
    let config = Config::read().usable().map_err(|error| error.to_string())?;
    // SAFETY: MPI is initialised, and callers drop the session before it is finalised.
    unsafe { Session::new(ffi::RSMPI_COMM_WORLD, config) }.map_err(|e| e.to_string())
}

/// Send and receive buffers of one rank, blocks packed in the order of the ranks.
pub struct Load {
    rank: u32,
    send: Vec<u8>,
    receive: Vec<u8>,
    send_counts: Vec<usize>,
    send_offsets: Vec<usize>,
    receive_counts: Vec<usize>,
    receive_offsets: Vec<usize>,
}

/// The offsets of packed blocks, and their sum.
fn offsets(counts: &[usize]) -> (Vec<usize>, usize) {
    let mut end = 0;
    let offsets = counts.iter().map(|count| {
        end += count;
        end - count
    });
    (offsets.collect(), end)
}

/// What byte `at` of the message between two ranks is in one round. Neighbouring bytes, blocks, ranks and rounds differ.
fn byte(from: u32, to: u32, round: u64, at: usize) -> u8 {
    let start = u64::from(from).wrapping_mul(101).wrapping_add(u64::from(to) * 31).wrapping_add(round.wrapping_mul(57));
    // The second term keeps chunks of a power of two apart.
    start.wrapping_add(at as u64 * 7).wrapping_add((at as u64 >> 8) * 13) as u8
}

impl Load {
    /// Buffers for an exchange in which `from` sends `bytes(from, to)` to `to`.
    pub fn new(rank: u32, ranks: u32, bytes: impl Fn(u32, u32) -> usize) -> Self {
        let send_counts: Vec<usize> = (0..ranks).map(|to| bytes(rank, to)).collect();
        let receive_counts: Vec<usize> = (0..ranks).map(|from| bytes(from, rank)).collect();
        let (send_offsets, sent) = offsets(&send_counts);
        let (receive_offsets, received) = offsets(&receive_counts);
        // Ones and not zeros: memory that was never written would not be resident.
        let (send, receive) = (vec![1; sent], vec![1; received]);
        Load { rank, send, receive, send_counts, send_offsets, receive_counts, receive_offsets }
    }

    /// Bytes that this rank sends to others.
    pub fn sent(&self) -> usize {
        self.send.len() - self.send_counts[self.rank as usize]
    }

    /// Writes what is to be sent in a round, and something else where it is to arrive.
    pub fn fill(&mut self, round: u64) {
        for (to, (&offset, &count)) in (0..).zip(self.send_offsets.iter().zip(&self.send_counts)) {
            for (at, b) in self.send[offset..offset + count].iter_mut().enumerate() {
                *b = byte(self.rank, to, round, at);
            }
        }
        for (from, (&offset, &count)) in (0..).zip(self.receive_offsets.iter().zip(&self.receive_counts)) {
            for (at, b) in self.receive[offset..offset + count].iter_mut().enumerate() {
                *b = !byte(from, self.rank, round, at);
            }
        }
    }

    /// Moves the bytes.
    pub fn exchange(&mut self, session: &Session) -> Result<(), String> {
        session
            .alltoallv(
                &self.send,
                &self.send_counts,
                &self.send_offsets,
                &mut self.receive,
                &self.receive_counts,
                &self.receive_offsets,
            )
            .map_err(|e| e.to_string())
    }

    /// Plans the exchange for being started many times.
    pub fn init<'a>(&'a mut self, session: &'a Session) -> Result<Persistent<'a, u8>, String> {
        session
            .alltoallv_init(
                &mut self.send,
                &self.send_counts,
                &self.send_offsets,
                &mut self.receive,
                &self.receive_counts,
                &self.receive_offsets,
            )
            .map_err(|e| e.to_string())
    }

    /// Requires that every byte of the round is there.
    pub fn check(&self, round: u64) -> Result<(), String> {
        for (from, (&offset, &count)) in (0..).zip(self.receive_offsets.iter().zip(&self.receive_counts)) {
            let block = &self.receive[offset..offset + count];
            let wrong = block.iter().enumerate().find(|&(at, &b)| b != byte(from, self.rank, round, at));
            if let Some((at, found)) = wrong {
                let expected = byte(from, self.rank, round, at);
                return Err(format!(
                    "round {round}: byte {at} of {count} from rank {from} is {found} and should be {expected}"
                ));
            }
        }
        Ok(())
    }
}

/// Has every rank talk to every other one, so that MPI's connections are there.
pub fn connect(ranks: u32) -> Result<(), String> {
    let (send, mut receive) = (vec![1u8; ranks as usize], vec![0u8; ranks as usize]);
    // SAFETY: one byte for each rank on both sides.
    let code = unsafe {
        ffi::PMPI_Alltoall(
            send.as_ptr().cast(),
            1,
            ffi::RSMPI_UINT8_T,
            receive.as_mut_ptr().cast(),
            1,
            ffi::RSMPI_UINT8_T,
            ffi::RSMPI_COMM_WORLD,
        )
    };
    check(code, "MPI_Alltoall").map_err(|e| e.to_string())
}

/// Waits for all ranks.
pub fn barrier() -> Result<(), String> {
    // SAFETY: MPI is initialised.
    check(unsafe { ffi::PMPI_Barrier(ffi::RSMPI_COMM_WORLD) }, "MPI_Barrier").map_err(|e| e.to_string())
}

/// This process's resident memory.
pub struct Resident {
    /// Bytes at present.
    pub now: u64,
    /// The most bytes since the process began or [`forget_peak`].
    pub peak: u64,
}

/// What the kernel says of this process's memory.
pub fn resident() -> Result<Resident, String> {
    let path = "/proc/self/status";
    let text = fs::read_to_string(path).map_err(|e| format!("{path}: {e}"))?;
    let field = |name: &str| {
        let line = text.lines().find_map(|l| l.strip_prefix(name));
        let kib = line.and_then(|l| l.split_whitespace().next()?.parse::<u64>().ok());
        kib.map(|k| k << 10).ok_or_else(|| format!("{path} does not say {name}"))
    };
    Ok(Resident { now: field("VmRSS:")?, peak: field("VmHWM:")? })
}

/// Lets [`Resident::peak`] begin again at the present size.
pub fn forget_peak() -> Result<(), String> {
    let path = "/proc/self/clear_refs";
    fs::write(path, "5").map_err(|e| format!("{path}: {e}"))
}

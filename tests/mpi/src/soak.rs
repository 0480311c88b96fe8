//! Many calls with random counts, sparse and dense, empty to large, and memory that must not grow.

use crate::load::{self, Load};
use crate::support::{rank, size};
use optiq_net::random::SplitMix64;
use optiq_transport::mpi::{check, ffi};

/// What one call is made of; the same on all ranks.
#[derive(Clone, Copy, Debug)]
struct Shape {
    seed: u64,
    /// One pair of ranks in so many has a message.
    one_in: u64,
    /// Sizes are below two to this power.
    largest: u32,
}

/// Demand sets that come again while their plans may still be kept.
const RECENT: u64 = 6;

fn shape(call: u64, seed: u64) -> Shape {
    let mut random = SplitMix64::new(seed ^ call.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    // One call in four has the counts of a recent one.
    if call > RECENT && random.below(4) == 0 {
        return shape(call - 1 - random.below(RECENT), seed);
    }
    let one_in = [1, 1, 2, 4, 16, 1000][random.below(6) as usize];
    // A few large ones: up to 4 MiB a message, 256 KiB and less otherwise.
    let largest = if random.below(50) == 0 { 22 } else { 3 + random.below(16) as u32 };
    Shape { seed: random.next_u64(), one_in, largest }
}

impl Shape {
    /// Bytes from one rank to another, itself included: any number of digits is as likely as any other.
    fn bytes(self, from: u32, to: u32) -> usize {
        let mut random = SplitMix64::new(self.seed ^ u64::from(from) << 32 ^ u64::from(to));
        if random.below(self.one_in) != 0 {
            return 0;
        }
        let bits = random.below(u64::from(self.largest) + 1);
        random.below(1 << bits) as usize
    }
}

/// The most of a value over all ranks.
fn most(value: u64) -> Result<u64, String> {
    let mut most = 0u64;
    // SAFETY: one number on both sides.
    let code = unsafe {
        ffi::PMPI_Allreduce(
            (&raw const value).cast(),
            (&raw mut most).cast(),
            1,
            ffi::RSMPI_UINT64_T,
            ffi::RSMPI_MAX,
            ffi::RSMPI_COMM_WORLD,
        )
    };
    check(code, "MPI_Allreduce").map_err(|e| e.to_string())?;
    Ok(most)
}

/// `soak CALLS SEED`: rank 0 says at the start and each quarter how large the largest rank is.
pub fn run(calls: &str, seed: &str) -> Result<(), String> {
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("\"{text}\" is not a number"));
    let (calls, seed) = (number(calls)?, number(seed)?);
    let (me, ranks) = (rank(), size());
    let session = load::session()?;
    let (mut bytes, mut planned) = (0u64, 0u64);
    for call in 0..calls {
        let shape = shape(call, seed);
        let mut load = Load::new(me, ranks, |from, to| shape.bytes(from, to));
        load.fill(call);
        let context = |e: String| format!("call {call} of shape {shape:?}: {e}");
        load.exchange(&session).map_err(context)?;
        load.check(call).map_err(context)?;
        bytes += load.sent() as u64;
        planned += u64::from(session.decision().to_string().contains("paths by planner"));
        if (call + 1).is_multiple_of((calls / 4).max(1)) || call == 0 {
            let largest = most(load::resident()?.now)?;
            if me == 0 {
                println!("after {} calls: resident {largest} bytes at most", call + 1);
            }
        }
    }
    let bytes = most(bytes)?;
    if me == 0 {
        println!("{calls} calls, {planned} of them over planned paths, up to {bytes} bytes sent by a rank");
    }
    Ok(())
}

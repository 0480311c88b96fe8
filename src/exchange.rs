//! Exchanges that check every byte, for any transport.

use optiq_net::random::SplitMix64;
use optiq_transport::{
    ExecuteOptions, Execution, Memory, Path, PathId, Rank, Schedule, ScheduleOptions, Transport, execute,
};

/// What byte `offset` of `source`'s send buffer is in exchange number `round`.
pub fn byte_of(source: Rank, offset: u64, round: u64) -> u8 {
    let mixed = u64::from(source.0).wrapping_mul(131).wrapping_add(offset.wrapping_mul(7)).wrapping_add(round * 17);
    // Below 251, so that the background below is none of them.
    (mixed % 251) as u8
}

/// What bytes outside of all blocks are before and after.
const BACKGROUND: u8 = 0xfe;

/// Carries this rank's part of `paths` out and checks each byte of the receive buffer, those between the paths too.
///
/// # Errors
/// What the transport reports, or the first byte that is wrong.
pub fn run<T: Transport + ?Sized>(
    transport: &mut T,
    rank: Rank,
    ranks: u32,
    paths: &[Path],
    options: &ScheduleOptions,
    how: &ExecuteOptions,
    round: u64,
) -> Result<Execution, String> {
    let schedule = Schedule::new(rank, ranks, paths, options).map_err(|e| e.to_string())?;
    if schedule.slot_bytes() > options.budget {
        return Err(format!("the schedule takes {} bytes, more than its budget", schedule.slot_bytes()));
    }
    let send: Vec<u8> = (0..schedule.send_bytes()).map(|i| byte_of(rank, i, round)).collect();
    let mut receive = vec![BACKGROUND; schedule.receive_bytes() as usize + 16];
    let memory = Memory::new(&send, &mut receive);
    let execution = execute(transport, &schedule, how, &memory).map_err(|e| e.to_string())?;
    let mut expected = vec![BACKGROUND; receive.len()];
    for path in paths.iter().filter(|p| p.destination() == rank) {
        for i in 0..path.bytes {
            expected[(path.destination_offset + i) as usize] = byte_of(path.source(), path.source_offset + i, round);
        }
    }
    match receive.iter().zip(&expected).position(|(a, b)| a != b) {
        None => Ok(execution),
        Some(at) => Err(format!(
            "round {round}: byte {at} of rank {rank}'s receive buffer is {} instead of {}",
            receive[at], expected[at]
        )),
    }
}

/// Random paths of up to four legs over `ranks` ranks (at least 2), the same for the same seed, with receive
/// offsets that do not overlap and gaps between them.
pub fn random_paths(ranks: u32, count: usize, largest: u64, seed: u64) -> Vec<Path> {
    let mut random = SplitMix64::new(seed);
    let mut end = vec![0u64; ranks as usize];
    let path = |id: usize| {
        let length = 2 + random.below(4).min(u64::from(ranks) - 2) as usize;
        let mut chain: Vec<Rank> = Vec::with_capacity(length);
        while chain.len() < length {
            let rank = Rank(random.below(u64::from(ranks)) as u32);
            if !chain.contains(&rank) {
                chain.push(rank);
            }
        }
        let bytes = 1 + random.below(largest);
        let last = &mut end[chain[length - 1].index()];
        let destination_offset = *last + random.below(40);
        *last = destination_offset + bytes;
        Path {
            id: PathId(id as u32),
            ranks: chain,
            bytes,
            source_offset: random.below(100),
            destination_offset,
            starts_at: None,
            class: 0,
        }
    };
    (0..count).map(path).collect()
}

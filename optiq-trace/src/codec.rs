//! State as bytes, for checkpoints of simulations and for postcards: bincode 2, standard configuration, with a limit on what lengths can claim.
//!
//! A scheduler saves its state in them, and the simulator all else; collections of postcards are files of them. Plans have records
//! and limits of their own (optiq-solver).

use bincode::{Decode, Encode};

/// The bytes of a value. State is numbers and lists of numbers, which can always be encoded.
pub fn encode<T: Encode>(thing: &T) -> Vec<u8> {
    bincode::encode_to_vec(thing, bincode::config::standard()).unwrap_or_default()
}

/// So many times the length of what is decoded may be its size in memory: a number of 16 bytes, with as much around it, can be
/// one byte.
const EXPANSION: usize = 64;

/// What [`encode`] has written, all of it. A length inside of it can claim at most 64 times the memory that `bytes` take,
/// rounded up to the next of four limits: bincode reserves what a length claims before it reads on, so a damaged one would otherwise
/// ask for any amount.
///
/// # Errors
/// The rest of a sentence: bytes that are no `T`, too many bytes, or a length that claims too much memory.
pub fn decode<T: Decode<()>>(bytes: &[u8]) -> Result<T, String> {
    // bincode's limits are constants; the smallest of these that suffices.
    let (thing, read) = match bytes.len().saturating_mul(EXPANSION) {
        0..=0x10_0000 => limited::<T, 0x10_0000>(bytes),
        0x10_0001..=0x400_0000 => limited::<T, 0x400_0000>(bytes),
        0x400_0001..=0x1_0000_0000 => limited::<T, 0x1_0000_0000>(bytes),
        _ => limited::<T, 0x40_0000_0000>(bytes),
    }?;
    if read == bytes.len() { Ok(thing) } else { Err(format!("{} bytes too many", bytes.len() - read)) }
}

fn limited<T: Decode<()>, const BYTES: usize>(bytes: &[u8]) -> Result<(T, usize), String> {
    bincode::decode_from_slice(bytes, bincode::config::standard().with_limit::<BYTES>()).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_claim_no_more_memory_than_the_bytes_can_stand_for() {
        let numbers: Vec<u128> = vec![0; 10_000];
        assert_eq!(decode::<Vec<u128>>(&encode(&numbers)), Ok(numbers));
        // A list of 2^32 numbers that has none: found by fuzzing, as a request for 64 GiB.
        let claimed = encode(&(1u64 << 32));
        assert!(decode::<Vec<u128>>(&claimed).unwrap_err().contains("LimitExceeded"));
        assert_eq!(decode::<u8>(&[1, 2]), Err("1 bytes too many".into()));
    }
}

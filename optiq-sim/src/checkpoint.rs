//! Checkpoints: the state of a simulation between two events, as bytes, from which it resumes to the same results.
//!
//! | offset | bytes | |
//! | ---: | ---: | --- |
//! | 0 | 8 | `OPTIQSIM` |
//! | 8 | 4 | version of this format, little endian |
//! | 12 | 16 | fingerprint of network, model, routing, seed, layout, workload and what is recorded |
//! | 28 | 16 | fingerprint of what follows |
//! | 44 | | the shards ([`Saved`]), each as `crate::shard::state::Shard` has written it; bincode 2, standard configuration |
//!
//! What follows from the network, the model and the workload is not in it: a simulation that resumes has them. It has as many
//! shards as the simulation had threads, and so has the simulation that resumes; results are the same with any number.

use crate::engine::persistence::Persistence;
use crate::error::SimError;
use crate::time::Time;
use bincode::{Decode, Encode};
use optiq_files::input;
use optiq_net::fingerprint::{Fingerprint, Hasher};
use optiq_trace::codec;
use std::any::Any;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::time::Duration;

/// When checkpoints are made, and what becomes of them.
#[derive(Clone, Copy)]
pub struct Checkpoints<'a> {
    /// The wall-clock time between two of them; `None` to make one only where the simulation is ended early.
    pub every: Option<Duration>,
    /// Is given each checkpoint, complete; each one replaces the one before. An error, a sentence, ends the simulation.
    pub keep: &'a (dyn Fn(&[u8]) -> Result<(), String> + Sync),
}

const MAGIC: &[u8; 8] = b"OPTIQSIM";
const VERSION: u32 = 8;
const HEADER: usize = 44;
/// The largest file that is read, in bytes.
const MAX_FILE: u64 = 64 << 30;

/// What is behind the header.
#[derive(Decode, Encode)]
pub(crate) struct Saved {
    /// Simulated time.
    pub(crate) time: Time,
    pub(crate) shards: Vec<Vec<u8>>,
}

/// Makes checkpoints of one simulation, and hands them to the caller.
pub(crate) struct CheckpointWriter<'a> {
    pub(crate) checkpoints: Checkpoints<'a>,
    /// The fingerprint of the simulation.
    pub(crate) of: Fingerprint,
}

impl Persistence for CheckpointWriter<'_> {
    fn every(&self) -> Option<Duration> {
        self.checkpoints.every
    }

    fn keep(&self, time: Time, shards: Vec<Vec<u8>>) -> Result<(), SimError> {
        (self.checkpoints.keep)(&write(self.of, &Saved { time, shards })).map_err(SimError::Checkpoint)
    }
}

fn fingerprint(bytes: &[u8]) -> Fingerprint {
    let mut hasher = Hasher::new("optiq checkpoint");
    hasher.bytes(bytes);
    hasher.finish()
}

/// A checkpoint of a simulation with this fingerprint.
pub(crate) fn write(of: Fingerprint, saved: &Saved) -> Vec<u8> {
    let body = codec::encode(saved);
    let mut all = Vec::with_capacity(HEADER + body.len());
    all.extend_from_slice(MAGIC);
    all.extend_from_slice(&VERSION.to_le_bytes());
    all.extend_from_slice(&of.0.to_le_bytes());
    all.extend_from_slice(&fingerprint(&body).0.to_le_bytes());
    all.extend_from_slice(&body);
    all
}

/// The bytes of a checkpoint in a file, for [`crate::RunOptions::resume`]. Nothing behind the header is read before that is one of
/// this version.
///
/// # Errors
/// [`SimError::Checkpoint`], naming the file: one that cannot be read, holds something else or is larger than 64 GiB.
pub fn read_checkpoint(path: &Path) -> Result<Vec<u8>, SimError> {
    let name = input::name(path);
    let unread = |e: io::Error| SimError::Checkpoint(format!("cannot read {name}: {e}"));
    input::read_checked(path, HEADER, unread, |beginning, _| match header(beginning) {
        Ok(_) => Ok(MAX_FILE),
        Err(SimError::Checkpoint(text)) => Err(SimError::Checkpoint(format!("{name}: {text}"))),
        Err(other) => Err(other),
    })
}

/// The two fingerprints of a header: of the simulation, and of what follows.
fn header(bytes: &[u8]) -> Result<(u128, u128), SimError> {
    let wrong = |text: &str| Err(SimError::Checkpoint(text.into()));
    let word = |at: usize| -> Option<u128> { Some(u128::from_le_bytes(bytes.get(at..at + 16)?.try_into().ok()?)) };
    if !bytes.starts_with(MAGIC) {
        return wrong("found something else than a checkpoint; a file that begins with OPTIQSIM is expected");
    }
    let version = bytes.get(8..12).and_then(|b| Some(u32::from_le_bytes(b.try_into().ok()?)));
    let (Some(version), Some(of), Some(sum)) = (version, word(12), word(28)) else {
        return wrong("the checkpoint is damaged: it ends within its header");
    };
    if version != VERSION {
        return wrong(&format!("found a checkpoint of version {version}; version {VERSION} is expected"));
    }
    Ok((of, sum))
}

/// Reads a checkpoint of a simulation with this fingerprint.
pub(crate) fn read(of: Fingerprint, bytes: &[u8]) -> Result<Saved, SimError> {
    let wrong = |text: &str| Err(SimError::Checkpoint(text.into()));
    let (what, sum) = header(bytes)?;
    let body = &bytes[HEADER..];
    if fingerprint(body).0 != sum {
        let text = format!("the checkpoint is damaged: its {} bytes are not those that were written", bytes.len());
        return wrong(&text);
    }
    if what != of.0 {
        return wrong(
            "the checkpoint is of another simulation: network, model, routing, seed, layout, workload or what is recorded differ",
        );
    }
    codec::decode(body).map_err(|e| SimError::Checkpoint(format!("the checkpoint is damaged: {e}")))
}

/// Runs what resumes from a checkpoint. Its fingerprint fits, but that shows only that it was not damaged by accident: whoever
/// forges one can have numbers in it that refer to nothing. The simulator trusts its own state and checks it nowhere on its way, so
/// that it fails where it meets one, and that must not end the program.
///
/// # Errors
/// What `run` returns; [`SimError::Checkpoint`] if it panics.
pub(crate) fn contain<T>(run: impl FnOnce() -> Result<T, SimError>) -> Result<T, SimError> {
    catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
        let why = words(&*panic);
        let text =
            "the checkpoint is damaged, although its checksum fits: the simulation cannot go on from what it says";
        Err(SimError::Checkpoint(format!("{text} ({why})")))
    })
}

/// What a panic said, in one line: those of assertions have several.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().copied();
    let text = text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no reason is known");
    text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join(", ")
}

/// A checkpoint with these bytes behind its header, under a fingerprint that fits: for tests and fuzzing, which would otherwise
/// never get past the fingerprint.
#[doc(hidden)]
pub fn seal_checkpoint(bytes: &mut [u8]) {
    if let Some((header, body)) = bytes.split_at_mut_checked(HEADER) {
        header[28..].copy_from_slice(&fingerprint(body).0.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sample() -> Vec<u8> {
        write(Fingerprint(7), &Saved { time: Time::picoseconds(5), shards: vec![vec![1, 2, 3], vec![]] })
    }

    #[test]
    fn what_was_written_is_read() {
        let saved = read(Fingerprint(7), &sample()).unwrap();
        assert_eq!((saved.time, saved.shards), (Time::picoseconds(5), vec![vec![1, 2, 3], vec![]]));
        let other = read(Fingerprint(8), &sample()).err().unwrap().to_string();
        assert!(other.contains("of another simulation"), "{other}");
    }

    proptest! {
        /// Whatever is in a file, it is read or refused.
        #[test]
        fn anything_is_read_or_refused(bytes: Vec<u8>) {
            prop_assert!(read(Fingerprint(7), &bytes).is_err());
            let mut all = MAGIC.to_vec();
            all.extend(bytes);
            prop_assert!(read(Fingerprint(7), &all).is_err());
        }

        /// No damage goes unnoticed.
        #[test]
        fn damage_is_noticed(at in 0..sample().len(), bit in 0..8u8, cut in 0..sample().len()) {
            let mut damaged = sample();
            damaged[at] ^= 1 << bit;
            prop_assert!(read(Fingerprint(7), &damaged).is_err());
            prop_assert!(read(Fingerprint(7), &sample()[..cut]).is_err());
        }
    }
}

//! How a simulation runs.

use crate::checkpoint::Checkpoints;
use crate::engine::limits::Limits;
use crate::observers::postcards::PostcardOptions;
use crate::observers::series::Recording;
use crate::router::policy::Policy;
use crate::time::Time;
use optiq_net::fingerprint::Hasher;
use std::fmt;
use std::sync::atomic::AtomicBool;

/// How to run.
#[derive(Clone, Copy, Default)]
pub struct RunOptions<'a> {
    /// See [`Limits`].
    pub limits: Limits,
    /// Threads; the results are the same with any number.
    pub threads: usize,
    /// The seed of all random numbers.
    pub seed: u64,
    /// How packets are routed.
    pub routing: Policy,
    /// Becomes true when the simulation is to end.
    pub stop: Option<&'a AtomicBool>,
    /// Is told simulated time and events now and then.
    pub progress: Option<&'a (dyn Fn(Time, u64) + Sync)>,
    /// What of [`crate::Outcome::series`] is wanted. It takes time and memory.
    pub series: Recording,
    /// How postcards of marked packets are written, if they are wanted ([`crate::Outcome::postcards`]). It takes time and memory, and
    /// cannot be saved in a checkpoint.
    pub postcards: Option<PostcardOptions>,
    /// When checkpoints are made.
    pub checkpoints: Option<Checkpoints<'a>>,
    /// A checkpoint to resume from, of the same network, model, routing, seed, layout and workload. The number of threads is the
    /// checkpoint's.
    pub resume: Option<&'a [u8]>,
    /// The fingerprint of the programs in a checkpoint, so that no other simulation resumes from it.
    pub workload: u128,
}

impl RunOptions<'_> {
    /// The fingerprint of a workload, from all that its debug text says. 0 if there are no checkpoints.
    pub(crate) fn fingerprint_of(&self, workload: &dyn fmt::Debug) -> u128 {
        struct HashedText(Hasher);
        impl fmt::Write for HashedText {
            fn write_str(&mut self, text: &str) -> fmt::Result {
                self.0.bytes(text.as_bytes());
                Ok(())
            }
        }
        if self.checkpoints.is_none() && self.resume.is_none() {
            return 0;
        }
        let mut text = HashedText(Hasher::new("optiq workload 1"));
        // A hasher takes everything.
        let _ = fmt::Write::write_fmt(&mut text, format_args!("{workload:?}"));
        text.0.finish().0
    }
}

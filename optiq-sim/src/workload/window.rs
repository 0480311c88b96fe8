//! Measuring within a window of time.

use crate::nic::program::{Delivery, Host, Program};
use crate::time::Time;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What arrived of the messages of a time, after a warm-up and before the end. Sums of whole numbers: the same in whatever
/// order hosts add to them.
#[derive(Debug)]
pub struct Window {
    when: Range<Time>,
    messages: AtomicU64,
    /// In picoseconds.
    latency: AtomicU64,
    bytes: AtomicU64,
}

impl Window {
    /// From a time to another one.
    pub fn new(when: Range<Time>) -> Arc<Self> {
        let zero = || AtomicU64::new(0);
        Arc::new(Self { when, messages: zero(), latency: zero(), bytes: zero() })
    }

    /// A program whose messages that arrive are counted.
    pub fn watch(self: &Arc<Self>, program: impl Program + 'static) -> Box<dyn Program> {
        Box::new(Watched { program, window: Arc::clone(self) })
    }

    /// How many messages that were sent in this time have arrived, whenever that was.
    pub fn messages(&self) -> u64 {
        self.messages.load(Relaxed)
    }

    /// How long they took on average, from the order to send until they were received, in picoseconds; 0 of none.
    pub fn mean_latency(&self) -> f64 {
        self.latency.load(Relaxed) as f64 / self.messages().max(1) as f64
    }

    /// The bytes of all messages that were received in this time.
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Relaxed)
    }
}

struct Watched<P> {
    program: P,
    window: Arc<Window>,
}

impl<P: Program> Program for Watched<P> {
    fn start(&mut self, host: &mut Host<'_>) {
        self.program.start(host);
    }

    fn received(&mut self, host: &mut Host<'_>, delivery: Delivery) {
        let Window { when, messages, latency, bytes } = &*self.window;
        if when.contains(&delivery.sent) {
            messages.fetch_add(1, Relaxed);
            latency.fetch_add((host.now() - delivery.sent).as_picoseconds(), Relaxed);
        }
        if when.contains(&host.now()) {
            bytes.fetch_add(delivery.bytes, Relaxed);
        }
        self.program.received(host, delivery);
    }

    fn sent(&mut self, host: &mut Host<'_>, token: u64) {
        self.program.sent(host, token);
    }

    fn woken(&mut self, host: &mut Host<'_>, token: u64) {
        self.program.woken(host, token);
    }

    fn waits_for(&self) -> Option<String> {
        self.program.waits_for()
    }
}

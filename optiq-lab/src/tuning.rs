//! How the kernel is set up inside a lab.

use crate::constants::{
    BUFFER_LEAST, BUFFER_MOST, BUFFER_SECONDS, BURST, DEEP_QUEUE, KERNEL_MTU, KERNEL_QUEUE, LOSS, MTU, QUEUE_BUFFERS,
    SHALLOW_QUEUE, TRAIN_PART,
};
use crate::profile::Profile;
use crate::rate::Rate;
use serde::{Deserialize, Serialize};
use std::fs;

/// How much waits for a link before packets are dropped.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Queue {
    /// This many bytes, whatever the link's rate.
    Bytes(u32),
    /// What the link carries in this many seconds.
    Seconds(f64),
}

/// How the kernel is set up inside the lab.
///
/// That of [`Profile::Tuned`] is a fabric that, like those of supercomputers, loses no packets in ordinary use: windows
/// are bounded, and a queue holds the windows of many streams. Deep windows would buy nothing but delay, since the
/// links have next to none of their own; windows much smaller would leave links idle while the receiver waits for its
/// turn on a processor that it shares with all other ranks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuning {
    /// Largest packet on the fabric, in bytes.
    pub mtu: u32,
    /// Bytes that a link may send at once after a pause; the larger of this and 4 ms of the link's rate is taken.
    pub burst: u32,
    /// What waits for a link before packets are dropped, but at least two of the largest packets.
    pub queue: Queue,
    /// The most packets that TCP hands over in one piece, which queues take or drop as one; none for the kernel's own limit
    /// of 64 kB.
    pub train: Option<u32>,
    /// Settings of TCP: names below `/proc/sys/net/ipv4` and values. Those that the kernel does not have, or that only root
    /// may set, are left out.
    pub tcp: Vec<(String, String)>,
    /// The part of its packets that each link loses at random.
    pub loss: f64,
}

/// The settings of TCP that differ between machines, or between a machine and its new namespaces, and shape streams.
const MACHINE_TCP: [&str; 14] = [
    "tcp_congestion_control",
    "tcp_rmem",
    "tcp_wmem",
    "tcp_slow_start_after_idle",
    "tcp_no_metrics_save",
    "tcp_moderate_rcvbuf",
    "tcp_ecn",
    "tcp_sack",
    "tcp_timestamps",
    "tcp_window_scaling",
    "tcp_recovery",
    "tcp_limit_output_bytes",
    "tcp_notsent_lowat",
    "tcp_min_tso_segs",
];
/// Of these, how much a stream may have in flight.
const BUFFERS: [&str; 2] = ["tcp_rmem", "tcp_wmem"];

impl Tuning {
    /// The settings of a profile for a fabric whose slowest link has the given rate. [`Profile::Kernel`] and
    /// [`Profile::Deep`] read TCP's settings of the caller's network namespace.
    pub fn new(profile: Profile, slowest: Rate) -> Self {
        let tuned = Tuning::tuned(slowest);
        match profile {
            Profile::Tuned | Profile::SlowHost => tuned,
            Profile::Kernel => {
                Tuning { mtu: KERNEL_MTU, queue: Queue::Seconds(KERNEL_QUEUE), tcp: machine(&MACHINE_TCP), ..tuned }
                    .with_trains(slowest)
            }
            Profile::Shallow => Tuning { queue: Queue::Bytes(SHALLOW_QUEUE), ..tuned }.with_trains(slowest),
            Profile::Deep => {
                let mut tcp = tuned.tcp.clone();
                tcp.retain(|(name, _)| !BUFFERS.contains(&name.as_str()));
                tcp.extend(machine(&BUFFERS));
                Tuning { queue: Queue::Seconds(DEEP_QUEUE), tcp, ..tuned }.with_trains(slowest)
            }
            // What is lost at random is a packet.
            Profile::Lossy => Tuning { loss: LOSS, train: Some(1), ..tuned },
        }
    }

    /// Buffers of 20 ms, queues of 16 buffers.
    fn tuned(slowest: Rate) -> Self {
        let buffer = ((slowest.bytes() * BUFFER_SECONDS) as u32).clamp(BUFFER_LEAST, BUFFER_MOST);
        let buffers = format!("4096 {} {buffer}", buffer.min(128 << 10));
        let set = |name: &str, value: &str| (name.to_string(), value.to_string());
        Tuning {
            mtu: MTU,
            burst: BURST,
            queue: Queue::Bytes(QUEUE_BUFFERS * buffer),
            train: None,
            tcp: vec![
                // Reno is in every kernel and open to all users; where nothing is lost the choice matters little.
                set("tcp_congestion_control", "reno"),
                set("tcp_slow_start_after_idle", "0"),
                set("tcp_no_metrics_save", "1"),
                set("tcp_rmem", &buffers),
                set("tcp_wmem", &buffers),
            ],
            loss: 0.0,
        }
    }

    /// Trains of packets that are short against the queue: one that is longer than the queue would never pass.
    fn with_trains(self, slowest: Rate) -> Self {
        let train = self.queue_bytes(slowest) / u64::from(TRAIN_PART * self.mtu);
        Tuning { train: Some(u32::try_from(train).unwrap_or(u32::MAX).max(1)), ..self }
    }

    /// What waits for a link of a given rate before packets are dropped, in bytes.
    pub(crate) fn queue_bytes(&self, rate: Rate) -> u64 {
        let bytes = match self.queue {
            Queue::Bytes(bytes) => u64::from(bytes),
            Queue::Seconds(seconds) => (rate.bytes() * seconds).round() as u64,
        };
        bytes.max(2 * u64::from(self.mtu))
    }
}

/// These settings of TCP as the caller's network namespace has them; what it does not have is left out.
fn machine(names: &[&str]) -> Vec<(String, String)> {
    let read = |name: &&str| {
        let value = fs::read_to_string(format!("/proc/sys/net/ipv4/{name}")).ok()?;
        Some(((*name).to_string(), value.split_whitespace().collect::<Vec<_>>().join(" ")))
    };
    names.iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(profile: Profile, rate: &str) -> Tuning {
        Tuning::new(profile, rate.parse().unwrap())
    }

    /// A profile changes what its sentence says, and nothing else.
    #[test]
    fn profiles_change_one_thing() {
        let rate: Rate = "100Mbit/s".parse().unwrap();
        let tuned = of(Profile::Tuned, "100Mbit/s");
        assert_eq!((tuned.mtu, tuned.queue_bytes(rate), tuned.loss), (9000, 4_000_000, 0.0));
        assert_eq!(of(Profile::SlowHost, "100Mbit/s"), tuned);
        let shallow = of(Profile::Shallow, "100Mbit/s");
        assert_eq!(shallow, Tuning { queue: Queue::Bytes(32_000), train: Some(1), ..tuned.clone() });
        assert_eq!(of(Profile::Lossy, "100Mbit/s"), Tuning { loss: 0.001, train: Some(1), ..tuned.clone() });
        let deep = of(Profile::Deep, "100Mbit/s");
        assert_eq!((deep.mtu, deep.queue_bytes(rate), &deep.tcp[..3]), (9000, 1_250_000, &tuned.tcp[..3]));
        assert_eq!(deep.tcp[3..], machine(&BUFFERS)[..]);
        let kernel = of(Profile::Kernel, "100Mbit/s");
        assert_eq!((kernel.mtu, kernel.queue_bytes(rate), kernel.train), (1500, 225_000, Some(37)));
        assert_eq!(kernel.tcp, machine(&MACHINE_TCP));
    }

    /// A queue of a time follows the link's rate, and takes packets on the slowest links as well.
    #[test]
    fn queues_follow_rates() {
        let deep = of(Profile::Deep, "64kbit");
        assert_eq!(deep.queue_bytes("64kbit".parse().unwrap()), 18_000);
        assert_eq!(deep.queue_bytes("1Gbit/s".parse().unwrap()), 12_500_000);
        assert_eq!(deep.train, Some(1));
        assert_eq!(of(Profile::Shallow, "1Gbit/s").queue_bytes("1Gbit/s".parse().unwrap()), 32_000);
    }
}

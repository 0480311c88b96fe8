//! Switches whose packets wait at their outputs, by hand.
#![allow(clippy::unwrap_used, reason = "tests")]

use optiq_net::Network;
use optiq_sim::model::{Queues, Switching};
use optiq_sim::time::Time;
use optiq_sim::{Delivery, Host, Model, Notice, Program, RunOptions, simulate};
use std::sync::{Arc, Mutex};

/// Messages (at, to, bytes), and what has come: (from, bytes, sent, received), in nanoseconds.
struct Scripted {
    sends: Vec<(u64, u32, u64)>,
    seen: Arc<Mutex<Vec<(u32, u64, u64)>>>,
}

impl Program for Scripted {
    fn start(&mut self, host: &mut Host<'_>) {
        for (i, &(at, ..)) in self.sends.iter().enumerate() {
            host.wake_at(Time::picoseconds(at * 1000), i as u64);
        }
    }

    fn woken(&mut self, host: &mut Host<'_>, token: u64) {
        let (_, to, bytes) = self.sends[token as usize];
        host.send(to, bytes, token, Notice::None);
    }

    fn received(&mut self, host: &mut Host<'_>, delivery: Delivery) {
        let took = (host.now() - delivery.sent).as_picoseconds() / 1000;
        self.seen.lock().unwrap().push((host.number(), delivery.bytes, took));
    }
}

/// Hosts 0 to 4 at one switch, 5 to 9 at another, one link from each to a third, all of 1 ns a byte; packets of 1,000 bytes; no latencies
/// but of 1 ns a link. What each of `sends` (from, at, to, bytes) takes, in nanoseconds: (to, bytes, nanoseconds).
fn run(queues: Queues, buffer_bytes: u64, sends: &[(u32, u64, u32, u64)]) -> Vec<(u32, u64, u64)> {
    let network = Network::from_spec("fattree:5x2:1x1").unwrap();
    let mut model = Model::default();
    model.link.packet_bytes = 1000;
    model.link.terminal_latency_picoseconds = 1000;
    model.link.local_latency_picoseconds = 1000;
    model.router.delay_picoseconds = 0;
    model.router.buffer_bytes = buffer_bytes;
    model.router.switching = Switching::StoreAndForward;
    model.router.queues = queues;
    let seen = Arc::default();
    let program = |from: u32| {
        let sends = sends.iter().filter(|s| s.0 == from).map(|&(_, at, to, bytes)| (at, to, bytes)).collect();
        Box::new(Scripted { sends, seen: Arc::clone(&seen) }) as Box<dyn Program>
    };
    simulate(&network, &model, (0..10).map(program).collect(), &RunOptions::default()).unwrap();
    let mut seen = std::mem::take(&mut *seen.lock().unwrap());
    seen.sort_unstable();
    seen
}

/// Hosts 0 and 1 send five packets each across the link, which is busy with them until 11 us. At 6 us host 0 has sent all of its own
/// and sends a packet to host 4, which no other host does: two links of 1,001 ns. At the head of host 0's input wait packets
/// for the link, of which two leave each 2 us; the last one leaves before 10 us or 11 us.
#[test]
fn nobody_waits_behind_packets_for_another_output() {
    let sends = [(0, 0, 5, 5000), (1, 0, 6, 5000), (0, 6000, 4, 999)];
    let took = |queues| run(queues, 1 << 20, &sends).iter().find(|s| s.0 == 4).unwrap().2;
    assert_eq!(took(Queues::Outputs), 2 * (999 + 1));
    assert!(took(Queues::Inputs) >= 3000, "{}", took(Queues::Inputs));
}

/// Host 0 sends ten packets across the link, and host 1 nine a moment later. At 9.5 us nine of each are at the switch, and eight packets have
/// left it; then host 2 sends one. By the order in which packets came it has ten or eleven in front of it; inputs in turn serve it as one of three.
#[test]
fn a_lone_packet_waits_for_all_that_came_before() {
    let sends = [(0, 0, 5, 10_000), (1, 1, 6, 9000), (2, 9500, 7, 1000)];
    let took = |queues| run(queues, 1 << 20, &sends).iter().find(|s| s.0 == 7).unwrap().2;
    // It is at the switch at 10,501 ns, when 19 packets have come (the last one of host 0 at 10,001) and 9 have left; the tenth is on
    // the wire from 10,001 on. So it leaves when all 19 have, from 1,001 + 19 us on, and is at host 7 three links later.
    assert_eq!(took(Queues::Outputs), 20_001 + 3 * 1001 - 9500);
    assert!(took(Queues::Inputs) < 7000, "{}", took(Queues::Inputs));
}

/// An incast: hosts 1 to 4 send 20 packets each to host 0. The queue into host 0 has room for two packets, and so have the buffers
/// into the switch, so what is not there waits in hosts. Nothing is lost, and the link into host 0 is busy from the first packet on.
#[test]
fn a_full_output_holds_hosts_back() {
    let sends = [1, 2, 3, 4].map(|from| (from, 0, 0, 20_000));
    for buffer in [2000, 5000, 1 << 20] {
        let seen = run(Queues::Outputs, buffer, &sends);
        let last = seen.iter().map(|s| s.2).max();
        assert_eq!((seen.len(), last), (4, Some(1001 + 80 * 1000 + 1)), "{buffer}");
    }
}

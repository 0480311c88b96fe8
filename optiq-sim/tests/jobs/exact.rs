//! Times of messages between processes, by hand.

use super::MICROSECOND;
use super::programs::{Log, Script, Seen};
use optiq_net::Network;
use optiq_sim::time::Time;
use optiq_sim::{End, Layout, Model, Notice, Outcome, Process, Program, RunOptions, simulate_jobs};

/// Packets of 1000 bytes, a microsecond each; 10 ns to the switch and from it, 50 ns in it; 300 ns to send. So a packet that
/// leaves at `t` is there at `t` + 1070 ns.
fn model() -> Model {
    let mut model = Model::default();
    model.link.packet_bytes = 1000;
    model.link.header_bytes = 0;
    model.link.terminal_latency_picoseconds = 10_000;
    model.router.delay_picoseconds = 50_000;
    model.host.send_overhead_picoseconds = 300_000;
    model.host.receive_overhead_picoseconds = 0;
    model.host.copy_bytes_per_second = 1e9;
    model
}

/// Work in microseconds and messages of each process.
type Scripts<'a> = &'a [(u64, &'a [(u32, u64, Notice)])];

/// What processes on these hosts of a star see, in nanoseconds.
fn seen(hosts: &[u32], scripts: Scripts<'_>) -> (Vec<(u32, Seen, u64)>, Outcome) {
    let network = Network::from_spec("star:3").unwrap();
    let layout = Layout::new(hosts.iter().map(|&host| Process { host, job: 0 }).collect());
    let log = Log::default();
    let program = |&(work, messages): &(u64, &[_])| -> Box<dyn Program> {
        Box::new(Script { work: MICROSECOND * work, messages: messages.to_vec(), log: log.clone() })
    };
    let programs = scripts.iter().map(program).collect();
    let outcome = simulate_jobs(&network, &model(), &layout, programs, &RunOptions::default()).unwrap();
    let mut log = log.lock().unwrap().clone();
    log.sort_by_key(|entry| (entry.2, entry.0));
    (log, outcome)
}

const NONE: Notice = Notice::None;

/// Processes 0 and 1 are on host 0, 2 on host 1, 3 on host 2. Process 0 works for 5 us before it sends; process 1 does not
/// wait for that: 0.3 + 1.07 us.
#[test]
fn processes_have_processors_of_their_own() {
    let (log, outcome) = seen(&[0, 0, 1, 2], &[(5, &[(2, 1000, NONE)]), (0, &[(3, 1000, NONE)]), (0, &[]), (0, &[])]);
    assert_eq!(log, [(3, Seen::From(1), 1370), (2, Seen::From(0), 6370)]);
    assert_eq!((outcome.end, outcome.messages), (End::Finished, 2));
    assert_eq!(outcome.jobs[0].done, Some(Time::ZERO));
}

/// Both send at once, and meet at the channel: the second packet leaves 1 us later.
#[test]
fn processes_share_their_hosts_channel() {
    let (log, _) = seen(&[0, 0, 1, 2], &[(0, &[(2, 1000, NONE)]), (0, &[(3, 1000, NONE)]), (0, &[]), (0, &[])]);
    assert_eq!(log, [(2, Seen::From(0), 1370), (3, Seen::From(1), 2370)]);
}

/// Two packets each, all to host 1, leave in turn at 0.3, 1.3, 2.3 and 3.3 us: the messages are there with the third and with
/// the fourth. In one order for the host, the first would be there with the second, at 2.37. So also where both are for one
/// process; and the two messages of one process to another are in one order, whatever comes between them.
#[test]
fn pairs_of_processes_do_not_wait_behind_each_other() {
    let two = [(2, 2000, NONE)];
    let (log, _) = seen(&[0, 0, 1, 1], &[(0, &two), (0, &[(3, 2000, NONE)]), (0, &[]), (0, &[])]);
    assert_eq!(log, [(2, Seen::From(0), 3370), (3, Seen::From(1), 4370)]);
    let (log, _) = seen(&[0, 0, 1], &[(0, &two), (0, &two), (0, &[])]);
    assert_eq!(log, [(2, Seen::From(0), 3370), (2, Seen::From(1), 4370)]);
    // The second message is ready at 0.6 us, and goes behind the first one: the turns are 0, 1, 0, 1, 0, 0.
    let (log, _) = seen(&[0, 0, 1], &[(0, &[(2, 2000, NONE), (2, 2000, NONE)]), (0, &two), (0, &[])]);
    assert_eq!(log, [(2, Seen::From(0), 3370), (2, Seen::From(1), 4370), (2, Seen::From(0), 6370)]);
}

/// Between processes of a host a message is a copy: 0.3 us, and 2 us for 2000 bytes. A receiver that works has it afterwards;
/// its sender does not wait for that.
#[test]
fn messages_on_a_host_are_copies() {
    let sends: &[_] = &[(1, 2000, Notice::Received)];
    let (log, outcome) = seen(&[2, 2], &[(0, sends), (0, &[])]);
    assert_eq!(log, [(0, Seen::Over, 2300), (1, Seen::From(0), 2300)]);
    assert_eq!((outcome.messages, outcome.packets, outcome.link_bytes.iter().sum::<u64>()), (0, 0, 0));
    let (log, _) = seen(&[2, 2], &[(0, sends), (10, &[])]);
    assert_eq!(log, [(0, Seen::Over, 2300), (1, Seen::From(0), 10_000)]);
    // To itself, as ever.
    let (log, _) = seen(&[1], &[(0, &[(0, 1000, NONE)])]);
    assert_eq!(log, [(0, Seen::From(0), 1300)]);
}

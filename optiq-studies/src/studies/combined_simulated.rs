//! Small messages between the ranks of many nodes, simulated rank by rank: each by itself, as `MPI_Alltoallv` sends them all at once, and combined in
//! messages between nodes (`optiq_lower::combining`, decision 063).
//!
//! A rank has a core of its own, which is busy for each message that it sends or receives; the ranks of a node share its link. A combined exchange
//! is packed by all ranks into memory that they share, goes in rounds, and is unpacked from there. Rounds are simulated one after the
//! other, as if every node waited for the slowest one, so that a combined exchange takes no longer than is shown. What the two ways
//! take by the cost model, which decides in a session whether both are tried, stands beside it.

use crate::failure::Failure;
use crate::markdown::TextTable;
use optiq_lower::combining::{CombiningCosts, NodeTraffic, schedule};
use optiq_net::Network;
use optiq_sim::simulated_exchange::cost::cost_model;
use optiq_sim::time::Time;
use optiq_sim::{Delivery, Host, Layout, Model, Notice, Process, Program, RunOptions, simulate_jobs};
use optiq_transport::combining::CombiningSchedule;
use optiq_view::table::seconds;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

/// The machine: links, switches and routes of this model ...
const MODEL: &str = "fattree-12.5";
/// ... and what a core does for a message from this one, whose overhead is fitted on a published latency; the other has none.
const OVERHEADS: &str = "cab18";
/// 128 nodes on one switch: in a fabric of several, both ways would wait for each other's messages as well.
const TOPOLOGY: &str = "star:128,capacity=12.5GB/s";
/// Of each node: as many as issue 22 asks for.
const RANKS: u32 = 96;
/// From each rank to each other one.
const SIZES: [u64; 4] = [8, 64, 256, 1024];
/// Around a message, in bytes: InfiniBand's local route, transport and two checksums (8 + 12 + 4 + 2), and the match header of Open MPI's `ob1` (14).
const HEADER_BYTES: u64 = 40;
/// What a node copies in all, as on the page of adapters.
const MEMORY_BYTES_PER_SECOND: f64 = 100e9;
/// Of a rank, under way at a time: the link takes them one after the other.
const IN_FLIGHT: usize = 32;

/// What one size takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct CombinedCase {
    /// From each rank to each rank of another node.
    message_bytes: u64,
    flat: SimulatedWay,
    combined: SimulatedWay,
    /// Of the combined exchange.
    radix: u32,
    rounds: u32,
    /// What packing and unpacking take of the combined exchange.
    copy_seconds: f64,
    /// By the cost model, flat.
    predicted_flat_seconds: f64,
    /// The same combined.
    predicted_combined_seconds: f64,
}

/// What one way takes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
struct SimulatedWay {
    /// Until the last rank is done.
    seconds: f64,
    /// What a node's link needs for the bytes that leave the node, headers included.
    link_bound_seconds: f64,
    /// That a node sends.
    node_messages: u64,
}

/// What was simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CombinedSimulatedContent {
    topology: String,
    ranks_per_node: u32,
    cases: Vec<CombinedCase>,
}

/// Ranks of nodes, numbered node by node, on a simulated machine.
struct Machine {
    network: Network,
    model: Model,
    nodes: u32,
    ranks: u32,
}

/// A rank that sends what it has, some of it at a time, and waits for what it is to get.
struct Rank<S> {
    sends: S,
    unsent: usize,
    missing: u64,
    /// When the last rank was done, in picoseconds.
    done: Arc<AtomicU64>,
}

impl<S: Iterator<Item = (u32, u64)>> Rank<S> {
    fn send(&mut self, host: &mut Host<'_>) {
        if let Some((to, bytes)) = self.sends.next() {
            self.unsent += 1;
            host.send(to, bytes, 0, Notice::Left);
        }
    }

    fn look(&self, host: &Host<'_>) {
        if self.unsent == 0 && self.missing == 0 {
            self.done.fetch_max(host.now().as_picoseconds(), Ordering::Relaxed);
        }
    }
}

impl<S: Iterator<Item = (u32, u64)> + Send> Program for Rank<S> {
    fn start(&mut self, host: &mut Host<'_>) {
        (0..IN_FLIGHT).for_each(|_| self.send(host));
    }

    fn received(&mut self, host: &mut Host<'_>, _: Delivery) {
        self.missing -= 1;
        self.look(host);
    }

    fn sent(&mut self, host: &mut Host<'_>, _: u64) {
        self.unsent -= 1;
        self.send(host);
        self.look(host);
    }

    fn waits_for(&self) -> Option<String> {
        (self.missing > 0).then(|| format!("{} messages to arrive", self.missing))
    }
}

impl Machine {
    fn new(topology: &str, ranks: u32) -> Result<Self, Failure> {
        let mut model = Model::read(MODEL)?;
        let overheads = Model::read(OVERHEADS)?.host;
        model.host.send_overhead_picoseconds = overheads.send_overhead_picoseconds;
        model.host.receive_overhead_picoseconds = overheads.receive_overhead_picoseconds;
        let network = Network::from_spec(topology)?;
        let nodes = network.hosts() as u32;
        Ok(Self { network, model, nodes, ranks })
    }

    /// Until the last rank is done that sends and receives these messages, (rank, bytes); each rank gets as many as it sends.
    fn simulate<S>(&self, sends: impl Fn(u32) -> (S, u64)) -> Result<f64, Failure>
    where
        S: Iterator<Item = (u32, u64)> + Send + 'static,
    {
        let done = Arc::new(AtomicU64::new(0));
        let program = |rank| -> Box<dyn Program> {
            let (sends, missing) = sends(rank);
            Box::new(Rank { sends, unsent: 0, missing, done: Arc::clone(&done) })
        };
        let all = 0..self.nodes * self.ranks;
        let layout = Layout::new(all.clone().map(|rank| Process { host: rank / self.ranks, job: 0 }).collect());
        let options = RunOptions { threads: 1, seed: 1, ..RunOptions::default() };
        simulate_jobs(&self.network, &self.model, &layout, all.map(program).collect(), &options)?;
        Ok(Time::picoseconds(done.load(Ordering::Relaxed)).seconds())
    }

    /// Ranks of other nodes.
    fn others(&self) -> u64 {
        u64::from(self.nodes - 1) * u64::from(self.ranks)
    }

    /// What the ranks of a node have for other nodes.
    fn node_bytes(&self, message_bytes: u64) -> u64 {
        u64::from(self.ranks) * self.others() * message_bytes
    }

    /// What a node's link needs for this many bytes.
    fn link_seconds(&self, bytes: u64) -> f64 {
        bytes as f64 / self.network.unit_capacity()
    }

    /// Every rank sends to all ranks of other nodes, to the next one first, as Open MPI's linear algorithm does.
    fn flat(&self, message_bytes: u64) -> Result<SimulatedWay, Failure> {
        let (all, ranks, bytes) = (self.nodes * self.ranks, self.ranks, message_bytes + HEADER_BYTES);
        let seconds = self.simulate(|rank| {
            let to = (1..all).map(move |ahead| (rank + ahead) % all).filter(move |to| to / ranks != rank / ranks);
            (to.map(move |to| (to, bytes)), self.others())
        })?;
        let node_messages = u64::from(self.ranks) * self.others();
        Ok(SimulatedWay { seconds, link_bound_seconds: self.link_seconds(node_messages * bytes), node_messages })
    }

    /// Of a message between nodes, with sizes in front where it passes other nodes, and the header.
    fn node_message_bytes(&self, schedule: &CombiningSchedule, number: usize, message_bytes: u64) -> u64 {
        let blocks = schedule.messages[number].blocks.len() as u64;
        let sizes = if schedule.is_straight(number) { 0 } else { 4 * blocks };
        blocks * u64::from(self.ranks).pow(2) * message_bytes + sizes + HEADER_BYTES
    }

    /// The rounds of a combined exchange, one after the other, and its copies; with the time of the copies.
    fn combined(&self, schedule: &CombiningSchedule, message_bytes: u64) -> Result<(SimulatedWay, f64), Failure> {
        let (nodes, ranks) = (self.nodes, self.ranks);
        let bytes_of = |number| self.node_message_bytes(schedule, number, message_bytes);
        let mut network_seconds = 0.0;
        for round in 0..schedule.rounds() {
            network_seconds += self.simulate(|rank| {
                let (node, number) = (rank / ranks, (rank % ranks) as usize);
                let of_round = schedule.messages.iter().enumerate().filter(|(_, message)| message.round == round);
                let carried = of_round.filter(|(at, _)| schedule.carrier(*at, ranks as usize) == number);
                let to = |ahead: u32| (node + ahead) % nodes * ranks + number as u32;
                let sends: Vec<(u32, u64)> = carried.map(|(at, m)| (to(m.ahead), bytes_of(at))).collect();
                let expected = sends.len() as u64;
                (sends.into_iter(), expected)
            })?;
        }
        let own = self.node_bytes(message_bytes);
        // What passes other nodes is gathered and put apart again there.
        let carried = (0..schedule.messages.len()).filter(|&at| !schedule.is_straight(at)).map(bytes_of).sum::<u64>();
        let copy_seconds = 2.0 * (own + carried) as f64 / MEMORY_BYTES_PER_SECOND;
        let sent: u64 = (0..schedule.messages.len()).map(bytes_of).sum();
        let way = SimulatedWay {
            seconds: network_seconds + copy_seconds,
            link_bound_seconds: self.link_seconds(sent),
            node_messages: schedule.messages.len() as u64,
        };
        Ok((way, copy_seconds))
    }

    /// Both ways, the combined one with the radix that a session takes.
    fn case(&self, message_bytes: u64) -> Result<CombinedCase, Failure> {
        let model = cost_model(&self.model, &self.network, self.model.host.chunks_by);
        let costs = CombiningCosts::new(&model, self.network.unit_capacity());
        let bytes = self.node_bytes(message_bytes);
        let traffic = NodeTraffic { bytes, partners: self.nodes - 1 };
        let (radix, predicted_combined_seconds) =
            costs.best_radix(self.nodes, self.ranks, traffic).map_err(Failure::Work)?;
        let schedule = schedule(self.nodes, radix, self.ranks).map_err(Failure::Work)?;
        let (combined, copy_seconds) = self.combined(&schedule, message_bytes)?;
        Ok(CombinedCase {
            message_bytes,
            flat: self.flat(message_bytes)?,
            combined,
            radix,
            rounds: schedule.rounds(),
            copy_seconds,
            predicted_flat_seconds: costs.plain_seconds(self.others() as u32, bytes),
            predicted_combined_seconds,
        })
    }
}

/// Simulates all sizes side by side; each is 150 million messages.
///
/// # Errors
/// What the simulator reports.
pub fn run() -> Result<CombinedSimulatedContent, Failure> {
    let machine = Machine::new(TOPOLOGY, RANKS)?;
    let cases = thread::scope(|scope| {
        let machine = &machine;
        let running = SIZES.map(|bytes| scope.spawn(move || machine.case(bytes)));
        let ended = |case: thread::ScopedJoinHandle<'_, Result<CombinedCase, Failure>>| {
            case.join().unwrap_or_else(|_| Err(Failure::Work("a simulation ended by a panic".into())))
        };
        running.into_iter().map(ended).collect::<Result<_, _>>()
    })?;
    Ok(CombinedSimulatedContent { topology: TOPOLOGY.into(), ranks_per_node: RANKS, cases })
}

impl CombinedCase {
    fn gain(&self) -> f64 {
        self.flat.seconds / self.combined.seconds
    }

    fn row(&self) -> Vec<String> {
        let way = |way: &SimulatedWay| {
            vec![way.node_messages.to_string(), seconds(way.link_bound_seconds), seconds(way.seconds)]
        };
        let mut row = vec![self.message_bytes.to_string()];
        row.extend(way(&self.flat));
        row.extend(way(&self.combined));
        row.push(seconds(self.copy_seconds));
        row.push(format!("{}, {}", self.radix, self.rounds));
        row.push(format!("{:.2} x", self.gain()));
        row.push(format!("{:.2} x", self.predicted_flat_seconds / self.predicted_combined_seconds));
        row
    }
}

impl CombinedSimulatedContent {
    /// Of the page.
    pub const TITLE: &'static str =
        "Small messages between the ranks of 128 nodes, each by itself and combined, simulated";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let header = [
            "bytes",
            "messages of a node",
            "bound",
            "each by itself",
            "combined messages",
            "bound",
            "combined",
            "of it copies",
            "radix, rounds",
            "combined is faster",
            "by the cost model",
        ];
        let mut table = TextTable::new(&header);
        table.rows = self.cases.iter().map(CombinedCase::row).collect();
        format!(
            "`{}` with {} ranks on each node: every rank sends as many bytes to each rank of another node. Links and switches are those of the model \
             `{MODEL}`; a core is busy for each message as in `{OVERHEADS}`, whose overhead is fitted on a published latency; a message has \
             {HEADER_BYTES} bytes around it (InfiniBand and the match header of Open MPI's `ob1`). A node copies {:.0} GB/s in all, twice for each byte \
             that it sends, and twice more for one that passes it. Each by itself: all at once, to the next rank first, at most {IN_FLIGHT} of a rank \
             under way, which keeps the link busy. Combined: rounds one after the other, as if all nodes waited for the slowest one, with the radix \
             that a session's cost model takes and every rank as a carrier. The bound is what a node's link needs. Messages within a node are in \
             neither.\n\n{}",
            self.topology,
            self.ranks_per_node,
            MEMORY_BYTES_PER_SECOND / 1e9,
            table.markdown()
        )
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn machine() -> Machine {
        Machine::new("star:4,capacity=12.5GB/s", 3).unwrap()
    }

    #[test]
    fn messages_by_themselves_take_what_the_busiest_core_and_the_link_need() {
        let machine = machine();
        let flat = machine.flat(8).unwrap();
        // By hand: 3 ranks send 9 messages of 48 bytes each; a core does 355 ns for each of 9 sends and 9 receives.
        assert_eq!(flat.node_messages, 27);
        assert!((flat.link_bound_seconds - 27.0 * 48.0 / 12.5e9).abs() < 1e-15);
        assert!((18.0 * 355e-9..18.0 * 355e-9 + 1e-6).contains(&flat.seconds), "{}", flat.seconds);
        // Large messages take what the link needs: 27 of a megabyte.
        let large = machine.flat(1 << 20).unwrap();
        assert!((1.0..1.1).contains(&(large.seconds / large.link_bound_seconds)), "{large:?}");
    }

    #[test]
    fn combined_messages_by_hand() {
        let machine = machine();
        let rounds = |radix| schedule(4, radix, 3).unwrap();
        // One round: a message of 9 x 8 bytes to each of three nodes, by a rank each, which does 355 ns for it and 355 ns for the one that arrives.
        let (straight, copies) = machine.combined(&rounds(4), 8).unwrap();
        assert_eq!(straight.node_messages, 3);
        assert!((straight.link_bound_seconds - 3.0 * 112.0 / 12.5e9).abs() < 1e-15);
        assert!((copies - 2.0 * 216.0 / 100e9).abs() < 1e-18);
        assert!((2.0 * 355e-9..2.0 * 355e-9 + 1e-6).contains(&straight.seconds), "{}", straight.seconds);
        // Two rounds of one message with two blocks and their sizes: 2 x 72 + 8 + 40 bytes; all of them are copied on their way.
        let (two, copies) = machine.combined(&rounds(2), 8).unwrap();
        assert_eq!(two.node_messages, 2);
        assert!((two.link_bound_seconds - 2.0 * 192.0 / 12.5e9).abs() < 1e-15);
        assert!((copies - 2.0 * (216.0 + 384.0) / 100e9).abs() < 1e-18);
        assert!(two.seconds > straight.seconds);
    }

    #[test]
    fn combining_pays_for_small_messages() {
        let case = machine().case(8).unwrap();
        assert!(case.gain() > 2.0 && case.predicted_combined_seconds < case.predicted_flat_seconds, "{case:?}");
        let content = CombinedSimulatedContent { topology: "star:4".into(), ranks_per_node: 3, cases: vec![case] };
        assert!(content.body().contains("| 8 | 27 | ") && content.body().contains("| 4, 1 |"), "{}", content.body());
    }
}

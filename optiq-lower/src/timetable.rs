//! A timetable of direct messages: who sends to whom when, so that no port serves two others at one time.
//!
//! Hosts have a port that sends and a port that receives. With `r_s` the bytes that host `s` sends and `c_d` those that `d`
//! receives, no order of sending takes less than
//!
//! ```text
//!     D  =  max( max over s of r_s,  max over d of c_d )
//! ```
//!
//! bytes at one port, and `D` can be reached where messages may be interrupted: this is the preemptive open shop, whose matrix is a
//! sum of at most `n^2 - 2n + 2` permutations, the stages (Birkhoff and von Neumann, `decomposition.rs`; T. Gonzalez and S. Sahni, "Open Shop Scheduling
//! to Minimize Finish Time", Journal of the ACM 23(4), 1976). Exact decompositions end in many short stages, each of which costs a
//! turn of two progress loops. So the timetable is made by list scheduling: whenever a sending port is free, it turns to the
//! free receiving port that has most bytes to come, for at most a *quantum*. Between receivers that have as many the next one
//! after the sender comes first, so that messages of one size go in the order of shifts, in which `s` sends to `s + 1`, then to
//! `s + 2`, and fat trees with d-mod-k routes have no conflicts either (E. Zahavi, "D-Mod-K Routing Providing Non-Blocking Traffic
//! for Shift Permutations on Real Life Fat Trees", CCIT Report 776, Technion, 2010).
//!
//! A port that is never idle while it could work ends within `r_s + c_d` of the pair that ends last, hence within `2 D`; the tests
//! have what is reached in practice.

use crate::choices::DirectOrder;
use crate::constants::{BALANCED_PART, CREDITED_BYTES_PER_SECOND, MOST_STEPS, MOST_TIMED_CHUNKS, SMALL_CHUNK_SECONDS};
use crate::ports::PortLoads;
use optiq_net::{Network, NodeId};
use optiq_solver::{Demand, Plan};
use optiq_transport::{EAGER, Grants, ScheduleOptions};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};

/// The order in which direct messages go, by the network's rate and their sizes and balance; never [`DirectOrder::Auto`].
///
/// A timetable pays where a port that is sent too much loses packets. Networks with credits lose none: a port that is sent too much
/// makes senders wait, and with them all packets that share a queue with theirs. Messages that go all at once then average over all
/// ports and inner links, as long as a host has packets for others that can go. A host that sends by a timetable has packets for
/// one or two others only: once ranks are out of step, and sizes that differ by 3 % are enough for that, these meet at ports and
/// inner links as random permutations do, and input queues with one packet in front pass 58.6 % of them at most (M. Karol, M.
/// Hluchyj and S. Morgan, "Input Versus Output Queueing on a Space-Division Packet Switch", IEEE Transactions on Communications
/// 35(12), 1987). Decision 038.
///
/// In a timetable a rank waits for others. Where all ports are busy all the time, that costs nothing, and it keeps the queues of
/// ports short; where some are idle often, a delay at one rank reaches others, and bytes in flight in proportion do better, as long as
/// messages have several chunks: a leg has at least one chunk in flight, so proportion has no hold on messages of one chunk.
pub fn order(network: &Network, demands: &[Demand], choice: DirectOrder) -> DirectOrder {
    if choice != DirectOrder::Auto {
        return choice;
    }
    let loads = PortLoads::new(demands);
    let (bytes, balance) = (loads.bytes(), loads.balance());
    let small = bytes <= EAGER.saturating_mul(demands.len() as u64);
    let has_credits = network.unit_capacity() >= CREDITED_BYTES_PER_SECOND;
    let in_time = !has_credits && (small || balance >= BALANCED_PART);
    let order = if in_time { DirectOrder::Timetable } else { DirectOrder::Proportion };
    log::debug!(
        "direct messages by {order}: {} of {} bytes on average, ports have {balance:.2} of the busiest one's bytes, links of {} B/s \
         {} credits",
        demands.len(),
        bytes / (demands.len() as u64).max(1),
        network.unit_capacity(),
        if has_credits { "with" } else { "without" }
    );
    order
}

/// Whether messages that go by a timetable, which [`order`] chose by itself, are large and differ in size. Ranks change receivers at different times then, and are
/// two at a port until the earlier one has gone: where queues are long, small chunks of all messages at once do better
/// ([`FlowControl::SmallChunks`](optiq_transport::FlowControl::SmallChunks), decision 089).
pub fn may_lose_to_small_chunks(loads: &PortLoads, choice: DirectOrder) -> bool {
    let timed_bytes = MOST_TIMED_CHUNKS.saturating_mul(EAGER).saturating_mul(loads.demands as u64);
    choice == DirectOrder::Auto && !loads.kind().is_even && loads.bytes() > timed_bytes
}

/// The size of small chunks on this network, in bytes: on fast links not so small that one is over before a rank has the next one ready.
pub fn small_chunk(network: &Network) -> u64 {
    // Of rates up to those of credits, which is some kilobytes.
    let least = (network.unit_capacity() * SMALL_CHUNK_SECONDS).round();
    ScheduleOptions::default().small_chunk.max(least as u64)
}

/// When the messages of a plan go, if it has no forwarders and `choice`, or its network and its demands, make it a timetable ([`order`]).
/// Where some are more urgent than others there is none: those go first, and a timetable has an order of its own.
pub fn of_plan(network: &Network, plan: &Plan, choice: DirectOrder) -> Option<Timetable> {
    if !is_direct(plan) || plan.has_classes() {
        return None;
    }
    let demands = &plan.demands;
    let timetable = match order(network, demands, choice) {
        DirectOrder::Timetable => shortest(demands),
        DirectOrder::Shifts => Timetable::by_shifts(demands),
        DirectOrder::Xor => Timetable::by_xor(demands),
        DirectOrder::Stages if can_be_decomposed(demands) => Timetable::by_stages(demands),
        DirectOrder::Stages => {
            log::warn!("{} messages are too many for exact stages: they go by the shortest timetable", demands.len());
            shortest(demands)
        }
        DirectOrder::Auto | DirectOrder::Credits | DirectOrder::Proportion => return None,
    };
    let Timetable { turns, ends_at, bound } = &timetable;
    let number = turns.iter().map(Vec::len).sum::<usize>();
    log::debug!("timetable of {number} turns: {ends_at} bytes at a port, at least {bound}");
    let is_good = *ends_at as f64 <= *bound as f64 / BALANCED_PART;
    (is_good || choice != DirectOrder::Auto).then_some(timetable)
}

/// When receivers grant the messages of this plan, by the same choice: where none is forwarded, and if nothing was asked for only where queues
/// are short, and not if they go by a timetable in which all ports are busy all the time (decision 094).
pub fn grants(plan: &Plan, choice: DirectOrder, goes_by_timetable: bool) -> Grants {
    match choice {
        _ if !is_direct(plan) || plan.has_classes() => Grants::Never,
        DirectOrder::Credits => Grants::Always,
        DirectOrder::Auto if goes_by_timetable && PortLoads::new(&plan.demands).balance() >= BALANCED_PART => {
            Grants::Never
        }
        DirectOrder::Auto => Grants::InShortestQueues,
        _ => Grants::Never,
    }
}

/// Whether [`DirectOrder::Stages`] decomposes demands exactly; each rank computes for too long if they are more.
pub fn can_be_decomposed(demands: &[Demand]) -> bool {
    demands.len().saturating_pow(2) as u64 <= MOST_STEPS
}

fn is_direct(plan: &Plan) -> bool {
    plan.flows.iter().flatten().all(|flow| flow.stops.len() == 2)
}

/// By shifts, or by list scheduling where that ends earlier.
fn shortest(demands: &[Demand]) -> Timetable {
    let timetable = Timetable::by_shifts(demands);
    if timetable.ends_at > timetable.bound && steps(demands, EAGER) <= MOST_STEPS {
        let searched = Timetable::new(demands, EAGER);
        if searched.ends_at < timetable.ends_at {
            return searched;
        }
    }
    timetable
}

/// What list scheduling looks at: each quantum of a sender at all of its demands.
fn steps(demands: &[Demand], quantum: u64) -> u64 {
    let mut senders: BTreeMap<NodeId, (u64, u64)> = BTreeMap::new();
    for d in demands {
        let (count, quanta) = senders.entry(d.src).or_default();
        *count += 1;
        *quanta = quanta.saturating_add(d.bytes.div_ceil(quantum.max(1)));
    }
    senders.values().fold(0, |sum: u64, (count, quanta)| sum.saturating_add(count.saturating_mul(*quanta)))
}

/// A stretch of time in which a demand's next bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// When it begins, in bytes that a port carries in that time.
    pub starts_at: u64,
    /// How many bytes of the demand go.
    pub bytes: u64,
}

/// When each demand's bytes go.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timetable {
    /// For each demand, in their order, its turns, ascending.
    pub turns: Vec<Vec<Turn>>,
    /// When the last one ends, in bytes.
    pub ends_at: u64,
    /// `D`: when the last one ends at best.
    pub bound: u64,
}

/// What a sending port has left.
struct Sender {
    /// Demands with bytes left, in the order of shifts.
    demands: Vec<usize>,
    bytes: u64,
}

/// What a receiving port has left.
#[derive(Clone, Copy)]
struct Receiver {
    bytes: u64,
    free_at: u64,
}

impl Timetable {
    /// A timetable for demands between different hosts; `quantum` bytes, at least one, go before a port looks for another.
    pub fn new(demands: &[Demand], quantum: u64) -> Self {
        let quantum = quantum.max(1);
        let loads = PortLoads::new(demands);
        let bound = loads.busiest();
        let (mut senders, mut receivers, receiver_of) = ports(demands, &loads);
        let mut left: Vec<u64> = demands.iter().map(|d| d.bytes).collect();
        let mut turns: Vec<Vec<Turn>> = vec![Vec::new(); demands.len()];
        let mut ends_at = 0;
        // By time, then by what is left; then by number.
        let ready = senders.iter().enumerate().map(|(number, s)| Reverse((0, Reverse(s.bytes), number)));
        let mut queue: BinaryHeap<_> = ready.collect();
        while let Some(Reverse((now, _, number))) = queue.pop() {
            let sender = &mut senders[number];
            let list = sender.demands.iter().enumerate();
            let free = list.filter(|&(_, &i)| receivers[receiver_of[i]].free_at <= now);
            // The first of those with most bytes to come.
            let Some((at, i)) =
                free.rev().map(|(at, &i)| (at, i)).max_by_key(|&(_, i)| receivers[receiver_of[i]].bytes)
            else {
                let next = sender.demands.iter().map(|&i| receivers[receiver_of[i]].free_at).min();
                queue.extend(next.map(|time| Reverse((time, Reverse(sender.bytes), number))));
                continue;
            };
            let bytes = left[i].min(quantum);
            let end = now + bytes;
            left[i] -= bytes;
            sender.bytes -= bytes;
            if left[i] == 0 {
                sender.demands.remove(at);
            }
            let receiver = &mut receivers[receiver_of[i]];
            (receiver.bytes, receiver.free_at) = (receiver.bytes - bytes, end);
            extend(&mut turns[i], now, bytes);
            ends_at = ends_at.max(end);
            queue.push(Reverse((end, Reverse(sender.bytes), number)));
        }
        Self { turns, ends_at, bound }
    }

    /// The same without a search: first all demands from a host to the next one, then those to the next but one, and so on, each
    /// without interruption as soon as its two ports are free. As short as can be where all have one size, and where sizes differ
    /// little nearly so, when turns that end at different times leave a search of quanta with ports that no message needs.
    pub fn by_shifts(demands: &[Demand]) -> Self {
        Self::by_rounds(demands, |s, d, hosts| (d + hosts - s) % hosts)
    }

    /// The same by the exclusive or of the hosts' numbers, in whose rounds pairs of hosts exchange with each other (as `MPI_Alltoall` of
    /// MPICH does for powers of two; R. Thakur, R. Rabenseifner and W. Gropp, 2005).
    pub fn by_xor(demands: &[Demand]) -> Self {
        Self::by_rounds(demands, |s, d, _| s ^ d)
    }

    /// Demands in the order of the rounds that `round` puts them in, by the numbers of sender and receiver and how many hosts there are.
    fn by_rounds(demands: &[Demand], round: impl Fn(usize, usize, usize) -> usize) -> Self {
        let loads = PortLoads::new(demands);
        let hosts = host_numbers(&loads);
        let number = |host: &NodeId| hosts[host];
        let mut order: Vec<usize> = (0..demands.len()).collect();
        order.sort_by_cached_key(|&i| round(number(&demands[i].src), number(&demands[i].dst), hosts.len()));
        let mut sender_free_at = vec![0u64; hosts.len()];
        let mut receiver_free_at = sender_free_at.clone();
        let mut turns = vec![Vec::new(); demands.len()];
        for i in order {
            let Demand { src, dst, bytes, .. } = demands[i];
            let (sender, receiver) = (&mut sender_free_at[number(&src)], &mut receiver_free_at[number(&dst)]);
            let starts_at = (*sender).max(*receiver);
            (*sender, *receiver) = (starts_at + bytes, starts_at + bytes);
            turns[i].push(Turn { starts_at, bytes });
        }
        let ends_at = sender_free_at.into_iter().max().unwrap_or(0);
        Self { turns, ends_at, bound: loads.busiest() }
    }
}

/// The hosts that send or receive, numbered in their order.
pub(crate) fn host_numbers(loads: &PortLoads) -> BTreeMap<NodeId, usize> {
    let hosts: BTreeSet<NodeId> = loads.sending.keys().chain(loads.receiving.keys()).copied().collect();
    hosts.into_iter().zip(0..).collect()
}

/// Lets `bytes` more go at `now`: in the last turn if it ends then, or else in another one.
pub(crate) fn extend(turns: &mut Vec<Turn>, now: u64, bytes: u64) {
    match turns.last_mut().filter(|last| last.starts_at + last.bytes == now) {
        Some(last) => last.bytes += bytes,
        None if bytes > 0 => turns.push(Turn { starts_at: now, bytes }),
        None => (),
    }
}

/// Senders, receivers, and the receiver of each demand.
fn ports(demands: &[Demand], loads: &PortLoads) -> (Vec<Sender>, Vec<Receiver>, Vec<usize>) {
    let numbers = |ports: &BTreeMap<NodeId, u64>| ports.keys().copied().zip(0..).collect::<BTreeMap<NodeId, usize>>();
    let (sender_of, receiver_of) = (numbers(&loads.sending), numbers(&loads.receiving));
    let mut senders: Vec<Sender> = loads.sending.values().map(|&bytes| Sender { demands: Vec::new(), bytes }).collect();
    for (i, d) in demands.iter().enumerate() {
        senders[sender_of[&d.src]].demands.push(i);
    }
    for (host, sender) in loads.sending.keys().zip(&mut senders) {
        sender.demands.sort_by_key(|&i| (demands[i].dst <= *host, demands[i].dst));
    }
    let receivers = loads.receiving.values().map(|&bytes| Receiver { bytes, free_at: 0 }).collect();
    (senders, receivers, demands.iter().map(|d| receiver_of[&d.dst]).collect())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn demands(n: u32, bytes: impl Fn(u32, u32) -> u64) -> Vec<Demand> {
        let pairs = (0..n).flat_map(|s| (0..n).map(move |d| (s, d))).filter(|(s, d)| s != d);
        pairs.map(|(s, d)| Demand::new(NodeId(s), NodeId(d), bytes(s, d))).filter(|d| d.bytes > 0).collect()
    }

    /// All bytes go, and no port serves two others at one time.
    pub(crate) fn check(demands: &[Demand], timetable: &Timetable) {
        let mut ports: BTreeMap<(bool, NodeId), Vec<(u64, u64)>> = BTreeMap::new();
        for (d, turns) in demands.iter().zip(&timetable.turns) {
            assert_eq!(turns.iter().map(|t| t.bytes).sum::<u64>(), d.bytes);
            for t in turns {
                for port in [(true, d.src), (false, d.dst)] {
                    ports.entry(port).or_default().push((t.starts_at, t.starts_at + t.bytes));
                }
            }
        }
        for list in ports.values_mut() {
            list.sort_unstable();
            assert!(list.windows(2).all(|w| w[0].1 <= w[1].0), "{list:?}");
        }
        let last = ports.values().flatten().map(|&(_, end)| end).max().unwrap_or(0);
        assert_eq!(last, timetable.ends_at);
        assert!(timetable.bound <= last && last <= 2 * timetable.bound);
    }

    #[test]
    fn messages_of_one_size_go_in_the_order_of_shifts() {
        let list = demands(5, |_, _| 70);
        let found = Timetable::new(&list, 30);
        check(&list, &found);
        assert_eq!((found.ends_at, found.bound), (280, 280));
        for (d, turns) in list.iter().zip(&found.turns) {
            let shift = u64::from((d.dst.0 + 5 - d.src.0) % 5);
            assert_eq!(*turns, [Turn { starts_at: (shift - 1) * 70, bytes: 70 }]);
        }
    }

    #[test]
    fn networks_with_credits_take_no_timetable_by_themselves() {
        let order =
            |topology: &str, list: &[Demand], choice| order(&Network::from_spec(topology).unwrap(), list, choice);
        let even = demands(4, |_, _| 1 << 20);
        let large = demands(4, |s, d| if (s, d) == (0, 1) { 8 << 20 } else { 1 << 20 });
        let small = demands(4, |s, d| if (s, d) == (0, 1) { 80 } else { 10 });
        let by = |rate: &str, list| order(&format!("star:4,capacity={rate}"), list, DirectOrder::Auto);
        for rate in ["100Mbit/s", "10Gbit/s"] {
            let found = [&even, &large, &small].map(|list| by(rate, list));
            assert_eq!(found, [DirectOrder::Timetable, DirectOrder::Proportion, DirectOrder::Timetable], "{rate}");
        }
        for rate in ["20Gbit/s", "12.5GB/s"] {
            assert_eq!([&even, &large, &small].map(|list| by(rate, list)), [DirectOrder::Proportion; 3], "{rate}");
        }
        let forced = order("star:4,capacity=12.5GB/s", &large, DirectOrder::Timetable);
        assert_eq!(forced, DirectOrder::Timetable, "what was asked for");
    }

    #[test]
    fn large_messages_that_differ_may_do_better_in_small_chunks() {
        // By hand: one receiver of 16 has 4 % more, so that the mean is 0.964 of its load; or 0.5 %.
        let sizes = |kb: u64, per_mille: u64| demands(16, |_, d| kb * (1000 + if d == 3 { per_mille } else { 0 }));
        let may_lose = |list: &[Demand], choice| may_lose_to_small_chunks(&PortLoads::new(list), choice);
        let found = [sizes(520, 0), sizes(520, 5), sizes(520, 40)].map(|list| may_lose(&list, DirectOrder::Auto));
        assert_eq!(found, [false, false, true]);
        assert!(!may_lose(&sizes(120, 40), DirectOrder::Auto), "two chunks");
        assert!(!may_lose(&sizes(520, 40), DirectOrder::Timetable), "what was asked for");
        // Ports that are idle often, and credits: there is no timetable that could lose.
        for (rate, list) in [("12.5MB/s", sizes(520, 400)), ("12.5GB/s", sizes(520, 40))] {
            let network = Network::from_spec(&format!("star:16,capacity={rate}")).unwrap();
            assert_eq!(order(&network, &list, DirectOrder::Auto), DirectOrder::Proportion, "{rate}");
        }
        // By hand: 1.25 GB/s in 26 us.
        let chunk = |rate: &str| small_chunk(&Network::from_spec(&format!("star:2,capacity={rate}")).unwrap());
        assert_eq!([chunk("12.5MB/s"), chunk("1.25GB/s")], [16_384, 32_500]);
    }

    #[test]
    fn many_hosts_go_by_shifts() {
        let list = demands(5, |_, _| 70);
        assert_eq!(Timetable::by_shifts(&list), Timetable::new(&list, 30));
        // By hand: host 0 sends from 0 to 9, 10 and 11; 2 receives from it when 1 is long done, and 3 sends to 1 after it.
        let uneven = demands(4, |s, d| if (s, d) == (0, 1) { 9 } else { 1 });
        let found = Timetable::by_shifts(&uneven);
        check(&uneven, &found);
        assert_eq!((found.ends_at, found.bound), (11, 11));
        let starts: Vec<u64> = found.turns.iter().map(|turns| turns[0].starts_at).collect();
        assert_eq!(starts, [0, 9, 10, 2, 0, 1, 1, 10, 0, 0, 9, 10]);
        // 4 senders look at 3 demands for each of 3 or 12 quanta.
        assert_eq!(steps(&uneven, 1), 3 * (3 * 3 + 11));
    }

    #[test]
    fn pairs_exchange_with_each_other() {
        // By hand: 0 and 1, 2 and 3, then 0 and 2, 1 and 3, then 0 and 3, 1 and 2.
        let list = demands(4, |_, _| 70);
        let found = Timetable::by_xor(&list);
        check(&list, &found);
        let starts: Vec<u64> = found.turns.iter().map(|turns| turns[0].starts_at / 70).collect();
        assert_eq!(starts, [0, 1, 2, 0, 2, 1, 1, 2, 0, 2, 1, 0]);
        // Numbers up to 5 only: some rounds leave hosts idle.
        let list = demands(5, |_, _| 70);
        let found = Timetable::by_xor(&list);
        check(&list, &found);
        assert!(found.ends_at > found.bound);
    }

    #[test]
    fn each_order_is_what_was_asked_for() {
        use optiq_solver::pipeline::{self, PlanOptions};
        use optiq_solver::planner::PlannerName;
        let network = Network::from_spec("star:4,capacity=100Mbit/s").unwrap();
        let list = demands(4, |s, d| if (s, d) == (0, 1) { 900_000 } else { 100_000 });
        let options = PlanOptions { planner: PlannerName::Direct, ..PlanOptions::default() };
        let plan = pipeline::run(&network, &list, &options).unwrap().plan;
        let found = |choice| of_plan(&network, &plan, choice);
        assert_eq!(found(DirectOrder::Shifts), Some(Timetable::by_shifts(&list)));
        assert_eq!(found(DirectOrder::Xor), Some(Timetable::by_xor(&list)));
        assert_eq!(found(DirectOrder::Stages), Some(Timetable::by_stages(&list)));
        assert_eq!([DirectOrder::Credits, DirectOrder::Proportion].map(found), [None, None]);
        let granted =
            [DirectOrder::Credits, DirectOrder::Auto, DirectOrder::Stages].map(|choice| grants(&plan, choice, false));
        assert_eq!(granted, [Grants::Always, Grants::InShortestQueues, Grants::Never]);
    }

    /// As NAS IS exchanges keys: sizes differ by 3 %.
    #[test]
    fn sizes_that_differ_little_take_little_longer() {
        let list = demands(16, |s, d| 128_000 + u64::from((s * 7 + d * 13) % 31) * 128);
        let over = |t: Timetable| t.ends_at as f64 / t.bound as f64;
        let (shifts, searched) = (over(Timetable::by_shifts(&list)), over(Timetable::new(&list, EAGER)));
        println!("{shifts:.3} by shifts, {searched:.3} searched");
        assert!(shifts < 1.02 && shifts < searched, "{shifts} {searched}");
        check(&list, &Timetable::by_shifts(&list));
    }

    #[test]
    fn skewed_messages_take_little_more_than_the_busiest_port() {
        let mut state = 7u64;
        let mut random = move || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 40
        };
        for n in [4, 16, 40] {
            let sizes: Vec<u64> = (0..n * n).map(|_| 1 << (random() % 12)).collect();
            let list = demands(n, |s, d| sizes[(s * n + d) as usize]);
            let found = Timetable::new(&list, 64);
            check(&list, &found);
            let over = found.ends_at as f64 / found.bound as f64;
            println!("{n} hosts: {over:.3}");
            assert!(over < 1.1, "{n} hosts: {over}");
        }
    }
}

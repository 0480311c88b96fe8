//! The closed loop, `OPTIQ_BACKGROUND=measure`: plans follow what others leave of the links.
//!
//! ```text
//!   call ──► each rank: how long its legs were busy ──► (look) rank 0: which links are slow ──► another plan, on a thread of rank 0
//!    ▲                                                                                                        │
//!    └───────────────── (take over) all ranks, before the same call: the network that is left, the plan ◄─────┘
//! ```
//!
//! Rank 0 decides alone; what others must do with it, it tells them in a word of the reduction that begins every agreed call: *look*, then it gathers the
//! legs of the last call; *take over*, then it sends out the share that is left of each link; *insist*, then planned paths serve the call, so that
//! plain MPI does not hide what is to be confirmed; *probe*, then pairs of ranks measure links that carry nothing of ours (`link_probes.rs`). A call that was late is looked at without a word, since all ranks were told the same times; and where rank 0 has
//! nothing to say, another rank may ask for a look. So ranks cannot come to differ, whatever they measured, and a call without news costs nothing more. From the next look into the plan cache on, keys are those of the network that is left: its
//! fingerprint is part of them, so that a load that comes again finds its plan again, and the thread's plan is one that rank 0 does not need
//! to make. The mathematics: `optiq_lower::closed_loop`. Decisions 060 and 061.

use super::link_probes::{LinkProbe, ProbePace, choose};
use super::pair_rates::pair_rates;
use super::planning::Planning;
use super::plans::{Cause, Entry, Key};
use crate::busy_links::{self, BusyLink};
use crate::config::Config;
use crate::error::Error;
use crate::logger;
use optiq_lower::closed_loop::counters::{Counting, Reading};
use optiq_lower::closed_loop::estimate::{Exchange, LegTime as HostLegTime};
use optiq_lower::closed_loop::pace::Pace;
use optiq_lower::closed_loop::steering::{self, Busy, LinkUse, Proposal, Steering};
use optiq_lower::constants::{CONFIRMATIONS, LATE, LEAST_SHARE, LINK_PROBE_SECONDS};
use optiq_lower::placement::Placement;
use optiq_lower::trials::Side;
use optiq_net::{Background, LinkId, Network, text_file};
use optiq_solver::{Demand, plan};
use optiq_transport::mpi::Communicator;
use optiq_transport::{LegTime, Rank};
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

/// The largest file of counters that is read, in bytes.
const MOST_COUNTER_BYTES: u64 = 64 << 20;

/// What rank 0 has all ranks do before a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct News {
    /// Gather the legs of the last call.
    pub(super) look: bool,
    /// Hear what is left of the links from now on.
    pub(super) take_over: bool,
    /// Have planned paths serve the call, though plain MPI was found to be faster: what the last one measured is to be confirmed.
    pub(super) insist: bool,
    /// Probe links that rank 0 names.
    pub(super) probe: bool,
}

impl News {
    /// As the minimum over all ranks carries it: that of rank 0, or a look if that has nothing to say and another rank asks for one.
    pub(super) fn word(self) -> i64 {
        let bits = [self.look, self.take_over, self.insist, self.probe];
        -(0..).zip(bits).map(|(bit, is_set)| i64::from(is_set) << bit).sum::<i64>()
    }

    pub(super) fn of_word(word: i64) -> Self {
        let has = |bit: u32| -word >> bit & 1 == 1;
        Self { look: has(0), take_over: has(1), insist: has(2), probe: has(3) }
    }
}

/// A call on planned paths, at this rank.
struct PlannedCall {
    planned_seconds: f64,
    key: Key,
    entry: Rc<Entry>,
    legs: Vec<LegTime>,
}

/// See the top of the file.
pub(super) struct LoadFollower {
    /// With all capacity.
    nominal: Arc<Network>,
    /// What is left.
    left: RefCell<Arc<Network>>,
    /// Legs of the exchange that was completed last.
    moved: RefCell<Vec<LegTime>>,
    last: RefCell<Option<Rc<PlannedCall>>>,
    /// The planned paths that served last before the last change, with the key of its demands on idle links.
    before: RefCell<Option<(Key, Rc<Entry>)>>,
    /// The last call that was looked at, if the plan that served it still does: legs of later ones are compared with its own.
    looked_at: RefCell<Option<Rc<PlannedCall>>>,
    /// A leg across a busy link was faster than then: this rank asks for a look.
    asks: Cell<bool>,
    /// What follows from the times of calls is the same on all ranks.
    pace: RefCell<Pace>,
    /// Where probes go; made when the first one does.
    probing: RefCell<Option<Rc<Communicator>>>,
    /// On rank 0.
    root: Option<RefCell<Root>>,
}

/// What only rank 0 knows.
struct Root {
    steering: Steering,
    began: Instant,
    /// Of the last call on planned paths, on the slowest rank; nothing before it is known.
    seconds: Option<f64>,
    making: Option<Making>,
    /// Made, and worth to take over: what is left, and for which demand set the plan is.
    made: Option<Made>,
    /// A plan that was made on a thread, under the key under which it will be looked for.
    prepared: Option<(Key, Vec<u8>)>,
    counters: Option<CounterFile>,
    /// By link: the bytes of the exchange that was looked at last, by the plan that serves.
    loads: Vec<u64>,
    probe_pace: ProbePace,
    /// That will be next.
    probes: Vec<LinkProbe>,
    /// `OPTIQ_BUSY_LINKS`.
    busy_file: Option<PathBuf>,
}

struct Making {
    thread: JoinHandle<Result<Alternative, Error>>,
    network: Arc<Network>,
    shares: Vec<f64>,
    key: Key,
}

/// A plan on what is left of the links, as rank 0 sends it out.
struct Alternative {
    bytes: Vec<u8>,
    /// What the plan that serves asks of these links, and what this one does.
    before: LinkUse,
    after: LinkUse,
}

struct Made {
    network: Arc<Network>,
    shares: Vec<f64>,
    key: Key,
    bytes: Vec<u8>,
}

/// `OPTIQ_COUNTERS`.
struct CounterFile {
    path: PathBuf,
    counting: Counting,
    /// When the last call was over.
    ended: f64,
    /// Of demand sets whose plan was looked at and still serves: the bytes by link, the latest first.
    loads: VecDeque<(Key, Rc<[u64]>)>,
}

/// Demand sets whose bytes by link are remembered, at most: the exchanges of a time step, but not of a whole program on many links.
const MOST_LOADS: usize = 16;

/// `network` with this share of each link.
fn left_of(network: &Arc<Network>, shares: &[f64]) -> Arc<Network> {
    if shares.iter().all(|&share| share >= 1.0) {
        return Arc::clone(network);
    }
    Arc::new(steering::left_of(network, shares))
}

impl LoadFollower {
    pub(super) fn new(network: &Arc<Network>, rank: Rank, config: &Config) -> Self {
        let links = network.links().len();
        let counters = config.counters.as_ref().map(|path| CounterFile {
            path: PathBuf::from(path),
            counting: Counting::default(),
            ended: seconds_of(SystemTime::now()),
            loads: VecDeque::new(),
        });
        let root = Root {
            steering: Steering::new(links),
            began: Instant::now(),
            seconds: None,
            making: None,
            made: None,
            prepared: None,
            counters,
            loads: Vec::new(),
            probe_pace: ProbePace::new(),
            probes: Vec::new(),
            busy_file: config.busy_links.as_ref().map(PathBuf::from),
        };
        Self {
            nominal: Arc::clone(network),
            left: RefCell::new(Arc::clone(network)),
            moved: RefCell::default(),
            last: RefCell::default(),
            before: RefCell::default(),
            looked_at: RefCell::default(),
            asks: Cell::new(false),
            pace: RefCell::default(),
            probing: RefCell::default(),
            root: (rank == Rank(0)).then(|| RefCell::new(root)),
        }
    }

    fn key_on(&self, key: Key, network: &Arc<Network>) -> Key {
        if Arc::ptr_eq(network, &self.nominal) { key } else { key.on(network.fingerprint()) }
    }

    /// The legs of an exchange that is complete.
    pub(super) fn moved(&self, legs: Vec<LegTime>) {
        *self.moved.borrow_mut() = legs;
    }

    /// A call is over at this rank after so many seconds, under the key under which its plan was found.
    pub(super) fn served(
        &self,
        (placement, rank): (&Placement, Rank),
        entry: &Rc<Entry>,
        (side, seconds): (Side, f64),
        key: Key,
    ) {
        let legs = self.moved.take();
        let planned = matches!(side, Side::Planned(_)) && entry.kind.is_some();
        if planned {
            self.asks.set(self.asks.get() || self.may_be_free(placement, rank, entry, &legs));
        }
        let planned_seconds = entry.bounds.planned;
        // The key without the network's fingerprint: it is its own inverse.
        let key = self.key_on(key, &self.left.borrow());
        let call = planned.then(|| PlannedCall { planned_seconds, key, entry: Rc::clone(entry), legs });
        *self.last.borrow_mut() = call.map(Rc::new);
        if let Some(root) = &self.root {
            let root = &mut *root.borrow_mut();
            root.seconds = None;
            if let Some(counters) = &mut root.counters {
                counters.served(planned.then_some(key), Some(seconds));
            }
        }
    }

    /// Plain MPI has served large calls, over links that are not known: one that took this long, or any number since the call before.
    pub(super) fn passed_on(&self, seconds: Option<f64>) {
        if let Some(root) = &self.root
            && let Some(counters) = &mut root.borrow_mut().counters
        {
            counters.served(None, seconds);
        }
    }

    /// What the last call took on the slowest rank. Whether it was late, so that all look at it: the same on all ranks.
    pub(super) fn took(&self, side: Side, seconds: f64) -> bool {
        let Side::Planned(_) = side else { return false };
        if let Some(root) = &self.root {
            root.borrow_mut().seconds = Some(seconds);
        }
        self.pace.borrow_mut().call(seconds)
    }

    /// Whether a leg across a link that is taken for busy was so much faster than when calls were looked at that the load may have ended. Looks without
    /// a reason are rare, and that would be seen too late.
    fn may_be_free(&self, placement: &Placement, rank: Rank, entry: &Rc<Entry>, legs: &[LegTime]) -> bool {
        let looked_at = self.looked_at.borrow();
        let Some(before) = looked_at.as_ref().filter(|before| Rc::ptr_eq(&before.entry, entry)) else { return false };
        let left = self.left.borrow();
        if Arc::ptr_eq(&left, &self.nominal) {
            return false;
        }
        let is_busy = |link: &LinkId| left.link(*link).capacity < self.nominal.link(*link).capacity;
        let crosses_busy = |to: Rank| {
            let mut route = Vec::new();
            self.nominal.route(placement.host(rank), placement.host(to), &mut route).is_ok()
                && route.iter().any(is_busy)
        };
        let faster = |leg: &&LegTime| {
            let mut same = before.legs.iter().filter(|b| b.to == leg.to && b.bytes == leg.bytes);
            same.any(|b| b.seconds >= LATE * leg.seconds && b.seconds >= entry.bounds.planned / 4.0)
        };
        legs.iter().filter(faster).any(|leg| crosses_busy(leg.to))
    }

    /// What is left.
    pub(super) fn left(&self) -> Arc<Network> {
        Arc::clone(&self.left.borrow())
    }

    /// The key of a demand set on what is left of the links.
    pub(super) fn key_on_left(&self, key: Key) -> Key {
        self.key_on(key, &self.left.borrow())
    }

    /// What served the demands of this key before the last change.
    pub(super) fn before(&self, key: Key) -> Option<Rc<Entry>> {
        let before = self.before.borrow();
        before.as_ref().filter(|before| self.key_on_left(before.0) == key).map(|before| Rc::clone(&before.1))
    }

    /// A plan that was made beforehand for this key.
    pub(super) fn prepared(&self, key: Key) -> Option<Vec<u8>> {
        let root = &mut *self.root.as_ref()?.borrow_mut();
        root.prepared.take_if(|prepared| prepared.0 == key).map(|prepared| prepared.1)
    }

    /// The links that are taken for busy; empty but on rank 0.
    pub(super) fn busy(&self) -> Vec<BusyLink> {
        let Some(root) = &self.root else { return Vec::new() };
        root.borrow().busy(&self.nominal).into_iter().map(|(_, busy)| busy).collect()
    }

    /// What rank 0 has to say before the next call; a look that another rank asks for is heard if rank 0 has nothing to say.
    pub(super) fn news(&self, placement: &Placement) -> News {
        let (asks, can_look) = (self.asks.get(), self.last.borrow().is_some());
        let Some(root) = &self.root else { return News { look: asks && can_look, ..News::default() } };
        let root = &mut *root.borrow_mut();
        root.collect();
        let take_over = root.made.is_some();
        let is_idle = !take_over && root.making.is_none();
        let look = is_idle && can_look && (asks || self.pace.borrow().is_due());
        let insist = is_idle && root.steering.is_in_doubt();
        let probe = is_idle && can_look && !look && root.wants_probes(&self.nominal, placement);
        News { look, take_over, insist, probe }
    }

    /// Gathers the legs of the last call; rank 0 makes of them what it can; collective.
    pub(super) fn look(
        &self,
        comm: &Communicator,
        placement: &Placement,
        planning: impl FnOnce() -> Planning,
    ) -> Result<(), Error> {
        let start = Instant::now();
        let last = self.last.borrow();
        let legs = last.as_ref().map_or(&[][..], |last| &last.legs);
        let words: Vec<u64> =
            legs.iter().flat_map(|leg| [u64::from(leg.to.0), leg.bytes, (leg.seconds * 1e9) as u64]).collect();
        let gathered = comm.gather(Rank(0), &words)?;
        self.asks.set(false);
        self.looked_at.borrow_mut().clone_from(&last);
        let pace = &mut *self.pace.borrow_mut();
        pace.looked(start.elapsed().as_secs_f64());
        let (Some(root), Some((lengths, words))) = (&self.root, gathered) else { return Ok(()) };
        let root = &mut *root.borrow_mut();
        let (Some(last), Some(seconds)) = (last.as_ref(), root.seconds.take()) else { return Ok(()) };
        let legs = between_hosts(placement, &lengths, &words);
        let exchange = Exchange { planned_seconds: last.planned_seconds, seconds, legs };
        log::trace!("looked in {:.6} s at an exchange: {exchange}", start.elapsed().as_secs_f64());
        let now = root.began.elapsed().as_secs_f64();
        root.loads = exchange.link_bytes(&self.nominal);
        let (proposal, is_new) = match &mut root.counters {
            None => (root.steering.observe(&self.nominal, &exchange, now), true),
            Some(counters) => {
                counters.learn(last.key, &root.loads);
                let left = counters.read(&self.nominal);
                let is_new = left.is_some();
                (left.and_then(|left| root.steering.counted(&left, root.loads.clone(), now)), is_new)
            }
        };
        // Counters that nobody has read since are no reason to look again at once.
        if is_new && root.steering.is_in_doubt() {
            pace.hurry();
        }
        if let Some(proposal) = proposal {
            let planning = Planning { network: left_of(&self.nominal, &proposal.shares), ..planning() };
            root.make(planning, proposal, last);
        }
        Ok(())
    }

    /// Has pairs of ranks measure the links that rank 0 names, which makes of it what it can; collective.
    pub(super) fn probe(&self, comm: &Communicator, planning: impl FnOnce() -> Planning) -> Result<(), Error> {
        let start = Instant::now();
        let mut words = self.root.as_ref().map_or_else(Vec::new, |root| LinkProbe::words(&root.borrow_mut().probes));
        comm.broadcast(Rank(0), &mut words)?;
        let probes = LinkProbe::of_words(&words);
        let pairs: Vec<(Rank, Rank)> = probes.iter().map(|probe| (probe.from, probe.to)).collect();
        let own = match self.probing.take() {
            Some(own) => own,
            // SAFETY: the session's communicator is valid, and all of its ranks are here. The transport receives from anyone on that one.
            None => Rc::new(unsafe { Communicator::duplicate(comm.raw())? }),
        };
        pair_rates(&own, &pairs, 0.0)?;
        let mut turns = Vec::new();
        for _ in 0..CONFIRMATIONS {
            turns.push(pair_rates(&own, &pairs, LINK_PROBE_SECONDS)?);
        }
        *self.probing.borrow_mut() = Some(own);
        let Some(root) = &self.root else { return Ok(()) };
        let last = self.last.borrow();
        let root = &mut *root.borrow_mut();
        let now = root.began.elapsed().as_secs_f64();
        root.probe_pace.probed(now, start.elapsed().as_secs_f64());
        let mut proposal = None;
        for rates in turns {
            let share =
                |(probe, &rate): (&LinkProbe, &u64)| (probe.link, rate as f64 / self.nominal.link(probe.link).capacity);
            let left: Vec<(LinkId, f64)> = probes.iter().zip(&rates).map(share).collect();
            log::debug!("probes of busy links: {}", told(&self.nominal, &left));
            proposal = root.steering.probed(&left, root.loads.clone(), now).or(proposal);
        }
        if let (Some(proposal), Some(last)) = (proposal, last.as_ref()) {
            let planning = Planning { network: left_of(&self.nominal, &proposal.shares), ..planning() };
            root.make(planning, proposal, last);
        }
        Ok(())
    }

    /// From now on, what is left of the links is what rank 0 says; collective.
    pub(super) fn take_over(&self, comm: &Communicator) -> Result<(), Error> {
        let mut bytes = Vec::new();
        let made = self.root.as_ref().and_then(|root| root.borrow_mut().made.take());
        if let Some(made) = &made {
            let busy = made.shares.iter().enumerate().filter(|(_, share)| **share < 1.0);
            bytes = busy
                .flat_map(|(i, share)| [&(i as u32).to_le_bytes()[..], &share.to_le_bytes()[..]].concat())
                .collect();
        }
        comm.broadcast(Rank(0), &mut bytes)?;
        let mut shares = vec![1.0; self.nominal.links().len()];
        for pair in bytes.chunks_exact(12) {
            let (link, share) = pair.split_at(4);
            let link = u32::from_le_bytes([link[0], link[1], link[2], link[3]]) as usize;
            // Rank 0 wrote it a moment ago.
            if let (Some(slot), Ok(share)) = (shares.get_mut(link), share.try_into()) {
                *slot = f64::from_le_bytes(share);
            }
        }
        let network = made.as_ref().map_or_else(|| left_of(&self.nominal, &shares), |made| Arc::clone(&made.network));
        *self.left.borrow_mut() = network;
        if let Some(call) = self.last.take() {
            *self.before.borrow_mut() = Some((call.key, Rc::clone(&call.entry)));
        }
        *self.looked_at.borrow_mut() = None;
        self.asks.set(false);
        self.pace.borrow_mut().restart();
        if let (Some(made), Some(root)) = (made, &self.root) {
            let root = &mut *root.borrow_mut();
            root.steering.take_over();
            root.loads.clear();
            if let Some(counters) = &mut root.counters {
                // Other paths than what was learned.
                counters.loads.clear();
            }
            root.prepared = Some((self.key_on_left(made.key), made.bytes));
            root.tell(&self.nominal);
        }
        Ok(())
    }
}

impl Root {
    /// Whether links are to be probed now, and which. Port counters know of every link.
    fn wants_probes(&mut self, network: &Network, placement: &Placement) -> bool {
        if self.counters.is_some()
            || self.loads.is_empty()
            || !self.probe_pace.is_due(self.began.elapsed().as_secs_f64())
        {
            return false;
        }
        let silent = self.steering.silent();
        if silent.is_empty() {
            return false;
        }
        let shares = self.steering.shares();
        self.probes = choose(network, placement, &silent, |link| shares[link.index()] < 1.0);
        !self.probes.is_empty()
    }

    /// Sees whether the thread has made a plan, and whether it is worth to take over.
    fn collect(&mut self) {
        let Some(making) = self.making.take_if(|making| making.thread.is_finished()) else { return };
        let Making { thread, network, shares, key } = making;
        match thread.join() {
            Ok(Ok(Alternative { bytes, before, after })) if steering::is_worth(before, after) => {
                self.made = Some(Made { network, shares, key, bytes });
            }
            Ok(Ok(Alternative { before, after, .. })) => {
                let (before, after) = (before.congestion_seconds, after.congestion_seconds);
                log::debug!(
                    "another plan would take {after:.6} s in place of {before:.6} s on what is left; the old one stays"
                );
                self.steering.decline();
            }
            Ok(Err(error)) => {
                log::warn!("no plan on what is left of the links: {error}; the old one stays");
                self.steering.decline();
            }
            Err(_) => {
                log::warn!("planning on what is left of the links has failed; the old plan stays");
                self.steering.decline();
            }
        }
    }
}

impl CounterFile {
    /// A call is over after so many seconds, or some have been since the last one; on planned paths if it has a key.
    fn served(&mut self, key: Option<Key>, seconds: Option<f64>) {
        let known = key.and_then(|key| self.loads.iter().find(|(of, _)| *of == key));
        let ended = seconds_of(SystemTime::now());
        let began = seconds.map_or(self.ended, |seconds| ended - seconds);
        self.counting.sent(known.map(|(_, loads)| loads), began, ended);
        self.ended = ended;
    }

    /// What a call of this key sends over each link.
    fn learn(&mut self, key: Key, loads: &[u64]) {
        match self.loads.iter_mut().find(|(of, _)| *of == key) {
            Some((_, known)) if **known == *loads => {}
            Some((_, known)) => *known = loads.into(),
            None => {
                self.loads.truncate(MOST_LOADS - 1);
                self.loads.push_front((key, loads.into()));
            }
        }
    }

    /// What others leave of each link since the last reading; nothing if that cannot be said.
    fn read(&mut self, network: &Network) -> Option<Vec<Option<f64>>> {
        // When it was written is when the counters were read, and that may have been in the midst of a call.
        let written = std::fs::metadata(&self.path).and_then(|data| data.modified());
        let text = text_file::read(&self.path, MOST_COUNTER_BYTES);
        match text.and_then(|text| Reading::parse(&text, network)) {
            Ok(reading) => {
                let at = seconds_of(written.unwrap_or_else(|_| SystemTime::now()));
                self.counting.read(reading, at, network)
            }
            Err(error) => {
                logger::warn_once(&format!("OPTIQ_COUNTERS: {}: {error}; counters are not used", self.path.display()));
                None
            }
        }
    }
}

/// On the clock that files have.
fn seconds_of(time: SystemTime) -> f64 {
    time.duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

impl Root {
    /// Has a thread make a plan.
    fn make(&mut self, planning: Planning, proposal: Proposal, last: &PlannedCall) {
        let shares = proposal.shares.clone();
        let network = Arc::clone(&planning.network);
        let demands: Vec<Demand> = last.entry.demands.clone();
        let key = last.key;
        let run = move || {
            let planned = planning.run(&demands, &Cause::Repeated)?;
            let direct = plan::direct_load(&planning.network, &demands)?;
            let after = match &planned.plan {
                Some(plan) => LinkUse::of(&plan.link_load(&planning.network)?, &direct, &planning.network),
                None => LinkUse::unplanned(),
            };
            Ok(Alternative { bytes: planned.bytes, before: proposal.before(&direct, &planning.network), after })
        };
        match std::thread::Builder::new().name("optiq-plan".into()).spawn(run) {
            Ok(thread) => self.making = Some(Making { thread, network, shares, key }),
            Err(error) => {
                log::warn!("no thread to plan on: {error}; the old plan stays");
                self.steering.decline();
            }
        }
    }

    /// The links that are taken for busy, and what is told of them.
    fn busy(&self, network: &Network) -> Vec<(LinkId, BusyLink)> {
        let now = self.began.elapsed().as_secs_f64();
        let of = |busy: Busy| {
            let link = network.link(busy.link);
            let (from, to) = (network.name(link.from).to_string(), network.name(link.to).to_string());
            (busy.link, BusyLink { from, to, share_left: busy.share, seconds_ago: now - busy.seconds })
        };
        self.steering.busy().into_iter().map(of).collect()
    }

    /// Says in the log, and keeps for the report and in `OPTIQ_BUSY_LINKS`, which links are taken for busy.
    fn tell(&self, network: &Network) {
        let busy = self.busy(network);
        if let Some(path) = &self.busy_file {
            write_busy_links(path, network, &busy);
        }
        let busy: Vec<BusyLink> = busy.into_iter().map(|(_, busy)| busy).collect();
        let list: Vec<String> = busy.iter().map(BusyLink::to_string).collect();
        match list.len() {
            0 => log::info!("all links are taken for free of other load; the plan for that takes over"),
            1 => log::info!("1 link is taken for busy, another plan takes over: {}", list[0]),
            n => log::info!("{n} links are taken for busy, another plan takes over: {}", list.join("; ")),
        }
        busy_links::keep(busy);
    }
}

/// Makes the file that `OPTIQ_BUSY_LINKS` names.
fn write_busy_links(path: &Path, network: &Network, busy: &[(LinkId, BusyLink)]) {
    let of = |(link, busy): &(LinkId, BusyLink)| optiq_net::BusyLink {
        link: *link,
        share_used: 1.0 - busy.share_left.max(LEAST_SHARE),
        since: busy_links::time(busy.seconds_ago),
    };
    let busy: Vec<optiq_net::BusyLink> = busy.iter().map(of).collect();
    if let Err(error) = Background::write_busy_links(path, network, &busy) {
        logger::warn_once(&format!("OPTIQ_BUSY_LINKS: {error}"));
    }
}

/// Links with the share that is left of each, for people.
fn told(network: &Network, left: &[(LinkId, f64)]) -> String {
    let one = |&(link, share): &(LinkId, f64)| {
        let link = network.link(link);
        format!("{} -> {} {:.0} %", network.name(link.from), network.name(link.to), 100.0 * share)
    };
    left.iter().map(one).collect::<Vec<_>>().join(", ")
}

/// What ranks measured, between hosts. Words are (receiver, bytes, nanoseconds), as many as `lengths` says from each rank.
fn between_hosts(placement: &Placement, lengths: &[usize], words: &[u64]) -> Vec<HostLegTime> {
    let mut rest = words;
    let mut legs = Vec::new();
    for (from, &length) in (0..).map(Rank).zip(lengths) {
        let (mine, others) = rest.split_at(length.min(rest.len()));
        rest = others;
        for leg in mine.chunks_exact(3) {
            // A rank that does not exist was measured by a rank that is broken.
            let Some(to) = u32::try_from(leg[0]).ok().filter(|&to| (to as usize) < placement.len()) else { continue };
            let (from, to) = (placement.host(from), placement.host(Rank(to)));
            legs.push(HostLegTime { from, to, bytes: leg[1], seconds: leg[2] as f64 / 1e9 });
        }
    }
    legs
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn news_of_rank_0_are_the_minimum() {
        for bits in 0..16 {
            let news = News { look: bits & 1 > 0, take_over: bits & 2 > 0, insist: bits & 4 > 0, probe: bits & 8 > 0 };
            assert_eq!(News::of_word(news.word().min(News::default().word())), news);
        }
    }

    #[test]
    fn no_load_is_the_network_itself() {
        let network = Arc::new(Network::from_spec("torus:4").unwrap());
        assert!(Arc::ptr_eq(&left_of(&network, &[1.0; 8]), &network));
        let left = left_of(&network, &[1.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]);
        assert_eq!(left.link(LinkId(1)).capacity, 0.5e9);
        assert_ne!(left.fingerprint(), network.fingerprint());
        assert_eq!(left_of(&network, &[1.0, 0.5, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0]).fingerprint(), left.fingerprint());
    }

    #[test]
    fn legs_of_ranks_are_legs_of_hosts() {
        let network = Network::from_spec("torus:4").unwrap();
        let names: Vec<String> = ["h0", "h0", "h1"].map(String::from).to_vec();
        let placement = Placement::new(&network, &names, &optiq_lower::placement::PlacementRule::Auto).unwrap();
        // Rank 1 sends 10 B to rank 2 in 1 us, and something to a rank that does not exist; rank 2 says nothing.
        let legs = between_hosts(&placement, &[0, 6, 0], &[2, 10, 1000, 99, 1, 1]);
        assert_eq!(legs.len(), 1);
        assert_eq!((legs[0].from, legs[0].to, legs[0].bytes), (placement.host(Rank(1)), placement.host(Rank(2)), 10));
        assert!((legs[0].seconds - 1e-6).abs() < 1e-15);
        assert!(between_hosts(&placement, &[3, 3, 3], &[2, 10]).is_empty());
    }
}

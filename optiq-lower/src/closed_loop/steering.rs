//! What is taken for left of each link, from exchange to exchange, and when that has changed enough for another plan.
//!
//! For each link the state is the share of its capacity that is taken for left, 1 at first. An exchange that was looked at *proposes* a share: what
//! the [estimate](super::estimate) gives for a link that is blamed; 1 for one that was taken for busy and reached nearly all of its capacity, for then
//! all is asked anew (what it reached, where that was in vain before); else what it was. A share changes when [`CONFIRMATIONS`] exchanges in a row
//! propose one that is [`CHANGE`] away, and becomes the least that they propose, since what begins in empty queues is faster, in steps of [`STEP`],
//! so that what comes again has the same fingerprint. One exchange in which a rank was late changes nothing.
//!
//! **Late.** From when on a leg is late, follows from the latest leg of each exchange in which nothing was blamed and nothing was in doubt
//! (`quiet.rs`).
//!
//! **Forgetting.** A link that is taken for busy may carry nothing of ours any more, and then no exchange says when its load ends. [Probes](Steering::probed)
//! may ask; where there are none, two rules. When
//! the load of other links changes, it may have moved, and links of which nothing speaks for a load are taken for free again; not if no exchange
//! has confirmed the last change yet, since a load that another one hid shows as soon as a plan avoids that, and a link that was blamed for
//! nothing is found to be free then. And after [`ASK_AGAIN`] exchanges without evidence a link is. If it is found to be busy soon after, it was
//! asked in vain, and the next question waits twice as long, 64 times at most: questions in vain take a vanishing part of the time (the doubling
//! of A. Karlin et al., "Competitive Snoopy Caching", Algorithmica 3, 1988).

use super::estimate::{EarlierExchanges, Estimate, Exchange, estimate};
use super::quiet::Quiet;
use crate::constants::{
    ASK_AGAIN, CHANGE, CONFIRMATIONS, EFFICIENCY_DECAY, EVIDENCE, FREE, LEAST_SHARE, MOST_DOUBLINGS, REPLAN_DETOURS,
    REPLAN_GAIN, SOON, STEP,
};
use optiq_net::{LinkId, LinkLoad, Network};
use optiq_solver::plan;

#[derive(Clone, Copy, Debug)]
struct LinkState {
    /// What is taken for left.
    share: f64,
    /// Exchanges in a row that propose another share, and the least that they propose.
    votes: u32,
    least: f64,
    /// Since which exchange, and which second, it is taken for busy.
    since: (u64, f64),
    /// The exchange in which it was last taken for free again.
    asked: Option<u64>,
    /// Questions in vain, one after the other.
    in_vain: u32,
    /// The last exchange with evidence of it.
    seen: u64,
}

/// A link that is taken for busy.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Busy {
    /// Which.
    pub link: LinkId,
    /// The share of its capacity that is left.
    pub share: f64,
    /// The number of the exchange, of those looked at, since which it is taken for busy.
    pub exchange: u64,
    /// The same in seconds of the clock that [`Steering::observe`] was told.
    pub seconds: f64,
}

/// See the top of the file.
#[derive(Clone, Debug)]
pub struct Steering {
    links: Vec<LinkState>,
    efficiency: Option<f64>,
    quiet: Quiet,
    exchanges: u64,
    /// Shares that were looked into and found not to be worth another plan.
    declined: Option<Vec<f64>>,
    /// Those of a plan that is being made.
    proposed: Option<Vec<f64>>,
    /// An exchange since the last change proposed no other share for any link.
    is_confirmed: bool,
}

/// What an exchange led to.
#[derive(Clone, Debug, PartialEq)]
pub struct Proposal {
    /// By link: the share of its capacity that is taken for left.
    pub shares: Vec<f64>,
    /// By link: the bytes of the exchange, to judge whether another plan is better.
    pub loads: Vec<u64>,
    /// Counters show that no link is busy any more.
    pub all_free: bool,
}

/// What a plan asks of the links.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LinkUse {
    /// Its link bound on what is left of the links, in seconds; infinite for what no plan serves.
    pub congestion_seconds: f64,
    /// The bytes on all links beyond those of the fabric's own routes: what is forwarded crosses more links.
    pub detour_bytes: u64,
}

impl LinkUse {
    /// Of a plan that loads the links of `left` so; `direct` are the loads by the fabric's own routes.
    pub fn of(load: &LinkLoad, direct: &LinkLoad, left: &Network) -> Self {
        let sum = |load: &LinkLoad| load.bytes.iter().sum::<u64>();
        Self { congestion_seconds: plan::congestion(left, load), detour_bytes: sum(load).saturating_sub(sum(direct)) }
    }

    /// Of what no plan serves.
    pub fn unplanned() -> Self {
        Self { congestion_seconds: f64::INFINITY, detour_bytes: u64::MAX }
    }
}

impl Proposal {
    /// What another plan is to be [worth](is_worth) more than: the exchange as it went, on what is left of the links by
    /// [`left_of`]; `direct` as in [`LinkUse::of`]. Where counters show that no link is busy any more, any plan for that is.
    pub fn before(&self, direct: &LinkLoad, left: &Network) -> LinkUse {
        if self.all_free {
            return LinkUse::unplanned();
        }
        let mut load = LinkLoad::empty(left);
        load.bytes.clone_from(&self.loads);
        LinkUse::of(&load, direct, left)
    }
}

/// What these shares, by link, leave of `network`, whose capacities are nominal.
pub fn left_of(network: &Network, shares: &[f64]) -> Network {
    let used = network.links().iter().zip(shares).map(|(l, share)| l.capacity * (1.0 - share));
    network.clone().with_measured_load(&used.collect::<Vec<f64>>(), LEAST_SHARE)
}

/// Whether a plan is enough better than the one `before` it to take over: by its link bound, or, where that is not worse, by its detours. Forwarding takes
/// time of which no link bound says anything: of hosts, and until the last chunk has come through all of its legs.
pub fn is_worth(before: LinkUse, planned: LinkUse) -> bool {
    before.congestion_seconds >= REPLAN_GAIN * planned.congestion_seconds
        || before.congestion_seconds >= planned.congestion_seconds
            && before.detour_bytes > planned.detour_bytes
            && before.detour_bytes as f64 >= REPLAN_DETOURS * planned.detour_bytes as f64
}

fn stepped(share: f64) -> f64 {
    ((share / STEP).round() * STEP).clamp(LEAST_SHARE, 1.0)
}

impl Steering {
    /// For a network of this many links, of which nothing is known.
    pub fn new(links: usize) -> Self {
        let state = LinkState { share: 1.0, votes: 0, least: 1.0, since: (0, 0.0), asked: None, in_vain: 0, seen: 0 };
        Self {
            links: vec![state; links],
            efficiency: None,
            quiet: Quiet::default(),
            exchanges: 0,
            declined: None,
            proposed: None,
            is_confirmed: true,
        }
    }

    /// By link: the share of its capacity that is taken for left.
    pub fn shares(&self) -> Vec<f64> {
        self.links.iter().map(|l| l.share).collect()
    }

    /// Whether the last exchange proposed something that is not confirmed.
    pub fn is_in_doubt(&self) -> bool {
        self.proposed.is_none() && self.links.iter().any(|l| l.votes > 0 && l.votes < CONFIRMATIONS)
    }

    /// The links that are taken for busy, ascending.
    pub fn busy(&self) -> Vec<Busy> {
        let of = |(i, l): (usize, &LinkState)| {
            let (exchange, seconds) = l.since;
            (l.share < 1.0).then_some(Busy { link: LinkId(i as u32), share: l.share, exchange, seconds })
        };
        self.links.iter().enumerate().filter_map(of).collect()
    }

    /// An exchange on planned paths over `network`, whose capacities are nominal, at second `now` of any clock. Something if another plan is worth a
    /// look; the caller then says what came of it, by [`Steering::take_over`] or [`Steering::decline`].
    pub fn observe(&mut self, network: &Network, exchange: &Exchange, now: f64) -> Option<Proposal> {
        let assumed = self.shares();
        let earlier =
            EarlierExchanges { efficiency: self.efficiency.map(|f| f * EFFICIENCY_DECAY), late: self.quiet.late() };
        let voted = |link: LinkId| self.links[link.index()].votes > 0 || assumed[link.index()] < 1.0;
        let found = estimate(network, &assumed, earlier, exchange, voted);
        self.efficiency = found.efficiency.or(self.efficiency);
        let worth = |link: usize| {
            let ideal = found.loads[link] as f64 / network.links()[link].capacity / assumed[link];
            ideal >= exchange.planned_seconds * EVIDENCE
        };
        let fresh: Vec<bool> = (0..assumed.len()).map(worth).collect();
        let proposals = self.proposals(&found, &fresh);
        // What gave clearly more than was taken for left does not speak for a load.
        let loaded = |i: usize| fresh[i] && found.reached[i].is_none_or(|reached| reached < assumed[i] + CHANGE);
        let loaded: Vec<bool> = (0..assumed.len()).map(loaded).collect();
        let proposal = self.count(&proposals, &fresh, &loaded, now, found.loads);
        if found.efficiency.is_some() && found.slow.is_empty() && self.links.iter().all(|l| l.votes == 0) {
            self.quiet.saw(found.latest);
        }
        proposal
    }

    /// Port counters say what others leave of each link, as a share of its capacity; nothing for a link that they do not say anything of. As
    /// [`Steering::observe`]; `loads` are the bytes of the last exchange.
    pub fn counted(&mut self, left: &[Option<f64>], loads: Vec<u64>, now: f64) -> Option<Proposal> {
        let proposals: Vec<f64> = self
            .links
            .iter()
            .zip(left)
            .map(|(l, left)| left.map_or(l.share, |share| share.clamp(LEAST_SHARE, 1.0)))
            .collect();
        let fresh: Vec<bool> = left.iter().map(Option::is_some).collect();
        let mut proposal = self.count(&proposals, &fresh, &fresh, now, loads)?;
        // A link that lacks less than a change would never be free by itself.
        proposal.all_free = proposals.iter().all(|&share| share > 1.0 - CHANGE);
        if proposal.all_free {
            proposal.shares.fill(1.0);
            self.proposed = Some(proposal.shares.clone());
        }
        Some(proposal)
    }

    /// Busy links of which no exchange says any more whether their load is still there: probes may ask. None while something is in doubt.
    pub fn silent(&self) -> Vec<LinkId> {
        if self.proposed.is_some() || self.links.iter().any(|l| l.votes > 0) {
            return Vec::new();
        }
        let is_silent = |l: &LinkState| l.share < 1.0 && self.exchanges - l.seen >= u64::from(CONFIRMATIONS);
        (0..).map(LinkId).zip(&self.links).filter(|(_, l)| is_silent(l)).map(|(link, _)| link).collect()
    }

    /// Probes say what is left of these links, as a share of the capacity of each. As [`Steering::observe`], with the bytes of the last exchange. A probe
    /// tells a link without load from one with a load, and not how much is left: what is as short as a probe finds room in queues, and reached half of a link
    /// of which a quarter was left.
    pub fn probed(&mut self, left: &[(LinkId, f64)], loads: Vec<u64>, now: f64) -> Option<Proposal> {
        let mut proposals = self.shares();
        let mut fresh = vec![false; proposals.len()];
        for &(link, share) in left {
            if share >= FREE {
                proposals[link.index()] = 1.0;
            }
            fresh[link.index()] = true;
        }
        // Nothing is said of the other links, so nothing is forgotten of them.
        let loaded = vec![true; proposals.len()];
        self.count(&proposals, &fresh, &loaded, now, loads)
    }

    /// What an exchange proposes for each link.
    fn proposals(&self, found: &Estimate, fresh: &[bool]) -> Vec<f64> {
        let slow = |i: usize| found.slow.iter().find(|(link, _)| link.index() == i).map(|s| s.1.max(LEAST_SHARE));
        let proposal = |(i, l): (usize, &LinkState)| match (slow(i), found.reached[i]) {
            // A link that is blamed gives less than was taken for left, or blaming it explains nothing.
            (Some(share), _) => share.min(l.share),
            (None, Some(reached)) if fresh[i] && l.share < 1.0 && reached >= FREE.max(l.share + CHANGE).min(1.0) => {
                if l.in_vain == 0 { 1.0 } else { reached }
            }
            _ => l.share,
        };
        self.links.iter().enumerate().map(proposal).collect()
    }

    /// Counts votes, and forgets. Of links that are `fresh` there is evidence, and of those that are `loaded` it speaks for a load.
    fn count(
        &mut self,
        proposals: &[f64],
        fresh: &[bool],
        loaded: &[bool],
        now: f64,
        loads: Vec<u64>,
    ) -> Option<Proposal> {
        self.exchanges += 1;
        let number = self.exchanges;
        let mut shares = self.shares();
        let mut changed = false;
        for ((l, &proposed), share) in self.links.iter_mut().zip(proposals).zip(&mut shares) {
            if (proposed - l.share).abs() < CHANGE {
                (l.votes, l.least) = (0, 1.0);
                continue;
            }
            (l.votes, l.least) = (l.votes + 1, l.least.min(proposed));
            if l.votes >= CONFIRMATIONS {
                *share = stepped(l.least);
                changed = true;
            }
        }
        let moved = changed && self.is_confirmed;
        self.is_confirmed |= self.links.iter().all(|l| l.votes == 0);
        for (i, l) in self.links.iter_mut().enumerate() {
            if fresh[i] {
                l.seen = number;
            }
            let waits = ASK_AGAIN << l.in_vain;
            let due = (!fresh[i] && number - l.seen >= waits) || (!loaded[i] && moved && l.in_vain == 0);
            if l.share < 1.0 && l.votes == 0 && due {
                shares[i] = 1.0;
                changed = true;
            }
        }
        let known = |list: &Option<Vec<f64>>| list.as_ref() == Some(&shares);
        if !changed || self.proposed.is_some() || known(&self.declined) {
            return None;
        }
        self.note_time(&shares, now);
        self.proposed = Some(shares.clone());
        Some(Proposal { shares, loads, all_free: false })
    }

    /// Since when links are taken for busy counts from when that was noticed.
    fn note_time(&mut self, shares: &[f64], now: f64) {
        for (l, &share) in self.links.iter_mut().zip(shares) {
            if share < 1.0 && l.share >= 1.0 {
                l.since = (self.exchanges, now);
            }
        }
    }

    /// A plan for the proposed shares serves from now on.
    pub fn take_over(&mut self) {
        let Some(shares) = self.proposed.take() else { return };
        let number = self.exchanges;
        for (l, share) in self.links.iter_mut().zip(shares) {
            if share >= 1.0 && l.share < 1.0 {
                l.asked = Some(number);
            } else if share < 1.0 && l.share >= 1.0 {
                let vain = l.asked.take().is_some_and(|asked| number - asked <= SOON);
                l.in_vain = if vain { (l.in_vain + 1).min(MOST_DOUBLINGS) } else { 0 };
                l.seen = number;
            }
            (l.share, l.votes, l.least) = (share, 0, 1.0);
        }
        self.declined = None;
        self.is_confirmed = false;
    }

    /// No plan for the proposed shares is enough better.
    pub fn decline(&mut self) {
        self.declined = self.proposed.take();
        self.links.iter_mut().for_each(|l| (l.votes, l.least) = (0, 1.0));
    }
}

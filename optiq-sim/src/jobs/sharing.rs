//! A certificate from routes alone: which links two jobs share, and when they cannot slow each other.
//!
//! # The theorem
//!
//! Let two jobs have no host in common, let every packet's route be a function of its source and destination, and let no
//! physical link (terminal links included) be on a route of both. Then what happens to each job, to the picosecond, does not
//! depend on whether the other is there.
//!
//! *Proof.* Call the *places* of a job the physical links on its routes with all that belongs to them: at a link's beginning
//! the time until which it is busy, the requests for it, the round robin pointer over these and the credits; at its end the
//! buffers of its virtual channels, and the time until which these are read; and the memory, queues and processors of its
//! hosts. The places of the two jobs are disjoint. What happens next at a place depends only on places of the same job:
//!
//! - *A link sends* when it is free, by the requests for it, by whether the inputs of these can be read, and by the credits of
//!   the buffer at its own end (`shard/arbitration.rs`). Requests come from the heads of buffers of links that come before it
//!   on some route, so these links are the same job's. Round robin goes around the inputs that request *this* link; who has no
//!   request is skipped and leaves no trace. By age or arrival, only packets that request this link are compared, and only
//!   these wait for each other.
//! - *A buffer* belongs to one virtual channel of one link: a packet waits behind others only in a buffer that both entered by
//!   the same link. There is no buffer that the inputs or the outputs of a router share, so two flows that share no link share
//!   no buffer; credits count one such buffer, and come back to the link that they are for. So back-pressure, too, goes from a
//!   link only to links before it on a route.
//! - *A crossbar* does not couple what differs at both ends. An output serves any input while another output serves another
//!   input. An input is read `input_speedup` times as fast as a link and once at a time, which couples flows that came by the
//!   same link. Routers with a clock match inputs and outputs in two separable steps: a port chooses among the ports that
//!   request it, and its pointer moves when it is matched; both ends of a request are of one job, so the matching is the union
//!   of those of the jobs.
//! - *Hosts* send and receive for their own job only. On a network whose hosts are joined directly, what passes a host's
//!   router touches neither its memory's channels nor its processor.
//!
//! Induction over events gives the claim. Random numbers do not spoil it: every process draws from a stream of its own. ∎
//!
//! # Where it does not hold
//!
//! - Where routers choose, a choice looks at all outputs of a router, so that jobs move each other: what is found is an
//!   estimate over shortest paths, and never a certificate. So is what random directions around rings (`ties = "random"`)
//!   allow.
//! - Jobs on one host share its queues and its link. Then nothing is certified, whatever their routes are.
//! - Real switches may have buffers that several ports share, and real hosts may wait for an operating system. The theorem is
//!   about the network as it is modelled; buffers of each port, as InfiniBand's credits count them, are what it needs.
//!
//! The reverse does not hold: jobs that share a link slow each other only if they are there at the same time.

use crate::error::SimError;
use crate::jobs::link_use::{HostFlows, LinkUse, Walk, Walker};
use crate::model::{Model, Ties};
use crate::router::policy::Policy;
use optiq_net::{LinkId, Network, NodeId};

/// The part of a job's bytes on its busiest link from which on it has much on a link. Below are confirmations of a few bytes,
/// which is not noticed.
pub const MUCH: f64 = 0.01;

/// What a result rests on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Basis {
    /// Routes that are functions of source and destination.
    Routes,
    /// Routers choose: shortest paths, each as likely.
    AdaptiveEstimate,
    /// Directions around rings are drawn: shortest paths, each as likely.
    TiesEstimate,
}

impl Basis {
    /// What routing and model allow.
    pub fn of(network: &Network, routing: Policy, model: &Model) -> Self {
        let draws = model.router.ties == Ties::Random && network.geometry().grid().is_some();
        match routing.on(network) {
            Policy::Fabric if draws => Basis::TiesEstimate,
            Policy::Fabric => Basis::Routes,
            _ => Basis::AdaptiveEstimate,
        }
    }

    /// Whether a certificate can follow.
    pub fn is_exact(self) -> bool {
        self == Basis::Routes
    }
}

/// A job as the certificate sees it: its hosts, and its bytes on links.
#[derive(Clone, Debug)]
pub struct JobTraffic {
    /// All hosts, ascending, each once.
    hosts: Vec<NodeId>,
    used: LinkUse,
}

impl JobTraffic {
    /// The bytes between different hosts.
    pub fn bytes(&self) -> f64 {
        self.used.total
    }

    /// How many physical links it may use.
    pub fn links(&self) -> usize {
        self.used.bytes.iter().filter(|&&b| b > 0.0).count()
    }

    /// Its hosts, ascending.
    pub fn hosts(&self) -> &[NodeId] {
        &self.hosts
    }
}

/// A physical link that both jobs may use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedLink {
    /// The link, or bundle of parallel ones.
    pub link: LinkId,
    /// Which of them.
    pub lane: u32,
    /// The bytes of both jobs on it.
    pub bytes: [f64; 2],
}

/// What two jobs have in common.
#[derive(Clone, Debug, PartialEq)]
pub struct Sharing {
    /// What it rests on.
    pub basis: Basis,
    /// Hosts of both, ascending.
    pub hosts: Vec<NodeId>,
    /// Physical links of both, the ones with the most bytes first.
    pub links: Vec<SharedLink>,
    /// Of each job, the bytes that pass a shared link.
    pub passing: [f64; 2],
    /// Of each job, the bytes that pass a link on which the other job has much: [`MUCH`] of what it has on its busiest link.
    pub passing_much: [f64; 2],
    /// Of each job, all bytes.
    pub total: [f64; 2],
}

impl Sharing {
    /// Whether the jobs cannot slow each other: see the top of the file.
    pub fn is_certified(&self) -> bool {
        self.basis.is_exact() && self.hosts.is_empty() && self.links.is_empty()
    }

    /// Of each job, the part of its bytes that passes a shared link, from 0 to 1.
    pub fn parts(&self) -> [f64; 2] {
        [0, 1].map(|i| part(self.passing[i], self.total[i]))
    }

    /// Of each job, the part of its bytes that passes a link with much of the other job, from 0 to 1.
    pub fn parts_much(&self) -> [f64; 2] {
        [0, 1].map(|i| part(self.passing_much[i], self.total[i]))
    }
}

fn part(of: f64, all: f64) -> f64 {
    if all > 0.0 { (of / all).min(1.0) } else { 0.0 }
}

/// Finds what jobs on one network share.
#[derive(Debug)]
pub struct Certifier<'n> {
    walker: Walker<'n>,
    basis: Basis,
}

impl<'n> Certifier<'n> {
    /// For a network whose packets are routed so.
    pub fn new(network: &'n Network, routing: Policy, model: &Model) -> Self {
        let basis = Basis::of(network, routing, model);
        let walk = if basis.is_exact() { Walk::Routes } else { Walk::ShortestPaths };
        Self { walker: Walker::new(network, walk), basis }
    }

    /// What results rest on.
    pub fn basis(&self) -> Basis {
        self.basis
    }

    /// Follows the flows of a job on these hosts.
    ///
    /// # Errors
    /// HostFlows between hosts without a route.
    pub fn job(&mut self, mut hosts: Vec<NodeId>, flows: Vec<HostFlows>) -> Result<JobTraffic, SimError> {
        hosts.sort_unstable();
        hosts.dedup();
        Ok(JobTraffic { hosts, used: self.walker.follow(flows)? })
    }

    /// What two jobs share.
    ///
    /// # Errors
    /// As [`Certifier::job`].
    pub fn pair(&mut self, a: &JobTraffic, b: &JobTraffic) -> Result<Sharing, SimError> {
        let set: Vec<bool> = a.used.bytes.iter().zip(&b.used.bytes).map(|(a, b)| *a > 0.0 && *b > 0.0).collect();
        let place = |i: usize| {
            let (link, lane) = self.walker.links.place(i);
            SharedLink { link, lane, bytes: [a.used.bytes[i], b.used.bytes[i]] }
        };
        let mut links: Vec<SharedLink> = (0..set.len()).filter(|&i| set[i]).map(place).collect();
        let most = |l: &SharedLink| l.bytes[0] + l.bytes[1];
        links.sort_by(|x, y| most(y).total_cmp(&most(x)).then_with(|| (x.link, x.lane).cmp(&(y.link, y.lane))));
        let (mut passing, mut passing_much) = ([0.0; 2], [0.0; 2]);
        if !links.is_empty() {
            for (i, (job, other)) in [(a, b), (b, a)].into_iter().enumerate() {
                let least = MUCH * other.used.bytes.iter().copied().fold(0.0, f64::max);
                let of = |(&is_shared, &bytes): (&bool, &f64)| match is_shared {
                    false => 0,
                    true => 1 | u8::from(bytes >= least) << 1,
                };
                let sets: Vec<u8> = set.iter().zip(&other.used.bytes).map(of).collect();
                [passing[i], passing_much[i]] = self.walker.passing(&job.used, &sets)?;
            }
        }
        let hosts = a.hosts.iter().copied().filter(|h| b.hosts.binary_search(h).is_ok()).collect();
        Ok(Sharing { basis: self.basis, hosts, links, passing, passing_much, total: [a.used.total, b.used.total] })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::jobs::placement::{Choice, Placement, ServerPlacement};
    use crate::jobs::sites::Sites;
    use optiq_net::random::SplitMix64;
    use std::collections::BTreeSet;

    /// The machine of document 000: 72 servers, 612 clients, 612 MPI ranks.
    struct Brown {
        network: Network,
        servers: Vec<NodeId>,
        clients: Vec<NodeId>,
        /// Fixed random pairs, as (source, destination).
        pairs: Vec<(NodeId, NodeId)>,
    }

    impl Brown {
        fn new(placement: &str, servers: &str, seed: u64) -> Self {
            let network = Network::from_spec("fattree:brown1296").unwrap();
            let sites = Sites::new(&network);
            let (mut usable, mut clients) = (vec![true; 1296], vec![false; 1296]);
            let mut rng = SplitMix64::new(seed);
            let rule = ServerPlacement::parse(servers).unwrap();
            let choice = Choice { network: &network, sites: &sites, usable: &usable, clients: &clients };
            let servers = choice.place_servers(&rule, &mut rng).unwrap();
            servers.iter().for_each(|h| usable[h.index()] = false);
            let mut jobs = Vec::new();
            for _ in 0..2 {
                let choice = Choice { network: &network, sites: &sites, usable: &usable, clients: &clients };
                let hosts = choice.place(&Placement::parse(placement).unwrap(), Some(612), &mut rng).unwrap();
                hosts.iter().for_each(|h| (usable[h.index()], clients[h.index()]) = (false, true));
                jobs.push(hosts);
            }
            let (io, mut mpi) = (jobs.pop().unwrap(), jobs.pop().unwrap());
            for i in (1..mpi.len()).rev() {
                mpi.swap(i, rng.below(i as u64 + 1) as usize);
            }
            let pairs = mpi.chunks(2).flat_map(|p| [(p[0], p[1]), (p[1], p[0])]).collect();
            Self { network, servers, clients: io, pairs }
        }

        /// What MPI and writes share.
        fn sharing(&self) -> Sharing {
            let mut certifier = Certifier::new(&self.network, Policy::Fabric, &Model::default());
            let mpi = self.pairs.iter().map(|&(a, b)| (a, b, 1.0)).collect();
            let hosts = self.pairs.iter().map(|p| p.0).collect();
            let mpi = certifier.job(hosts, vec![HostFlows::Pairs(mpi)]).unwrap();
            let io = HostFlows::All { from: self.clients.clone(), to: self.servers.clone(), bytes: 1.0 };
            let io = certifier.job([self.clients.clone(), self.servers.clone()].concat(), vec![io]).unwrap();
            certifier.pair(&mpi, &io).unwrap()
        }

        /// The same by arithmetic. With random-switch no leaf has hosts of both, and a channel down leads to one host only. So
        /// only the port from level 2 up can be shared: it is that of source pod, place of the destination in its leaf and
        /// of its leaf in its pod. (Both pass it only if they leave the pod.)
        fn by_arithmetic(&self) -> f64 {
            let port = |src: NodeId, dst: NodeId| {
                let (pod, to) = (src.0 / 324, dst.0 / 324);
                (pod != to).then_some((pod, dst.0 % 18, dst.0 / 18 % 18))
            };
            let io: BTreeSet<_> =
                self.clients.iter().flat_map(|&c| self.servers.iter().filter_map(move |&s| port(c, s))).collect();
            let meet = |&&(a, b): &&(NodeId, NodeId)| port(a, b).is_some_and(|port| io.contains(&port));
            self.pairs.iter().filter(meet).count() as f64
        }
    }

    /// Claim B16 and what `systems.md` computes from the routing: none if the I/O leaves are congruent modulo 18; 2.6 % (16 of
    /// 612 flows) with adjacent ones and 11 % (67) with random ones in one draw each. Which leaves MPI has is drawn, so these
    /// are values of a distribution: with adjacent leaves, four of 68 leaves have an I/O leaf's place, half of them are MPI's,
    /// and three of four flows to them leave their pod: 4.4 % on average; with four random places twelve leaves have one, and
    /// a third of their flows comes from a pod of the server: 8.8 %.
    #[test]
    fn shares_of_flows_by_the_place_of_io_leaves() {
        for (servers, mean, published) in [
            ("isolated-target:72:congruent", 0.0, 0.0),
            ("isolated-target:72:adjacent", 2.0 / 34.0 * 0.75, 16.0 / 612.0),
            ("isolated-target:72:random", 6.0 / 34.0 * 0.75 * 2.0 / 3.0, 67.0 / 612.0),
        ] {
            let mut parts = Vec::new();
            for seed in 0..24 {
                let brown = Brown::new("random-switch", servers, seed);
                let sharing = brown.sharing();
                assert_eq!(sharing.passing[0], brown.by_arithmetic(), "{servers} seed {seed}");
                assert_eq!(sharing.is_certified(), sharing.passing[0] == 0.0);
                parts.push(sharing.parts()[0]);
            }
            let found = parts.iter().sum::<f64>() / parts.len() as f64;
            let [least, most] = [f64::min, f64::max].map(|of| parts.iter().copied().reduce(of).unwrap());
            println!("{servers}: mean {found:.4} of {mean:.4}, {least:.4} to {most:.4}");
            assert!((found - mean).abs() <= 0.25 * mean, "{servers}: {found} in place of {mean}");
            assert!(least <= published && published <= most, "{servers}: {published} in {least} to {most}");
        }
    }

    /// Claim B17: servers on the last port of each leaf are reached by 4 of the 72 level-2 switches, the eighteenth of each
    /// pod.
    #[test]
    fn spread_servers_use_four_level_2_switches_downward() {
        for (servers, expected) in [("spread-target:72", 4), ("isolated-target:72", 72)] {
            let brown = Brown::new("random-node", servers, 1);
            let mut walker = Walker::new(&brown.network, Walk::Routes);
            let io = HostFlows::All { from: brown.clients.clone(), to: brown.servers.clone(), bytes: 1.0 };
            let used = walker.follow(vec![io]).unwrap();
            let shape = brown.network.switched_shape().unwrap();
            let down = (0..used.bytes.len()).filter(|&i| used.bytes[i] > 0.0).filter_map(|i| {
                let link = brown.network.link(walker.links.place(i).0);
                (shape.level(link.from) == 2 && shape.level(link.to) == 1).then_some(link.from)
            });
            assert_eq!(down.collect::<BTreeSet<_>>().len(), expected, "{servers}");
        }
    }

    #[test]
    fn what_cannot_be_certified() {
        let network = Network::from_spec("fattree:2x2:1x2").unwrap();
        let model = Model::default();
        let [a, b, c, d] = [0, 1, 2, 3].map(NodeId);
        let all = |hosts: &[NodeId]| vec![HostFlows::All { from: hosts.to_vec(), to: hosts.to_vec(), bytes: 1.0 }];
        let verdict = |routing, hosts: [&[NodeId]; 2]| {
            let mut certifier = Certifier::new(&network, routing, &model);
            let jobs = hosts.map(|hosts| certifier.job(hosts.to_vec(), all(hosts)).unwrap());
            let sharing = certifier.pair(&jobs[0], &jobs[1]).unwrap();
            (sharing.is_certified(), sharing.links.len(), sharing.hosts.len(), sharing.parts())
        };
        // Each on a leaf: no link in common. Across both leaves d-mod-k takes spine 0 for even hosts and 1 for odd ones.
        assert_eq!(verdict(Policy::Fabric, [&[a, b], &[c, d]]), (true, 0, 0, [0.0, 0.0]));
        assert_eq!(verdict(Policy::Fabric, [&[a, c], &[b, d]]), (true, 0, 0, [0.0, 0.0]));
        // 0 and 3 on one, 1 and 2 on the other: to 2 and to 0 over spine 0, but from different leaves and to different
        // ones; on the way to 3 and to 1 likewise.
        assert_eq!(verdict(Policy::Fabric, [&[a, d], &[b, c]]), (true, 0, 0, [0.0, 0.0]));
        // The same host: never, even without a link.
        assert!(!verdict(Policy::Fabric, [&[a, b], &[b]]).0);
        assert_eq!(verdict(Policy::Fabric, [&[a, b], &[b]]).2, 1);
        // Routers choose: half of what leaves a leaf is as likely to meet the other job, and nothing is certain.
        assert_eq!(verdict(Policy::AdaptiveUp, [&[a, b], &[c, d]]), (false, 0, 0, [0.0, 0.0]));
        assert_eq!(verdict(Policy::AdaptiveUp, [&[a, c], &[b, d]]), (false, 8, 0, [1.0, 1.0]));
        // Rings whose directions are drawn.
        let ring = Network::from_spec("torus:4x4").unwrap();
        let mut random = Model::default();
        random.router.ties = Ties::Random;
        assert_eq!(Basis::of(&ring, Policy::Fabric, &random), Basis::TiesEstimate);
        assert_eq!(Basis::of(&network, Policy::Fabric, &random), Basis::Routes);
    }
}

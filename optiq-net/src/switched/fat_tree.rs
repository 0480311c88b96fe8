//! Parallel-ports generalised fat trees and modulo routing.
//!
//! XGFT(h; m_1..m_h; w_1..w_h) (Öhring, Ibel, Das, Kumar: On Generalized Fat Trees, IPPS 1995): hosts are level 0; a
//! vertex of level i has m_i children and a vertex of level i - 1 has w_i parents. With p_i parallel cables between a
//! child of level i - 1 and each of its parents this is PGFT(h; m; w; p) (Zahavi: Fat-Trees Routing and Node Ordering
//! Providing Contention Free Traffic for MPI Global Collectives, 2011), which real trees of switches with a fixed
//! number of ports need when they are not of full size.
//!
//! With M_i = m_1 ... m_i and W_i = w_1 ... w_i, vertex (A, B) of level i stands above the hosts A M_i .. (A + 1) M_i
//! and is numbered A W_i + B within its level. Its parents are (A / m_{i+1}, B + b W_i) for b below w_{i+1}.
//!
//! d-mod-k sends from level i towards host d up through port floor(d / W_i) mod (w_{i+1} p_{i+1}), which belongs to
//! parent b = port mod w_{i+1}; s-mod-k takes the number of the source instead (Rodriguez et al.: Oblivious Routing
//! Schemes in Extended Generalized Fat Tree Networks, 2009). The way down is the only one there is. Zahavi proves that
//! d-mod-k is free of contention for every shift of all hosts on trees of full bisection with single-ported hosts:
//! w_{i+1} p_{i+1} = m_i for every level i of switches but the highest.
//!
//! With R rails there are R mirrored planes of switches, wired and routed alike, and every host has its w_1 p_1 cables
//! in each of them. A packet stays in the plane that it is sent into. The fabric's own route takes plane d mod R under
//! d-mod-k and plane s mod R under s-mod-k; software may send into any other ([`crate::network::Network::route_by_port`]).
//! Whichever plane each packet takes, a shift of all hosts stays free of contention: every plane carries a part of
//! what a tree of one rail carries without.

use crate::switched::cables::{Cable, Class, check_size, product};

/// The most levels above the hosts.
const MAX_LEVELS: usize = 16;

/// The most mirrored planes of switches.
const MAX_RAILS: u32 = 64;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FatTree {
    /// `children[i]` is m_{i+1}; `parents` and `parallel` likewise.
    children: Vec<u32>,
    parents: Vec<u32>,
    parallel: Vec<u32>,
    /// `below[i]` is M_i, `across[i]` is W_i.
    below: Vec<u32>,
    across: Vec<u32>,
    /// `first[i]..first[i + 1]` are the vertices of level i; of switches, those of plane 0.
    first: Vec<u32>,
    /// Of each vertex of plane 0 its level, A and B.
    places: Vec<(u32, u32, u32)>,
    /// Planes of switches. Those of plane r follow those of plane r - 1, in the same order.
    rails: u32,
}

impl FatTree {
    pub fn new(children: Vec<u32>, parents: Vec<u32>, parallel: Vec<u32>, rails: u32) -> Result<Self, String> {
        let levels = children.len();
        if levels == 0 || levels > MAX_LEVELS {
            return Err(format!("a fat tree of {levels} levels; 1 to {MAX_LEVELS} are expected"));
        }
        if parents.len() != levels || parallel.len() != levels {
            return Err(format!(
                "{levels} levels of children, {} of parents and {} of parallel cables; equally many are expected",
                parents.len(),
                parallel.len()
            ));
        }
        if rails == 0 || rails > MAX_RAILS {
            return Err(format!("a fat tree of {rails} rails; 1 to {MAX_RAILS} are expected"));
        }
        let level_size = |i: usize| product(children[i..].iter().chain(&parents[..i]).copied());
        let switches = (1..=levels).fold(0u64, |sum, i| sum.saturating_add(level_size(i)));
        let vertices = level_size(0).saturating_add(switches.saturating_mul(rails.into()));
        let cables =
            (0..levels).fold(0u64, |sum, i| sum.saturating_add(level_size(i).saturating_mul(parents[i].into())));
        check_size(vertices, cables.saturating_mul(2).saturating_mul(rails.into()))?;
        if let Some(p) = parallel.iter().find(|&&p| p > 1 << 16) {
            return Err(format!("{p} parallel cables between two switches; at most {} are supported", 1 << 16));
        }
        let prefix = |of: &[u32]| {
            let mut products = vec![1u32];
            products.extend((1..=levels).map(|i| product(of[..i].iter().copied()) as u32));
            products
        };
        let mut first = vec![0u32];
        first.extend((0..=levels).scan(0u32, |sum, i| {
            *sum += level_size(i) as u32;
            Some(*sum)
        }));
        let across = prefix(&parents);
        let place = |level: usize, i: u32| (level as u32, i / across[level], i % across[level]);
        let places = (0..=levels).flat_map(|level| (0..level_size(level) as u32).map(move |i| (level, i)));
        let places = places.map(|(level, i)| place(level, i)).collect();
        Ok(FatTree { below: prefix(&children), across, first, places, children, parents, parallel, rails })
    }

    /// The classical three-level tree of `k`-port switches with k^3 / 4 hosts (Al-Fares, Loukissas, Vahdat 2008).
    pub fn classical(k: u32, rails: u32) -> Result<Self, String> {
        if k < 2 || !k.is_multiple_of(2) {
            return Err(format!("found k={k}; an even number of ports per switch, at least 2, is expected"));
        }
        Self::new(vec![k / 2, k / 2, k], vec![1, k / 2, k / 2], vec![1; 3], rails)
    }

    /// Children, parents and parallel cables per level.
    pub fn shape(&self) -> [&[u32]; 3] {
        [&self.children, &self.parents, &self.parallel]
    }

    pub fn rails(&self) -> u32 {
        self.rails
    }

    /// A tree of one rail has the words that it had before there were rails.
    pub fn words(&self) -> Vec<u32> {
        let mut words = self.shape().concat();
        words.extend((self.rails > 1).then_some(self.rails));
        words
    }

    fn levels(&self) -> usize {
        self.children.len()
    }

    pub fn hosts(&self) -> u32 {
        self.first[1]
    }

    pub fn vertices(&self) -> u32 {
        self.hosts() + self.rails * self.switches()
    }

    /// Switches of one plane.
    fn switches(&self) -> u32 {
        self.first[self.levels() + 1] - self.hosts()
    }

    /// Plane (0 for a host), level, A and B of a vertex.
    fn place(&self, v: u32) -> (u32, usize, u32, u32) {
        let plane = if self.rails == 1 { 0 } else { v.saturating_sub(self.hosts()) / self.switches() };
        let (level, a, b) = self.places[(v - plane * self.switches()) as usize];
        (plane, level as usize, a, b)
    }

    fn vertex(&self, plane: u32, level: usize, a: u32, b: u32) -> u32 {
        let plane = if level == 0 { 0 } else { plane };
        plane * self.switches() + self.first[level] + a * self.across[level] + b
    }

    fn parent(&self, (plane, level, a, b): (u32, usize, u32, u32), which: u32) -> u32 {
        self.vertex(plane, level + 1, a / self.children[level], b + which * self.across[level])
    }

    /// The level of a vertex; hosts are level 0.
    pub fn level(&self, v: u32) -> u32 {
        self.place(v).1 as u32
    }

    /// Whether `host` is below `v`, or is `v`.
    pub fn covers(&self, v: u32, host: u32) -> bool {
        let (_, level, a, _) = self.place(v);
        host / self.below[level] == a
    }

    pub fn first_host(&self, v: u32) -> u32 {
        let (_, level, a, _) = self.place(v);
        a * self.below[level]
    }

    pub fn cables(&self) -> Vec<Cable> {
        let mut cables = Vec::new();
        for v in 0..self.vertices() {
            let (plane, level, a, b) = self.place(v);
            if level == self.levels() {
                continue;
            }
            let (class, planes) = match level {
                0 => (Class::Terminal, 0..self.rails),
                _ => (Class::Local, plane..plane + 1),
            };
            for plane in planes {
                for which in 0..self.parents[level] {
                    cables.push((v, self.parent((plane, level, a, b), which), self.parallel[level], class));
                }
            }
        }
        cables
    }

    pub fn next(&self, at: u32, key: u32, dst: u32) -> u32 {
        let (plane, level, a, b) = self.place(at);
        if level > 0 && dst / self.below[level] == a {
            let child = level - 1;
            return self.vertex(plane, child, dst / self.below[child], b % self.across[child]);
        }
        let plane = if level == 0 { key % self.rails } else { plane };
        let ports = u64::from(self.parents[level]) * u64::from(self.parallel[level]);
        let port = u64::from(key / self.across[level]) % ports;
        self.parent((plane, level, a, b), (port % u64::from(self.parents[level])) as u32)
    }

    /// Which of the parallel cables between two neighbours packets to `dst` take: on the way up the one that belongs to
    /// the port that `key` names, on the way down the one that packets from `dst` would take up under d-mod-k.
    pub fn lane(&self, from: u32, to: u32, key: u32, dst: u32) -> u32 {
        let (_, a, ..) = self.place(from);
        let (_, b, ..) = self.place(to);
        let (level, key) = if a < b { (a, key) } else { (b, dst) };
        let ports = u64::from(self.parents[level]) * u64::from(self.parallel[level]);
        (u64::from(key / self.across[level]) % ports / u64::from(self.parents[level])) as u32
    }

    /// Up to the lowest common ancestors and down again.
    pub fn distance(&self, a: u32, b: u32) -> u32 {
        let common = self.below.iter().position(|m| a / m == b / m).unwrap_or(self.levels());
        2 * common as u32
    }
}

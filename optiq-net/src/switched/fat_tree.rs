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

use crate::switched::cables::{Cable, Class, check_size, product};

/// The most levels above the hosts.
const MAX_LEVELS: usize = 16;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct FatTree {
    /// `children[i]` is m_{i+1}; `parents` and `parallel` likewise.
    children: Vec<u32>,
    parents: Vec<u32>,
    parallel: Vec<u32>,
    /// `below[i]` is M_i, `across[i]` is W_i.
    below: Vec<u32>,
    across: Vec<u32>,
    /// `first[i]..first[i + 1]` are the vertices of level i.
    first: Vec<u32>,
    /// Of each vertex its level, A and B.
    places: Vec<(u32, u32, u32)>,
}

impl FatTree {
    pub fn new(children: Vec<u32>, parents: Vec<u32>, parallel: Vec<u32>) -> Result<Self, String> {
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
        let level_size = |i: usize| product(children[i..].iter().chain(&parents[..i]).copied());
        let switches = (1..=levels).fold(0u64, |sum, i| sum.saturating_add(level_size(i)));
        let vertices = level_size(0).saturating_add(switches);
        let cables =
            (0..levels).fold(0u64, |sum, i| sum.saturating_add(level_size(i).saturating_mul(parents[i].into())));
        check_size(vertices, cables.saturating_mul(2))?;
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
        Ok(FatTree { below: prefix(&children), across, first, places, children, parents, parallel })
    }

    /// The classical three-level tree of `k`-port switches with k^3 / 4 hosts (Al-Fares, Loukissas, Vahdat 2008).
    pub fn classical(k: u32) -> Result<Self, String> {
        if k < 2 || !k.is_multiple_of(2) {
            return Err(format!("found k={k}; an even number of ports per switch, at least 2, is expected"));
        }
        Self::new(vec![k / 2, k / 2, k], vec![1, k / 2, k / 2], vec![1; 3])
    }

    /// Children, parents and parallel cables per level.
    pub fn shape(&self) -> [&[u32]; 3] {
        [&self.children, &self.parents, &self.parallel]
    }

    pub fn words(&self) -> Vec<u32> {
        self.shape().concat()
    }

    fn levels(&self) -> usize {
        self.children.len()
    }

    pub fn hosts(&self) -> u32 {
        self.first[1]
    }

    pub fn vertices(&self) -> u32 {
        self.first[self.levels() + 1]
    }

    /// Directed links, parallel ones as one.
    pub fn directed_links(&self) -> u64 {
        let level = |i: usize| u64::from(self.first[i + 1] - self.first[i]) * u64::from(self.parents[i]);
        2 * (0..self.levels()).map(level).sum::<u64>()
    }

    /// Level, A and B of a vertex.
    fn place(&self, v: u32) -> (usize, u32, u32) {
        let (level, a, b) = self.places[v as usize];
        (level as usize, a, b)
    }

    fn vertex(&self, level: usize, a: u32, b: u32) -> u32 {
        self.first[level] + a * self.across[level] + b
    }

    fn parent(&self, (level, a, b): (usize, u32, u32), which: u32) -> u32 {
        self.vertex(level + 1, a / self.children[level], b + which * self.across[level])
    }

    /// The level of a vertex; hosts are level 0.
    pub fn level(&self, v: u32) -> u32 {
        self.place(v).0 as u32
    }

    /// Whether `host` is below `v`, or is `v`.
    pub fn covers(&self, v: u32, host: u32) -> bool {
        let (level, a, _) = self.place(v);
        host / self.below[level] == a
    }

    pub fn first_host(&self, v: u32) -> u32 {
        let (level, a, _) = self.place(v);
        a * self.below[level]
    }

    pub fn cables(&self) -> Vec<Cable> {
        let mut cables = Vec::new();
        for v in 0..self.vertices() {
            let place = self.place(v);
            if place.0 == self.levels() {
                continue;
            }
            let class = if place.0 == 0 { Class::Terminal } else { Class::Local };
            for which in 0..self.parents[place.0] {
                cables.push((v, self.parent(place, which), self.parallel[place.0], class));
            }
        }
        cables
    }

    pub fn next(&self, at: u32, key: u32, dst: u32) -> u32 {
        let (level, a, b) = self.place(at);
        if level > 0 && dst / self.below[level] == a {
            let child = level - 1;
            return self.vertex(child, dst / self.below[child], b % self.across[child]);
        }
        let ports = u64::from(self.parents[level]) * u64::from(self.parallel[level]);
        let port = u64::from(key / self.across[level]) % ports;
        self.parent((level, a, b), (port % u64::from(self.parents[level])) as u32)
    }

    /// Which of the parallel cables between two neighbours packets to `dst` take: on the way up the one that belongs to
    /// the port that `key` names, on the way down the one that packets from `dst` would take up under d-mod-k.
    pub fn lane(&self, from: u32, to: u32, key: u32, dst: u32) -> u32 {
        let (a, ..) = self.place(from);
        let (b, ..) = self.place(to);
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

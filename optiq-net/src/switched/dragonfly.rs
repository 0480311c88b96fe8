//! The canonical dragonfly (Kim, Dally, Scott, Abts: Technology-Driven, Highly-Scalable Dragonfly Topology, ISCA 2008).
//!
//! p hosts on each router, a routers in each group, all joined to each other, h global cables on each router, g groups,
//! at most a h + 1. Every two groups are joined by n = floor(a h / (g - 1)) global cables; ports beyond n (g - 1) stay
//! unused, so that all pairs of groups are alike.
//!
//! Kim et al. leave the global wiring open. This is the palm tree (Camarero, Vallejo, Beivide: Topological
//! Characterization of Hamming and Dragonfly Networks and Its Implications on Routing, TACO 2014), up to its mirror
//! image: global port k of a group, on its router k / h, leads to the group 1 + k mod (g - 1) further on, and there to
//! the port that leads back in the same round k / (g - 1).
//!
//! Minimal routing: local, global, local, each where needed. Of the n cables between two groups the packet takes one with
//! the fewest hops from where it is; among these, the search begins at the cable that the destination's number modulo n
//! names. Every hop shortens the path, so it is free of loops, and it depends on the destination only. Two global hops
//! through a third group can be shorter than local, global, local; minimal routing does not use them, but
//! distances count them.

use crate::switched::cables::{Cable, Class, check_size, product};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dragonfly {
    /// Hosts per router, routers per group, global cables per router, groups.
    p: u32,
    a: u32,
    h: u32,
    g: u32,
    /// Cables between two groups.
    n: u32,
}

impl Dragonfly {
    /// `g` groups, or as many as can be: a h + 1.
    pub fn new(p: u32, a: u32, h: u32, g: Option<u32>) -> Result<Self, String> {
        let most = product([a, h]).saturating_add(1);
        let groups = g.map_or(most, u64::from);
        if groups > most {
            return Err(format!("{groups} groups, but a={a} routers with h={h} global links reach at most {most}"));
        }
        let routers = groups.saturating_mul(u64::from(a));
        let per_router = u64::from(p) * 2 + u64::from(a - 1) + u64::from(h);
        let vertices = routers.saturating_mul(u64::from(p) + 1);
        check_size(vertices, routers.saturating_mul(per_router))?;
        // Fits: the size was just checked.
        let g = groups as u32;
        let n = if g > 1 { a * h / (g - 1) } else { 0 };
        Ok(Dragonfly { p, a, h, g, n })
    }

    pub fn words(&self) -> [u32; 4] {
        [self.p, self.a, self.h, self.g]
    }

    pub fn hosts(&self) -> u32 {
        self.p * self.a * self.g
    }

    pub fn vertices(&self) -> u32 {
        self.hosts() + self.a * self.g
    }

    /// Directed links: to hosts, within groups, between them.
    pub fn directed_links(&self) -> u64 {
        let [p, a, g, n] = [self.p, self.a, self.g, self.n].map(u64::from);
        2 * p * a * g + g * a * (a - 1) + g * (g - 1) * n
    }

    /// The group of a router.
    pub fn group(&self, router: u32) -> u32 {
        (router - self.hosts()) / self.a
    }

    /// The routers at both ends of cable `copy` from group `i` to group `j`.
    fn global(&self, i: u32, j: u32, copy: u32) -> (u32, u32) {
        let offset = (j + self.g - i) % self.g;
        let port = copy * (self.g - 1) + offset - 1;
        let back = copy * (self.g - 1) + self.g - offset - 1;
        (i * self.a + port / self.h, j * self.a + back / self.h)
    }

    /// The routers that the global cables of `router` lead to.
    fn peers(&self, router: u32) -> impl Iterator<Item = u32> + '_ {
        let (i, first) = (router / self.a, router % self.a * self.h);
        let used = self.n * self.g.saturating_sub(1);
        (first..(first + self.h).min(used)).map(move |port| {
            let j = (i + 1 + port % (self.g - 1)) % self.g;
            self.global(i, j, port / (self.g - 1)).1
        })
    }

    pub fn cables(&self) -> Vec<Cable> {
        let hosts = self.hosts();
        let mut cables: Vec<Cable> = (0..hosts).map(|v| (v, hosts + v / self.p, 1, Class::Terminal)).collect();
        for router in 0..self.a * self.g {
            let group_end = (router / self.a + 1) * self.a;
            cables.extend((router + 1..group_end).map(|other| (hosts + router, hosts + other, 1, Class::Local)));
            let up = self.peers(router).filter(|&other| other > router);
            cables.extend(up.map(|other| (hosts + router, hosts + other, 1, Class::Global)));
        }
        cables
    }

    /// The cable to take from `router` to `to` in another group: hops on the way, and the routers at its ends.
    fn best(&self, router: u32, to: u32, key: u32) -> (u32, u32, u32) {
        let (i, j) = (router / self.a, to / self.a);
        let ways = (0..self.n).map(|t| {
            let copy = (key % self.n + t) % self.n;
            let (out, into) = self.global(i, j, copy);
            (1 + u32::from(out != router) + u32::from(into != to), out, into)
        });
        // min_by_key keeps the first of equals; two groups always have a cable (n is at least 1).
        ways.min_by_key(|way| way.0).unwrap_or((u32::MAX, router, to))
    }

    pub fn next(&self, at: u32, key: u32, dst: u32) -> u32 {
        let hosts = self.hosts();
        if at < hosts {
            return hosts + at / self.p;
        }
        let (router, to) = (at - hosts, dst / self.p);
        if router == to {
            return dst;
        }
        if router / self.a == to / self.a {
            return hosts + to;
        }
        let (_, out, into) = self.best(router, to, key);
        hosts + if out == router { into } else { out }
    }

    pub fn distance(&self, x: u32, y: u32) -> u32 {
        let (from, to) = (x / self.p, y / self.p);
        if from / self.a == to / self.a {
            return 2 + u32::from(from != to);
        }
        let minimal = self.best(from, to, 0).0;
        let two_global = || self.peers(from).any(|via| self.peers(to).any(|back| back == via));
        2 + if minimal > 2 && two_global() { 2 } else { minimal }
    }
}

//! Dragonfly+ (Shpiner et al.: Dragonfly+: Low Cost Topology for Scaling Datacenters, HiPINEB 2017; Megafly, Flajslik
//! et al. 2018).
//!
//! Groups of leaf routers with the hosts and spine routers with the global cables, every leaf joined to every spine.
//! Any two groups are joined by n = floor(spines x global / (groups - 1)) cables.
//!
//! Where every spine has equally many cables to every other group, n / spines of them, the wiring is the linear one
//! of Kang et al. (Modeling and Analysis of Application Interference on Dragonfly+, SIGSIM-PADS 2019; figures and
//! sections are numbered as in the later preprint, which cites works up to 2023; Figure 2): for groups i < j
//! spine k of i is joined to spine (k + l) mod spines of j for each l below n / spines. Otherwise the spines' ports,
//! numbered through the group, are wired as a palm tree (see [`super::dragonfly`]), and ports left over stay unused.
//!
//! Minimal routing: up to a spine, over a global cable, down. The destination's number d names cable d mod n and with it
//! the spines (linear wiring: spine d mod spines, and l = floor(d / spines) mod (n / spines)); within a group it names
//! spine d mod spines.

use crate::switched::cables::{Cable, Class, check_size, product};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DragonflyPlus {
    /// Hosts per leaf, leaves and spines per group, global cables per spine, groups.
    p: u32,
    leaves: u32,
    spines: u32,
    h: u32,
    g: u32,
    /// Cables between two groups.
    n: u32,
}

impl DragonflyPlus {
    /// `g` groups, or as many as can be: spines x h + 1.
    pub fn new(p: u32, leaves: u32, spines: u32, h: u32, g: Option<u32>) -> Result<Self, String> {
        let most = product([spines, h]).saturating_add(1);
        let groups = g.map_or(most, u64::from);
        if groups > most {
            return Err(format!("{groups} groups, but s={spines} spines with h={h} global links reach at most {most}"));
        }
        let routers = u64::from(leaves) + u64::from(spines);
        let vertices = product([p, leaves]).saturating_add(routers).saturating_mul(groups);
        let half = product([p, leaves]).saturating_add(product([leaves, spines]));
        let links = half.saturating_mul(2).saturating_add(product([spines, h])).saturating_mul(groups);
        check_size(vertices, links)?;
        // Fits: the size was just checked.
        let g = groups as u32;
        let n = if g > 1 { spines * h / (g - 1) } else { 0 };
        Ok(DragonflyPlus { p, leaves, spines, h, g, n })
    }

    pub fn words(&self) -> [u32; 5] {
        [self.p, self.leaves, self.spines, self.h, self.g]
    }

    pub fn hosts(&self) -> u32 {
        self.p * self.leaves * self.g
    }

    pub fn vertices(&self) -> u32 {
        self.hosts() + (self.leaves + self.spines) * self.g
    }

    /// Directed links: to hosts, within groups, between them.
    pub fn directed_links(&self) -> u64 {
        let [p, leaves, spines, g, n] = [self.p, self.leaves, self.spines, self.g, self.n].map(u64::from);
        2 * g * leaves * (p + spines) + g * (g - 1) * n
    }

    /// The group of a router.
    pub fn group(&self, router: u32) -> u32 {
        (router - self.hosts()) / (self.leaves + self.spines)
    }

    /// Whether a switch is a spine.
    pub fn is_spine(&self, switch: u32) -> bool {
        (switch - self.hosts()) % (self.leaves + self.spines) >= self.leaves
    }

    fn leaf(&self, group: u32, i: u32) -> u32 {
        self.hosts() + group * (self.leaves + self.spines) + i
    }

    fn spine(&self, group: u32, k: u32) -> u32 {
        self.leaf(group, self.leaves + k)
    }

    /// Whether every spine has equally many cables to every other group.
    fn linear(&self) -> bool {
        self.g > 1 && self.h.is_multiple_of(self.g - 1)
    }

    /// The spines at both ends of cable `copy` from group `i` to group `j`, numbered within their groups.
    fn global(&self, i: u32, j: u32, copy: u32) -> (u32, u32) {
        if self.linear() {
            let (k, l) = (copy % self.spines, copy / self.spines % self.spines);
            return (k, if i < j { (k + l) % self.spines } else { (k + self.spines - l) % self.spines });
        }
        let offset = (j + self.g - i) % self.g;
        let port = copy * (self.g - 1) + offset - 1;
        let back = copy * (self.g - 1) + self.g - offset - 1;
        (port / self.h, back / self.h)
    }

    pub fn cables(&self) -> Vec<Cable> {
        let mut cables: Vec<Cable> = (0..self.hosts())
            .map(|v| {
                let leaf = v / self.p;
                (v, self.leaf(leaf / self.leaves, leaf % self.leaves), 1, Class::Terminal)
            })
            .collect();
        for i in 0..self.g {
            for leaf in (0..self.leaves).map(|x| self.leaf(i, x)) {
                cables.extend((0..self.spines).map(|k| (leaf, self.spine(i, k), 1, Class::Local)));
            }
            for (j, copy) in (i + 1..self.g).flat_map(|j| (0..self.n).map(move |copy| (j, copy))) {
                let (k, l) = self.global(i, j, copy);
                cables.push((self.spine(i, k), self.spine(j, l), 1, Class::Global));
            }
        }
        cables
    }

    pub fn next(&self, at: u32, key: u32, dst: u32) -> u32 {
        let (to_leaf, hosts) = (dst / self.p, self.hosts());
        let (to, to_leaf) = (to_leaf / self.leaves, to_leaf % self.leaves);
        if at < hosts {
            let leaf = at / self.p;
            return self.leaf(leaf / self.leaves, leaf % self.leaves);
        }
        let per_group = self.leaves + self.spines;
        let (here, router) = ((at - hosts) / per_group, (at - hosts) % per_group);
        if router < self.leaves {
            return match here == to {
                true if router == to_leaf => dst,
                true => self.spine(here, key % self.spines),
                false => self.spine(here, self.global(here, to, key % self.n).0),
            };
        }
        if here == to {
            return self.leaf(to, to_leaf);
        }
        let spine = router - self.leaves;
        let copy = key % self.n;
        // With linear wiring every spine has a cable of the same l.
        let copy = if self.linear() { copy - copy % self.spines + spine } else { copy };
        match self.global(here, to, copy) {
            (k, into) if k == spine => self.spine(to, into),
            // Only packets that start at another spine come here: down, and up to the right one.
            _ => self.leaf(here, key % self.leaves),
        }
    }

    /// Over one leaf, over a spine, or over two spines.
    pub fn distance(&self, a: u32, b: u32) -> u32 {
        let (a, b) = (a / self.p, b / self.p);
        match a / self.leaves == b / self.leaves {
            true if a == b => 2,
            true => 4,
            false => 5,
        }
    }
}

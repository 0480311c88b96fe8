//! Routes by next hops: making and checking tables, and following what they say.

use crate::error::NetError;
use crate::ids::{LinkId, NodeId};
use crate::network::Network;
use crate::routes::shortest::follow;
use crate::routing::shortest::NONE;
use crate::routing::table::{Hops, NextHops, Table};
use crate::switched::rails::Switched;

/// The most entries (destinations times vertices) of a table: 256 MiB.
const MAX_ENTRIES: usize = 1 << 26;

impl NextHops {
    /// The table for `network` that sends at vertex `at` towards host `dst` to the neighbour `next(at, dst)`. Where
    /// that is `None`, a vertex with a single outgoing link uses it, and any other has no route to `dst`.
    ///
    /// # Errors
    /// [`NetError::Routing`] if a next hop is not a neighbour, if the next hops towards a destination form a loop,
    /// or if the network is too large for a table.
    pub fn new(network: &Network, mut next: impl FnMut(NodeId, NodeId) -> Option<NodeId>) -> Result<Self, NetError> {
        let (hosts, vertices, entries) = NextHops::check_size(network)?;
        let mut table = Table { hosts, vertices, next: vec![NONE; entries] };
        for dst in (0..hosts as u32).map(NodeId) {
            for at in (0..vertices as u32).map(NodeId).filter(|&at| at != dst) {
                let out = network.out_range(at);
                let link = match next(at, dst) {
                    Some(to) => network.link_between(at, to).map(|l| l.0).ok_or_else(|| {
                        let to = if to.index() < vertices { network.name(to).to_string() } else { to.0.to_string() };
                        NetError::Routing(format!(
                            "the next hop from {} towards {} is {to}, which is not a neighbour of {0}",
                            network.name(at),
                            network.name(dst)
                        ))
                    })?,
                    None if out.len() == 1 => out.start,
                    None => NONE,
                };
                table.next[dst.index() * vertices + at.index()] = link;
            }
        }
        table.check(network)?;
        Ok(NextHops(Hops::Table(table)))
    }

    /// The table for `network` whose rows give, per vertex and host in their order, the next vertex or
    /// [`crate::table_rows::NONE`]. A host without a row, an empty one, sends by its link if it has a single one and
    /// that leads to a switch or the destination; a switch without one forwards nothing.
    ///
    /// # Errors
    /// As [`NextHops::new`].
    pub(crate) fn from_rows(network: &Network, rows: &[Vec<u32>]) -> Result<Self, NetError> {
        let (hosts, vertices, entries) = NextHops::check_size(network)?;
        let mut table = Table { hosts, vertices, next: vec![NONE; entries] };
        for (at, row) in (0..vertices as u32).map(NodeId).zip(rows) {
            let out = network.out_range(at);
            let single = (out.len() == 1 && network.is_host(at)).then(|| network.ends[out.start as usize] as usize);
            // Rows name few neighbours, and often the one before.
            let mut known = (crate::table_rows::NONE, NONE);
            for dst in (0..hosts).filter(|dst| *dst != at.index()) {
                let link = match row.get(dst) {
                    Some(&crate::table_rows::NONE) => NONE,
                    Some(&to) if to == known.0 => known.1,
                    Some(&to) => network.link_between(at, NodeId(to)).map_or(NONE, |link| link.0),
                    None if single.is_some_and(|to| to == dst || to >= hosts) => out.start,
                    None => NONE,
                };
                known = row.get(dst).map_or(known, |to| (*to, link));
                table.next[dst * vertices + at.index()] = link;
            }
        }
        table.check(network)?;
        Ok(NextHops(Hops::Table(table)))
    }

    /// Destinations, vertices and entries of a table for `network`, unless it is too large for one.
    pub(crate) fn check_size(network: &Network) -> Result<(usize, usize, usize), NetError> {
        let (hosts, vertices) = (network.hosts(), network.vertices());
        NextHops::check_entries(hosts, vertices).map(|entries| (hosts, vertices, entries))
    }

    /// How many entries a table for so many hosts and vertices has, unless there are too many.
    pub(crate) fn check_entries(hosts: usize, vertices: usize) -> Result<usize, NetError> {
        match hosts.saturating_mul(vertices) {
            entries if entries > MAX_ENTRIES => Err(NetError::Routing(format!(
                "a table of {hosts} destinations times {vertices} vertices; at most {MAX_ENTRIES} entries are supported"
            ))),
            entries => Ok(entries),
        }
    }

    /// The link that vertex `at` of `network` sends on towards host `dst`, if it has one. Under s-mod-k it is the one
    /// for packets that start at `at`, or at the first host below it.
    pub fn next_hop(&self, network: &Network, at: NodeId, dst: NodeId) -> Option<LinkId> {
        match &self.0 {
            Hops::Table(table) => table.next_hop(at, dst),
            Hops::Computed(shape, rule) => {
                let inside = at.0 < shape.vertices() && dst.0 < shape.hosts() && at != dst;
                inside.then(|| step(network, shape, at, rule.key(shape, at, dst), dst)).flatten()
            }
        }
    }

    pub(super) fn check(&self, network: &Network) -> Result<(), NetError> {
        match &self.0 {
            Hops::Table(table) => table.check(network),
            Hops::Computed(shape, _) if network.switched.as_ref() == Some(shape) => Ok(()),
            Hops::Computed(..) => Err(NetError::Routing(
                "the next hops are computed for a fat tree or dragonfly that is not this network".into(),
            )),
        }
    }

    /// The route from `at` to `dst` of packets that `src` has sent.
    pub(super) fn route(
        &self,
        network: &Network,
        src: NodeId,
        at: NodeId,
        dst: NodeId,
        route: &mut Vec<LinkId>,
    ) -> Option<()> {
        match &self.0 {
            Hops::Table(table) => follow(network, table.row(dst)?, at, dst, route),
            Hops::Computed(..) if !network.is_host(dst) => network.shortest.route(network, at, dst, route),
            Hops::Computed(shape, rule) => {
                let key = rule.key(shape, src, dst);
                let mut at = at;
                while at != dst {
                    let link = step(network, shape, at, key, dst)?;
                    route.push(link);
                    at = NodeId(network.ends[link.index()]);
                }
                Some(())
            }
        }
    }
}

fn step(network: &Network, shape: &Switched, at: NodeId, key: u32, dst: NodeId) -> Option<LinkId> {
    network.link_between(at, NodeId(shape.next(at.0, key, dst.0)?))
}

impl Table {
    fn next_hop(&self, at: NodeId, dst: NodeId) -> Option<LinkId> {
        self.row(dst)?.get(at.index()).filter(|&&l| l != NONE).map(|&l| LinkId(l))
    }

    fn row(&self, dst: NodeId) -> Option<&[u32]> {
        (dst.index() < self.hosts).then(|| &self.next[dst.index() * self.vertices..][..self.vertices])
    }

    /// Sizes fit, every entry leaves its vertex, and following the entries never comes back.
    fn check(&self, network: &Network) -> Result<(), NetError> {
        if (self.hosts, self.vertices) != (network.hosts(), network.vertices()) {
            return Err(NetError::Routing(format!(
                "a table for {} hosts and {} vertices in a network of {} and {}",
                self.hosts,
                self.vertices,
                network.hosts(),
                network.vertices()
            )));
        }
        // The destination towards which a vertex was last seen, and where the walk that saw it had started.
        let mut seen = vec![(NONE, NONE); self.vertices];
        for (dst, row) in (0u32..).zip(self.next.chunks_exact(self.vertices)) {
            for start in 0..self.vertices as u32 {
                let mut at = start;
                while seen[at as usize].0 != dst && at != dst && row[at as usize] != NONE {
                    seen[at as usize] = (dst, start);
                    match network.links().get(row[at as usize] as usize) {
                        Some(link) if link.from.0 == at => at = link.to.0,
                        _ => {
                            let name = network.name(NodeId(at));
                            return Err(NetError::Routing(format!(
                                "the table's next hop at {name} does not start there"
                            )));
                        }
                    }
                }
                if at != dst && seen[at as usize] == (dst, start) {
                    return Err(NetError::Routing(self.describe_loop(network, NodeId(at), NodeId(dst))));
                }
            }
        }
        Ok(())
    }

    fn describe_loop(&self, network: &Network, first: NodeId, dst: NodeId) -> String {
        let mut text = format!("the next hops towards {} form a loop: {}", network.name(dst), network.name(first));
        let mut at = first;
        while let Some(link) = self.next_hop(at, dst) {
            at = network.link(link).to;
            text.push_str(" -> ");
            // A long loop is cut: the message stays one readable sentence.
            if text.len() > 400 && at != first {
                text.push_str("...");
                break;
            }
            text.push_str(network.name(at));
            if at == first {
                break;
            }
        }
        text
    }
}

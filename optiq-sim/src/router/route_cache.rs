//! Routes that were found before.
//!
//! Where every host has one link, and the destination alone decides at each switch where a packet goes next (tables, d-mod-k,
//! minimal routing), all hosts below a switch share what follows that link. So a route is kept for each (first switch,
//! destination), without its first step: on the 1,296 hosts of `fattree:brown1296` 93,312 routes of half a cache line stand
//! for 1.7 million. Finding a route takes a few divisions and a search for every link; looking one up takes one cache line.

use crate::constants::MOST_CACHED_ROUTES;
use crate::engine::packet::Step;
use optiq_net::{HopRule, Network, NodeId, Routing};

/// Steps of a route that is kept.
const STEPS: usize = 7;

/// A route behind its first step: how many steps it has, and what they are ([`Step::to_bits`]). All zero where it was not
/// found yet, so that memory that is new from the system is a cache without routes.
type Entry = [u32; STEPS + 1];

/// See the top of the file.
#[derive(Debug, Default)]
pub(crate) struct RouteCache {
    routes: Vec<Entry>,
}

/// Which routes of a network have what follows their first step in common.
#[derive(Debug)]
pub(crate) struct SharedRoutes {
    /// Per host, the number of its switch among those that have hosts.
    switch_of: Vec<u32>,
    switches: usize,
}

impl SharedRoutes {
    /// `None` where hosts share nothing, or too much would have to be kept.
    pub(crate) fn of(network: &Network) -> Option<Self> {
        let hosts = network.hosts() as u32;
        match network.routing() {
            Routing::Table(table) if table.rule() != HopRule::SModK && network.hosts() < network.vertices() => {}
            _ => return None,
        }
        let mut numbers = vec![None; network.vertices()];
        let (mut switch_of, mut switches) = (Vec::with_capacity(network.hosts()), 0);
        for host in 0..hosts {
            let exits = network.out_range(NodeId(host));
            let link = network.links().get(exits.start as usize).filter(|link| exits.len() == 1 && link.lanes == 1)?;
            let number = numbers.get_mut(link.to.index()).filter(|_| link.to.0 >= hosts)?;
            switch_of.push(*number.get_or_insert_with(|| {
                switches += 1;
                switches - 1
            }));
        }
        let switches = switches as usize;
        (switches.saturating_mul(network.hosts()) <= MOST_CACHED_ROUTES).then_some(Self { switch_of, switches })
    }

    /// Where the route between two hosts is kept, if it is.
    #[inline]
    fn place(&self, (src, dst): (u32, u32)) -> Option<usize> {
        // To the switch and back is not a route of the fabric's.
        (src != dst).then(|| self.switch_of[src as usize] as usize * self.switch_of.len() + dst as usize)
    }
}

impl RouteCache {
    /// The route of two hosts, if it was found before, behind its first step.
    #[inline]
    pub(crate) fn get(&self, shared: &SharedRoutes, pair: (u32, u32)) -> Option<impl Iterator<Item = Step> + '_> {
        let [count, steps @ ..] = self.routes.get(shared.place(pair)?)?;
        (*count > 0).then(|| steps[..*count as usize].iter().map(|&bits| Step::from_bits(bits)))
    }

    #[cfg(test)]
    pub(crate) fn keeps_routes(&self) -> bool {
        !self.routes.is_empty()
    }

    /// Keeps a route.
    pub(crate) fn keep(&mut self, shared: &SharedRoutes, pair: (u32, u32), route: &[Step]) {
        let Some(place) = shared.place(pair) else { return };
        if self.routes.is_empty() {
            self.routes = vec![Entry::default(); shared.switches * shared.switch_of.len()];
        }
        if let ([_, rest @ ..], [count, steps @ ..]) = (route, &mut self.routes[place])
            && rest.len() <= STEPS
        {
            *count = rest.len() as u32;
            steps.iter_mut().zip(rest).for_each(|(bits, step)| *bits = step.to_bits());
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::model::Model;
    use crate::router::fabric::Fabric;
    use crate::router::routes::{Routes, Scratch};
    use optiq_net::Network;

    #[test]
    fn routes_from_the_cache_are_those_of_the_network() {
        for (spec, shares) in [
            ("fattree:k=4", true),
            ("fattree:3x3x2:1x3x2:1x1x3", true),
            ("dragonfly:p=2,a=4,h=2", true),
            ("dragonfly+:p=2,l=3,s=3,h=2", true),
            ("star:9", false),
            ("fattree:k=4,routing=smodk", false),
            ("fattree:k=4,rails=2", false),
            ("torus:4x3", false),
        ] {
            let (network, model) = (Network::from_spec(spec).unwrap(), Model::default());
            let mut routes = Routes::new(&network, &model.router).unwrap();
            let fabric = Fabric::new(&network, &model, routes.classes().count());
            routes.find_first(&fabric);
            let hosts = network.hosts() as u32;
            let mut scratch = Scratch::default();
            // The second time all are there.
            for (src, dst) in (0..2).flat_map(|_| (0..hosts).flat_map(move |s| (0..hosts).map(move |d| (s, d)))) {
                let found = routes.route(&fabric, (src, dst), 0, &mut scratch).unwrap();
                let alone = routes.route(&fabric, (src, dst), 0, &mut Scratch::default()).unwrap();
                assert_eq!(found.steps(), alone.steps(), "{spec}: {src} to {dst}");
            }
            assert_eq!(scratch.keeps_routes(), shares, "{spec}");
        }
    }
}

//! Levels of switches: how far they are from the nearest host. A switch that a host is joined to is on level 1, and so is a leaf
//! without hosts: see [`crate::structure`].
//!
//! Levels come from hosts alone: an adapter that is no host, wherever it is joined, makes no leaf of a switch.

use super::fabric::Fabric;
use super::roles::ImportedHost;
use crate::structure::with_siblings;

/// The level of every node: 0 of the adapters of hosts, `None` of other adapters and of switches from which no host is reached.
pub(super) fn levels(fabric: &Fabric, hosts: &[ImportedHost]) -> Vec<Option<u32>> {
    let mut neighbours: Vec<Vec<u32>> = vec![Vec::new(); fabric.all.nodes.len()];
    let mut adapters = Vec::new();
    for &(adapter, port) in hosts.iter().flat_map(|host| &host.ports) {
        adapters.push(adapter);
        let peer = fabric.node(adapter).ports[&port].peer.map(|peer| peer.node);
        if let Some(switch) = peer.filter(|&n| fabric.is_switch(n)) {
            neighbours[adapter as usize].push(switch);
            neighbours[switch as usize].push(adapter);
        }
    }
    for switch in fabric.nodes().filter(|&n| fabric.is_switch(n)) {
        let switches = fabric.cables(switch).map(|(_, peer, _)| peer).filter(|&peer| fabric.is_switch(peer));
        neighbours[switch as usize].extend(switches);
    }
    for all in &mut neighbours {
        all.sort_unstable();
        all.dedup();
    }
    with_siblings(&neighbours, adapters.into_iter())
}

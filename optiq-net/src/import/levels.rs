//! Levels of switches: how far they are from the nearest host. A switch that a host is joined to is on level 1.
//!
//! A breadth-first search from all hosts at once. Levels come from hosts alone: an adapter that is no host, wherever it
//! is joined, makes no leaf of a switch.

use super::fabric::Fabric;
use super::roles::ImportedHost;
use std::collections::VecDeque;

/// The level of every node: 0 of what is no switch, `None` of switches from which no host is reached.
pub(super) fn levels(fabric: &Fabric, hosts: &[ImportedHost]) -> Vec<Option<u32>> {
    let mut levels = vec![None; fabric.all.nodes.len()];
    let mut queue = VecDeque::new();
    for &(adapter, port) in hosts.iter().flat_map(|host| &host.ports) {
        levels[adapter as usize] = Some(0);
        let peer = fabric.node(adapter).ports[&port].peer.map(|peer| peer.node);
        if let Some(switch) = peer.filter(|&n| fabric.is_switch(n) && levels[n as usize].is_none()) {
            levels[switch as usize] = Some(1);
            queue.push_back((switch, 1));
        }
    }
    while let Some((node, level)) = queue.pop_front() {
        for (_, peer, _) in fabric.cables(node) {
            if fabric.is_switch(peer) && levels[peer as usize].is_none() {
                levels[peer as usize] = Some(level + 1);
                queue.push_back((peer, level + 1));
            }
        }
    }
    levels
}

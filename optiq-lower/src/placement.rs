//! Which host each rank is on.

use optiq_net::{Network, NodeId};
use optiq_transport::Rank;
use std::collections::BTreeMap;
use std::str::FromStr;

/// How ranks are mapped to hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlacementRule {
    /// By name if the network knows all names; otherwise distinct processors are numbered in rank order.
    Auto,
    /// By name; an unknown name is an error.
    Names,
    /// Rank `r` is on host `r / per_host`.
    Ranks {
        /// Ranks per host, at least 1.
        per_host: u32,
    },
}

impl FromStr for PlacementRule {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "auto" => Ok(Self::Auto),
            "names" => Ok(Self::Names),
            "rank" => Ok(Self::Ranks { per_host: 1 }),
            _ => {
                let per_host = text.strip_prefix("rank:").and_then(|n| n.parse().ok()).filter(|&n| n > 0).ok_or(())?;
                Ok(Self::Ranks { per_host })
            }
        }
    }
}

/// The host of every rank, and the ranks of every host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    host_of: Vec<NodeId>,
    ranks_on: Vec<Vec<Rank>>,
    note: Option<String>,
}

impl Placement {
    /// Places rank `r`, which runs on a processor of name `processors[r]`, by the rule.
    ///
    /// # Errors
    /// A sentence that says which rank has no place in the network.
    pub fn new(network: &Network, processors: &[String], rule: PlacementRule) -> Result<Self, String> {
        let unknown = |name: &String| network.host(name).is_none();
        match rule {
            PlacementRule::Ranks { per_host } => Self::by_rank(network, processors.len(), per_host),
            PlacementRule::Auto if processors.iter().any(unknown) => {
                let mut numbers: BTreeMap<&str, usize> = BTreeMap::new();
                let mut next = 0;
                let hosts = processors.iter().map(|name| {
                    *numbers.entry(name).or_insert_with(|| {
                        next += 1;
                        next - 1
                    })
                });
                let hosts: Vec<usize> = hosts.collect();
                let note = processors.iter().find(|n| unknown(n)).map(|name| {
                    format!(
                        "the topology has no host \"{name}\"; {next} processors are taken as its hosts 0 to {} in rank order",
                        next.saturating_sub(1)
                    )
                });
                Self::by_number(network, hosts.into_iter(), note)
            }
            PlacementRule::Auto | PlacementRule::Names => {
                let place = |(rank, name): (usize, &String)| {
                    let missing = || format!("rank {rank} runs on \"{name}\", which is not a host of the topology");
                    network.host(name).ok_or_else(missing)
                };
                let hosts: Result<Vec<NodeId>, String> = processors.iter().enumerate().map(place).collect();
                Ok(Self::from_hosts(network, hosts?, None))
            }
        }
    }

    /// Places `ranks` ranks on the first hosts, `per_host` on each, in rank order.
    ///
    /// # Errors
    /// A sentence if the network has too few hosts.
    pub fn by_rank(network: &Network, ranks: usize, per_host: u32) -> Result<Self, String> {
        Self::by_number(network, (0..ranks).map(|r| r / per_host.max(1) as usize), None)
    }

    fn by_number(network: &Network, hosts: impl Iterator<Item = usize>, note: Option<String>) -> Result<Self, String> {
        let hosts: Vec<usize> = hosts.collect();
        let needed = hosts.iter().max().map_or(0, |h| h + 1);
        if needed > network.hosts() {
            return Err(format!(
                "{} ranks need {needed} hosts, but the topology {} has {}",
                hosts.len(),
                network.spec(),
                network.hosts()
            ));
        }
        Ok(Self::from_hosts(network, hosts.into_iter().map(|h| NodeId(h as u32)).collect(), note))
    }

    fn from_hosts(network: &Network, host_of: Vec<NodeId>, note: Option<String>) -> Self {
        let mut ranks_on = vec![Vec::new(); network.hosts()];
        for (rank, host) in (0..).map(Rank).zip(&host_of) {
            ranks_on[host.index()].push(rank);
        }
        Self { host_of, ranks_on, note }
    }

    /// The host that a rank is on.
    pub fn host(&self, rank: Rank) -> NodeId {
        self.host_of[rank.index()]
    }

    /// The ranks on a host, ascending.
    pub fn ranks(&self, host: NodeId) -> &[Rank] {
        &self.ranks_on[host.index()]
    }

    /// The rank that moves the piece of this number at a host: its ranks in turn, the same on every rank; none where no
    /// rank runs.
    pub fn carrier(&self, host: NodeId, number: usize) -> Option<Rank> {
        let there = self.ranks(host);
        there.get(number % there.len().max(1)).copied()
    }

    /// Number of ranks.
    pub fn len(&self) -> usize {
        self.host_of.len()
    }

    /// Whether there are no ranks.
    pub fn is_empty(&self) -> bool {
        self.host_of.is_empty()
    }

    /// Per host: whether a rank is there, so that it can forward.
    pub fn can_forward(&self) -> Vec<bool> {
        self.ranks_on.iter().map(|r| !r.is_empty()).collect()
    }

    /// Something that the user should know about how ranks were placed.
    pub fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    fn place(list: &[&str], rule: &str) -> Result<Vec<u32>, String> {
        let network = Network::from_spec("torus:4").unwrap();
        let p = Placement::new(&network, &names(list), rule.parse().unwrap())?;
        Ok((0..p.len() as u32).map(|r| p.host(Rank(r)).0).collect())
    }

    #[test]
    fn by_name_number_and_order_of_appearance() {
        assert_eq!(place(&["h2", "h0", "h2.site"], "auto").unwrap(), [2, 0, 2]);
        assert_eq!(place(&["x", "y", "x", "z"], "auto").unwrap(), [0, 1, 0, 2]);
        assert_eq!(place(&["x", "x", "x", "x"], "rank:2").unwrap(), [0, 0, 1, 1]);
        assert_eq!(place(&["x", "x", "x", "x"], "rank").unwrap(), [0, 1, 2, 3]);
    }

    #[test]
    fn ranks_without_a_place_are_named() {
        let e = place(&["h2", "x"], "names").unwrap_err();
        assert_eq!(e, "rank 1 runs on \"x\", which is not a host of the topology");
        let e = place(&["a", "b", "c", "d", "e"], "auto").unwrap_err();
        assert!(e.starts_with("5 ranks need 5 hosts, but the topology torus:4"), "{e}");
        assert!(place(&["a"; 9], "rank:2").is_err());
    }

    #[test]
    fn a_fallback_is_said() {
        let network = Network::from_spec("torus:4").unwrap();
        let p = Placement::new(&network, &names(&["x", "y"]), PlacementRule::Auto).unwrap();
        assert!(p.note().unwrap().contains("\"x\""));
        assert_eq!(p.can_forward(), [true, true, false, false]);
    }
}

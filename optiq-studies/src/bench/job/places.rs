//! Which MPI rank is which process of a job.
//!
//! A job says on which host each of its processes is. Launchers number ranks as they like, so every rank says on which host it is, and
//! the processes of a host are dealt out to the ranks that are there, in the order of both.

use optiq_net::{Network, NodeId};
use std::collections::BTreeMap;

/// Where the processes of a job are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Places {
    /// By process: the host's number.
    pub hosts: Vec<u32>,
    /// By process: the MPI rank.
    pub ranks: Vec<u32>,
}

impl Places {
    /// From the host of each process, if that is given, and the host on which each rank finds itself, if the network has it.
    /// Without given hosts process `r` is rank `r`; ranks that are on no host of the network are taken for one on each.
    ///
    /// # Errors
    /// One sentence: numbers that differ, a host with other ranks than processes.
    pub fn new(network: &Network, given: Option<&[String]>, found: &[Option<NodeId>]) -> Result<Self, String> {
        let Some(given) = given else {
            let known: Option<Vec<u32>> = found.iter().map(|host| host.map(|host| host.0)).collect();
            let each = |r: usize| (r % network.hosts()) as u32;
            let hosts = known.unwrap_or_else(|| (0..found.len()).map(each).collect());
            return Ok(Self { hosts, ranks: (0..found.len() as u32).collect() });
        };
        if given.len() != found.len() {
            return Err(format!(
                "{} hosts are given for {} ranks; one for each rank is expected",
                given.len(),
                found.len()
            ));
        }
        let mut free: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        for (rank, host) in found.iter().enumerate().rev() {
            let host = host.ok_or_else(|| format!("rank {rank} is on no host of {}", network.spec()))?;
            free.entry(host.0).or_default().push(rank as u32);
        }
        let (mut hosts, mut ranks) = (Vec::new(), Vec::new());
        for name in given {
            let host = network.host(name).ok_or_else(|| format!("{} has no host {name}", network.spec()))?;
            let rank = free.get_mut(&host.0).and_then(Vec::pop);
            ranks.push(rank.ok_or_else(|| format!("the job has fewer ranks on host {name} than it is to have"))?);
            hosts.push(host.0);
        }
        Ok(Self { hosts, ranks })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn processes_find_their_ranks() {
        let network = Network::from_spec("star:4").unwrap();
        let names = |list: &[&str]| list.iter().map(ToString::to_string).collect::<Vec<_>>();
        let on = |list: &[u32]| list.iter().map(|&host| Some(NodeId(host))).collect::<Vec<_>>();
        // Ranks 0 and 2 are on h3, rank 1 on h1.
        let places = Places::new(&network, Some(&names(&["h1", "h3", "h3"])), &on(&[3, 1, 3])).unwrap();
        assert_eq!(places, Places { hosts: vec![1, 3, 3], ranks: vec![1, 0, 2] });
        let error = Places::new(&network, Some(&names(&["h1", "h1", "h3"])), &on(&[3, 1, 3])).unwrap_err();
        assert_eq!(error, "the job has fewer ranks on host h1 than it is to have");
        assert!(
            Places::new(&network, Some(&names(&["h9", "h1"])), &on(&[3, 1])).unwrap_err().contains("has no host h9")
        );
        assert!(Places::new(&network, Some(&names(&["h1"])), &on(&[3, 1])).is_err());
        let places = Places::new(&network, None, &[None, None]).unwrap();
        assert_eq!(places, Places { hosts: vec![0, 1], ranks: vec![0, 1] });
        assert_eq!(Places::new(&network, None, &on(&[2, 1])).unwrap().hosts, vec![2, 1]);
    }
}

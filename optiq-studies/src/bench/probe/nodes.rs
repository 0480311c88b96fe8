//! On which node each rank is: as the topology and `OPTIQ_PLACEMENT` say, or by the names of processors.

use optiq::Config;
use optiq_lower::guessed_network::GuessedHosts;
use optiq_lower::placement::{Placement, PlacementRule};
use optiq_net::{Network, NodeId};
use optiq_transport::Rank;
use optiq_transport::mpi::Communicator;
use std::collections::BTreeMap;

/// The rate of links of a network that is made of names; no probe rests on it.
const ANY_RATE: u64 = 1_000_000_000;

/// The network, and the host of each rank.
pub(super) struct Nodes {
    pub network: Network,
    pub hosts: Vec<u32>,
}

impl Nodes {
    /// Finds them; collective.
    ///
    /// # Errors
    /// A sentence: a rank without a place in the topology, all ranks on one node, more nodes than `OPTIQ_MAX_HOSTS`, what MPI reports.
    pub fn find(comm: &Communicator, config: &Config) -> Result<Self, String> {
        let names = comm.processor_name().and_then(|name| comm.all_texts(&name)).map_err(|e| e.to_string())?;
        let topology = config.topology.as_deref().filter(|text| *text != "auto");
        let (network, placement) = match topology {
            Some(topology) => {
                let network = Network::from_spec(topology).map_err(|e| e.to_string())?;
                let placement = Placement::new(&network, &names, &config.placement)?;
                (network, placement)
            }
            None => {
                let guessed = match &config.placement {
                    PlacementRule::Ranks { per_host } => GuessedHosts::in_rank_order(names.len(), *per_host),
                    _ => GuessedHosts::from_processors(&names),
                };
                if guessed.len() < 2 {
                    return Err(one_node(names.first().map_or("", String::as_str)));
                }
                let network = guessed.network(ANY_RATE, 1.0, config.max_hosts).map_err(|e| e.to_string())?;
                let placement = guessed.placement(&network);
                (network, placement)
            }
        };
        let hosts: Vec<u32> = (0..names.len() as u32).map(|rank| placement.host(Rank(rank)).0).collect();
        if hosts.iter().all(|host| *host == hosts[0]) {
            return Err(one_node(network.name(NodeId(hosts[0]))));
        }
        Ok(Self { network, hosts })
    }

    /// The name of a rank's node.
    pub fn name(&self, rank: usize) -> &str {
        self.network.name(NodeId(self.hosts[rank]))
    }

    /// The first rank on a node.
    ///
    /// # Errors
    /// A sentence, if there is none.
    pub fn first_rank(&self, node: &str) -> Result<u32, String> {
        let host = self.network.find_host(node).map(|found| found.host.0);
        let rank = self.hosts.iter().position(|h| Some(*h) == host);
        rank.map(|rank| rank as u32).ok_or_else(|| {
            let mut names: Vec<&str> = (0..self.hosts.len()).map(|rank| self.name(rank)).collect();
            names.dedup();
            names.truncate(8);
            let found: String = node.chars().take(60).collect();
            format!("no rank is on a node \"{found}\"; one of {} is expected", names.join(", "))
        })
    }
}

/// Nothing of what these ranks send would cross a network.
fn one_node(name: &str) -> String {
    format!(
        "found all ranks on 1 node, {name}; at least two nodes are expected (OPTIQ_PLACEMENT=rank with OPTIQ_TOPOLOGY has each rank stand \
         for a node)"
    )
}

/// Whether some machine has more ranks than processors; machines are told apart by what the kernel calls this boot, since hosts of a lab
/// have names of their own on one machine. Collective.
///
/// # Errors
/// What MPI reports.
pub(super) fn share_processors(comm: &Communicator) -> Result<bool, String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").or_else(|_| {
        // Not Linux: the name of the machine, as far as it is known.
        comm.processor_name().map_err(std::io::Error::other)
    });
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    let mine = format!("{processors} {}", boot.unwrap_or_default().trim());
    let all = comm.all_texts(&mine).map_err(|e| e.to_string())?;
    let mut ranks: BTreeMap<&str, usize> = BTreeMap::new();
    all.iter().for_each(|text| *ranks.entry(text).or_default() += 1);
    let has = |text: &str| text.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(1);
    Ok(ranks.into_iter().any(|(text, count)| count > has(text)))
}

//! Which host each rank is on, and how that is known.
//!
//! A position is known or it is not; none is ever guessed, for a plan on false positions loads links that it believes
//! idle. [`Provenance`] lists all ways in which positions become known.

use optiq_net::fingerprint::{Fingerprint, Hasher};
use optiq_net::text_file::{self, shorten};
use optiq_net::{Network, NodeId};
use optiq_transport::Rank;
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The largest file of positions that is read, in bytes.
const MAX_FILE_BYTES: u64 = 64 << 20;

/// How ranks are mapped to hosts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PlacementRule {
    /// By name; where all ranks are on one processor, which the network does not know, they are on one host.
    Auto,
    /// By name; an unknown name is an error.
    Names,
    /// Rank `r` is on host `r / per_host`.
    Ranks {
        /// Ranks per host, at least 1.
        per_host: u32,
    },
    /// A file says it: a line for each rank, in rank order, with its host's name, number or coordinates.
    File(PathBuf),
}

impl FromStr for PlacementRule {
    type Err = ();
    fn from_str(text: &str) -> Result<Self, ()> {
        if let Some(path) = text.strip_prefix("file:") {
            return if path.is_empty() { Err(()) } else { Ok(Self::File(path.into())) };
        }
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

/// How the positions of ranks are known.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Provenance {
    /// The network knows the name of every rank's processor.
    Names,
    /// The user said how many ranks each host has, in rank order.
    RankOrder {
        /// Ranks per host.
        per_host: u32,
    },
    /// A file lists the hosts of the ranks.
    File(PathBuf),
    /// All ranks run on one processor, whose name the network does not know. Nothing crosses the network, so it does not
    /// matter which host it is taken for.
    OneProcessor(String),
    /// The network was guessed from the names of the processors: each is a host of its own.
    Guessed,
}

impl fmt::Display for Provenance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Provenance::Names => f.write_str("processor names"),
            Provenance::RankOrder { per_host } => write!(f, "rank order, {per_host} to a host"),
            Provenance::File(path) => write!(f, "file {}", path.display()),
            Provenance::OneProcessor(name) => write!(f, "one processor, {name}"),
            Provenance::Guessed => f.write_str("processor names, of which one host each was made"),
        }
    }
}

/// The host of every rank, and the ranks of every host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placement {
    host_of: Vec<NodeId>,
    ranks_on: BTreeMap<NodeId, Vec<Rank>>,
    hosts: usize,
    provenance: Provenance,
}

/// What to set where positions are not known.
const REMEDY: &str = "name the hosts in the topology (names=node[001-144] or hosts=FILE), or set OPTIQ_PLACEMENT to rank:K \
                      or file:FILE";

fn two_processors(one: &str, other: &str, host: &str) -> String {
    let (one, other) = (shorten(one), shorten(other));
    format!("the processors \"{one}\" and \"{other}\" would both be the topology's host \"{host}\"; {REMEDY}")
}

impl Placement {
    /// Places rank `r`, which runs on a processor of name `processors[r]`, by the rule.
    ///
    /// # Errors
    /// A sentence that says which rank has no known place in the network, and what to set.
    pub fn new(network: &Network, processors: &[String], rule: &PlacementRule) -> Result<Self, String> {
        match rule {
            PlacementRule::Ranks { per_host } => Self::by_rank(network, processors.len(), *per_host),
            PlacementRule::File(path) => Self::from_file(network, path, processors.len()),
            PlacementRule::Names => Self::by_name(network, processors),
            PlacementRule::Auto => match processors {
                [first, rest @ ..]
                    if network.host(first).is_none()
                        && network.adapters_of(first).is_none()
                        && rest.iter().all(|name| name == first) =>
                {
                    let hosts = vec![NodeId(0); processors.len()];
                    Ok(Self::from_hosts(network, hosts, Provenance::OneProcessor(first.clone())))
                }
                _ => Self::by_name(network, processors),
            },
        }
    }

    fn by_name(network: &Network, processors: &[String]) -> Result<Self, String> {
        let mut hosts = Vec::with_capacity(processors.len());
        // Names that were found without their domain: two of them for one host may be two machines.
        let mut short: BTreeMap<NodeId, &String> = BTreeMap::new();
        // Per node whose adapters are hosts, how many of its ranks have one: rank r of the node owns adapter r mod R.
        let mut owned: BTreeMap<NodeId, (&String, u32)> = BTreeMap::new();
        for (rank, name) in processors.iter().enumerate() {
            if let Some((first, adapters)) = network.adapters_of(name).filter(|_| network.find_host(name).is_none()) {
                let (other, ranks) = owned.entry(first).or_insert((name, 0));
                if *other != name {
                    return Err(two_processors(other, name, network.name(first)));
                }
                hosts.push(NodeId(first.0 + *ranks % adapters));
                *ranks += 1;
                continue;
            }
            let found = network.find_host(name).ok_or_else(|| {
                let name = shorten(name);
                format!("rank {rank} runs on \"{name}\", which is not a host of the topology; {REMEDY}")
            })?;
            hosts.push(found.host);
            if found.exact {
                continue;
            }
            let other = *short.entry(found.host).or_insert(name);
            if other != name {
                return Err(two_processors(other, name, network.name(found.host)));
            }
        }
        Ok(Self::from_hosts(network, hosts, Provenance::Names))
    }

    fn from_file(network: &Network, path: &Path, ranks: usize) -> Result<Self, String> {
        let told = |why: String| format!("OPTIQ_PLACEMENT: file {}: {why}", path.display());
        let text = text_file::read(path, MAX_FILE_BYTES).map_err(told)?;
        let mut hosts = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let host = line.split('#').next().unwrap_or_default().trim();
            if host.is_empty() {
                continue;
            }
            let found = network.resolve(host).map_err(|e| told(format!("line {number}: {e}")))?;
            if !network.is_host(found) {
                return Err(told(format!("line {number}: \"{}\" is a switch; a host is expected", shorten(host))));
            }
            hosts.push(found);
        }
        if hosts.len() != ranks {
            return Err(told(format!("it has the hosts of {} ranks; {ranks} are expected", hosts.len())));
        }
        Ok(Self::from_hosts(network, hosts, Provenance::File(path.to_path_buf())))
    }

    /// Places `ranks` ranks on the first hosts, `per_host` on each, in rank order.
    ///
    /// # Errors
    /// A sentence if the network has too few hosts.
    pub fn by_rank(network: &Network, ranks: usize, per_host: u32) -> Result<Self, String> {
        let per_host = per_host.max(1);
        let needed = ranks.div_ceil(per_host as usize);
        if needed > network.hosts() {
            return Err(format!(
                "{ranks} ranks need {needed} hosts, but the topology {} has {}",
                network.spec(),
                network.hosts()
            ));
        }
        let hosts = (0..ranks).map(|rank| NodeId((rank / per_host as usize) as u32)).collect();
        Ok(Self::from_hosts(network, hosts, Provenance::RankOrder { per_host }))
    }

    /// Places ranks on the hosts of a network that was made for them: of their processors' names, or with a number of ranks to
    /// a host.
    pub(crate) fn guessed(network: &Network, host_of: Vec<NodeId>, per_host: Option<u32>) -> Self {
        let provenance = per_host.map_or(Provenance::Guessed, |per_host| Provenance::RankOrder { per_host });
        Self::from_hosts(network, host_of, provenance)
    }

    fn from_hosts(network: &Network, host_of: Vec<NodeId>, provenance: Provenance) -> Self {
        let mut ranks_on: BTreeMap<NodeId, Vec<Rank>> = BTreeMap::new();
        for (rank, host) in (0..).map(Rank).zip(&host_of) {
            ranks_on.entry(*host).or_default().push(rank);
        }
        Self { host_of, ranks_on, hosts: network.hosts(), provenance }
    }

    /// The host that a rank is on.
    pub fn host(&self, rank: Rank) -> NodeId {
        self.host_of[rank.index()]
    }

    /// The ranks on a host, ascending.
    pub fn ranks(&self, host: NodeId) -> &[Rank] {
        self.ranks_on.get(&host).map_or(&[], Vec::as_slice)
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
        let mut can = vec![false; self.hosts];
        self.ranks_on.keys().for_each(|host| can[host.index()] = true);
        can
    }

    /// How the positions are known.
    pub fn provenance(&self) -> &Provenance {
        &self.provenance
    }

    /// A fingerprint of the positions: ranks with different ones must not share a plan.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hasher = Hasher::new("optiq placement 1");
        self.host_of.iter().for_each(|host| hasher.u64(u64::from(host.0)));
        hasher.finish()
    }

    /// Something that the user should know about how ranks were placed.
    pub fn note(&self) -> Option<String> {
        let Provenance::OneProcessor(name) = &self.provenance else { return None };
        Some(format!(
            "all ranks run on \"{}\", which is not a host of the topology, and are taken to be on one host, so that \
             nothing crosses the network; OPTIQ_PLACEMENT=rank:K spreads them over its hosts, K to each",
            shorten(name)
        ))
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
        let p = Placement::new(&network, &names(list), &rule.parse().unwrap())?;
        Ok((0..p.len() as u32).map(|r| p.host(Rank(r)).0).collect())
    }

    #[test]
    fn by_name_and_by_number() {
        assert_eq!(place(&["h2", "h0", "h2.site"], "auto").unwrap(), [2, 0, 2]);
        assert_eq!(place(&["x", "x", "x", "x"], "rank:2").unwrap(), [0, 0, 1, 1]);
        assert_eq!(place(&["x", "x", "x", "x"], "rank").unwrap(), [0, 1, 2, 3]);
        assert_eq!(place(&["x", "x"], "auto").unwrap(), [0, 0]);
    }

    /// Numbering them anew moved every rank because of one name.
    #[test]
    fn an_unknown_name_places_no_rank() {
        for rule in ["auto", "names"] {
            let e = place(&["h0", "h1", "h2", "node999"], rule).unwrap_err();
            assert!(
                e.starts_with("rank 3 runs on \"node999\", which is not a host of the topology; name the hosts"),
                "{e}"
            );
            assert!(e.contains("OPTIQ_PLACEMENT to rank:K") && !e.contains('\n'), "{e}");
        }
        assert!(place(&["x", "y"], "auto").is_err());
        assert!(place(&["x"], "names").is_err());
        let e = place(&["a"; 5], "rank").unwrap_err();
        assert!(e.starts_with("5 ranks need 5 hosts, but the topology torus:4"), "{e}");
        assert!(place(&["a"; 9], "rank:2").is_err());
    }

    #[test]
    fn a_short_name_that_could_be_two_hosts_places_no_rank() {
        assert_eq!(place(&["h1.east", "h2.west", "h1.east"], "auto").unwrap(), [1, 2, 1]);
        let e = place(&["h1.east", "h1.west"], "auto").unwrap_err();
        assert!(e.contains("\"h1.east\" and \"h1.west\" would both be the topology's host \"h1\""), "{e}");
        let network = Network::from_spec("star:2,names=n1.east,n2.east").unwrap();
        let at = |name: &str| Placement::new(&network, &names(&[name, "n2"]), &PlacementRule::Auto);
        assert!(at("n1").is_ok() && at("n1.east").is_ok() && at("n1.west").is_err());
    }

    /// By hand: 3 ranks on node a, 5 on node b, of 4 adapters each; b's fifth rank shares adapter 0.
    #[test]
    fn ranks_of_a_node_own_its_adapters_in_turn() {
        let network = Network::from_spec("star:8,nodes=4@50GB/s,names=a,b").unwrap();
        let place = |list: &[&str], rule: &str| {
            let p = Placement::new(&network, &names(list), &rule.parse().unwrap())?;
            Ok::<_, String>((0..p.len() as u32).map(|r| p.host(Rank(r)).0).collect::<Vec<_>>())
        };
        assert_eq!(place(&["a", "b", "a", "b", "b", "a", "b", "b"], "auto").unwrap(), [0, 4, 1, 5, 6, 2, 7, 4]);
        assert_eq!(place(&["b.site", "b.site"], "names").unwrap(), [4, 5]);
        assert_eq!(place(&["b-3", "a-0", "a"], "names").unwrap(), [7, 0, 0], "who names an adapter has that one");
        assert!(
            place(&["b.east", "b.west"], "auto").unwrap_err().contains("would both be the topology's host \"b-0\"")
        );
        // A rank that says that it owns an adapter which does not exist.
        let e = place(&["b-4", "a"], "auto").unwrap_err();
        assert!(e.starts_with("rank 0 runs on \"b-4\", which is not a host of the topology"), "{e}");
    }

    #[test]
    fn presets_with_names_place_by_name() {
        let network = Network::from_spec("torus:2x2,names=node[009-012]").unwrap();
        let p = Placement::new(&network, &names(&["node012", "node009.site"]), &PlacementRule::Auto).unwrap();
        assert_eq!((p.host(Rank(0)), p.host(Rank(1)), p.provenance()), (NodeId(3), NodeId(0), &Provenance::Names));
        assert!(p.note().is_none());
        let other = Placement::new(&network, &names(&["node011", "node009"]), &PlacementRule::Auto).unwrap();
        assert_ne!(p.fingerprint(), other.fingerprint());
    }

    #[test]
    fn a_file_says_where_ranks_are() {
        let path = std::env::temp_dir().join(format!("optiq-placement-{}", std::process::id()));
        let network = Network::from_spec("torus:2x2").unwrap();
        let rule: PlacementRule = format!("file:{}", path.display()).parse().unwrap();
        let read = |text: &str| {
            std::fs::write(&path, text).unwrap();
            Placement::new(&network, &names(&["x", "x", "y"]), &rule)
        };
        let p = read("h3 # rank 0\n\n(0,1)\n2\n").unwrap();
        assert_eq!((0..3).map(|r| p.host(Rank(r)).0).collect::<Vec<_>>(), [3, 1, 2]);
        assert_eq!(p.can_forward(), [false, true, true, true]);
        assert_eq!((p.ranks(NodeId(1)), p.ranks(NodeId(0))), (&[Rank(1)][..], &[][..]));
        for (text, expected) in
            [("h0\nh1\n", "hosts of 2 ranks; 3 are expected"), ("h0\nx\n", "line 2: \"x\" is not in")]
        {
            let e = read(text).unwrap_err();
            assert!(e.starts_with("OPTIQ_PLACEMENT: file ") && e.contains(expected), "{e}");
        }
        std::fs::remove_file(&path).unwrap();
        assert!(Placement::new(&network, &names(&["x"]), &rule).is_err());
        assert_eq!("file:".parse::<PlacementRule>(), Err(()));
    }

    #[test]
    fn one_unknown_processor_is_one_host_and_that_is_said() {
        let network = Network::from_spec("torus:4").unwrap();
        let p = Placement::new(&network, &names(&["x", "x"]), &PlacementRule::Auto).unwrap();
        assert!(p.note().unwrap().contains("\"x\""));
        assert_eq!(p.can_forward(), [true, false, false, false]);
        assert_eq!(p.provenance(), &Provenance::OneProcessor("x".into()));
    }
}

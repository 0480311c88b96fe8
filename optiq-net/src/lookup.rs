//! Finding a vertex by what a person or a job launcher calls it.

use crate::error::NetError;
use crate::geometry::Geometry;
use crate::host_names::adapter_name;
use crate::ids::NodeId;
use crate::names::NameMatch;
use crate::network::Network;
use crate::text_file::shorten;

/// A host that was found by a name, see [`Network::find_host`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HostMatch {
    /// The host.
    pub host: NodeId,
    /// Whether this is one of its names as they were given, and not found by leaving out a domain.
    pub exact: bool,
}

impl Network {
    /// The host called `name`; a domain is ignored where only one of the two has it (`nid00012.site.gov` finds
    /// `nid00012`, and the other way round) and no two hosts differ only in it.
    pub fn host(&self, name: &str) -> Option<NodeId> {
        self.find_host(name).map(|found| found.host)
    }

    /// As [`Network::host`], with how it was found.
    pub fn find_host(&self, name: &str) -> Option<HostMatch> {
        let found = match self.names.look_up(name)? {
            NameMatch::Exact(host) => HostMatch { host, exact: true },
            NameMatch::Short(host) => HostMatch { host, exact: false },
        };
        self.is_host(found.host).then_some(found)
    }

    /// The hosts that are the adapters of the node called `name`, with or without its domain: the first of them, and how many; `None`
    /// if there is no such node, or if adapters are no hosts (no `nodes=`).
    ///
    /// ```
    /// use optiq_net::{Network, NodeId};
    ///
    /// let network = Network::from_spec("star:8,nodes=4@50GB/s,names=node[1-2]")?;
    /// assert_eq!(network.adapters_of("node2"), Some((NodeId(4), 4)));
    /// assert_eq!(network.name(NodeId(6)), "node2-2");
    /// # Ok::<(), optiq_net::NetError>(())
    /// ```
    pub fn adapters_of(&self, name: &str) -> Option<(NodeId, u32)> {
        let adapters = self.switched.as_ref()?.node()?;
        let first = |name: &str| self.host(&adapter_name(name, 0)).filter(|host| host.0.is_multiple_of(adapters));
        let short = || name.split_once('.').and_then(|(short, _)| first(short));
        first(name).or_else(short).map(|host| (host, adapters))
    }

    /// The vertex that `text` means: a name (as in [`Network::host`], or a switch's), the index of a vertex, or
    /// coordinates on a grid (`0,1,2,3,0` or `(0,1,2,3,0)`). A name comes before an index.
    ///
    /// # Errors
    /// [`NetError::Unknown`] if there is no such vertex.
    pub fn resolve(&self, text: &str) -> Result<NodeId, NetError> {
        let text = text.trim();
        if let Some(found) = self.names.find(text) {
            return Ok(found);
        }
        let unknown = |expected: String| Err(NetError::Unknown { text: shorten(text), expected });
        if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
            return match text.parse::<u32>() {
                Ok(v) if (v as usize) < self.vertices() => Ok(NodeId(v)),
                _ => unknown(format!("an index below {}", self.vertices())),
            };
        }
        let inner = text.strip_prefix('(').and_then(|t| t.strip_suffix(')')).unwrap_or(text);
        let coordinates: Option<Vec<u32>> = inner.split(',').map(|c| c.trim().parse().ok()).collect();
        match (&self.geometry, coordinates) {
            (Geometry::Grid(grid), Some(c)) => match grid.node_at(&c) {
                Some(v) => Ok(v),
                None => {
                    let dims: Vec<String> = grid.dims().iter().map(u32::to_string).collect();
                    unknown(format!("coordinates inside {}", dims.join("x")))
                }
            },
            (Geometry::Grid(_), None) => unknown("a name, an index or coordinates".into()),
            (Geometry::General, _) => unknown("a name or an index".into()),
        }
    }
}

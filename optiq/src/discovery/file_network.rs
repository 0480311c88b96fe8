//! The network in files that configuration names, as one process reads it.

use optiq_net::{Network, NodeId};
use std::sync::Arc;
use xxhash_rust::xxh3::Xxh3;

/// The network in the files that `OPTIQ_TOPOLOGY_FILES` names, as this process reads them.
#[derive(Clone, Debug)]
pub struct FileNetwork {
    pub(super) files: String,
    pub(super) network: Result<Arc<Network>, String>,
}

impl FileNetwork {
    /// Reads the files that `files` names, with `+` between several.
    pub fn read(files: &str, max_hosts: usize) -> Self {
        let spec = format!("file:{files}");
        let network = Network::from_spec_within(&spec, max_hosts).map(Arc::new);
        Self { files: files.to_owned(), network: network.map_err(|e| format!("OPTIQ_TOPOLOGY_FILES: {e}")) }
    }

    /// A number that is the same for the same network with the same names, or why there is none.
    pub(super) fn print(&self) -> Result<u64, String> {
        let network = self.network.as_ref().map_err(Clone::clone)?;
        let mut hasher = Xxh3::new();
        hasher.update(&network.fingerprint().0.to_le_bytes());
        for vertex in 0..network.vertices() as u32 {
            hasher.update(network.name(NodeId(vertex)).as_bytes());
            hasher.update(&[0]);
        }
        Ok(hasher.digest())
    }
}

//! The second provider: a network file, or what the tools of a fabric print.

use super::file_network::FileNetwork;
use super::provider::{Answer, DiscoveryError, Found, Provider, Surroundings};
use crate::networks;
use optiq_lower::placement::Placement;
use optiq_net::spec::is_auto;
use std::sync::Arc;

/// `OPTIQ_TOPOLOGY=FILE`, or with `auto` `OPTIQ_TOPOLOGY_FILES`.
pub(super) struct Files;

impl Provider for Files {
    fn name(&self) -> &'static str {
        "files"
    }

    fn discover(&self, surroundings: &Surroundings<'_>) -> Result<Answer, DiscoveryError> {
        if let Some(spec) = surroundings.topology.filter(|spec| !is_auto(spec)) {
            let network = networks::network(spec, surroundings.max_hosts).map_err(DiscoveryError)?;
            return Ok(Answer::Found(Found::Network(network, "as OPTIQ_TOPOLOGY says".into())));
        }
        // Of all ranks, so that all come to the same.
        let mut prints = surroundings.ranks.iter().map(|rank| rank.files.as_ref());
        if prints.clone().all(|print| print.is_none()) {
            return Ok(Answer::Nothing("OPTIQ_TOPOLOGY_FILES is not set".into()));
        }
        for (rank, print) in prints.clone().enumerate() {
            match print {
                Some(Err(error)) => return Err(DiscoveryError(error.clone())),
                None => return Err(DiscoveryError(format!("OPTIQ_TOPOLOGY_FILES is not set at rank {rank}"))),
                Some(Ok(_)) => {}
            }
        }
        let first = prints.next();
        if let Some(rank) = prints.position(|print| Some(print) != first) {
            let rank = rank + 1;
            return Err(DiscoveryError(format!(
                "the files of OPTIQ_TOPOLOGY_FILES are not the same network at ranks 0 and {rank}"
            )));
        }
        let Some(FileNetwork { files, network: Ok(network) }) = surroundings.files else {
            return Err(DiscoveryError("OPTIQ_TOPOLOGY_FILES was not read".into()));
        };
        if surroundings.in_job {
            let names: Vec<String> = surroundings.ranks.iter().map(|rank| rank.processor.clone()).collect();
            let placed = Placement::new(network, &names, surroundings.placement);
            placed.map_err(|why| DiscoveryError(format!("OPTIQ_TOPOLOGY_FILES, {files}: {why}")))?;
        }
        Ok(Answer::Found(Found::Network(Arc::clone(network), format!("as OPTIQ_TOPOLOGY_FILES says, {files}"))))
    }
}

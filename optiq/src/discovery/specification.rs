//! The first provider: a specification in `OPTIQ_TOPOLOGY`.

use super::provider::{Answer, DiscoveryError, Found, Provider, Surroundings};
use crate::networks;
use optiq_net::spec::is_auto;

/// `OPTIQ_TOPOLOGY=torus:4x4` and the like.
pub(super) struct Specification;

impl Provider for Specification {
    fn name(&self) -> &'static str {
        "specification"
    }

    fn discover(&self, surroundings: &Surroundings<'_>) -> Result<Answer, DiscoveryError> {
        match surroundings.topology {
            None => Ok(Answer::Nothing("OPTIQ_TOPOLOGY is not set".into())),
            Some(spec) if is_auto(spec) => Ok(Answer::Nothing("OPTIQ_TOPOLOGY is auto".into())),
            Some(spec) if networks::is_file(spec) => Ok(Answer::Nothing("OPTIQ_TOPOLOGY names a file".into())),
            Some(spec) => {
                let network = networks::network(spec, surroundings.max_hosts).map_err(DiscoveryError)?;
                Ok(Answer::Found(Found::Network(network, "as OPTIQ_TOPOLOGY says".into())))
            }
        }
    }
}

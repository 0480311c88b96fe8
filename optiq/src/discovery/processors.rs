//! The last provider: every processor is a host, and one switch joins them.

use super::provider::{Answer, DiscoveryError, Found, Provider, Surroundings};
use optiq_lower::guessed_network::GuessedHosts;
use optiq_lower::placement::PlacementRule;

/// The hosts of the ranks, by the names of their processors, or as `OPTIQ_PLACEMENT=rank:K` says.
pub(super) fn hosts(surroundings: &Surroundings<'_>) -> Result<GuessedHosts, DiscoveryError> {
    match surroundings.placement {
        PlacementRule::Auto | PlacementRule::Names => {
            let names: Vec<String> = surroundings.ranks.iter().map(|rank| rank.processor.clone()).collect();
            Ok(GuessedHosts::from_processors(&names))
        }
        PlacementRule::Ranks { per_host } => Ok(GuessedHosts::in_rank_order(surroundings.ranks.len(), *per_host)),
        PlacementRule::File(_) => Err(DiscoveryError(
            "OPTIQ_PLACEMENT names a file, and OPTIQ_TOPOLOGY=auto has no hosts that it could name; \
             auto, names or rank:K is expected"
                .into(),
        )),
    }
}

/// One switch.
pub(super) struct Processors;

impl Provider for Processors {
    fn name(&self) -> &'static str {
        "processors"
    }

    fn discover(&self, surroundings: &Surroundings<'_>) -> Result<Answer, DiscoveryError> {
        if surroundings.in_job {
            return Ok(Answer::Found(Found::Hosts(hosts(surroundings)?)));
        }
        let name = surroundings.ranks.first().map_or("", |rank| &rank.processor);
        Ok(Answer::Partial(format!(
            "one switch that joins the processors of the ranks, of which this one is \"{name}\"; link rates are measured"
        )))
    }
}

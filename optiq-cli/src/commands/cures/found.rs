//! What `optiq cures` shows.

use optiq_net::Network;
use optiq_sim::Model;
use optiq_sim::jobs::cures::trial::Trials;
use optiq_sim::jobs::file::JobFile;
use optiq_sim::jobs::throttle::Target;

/// All that is shown.
pub struct Found<'a> {
    /// The jobs as they are.
    pub file: &'a JobFile,
    /// Their network.
    pub network: &'a Network,
    /// The machine's parameters.
    pub model: &'a Model,
    /// What throttles were to reach.
    pub target: Target,
    /// What was found.
    pub trials: &'a Trials,
}

//! What a provider is: who is asked, what it may look at, and what it answers.

use super::file_network::FileNetwork;
use super::statement::RankStatement;
use optiq_lower::guessed_network::GuessedHosts;
use optiq_lower::placement::PlacementRule;
use optiq_net::Network;
use optiq_net::units::format_count;
use std::sync::Arc;
use thiserror::Error;

/// What providers look at. Nothing else: they read no environment, and no file but one that is named.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// `OPTIQ_TOPOLOGY`: a specification, files, or `auto`.
    pub topology: Option<&'a str>,
    /// What [`FileNetwork::read`] made of `OPTIQ_TOPOLOGY_FILES`.
    pub files: Option<&'a FileNetwork>,
    /// `OPTIQ_PLACEMENT`.
    pub placement: &'a PlacementRule,
    /// `OPTIQ_MAX_HOSTS`: hosts and switches.
    pub max_hosts: usize,
    /// One of each rank of the job, in rank order; outside a job one, of this process.
    pub ranks: &'a [RankStatement],
    /// Whether `ranks` are those of a job: if not, hosts of other ranks are not known.
    pub in_job: bool,
}

/// A network, or hosts whose rates are still to be measured.
#[derive(Clone, Debug)]
pub enum Found {
    /// A network with its rates, and where it is from.
    Network(Arc<Network>, String),
    /// The hosts of the ranks, with the switches above them if those are known.
    Hosts(GuessedHosts),
}

impl Found {
    /// What was found, in words.
    pub fn describe(&self) -> String {
        match self {
            Self::Network(network, origin) => {
                let hosts = format_count(network.hosts(), "host", "hosts");
                let switches = format_count(network.vertices() - network.hosts(), "switch", "switches");
                format!("{} ({hosts}, {switches}), {origin}", network.title())
            }
            Self::Hosts(hosts) => hosts.describe(),
        }
    }
}

/// What a provider says.
#[derive(Clone, Debug)]
pub enum Answer {
    /// This is the network.
    Found(Found),
    /// Outside a job: this process's part of what ranks would find, in words.
    Partial(String),
    /// There is nothing to find here; why, as the end of a sentence.
    Nothing(String),
}

/// What was found contradicts itself or the job; a sentence that names variable or file, what was found, and what was expected.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct DiscoveryError(pub String);

/// One way in which a network becomes known.
pub trait Provider: Sync {
    /// Its name in messages and documents.
    fn name(&self) -> &'static str;

    /// Looks for a network. A function of `surroundings` alone, so that all ranks with the same get the same.
    ///
    /// # Errors
    /// [`DiscoveryError`] if there is something, but it cannot be right.
    fn discover(&self, surroundings: &Surroundings<'_>) -> Result<Answer, DiscoveryError>;
}

//! What `optiq interfere` found.

use optiq_net::Network;
use optiq_sim::Model;
use optiq_sim::jobs::adviser::Advice;
use optiq_sim::jobs::allocation::Allocation;
use optiq_sim::jobs::certificate::Certificate;
use optiq_sim::jobs::file::JobFile;

/// All that is shown.
pub struct Found<'a> {
    pub file: &'a JobFile,
    pub network: &'a Network,
    pub model: &'a Model,
    pub allocation: &'a Allocation,
    pub certificate: &'a Certificate,
    pub advice: Option<&'a Advice>,
    pub most: usize,
}

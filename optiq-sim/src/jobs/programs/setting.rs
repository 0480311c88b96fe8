//! Where a job's processes are, and what it is built for.

use crate::error::SimError;
use crate::jobs::program_spec::ProgramSpec;
use crate::model::Model;
use optiq_net::Network;

/// The processes of a job, and all that its programs need to know.
#[derive(Clone, Copy)]
pub struct JobSetting<'a> {
    /// The network.
    pub network: &'a Network,
    /// The machine's parameters.
    pub model: &'a Model,
    /// The host of each of the job's processes: ranks first, then servers.
    pub hosts: &'a [u32],
    /// How many of them are servers.
    pub servers: u32,
    /// The number of the job's first process.
    pub first: u32,
    /// Of all draws.
    pub seed: u64,
    /// Whether ranks go on after their samples, until the simulation ends: as a load for others, or so that the load of a
    /// measured job is the same until its last rank has its samples.
    pub keep_going: bool,
    /// For `alltoallv` by OPTIQ: the network as its planner sees it, for example with the load of other jobs as background;
    /// `None` for `network`. It has the same hosts and links.
    pub planning_network: Option<&'a Network>,
}

impl JobSetting<'_> {
    /// How many ranks there are, without servers.
    pub fn ranks(&self) -> u32 {
        (self.hosts.len() as u32).saturating_sub(self.servers)
    }

    /// Whether these processes can run such a program.
    ///
    /// # Errors
    /// [`SimError::Workload`]: no ranks, hosts that the network does not have, servers without need or need without servers.
    pub fn check(&self, spec: &ProgramSpec) -> Result<(), SimError> {
        let name = spec.name();
        let (ranks, servers) = (self.ranks(), self.servers);
        let bad = |text: String| Err(SimError::Workload(text));
        if u64::from(self.first) + self.hosts.len() as u64 > u64::from(u32::MAX) {
            return bad(format!(
                "{name}: found {} processes after {}; at most 2^32 - 1 are expected",
                self.hosts.len(),
                self.first
            ));
        }
        if let Some(host) = self.hosts.iter().find(|&&host| host as usize >= self.network.hosts()) {
            return bad(format!("{name}: a process is on host {host}; the network has {} hosts", self.network.hosts()));
        }
        if ranks == 0 {
            return bad(format!("{name}: found {servers} servers and no rank; at least one rank is expected"));
        }
        match (spec.needs_servers(), servers) {
            (true, 0) => bad(format!("{name} needs servers; found none")),
            (false, 1..) => bad(format!("{name} takes no servers; found {servers}")),
            _ => Ok(()),
        }
    }
}

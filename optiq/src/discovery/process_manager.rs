//! The third provider: what process managers and batch systems tell their processes.
//!
//! Slurm tells each task the switches above its node, and all of them give a tree. Others tell the hosts of the job: they say nothing of
//! switches, so one is taken, but every rank's processor must be a host of the job.

use super::host_list::ListStatement;
use super::processors;
use super::provider::{Answer, DiscoveryError, Found, Provider, Surroundings};
use optiq_lower::placement::PlacementRule;
use optiq_net::SwitchPath;
use optiq_net::units::format_count;
use std::collections::BTreeMap;

/// `SLURM_TOPOLOGY_ADDR`, `SLURM_JOB_NODELIST`, `PBS_NODEFILE` and the like.
pub(super) struct ProcessManager;

const ADDRESS: &str = "SLURM_TOPOLOGY_ADDR";

impl Provider for ProcessManager {
    fn name(&self) -> &'static str {
        "process-manager"
    }

    fn discover(&self, surroundings: &Surroundings<'_>) -> Result<Answer, DiscoveryError> {
        if matches!(surroundings.placement, PlacementRule::File(_)) {
            return Ok(Answer::Nothing("OPTIQ_PLACEMENT names a file".into()));
        }
        if let Some(answer) = by_addresses(surroundings)? {
            return Ok(answer);
        }
        if let Some(answer) = by_lists(surroundings)? {
            return Ok(answer);
        }
        let why = match surroundings.placement {
            PlacementRule::Ranks { .. } => "no switches are told, and OPTIQ_PLACEMENT says where ranks are",
            _ => "no variable of Slurm, PBS, LSF, Grid Engine, Hydra or Open MPI names hosts",
        };
        Ok(Answer::Nothing(why.into()))
    }
}

/// The tree of switches, where addresses have switches.
fn by_addresses(surroundings: &Surroundings<'_>) -> Result<Option<Answer>, DiscoveryError> {
    let mut paths: Vec<Option<SwitchPath>> = Vec::with_capacity(surroundings.ranks.len());
    for (rank, statement) in surroundings.ranks.iter().enumerate() {
        let path = statement.address.as_ref().map(|(address, pattern)| SwitchPath::parse(address, pattern));
        let wrong = |e: optiq_net::NetError| DiscoveryError(format!("{ADDRESS} of rank {rank}: {e}"));
        paths.push(path.transpose().map_err(wrong)?);
    }
    let has_switches = |path: &Option<SwitchPath>| path.as_ref().is_some_and(|path| !path.levels.is_empty());
    let Some(with) = paths.iter().position(has_switches) else { return Ok(None) };
    if !surroundings.in_job {
        let address = surroundings.ranks[with].address.as_ref().map_or("", |(address, _)| address);
        return Ok(Some(Answer::Partial(format!(
            "{ADDRESS} is {address}; the addresses of all ranks give a tree of switches, whose link rates are measured"
        ))));
    }
    if let Some(without) = paths.iter().position(|path| !has_switches(path)) {
        return Err(DiscoveryError(format!(
            "{ADDRESS} names switches at rank {with} and none at rank {without}; all ranks' are expected"
        )));
    }
    let paths: Vec<SwitchPath> = paths.into_iter().flatten().collect();
    let told_by = format!("Slurm ({ADDRESS})");
    let below = processors::hosts(surroundings)?.below(&paths, &told_by);
    let hosts = below.map_err(|why| DiscoveryError(format!("{ADDRESS}: {why}")))?;
    Ok(Some(Answer::Found(Found::Hosts(hosts))))
}

/// One switch with hosts that a list confirms.
fn by_lists(surroundings: &Surroundings<'_>) -> Result<Option<Answer>, DiscoveryError> {
    if matches!(surroundings.placement, PlacementRule::Ranks { .. }) {
        return Ok(None);
    }
    let mut seen: BTreeMap<&str, (usize, &ListStatement)> = BTreeMap::new();
    let mut first: Option<&ListStatement> = None;
    for (rank, statement) in surroundings.ranks.iter().enumerate() {
        let list = match &statement.list {
            None => continue,
            Some(Err(why)) => return Err(DiscoveryError(format!("rank {rank}: {why}"))),
            Some(Ok(list)) => list,
        };
        first = first.or(Some(list));
        let ListStatement { manager, variable, hosts, print, listed } = list;
        let (other, known) = *seen.entry(variable).or_insert((rank, list));
        if (known.hosts, known.print) != (*hosts, *print) {
            return Err(DiscoveryError(format!("{variable} does not have the same hosts at ranks {other} and {rank}")));
        }
        if !listed && surroundings.in_job {
            return Err(DiscoveryError(format!(
                "rank {rank} runs on \"{}\", which is not a host of the job as {manager} says ({variable})",
                statement.processor
            )));
        }
    }
    let Some(ListStatement { manager, variable, hosts, .. }) = first else { return Ok(None) };
    let count = if *hosts > 0 { format_count(*hosts, "host", "hosts") } else { "hosts".to_owned() };
    if !surroundings.in_job {
        let text =
            format!("{count} of {manager}'s job ({variable}), joined by one switch, whose link rates are measured");
        return Ok(Some(Answer::Partial(text)));
    }
    let hosts = processors::hosts(surroundings)?.confirmed(&format!("{manager} confirms ({variable})"));
    Ok(Some(Answer::Found(Found::Hosts(hosts))))
}

//! How an MPI launcher is told to run on the lab's hosts.

use crate::blueprint::{Blueprint, FABRIC_DEVICE, MANAGEMENT_NET};
use crate::{ENTRY, LabError, agent, tools};
use serde::{Deserialize, Serialize};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Which MPI library's launcher is driven.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum MpiFlavour {
    /// Open MPI, version 4.
    #[default]
    OpenMpi,
}

/// The environment variable that tells a program the network that it runs on.
pub const TOPOLOGY_VARIABLE: &str = "OPTIQ_TOPOLOGY";
/// The environment variable that names a file with what is not to be had of the network's capacities.
const BACKGROUND_VARIABLE: &str = "OPTIQ_BACKGROUND";
/// Variables of the caller whose names begin so reach the ranks.
const VARIABLES: &str = "OPTIQ_";

/// How many ranks go where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    pub ranks: usize,
    pub per_host: usize,
}

impl Placement {
    /// `ranks` ranks (all places if none), filling one host after the other with `per_host` each.
    ///
    /// # Errors
    /// [`LabError::Argument`] for no ranks or more than there are places.
    pub(crate) fn new(hosts: usize, ranks: Option<usize>, per_host: usize) -> Result<Self, LabError> {
        let places = hosts.saturating_mul(per_host);
        let ranks = ranks.unwrap_or(places);
        if ranks == 0 || per_host == 0 || ranks > places {
            return Err(LabError::Argument(format!(
                "{ranks} ranks with {per_host} per host do not fit the lab's {hosts} hosts; 1 to {places} ranks are \
                 expected"
            )));
        }
        Ok(Placement { ranks, per_host })
    }
}

/// The command that starts `program` on the lab's hosts, to be run in the management namespace, and the environment
/// that it needs.
pub(crate) struct Launch {
    pub command: Vec<OsString>,
    pub environment: Vec<(OsString, OsString)>,
}

/// Prepares a launch with Open MPI. `run_dir` gets the agent's script.
pub(crate) fn open_mpi(
    blueprint: &Blueprint,
    state_path: &Path,
    run_dir: &Path,
    placement: Placement,
    extra: &[OsString],
    program: &[OsString],
) -> Result<Launch, LabError> {
    let mpirun = tools::find("mpirun")?;
    let version = Command::new(&mpirun)
        .arg("--version")
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .output()
        .map_err(LabError::io(format!("start {}", mpirun.display())))?;
    let version = String::from_utf8_lossy(&version.stdout);
    if !version.contains("(Open MPI) 4.") {
        return Err(LabError::Missing(format!(
            "{} is {}, and the lab drives Open MPI 4 (Debian: apt install openmpi-bin)",
            mpirun.display(),
            version.lines().next().filter(|l| !l.is_empty()).unwrap_or("of a kind that does not tell its version")
        )));
    }
    let script = run_dir.join("agent");
    let binary = crate::current_binary()?;
    let quoted = binary.to_string_lossy().replace('\'', r"'\''");
    let text =
        format!("exec '{quoted}' {ENTRY} {} {} {} \"$@\"\n", agent::VERB, state_path.display(), run_dir.display());
    fs::write(&script, text).map_err(LabError::io(format!("write {}", script.display())))?;

    let mut command: Vec<OsString> = vec![mpirun.into()];
    let mut parameter = |name: &str, value: &str| command.extend(["--mca", name, value].map(OsString::from));
    parameter("plm_rsh_agent", &format!("/bin/sh {}", script.display()));
    parameter("oob_tcp_if_include", MANAGEMENT_NET);
    parameter("pml", "ob1");
    // Ranks of one host talk through memory; with one rank per host there is nobody to talk to.
    parameter("btl", if placement.per_host > 1 { "tcp,vader,self" } else { "tcp,self" });
    parameter("btl_tcp_if_include", FABRIC_DEVICE);
    // Shared-memory files that a killed run leaves go with the run's directory.
    parameter("btl_vader_backing_directory", &run_dir.display().to_string());
    parameter("osc", "pt2pt");
    parameter("mpi_yield_when_idle", "1");
    let hosts: Vec<String> = blueprint
        .hosts
        .iter()
        .take(placement.ranks.div_ceil(placement.per_host))
        .map(|h| format!("{}:{}", h.name, placement.per_host))
        .collect();
    let count = placement.ranks.to_string();
    command.extend(["--bind-to", "none", "--map-by", "slot", "-np", &count, "--host"].map(OsString::from));
    command.push(hosts.join(",").into());

    let environment = environment(blueprint);
    for (name, _) in &environment {
        command.extend([OsString::from("-x"), name.clone()]);
    }
    command.extend_from_slice(extra);
    command.extend_from_slice(program);
    let mut launch = Launch { command, environment };
    // Root of a user namespace is root to mpirun as well.
    for name in ["OMPI_ALLOW_RUN_AS_ROOT", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] {
        launch.environment.push((name.into(), "1".into()));
    }
    Ok(launch)
}

/// The caller's variables for OPTIQ, and the lab's topology.
pub(crate) fn environment(blueprint: &Blueprint) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<(OsString, OsString)> = env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(|n| n.starts_with(VARIABLES) && n != TOPOLOGY_VARIABLE))
        .collect();
    variables.sort();
    variables.push((TOPOLOGY_VARIABLE.into(), blueprint.topology.clone().into()));
    // Links that are slower than the topology says; the caller may say otherwise.
    if let Some(path) = &blueprint.background
        && !variables.iter().any(|(name, _)| name == BACKGROUND_VARIABLE)
    {
        variables.push((BACKGROUND_VARIABLE.into(), path.into()));
    }
    variables
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_counted() {
        assert_eq!(Placement::new(16, None, 1).unwrap(), Placement { ranks: 16, per_host: 1 });
        assert_eq!(Placement::new(16, None, 4).unwrap().ranks, 64);
        assert_eq!(Placement::new(16, Some(5), 2).unwrap().ranks, 5);
        for (ranks, per_host) in [(Some(0), 1), (Some(17), 1), (None, 0), (Some(usize::MAX), 2)] {
            assert!(matches!(Placement::new(16, ranks, per_host), Err(LabError::Argument(_))));
        }
    }
}

//! The options that make an MPI launcher run on the lab's hosts.

use crate::agent;
use crate::blueprint::{Blueprint, FABRIC_DEVICE, MANAGEMENT_NET};
use crate::entry::ENTRY;
use crate::error::LabError;
use crate::needed;
use crate::tools;
use optiq_files::output;
use serde::{Deserialize, Serialize};
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::process::Command;
use std::str::FromStr;

/// Which MPI library's launcher is driven. It must be that of the library that the program is linked with: started by
/// another one, every rank takes itself for the only one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum MpiFlavour {
    /// Open MPI, version 4.
    #[default]
    OpenMpi,
    /// MPICH, and others that come with the launcher Hydra.
    Mpich,
}

impl MpiFlavour {
    /// The library that a program is linked with, if it is linked with one of these two. For what is no program file,
    /// such as a script: Open MPI, or MPICH where only that one's launcher is to be found.
    pub fn of_program(program: &OsStr) -> Self {
        let libraries = tools::locate(program).map(|path| needed::libraries(&path)).unwrap_or_default();
        let linked = |name: &str| libraries.iter().any(|l| l.starts_with(name));
        // Intel MPI and others derived from MPICH call theirs libmpi.so.12, Open MPI 4 has libmpi.so.40.
        if linked("libmpich.so") || linked("libmpi.so.12") {
            MpiFlavour::Mpich
        } else if linked("libmpi.so") || open_mpi_launcher().is_ok() || tools::find(HYDRA).is_err() {
            MpiFlavour::OpenMpi
        } else {
            MpiFlavour::Mpich
        }
    }
}

impl FromStr for MpiFlavour {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Self, LabError> {
        match text {
            "openmpi" => Ok(MpiFlavour::OpenMpi),
            "mpich" => Ok(MpiFlavour::Mpich),
            _ => Err(LabError::Argument(format!(
                "the MPI library \"{text}\" is not known; openmpi or mpich is expected"
            ))),
        }
    }
}

/// The device of the management namespace that leads to the hosts.
const MANAGEMENT_DEVICE: &str = "mgmt0";
/// MPICH's launcher.
const HYDRA: &str = "mpiexec.hydra";

/// The environment variable that tells a program the network that it runs on.
pub const TOPOLOGY_VARIABLE: &str = "OPTIQ_TOPOLOGY";
/// The environment variable that tells a program which [profile](crate::Profile) the lab that it runs in has.
pub const PROFILE_VARIABLE: &str = "OPTIQ_LAB_PROFILE";
/// The environment variable that names a file with what is not to be had of the network's capacities.
const BACKGROUND_VARIABLE: &str = "OPTIQ_BACKGROUND";
/// Variables of the caller whose names begin so reach the ranks.
const VARIABLES: &str = "OPTIQ_";
/// Reaches the ranks, and nothing that starts them: `optiq wrap` in front of `optiq lab run` then wraps the ranks, and is started once.
pub(crate) const PRELOAD: &str = "LD_PRELOAD";

/// Variables that the lab alone sets.
const OWN: [&str; 2] = [TOPOLOGY_VARIABLE, PROFILE_VARIABLE];

/// How many ranks go where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Placement {
    pub ranks: usize,
    /// Hosts by their index in the blueprint, each with its places; filled one after the other.
    pub places: Vec<(usize, usize)>,
}

impl Placement {
    /// `ranks` ranks (all places if none), filling one host after the other with `per_host` each.
    ///
    /// # Errors
    /// [`LabError::Argument`] for no ranks or more than there are places.
    pub(crate) fn new(hosts: usize, ranks: Option<usize>, per_host: usize) -> Result<Self, LabError> {
        let all: Vec<usize> = (0..hosts).collect();
        Self::on(&all, ranks, per_host).map_err(|why| {
            LabError::Argument(format!(
                "{why} fit the lab's {hosts} hosts; 1 to {} ranks are expected",
                hosts.saturating_mul(per_host)
            ))
        })
    }

    /// As [`Placement::new`] on these hosts; what does not fit, as the beginning of a sentence.
    ///
    /// # Errors
    /// See there.
    pub(crate) fn on(hosts: &[usize], ranks: Option<usize>, per_host: usize) -> Result<Self, String> {
        let most = hosts.len().saturating_mul(per_host);
        let ranks = ranks.unwrap_or(most);
        if ranks == 0 || per_host == 0 || ranks > most {
            return Err(format!("{ranks} ranks with {per_host} per host do not"));
        }
        let used = &hosts[..ranks.div_ceil(per_host)];
        Ok(Placement { ranks, places: used.iter().map(|&host| (host, per_host)).collect() })
    }

    /// One rank for each of these hosts, of which some may be the same.
    pub(crate) fn each(hosts: &[usize]) -> Self {
        let mut places: Vec<(usize, usize)> = Vec::new();
        for &host in hosts {
            match places.iter_mut().find(|place| place.0 == host) {
                Some(place) => place.1 += 1,
                None => places.push((host, 1)),
            }
        }
        Placement { ranks: hosts.len(), places }
    }

    /// Whether ranks have others on their host.
    fn shares_hosts(&self) -> bool {
        self.places.iter().any(|place| place.1 > 1)
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
    placement: &Placement,
    extra: &[OsString],
    program: &[OsString],
) -> Result<Launch, LabError> {
    let mpirun = open_mpi_launcher()?;
    let version = Command::new(&mpirun)
        .arg("--version")
        .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
        .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
        .output()
        .map_err(LabError::io(format!("start {}", mpirun.display())))?;
    let version = String::from_utf8_lossy(&version.stdout);
    // Under its name in Debian the launcher calls itself OpenRTE.
    if !version.contains("(Open MPI) 4.") && !version.contains("(OpenRTE) 4.") {
        return Err(LabError::Missing(format!(
            "{} is {}, and the lab drives Open MPI 4 (Debian: apt install openmpi-bin)",
            mpirun.display(),
            version.lines().next().filter(|l| !l.is_empty()).unwrap_or("of a kind that does not tell its version")
        )));
    }
    let script = write_agent(state_path, run_dir, agent::VERB)?;

    let mut command: Vec<OsString> = vec![mpirun.into()];
    let mut parameter = |name: &str, value: &str| command.extend(["--mca", name, value].map(OsString::from));
    parameter("plm_rsh_agent", &format!("/bin/sh {}", script.display()));
    parameter("oob_tcp_if_include", MANAGEMENT_NET);
    parameter("pml", "ob1");
    // Ranks of one host talk through memory; with one rank per host there is no other rank.
    parameter("btl", if placement.shares_hosts() { "tcp,vader,self" } else { "tcp,self" });
    parameter("btl_tcp_if_include", FABRIC_DEVICE);
    // Shared-memory files that a killed run leaves go with the run's directory.
    parameter("btl_vader_backing_directory", &run_dir.display().to_string());
    // One-sided calls over TCP are had from no other component; memory that ranks of a host share is from the second.
    parameter("osc", if placement.shares_hosts() { "pt2pt,sm" } else { "pt2pt" });
    parameter("mpi_yield_when_idle", "1");
    let hosts = host_list(blueprint, placement);
    let count = placement.ranks.to_string();
    command.extend(["--bind-to", "none", "--map-by", "slot", "-np", &count, "--host"].map(OsString::from));
    command.push(hosts.into());

    let environment = environment(blueprint);
    for (name, _) in &environment {
        command.extend([OsString::from("-x"), name.clone()]);
    }
    if let Some(libraries) = env::var_os(PRELOAD) {
        let mut setting = OsString::from(format!("{PRELOAD}="));
        setting.push(libraries);
        command.extend(["-x".into(), setting]);
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

/// Settings of UCX, which MPICH sends with, in a lab where the caller does not set others.
const UCX: [(&str, &str); 3] = [
    // The hosts share a kernel, and UCX would find memory that they share as well.
    ("UCX_TLS", "tcp,self"),
    ("UCX_NET_DEVICES", FABRIC_DEVICE),
    // UCX 1.13 sends large messages of all peers in turn after a handshake each, which leaves links idle for half of the
    // time (52 % of the link bound against 93 %, 4 MB between each two of three hosts).
    ("UCX_RNDV_THRESH", "inf"),
];

/// Prepares a launch with MPICH. `run_dir` gets the agent's script.
///
/// With Debian 12's MPICH 4.0.2 (over UCX 1.13) a program may hang in `MPI_Finalize`, when all its work is done: there every
/// rank flushes its TCP connections, which the peer must acknowledge, and then waits for all ranks without acknowledging
/// any more; who comes late waits for ever. No setting of UCX prevents it. Hence the advice to give runs a timeout.
pub(crate) fn mpich(
    blueprint: &Blueprint,
    state_path: &Path,
    run_dir: &Path,
    placement: &Placement,
    extra: &[OsString],
    program: &[OsString],
) -> Result<Launch, LabError> {
    let hydra = tools::find(HYDRA)?;
    // UCX looks for network devices in /sys.
    let script = write_agent(state_path, run_dir, agent::DEVICES_VERB)?;
    let mut command: Vec<OsString> = vec![hydra.into()];
    // A remote shell by our word; the launcher listens on the management network; ranks inherit the agent's environment.
    command.extend(["-launcher", "ssh", "-launcher-exec"].map(OsString::from));
    command.push(script.into());
    command.extend(["-iface", MANAGEMENT_DEVICE, "-genvnone"].map(OsString::from));
    if let Some(libraries) = env::var_os(PRELOAD) {
        command.extend(["-genv".into(), PRELOAD.into(), libraries]);
    }
    command.push("-hosts".into());
    command.push(host_list(blueprint, placement).into());
    command.extend(["-n".into(), OsString::from(placement.ranks.to_string())]);
    command.extend_from_slice(extra);
    command.extend_from_slice(program);
    let mut environment = environment(blueprint);
    let unset = UCX.iter().filter(|(name, _)| env::var_os(name).is_none());
    environment.extend(unset.map(|&(name, value)| (name.into(), value.into())));
    Ok(Launch { command, environment })
}

/// Open MPI's launcher: by the name that Debian gives it beside others, or `mpirun`.
fn open_mpi_launcher() -> Result<std::path::PathBuf, LabError> {
    tools::find("mpirun.openmpi").or_else(|_| tools::find("mpirun"))
}

/// The hosts that have ranks, with their places: `h0:2,h1:2`.
fn host_list(blueprint: &Blueprint, placement: &Placement) -> String {
    let hosts = placement.places.iter().map(|&(host, places)| format!("{}:{places}", blueprint.hosts[host].name));
    hosts.collect::<Vec<_>>().join(",")
}

/// Permissions of a script that only its owner runs.
const FOR_THE_OWNER: u32 = 0o700;

/// Writes the script that a launcher takes for a remote shell, and gives its path.
fn write_agent(state_path: &Path, run_dir: &Path, verb: &str) -> Result<std::path::PathBuf, LabError> {
    let script = run_dir.join("agent");
    let binary = crate::entry::current_binary()?;
    let quoted = binary.to_string_lossy().replace('\'', r"'\''");
    // Hydra says `-x` to ssh: no X11.
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = -x ] && shift\nexec '{quoted}' {ENTRY} {verb} {} {} \"$@\"\n",
        state_path.display(),
        run_dir.display()
    );
    output::write_volatile(&script, FOR_THE_OWNER, text.as_bytes())
        .map_err(LabError::io(format!("write {}", script.display())))?;
    Ok(script)
}

/// The caller's variables for OPTIQ, and the lab's topology and profile.
pub(crate) fn environment(blueprint: &Blueprint) -> Vec<(OsString, OsString)> {
    let mut variables: Vec<(OsString, OsString)> = env::vars_os()
        .filter(|(name, _)| name.to_str().is_some_and(|n| n.starts_with(VARIABLES) && !OWN.contains(&n)))
        .collect();
    variables.sort();
    variables.push((TOPOLOGY_VARIABLE.into(), blueprint.topology.clone().into()));
    variables.push((PROFILE_VARIABLE.into(), blueprint.profile.name().into()));
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
    fn libraries_have_names() {
        assert_eq!("mpich".parse::<MpiFlavour>().unwrap(), MpiFlavour::Mpich);
        assert_eq!("openmpi".parse::<MpiFlavour>().unwrap(), MpiFlavour::OpenMpi);
        let error = "lam".parse::<MpiFlavour>().unwrap_err().to_string();
        assert_eq!(error, "the MPI library \"lam\" is not known; openmpi or mpich is expected");
    }

    #[test]
    fn places_are_counted() {
        assert_eq!(Placement::new(2, None, 1).unwrap(), Placement { ranks: 2, places: vec![(0, 1), (1, 1)] });
        assert_eq!(Placement::each(&[3, 1, 3]), Placement { ranks: 3, places: vec![(3, 2), (1, 1)] });
        assert_eq!(Placement::new(16, None, 4).unwrap().ranks, 64);
        assert_eq!(Placement::new(16, Some(5), 2).unwrap().places, vec![(0, 2), (1, 2), (2, 2)]);
        for (ranks, per_host) in [(Some(0), 1), (Some(17), 1), (None, 0), (Some(usize::MAX), 2)] {
            assert!(matches!(Placement::new(16, ranks, per_host), Err(LabError::Argument(_))));
        }
    }
}

//! `optiq wrap`: runs a program under the preload library.

use crate::failure::Failure;
use crate::output::Schema;
use crate::{elf, output};
use clap::Args;
use optiq::{OPTIONS, Settings};
use optiq_files::input::Input;
use optiq_net::spec::{AUTO, is_auto};
use optiq_net::{NetError, Network};
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// Run a program with MPI_Alltoallv taken over, without changing it
///
/// Sets LD_PRELOAD and the OPTIQ_* options and becomes the command: its exit status and signals are its own. Works in front
/// of a program (mpirun -n 4 optiq wrap -- ./app) and in front of a launcher (optiq wrap -- mpirun -n 4 ./app), which is told
/// to hand the variables on to all ranks. Other preloaded libraries stay; OPTIQ comes first, and passes on to them what it
/// does not serve. Where no network is given by argument, environment or optiq.conf, OPTIQ_TOPOLOGY=auto is set: every processor
/// name is a host, one switch joins them, and ranks measure the rate of its links. The status is 127 if the command is not found, and 126 if it cannot be executed. Nothing can be preloaded
/// into a statically linked program: it runs as it is, and a line on standard error says so.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq wrap --report -- mpirun -n 16 ./app input.nml
  optiq wrap --topology torus:4x4 --report -- mpirun -n 16 ./app input.nml
  mpirun -n 16 optiq wrap --topology net.toml -- ./app input.nml
  optiq wrap --topology torus:4x4 --take alltoallv,alltoall --json -- ./app")]
pub struct Arguments {
    /// The preload library [default: liboptiq_pmpi.so beside this program, or in ../lib or ../lib64 from there]
    #[arg(long, value_name = "FILE")]
    library: Option<PathBuf>,
    /// The network, as in OPTIQ_TOPOLOGY; auto guesses it when the program runs, one switch between the hosts [default: what
    /// OPTIQ_TOPOLOGY or optiq.conf says, else auto]
    #[arg(long, value_name = "SPEC")]
    topology: Option<String>,
    /// Which host each rank is on, as in OPTIQ_PLACEMENT: auto, names, rank:K or file:FILE
    #[arg(long, value_name = "RULE")]
    placement: Option<String>,
    /// Whether to use planned paths, as in OPTIQ_ALGORITHM: auto, multipath or mpi
    #[arg(long, value_name = "NAME")]
    algorithm: Option<String>,
    /// The functions to take over, as in OPTIQ_PRELOAD: a list of alltoallv, alltoall, ialltoallv
    #[arg(long, value_name = "LIST")]
    take: Option<String>,
    /// Any other option, such as OPTIQ_BUDGET=128MiB; may be given several times
    #[arg(long = "option", value_name = "NAME=VALUE")]
    options: Vec<String>,
    /// Have rank 0 say at the end how many calls were served, and why others were not
    #[arg(long)]
    report: bool,
    /// Print what would be run and set as one JSON document, and run nothing
    #[arg(long)]
    json: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<OsString>,
}

/// The file that is preloaded.
const LIBRARY: &str = "liboptiq_pmpi.so";

/// Where it is looked for, from the directory of this program.
const PLACES: [&str; 3] = [".", "../lib", "../lib64"];

/// Libraries that insist on being the first.
const FIRST: [&str; 4] = ["libasan", "libtsan", "liblsan", "libubsan"];

/// A launcher that takes options for the variables of the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Launcher {
    OpenMpi,
    Hydra,
}

#[derive(Serialize)]
struct WrapDocument {
    library: String,
    launcher: Option<Launcher>,
    command: Vec<String>,
    /// What is set for the command itself; a launcher gets it as arguments.
    environment: BTreeMap<String, String>,
    /// The program into which nothing can be preloaded, as it is statically linked.
    #[serde(skip_serializing_if = "Option::is_none")]
    statically_linked: Option<String>,
}

impl Arguments {
    /// Becomes the command.
    pub fn run(self) -> Result<ExitCode, Failure> {
        let library = self.library()?;
        let set = self.variables()?;
        let present = std::env::var_os("LD_PRELOAD").map(OsString::into_string).transpose().map_err(|found| {
            Failure::Input(format!("LD_PRELOAD is {found:?}, which is not UTF-8; the path of a library is expected"))
        })?;
        let preload = preload(&library, present.as_deref());
        let (program, arguments) =
            self.command.split_first().ok_or_else(|| Failure::Input("a command is missing".into()))?;
        let launcher = launcher(program);
        let mut all: BTreeMap<String, String> = set;
        all.insert("LD_PRELOAD".into(), preload);
        if launcher.is_some() {
            // What is in the environment already must reach the other nodes as well.
            for (name, value) in optiq_variables()? {
                all.entry(name).or_insert(value);
            }
        }
        let (arguments, environment) = match launcher {
            Some(launcher) => (told(launcher, &all, arguments), BTreeMap::new()),
            None => (arguments.to_vec(), all),
        };
        let statically_linked = statically_linked(&self.command, launcher.is_some());
        if self.json {
            let text = |s: &OsString| s.to_string_lossy().into_owned();
            output::print_json(
                Schema::Wrap,
                &WrapDocument {
                    library: library.display().to_string(),
                    launcher,
                    command: std::iter::once(program).chain(&arguments).map(text).collect(),
                    environment,
                    statically_linked: statically_linked.map(|file| file.display().to_string()),
                },
            )?;
            return Ok(ExitCode::SUCCESS);
        }
        if let Some(file) = statically_linked.filter(|_| is_first_rank()) {
            let text = format!(
                "optiq: calls of {}: none can be taken over, because it is statically linked and nothing can be preloaded into \
                 it; link it dynamically, or have it call optiq_alltoallv",
                file.display()
            );
            // The program runs all the same.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
        // Only returns if it fails.
        let error = Command::new(program).args(&arguments).envs(&environment).exec();
        let text = format!("{} cannot be started: {error}", program.display());
        Err(match error.kind() {
            ErrorKind::NotFound => Failure::NotFound(text),
            _ => Failure::NotExecutable(text),
        })
    }

    /// The library's path, which must be one that LD_PRELOAD can hold.
    fn library(&self) -> Result<PathBuf, Failure> {
        let found = match &self.library {
            Some(file) => file.clone(),
            None => beside_this_program().ok_or_else(|| {
                Failure::Input(format!(
                    "{LIBRARY} is neither beside this program nor in {} or {} from there; --library FILE says where it is",
                    PLACES[1], PLACES[2]
                ))
            })?,
        };
        let wrong = |why: String| Err(Failure::Input(format!("the library {} {why}", found.display())));
        let path = match found.canonicalize() {
            Ok(path) => path,
            Err(error) => return wrong(format!("cannot be used: {error}")),
        };
        let mut magic = [0; 4];
        let read = Input::open(&path).and_then(|file| file.at_most(u64::MAX)?.read_exact(&mut magic));
        if read.is_err() || &magic != b"\x7fELF" {
            return wrong(format!("is no shared library; the path of {LIBRARY} is expected"));
        }
        if path.to_string_lossy().contains([' ', ':', '\t', '\n']) {
            return wrong("has a space or a colon in its path, which LD_PRELOAD cannot hold".into());
        }
        Ok(path)
    }

    /// The options that were given as arguments, checked.
    fn variables(&self) -> Result<BTreeMap<String, String>, Failure> {
        let mut set = BTreeMap::new();
        for (name, value) in [
            ("OPTIQ_TOPOLOGY", &self.topology),
            ("OPTIQ_PLACEMENT", &self.placement),
            ("OPTIQ_ALGORITHM", &self.algorithm),
            ("OPTIQ_PRELOAD", &self.take),
        ] {
            if let Some(value) = value {
                set.insert(name.to_string(), value.clone());
            }
        }
        if self.report {
            set.insert("OPTIQ_REPORT".into(), "1".into());
        }
        for option in &self.options {
            let Some((name, value)) = option.split_once('=') else {
                return Err(Failure::Input(format!("--option is \"{option}\"; NAME=VALUE is expected")));
            };
            if !OPTIONS.iter().any(|o| o.name == name) {
                let text = format!("--option names \"{name}\", and OPTIQ has no such option; optiq info -c lists them");
                return Err(Failure::Input(text));
            }
            set.insert(name.to_string(), value.to_string());
        }
        let read = Settings::from_variables(set.clone()).resolve();
        if let Some(error) = read.error {
            return Err(Failure::Input(error.to_string()));
        }
        let given = read.config.topology.as_deref();
        if given.is_none() && Settings::read().resolve().config.topology.is_none() {
            set.insert("OPTIQ_TOPOLOGY".into(), AUTO.into());
        }
        if let Some(spec) = self.topology.as_deref().filter(|spec| !is_auto(spec)) {
            // Here it is one sentence; in the ranks it would be a warning and a run without OPTIQ.
            Network::from_spec_within(spec, read.config.max_hosts).map_err(|error| match error {
                NetError::TooLarge { .. } => Failure::Input(format!("{error}; OPTIQ_MAX_HOSTS raises the limit")),
                other => other.into(),
            })?;
        }
        Ok(set)
    }
}

/// The statically linked program that a command runs. Of a launcher, the first of its arguments that is a program counts.
fn statically_linked(command: &[OsString], launcher: bool) -> Option<PathBuf> {
    let words = if launcher { &command[1..] } else { &command[..1] };
    let program = |word: &OsString| {
        let file = elf::find(Path::new(word))?;
        Some((elf::is_static(&file)?, file))
    };
    words.iter().find_map(program).filter(|(is_static, _)| *is_static).map(|(_, file)| file)
}

/// Whether this is rank 0, as launchers tell the processes that they start, or no rank.
fn is_first_rank() -> bool {
    let names = ["OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_PROCID"];
    names.iter().find_map(std::env::var_os).is_none_or(|rank| rank == "0")
}

/// OPTIQ's variables of the environment. Others may hold any bytes; these must be text, as every option is.
fn optiq_variables() -> Result<Vec<(String, String)>, Failure> {
    let text = |(name, value): (OsString, OsString)| {
        let name = name.into_string().ok().filter(|name| name.starts_with("OPTIQ_"))?;
        Some(match value.into_string() {
            Ok(value) => Ok((name, value)),
            Err(value) => Err(Failure::Input(format!("{name} is {value:?}, which is not UTF-8; text is expected"))),
        })
    };
    std::env::vars_os().filter_map(text).collect()
}

fn beside_this_program() -> Option<PathBuf> {
    let program = std::env::current_exe().ok()?;
    let directory = program.parent()?;
    PLACES.iter().map(|place| directory.join(place).join(LIBRARY)).find(|file| file.is_file())
}

/// The value of LD_PRELOAD: the library before all others, so that it is reached, except for those that must be first.
fn preload(library: &Path, present: Option<&str>) -> String {
    let library = library.to_string_lossy();
    let others = present.unwrap_or_default().split([':', ' ']).filter(|p| !p.is_empty() && *p != library);
    let insists = |path: &&str| {
        let name = Path::new(path).file_name().unwrap_or_default().to_string_lossy();
        FIRST.iter().any(|first| name.starts_with(first))
    };
    let (first, last): (Vec<&str>, Vec<&str>) = others.partition(insists);
    [first, vec![&*library], last].concat().join(":")
}

/// Which launcher a command is, if it is one: by its name, or by what it says of itself.
fn launcher(program: &OsStr) -> Option<Launcher> {
    let name = Path::new(program).file_name()?.to_string_lossy().into_owned();
    if !(name.starts_with("mpirun") || name.starts_with("mpiexec") || name == "orterun" || name == "prterun") {
        return None;
    }
    if name.contains("openmpi") || name.starts_with("orte") || name.starts_with("prte") {
        return Some(Launcher::OpenMpi);
    }
    if name.contains("hydra") || name.contains("mpich") {
        return Some(Launcher::Hydra);
    }
    let said = Command::new(program).arg("--version").stdin(Stdio::null()).output().ok()?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned() + &String::from_utf8_lossy(&said.stderr);
    match said {
        _ if said.contains("Open MPI") || said.contains("OpenRTE") => Some(Launcher::OpenMpi),
        _ if said.contains("HYDRA") || said.contains("Intel(R) MPI") => Some(Launcher::Hydra),
        // Those of batch systems hand the whole environment on.
        _ => None,
    }
}

/// The launcher's arguments, with the variables that the ranks are to get.
fn told(launcher: Launcher, variables: &BTreeMap<String, String>, arguments: &[OsString]) -> Vec<OsString> {
    let each = |[first, second]: [&str; 2], one_word: bool| -> Vec<OsString> {
        let word = |(name, value): (&String, &String)| match one_word {
            true => vec![first.into(), format!("{name}={value}").into()],
            false => vec![second.into(), name.into(), value.into()],
        };
        variables.iter().flat_map(word).collect()
    };
    match launcher {
        Launcher::Hydra => [each(["", "-genv"], false), arguments.to_vec()].concat(),
        Launcher::OpenMpi => {
            // Each program of a job (mpirun -n 2 ./a : -n 2 ./b) has variables of its own.
            let words = each(["-x", ""], true);
            let mut all = words.clone();
            for argument in arguments {
                all.push(argument.clone());
                if argument == ":" {
                    all.extend(words.iter().cloned());
                }
            }
            all
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_library_comes_first_and_once_and_others_stay() {
        let library = Path::new("/lib/liboptiq_pmpi.so");
        let with = |present| preload(library, present);
        assert_eq!(with(None), "/lib/liboptiq_pmpi.so");
        assert_eq!(with(Some("")), "/lib/liboptiq_pmpi.so");
        assert_eq!(with(Some("a.so:b.so")), "/lib/liboptiq_pmpi.so:a.so:b.so");
        assert_eq!(with(Some("a.so /lib/liboptiq_pmpi.so")), "/lib/liboptiq_pmpi.so:a.so");
        assert_eq!(with(Some("/x/libasan.so.8:b.so")), "/x/libasan.so.8:/lib/liboptiq_pmpi.so:b.so");
    }

    #[test]
    fn launchers_hand_the_variables_on_to_every_program() {
        let variables = BTreeMap::from([("A".to_string(), "1".to_string()), ("B".to_string(), "x y".to_string())]);
        let arguments: Vec<OsString> = ["-n", "2", "a", ":", "-n", "1", "b"].map(OsString::from).into();
        let open = told(Launcher::OpenMpi, &variables, &arguments);
        let expected = ["-x", "A=1", "-x", "B=x y", "-n", "2", "a", ":", "-x", "A=1", "-x", "B=x y", "-n", "1", "b"];
        assert_eq!(open, expected.map(OsString::from));
        let hydra = told(Launcher::Hydra, &variables, &arguments);
        let expected = ["-genv", "A", "1", "-genv", "B", "x y", "-n", "2", "a", ":", "-n", "1", "b"];
        assert_eq!(hydra, expected.map(OsString::from));
    }

    #[test]
    fn launchers_are_told_by_name() {
        assert_eq!(launcher(OsStr::new("/usr/bin/mpirun.openmpi")), Some(Launcher::OpenMpi));
        assert_eq!(launcher(OsStr::new("mpiexec.hydra")), Some(Launcher::Hydra));
        assert_eq!(launcher(OsStr::new("./app")), None);
        assert_eq!(launcher(OsStr::new("mpirun-of-no-library")), None);
    }
}

//! Running a program under the preload library: what is set, for whom, and how a launcher is told.

use crate::elf;
use crate::failure::Failure;
use optiq::{OPTIONS, Settings};
use optiq_files::input::Input;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

/// The file that is preloaded.
const LIBRARY: &str = "liboptiq_pmpi.so";

/// Where it is looked for, from the directory of this program.
const PLACES: [&str; 3] = [".", "../lib", "../lib64"];

/// Libraries that insist on being the first.
const FIRST: [&str; 4] = ["libasan", "libtsan", "liblsan", "libubsan"];

/// A launcher that takes options for the variables of the ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Launcher {
    OpenMpi,
    Hydra,
}

/// A command that is to be run with the library, and what it is told.
#[derive(Serialize)]
pub struct Launch {
    library: String,
    launcher: Option<Launcher>,
    command: Vec<String>,
    /// What is set for the command itself; a launcher gets it as arguments.
    environment: BTreeMap<String, String>,
    /// The program into which nothing can be preloaded, as it is statically linked.
    #[serde(skip_serializing_if = "Option::is_none")]
    statically_linked: Option<String>,
    /// The command as it is run.
    #[serde(skip)]
    words: Vec<OsString>,
}

impl Launch {
    /// How to run `command` with the library (`None`: the one beside this program) and these variables.
    ///
    /// # Errors
    /// [`Failure::Input`] for a library or variables that cannot be used.
    pub fn new(
        library: Option<&Path>,
        variables: BTreeMap<String, String>,
        command: &[OsString],
    ) -> Result<Self, Failure> {
        let library = find_library(library)?;
        let present = std::env::var_os("LD_PRELOAD").map(OsString::into_string).transpose().map_err(|found| {
            Failure::Input(format!("LD_PRELOAD is {found:?}, which is not UTF-8; the path of a library is expected"))
        })?;
        let preload = preload(&library, present.as_deref());
        let (program, arguments) =
            command.split_first().ok_or_else(|| Failure::Input("a command is missing".into()))?;
        let launcher = launcher(program);
        let mut all = variables;
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
        let words: Vec<OsString> = std::iter::once(program.clone()).chain(arguments).collect();
        Ok(Self {
            library: library.display().to_string(),
            launcher,
            command: words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
            environment,
            statically_linked: statically_linked(command, launcher.is_some()).map(|file| file.display().to_string()),
            words,
        })
    }

    /// Whether the command is a launcher that is told the variables, and not one of its processes.
    pub fn has_launcher(&self) -> bool {
        self.launcher.is_some()
    }

    /// Becomes the command. Of a program into which nothing can be preloaded, a line says so, ending with `instead`.
    ///
    /// # Errors
    /// [`Failure::NotFound`] and [`Failure::NotExecutable`].
    pub fn run(self, instead: &str) -> Result<ExitCode, Failure> {
        if let Some(file) = self.statically_linked.as_ref().filter(|_| is_first_rank()) {
            let text = format!(
                "optiq: calls of {file}: none can be taken over, because it is statically linked and nothing can be preloaded \
                 into it; {instead}"
            );
            // The program runs all the same.
            let _ = writeln!(std::io::stderr(), "{text}");
        }
        let (program, arguments) = (Path::new(&self.words[0]), &self.words[1..]);
        // Only returns if it fails.
        let error = Command::new(program).args(arguments).envs(&self.environment).exec();
        let text = format!("{} cannot be started: {error}", program.display());
        Err(match error.kind() {
            ErrorKind::NotFound => Failure::NotFound(text),
            _ => Failure::NotExecutable(text),
        })
    }
}

/// Adds options that are given as `NAME=VALUE`, each of which must be one of OPTIQ's.
///
/// # Errors
/// [`Failure::Input`].
pub fn add_options(options: &[String], set: &mut BTreeMap<String, String>) -> Result<(), Failure> {
    for option in options {
        let Some((name, value)) = option.split_once('=') else {
            return Err(Failure::Input(format!("--option is \"{option}\"; NAME=VALUE is expected")));
        };
        if !OPTIONS.iter().any(|o| o.name == name) {
            let text = format!("--option names \"{name}\", and OPTIQ has no such option; optiq info -c lists them");
            return Err(Failure::Input(text));
        }
        set.insert(name.to_string(), value.to_string());
    }
    Ok(())
}

/// The options as the library will read them.
///
/// # Errors
/// [`Failure::Input`] for a value that an option does not take.
pub fn checked(set: &BTreeMap<String, String>) -> Result<optiq::Read, Failure> {
    let read = Settings::from_variables(set.clone()).resolve();
    match read.error {
        Some(error) => Err(Failure::Input(error.to_string())),
        None => Ok(read),
    }
}

/// The library's path, which must be one that LD_PRELOAD can hold.
fn find_library(given: Option<&Path>) -> Result<PathBuf, Failure> {
    let found = match given {
        Some(file) => file.to_owned(),
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

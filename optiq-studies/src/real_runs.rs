//! Real programs under `mpirun`, with the profiler: what claims need of this machine, and how they start it.

use crate::failure::Failure;
use crate::workspace;
use optiq_trace::profile::job::{JobProfile, Traffic};
use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// `mpirun` ends a job after as many seconds.
const LIMIT_SECONDS: &str = "300";

/// Messages of known sizes, each kind in a region of its own: what the tests of the profiler run.
const TRAFFIC: [(&str, &str); 2] = [
    ("traffic.c", include_str!("../../tests/preload/traffic.c")),
    ("check.h", include_str!("../../tests/preload/check.h")),
];

/// What sorts.
const SAMPLESORT: [(&str, &str); 1] = [("samplesort.c", include_str!("../../benches/samplesort.c"))];

/// What is timed for claim B2.
const PROFILED: [(&str, &str); 1] = [("profiled.c", include_str!("../../benches/profiled.c"))];

/// The thesis's Table IV and its source examples, with the library's header.
const HEADER: (&str, &str) = ("optiq.h", include_str!("../../optiq/include/optiq.h"));
const TABLE_IV: [(&str, &str); 3] = [
    ("table_iv.c", include_str!("../../tests/c/table_iv.c")),
    ("check.h", include_str!("../../tests/c/check.h")),
    HEADER,
];
const ALLTOALLV: [(&str, &str); 2] = [("alltoallv.c", include_str!("../../examples/alltoallv.c")), HEADER];
const AGGREGATE: [(&str, &str); 2] = [("aggregate.c", include_str!("../../examples/aggregate.c")), HEADER];

/// A program that is compiled from source that this crate carries.
#[derive(Clone, Copy, Debug)]
pub enum Source {
    /// `tests/preload/traffic.c`.
    Traffic,
    /// `benches/samplesort.c`.
    SampleSort,
    /// `benches/profiled.c`.
    Profiled,
    /// `tests/c/table_iv.c`, which calls the library.
    TableIv,
    /// `examples/alltoallv.c`, which calls the library.
    Alltoallv,
    /// `examples/aggregate.c`, which calls the library.
    Aggregate,
}

impl Source {
    fn files(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Source::Traffic => &TRAFFIC,
            Source::SampleSort => &SAMPLESORT,
            Source::Profiled => &PROFILED,
            Source::TableIv => &TABLE_IV,
            Source::Alltoallv => &ALLTOALLV,
            Source::Aggregate => &AGGREGATE,
        }
    }

    /// The text of its first file.
    pub fn text(self) -> &'static str {
        self.files()[0].1
    }
}

/// The command, the launcher, and a directory for what is made.
#[derive(Debug)]
pub struct RealRuns {
    folder: TempDir,
    optiq: PathBuf,
    launcher: PathBuf,
    compiler: PathBuf,
}

/// The first of these programs in the path.
fn first_of(names: &[&str]) -> Option<PathBuf> {
    names.iter().find_map(|name| workspace::in_path(name))
}

impl RealRuns {
    /// Looks for what is needed: this command or the one beside this program, and Open MPI with its compiler wrapper (`MPICC` if it is
    /// set).
    ///
    /// # Errors
    /// A sentence about what is missing.
    pub fn find() -> Result<Self, String> {
        let this = env::current_exe().map_err(|e| format!("this program's path is not known: {e}"))?;
        let optiq = this.with_file_name("optiq");
        if !optiq.is_file() {
            return Err(format!("no {} beside this program", optiq.display()));
        }
        let launcher = first_of(&["mpirun.openmpi", "mpirun"]).ok_or("no mpirun in the path")?;
        let said = Command::new(&launcher).arg("--version").stdin(Stdio::null()).output();
        let is_open_mpi = |said: &str| said.contains("Open MPI") || said.contains("OpenRTE");
        if !said.is_ok_and(|output| is_open_mpi(&String::from_utf8_lossy(&output.stdout))) {
            return Err("mpirun is not Open MPI's, which alone counts messages".into());
        }
        let compiler = match env::var_os("MPICC") {
            Some(compiler) => compiler.into(),
            None => first_of(&["mpicc.openmpi", "mpicc"]).ok_or("no mpicc in the path")?,
        };
        let folder = TempDir::new().map_err(|e| format!("a temporary directory cannot be made: {e}"))?;
        Ok(RealRuns { folder, optiq, launcher, compiler })
    }

    /// A path in the directory, which ends with this value.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Compiles a program; its path.
    ///
    /// # Errors
    /// [`Failure::Work`] if the compiler fails.
    pub fn compile(&self, source: Source) -> Result<PathBuf, Failure> {
        let files = source.files();
        for (name, text) in files {
            fs::write(self.path(name), text).map_err(|e| Failure::Work(format!("{name} cannot be written: {e}")))?;
        }
        let program = self.path(files[0].0.trim_end_matches(".c"));
        let mut command = Command::new(&self.compiler);
        command.args(["-std=gnu99", "-O2", "-o"]).arg(&program).arg(self.path(files[0].0));
        if files.contains(&HEADER) {
            let library = self.optiq.parent().unwrap_or(Path::new("."));
            command.arg("-I").arg(self.folder.path()).arg("-L").arg(library).arg("-loptiq");
            command.arg(format!("-Wl,-rpath,{}", library.display()));
        }
        workspace::run(&mut command)?;
        Ok(program)
    }

    /// The command's path.
    pub fn program(&self) -> &Path {
        &self.optiq
    }

    /// `optiq` with these words.
    pub fn optiq(&self, words: &[&str]) -> Command {
        let mut command = self.command(&self.optiq);
        command.args(words);
        command
    }

    /// A program that runs in the directory, in an environment without options of OPTIQ's.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.current_dir(self.folder.path());
        env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("OPTIQ_")).for_each(|(name, _)| {
            command.env_remove(name);
        });
        command.env("OPTIQ_CONF", "none").env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        command
    }

    /// The preload library beside the command.
    ///
    /// # Errors
    /// [`Failure::Work`] if there is none.
    pub fn library(&self) -> Result<String, Failure> {
        #[derive(serde::Deserialize)]
        struct Launch {
            library: String,
        }
        let mut command = self.optiq(&["profile", "--output", "unused", "--json", "--", "true"]);
        Ok(workspace::json::<Launch>(&mut command)?.library)
    }

    /// The words that start a program on ranks of this machine.
    pub fn mpirun(&self, ranks: u32) -> Vec<String> {
        let ranks = ranks.to_string();
        let launcher = self.launcher.display().to_string();
        let options = ["--oversubscribe", "--timeout", LIMIT_SECONDS, "-n", &ranks];
        [launcher].into_iter().chain(options.map(str::to_owned)).collect()
    }

    /// Brings a lab up: hosts of their own on this machine, between which all goes through a network (`optiq lab`). It ends by itself after
    /// 15 minutes.
    ///
    /// # Errors
    /// [`Failure::Work`] with what the command says.
    pub fn lab_up(&self, name: &str, topology: &str, rate: &str) -> Result<(), Failure> {
        let words = ["lab", "up", "--name", name, "--topology", topology, "--rate", rate];
        let mut command = self.optiq(&words);
        command.args(["--lifetime", "900", "--no-calibration", "--json"]).stdin(Stdio::null());
        let said = command.output().map_err(|e| Failure::Work(format!("optiq lab cannot be started: {e}")))?;
        let why = String::from_utf8_lossy(&said.stderr);
        if said.status.success() { Ok(()) } else { Err(Failure::Work(format!("no lab: {}", why.trim()))) }
    }

    /// Takes a lab down, with every program in it.
    ///
    /// # Errors
    /// [`Failure::Work`] if there is none of this name.
    pub fn lab_down(&self, name: &str) -> Result<(), Failure> {
        workspace::capture(&mut self.optiq(&["lab", "down", "--name", name])).map(|_| ())
    }

    /// Brings a lab up, measures, and takes the lab down whatever came of it.
    ///
    /// # Errors
    /// As [`RealRuns::lab_up`] and [`RealRuns::lab_down`]; else those of `measure`.
    pub fn in_lab<T>(
        &self,
        name: &str,
        topology: &str,
        rate: &str,
        measure: impl FnOnce() -> Result<T, Failure>,
    ) -> Result<T, Failure> {
        self.lab_up(name, topology, rate)?;
        self.then_down(name, measure())
    }

    /// Likewise, where a machine that has no labs is no failure: then the inner error says why.
    ///
    /// # Errors
    /// As [`RealRuns::lab_down`]; else those of `measure`.
    pub fn in_lab_if_any<T>(
        name: &str,
        topology: &str,
        rate: &str,
        measure: impl FnOnce(&Self) -> Result<T, Failure>,
    ) -> Result<Result<T, String>, Failure> {
        let up =
            Self::find().and_then(|runs| runs.lab_up(name, topology, rate).map(|()| runs).map_err(|e| e.to_string()));
        match up {
            Ok(runs) => runs.then_down(name, measure(&runs)).map(Ok),
            Err(why) => Ok(Err(why)),
        }
    }

    fn then_down<T>(&self, name: &str, measured: Result<T, Failure>) -> Result<T, Failure> {
        let down = self.lab_down(name);
        measured.and_then(|found| down.map(|()| found))
    }

    /// Runs a program under `optiq profile`, and reads what it wrote into the directory `name`. `variables` are MPI's.
    ///
    /// # Errors
    /// [`Failure::Work`] if it fails or does not say that all is well on each rank, and for a profile with gaps.
    pub fn profile(
        &self,
        name: &str,
        ranks: u32,
        program: &Path,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> Result<JobProfile, Failure> {
        let folder = self.path(name);
        let mut command = self.optiq(&["profile", "--output", name, "--"]);
        command.args(self.mpirun(ranks)).arg(program).args(arguments).envs(variables.iter().copied());
        let printed = workspace::capture(&mut command)?;
        let well = printed.matches("all is well").count();
        if well != ranks as usize {
            return Err(Failure::Work(format!("all is well on {well} of {ranks} ranks of {name}: {printed:.300}")));
        }
        load(&folder)
    }
}

/// Reads a profile, which must be whole.
///
/// # Errors
/// [`Failure::Work`] for one that is not.
pub fn load(folder: &Path) -> Result<JobProfile, Failure> {
    let profile = JobProfile::load(folder).map_err(|e| Failure::Work(e.to_string()))?;
    match profile.gaps().first() {
        Some(gap) => Err(Failure::Work(gap.clone())),
        None => Ok(profile),
    }
}

/// What the files say that Open MPI's monitoring component writes itself (`pml_monitoring_enable_output` 3), one of each rank at
/// `BEGINNING.RANK.prof`: messages between pairs of ranks, by (from, to).
///
/// # Errors
/// [`Failure::Work`] for a file that is missing or of another form.
pub fn monitored_pairs(beginning: &Path, ranks: u32) -> Result<BTreeMap<(u32, u32), Traffic>, Failure> {
    let mut pairs: BTreeMap<(u32, u32), Traffic> = BTreeMap::new();
    for rank in 0..ranks {
        let path = format!("{}.{rank}.prof", beginning.display());
        let text =
            fs::read_to_string(&path).map_err(|e| Failure::Work(format!("Open MPI's own count in {path}: {e}")))?;
        // E (or I, inside collectives), from, to, "N bytes", "M msgs sent".
        for line in text.lines().filter(|l| l.starts_with("E\t") || l.starts_with("I\t")) {
            let words: Vec<&str> = line.split('\t').collect();
            let number = |at: usize| words.get(at)?.split(' ').next()?.parse::<u64>().ok();
            let (Some(from), Some(to), Some(bytes), Some(messages)) = (number(1), number(2), number(3), number(4))
            else {
                return Err(Failure::Work(format!(
                    "{path} has the line \"{line}\"; E, two ranks, bytes and messages are expected"
                )));
            };
            pairs.entry((from as u32, to as u32)).or_default().add(messages, bytes);
        }
    }
    Ok(pairs)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn what_open_mpi_writes_is_added_up() {
        let folder = TempDir::new().unwrap();
        let beginning = folder.path().join("own");
        let write = |rank: u32, text: &str| fs::write(format!("{}.{rank}.prof", beginning.display()), text).unwrap();
        write(
            0,
            "# POINT TO POINT\nE\t0\t1\t300 bytes\t2 msgs sent\t0,2\nI\t0\t1\t50 bytes\t1 msgs sent\t0,1\nC\t0\t1\t9 bytes\t1 msgs sent\n",
        );
        write(1, "E\t1\t0\t7 bytes\t1 msgs sent\t1\n");
        let pairs = monitored_pairs(&beginning, 2).unwrap();
        let expected = [((0, 1), Traffic { messages: 3, bytes: 350 }), ((1, 0), Traffic { messages: 1, bytes: 7 })];
        assert_eq!(pairs, BTreeMap::from(expected));
        write(1, "E\t1\tx\n");
        let said = monitored_pairs(&beginning, 2).unwrap_err().to_string();
        assert!(said.contains("two ranks, bytes and messages are expected"), "{said}");
        assert!(monitored_pairs(&beginning, 3).is_err());
    }
}

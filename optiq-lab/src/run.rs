//! Running programs in a lab.

use crate::blueprint::Blueprint;
use crate::entry::{ENTRY, current_binary};
use crate::error::LabError;
use crate::forwarding::Forwarding;
use crate::lab::Lab;
use crate::mpi::{self, Launch, MpiFlavour, Placement};
use crate::state::RUN_PREFIX;
use crate::supervise::{self, END_FILE, End, Ended, MAX_END_BYTES};
use optiq_files::input;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How a program is run in a lab.
#[derive(Clone, Debug, PartialEq)]
pub struct RunOptions {
    /// Number of MPI ranks; by default as many as there are places.
    pub ranks: Option<usize>,
    /// Places per host; hosts are filled one after the other.
    pub ranks_per_host: usize,
    /// Which MPI library's launcher to drive; by default that of the library which the program is linked with.
    pub flavour: Option<MpiFlavour>,
    /// Further arguments for the launcher, before the program.
    pub launcher_args: Vec<OsString>,
    /// The longest time that the run may take.
    pub timeout: Option<Duration>,
    /// Whether to collect what the program prints to standard output, instead of letting it through.
    pub capture: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        RunOptions {
            ranks: None,
            ranks_per_host: 1,
            flavour: None,
            launcher_args: Vec::new(),
            timeout: None,
            capture: false,
        }
    }
}

/// How a run ended. Nothing of it is left then, whichever way.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Why it ended.
    pub end: End,
    /// The exit status for a shell: the program's own, 124 if its time was up, 128 and the signal's number if a signal
    /// ended it.
    pub status: i32,
    /// How long it took, start of the launcher included.
    pub seconds: f64,
    /// What it printed to standard output, if that was asked for.
    pub stdout: Vec<u8>,
}

/// What becomes of a run's output.
#[derive(Default)]
pub(crate) struct Streams {
    /// Keep standard output for [`Outcome::stdout`].
    pub capture: bool,
    /// Leave [`NOISE`] out of standard error; not for programs that may talk to a terminal.
    pub filter: bool,
    /// What every line begins with, where several runs print at once. Needs `filter`.
    pub prefix: Option<String>,
}

/// A run that is to be started, under a supervisor.
pub(crate) struct SupervisedRun<'a> {
    /// In which namespace of the lab; 0 is the management's.
    pub namespace: usize,
    /// What is run.
    pub launch: &'a Launch,
    /// Where it keeps what it needs.
    pub run_dir: RunDir,
    /// The longest time that it may take.
    pub timeout: Option<Duration>,
    /// What becomes of its output.
    pub streams: Streams,
}

/// A run that has been started, to which signals are passed.
pub(crate) struct StartedRun<'a> {
    child: Child,
    forwarding: &'a Forwarding,
    /// Its number there.
    slot: usize,
    /// What lets its output through.
    copies: Vec<JoinHandle<()>>,
    run_dir: RunDir,
}

impl StartedRun<'_> {
    /// Waits for its end; no signals are passed to it any more.
    pub(crate) fn finish(self) -> Result<Outcome, LabError> {
        let output = self.child.wait_with_output();
        self.forwarding.remove(self.slot);
        // The run's process namespace is gone, so no process holds the other end any more.
        self.copies.into_iter().for_each(|copy| _ = copy.join());
        let output = output.map_err(LabError::io("wait for the run"))?;
        let end = input::read(&self.run_dir.path().join(END_FILE), MAX_END_BYTES)
            .ok()
            .and_then(|text| serde_json::from_slice(&text).ok());
        match end {
            Some(Ended { failure: Some(sentence), .. }) => Err(LabError::Refused(sentence)),
            Some(Ended { end, status, seconds, failure: None }) => {
                Ok(Outcome { end, status, seconds, stdout: output.stdout })
            }
            None => Err(LabError::Refused(format!("the run's supervisor ended early ({})", output.status))),
        }
    }
}

impl Lab {
    /// Runs an MPI program on the lab's hosts, with `mpirun` in the management namespace: the fabric carries the
    /// messages, the management network the launch. The ranks find the lab's topology in `OPTIQ_TOPOLOGY`, the
    /// caller's other `OPTIQ_*` variables, and in `TMPDIR` a directory of their host that ends with the run.
    ///
    /// While it runs, SIGINT, SIGTERM and SIGHUP to the calling process end the run and not the process.
    ///
    /// # Errors
    /// [`LabError::Argument`] for a number of ranks that does not fit, or no program; [`LabError::Missing`] if there is
    /// no launcher; [`LabError::State`] if the lab is gone. A program that fails is no error: see [`Outcome::status`].
    pub fn run(&self, program: &[OsString], options: &RunOptions) -> Result<Outcome, LabError> {
        let blueprint = self.state()?.blueprint;
        let placement = Placement::new(blueprint.hosts.len(), options.ranks, options.ranks_per_host)?;
        let run_dir = self.run_dir()?;
        let launch = self.launch(&blueprint, &run_dir, &placement, program, options)?;
        let streams = Streams { capture: options.capture, filter: true, prefix: None };
        self.supervised(SupervisedRun { namespace: 0, launch: &launch, run_dir, timeout: options.timeout, streams })
    }

    /// What starts an MPI program on the hosts that a placement has.
    pub(crate) fn launch(
        &self,
        blueprint: &Blueprint,
        run_dir: &RunDir,
        placement: &Placement,
        program: &[OsString],
        options: &RunOptions,
    ) -> Result<Launch, LabError> {
        let program = check_program(program)?;
        let prepare = match options.flavour.unwrap_or_else(|| MpiFlavour::of_program(&program[0])) {
            MpiFlavour::OpenMpi => mpi::open_mpi,
            MpiFlavour::Mpich => mpi::mpich,
        };
        prepare(blueprint, &self.dir.state_path(), run_dir.path(), placement, &options.launcher_args, program)
    }

    /// Runs a plain command on one host: its `fab0` leads to the fabric, its host name is the host's.
    ///
    /// # Errors
    /// As [`Lab::run`], and [`LabError::Argument`] if there is no such host.
    pub fn exec(
        &self,
        host: &str,
        program: &[OsString],
        timeout: Option<Duration>,
        capture: bool,
    ) -> Result<Outcome, LabError> {
        let blueprint = self.state()?.blueprint;
        let host = &blueprint.hosts[blueprint.host(host)?];
        let command = check_program(program)?.to_vec();
        let mut environment = mpi::environment(&blueprint);
        environment.extend(std::env::var_os(mpi::PRELOAD).map(|libraries| (mpi::PRELOAD.into(), libraries)));
        let launch = Launch { command, environment };
        let streams = Streams { capture, ..Streams::default() };
        let run_dir = self.run_dir()?;
        self.supervised(SupervisedRun { namespace: host.namespace, launch: &launch, run_dir, timeout, streams })
    }

    fn supervised(&self, run: SupervisedRun<'_>) -> Result<Outcome, LabError> {
        let forwarding = Forwarding::start()?;
        self.start_supervised(run, &forwarding)?.finish()
    }

    /// Starts a run, lets its output through as it comes, and passes signals to it.
    ///
    /// # Errors
    /// [`LabError::Io`] if it cannot be started; as [`Forwarding::add`], and then it has ended.
    pub(crate) fn start_supervised<'f>(
        &self,
        run: SupervisedRun<'_>,
        forwarding: &'f Forwarding,
    ) -> Result<StartedRun<'f>, LabError> {
        let SupervisedRun { namespace, launch, run_dir, timeout, streams } = run;
        let binary = current_binary()?;
        let task = supervise::Task { namespace, run_dir: run_dir.path().clone(), timeout };
        let task = serde_json::to_string(&task).map_err(LabError::io("tell the supervisor what to do"))?;
        let piped = |is_piped: bool| if is_piped { Stdio::piped() } else { Stdio::inherit() };
        let mut child = Command::new(&binary)
            .args([ENTRY, supervise::VERB])
            .arg(self.dir.state_path())
            .arg(task)
            .args(&launch.command)
            .env_remove(mpi::PRELOAD)
            .envs(launch.environment.iter().map(|(k, v)| (k, v)))
            .stdout(piped(streams.capture || streams.prefix.is_some()))
            .stderr(piped(streams.filter))
            .spawn()
            .map_err(LabError::io(format!("start {}", binary.display())))?;
        let slot = forwarding.add_or_end(&mut child)?;
        let (prefix, out) = (streams.prefix.clone().unwrap_or_default(), streams.prefix);
        let mut copies = Vec::new();
        copies.extend(child.stderr.take().map(|pipe| thread::spawn(move || pass_on(pipe, &prefix, &mut io::stderr()))));
        if let Some(prefix) = out.filter(|_| !streams.capture) {
            let pipe = child.stdout.take();
            copies.extend(pipe.map(|pipe| thread::spawn(move || pass_on(pipe, &prefix, &mut io::stdout()))));
        }
        Ok(StartedRun { child, forwarding, slot, copies, run_dir })
    }

    /// Makes a directory for one run.
    pub(crate) fn run_dir(&self) -> Result<RunDir, LabError> {
        for attempt in 0u32.. {
            let path = self.dir.path().join(format!("{RUN_PREFIX}{}-{attempt}", std::process::id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(RunDir(path)),
                Err(e) if e.kind() == ErrorKind::AlreadyExists && attempt < 10_000 => {}
                Err(e) => return Err(LabError::io(format!("make the directory {}", path.display()))(e)),
            }
        }
        Err(LabError::State(format!("{} is full of old runs", self.dir.path().display())))
    }
}

fn check_program(program: &[OsString]) -> Result<&[OsString], LabError> {
    if program.is_empty() {
        return Err(LabError::Argument(
            "there is no program to run in the lab; its name and arguments are expected".into(),
        ));
    }
    Ok(program)
}

/// A run's directory, removed when dropped.
pub(crate) struct RunDir(PathBuf);

impl RunDir {
    pub(crate) fn path(&self) -> &PathBuf {
        &self.0
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Open MPI 4.1's launcher says this about children that were quicker than it to start; nothing is wrong then.
const NOISE: &str = "plm:rsh: Warning: setpgid(";

/// Copies what a run prints to one of our streams, line by line, with what every line begins with and without [`NOISE`].
fn pass_on(pipe: impl Read, prefix: &str, to: &mut impl Write) {
    let mut lines = BufReader::new(pipe);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        if !String::from_utf8_lossy(&line).contains(NOISE) {
            // In one piece, so that lines of several runs do not mix. A failure to write cannot be reported.
            let _ = to.write_all(&[prefix.as_bytes(), &line].concat());
            let _ = to.flush();
        }
        line.clear();
    }
}

//! Running programs in a lab.

use crate::entry::{ENTRY, current_binary};
use crate::error::LabError;
use crate::lab::Lab;
use crate::mpi::{self, Launch, MpiFlavour, Placement};
use crate::state::RUN_PREFIX;
use crate::supervise::{self, END_FILE, End, Ended, MAX_END_BYTES};
use nix::sys::signal::{SaFlags, SigAction, SigHandler, SigSet, Signal, sigaction};
use optiq_files::input;
use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread;
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
struct Streams {
    /// Keep standard output for [`Outcome::stdout`].
    capture: bool,
    /// Leave [`NOISE`] out of standard error; not for programs that may talk to a terminal.
    filter: bool,
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
        let program = check_program(program)?;
        let prepare = match options.flavour.unwrap_or_else(|| MpiFlavour::of_program(&program[0])) {
            MpiFlavour::OpenMpi => mpi::open_mpi,
            MpiFlavour::Mpich => mpi::mpich,
        };
        let state_path = self.dir.state_path();
        let launch = prepare(&blueprint, &state_path, run_dir.path(), placement, &options.launcher_args, program)?;
        self.supervised(0, &launch, &run_dir, options.timeout, Streams { capture: options.capture, filter: true })
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
        self.supervised(host.namespace, &launch, &self.run_dir()?, timeout, Streams { capture, filter: false })
    }

    fn supervised(
        &self,
        namespace: usize,
        launch: &Launch,
        run_dir: &RunDir,
        timeout: Option<Duration>,
        streams: Streams,
    ) -> Result<Outcome, LabError> {
        let binary = current_binary()?;
        let task = supervise::Task { namespace, run_dir: run_dir.path().clone(), timeout };
        let task = serde_json::to_string(&task).map_err(LabError::io("tell the supervisor what to do"))?;
        let forwarding = Forwarding::start()?;
        let mut child = Command::new(&binary)
            .args([ENTRY, supervise::VERB])
            .arg(self.dir.state_path())
            .arg(task)
            .args(&launch.command)
            .env_remove(mpi::PRELOAD)
            .envs(launch.environment.iter().map(|(k, v)| (k, v)))
            .stdout(if streams.capture { Stdio::piped() } else { Stdio::inherit() })
            .stderr(if streams.filter { Stdio::piped() } else { Stdio::inherit() })
            .spawn()
            .map_err(LabError::io(format!("start {}", binary.display())))?;
        forwarding.to(child.id() as i32);
        let errors = child.stderr.take().map(|pipe| thread::spawn(|| pass_on(pipe)));
        let output = child.wait_with_output();
        // The run's process namespace is gone, so no process holds the other end any more.
        let _ = errors.map(thread::JoinHandle::join);
        drop(forwarding);
        let output = output.map_err(LabError::io("wait for the run"))?;
        let end = input::read(&run_dir.path().join(END_FILE), MAX_END_BYTES)
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

    /// Makes a directory for one run.
    fn run_dir(&self) -> Result<RunDir, LabError> {
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
struct RunDir(PathBuf);

impl RunDir {
    fn path(&self) -> &PathBuf {
        &self.0
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The supervisor to which the signal handler passes signals; 0 while there is none.
static SUPERVISOR: AtomicI32 = AtomicI32::new(0);
/// A signal that came before there was one.
static EARLY: AtomicI32 = AtomicI32::new(0);
/// Whether a run has the handlers.
static TAKEN: AtomicBool = AtomicBool::new(false);

/// Signals that end the run instead of the process, while this lives.
struct Forwarding {
    before: Vec<(Signal, SigAction)>,
}

extern "C" fn forward(signal: libc::c_int) {
    match SUPERVISOR.load(Ordering::SeqCst) {
        0 => EARLY.store(signal, Ordering::SeqCst),
        // SAFETY: kill(2) may be called in signal handlers, and the number is that of a child not yet waited for, or
        // of one that was within the last moments.
        pid => unsafe {
            libc::kill(pid, signal);
        },
    }
}

impl Forwarding {
    fn start() -> Result<Self, LabError> {
        if TAKEN.swap(true, Ordering::SeqCst) {
            return Err(LabError::State(
                "this process runs a program in a lab already; one at a time is expected".into(),
            ));
        }
        SUPERVISOR.store(0, Ordering::SeqCst);
        EARLY.store(0, Ordering::SeqCst);
        let action = SigAction::new(SigHandler::Handler(forward), SaFlags::SA_RESTART, SigSet::empty());
        let mut forwarding = Forwarding { before: Vec::new() };
        for signal in [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP] {
            // SAFETY: the handler only loads and stores atomics and calls kill(2).
            let before = unsafe { sigaction(signal, &action) }.map_err(LabError::io("handle signals"))?;
            forwarding.before.push((signal, before));
        }
        Ok(forwarding)
    }

    fn to(&self, pid: i32) {
        SUPERVISOR.store(pid, Ordering::SeqCst);
        match EARLY.swap(0, Ordering::SeqCst) {
            0 => {}
            signal => forward(signal),
        }
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        SUPERVISOR.store(0, Ordering::SeqCst);
        for (signal, before) in &self.before {
            // SAFETY: puts back what was there.
            let _ = unsafe { sigaction(*signal, before) };
        }
        TAKEN.store(false, Ordering::SeqCst);
    }
}

/// Open MPI 4.1's launcher says this about children that were quicker than it to start; nothing is wrong then.
const NOISE: &str = "plm:rsh: Warning: setpgid(";

/// Copies a run's standard error to ours, line by line and without [`NOISE`].
fn pass_on(pipe: impl Read) {
    let mut lines = BufReader::new(pipe);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).is_ok_and(|n| n > 0) {
        if !String::from_utf8_lossy(&line).contains(NOISE) {
            // A failure to write to standard error cannot be reported.
            let _ = io::stderr().write_all(&line);
        }
        line.clear();
    }
}

//! The two processes between `run` and the program that it runs, which see to it that nothing outlives the run.
//!
//! ```text
//! the caller ── supervisor ══ init (process 1 of a process namespace) ── mpirun ── agents, orted, ranks
//! ```
//!
//! The supervisor enters the lab, makes a process namespace and starts init in it. When init ends, for whatever
//! reason, the kernel kills everything in the namespace before the supervisor's wait returns. Init ends when the
//! program does; the kernel kills it when the supervisor ends, and asks the supervisor to end when the caller does.
//! `/proc` stays the machine's: `/proc/self` is right in it, other numbers are not, and Open MPI asks for none.

use crate::entry::{ENTRY, current_binary};
use crate::error::LabError;
use crate::member::{Member, set_host_name};
use crate::proc::{Handle, parent_in_proc};
use crate::slow::{DutyCycle, Pace};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll, ppoll};
use nix::sched::{CloneFlags, unshare};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal, kill};
use nix::sys::signalfd::{SfdFlags, SignalFd, siginfo};
use nix::sys::time::TimeSpec;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::{Pid, getppid};
use optiq_files::output;
use serde::{Deserialize, Serialize};
use std::ffi::OsString;
use std::fs;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// The supervisor's word on the command line.
pub(crate) const VERB: &str = "supervise";
/// Init's word on the command line.
pub(crate) const INIT_VERB: &str = "init";
/// The file in a run's directory that says how it ended.
pub(crate) const END_FILE: &str = "end.json";
/// The largest one that is read.
pub(crate) const MAX_END_BYTES: u64 = 1 << 20;
/// How long a program that was asked to end may take.
const GRACE: Duration = Duration::from_secs(2);
/// Exit status if the program was not started: as `sh` has it for a command that does not exist.
const NOT_STARTED: i32 = 127;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// The program ended; the exit status is its own (128 and the signal's number if it was killed).
    Exited,
    /// It was ended because its time was up.
    TimedOut,
    /// It was ended because a signal asked for it, such as Ctrl-C; the signal's number.
    Interrupted(i32),
    /// It was ended because the lab was taken down.
    LabGone,
}

/// The command line of the supervisor.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Task {
    /// Index of the namespace to run in.
    pub namespace: usize,
    /// The run's directory.
    pub run_dir: PathBuf,
    /// The longest time that it may take.
    pub timeout: Option<Duration>,
}

/// What the supervisor tells when all is over.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Ended {
    pub end: End,
    pub status: i32,
    pub seconds: f64,
    /// Why the program could not be started at all.
    pub failure: Option<String>,
}

/// The supervisor's main. Returns its exit status.
pub(crate) fn main(state_path: &Path, task: &Task, command: &[OsString]) -> i32 {
    let caller = getppid();
    let began = Instant::now();
    let ended = match supervise(state_path, task, command, caller) {
        Ok((end, status)) => Ended { end, status, seconds: began.elapsed().as_secs_f64(), failure: None },
        Err(e) => Ended { end: End::Exited, status: NOT_STARTED, seconds: 0.0, failure: Some(e.to_string()) },
    };
    let status = ended.status;
    // Whoever started the run tidies up; if that is gone, we do.
    if getppid() == caller {
        let text = serde_json::to_vec(&ended).unwrap_or_default();
        let _ = output::write_volatile(&task.run_dir.join(END_FILE), output::PRIVATE, &text);
    } else {
        let _ = fs::remove_dir_all(&task.run_dir);
    }
    status
}

fn supervise(state_path: &Path, task: &Task, command: &[OsString], caller: Pid) -> Result<(End, i32), LabError> {
    let member = Member::join(state_path)?;
    let holder = member.holder()?;
    // Changing the user namespace may reset this, so it comes after.
    set_pdeathsig(Signal::SIGTERM).map_err(LabError::io("tie the run to the command that started it"))?;
    let signals = watch([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGCHLD])?;
    if getppid() != caller {
        return Ok((End::Interrupted(Signal::SIGTERM as i32), 128 + Signal::SIGTERM as i32));
    }
    unshare(CloneFlags::CLONE_NEWPID | CloneFlags::CLONE_NEWUTS)
        .map_err(LabError::io("make a process namespace for the run"))?;
    set_host_name(member.host_name(task.namespace))?;
    member.enter(task.namespace)?;
    let binary = current_binary()?;
    let mut init = Command::new(&binary)
        .args([
            ENTRY,
            INIT_VERB,
            &std::process::id().to_string(),
            Pace::of(&member.state.blueprint, task.namespace).word(),
        ])
        .args(command)
        .env("TMPDIR", host_dir(&task.run_dir, member.host_name(task.namespace))?)
        .spawn()
        .map_err(LabError::io(format!("start {}", binary.display())))?;
    let watched = watch_over(&mut init, &signals, &holder, task.timeout);
    if watched.is_err() {
        let _ = init.kill();
        let _ = init.wait();
    }
    watched
}

/// The directory for temporary files of a host's processes, made if need be.
pub(crate) fn host_dir(run_dir: &Path, host: &str) -> Result<PathBuf, LabError> {
    let dir = run_dir.join(host);
    match fs::create_dir(&dir) {
        Err(e) if e.kind() != std::io::ErrorKind::AlreadyExists => {
            Err(LabError::io(format!("make the directory {}", dir.display()))(e))
        }
        _ => Ok(dir),
    }
}

/// Waits for the end of init, and brings it about when there is a reason.
fn watch_over(
    init: &mut Child,
    signals: &SignalFd,
    holder: &Handle,
    timeout: Option<Duration>,
) -> Result<(End, i32), LabError> {
    let doing = "watch over the run";
    let init_pid = Pid::from_raw(init.id() as i32);
    let began = Instant::now();
    // What no clock can count is never up.
    let mut time_up = timeout.and_then(|t| began.checked_add(t));
    let mut why = End::Exited;
    let mut asked: Option<Instant> = None;
    loop {
        if let Some(status) = init.try_wait().map_err(LabError::io(doing))? {
            let natural = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or(0));
            let code = match why {
                End::Exited => natural,
                End::TimedOut => 124,
                End::Interrupted(signal) => 128 + signal,
                End::LabGone => 128 + Signal::SIGKILL as i32,
            };
            return Ok((why, code));
        }
        let deadline = asked.map(|a| a + GRACE).or(time_up);
        let now = Instant::now();
        if deadline.is_some_and(|d| now >= d) {
            if asked.is_some() {
                init.kill().map_err(LabError::io(doing))?;
                // The kernel does the rest; the wait ends with the next SIGCHLD.
                asked = Some(now);
            } else {
                why = End::TimedOut;
                asked = Some(now);
                time_up = None;
                kill(init_pid, Signal::SIGTERM).map_err(LabError::io(doing))?;
            }
            continue;
        }
        let wait = deadline.map_or(PollTimeout::NONE, |d| {
            PollTimeout::from(u16::try_from((d - now).as_millis() + 1).unwrap_or(u16::MAX))
        });
        let mut fds = [
            PollFd::new(signals.as_fd(), PollFlags::POLLIN),
            // A holder that has ended stays readable: look at it only until it has.
            PollFd::new(holder.as_fd(), if why == End::LabGone { PollFlags::empty() } else { PollFlags::POLLIN }),
        ];
        match poll(&mut fds, wait) {
            Ok(_) | Err(Errno::EINTR) => {}
            Err(e) => return Err(LabError::io(doing)(e)),
        }
        let holder_ended = why != End::LabGone && fds[1].any().unwrap_or(false);
        while let Some(info) = signals.read_signal().map_err(LabError::io(doing))? {
            if info.ssi_signo == Signal::SIGCHLD as u32 || asked.is_some() {
                continue;
            }
            why = End::Interrupted(info.ssi_signo as i32);
            asked = Some(Instant::now());
            pass_on(&info, init_pid);
        }
        if holder_ended {
            why = End::LabGone;
            asked = Some(Instant::now());
            init.kill().map_err(LabError::io(doing))?;
        }
    }
}

/// Init's main: starts the program, passes signals on to it, and reaps every process that ends. Returns the program's status.
/// `supervisor` is the number of its parent outside. At half the pace it also stops the program, and all that it starts, half
/// of the time.
pub(crate) fn init_main(supervisor: i32, pace: Pace, command: &[OsString]) -> i32 {
    let tied = set_pdeathsig(Signal::SIGKILL).is_ok();
    // A supervisor that ended before this line ends nothing else. In here the kernel calls it 0, `/proc` does not.
    if !tied || parent_in_proc() != Some(supervisor) {
        return NOT_STARTED;
    }
    let Some((program, arguments)) = command.split_first() else { return NOT_STARTED };
    let signals = match watch([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGCHLD]) {
        Ok(signals) => signals,
        Err(e) => {
            eprintln!("optiq lab: {e}");
            return NOT_STARTED;
        }
    };
    let mut command = Command::new(program);
    command.args(arguments);
    // SAFETY: between fork and exec this makes one system call and allocates nothing.
    unsafe { command.pre_exec(|| Ok(SigSet::empty().thread_set_mask()?)) };
    let child = match command.spawn() {
        Ok(child) => Pid::from_raw(child.id() as i32),
        Err(e) => {
            eprintln!("optiq lab: cannot start {}: {e}", program.to_string_lossy());
            return NOT_STARTED;
        }
    };
    let mut cycle = (pace == Pace::Half).then(DutyCycle::start);
    loop {
        let turn = cycle.as_mut().map(|cycle| TimeSpec::from_duration(cycle.turn()));
        let _ = ppoll(&mut [PollFd::new(signals.as_fd(), PollFlags::POLLIN)], turn, None);
        while let Ok(Some(info)) = signals.read_signal() {
            if info.ssi_signo != Signal::SIGCHLD as u32 {
                pass_on(&info, child);
            }
        }
        loop {
            match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) if pid == child => return code,
                Ok(WaitStatus::Signaled(pid, signal, _)) if pid == child => return 128 + signal as i32,
                Ok(WaitStatus::StillAlive) | Err(Errno::ECHILD) => break,
                Ok(_) | Err(Errno::EINTR) => {}
                Err(_) => return NOT_STARTED,
            }
        }
    }
}

/// Sends a signal on, unless the terminal has sent it to the whole process group already.
fn pass_on(info: &siginfo, to: Pid) {
    if info.ssi_code != libc::SI_KERNEL
        && let Ok(signal) = Signal::try_from(info.ssi_signo as i32)
    {
        let _ = kill(to, signal);
    }
}

/// Blocks signals and returns where they can be read instead. Children inherit the block.
fn watch<const N: usize>(signals: [Signal; N]) -> Result<SignalFd, LabError> {
    let set: SigSet = signals.into_iter().collect();
    set.thread_block().map_err(LabError::io("block signals"))?;
    SignalFd::with_flags(&set, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
        .map_err(LabError::io("watch for signals"))
}

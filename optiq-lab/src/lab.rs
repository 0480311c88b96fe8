//! The life of a lab: up, found again by name, down.

use crate::batch::SetupPlan;
use crate::blueprint::{Blueprint, Host, find_link};
use crate::entry::{ENTRY, HOLD_VERB, current_binary};
use crate::error::LabError;
use crate::holder::{KEEP, Report};
use crate::link::LabLink;
use crate::proc::ProcessId;
use crate::profile::Profile;
use crate::speeds::LinkRate;
use crate::state::{LabDir, State, default_root};
use crate::tools;
use crate::tuning::Tuning;
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, waitpid};
use nix::unistd::Pid;
use optiq_files::output;
use optiq_net::Network;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// How long the holder may take to end when it is asked to, and then when it is killed.
const HOLDER_GRACE: Duration = Duration::from_secs(3);
/// How long those who work inside the lab may take to end when the holder has.
const USERS_GRACE: Duration = Duration::from_secs(15);

/// What an attached lab lives by.
type Lifeline = Option<Arc<ChildStdin>>;

/// How a lab is brought up.
#[derive(Clone, Debug, PartialEq)]
pub struct UpOptions {
    /// The lab's name, for several at a time: 1 to 40 letters, digits, `-` and `_`.
    pub name: String,
    /// Where labs keep their state; by default `$XDG_RUNTIME_DIR/optiq-lab`, or `optiq-lab-<uid>` in the directory
    /// for temporary files.
    pub root: Option<PathBuf>,
    /// When the lab goes away by itself; in whole seconds, rounded up.
    pub lifetime: Option<Duration>,
    /// What kind of network it is.
    pub profile: Profile,
    /// Kernel settings in place of a profile's; by default those of the profile ([`Tuning::new`]) for the network's
    /// slowest link.
    pub tuning: Option<Tuning>,
    /// Speeds of single links, below what the network says. Programs in the lab are told of them (`OPTIQ_BACKGROUND`),
    /// unless the caller has that variable.
    pub link_rates: Vec<LinkRate>,
    /// The lab ends with the [`Lab`] that `up` returns (and its clones), however that comes about: dropped, or its
    /// process killed.
    pub attached: bool,
}

impl Default for UpOptions {
    fn default() -> Self {
        UpOptions {
            name: Lab::DEFAULT_NAME.into(),
            root: None,
            lifetime: None,
            profile: Profile::default(),
            tuning: None,
            link_rates: Vec::new(),
            attached: false,
        }
    }
}

/// What is known of a lab.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// Its name.
    pub name: String,
    /// The topology, with the capacities of the links when it came up.
    pub topology: String,
    /// What kind of network it is.
    pub profile: Profile,
    /// Name of the host whose processes run half of the time; none if all run all of the time.
    pub slow_host: Option<String>,
    /// The process that it lives in.
    pub holder: ProcessId,
    /// Seconds since it came up.
    pub age_seconds: u64,
    /// Number of network namespaces.
    pub namespaces: usize,
    /// The hosts.
    pub hosts: Vec<Host>,
    /// The links, with their present rates.
    pub links: Vec<LabLink>,
}

impl Status {
    /// The link from the vertex called `from` to the one called `to`.
    ///
    /// # Errors
    /// [`LabError::Argument`] if there is none.
    pub fn link(&self, from: &str, to: &str) -> Result<&LabLink, LabError> {
        find_link(&self.links, from, to).map(|i| &self.links[i])
    }
}

/// A lab that is up, or was when it was found.
///
/// A value of this type is only a handle: dropping it leaves the lab as it is, unless it was brought up
/// [`attached`](UpOptions::attached).
#[derive(Clone, Debug)]
pub struct Lab {
    pub(crate) dir: LabDir,
    /// The end of the holder's standard input that keeps an attached lab up.
    lifeline: Lifeline,
}

impl Lab {
    /// The name of a lab that was given none.
    pub const DEFAULT_NAME: &str = "default";

    /// Brings up the lab of `network`. Returns when every address can be reached; the lab stays when the caller ends.
    /// If this fails, or the caller is interrupted, nothing stays.
    ///
    /// # Errors
    /// [`LabError::State`] if a lab of this name is up; [`LabError::Topology`] if the network cannot be had;
    /// [`LabError::Argument`] for both a profile and kernel settings; [`LabError::Missing`] if a right, a program or what
    /// the profile needs of the kernel is missing; [`LabError::Refused`] if the kernel refuses.
    pub fn up(network: &Network, options: &UpOptions) -> Result<Lab, LabError> {
        let mut lab = Lab::named(&options.name, options.root.as_deref())?;
        let (mut blueprint, wiring) =
            Blueprint::new(network, options.profile, options.tuning.clone(), &options.link_rates)?;
        for program in ["ip", "tc"] {
            tools::find(program)?;
        }
        lab.dir.make()?;
        let lock = lab.dir.lock()?;
        if let Some(state) = lab.dir.read()?
            && state.is_up(&lab.dir)?
        {
            return Err(LabError::State(format!(
                "the lab \"{}\" is up already ({}, process {}); take it down first, or give the new one another name",
                state.name, state.blueprint.topology, state.holder.pid
            )));
        }
        let background = lab.dir.background_path();
        let result = match &wiring.background {
            Some(text) => output::write_volatile(&background, output::PRIVATE, text.as_bytes())
                .map_err(LabError::io(format!("write {}", background.display()))),
            None => Ok(()),
        };
        blueprint.background = wiring.background.is_some().then_some(background);
        let result = result.and_then(|()| lab.start(&blueprint, &SetupPlan::new(&blueprint, &wiring), options));
        if result.is_err() {
            let _ = lab.dir.remove();
        }
        drop(lock);
        lab.lifeline = result?;
        Ok(lab)
    }

    /// Starts the holder and sees it through.
    fn start(&self, blueprint: &Blueprint, setup: &SetupPlan, options: &UpOptions) -> Result<Lifeline, LabError> {
        let binary = current_binary()?;
        let life = options.lifetime.map_or(0, |l| l.as_secs() + u64::from(l.subsec_nanos() > 0));
        let mut child = Command::new(&binary)
            .args([ENTRY, HOLD_VERB])
            .arg(self.dir.state_path())
            .arg(life.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(LabError::io(format!("start {}", binary.display())))?;
        let result = self.instruct(&mut child, blueprint, setup, options);
        if result.is_err() {
            let _ = child.kill();
            let _ = child.wait();
        }
        result
    }

    fn instruct(
        &self,
        child: &mut Child,
        blueprint: &Blueprint,
        setup: &SetupPlan,
        options: &UpOptions,
    ) -> Result<Lifeline, LabError> {
        let silent = || LabError::Refused("the lab's holder ended and reported nothing".into());
        let (Some(mut input), Some(output)) = (child.stdin.take(), child.stdout.take()) else { return Err(silent()) };
        let setup = serde_json::to_string(setup).map_err(LabError::io("write the lab's plan"))?;
        writeln!(input, "{setup}").map_err(LabError::io("give the holder the lab's plan"))?;
        let mut line = String::new();
        BufReader::new(output).read_line(&mut line).map_err(LabError::io("hear from the lab's holder"))?;
        match serde_json::from_str(&line) {
            Ok(Report::Ready) => {}
            Ok(Report::Failed { missing: true, sentence }) => return Err(LabError::Missing(sentence)),
            Ok(Report::Failed { missing: false, sentence }) => return Err(LabError::Refused(sentence)),
            Err(_) => return Err(silent()),
        }
        let holder = ProcessId::of(child.id() as i32)?;
        self.dir.write(&State::new(&options.name, holder, blueprint.clone()))?;
        if options.attached {
            return Ok(Some(Arc::new(input)));
        }
        writeln!(input, "{KEEP}").map_err(LabError::io("let the lab stay"))?;
        Ok(None)
    }

    /// The lab called `name`, which must be up.
    ///
    /// # Errors
    /// [`LabError::State`] if it is not.
    pub fn open(name: &str, root: Option<&Path>) -> Result<Lab, LabError> {
        let lab = Lab::named(name, root)?;
        lab.state()?;
        Ok(lab)
    }

    fn named(name: &str, root: Option<&Path>) -> Result<Lab, LabError> {
        let root = root.map_or_else(default_root, Path::to_path_buf);
        Ok(Lab { dir: LabDir::new(&root, name)?, lifeline: None })
    }

    /// The lab's state, if it is up.
    pub(crate) fn state(&self) -> Result<State, LabError> {
        let down = || LabError::State(format!("there is no lab up in {}", self.dir.path().display()));
        let state = self.dir.read()?.ok_or_else(down)?;
        if state.is_up(&self.dir)? { Ok(state) } else { Err(down()) }
    }

    /// What is known of the lab.
    ///
    /// # Errors
    /// [`LabError::State`] if it is gone.
    pub fn status(&self) -> Result<Status, LabError> {
        let state = self.state()?;
        let now = SystemTime::UNIX_EPOCH.elapsed().map_or(state.created, |d| d.as_secs());
        Ok(Status {
            name: state.name,
            topology: state.blueprint.topology,
            profile: state.blueprint.profile,
            slow_host: state.blueprint.slow_host.map(|host| state.blueprint.hosts[host].name.clone()),
            holder: state.holder,
            age_seconds: now.saturating_sub(state.created),
            namespaces: state.blueprint.namespaces.len(),
            hosts: state.blueprint.hosts,
            links: state.blueprint.links,
        })
    }

    /// Takes the lab down: ends its holder and, with it, every namespace, device and program of the lab, and removes
    /// the lab's files. Returns whether it was up; if it had ended before, what it left is removed.
    ///
    /// # Errors
    /// [`LabError::State`] if there is no such lab, or its recorded holder is a process that the lab did not start;
    /// that process is left alone, and so are the files.
    pub fn down(self) -> Result<bool, LabError> {
        let none = || LabError::State(format!("there is no lab in {}", self.dir.path().display()));
        if fs::symlink_metadata(self.dir.path()).is_err() {
            return Err(none());
        }
        let _lock = self.dir.lock()?;
        let up = match self.dir.read()? {
            Some(state) => state.holder(&self.dir)?.map(|handle| (handle, state.holder.pid)),
            None => None,
        };
        let was_up = up.is_some();
        if let Some((handle, pid)) = up {
            handle.signal(Signal::SIGTERM)?;
            if !handle.wait(HOLDER_GRACE)? {
                handle.signal(Signal::SIGKILL)?;
                handle.wait(HOLDER_GRACE)?;
            }
            // If this process brought the lab up, the holder is its child and a zombie until it is waited for.
            let _ = waitpid(Pid::from_raw(pid), Some(WaitPidFlag::WNOHANG));
        }
        if !self.dir.wait_unused(USERS_GRACE)? {
            return Err(LabError::Refused(format!(
                "the lab in {} has ended, but a program in it has not; try again",
                self.dir.path().display()
            )));
        }
        self.dir.remove()?;
        Ok(was_up)
    }

    /// Finds the lab called `name`, up or not, so that it can be taken [`down`](Lab::down).
    ///
    /// # Errors
    /// [`LabError::Argument`] if that cannot be a lab's name.
    pub fn find(name: &str, root: Option<&Path>) -> Result<Lab, LabError> {
        Lab::named(name, root)
    }

    /// Has a helper do something inside the lab, and returns what it printed.
    pub(crate) fn helper(&self, verb: &str, task: &impl Serialize) -> Result<String, LabError> {
        let binary = current_binary()?;
        let task = serde_json::to_string(task).map_err(LabError::io("tell a helper what to do"))?;
        let output = Command::new(&binary)
            .args([ENTRY, verb])
            .arg(self.dir.state_path())
            .arg(task)
            .stdin(Stdio::null())
            .output()
            .map_err(LabError::io(format!("start {}", binary.display())))?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr).trim().to_string();
        Err(LabError::Refused(if said.is_empty() {
            format!("the lab's helper ended with {}", output.status)
        } else {
            said
        }))
    }
}

/// The labs that are up below `root` (see [`UpOptions::root`]), by name.
///
/// # Errors
/// [`LabError::Io`] if the directory is there and cannot be read.
pub fn list(root: Option<&Path>) -> Result<Vec<Status>, LabError> {
    let root = root.map_or_else(default_root, Path::to_path_buf);
    let entries = match fs::read_dir(&root) {
        Ok(entries) => entries,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(e) => return Err(LabError::io(format!("read {}", root.display()))(e)),
    };
    let mut names: Vec<String> = entries.flatten().filter_map(|e| e.file_name().into_string().ok()).collect();
    names.sort();
    Ok(names.iter().filter_map(|name| Lab::open(name, Some(&root)).ok()?.status().ok()).collect())
}

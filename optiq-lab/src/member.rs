//! Helper processes: what a helper does first, whatever it is for.

use crate::batch;
use crate::error::LabError;
use crate::netns;
use crate::proc::Handle;
use crate::state::{LabDir, State};
use nix::fcntl::Flock;
use nix::unistd::sethostname;
use std::fs::File;
use std::path::Path;

/// A helper inside a lab: verified, in the lab's user namespace, and counted as a user until dropped.
pub(crate) struct Member {
    pub state: State,
    dir: LabDir,
    _user: Flock<File>,
}

impl Member {
    /// Joins the lab of the given state file. The process must have a single thread.
    ///
    /// # Errors
    /// [`LabError::State`] if the lab is gone.
    pub(crate) fn join(state_path: &Path) -> Result<Self, LabError> {
        let dir = LabDir::of_state(state_path)?;
        let gone = || LabError::State(format!("the lab of {} is gone", state_path.display()));
        let state = dir.read()?.ok_or_else(gone)?;
        let user = dir.use_lab()?;
        if !state.is_up(&dir)? {
            return Err(gone());
        }
        netns::join_user(state.holder.pid)?;
        Ok(Member { state, dir, _user: user })
    }

    /// A handle that tells when the lab is gone.
    pub(crate) fn holder(&self) -> Result<Handle, LabError> {
        self.state.holder(&self.dir)?.ok_or_else(|| LabError::State("the lab is gone".into()))
    }

    /// The file of one of the lab's namespaces.
    pub(crate) fn namespace(&self, n: usize) -> Result<File, LabError> {
        let path = format!("/proc/{}/fd/{}", self.state.holder.pid, batch::FIRST_NAMESPACE_FD + n as i32);
        File::open(&path).map_err(LabError::io(format!("open the lab's namespace {path}")))
    }

    /// Moves the calling thread into one of the lab's namespaces.
    pub(crate) fn enter(&self, n: usize) -> Result<(), LabError> {
        netns::enter(self.namespace(n)?)
    }

    /// What processes in namespace `n` are told that their host is called.
    pub(crate) fn host_name(&self, n: usize) -> &str {
        self.state.blueprint.hosts.iter().find(|h| h.namespace == n).map_or("optiq-lab", |h| h.name.as_str())
    }
}

/// Sets the host name; the caller must be in a UTS namespace of its own.
pub(crate) fn set_host_name(name: &str) -> Result<(), LabError> {
    sethostname(name).map_err(LabError::io(format!("set the host name to {name}")))
}

//! How a program that uses labs starts itself again for what needs rights ([`crate::internal_main`]).

use crate::error::LabError;
use std::env;
use std::path::PathBuf;

/// The first argument of a binary that was started again.
pub(crate) const ENTRY: &str = "__lab";
/// The second argument of a lab's holder, followed by the path of the state file and its longest life in seconds (0: no limit).
pub(crate) const HOLD_VERB: &str = "hold";

/// The binary that is running, to be started again.
pub(crate) fn current_binary() -> Result<PathBuf, LabError> {
    env::current_exe().map_err(LabError::io("find the running program"))
}

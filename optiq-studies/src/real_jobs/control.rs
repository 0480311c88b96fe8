//! How a job that runs under `mpirun` and what has started it agree on begin and end: by files in a directory that both see.
//!
//! ```text
//!     job (rank 0)                      what has started it
//!     ready  ─────────────────────────►
//!            ◄─────────────────────────  go     nanoseconds since 1970 at which all jobs begin
//!     done   ─────────────────────────►         all ranks have their samples; they go on
//!            ◄─────────────────────────  end
//!     (the document on standard output)
//! ```
//!
//! A job has a directory of its own, so that several begin at the same moment.

use crate::failure::Failure;
use optiq_files::output;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The directory of one job.
#[derive(Clone, Debug)]
pub struct Control {
    dir: PathBuf,
}

/// The longest text of a file.
const MOST: u64 = 64;

/// Nanoseconds since 1970.
pub fn wall_nanoseconds() -> u64 {
    SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| u64::try_from(since.as_nanos()).unwrap_or(u64::MAX))
}

impl Control {
    /// A directory, which must exist.
    ///
    /// # Errors
    /// [`Failure::Input`] if it does not.
    pub fn open(dir: &Path) -> Result<Self, Failure> {
        if !dir.is_dir() {
            return Err(Failure::Input(format!(
                "{} is no directory; that of a job's control is expected",
                dir.display()
            )));
        }
        Ok(Self { dir: dir.to_owned() })
    }

    /// A new one.
    ///
    /// # Errors
    /// [`Failure::Work`] if it cannot be made.
    pub fn create(dir: &Path) -> Result<Self, Failure> {
        fs::create_dir(dir).map_err(|e| Failure::Work(format!("cannot make the directory {}: {e}", dir.display())))?;
        Ok(Self { dir: dir.to_owned() })
    }

    /// Where it is.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    fn say(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.dir.join(name);
        output::write_volatile(&path, output::PRIVATE, text.as_bytes())
            .map_err(|e| Failure::Work(format!("cannot write {}: {e}", path.display())))
    }

    fn is_said(&self, name: &str) -> bool {
        self.dir.join(name).exists()
    }

    /// The job is there.
    ///
    /// # Errors
    /// [`Failure::Work`] if the file cannot be written, here and below.
    pub fn say_ready(&self) -> Result<(), Failure> {
        self.say("ready", "")
    }

    /// Whether it is.
    pub fn is_ready(&self) -> bool {
        self.is_said("ready")
    }

    /// The job begins at a time, in nanoseconds since 1970.
    ///
    /// # Errors
    /// As above.
    pub fn say_go(&self, at: u64) -> Result<(), Failure> {
        self.say("go", &at.to_string())
    }

    /// When it begins, once that is known.
    ///
    /// # Errors
    /// [`Failure::Work`] if the file says no time.
    pub fn go(&self) -> Result<Option<u64>, Failure> {
        if !self.is_said("go") {
            return Ok(None);
        }
        let path = self.dir.join("go");
        let text = optiq_files::input::read(&path, MOST).map_err(|e| Failure::Work(e.to_string()))?;
        let number = std::str::from_utf8(&text).ok().and_then(|text| text.trim().parse().ok());
        let why = || Failure::Work(format!("{} has no time; nanoseconds since 1970 are expected", path.display()));
        number.map(Some).ok_or_else(why)
    }

    /// All ranks have their samples.
    ///
    /// # Errors
    /// As above.
    pub fn say_done(&self) -> Result<(), Failure> {
        self.say("done", "")
    }

    /// Whether they have.
    pub fn is_done(&self) -> bool {
        self.is_said("done")
    }

    /// The job is to end.
    ///
    /// # Errors
    /// As above.
    pub fn say_end(&self) -> Result<(), Failure> {
        self.say("end", "")
    }

    /// Whether it is.
    pub fn is_ended(&self) -> bool {
        self.is_said("end")
    }
}

/// How often files are looked for.
pub const POLL: Duration = Duration::from_millis(5);

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn both_sides_see_what_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let ours = Control::create(&folder.path().join("a")).unwrap();
        let theirs = Control::open(ours.dir()).unwrap();
        assert!(!theirs.is_ready() && !theirs.is_done() && !theirs.is_ended());
        assert_eq!(theirs.go().unwrap(), None);
        ours.say_ready().unwrap();
        ours.say_go(17).unwrap();
        assert!(theirs.is_ready() && !theirs.is_done());
        assert_eq!(theirs.go().unwrap(), Some(17));
        fs::write(ours.dir().join("go"), "soon").unwrap();
        assert!(theirs.go().unwrap_err().to_string().contains("nanoseconds since 1970 are expected"));
        assert!(Control::open(&folder.path().join("b")).is_err());
    }
}

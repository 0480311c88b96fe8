//! What is known of a lab between commands: a directory of ours with a state file, and two locks.
//!
//! * `lock` is held by the process that makes, changes or ends the lab.
//! * `users` is held, shared, by every helper that works inside the lab, for as long as it does.
//!
//! The lab itself lives in its holder process alone. The state file says which process that is, and is believed only
//! as long as number, start time, boot and command line all fit; otherwise the lab is gone and nothing is touched.

use crate::blueprint::Blueprint;
use crate::entry::{ENTRY, HOLD_VERB};
use crate::error::LabError;
use crate::proc::{Handle, ProcessId};
use nix::fcntl::{Flock, FlockArg};
use nix::unistd::geteuid;
use optiq_files::{input, output};
use serde::{Deserialize, Serialize};
use std::env;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Version of the state file's form.
const VERSION: u32 = 2;
/// Larger state files are not ours.
const MAX_STATE_BYTES: u64 = 64 << 20;

/// What the state file holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    pub version: u32,
    pub name: String,
    /// Seconds since 1970 when the lab came up.
    pub created: u64,
    pub holder: ProcessId,
    pub blueprint: Blueprint,
}

/// The directory of one lab.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LabDir(PathBuf);

/// `$XDG_RUNTIME_DIR/optiq-lab`, or `optiq-lab-<uid>` in the directory for temporary files.
pub(crate) fn default_root() -> PathBuf {
    match env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from) {
        Some(dir) if dir.is_absolute() && dir.is_dir() => dir.join("optiq-lab"),
        _ => env::temp_dir().join(format!("optiq-lab-{}", geteuid())),
    }
}

impl LabDir {
    /// The directory of the lab called `name` below `root`; nothing is made yet.
    ///
    /// # Errors
    /// [`LabError::Argument`] if the name is no plain file name, or the path has a character that `mpirun` would
    /// split it at.
    pub(crate) fn new(root: &Path, name: &str) -> Result<Self, LabError> {
        let plain = !name.is_empty()
            && name.len() <= 40
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-' || c == '_');
        if !plain {
            return Err(LabError::Argument(format!(
                "\"{name}\" cannot be a lab's name; 1 to 40 letters, digits, '-' and '_' are expected"
            )));
        }
        let root = std::path::absolute(root).map_err(LabError::io(format!("find {}", root.display())))?;
        let usable = root.to_str().is_some_and(|s| !s.contains(|c: char| c.is_whitespace() || "'\"\\,:".contains(c)));
        if !usable {
            return Err(LabError::Argument(format!(
                "the lab's directory {} has a space, quote, comma, colon or backslash in its path, which mpirun would trip over; \
                 set TMPDIR or give another directory",
                root.display()
            )));
        }
        Ok(LabDir(root.join(name)))
    }

    /// The directory that holds a given state file.
    pub(crate) fn of_state(path: &Path) -> Result<Self, LabError> {
        match path.parent() {
            Some(dir) if path.is_absolute() => Ok(LabDir(dir.to_path_buf())),
            _ => Err(LabError::Argument(format!("{} is not the absolute path of a state file", path.display()))),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn state_path(&self) -> PathBuf {
        self.0.join("state.json")
    }

    /// See [`Blueprint::background`].
    pub(crate) fn background_path(&self) -> PathBuf {
        self.0.join("background")
    }

    /// Makes the directory, or checks that the one that is there is ours alone.
    pub(crate) fn make(&self) -> Result<(), LabError> {
        let root = self.0.parent().unwrap_or(Path::new("/"));
        for dir in [root, &self.0] {
            if let Err(e) = DirBuilder::new().mode(0o700).create(dir)
                && e.kind() != ErrorKind::AlreadyExists
            {
                return Err(LabError::io(format!("make the directory {}", dir.display()))(e));
            }
            check_ours(dir)?;
        }
        Ok(())
    }

    /// Takes the lock under which the lab is changed.
    ///
    /// # Errors
    /// [`LabError::State`] if another command has it.
    pub(crate) fn lock(&self) -> Result<Flock<File>, LabError> {
        let path = self.0.join("lock");
        loop {
            let file = open_lock(&path)?;
            let lock = Flock::lock(file, FlockArg::LockExclusiveNonblock).map_err(|_| {
                LabError::State(format!(
                    "another command is making or ending the lab in {}; try again",
                    self.0.display()
                ))
            })?;
            // `down` removes the file while it has the lock; a lock on a removed file excludes no process.
            let ours = lock.metadata().map_err(LabError::io("look at the lab's lock"))?;
            if fs::metadata(&path).is_ok_and(|m| (m.dev(), m.ino()) == (ours.dev(), ours.ino())) {
                return Ok(lock);
            }
            self.make()?;
        }
    }

    /// Marks the caller as working inside the lab, for as long as the value lives.
    pub(crate) fn use_lab(&self) -> Result<Flock<File>, LabError> {
        Flock::lock(open_lock(&self.0.join("users"))?, FlockArg::LockSharedNonblock)
            .map_err(|_| LabError::State(format!("the lab in {} is being taken down", self.0.display())))
    }

    /// Waits until no process works inside the lab, at most `limit`; whether that came about.
    pub(crate) fn wait_unused(&self, limit: Duration) -> Result<bool, LabError> {
        let deadline = Instant::now() + limit;
        let mut file = open_lock(&self.0.join("users"))?;
        loop {
            match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(_) => return Ok(true),
                Err(_) if Instant::now() >= deadline => return Ok(false),
                Err((back, _)) => file = back,
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Reads the state file; none if there is none.
    ///
    /// # Errors
    /// [`LabError::State`] if it is damaged or of another version, or the directory is not ours.
    pub(crate) fn read(&self) -> Result<Option<State>, LabError> {
        let path = self.state_path();
        match fs::symlink_metadata(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            _ => check_ours(&self.0)?,
        }
        let text = match input::read(&path, MAX_STATE_BYTES) {
            Ok(text) => text,
            // It has just gone.
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(LabError::io(format!("read {}", path.display()))(e)),
        };
        let damaged = |what: String| LabError::State(format!("{} is not the state of a lab: {what}", path.display()));
        let state: State = serde_json::from_slice(&text).map_err(|e| damaged(e.to_string()))?;
        if state.version != VERSION {
            return Err(damaged(format!("it has version {}, this program reads version {VERSION}", state.version)));
        }
        Ok(Some(state))
    }

    /// Writes the state file, all of it or nothing.
    pub(crate) fn write(&self, state: &State) -> Result<(), LabError> {
        let path = self.state_path();
        let doing = || format!("write {}", path.display());
        let text = serde_json::to_vec_pretty(state).map_err(LabError::io(doing()))?;
        output::write_volatile(&path, output::PRIVATE, &text).map_err(LabError::io(doing()))
    }

    /// Removes the directory and what the lab put there. What others put there stays, and so does the directory then.
    pub(crate) fn remove(&self) -> Result<(), LabError> {
        check_ours(&self.0)?;
        let entries = fs::read_dir(&self.0).map_err(LabError::io(format!("read {}", self.0.display())))?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let path = entry.path();
            let result = match name.to_str() {
                Some(name) if name.starts_with(RUN_PREFIX) => fs::remove_dir_all(&path),
                Some("state.json" | "background" | "users" | "lock") => fs::remove_file(&path),
                // What a process that was killed while it wrote has left.
                Some(name) if name.starts_with('.') && name.ends_with(".tmp") => fs::remove_file(&path),
                _ => Ok(()),
            };
            result.map_err(LabError::io(format!("remove {}", path.display())))?;
        }
        for dir in [Some(self.0.as_path()), self.0.parent()].into_iter().flatten() {
            let _ = fs::remove_dir(dir);
        }
        Ok(())
    }
}

/// How the directories of runs begin, inside a lab's directory.
pub(crate) const RUN_PREFIX: &str = "run-";

/// How long to wait for a process without a command line.
const MOMENT: std::time::Duration = std::time::Duration::from_millis(10);
const MOMENTS: u32 = 100;

impl State {
    pub(crate) fn new(name: &str, holder: ProcessId, blueprint: Blueprint) -> Self {
        let created = std::time::SystemTime::UNIX_EPOCH.elapsed().map_or(0, |d| d.as_secs());
        State { version: VERSION, name: name.into(), created, holder, blueprint }
    }

    /// Whether the lab's holder is there.
    ///
    /// # Errors
    /// [`LabError::State`] if the process is there but is not a holder of this lab: it is nothing we made.
    pub(crate) fn is_up(&self, dir: &LabDir) -> Result<bool, LabError> {
        if !self.holder.is_alive() {
            return Ok(false);
        }
        let pid = self.holder.pid;
        let mut command = Vec::new();
        // A process has no command line for a moment while it starts a program, and none any more once it is dying.
        for _ in 0..MOMENTS {
            command = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            if !command.is_empty() || !self.holder.is_alive() {
                break;
            }
            std::thread::sleep(MOMENT);
        }
        let state_path = dir.state_path();
        let expected = [ENTRY.as_bytes(), HOLD_VERB.as_bytes(), state_path.as_os_str().as_encoded_bytes()];
        let mut arguments = command.split(|&b| b == 0).skip(1);
        if expected.iter().all(|&e| arguments.next() == Some(e)) {
            return Ok(true);
        }
        if !self.holder.is_alive() {
            return Ok(false);
        }
        Err(LabError::State(format!(
            "{} names process {pid} as the lab's holder, but that process runs \"{}\"; it is left alone",
            state_path.display(),
            String::from_utf8_lossy(&command).replace('\0', " ").trim()
        )))
    }

    /// A handle on the lab's holder, if it is there. Not for helpers in a process namespace of their own, where
    /// numbers mean other processes to the kernel (but not to `/proc`).
    ///
    /// # Errors
    /// As [`State::is_up`].
    pub(crate) fn holder(&self, dir: &LabDir) -> Result<Option<Handle>, LabError> {
        let handle = self.holder.open()?;
        Ok(if self.is_up(dir)? { handle } else { None })
    }
}

/// A directory that others could write to, or that is theirs, may hold anything.
fn check_ours(dir: &Path) -> Result<(), LabError> {
    let metadata = fs::symlink_metadata(dir).map_err(LabError::io(format!("look at {}", dir.display())))?;
    // Inside the lab's user namespace the owner is seen as root, which is then who we are.
    if metadata.is_dir() && metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o022 == 0 {
        Ok(())
    } else {
        Err(LabError::State(format!(
            "{} is not a directory that only this user can write to; the lab does not use it; set TMPDIR or XDG_RUNTIME_DIR \
             to a directory of your own",
            dir.display()
        )))
    }
}

fn open_lock(path: &Path) -> Result<File, LabError> {
    OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)
        .map_err(LabError::io(format!("open {}", path.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blueprint::network_at;
    use crate::lab::Lab;
    use crate::profile::Profile;
    use std::process::{Command, Stdio};

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let dir = env::temp_dir().join(format!("optiq-lab-unit-{name}-{}", std::process::id()));
            fs::create_dir_all(&dir).unwrap();
            Scratch(dir)
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn state(holder: ProcessId) -> State {
        let network = network_at("star:2", "1mbit".parse().unwrap()).unwrap();
        State::new("x", holder, Blueprint::new(&network, Profile::Tuned, None, &[]).unwrap().0)
    }

    #[test]
    fn state_survives_the_file() {
        let scratch = Scratch::new("file");
        let dir = LabDir::new(&scratch.0, "x").unwrap();
        dir.make().unwrap();
        assert_eq!(dir.read().unwrap(), None);
        let state = state(ProcessId { pid: 1, start_ticks: 2, boot: "b".into() });
        dir.write(&state).unwrap();
        assert_eq!(dir.read().unwrap(), Some(state));
        fs::write(dir.state_path(), "{}").unwrap();
        assert!(matches!(dir.read(), Err(LabError::State(_))));
    }

    /// Others cannot write to a lab's directory; but should one ever be led there, nothing of theirs is overwritten.
    #[test]
    fn planted_links_are_not_followed() {
        let scratch = Scratch::new("planted");
        let dir = LabDir::new(&scratch.0, "x").unwrap();
        dir.make().unwrap();
        let victim = scratch.0.join("victim");
        fs::write(&victim, "precious").unwrap();
        for name in ["state.json", "state.json.new", "lock"] {
            std::os::unix::fs::symlink(&victim, dir.path().join(name)).unwrap();
        }
        dir.write(&state(ProcessId { pid: 1, start_ticks: 2, boot: "b".into() })).unwrap();
        assert!(dir.lock().is_err());
        assert_eq!(fs::read(&victim).unwrap(), b"precious");
        assert!(dir.read().unwrap().is_some());
    }

    /// A recorded process that is there but was started at another time is another process: the lab is gone, and the
    /// process is left alone.
    #[test]
    fn a_process_with_another_start_time_is_not_touched() {
        let scratch = Scratch::new("start");
        let mut other = Command::new("sleep").arg("60").spawn().unwrap();
        let mut holder = ProcessId::of(other.id() as i32).unwrap();
        holder.start_ticks += 1;
        let dir = LabDir::new(&scratch.0, "x").unwrap();
        dir.make().unwrap();
        dir.write(&state(holder)).unwrap();
        assert!(Lab::open("x", Some(&scratch.0)).is_err());
        assert!(!Lab::find("x", Some(&scratch.0)).unwrap().down().unwrap());
        assert!(!dir.path().exists());
        assert_eq!(other.try_wait().unwrap(), None);
        other.kill().unwrap();
        other.wait().unwrap();
    }

    /// A state file that names a living process which is no holder is somebody's mistake or malice.
    #[test]
    fn a_foreign_process_is_not_touched() {
        let scratch = Scratch::new("foreign");
        let mut other = Command::new("sleep").arg("60").stdin(Stdio::null()).spawn().unwrap();
        let dir = LabDir::new(&scratch.0, "x").unwrap();
        dir.make().unwrap();
        dir.write(&state(ProcessId::of(other.id() as i32).unwrap())).unwrap();
        for error in [
            Lab::open("x", Some(&scratch.0)).unwrap_err(),
            Lab::find("x", Some(&scratch.0)).unwrap().down().unwrap_err(),
        ] {
            assert!(error.to_string().ends_with("it is left alone"), "{error}");
        }
        assert_eq!(other.try_wait().unwrap(), None);
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn directories_that_others_can_write_are_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let scratch = Scratch::new("mode");
        fs::set_permissions(&scratch.0, fs::Permissions::from_mode(0o777)).unwrap();
        let dir = LabDir::new(&scratch.0, "x").unwrap();
        let Err(LabError::State(sentence)) = dir.make() else { panic!("a directory of everybody is used") };
        assert!(sentence.contains("set TMPDIR or XDG_RUNTIME_DIR"), "{sentence}");
        let link = scratch.0.join("link");
        std::os::unix::fs::symlink("/tmp", &link).unwrap();
        assert!(LabDir::new(&link, "x").unwrap().make().is_err());
    }

    #[test]
    fn removal_spares_what_is_not_the_labs() {
        let scratch = Scratch::new("spare");
        let dir = LabDir::new(&scratch.0.join("root"), "x").unwrap();
        dir.make().unwrap();
        drop(dir.lock().unwrap());
        fs::create_dir(dir.path().join("run-7-0")).unwrap();
        fs::write(dir.path().join("mine"), "").unwrap();
        dir.remove().unwrap();
        let left: Vec<_> = fs::read_dir(dir.path()).unwrap().flatten().map(|e| e.file_name()).collect();
        assert_eq!(left, ["mine"]);
    }

    #[test]
    fn locks_exclude() {
        let scratch = Scratch::new("lock");
        let dir = LabDir::new(&scratch.0, "x").unwrap();
        dir.make().unwrap();
        let lock = dir.lock().unwrap();
        assert!(matches!(dir.lock(), Err(LabError::State(_))));
        drop(lock);
        assert!(dir.lock().is_ok());
        let user = dir.use_lab().unwrap();
        assert!(dir.use_lab().is_ok());
        assert!(!dir.wait_unused(Duration::ZERO).unwrap());
        drop(user);
        assert!(dir.wait_unused(Duration::ZERO).unwrap());
    }

    #[test]
    fn names_are_plain() {
        for name in ["", ".", "..", "a/b", "a b", &"x".repeat(41)] {
            assert!(matches!(LabDir::new(Path::new("/tmp"), name), Err(LabError::Argument(_))), "{name}");
        }
        assert!(LabDir::new(Path::new("/tmp/a b"), "x").is_err());
        assert_eq!(LabDir::new(Path::new("/tmp"), "x-1_b").unwrap().path(), Path::new("/tmp/x-1_b"));
    }
}

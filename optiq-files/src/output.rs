//! Outputs: written completely or not at all, in directories where others may plant links.
//!
//! A file is made under an unpredictable name, which must not exist (`O_EXCL`), and takes its own name by renaming, which
//! replaces a link in place of following it. All of that happens in a directory that is opened once, so that no step can be led
//! elsewhere by exchanging a part of the path. (The crate tempfile does the same by path only, which is why it is not used here.)

use nix::errno::Errno;
use nix::fcntl::{AtFlags, OFlag, open, openat, renameat};
use nix::sys::stat::{Mode, SFlag, fstatat};
use nix::unistd::{UnlinkatFlags, unlinkat};
use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::hash::BuildHasher;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Permissions of files that anybody may read; the umask takes its part away, as from those of any other new file.
pub const PUBLIC: u32 = 0o666;
/// Permissions of files that only this user may read.
pub const PRIVATE: u32 = 0o600;

/// How often a name is tried: if this many exist already, somebody made them.
const TRIES: usize = 100;

/// Where a file is to be: a name in a directory that is open.
#[derive(Clone, Debug)]
pub struct Place {
    directory: Arc<OwnedFd>,
    name: OsString,
    path: PathBuf,
}

impl Place {
    /// Opens the directory of `path`.
    ///
    /// # Errors
    /// A path without a file name; a directory that cannot be opened; what is there and is not a regular file (or a link to one),
    /// as renaming would replace a device or a pipe.
    pub fn new(path: &Path) -> io::Result<Self> {
        let name = path.file_name().ok_or_else(|| invalid("a file name is expected"))?.to_owned();
        let folder = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let directory = open(folder, OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC, Mode::empty())?;
        let there = fstatat(&directory, name.as_os_str(), AtFlags::empty());
        if there.is_ok_and(|s| SFlag::from_bits_truncate(s.st_mode) & SFlag::S_IFMT != SFlag::S_IFREG) {
            return Err(invalid("it is there already, and is not a regular file"));
        }
        Ok(Self { directory: Arc::new(directory), name, path: path.to_owned() })
    }

    /// The path that was given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a file can be made here: makes one and removes it again.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn probe(&self) -> io::Result<()> {
        self.draft(PRIVATE).map(drop)
    }

    /// A new, empty file beside the place, with an unpredictable name; removed as it is dropped, unless it is kept.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn draft(&self, mode: u32) -> io::Result<Draft> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        for _ in 0..TRIES {
            let mut name = OsString::from(".");
            // Cut, as names have a limit, and more is appended.
            name.push(shortened(&self.name));
            name.push(format!(".{:016x}.tmp", unpredictable()));
            match openat(&*self.directory, name.as_os_str(), flags, Mode::from_bits_truncate(mode)) {
                Ok(file) => return Ok(Draft { place: self.clone(), name: Some(name), file: File::from(file) }),
                Err(Errno::EEXIST) => {}
                Err(e) => return Err(e.into()),
            }
        }
        Err(Errno::EEXIST.into())
    }

    /// Has `fill` write the file, which replaces one that is there when it is complete and on disk.
    ///
    /// # Errors
    /// What the operating system or `fill` says; what was there before is then as it was.
    pub fn write(&self, mode: u32, fill: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> io::Result<()> {
        let draft = self.draft(mode)?;
        let mut out = BufWriter::new(draft.file());
        fill(&mut out)?;
        out.flush()?;
        drop(out);
        draft.file().sync_all()?;
        draft.keep().map(drop)
    }

    /// Removes the file at the place, if there is one.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn remove(&self) -> io::Result<()> {
        match unlinkat(&*self.directory, self.name.as_os_str(), UnlinkatFlags::NoRemoveDir) {
            Err(e) if e != Errno::ENOENT => Err(e.into()),
            _ => Ok(()),
        }
    }
}

/// A file that has not taken its place yet.
#[derive(Debug)]
pub struct Draft {
    place: Place,
    /// `None` as soon as it has.
    name: Option<OsString>,
    file: File,
}

impl Draft {
    /// The file, open for writing.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// Gives the file its place and returns it, open. What was there before is replaced; a link is not followed.
    ///
    /// # Errors
    /// What the operating system says.
    pub fn keep(mut self) -> io::Result<File> {
        if let Some(name) = &self.name {
            let directory = &*self.place.directory;
            renameat(directory, name.as_os_str(), directory, self.place.name.as_os_str())?;
        }
        self.name = None;
        self.file.try_clone()
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // The first error is the one to report; that the leftover could not be removed either adds nothing.
            let _ = unlinkat(&*self.place.directory, name.as_os_str(), UnlinkatFlags::NoRemoveDir);
        }
    }
}

/// Writes a file as [`Place::write`] does.
///
/// # Errors
/// As [`Place::new`] and [`Place::write`].
pub fn write(path: &Path, mode: u32, fill: impl FnOnce(&mut BufWriter<&File>) -> io::Result<()>) -> io::Result<()> {
    Place::new(path)?.write(mode, fill)
}

/// Writes a file that is of no use after the machine has crashed, so it does not wait for the disk. Otherwise as [`write()`].
///
/// # Errors
/// As [`write()`].
pub fn write_volatile(path: &Path, mode: u32, bytes: &[u8]) -> io::Result<()> {
    let draft = Place::new(path)?.draft(mode)?;
    draft.file().write_all(bytes)?;
    draft.keep().map(drop)
}

/// A number that other users cannot know: a hash with keys that the operating system draws at random.
fn unpredictable() -> u64 {
    RandomState::new().hash_one(0u8)
}

fn shortened(name: &OsStr) -> &OsStr {
    const KEPT: usize = 200;
    if name.len() <= KEPT { name } else { OsStr::new("output") }
}

fn invalid(why: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidInput, why)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn names(folder: &Path) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_file_is_whole_or_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan");
        let place = Place::new(&path).unwrap();
        place.probe().unwrap();
        assert!(names(folder.path()).is_empty());
        place.write(PUBLIC, |out| out.write_all(b"whole")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        let failed = place.write(PUBLIC, |out| {
            out.write_all(b"half")?;
            Err(io::Error::other("the disk is full"))
        });
        assert_eq!(failed.unwrap_err().to_string(), "the disk is full");
        assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"whole".to_vec(), vec!["plan".to_string()]));
        // As readable as any other new file.
        let plain = folder.path().join("plain");
        fs::write(&plain, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&plain));
        write(&path, PRIVATE, |_| Ok(())).unwrap();
        assert_eq!(mode(&path) & 0o777, 0o600);
    }

    #[test]
    fn what_is_no_regular_file_is_not_replaced() {
        let folder = tempfile::tempdir().unwrap();
        assert!(Place::new(folder.path()).unwrap_err().to_string().ends_with("not a regular file"));
        assert_eq!(Place::new(&folder.path().join("no/such/file")).unwrap_err().kind(), ErrorKind::NotFound);
        assert!(Place::new(Path::new("/")).is_err());
        let pipe = folder.path().join("pipe");
        nix::unistd::mkfifo(&pipe, Mode::S_IRWXU).unwrap();
        assert!(Place::new(&pipe).is_err());
    }

    #[test]
    fn links_are_replaced_and_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (victim, path) = (folder.path().join("victim"), folder.path().join("plan"));
        fs::write(&victim, "precious").unwrap();
        symlink(&victim, &path).unwrap();
        let place = Place::new(&path).unwrap();
        // Planted when the draft is there already: its name is known then, and its file open.
        let draft = place.draft(PUBLIC).unwrap();
        draft.file().write_all(b"a plan").unwrap();
        drop(draft.keep().unwrap());
        assert_eq!((fs::read(&victim).unwrap(), fs::read(&path).unwrap()), (b"precious".to_vec(), b"a plan".to_vec()));
        assert!(!fs::symlink_metadata(&path).unwrap().is_symlink());
    }

    #[test]
    fn the_directory_is_opened_once() {
        let folder = tempfile::tempdir().unwrap();
        let (mine, moved, theirs) =
            (folder.path().join("out"), folder.path().join("moved"), folder.path().join("theirs"));
        fs::create_dir(&mine).unwrap();
        fs::create_dir(&theirs).unwrap();
        fs::write(theirs.join("plan"), "precious").unwrap();
        let place = Place::new(&mine.join("plan")).unwrap();
        // The directory is exchanged for a link to another one while the plan is made.
        fs::rename(&mine, &moved).unwrap();
        symlink(&theirs, &mine).unwrap();
        place.write(PUBLIC, |out| out.write_all(b"a plan")).unwrap();
        assert_eq!(fs::read(theirs.join("plan")).unwrap(), b"precious");
        assert_eq!(fs::read(moved.join("plan")).unwrap(), b"a plan");
        place.remove().unwrap();
        place.remove().unwrap();
        assert!(names(&moved).is_empty());
    }

    #[test]
    fn names_of_drafts_cannot_be_guessed() {
        let folder = tempfile::tempdir().unwrap();
        let long = "x".repeat(255);
        let place = Place::new(&folder.path().join(&long)).unwrap();
        let drafts: Vec<Draft> = (0..20).map(|_| place.draft(PUBLIC).unwrap()).collect();
        assert_eq!(names(folder.path()).len(), 20);
        drop(drafts);
        assert!(names(folder.path()).is_empty());
        place.write(PUBLIC, |out| out.write_all(b"x")).unwrap();
        assert_eq!(names(folder.path()), [long]);
    }
}

//! Files that commands write: checked before the work begins, and whole or not there afterwards.

use crate::failure::Failure;
use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file to be written, at a place where that seemed possible.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
    temporary: PathBuf,
}

impl Target {
    /// Checks that `path` can be written, so that hours of planning do not end in "no such directory". Nothing is left
    /// there: should the command be killed, there is no stump.
    ///
    /// # Errors
    /// [`Failure::Input`] if it cannot, or is something else than a regular file.
    pub fn new(path: &Path) -> Result<Self, Failure> {
        let refuse = |why: String| Failure::Input(format!("cannot write {}: {why}", path.display()));
        // The file is replaced by renaming, which must happen to no directory and no device.
        if fs::metadata(path).is_ok_and(|m| !m.is_file()) {
            return Err(refuse("it is there already, and is not a regular file".into()));
        }
        let name = path.file_name().ok_or_else(|| refuse("a file name is expected".into()))?;
        let mut hidden = OsString::from(".");
        hidden.push(name);
        hidden.push(format!(".{}.tmp", std::process::id()));
        let target = Target { path: path.to_owned(), temporary: path.with_file_name(hidden) };
        target.open().map_err(|e| refuse(e.to_string()))?;
        let _ = fs::remove_file(&target.temporary);
        Ok(target)
    }

    /// Where the file will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn open(&self) -> io::Result<File> {
        OpenOptions::new().write(true).create(true).truncate(true).open(&self.temporary)
    }

    /// Has `fill` write the file, which replaces one that is there when it is complete.
    ///
    /// # Errors
    /// [`Failure::Input`] if it cannot be written; it is then as it was before.
    pub fn write(&self, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), Failure> {
        let written = self.open().and_then(|file| {
            let mut out = BufWriter::new(file);
            fill(&mut out)?;
            out.flush()?;
            out.get_ref().sync_all()?;
            fs::rename(&self.temporary, &self.path)
        });
        written.map_err(|e| {
            // That the leftover could not be removed either adds nothing.
            let _ = fs::remove_file(&self.temporary);
            Failure::Input(format!("cannot write {}: {e}", self.path.display()))
        })
    }
}

//! Files that commands write: checked before the work begins, and afterwards either whole or absent.

use crate::failure::Failure;
use std::fs::{self, File, Permissions};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// A file to be written, at a place where that was possible when the command began.
#[derive(Debug)]
pub struct Target {
    path: PathBuf,
}

impl Target {
    /// Checks that `path` can be written, so that hours of planning do not end in "no such directory". It leaves no file, so
    /// that a command that is killed leaves none either.
    ///
    /// # Errors
    /// [`Failure::Input`] if it cannot, or is something else than a regular file.
    pub fn new(path: &Path) -> Result<Self, Failure> {
        let target = Target { path: path.to_owned() };
        // The file is replaced by renaming, which must happen to no directory and no device.
        if fs::metadata(path).is_ok_and(|m| !m.is_file()) {
            return Err(target.refused("it is there already, and is not a regular file"));
        }
        if path.file_name().is_none() {
            return Err(target.refused("a file name is expected"));
        }
        // Removed again as it goes out of scope.
        target.temporary().map_err(|e| target.refused(&reason(&e)))?;
        Ok(target)
    }

    /// Where the file will be.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// A new file beside the target, with a name that others cannot guess; it is removed if it is dropped. The umask applies to
    /// its permissions as to those of any other file.
    fn temporary(&self) -> io::Result<NamedTempFile> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let folder = self.path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        tempfile::Builder::new()
            .prefix(&format!(".{name}."))
            .suffix(".tmp")
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)
    }

    /// Has `fill` write the file, which replaces one that is there when it is complete.
    ///
    /// # Errors
    /// [`Failure::Input`] if it cannot be written; it is then as it was before.
    pub fn write(&self, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<(), Failure> {
        let written = self.temporary().and_then(|temporary| {
            let mut out = BufWriter::new(temporary.as_file().try_clone()?);
            fill(&mut out)?;
            out.flush()?;
            out.get_ref().sync_all()?;
            temporary.persist(&self.path).map_err(|e| e.error)
        });
        written.map(drop).map_err(|e| self.refused(&reason(&e)))
    }

    fn refused(&self, why: &str) -> Failure {
        Failure::Input(format!("cannot write {}: {why}", self.path.display()))
    }
}

/// What went wrong, without the name of the temporary file, which says nothing to a user.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    // As tempfile adds the path.
    text.split_once(" at path \"").map_or(text.clone(), |(reason, _)| reason.to_owned())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        fs::read_dir(folder).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect()
    }

    #[test]
    fn a_file_is_whole_or_as_it_was() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan");
        let target = Target::new(&path).unwrap();
        assert!(names(folder.path()).is_empty());
        target.write(|out| out.write_all(b"whole")).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"whole");
        let failed = target.write(|out| {
            out.write_all(b"half")?;
            Err(io::Error::other("the disk is full"))
        });
        assert!(failed.unwrap_err().sentence().ends_with("plan: the disk is full"));
        assert_eq!((fs::read(&path).unwrap(), names(folder.path())), (b"whole".to_vec(), vec!["plan".to_string()]));
        // As readable as any other new file.
        let plain = folder.path().join("plain");
        fs::write(&plain, "").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode();
        assert_eq!(mode(&path), mode(&plain));
    }

    #[test]
    fn places_that_cannot_be_written_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = Target::new(&folder.path().join("no/such/file")).unwrap_err();
        assert!(refused.sentence().ends_with("no/such/file: No such file or directory (os error 2)"), "{refused:?}");
        assert!(Target::new(folder.path()).unwrap_err().sentence().ends_with("not a regular file"));
    }
}

//! Files that commands write: checked before the work begins, and afterwards either whole or absent. `-` is standard output.

use crate::failure::Failure;
use crate::output;
use optiq_files::input::STANDARD;
use optiq_files::output::{PUBLIC, Place};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file to be written, at a place where that was possible when the command began; or standard output.
#[derive(Debug)]
pub struct Target {
    /// `None` for standard output.
    place: Option<Place>,
}

impl Target {
    /// Checks that `path` can be written, so that hours of planning do not end in "no such directory". It leaves no file, so
    /// that a command that is killed leaves none either. With `-`, all else that the command prints goes to standard error.
    ///
    /// # Errors
    /// [`Failure::Input`] if it cannot, or is something else than a regular file; for a second `-`.
    pub fn new(path: &Path) -> Result<Self, Failure> {
        if path.as_os_str() == STANDARD {
            output::give_away()?;
            return Ok(Target { place: None });
        }
        let place = Place::new(path).and_then(|place| place.probe().map(|()| place));
        place.map(|place| Target { place: Some(place) }).map_err(|e| refused(path, &e))
    }

    /// Where the file will be.
    pub fn path(&self) -> &Path {
        self.place.as_ref().map_or(Path::new(STANDARD), Place::path)
    }

    /// Has `fill` write the file, which replaces one that is there when it is complete.
    ///
    /// # Errors
    /// [`Failure::Input`] if it cannot be written; it is then as it was before.
    pub fn write(&self, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
        match &self.place {
            Some(place) => place.write(PUBLIC, |out| fill(out)).map_err(|e| refused(place.path(), &e)),
            None => output::write_given_away(fill),
        }
    }
}

/// Refuses two options that name the same file.
///
/// # Errors
/// [`Failure::Input`] with the first two that do. Standard output for two of them is refused by [`Target::new`].
pub fn check_distinct(files: &[(&str, &Option<PathBuf>)]) -> Result<(), Failure> {
    for (i, (first, file)) in files.iter().enumerate() {
        let file = file.as_deref().filter(|file| *file != Path::new(STANDARD));
        if let Some((second, _)) = files[i + 1..].iter().find(|(_, other)| file.is_some() && other.as_deref() == file) {
            return Err(Failure::Input(format!("{first} and {second} name the same file; two are expected")));
        }
    }
    Ok(())
}

fn refused(path: &Path, why: &io::Error) -> Failure {
    Failure::Input(format!("cannot write {}: {why}", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn places_that_cannot_be_written_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let refused = Target::new(&folder.path().join("no/such/file")).unwrap_err();
        assert!(refused.sentence().ends_with("no/such/file: No such file or directory (os error 2)"), "{refused:?}");
        assert!(Target::new(folder.path()).unwrap_err().sentence().ends_with("not a regular file"));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}

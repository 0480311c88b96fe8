//! The directory of a sweep: `sweep.json`, `index.html`, and `runs/` with a document for each run, which is there whole or not at all.

use crate::failure::Failure;
use optiq_files::input;
use optiq_files::output::{self, PUBLIC, Place};
use optiq_net::fingerprint::Fingerprint;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The largest document that is read back.
const MAX_DOCUMENT: u64 = 64 << 20;

/// Where documents are.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

impl Store {
    /// A directory that need not exist.
    pub fn at(folder: &Path) -> Self {
        Store { folder: folder.to_owned() }
    }

    /// Makes the directory, unless it is there, and tries whether a document can be made in it.
    ///
    /// # Errors
    /// [`Failure::Input`] if not.
    pub fn create(folder: &Path) -> Result<Self, Failure> {
        let store = Self::at(folder);
        let runs = folder.join("runs");
        let tried = fs::create_dir_all(&runs).and_then(|()| Place::new(&runs.join("try"))?.probe());
        tried.map_err(|e| Failure::Input(format!("cannot write to {}: {e}", runs.display())))?;
        Ok(store)
    }

    /// The directory.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The name of a run's document in the directory.
    pub fn name(run: Fingerprint) -> String {
        format!("runs/{:032x}.json", run.0)
    }

    /// Whether a document is there.
    pub fn has(&self, name: &str) -> bool {
        self.folder.join(name).is_file()
    }

    /// Writes a document.
    ///
    /// # Errors
    /// [`Failure::Work`] if it cannot be written, as on a full disk; it is then as it was before.
    pub fn write(&self, name: &str, text: &str) -> Result<(), Failure> {
        let path = self.folder.join(name);
        output::write(&path, PUBLIC, |out| out.write_all(text.as_bytes()))
            .map_err(|e| Failure::Work(format!("cannot write {}: {e}; what was finished is kept", path.display())))
    }

    /// The text of a document; `None` if there is none.
    ///
    /// # Errors
    /// [`Failure::Input`] if it cannot be read.
    pub fn read(&self, name: &str) -> Result<Option<Vec<u8>>, Failure> {
        if !self.has(name) {
            return Ok(None);
        }
        let path = self.folder.join(name);
        let bytes = input::read(&path, MAX_DOCUMENT);
        bytes.map(Some).map_err(|e| Failure::Input(format!("cannot read {}: {e}", path.display())))
    }
}

//! A file that is generated.

use std::path::PathBuf;

/// A file to write: its path below the directory, and what is in it.
pub struct GeneratedFile {
    /// Below the directory.
    pub path: PathBuf,
    /// Its contents.
    pub text: Vec<u8>,
}

impl GeneratedFile {
    /// A file with these contents.
    pub fn new(path: impl Into<PathBuf>, text: impl Into<Vec<u8>>) -> Self {
        Self { path: path.into(), text: text.into() }
    }
}

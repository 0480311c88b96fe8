//! What is installed, how and where, and the paths and folders that follow.

use crate::mpi::Library;
use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

/// How something is built.
#[derive(Clone, Copy)]
pub struct Build {
    /// With HiGHS.
    pub highs: bool,
    /// Further options of cargo: the profile, and what is built besides.
    pub cargo_options: &'static [&'static str],
}

/// What is installed, how and where.
pub struct Options {
    /// The absolute path that the files name.
    pub prefix: PathBuf,
    /// Below the prefix.
    pub libdir: PathBuf,
    /// Stands before the prefix while files are copied.
    pub destdir: Option<PathBuf>,
    /// The MPI library; none is the one of a compiler wrapper of neither.
    pub library: Option<Library>,
    /// How the command is built.
    pub command: Build,
    /// How the libraries are built.
    pub libraries: Build,
    /// Whether missing tools may be installed.
    pub install: bool,
}

impl Options {
    /// Where the prefix is while files are copied.
    pub fn root(&self) -> PathBuf {
        below(self.destdir.as_deref(), &self.prefix)
    }

    /// The variables for builds with the MPI library.
    pub fn environment(&self) -> Vec<(OsString, OsString)> {
        self.library.map(Library::environment).unwrap_or_default()
    }
}

/// The path with another root.
pub fn below(root: Option<&Path>, path: &Path) -> PathBuf {
    match root {
        None => path.to_path_buf(),
        Some(root) => {
            root.components().chain(path.components().filter(|c| matches!(c, Component::Normal(_)))).collect()
        }
    }
}

//! The files of a folder that ranks have written into.

use crate::error::TraceError;
use std::path::{Path, PathBuf};

/// The files that are wanted, in the order of their names; if there are none, the error says what stands in `none` of the directory.
///
/// # Errors
/// [`TraceError`] if the directory cannot be read, or has none.
pub(crate) fn in_folder(
    directory: &Path,
    is_wanted: impl Fn(&Path) -> bool,
    none: &str,
) -> Result<Vec<PathBuf>, TraceError> {
    let io = |e: std::io::Error| TraceError::Io {
        path: directory.to_path_buf(),
        what: "the directory cannot be read",
        error: e.to_string(),
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if is_wanted(&path) {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        return Err(TraceError::Set(format!("{} {none}", directory.display())));
    }
    paths.sort();
    Ok(paths)
}

/// As [`in_folder`], of the files with this ending of their names.
pub(crate) fn with_extension(directory: &Path, extension: &str) -> Result<Vec<PathBuf>, TraceError> {
    let is_wanted = |path: &Path| path.extension().is_some_and(|e| e == extension);
    in_folder(directory, is_wanted, &format!("holds no file that ends in .{extension}"))
}

//! The files of a folder that ranks have written into.

use crate::error::TraceError;
use std::path::{Path, PathBuf};

/// The files with this ending of their names, in the order of their names.
///
/// # Errors
/// [`TraceError`] if the directory cannot be read, or has none.
pub(crate) fn in_folder(directory: &Path, extension: &str) -> Result<Vec<PathBuf>, TraceError> {
    let io = |e: std::io::Error| TraceError::Io {
        path: directory.to_path_buf(),
        what: "the directory cannot be read",
        error: e.to_string(),
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(directory).map_err(io)? {
        let path = entry.map_err(io)?.path();
        if path.extension().is_some_and(|e| e == extension) {
            paths.push(path);
        }
    }
    if paths.is_empty() {
        let what = format!("{} holds no file that ends in .{extension}", directory.display());
        return Err(TraceError::Set(what));
    }
    paths.sort();
    Ok(paths)
}

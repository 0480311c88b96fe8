//! Files that are written completely or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter};
use std::path::Path;

/// Writes a file through a temporary one beside it that is renamed when everything is on disk, so that a failure
/// or a kill leaves the old file or none, never a part of the new one.
///
/// # Errors
/// What the file system or `fill` reports.
pub fn write(path: &Path, fill: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> io::Result<()> {
    let name = path.file_name().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not a file name"))?;
    let mut temporary = name.to_os_string();
    temporary.push(format!(".{}.tmp", std::process::id()));
    let temporary = path.with_file_name(temporary);
    let file = OpenOptions::new().write(true).create(true).truncate(true).open(&temporary)?;
    let written = (|| {
        let mut out = BufWriter::new(file);
        fill(&mut out)?;
        out.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        fs::rename(&temporary, path)
    })();
    if written.is_err() {
        // The first error is the one to report; that the leftover could not be removed either adds nothing.
        let _ = fs::remove_file(&temporary);
    }
    written
}

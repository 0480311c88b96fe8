//! Standard output.

use crate::failure::Failure;
use serde::Serialize;
use std::io::{self, BufWriter, ErrorKind, Write};

/// Writes text to standard output.
///
/// # Errors
/// [`Failure::Closed`] if its reader has gone, [`Failure::Work`] if it cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    write(|out| out.write_all(text.as_bytes()))
}

/// Writes one JSON document to standard output.
///
/// # Errors
/// As [`print()`].
pub fn print_json(document: &impl Serialize) -> Result<(), Failure> {
    write(|out| {
        serde_json::to_writer_pretty(&mut *out, document)?;
        writeln!(out)
    })
}

/// Has `fill` write to standard output.
///
/// # Errors
/// As [`print()`].
pub fn write(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    let mut out = BufWriter::new(io::stdout().lock());
    fill(&mut out).and_then(|()| out.flush()).map_err(|e| match e.kind() {
        ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::Work(format!("cannot write to standard output: {e}")),
    })
}

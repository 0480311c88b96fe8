//! Standard output.

use crate::failure::Failure;
pub use crate::schema::Schema;
use serde::Serialize;
use std::io::{self, BufWriter, ErrorKind, Write};

/// Writes text to standard output.
///
/// # Errors
/// [`Failure::Closed`] if its reader has gone, [`Failure::Work`] if it cannot be written.
pub fn print(text: &str) -> Result<(), Failure> {
    write(|out| out.write_all(text.as_bytes()))
}

/// Writes one JSON document to standard output, with its schema.
///
/// # Errors
/// As [`print()`].
pub fn print_json(schema: Schema, document: &impl Serialize) -> Result<(), Failure> {
    let text = json(schema, document).map_err(|e| Failure::Work(format!("cannot write JSON: {e}")))?;
    print(&text)
}

/// A JSON document with its schema as the first key, and a line end behind it.
///
/// # Errors
/// If it is no object, which no document of ours is.
pub fn json(schema: Schema, document: &impl Serialize) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct WithSchema<'a, D> {
        schema: &'static str,
        #[serde(flatten)]
        document: &'a D,
    }
    Ok(serde_json::to_string_pretty(&WithSchema { schema: schema.id(), document })? + "\n")
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

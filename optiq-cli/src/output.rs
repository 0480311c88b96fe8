//! Standard output.

use crate::failure::Failure;
pub use crate::schema::Schema;
use crate::yaml;
use serde::Serialize;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a file is written to standard output (`--output -`), so that results for people go to standard error.
static GIVEN_AWAY: AtomicBool = AtomicBool::new(false);

/// Standard output is for one file from now on.
///
/// # Errors
/// [`Failure::Input`] if it is for another one already.
pub fn give_away() -> Result<(), Failure> {
    if GIVEN_AWAY.swap(true, Ordering::Relaxed) {
        return Err(Failure::Input("two outputs are -, standard output; at most one is expected".into()));
    }
    Ok(())
}

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
    print(&json(schema, document)?)
}

/// Writes one document to standard output as YAML, with the keys that it has as JSON, sorted.
///
/// # Errors
/// As [`print()`].
pub fn print_yaml(schema: Schema, document: &impl Serialize) -> Result<(), Failure> {
    let value = serde_json::from_str(&json(schema, document)?);
    let value = value.map_err(|e| Failure::Work(format!("cannot write YAML: {e}")))?;
    print(&yaml::document(&value))
}

/// A JSON document with its schema as the first key, and a line end behind it.
///
/// # Errors
/// [`Failure::Work`] if it is no object; all of our documents are.
pub fn json(schema: Schema, document: &impl Serialize) -> Result<String, Failure> {
    #[derive(Serialize)]
    struct WithSchema<'a, D> {
        schema: &'static str,
        #[serde(flatten)]
        document: &'a D,
    }
    let text = serde_json::to_string_pretty(&WithSchema { schema: schema.id(), document });
    text.map(|text| text + "\n").map_err(|e| Failure::Work(format!("cannot write JSON: {e}")))
}

/// Has `fill` write to standard output, or to standard error where standard output is for a file.
///
/// # Errors
/// As [`print()`].
pub fn write(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    if GIVEN_AWAY.load(Ordering::Relaxed) {
        return fill_and_flush(io::stderr().lock(), "standard error", fill);
    }
    write_given_away(fill)
}

/// Has `fill` write the file that standard output is for.
///
/// # Errors
/// As [`print()`].
pub fn write_given_away(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Failure> {
    fill_and_flush(io::stdout().lock(), "standard output", fill)
}

fn fill_and_flush(
    stream: impl Write,
    name: &str,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), Failure> {
    let mut out = BufWriter::new(stream);
    fill(&mut out).and_then(|()| out.flush()).map_err(|e| match e.kind() {
        ErrorKind::BrokenPipe => Failure::Closed,
        _ => Failure::Work(format!("cannot write to {name}: {e}")),
    })
}

//! Reading a text file whole, whatever its name turns out to stand for, and telling what was found in it.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The text of the regular file at `path`, if it is no larger than `most` bytes (whole MiB).
///
/// # Errors
/// The rest of a sentence that names the file.
pub fn read(path: &Path, most: u64) -> Result<String, String> {
    // A pipe or a device would block or never end; whether it is one must be known before it is opened.
    let metadata = std::fs::metadata(path).map_err(|e| e.to_string())?;
    if !metadata.is_file() {
        return Err("found something else than a regular file".into());
    }
    let mut bytes = Vec::new();
    let file = File::open(path).map_err(|e| e.to_string())?;
    file.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|e| e.to_string())?;
    if bytes.len() as u64 > most {
        return Err(format!("it is larger than {} MiB", most >> 20));
    }
    String::from_utf8(bytes).map_err(|e| format!("byte {} is not UTF-8 text", e.utf8_error().valid_up_to()))
}

/// `text` cut to a length that fits into a message.
pub fn shorten(text: &str) -> String {
    const KEPT: usize = 80;
    match text.char_indices().nth(KEPT) {
        Some((cut, _)) => format!("{}...", &text[..cut]),
        None => text.to_string(),
    }
}

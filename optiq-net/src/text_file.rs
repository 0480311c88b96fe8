//! Reading a text file whole, whatever its name turns out to stand for, and telling what was found in it.

use optiq_files::input;
use std::path::Path;

/// The text of the regular file at `path` (or of standard input, see [`optiq_files::input`]), if it is no larger than `most` bytes.
///
/// # Errors
/// The rest of a sentence that names the file.
pub fn read(path: &Path, most: u64) -> Result<String, String> {
    let bytes = input::read(path, most).map_err(|e| e.to_string())?;
    String::from_utf8(bytes).map_err(|e| format!("byte {} is not UTF-8 text", e.utf8_error().valid_up_to()))
}

/// The line of an offset in a text, from 1 on.
pub fn line_at(text: &str, offset: usize) -> usize {
    1 + text.bytes().take(offset).filter(|&b| b == b'\n').count()
}

/// `text` cut to a length that fits into a message.
pub fn shorten(text: &str) -> String {
    const KEPT: usize = 80;
    match text.char_indices().nth(KEPT) {
        Some((cut, _)) => format!("{}...", &text[..cut]),
        None => text.to_string(),
    }
}

//! The files of a network: one path, or several with `+` between them.

use std::path::{Path, PathBuf};

/// What separates the files of one network.
const SEPARATOR: char = '+';

/// The files that `text` names: one whose path this is, or several with `+` between them.
pub(crate) fn named(text: &str) -> Vec<PathBuf> {
    if !text.contains(SEPARATOR) || Path::new(text).exists() {
        return vec![text.into()];
    }
    text.split(SEPARATOR).map(|path| path.trim().into()).collect()
}

/// `text` with an absolute path for each of the files that it names.
pub(crate) fn absolute(text: &str) -> String {
    let absolute = |path: PathBuf| std::path::absolute(&path).unwrap_or(path).display().to_string();
    named(text).into_iter().map(absolute).collect::<Vec<_>>().join("+")
}

//! What ARCHITECTURE.md says, as far as it can be looked up: files, crates, the numbers of invariants.

use std::path::Path;

/// `a/{b,c}.rs` as `a/b.rs` and `a/c.rs`; anything else as it is.
fn expanded(token: &str) -> Vec<String> {
    let braces = token.split_once('{').and_then(|(head, rest)| Some((head, rest.split_once('}')?)));
    let Some((head, (choices, tail))) = braces else { return vec![token.to_owned()] };
    choices.split(',').map(|choice| format!("{head}{choice}{tail}")).collect()
}

/// What stands between backquotes and is a path from the root of the repository: it begins with a folder or file there.
fn paths(text: &str, root: &Path) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    let path = |t: &&str| t.contains('/') && !t.contains([' ', '*', '<', ':']) && !t.contains("NAME");
    let starts = |t: &String| t.split('/').next().is_some_and(|first| root.join(first).exists());
    quoted.filter(path).flat_map(|t| expanded(&t.replace('\n', ""))).filter(starts).collect()
}

/// Paths that the map names and that do not exist.
pub fn missing(text: &str, root: &Path) -> Vec<String> {
    paths(text, root).into_iter().filter(|path| !root.join(path).exists()).collect()
}

/// How many paths the map names.
pub fn named(text: &str, root: &Path) -> usize {
    paths(text, root).len()
}

/// The numbers of the list below a heading, in order.
pub fn numbers(text: &str, heading: &str) -> Vec<usize> {
    let section = text.split_once(heading).map_or("", |(_, rest)| rest);
    let section = section.split("\n## ").next().unwrap_or_default();
    section.lines().filter_map(|line| line.split_once(". ")?.0.parse().ok()).collect()
}

/// The crates in the first column of the table of crates.
pub fn crates(text: &str) -> Vec<&str> {
    let rows = text.lines().skip_while(|line| !line.starts_with("| crate |")).take_while(|line| line.starts_with('|'));
    rows.filter_map(|row| row.strip_prefix("| `")?.split_once('`')).map(|(name, _)| name).collect()
}

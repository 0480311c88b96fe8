//! File names with `*` in them.

use std::fs;
use std::path::{Path, PathBuf};

/// The files that an absolute pattern names, in order; `*` stands for any text within one component of the path.
pub fn matches(pattern: &str) -> Vec<PathBuf> {
    let mut found = vec![PathBuf::from("/")];
    for component in pattern.split('/').filter(|c| !c.is_empty()) {
        found = found.iter().flat_map(|dir| children(dir, component)).collect();
    }
    found.sort();
    found
}

fn children(dir: &Path, component: &str) -> Vec<PathBuf> {
    if !component.contains('*') {
        return Some(dir.join(component)).filter(|path| path.exists()).into_iter().collect();
    }
    let entries = fs::read_dir(dir).into_iter().flatten().flatten();
    entries.filter(|e| fits(&e.file_name().to_string_lossy(), component)).map(|e| e.path()).collect()
}

/// Whether `name` is the pattern's fixed pieces in their order, with any text in place of each `*`.
fn fits(name: &str, pattern: &str) -> bool {
    match pattern.split_once('*') {
        None => name == pattern,
        Some((piece, rest)) => name
            .strip_prefix(piece)
            .is_some_and(|name| name.char_indices().map(|(i, _)| &name[i..]).chain([""]).any(|tail| fits(tail, rest))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_text_within_a_component() {
        for (name, pattern, expected) in [
            ("libclang-14.so.1", "libclang*", true),
            ("libclang.so", "libclang*", true),
            ("libclan", "libclang*", false),
            ("x86_64-linux-gnu", "*-linux-gnu*", true),
            ("arm-linux-gnueabihf", "*-linux-gnu*", true),
            ("linux-gnu", "*-linux-gnu*", false),
            ("lib", "lib*", true),
            ("lib", "*", true),
            ("stddef.h", "stddef.h", true),
            ("stddef.hpp", "stddef.h", false),
        ] {
            assert_eq!(fits(name, pattern), expected, "{name} against {pattern}");
        }
    }

    #[test]
    fn patterns_walk_the_file_system() {
        let here = env!("CARGO_MANIFEST_DIR");
        let found = matches(&format!("{here}/s*c/tally.*"));
        assert_eq!(found, [Path::new(here).join("src/tally.rs")]);
        assert!(matches(&format!("{here}/nothing*/tally.rs")).is_empty());
    }
}

//! The figures of the README, copied from the documents of studies: a block begins with `<!-- figures: docs/results/PAGE.md -->` and ends
//! with `<!-- end of figures -->`, and what stands between is the paragraph that the page's document gives.

use crate::document::{DATA, StudyContent, StudyDocument};
use crate::failure::Failure;
use std::path::Path;

const BEGIN: &str = "<!-- figures: ";
const END: &str = "<!-- end of figures -->";
/// Of the folder of pages, seen from the README.
const PAGES: &str = "docs/results/";
/// Of a line of the README, in characters.
const WIDTH: usize = 118;

/// The README with all blocks made again from the documents below `pages`, the folder of pages.
///
/// # Errors
/// [`Failure::Input`] for a block of a page that has no paragraph, that does not end, or whose document cannot be read.
pub fn with_figures(readme: &str, pages: &Path) -> Result<String, Failure> {
    let mut text = String::with_capacity(readme.len());
    let mut lines = readme.lines();
    while let Some(line) = lines.next() {
        text.push_str(line);
        text.push('\n');
        let Some(page) = line.strip_prefix(BEGIN) else { continue };
        let page = page.trim_end_matches("-->").trim();
        text.push_str(&wrapped(&paragraph(page, pages)?));
        if !lines.by_ref().any(|line| line == END) {
            return Err(Failure::Input(format!("README.md: the figures of {page} do not end; \"{END}\" is expected")));
        }
        text.push_str(END);
        text.push('\n');
    }
    Ok(text)
}

/// What a page's document says to the reader of the README.
fn paragraph(page: &str, pages: &Path) -> Result<String, Failure> {
    let name = page.strip_prefix(PAGES).and_then(|name| name.strip_suffix(".md"));
    let name = name
        .ok_or_else(|| Failure::Input(format!("README.md: found figures of \"{page}\"; {PAGES}NAME.md is expected")))?;
    let document = StudyDocument::read(&pages.join(DATA).join(format!("{name}.json")))?;
    let said = match &document.content {
        StudyContent::Lab(content) => content.for_readers(page),
        StudyContent::Direct(content) => content.for_readers(page),
        _ => None,
    };
    said.ok_or_else(|| Failure::Input(format!("README.md: {page} has no paragraph for the README")))
}

/// In lines of at most [`WIDTH`] characters, unless a word is longer.
fn wrapped(text: &str) -> String {
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_whitespace() {
        let last = lines.last().map_or(0, |line| line.chars().count());
        if last > 0 && last + 1 + word.chars().count() > WIDTH {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn pages() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("docs/results")
    }

    /// Whatever stands in a block, the document's figures replace it, and nothing else changes.
    #[test]
    fn blocks_are_made_from_documents() {
        let block = |inner: &str| format!("a\n{BEGIN}docs/results/direct.md -->\n{inner}{END}\nb 1.5\n");
        let made = with_figures(&block("nothing was measured\n"), &pages()).unwrap();
        assert!(
            made.starts_with("a\n<!-- figures: docs/results/direct.md -->\n")
                && made.ends_with("end of figures -->\nb 1.5\n")
        );
        assert!(made.contains(" x as fast as MPI") && !made.contains("nothing was measured"), "{made}");
        assert_eq!(with_figures(&made, &pages()).unwrap(), made);
        assert!(made.lines().all(|line| line.chars().count() <= WIDTH));
    }

    #[test]
    fn what_cannot_be_copied_is_told() {
        let wrong = |text: &str| with_figures(text, &pages()).unwrap_err().to_string();
        assert!(wrong("<!-- figures: docs/results/direct.md -->\nx\n").contains("do not end"));
        assert!(
            wrong("<!-- figures: lab.md -->\n<!-- end of figures -->\n").contains("docs/results/NAME.md is expected")
        );
        assert!(wrong("<!-- figures: docs/results/o1.md -->\n<!-- end of figures -->\n").contains("has no paragraph"));
        assert!(wrong("<!-- figures: docs/results/none.md -->\n<!-- end of figures -->\n").contains("none.json"));
    }
}

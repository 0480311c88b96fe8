//! The page that lists the others, made from the documents, and from a list of the pages that have none yet.

use crate::claims::marks;
use crate::document::StudyDocument;
use crate::failure::Failure;
use serde::Deserialize;
use std::fmt::Write;
use std::path::Path;

/// The file of the page.
pub const INDEX: &str = "README.md";

const UNDOCUMENTED: &str = include_str!("../../data/undocumented.toml");

/// A page that was measured before there were documents.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct UndocumentedPage {
    /// Of its file, without an ending.
    pub name: String,
    /// Its title.
    pub title: String,
    /// Whether a published claim was shown; nothing of pages that judge none.
    pub verdict: Option<String>,
    /// What measures it again and makes its document.
    pub run_again: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileForm {
    #[serde(default)]
    page: Vec<UndocumentedPage>,
}

/// The pages without documents, from `data/undocumented.toml`.
///
/// # Errors
/// [`Failure::Work`] if the file is not of its form, which a test excludes.
pub fn undocumented() -> Result<Vec<UndocumentedPage>, Failure> {
    let form: FileForm =
        toml::from_str(UNDOCUMENTED).map_err(|e| Failure::Work(format!("data/undocumented.toml: {}", e.message())))?;
    Ok(form.page)
}

/// The page: a line for each document, and one for each page without.
pub fn page(documents: &[StudyDocument], undocumented: &[UndocumentedPage]) -> String {
    let direction_only = documents.iter().any(StudyDocument::says_direction_only);
    let mut listed: Vec<(&str, String)> = Vec::new();
    for d in documents {
        let verdict = d.verdict().map(|verdict| format!("**{verdict}**{}", marks_of(d, direction_only)));
        listed.push((&d.name, line(&d.title(), &d.name, verdict)));
    }
    listed.sort_by_key(|(name, _)| order(name));
    let mut text = String::from(
        "# Results\n\nWhat was measured and reproduced, one page each. Each is made from its document in [data](data), which \
         `cargo xtask results` or `cargo xtask race-codes` writes, and names its command, machine, versions and date. \
         `cargo run -p optiq-studies -- pages` makes the pages again without measuring anything.\n\n",
    );
    listed.iter().for_each(|(_, line)| text.push_str(line));
    if documents.iter().any(|d| !marks_of(d, direction_only).is_empty()) {
        let direction = if direction_only { format!(" {}", marks::DIRECTION_LEGEND) } else { String::new() };
        let _ = write!(text, "\n{}{direction}\n", marks::LEGEND);
    }
    let mut old: Vec<&UndocumentedPage> =
        undocumented.iter().filter(|page| documents.iter().all(|d| d.name != page.name)).collect();
    old.sort_by_key(|page| order(&page.name));
    if !old.is_empty() {
        text.push_str(
            "\n## To be run again\n\nThese pages were measured before there were documents (`data/undocumented.toml`). They stand as \
             they were made.\n\n",
        );
    }
    for page in old {
        let verdict = page.verdict.as_ref().map(|verdict| format!("**{verdict}**"));
        let line = line(&page.title, &page.name, verdict);
        let _ = writeln!(text, "{}; again: `{}`", line.trim_end(), page.run_again);
    }
    text
}

/// The marks of a document's claim, in brackets; nothing of others.
fn marks_of(document: &StudyDocument, direction_only: bool) -> String {
    let marks = document.claim().map_or(Vec::new(), |id| marks::of(id, direction_only));
    let words: Vec<String> = marks.iter().map(ToString::to_string).collect();
    if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) }
}

fn line(title: &str, name: &str, verdict: Option<String>) -> String {
    let verdict = verdict.map_or(String::new(), |verdict| format!(" \u{2014} {verdict}"));
    format!("- [{title}]({name}.md){verdict}\n")
}

/// o2 before o14: by the number in the name.
fn order(name: &str) -> (String, Option<u64>, String) {
    let number = name.chars().filter(char::is_ascii_digit).collect::<String>().parse::<u64>().ok();
    (name.chars().take_while(char::is_ascii_alphabetic).collect(), number, name.to_owned())
}

/// Pages that neither have a document nor are listed as having none, and pages that are listed and missing.
///
/// # Errors
/// [`Failure::Input`] if the folder cannot be read.
pub fn strays(pages: &Path, documents: &[StudyDocument], listed: &[UndocumentedPage]) -> Result<Vec<String>, Failure> {
    let unread = |e: std::io::Error| Failure::Input(format!("{} cannot be read: {e}", pages.display()));
    let mut found = Vec::new();
    for entry in std::fs::read_dir(pages).map_err(unread)? {
        let name = entry.map_err(unread)?.file_name().to_string_lossy().into_owned();
        found.extend(name.strip_suffix(".md").filter(|_| name != INDEX).map(str::to_owned));
    }
    let known = |name: &str| documents.iter().any(|d| d.name == name) || listed.iter().any(|page| page.name == name);
    let unknown = found.iter().filter(|name| !known(name)).map(|name| format!("{name}.md is not listed"));
    let missing =
        listed.iter().filter(|page| !found.contains(&page.name)).map(|page| format!("{}.md is missing", page.name));
    Ok(unknown.chain(missing).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_without_documents_have_lines_of_their_own() {
        let page = |name: &str, verdict: Option<&str>| UndocumentedPage {
            name: name.into(),
            title: name.to_uppercase(),
            verdict: verdict.map(String::from),
            run_again: "x".into(),
        };
        let text = super::page(&[], &[page("o14", Some("not shown: y")), page("lab", None), page("o2", Some("shown"))]);
        let lines: Vec<&str> = text.lines().filter(|l| l.starts_with("- ")).collect();
        assert_eq!(
            lines,
            [
                "- [LAB](lab.md); again: `x`",
                "- [O2](o2.md) \u{2014} **shown**; again: `x`",
                "- [O14](o14.md) \u{2014} **not shown: y**; again: `x`"
            ]
        );
    }
}

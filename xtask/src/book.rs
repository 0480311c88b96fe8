//! The book, built with mdbook, and its links.
//!
//! mdbook is one of [`crate::tools`]: half a minute on two cores. It refuses by itself a chapter of SUMMARY.md that has no file
//! (`create-missing` in book.toml), but not a dead link; these are looked for in the pages that it wrote.
//! optiq-cli/tests/book.rs runs the commands of the book.

use crate::failure::{Failure, Outcome};
use crate::process::{self, Project};
use crate::tools::Tool;
use std::collections::{BTreeMap, HashSet};
use std::fs;
use std::path::Path;

/// 0.5 and later, whose book.toml this is. Without its server, its watcher and its search.
const MDBOOK: Tool = Tool {
    package: "mdbook",
    program: "mdbook",
    version: "0.5.4",
    options: &["--no-default-features"],
    suits: |version| minor(version) >= Some(5),
    instead: "mdbook 0.5 or later",
};
/// The page for a server's answer "not found": its links count from the server's root.
const NOT_FOUND: &str = "404.html";

/// Builds the pages into `book` below the target directory. A missing chapter and a dead link are failures.
pub fn build(project: &Project) -> Outcome {
    let mdbook = MDBOOK.get(project, &[])?;
    let pages = project.target().join("book");
    // mdbook empties the directory first, so that pages of former chapters do not hide dead links.
    process::run(project.command(mdbook).args(["build", "docs/book", "--dest-dir"]).arg(&pages))?;
    match dead_links(&read(&pages)?, |file| pages.join(file).is_file()).as_slice() {
        [] => Ok(()),
        dead => Err(Failure::Failed(format!("the book has dead links: {}", dead.join("; ")))),
    }
}

/// The N of `mdbook v0.N.M`.
fn minor(version: &str) -> Option<u32> {
    version.trim().strip_prefix("mdbook v0.")?.split('.').next()?.parse().ok()
}

/// The pages by their names; the book has no folders.
fn read(folder: &Path) -> Outcome<BTreeMap<String, String>> {
    let unreadable = |e: std::io::Error| Failure::Failed(format!("{} cannot be read: {e}", folder.display()));
    let mut pages = BTreeMap::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".html") && name != NOT_FOUND {
            pages.insert(name, fs::read_to_string(entry.path()).map_err(unreadable)?);
        }
    }
    Ok(pages)
}

/// A sentence for each link that leads to no file, or to no heading of a page. Links out of the book are not followed.
fn dead_links(pages: &BTreeMap<String, String>, is_file: impl Fn(&str) -> bool) -> Vec<String> {
    let headings: BTreeMap<&str, HashSet<&str>> =
        pages.iter().map(|(name, text)| (name.as_str(), values(text, " id=\"").collect())).collect();
    let mut dead = Vec::new();
    for (name, text) in pages {
        for link in values(text, " href=\"").chain(values(text, " src=\"")) {
            let is_local = !link.contains("://") && !link.starts_with("data:") && !link.starts_with("mailto:");
            let (file, heading) = link.split_once('#').unwrap_or((link, ""));
            let file = if file.is_empty() { name } else { file };
            let is_alive = match headings.get(file) {
                Some(of_page) => heading.is_empty() || of_page.contains(heading),
                None => is_file(file),
            };
            if is_local && !is_alive {
                dead.push(format!("{name} has {link}"));
            }
        }
    }
    dead
}

/// The values of an attribute, which is given with its blank, equals sign and quote.
fn values<'a>(page: &'a str, attribute: &'a str) -> impl Iterator<Item = &'a str> {
    page.split(attribute).skip(1).filter_map(|rest| rest.split('"').next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told() {
        assert_eq!(minor("mdbook v0.5.4\n"), Some(5));
        assert!((MDBOOK.suits)(&format!("mdbook v{}", MDBOOK.version)));
        assert!(!(MDBOOK.suits)("mdbook v0.4.52") && !(MDBOOK.suits)("mdbook 1"));
    }

    #[test]
    fn dead_links_are_found() {
        let page = |links: &str| format!("<h1 id=\"top\">A</h1>{links}");
        let links = "<a href=\"b.html\"> <a href=\"b.html#top\"> <a href=\"#top\"> <img src=\"p.png\"> \
                     <a href=\"https://host/x.html#y\">";
        let mut pages = BTreeMap::from([("a.html".to_string(), page(links)), ("b.html".to_string(), page(""))]);
        assert_eq!(dead_links(&pages, |file| file == "p.png"), Vec::<String>::new());
        pages.insert(
            "c.html".into(),
            page("<a href=\"d.html\"> <a href=\"b.html#no\"> <a href=\"#no\"> <img src=\"q.png\">"),
        );
        let dead = ["c.html has d.html", "c.html has b.html#no", "c.html has #no", "c.html has q.png"];
        assert_eq!(dead_links(&pages, |file| file == "p.png"), dead);
    }
}

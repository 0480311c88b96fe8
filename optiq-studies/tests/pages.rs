//! The pages in docs/results are those of their documents; the others are listed.

#![allow(clippy::unwrap_used, reason = "tests")]

use optiq_studies::document::{self, DATA, StudyDocument};
use optiq_studies::index;
use std::fs;
use std::path::{Path, PathBuf};

fn pages() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("docs/results")
}

#[test]
fn pages_are_those_of_their_documents() {
    let documents = document::read_all(&pages()).unwrap();
    assert!(!documents.is_empty());
    for document in documents {
        for file in document.files().unwrap() {
            let found = fs::read_to_string(pages().join(&file.path)).unwrap();
            assert!(found == file.text, "{}: run `cargo run -p optiq-studies -- pages`", file.path.display());
        }
    }
}

#[test]
fn the_index_is_made_of_documents_and_of_the_list_of_pages_without() {
    let documents = document::read_all(&pages()).unwrap();
    let listed = index::undocumented().unwrap();
    let found = fs::read_to_string(pages().join(index::INDEX)).unwrap();
    assert!(found == index::page(&documents, &listed), "run `cargo run -p optiq-studies -- pages`");
    assert_eq!(index::strays(&pages(), &documents, &listed).unwrap(), Vec::<String>::new());
    for page in &listed {
        assert!(
            documents.iter().all(|d| d.name != page.name),
            "{} has a document and is listed as having none",
            page.name
        );
    }
}

#[test]
fn documents_are_of_commits_without_changes() {
    for document in document::read_all(&pages()).unwrap() {
        let is_of_a_commit = document.circumstances.checkout.is_some_and(|checkout| checkout.tree_clean);
        assert!(is_of_a_commit, "{}: run `{}` from a clean tree", document.name, document.command);
    }
}

#[test]
fn documents_of_another_form_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let pages = pages().join(DATA);
    let text = fs::read_to_string(pages.join("o1.json")).unwrap();
    let read = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).unwrap();
        StudyDocument::read(&path)
    };
    assert!(read("o1.json", &text).is_ok());
    for (name, text, says) in [
        ("o2.json", text.clone(), "name is \"o1\", and that of the file is expected"),
        (
            "o1.json",
            text.replace("\"schema\": 1", "\"schema\": 7"),
            "schema is 7, and 1 is expected; run the study again",
        ),
        ("o1.json", text.replace("\"study\": \"claim\"", "\"study\": \"claims\""), "unknown variant `claims`"),
        ("o1.json", "{".into(), "EOF while parsing"),
    ] {
        let error = read(name, &text).unwrap_err().to_string();
        assert!(error.contains(says) && error.contains(name), "{error}");
    }
}

//! The pages in docs/results are those of their documents; the others are listed.

#![allow(clippy::unwrap_used, reason = "tests")]

use optiq_studies::document::{self, DATA, StudyContent, StudyDocument};
use optiq_studies::index;
use optiq_studies::studies::executor::ExecutorConstants;
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

/// The constants that the executor study fits are those of the program.
#[test]
fn the_program_has_the_constants_of_the_training_cases() {
    let document = StudyDocument::read(&pages().join(DATA).join("executor.json")).unwrap();
    let StudyContent::Executor(content) = document.content else { panic!("executor.json is of another study") };
    let fitted = content.fitted().expect("the training cases are in the document");
    let used = ExecutorConstants::of_this_program();
    assert!(fitted.agrees_with(&used), "the training cases give {fitted:?}, the program has {used:?}");
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

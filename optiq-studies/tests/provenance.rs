//! A study is run from a clean tree alone, since its page names the commit.

#![allow(clippy::unwrap_used, reason = "tests")]

use optiq_studies::document::{self, StudyDocument};
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

/// A checkout of one commit, with folders that the program looks for.
fn checkout() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir_all(folder.path().join("docs/results")).unwrap();
    fs::create_dir(folder.path().join("optiq-studies")).unwrap();
    fs::write(folder.path().join("Cargo.toml"), "").unwrap();
    for arguments in [
        &["init", "--quiet"][..],
        &["add", "."],
        &["-c", "user.name=test", "-c", "user.email=test@example.org", "commit", "--quiet", "--message", "first"],
    ] {
        let done = Command::new("git").args(arguments).current_dir(&folder).status().unwrap();
        assert!(done.success(), "git {arguments:?}");
    }
    folder
}

/// A study of some seconds, as if the program had been built from that checkout.
fn table_vii(root: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_optiq-studies"))
        .args(["results", "--only", "table-vii", "--output", "pages"])
        .env("CARGO_MANIFEST_DIR", root.join("optiq-studies"))
        .env_remove("CARGO_TARGET_DIR")
        .current_dir(root)
        .output()
        .unwrap()
}

#[test]
fn a_study_is_refused_where_files_differ_from_the_commit() {
    let checkout = checkout();
    for (file, text) in [("Cargo.toml", "[workspace]"), ("new.rs", "")] {
        let path = checkout.path().join(file);
        let before = fs::read(&path).ok();
        fs::write(&path, text).unwrap();
        let run = table_vii(checkout.path());
        let said = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), Some(2), "{said}");
        assert!(said.starts_with("optiq-studies: the checkout differs from its commit (git status: \""), "{said}");
        assert!(said.contains(file) && said.lines().count() == 1, "{said}");
        assert!(!checkout.path().join("pages").exists());
        match before {
            Some(text) => fs::write(&path, text).unwrap(),
            None => fs::remove_file(&path).unwrap(),
        }
    }
}

#[test]
fn what_a_run_writes_is_no_change() {
    let checkout = checkout();
    fs::write(checkout.path().join("docs/results/o1.md"), "from a run before").unwrap();
    let run = table_vii(checkout.path());
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let document = StudyDocument::read(&checkout.path().join("pages").join(document::DATA).join("table-vii.json"));
    assert!(document.unwrap().circumstances.checkout.unwrap().tree_clean);
}

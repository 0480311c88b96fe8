//! `optiq generate`: the files are there, and those that read them have nothing to say against them.

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod support;

use serde_json::Value;
use std::process::{Command, Stdio};
use support::Folder;

fn files(folder: &Folder, line: &str) -> Vec<String> {
    let document: Value = serde_json::from_str(&folder.succeed(&format!("{line} --json"))).unwrap();
    document["files"].as_array().unwrap().iter().map(|f| f.as_str().unwrap().to_string()).collect()
}

/// What a program says to a file on standard error; none if the program is not there.
fn said(program: &str, arguments: &[&str], folder: &Folder, file: &str) -> Option<String> {
    let output = Command::new(program).args(arguments).arg(folder.path(file)).stdin(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn pages_are_roff_without_warnings() {
    let folder = Folder::new("pages");
    let pages = files(&folder, "generate man --output .");
    for page in [
        "man1/optiq.1",
        "man1/optiq-lab-up.1",
        "man3/optiq_alltoallv.3",
        "man3/optiq_init.3",
        "man5/optiq.conf.5",
        "man7/optiq-topology.7",
    ] {
        assert!(pages.iter().any(|p| p == page), "{page} is not among {pages:?}");
    }
    for page in &pages {
        let text = String::from_utf8(folder.read(page)).unwrap();
        match text.strip_prefix(".so ") {
            Some(other) => assert!(pages.iter().any(|p| p == other.trim()), "{page} refers to {other}"),
            None => assert!(text.contains(".SH NAME") || text.contains(".SH \"NAME\""), "{page}: {text}"),
        }
        if text.starts_with(".so") {
            continue;
        }
        match said("groff", &["-man", "-Tutf8", "-ww", "-z"], &folder, page) {
            None => println!("skipped: there is no groff"),
            Some(warnings) => assert!(warnings.is_empty(), "{page}: {warnings}"),
        }
    }
}

#[test]
fn completions_parse() {
    let folder = Folder::new("completions");
    assert_eq!(files(&folder, "generate completions --output c"), ["optiq.bash", "_optiq", "optiq.fish"]);
    for (shell, file) in [("bash", "c/optiq.bash"), ("zsh", "c/_optiq"), ("fish", "c/optiq.fish")] {
        let text = String::from_utf8(folder.read(file)).unwrap();
        assert!(text.contains("topology") && text.contains("slack"), "{file} knows too little");
        match said(shell, &["-n"], &folder, file) {
            None => println!("skipped: there is no {shell}"),
            Some(errors) => assert!(errors.is_empty(), "{file}: {errors}"),
        }
    }
}

#[test]
fn a_place_that_cannot_be_written_to_is_named() {
    let folder = Folder::new("place");
    folder.write("file", "");
    let output = folder.run("generate conf --output file/below");
    let error = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2));
    assert!(error.starts_with("optiq: cannot make file/below: ") && error.trim_end().lines().count() == 1, "{error}");
    assert!(folder.succeed("generate conf --output .").ends_with("optiq.conf\n"));
    // Files that are there are replaced.
    folder.succeed("generate conf --output .");
}

//! The book in docs/book: its commands run, and print what it says that they print.
//!
//! In a block that starts with ```` ```console ````, a line `$ command` is run by the shell in the chapter's own directory and
//! must succeed; the lines that follow must be among what it prints on standard output, in this order and next to each other,
//! where `...` on a line of its own stands for any lines, and `...` within a line for any text. Blocks marked `mpi` need a build
//! with MPI, and `lab` a machine that permits a lab as well. A block marked `file=NAME` is written to that file. One marked
//! `from=PATH` must stand in that file of the checkout, line by line.
//!
//! Blocks of commands without prompts, `sh` and `bash`, here and in the README, are run by `cargo xtask test` with an installed
//! tree, or not at all. The comment on the line before says which (xtask/src/readers/).

#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

#[allow(dead_code, reason = "commands are run by a shell here")]
mod support;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use support::Folder;

/// Far above what a command takes, in seconds.
const TIMEOUT: &str = "150";

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/book/src")
}

/// A block of a chapter: the line before it, the words after the backticks, and its lines.
struct Block<'a> {
    before: &'a str,
    line: usize,
    words: Vec<&'a str>,
    text: Vec<&'a str>,
}

fn blocks(chapter: &str) -> Vec<Block<'_>> {
    let (mut blocks, mut open): (Vec<Block>, Option<Block>) = (Vec::new(), None);
    let mut before = "";
    for (index, line) in chapter.lines().enumerate() {
        match (line.strip_prefix("```"), open.take()) {
            (Some(_), Some(block)) => blocks.push(block),
            (Some(words), None) => {
                open = Some(Block { before, line: index + 1, words: words.split(',').collect(), text: Vec::new() });
            }
            (None, Some(mut block)) => {
                block.text.push(line);
                open = Some(block);
            }
            (None, None) => {}
        }
        before = line;
    }
    assert!(open.is_none(), "a block is not closed");
    blocks
}

/// A directory with `mpirun` as Open MPI's, whichever the system has in front, for the path.
fn launcher(folder: &Folder) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = |name: &str| std::env::split_paths(&path).map(|d| d.join(name)).find(|f| f.is_file());
    let folder = folder.path(".launcher");
    fs::create_dir_all(&folder).ok()?;
    std::os::unix::fs::symlink(found("mpirun.openmpi").or_else(|| found("mpirun"))?, folder.join("mpirun")).ok()?;
    Some(folder)
}

fn run(folder: &Folder, command: &str) -> Output {
    let binaries = Path::new(env!("CARGO_BIN_EXE_optiq")).parent().unwrap();
    let path = format!(
        "{}:{}:{}",
        binaries.display(),
        folder.path(".launcher").display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let mut shell = Command::new("timeout");
    shell.args([TIMEOUT, "sh", "-c", command]).env("PATH", path).current_dir(folder.path("."));
    for (name, _) in std::env::vars().filter(|(n, _)| n.starts_with("OPTIQ_")) {
        shell.env_remove(name);
    }
    // No file of options of this machine, and a lab of its own; ranks as a test machine needs them.
    shell.env("HOME", folder.path(".")).env_remove("XDG_CONFIG_HOME").env("XDG_RUNTIME_DIR", folder.path("."));
    shell.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
    shell.env("OMPI_MCA_rmaps_base_oversubscribe", "1").env("OMPI_MCA_btl_vader_single_copy_mechanism", "none");
    shell.env("OMPI_MCA_mpi_yield_when_idle", "1").stdin(Stdio::null()).output().unwrap()
}

/// Whether a line is what the book says, in which `...` is any text.
fn fits(said: &str, line: &str) -> bool {
    let (said, line) = (said.trim_end(), line.trim_end());
    let mut pieces = said.split("...");
    let first = pieces.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    let pieces: Vec<&str> = pieces.collect();
    let Some((last, between)) = pieces.split_last() else { return rest.is_empty() };
    for piece in between {
        match rest.find(piece) {
            Some(at) => rest = &rest[at + piece.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Whether the output is what the book says; both in lines.
fn shown(said: &[&str], output: &[&str]) -> bool {
    match said.split_first() {
        None => output.is_empty(),
        Some((&"...", rest)) => (0..=output.len()).any(|skipped| shown(rest, &output[skipped..])),
        Some((line, rest)) => output.first().is_some_and(|l| fits(line, l)) && shown(rest, &output[1..]),
    }
}

/// Runs the commands of a block, and gives how many.
fn check(folder: &Folder, place: &str, block: &Block) -> usize {
    let mut commands: Vec<(&str, Vec<&str>)> = Vec::new();
    for line in &block.text {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(command), _) => commands.push((command, Vec::new())),
            (None, Some((_, said))) => said.push(line),
            (None, None) => panic!("{place}: the block does not start with a command"),
        }
    }
    for (command, said) in &commands {
        let output = run(folder, command);
        let text = String::from_utf8_lossy(&output.stdout);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{place}: {command}: {} {text}{error}", output.status);
        let lines: Vec<&str> = text.lines().collect();
        assert!(shown(said, &lines), "{place}: {command} printed\n{text}\nand the book has\n{}", said.join("\n"));
    }
    commands.len()
}

/// Whether a lab can be had here.
fn lab(folder: &Folder) -> bool {
    let up = run(folder, "optiq lab up --topology star:2 --name probe --lifetime 60 --no-calibration");
    up.status.success() && run(folder, "optiq lab down --name probe").status.success()
}

#[test]
fn the_commands_of_the_book_run() {
    let mut ran = 0;
    for entry in fs::read_dir(source()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let chapter = fs::read_to_string(&path).unwrap();
        let folder = Folder::new(&format!("book-{name}"));
        let has_mpi = cfg!(feature = "mpi") && launcher(&folder).is_some();
        for block in blocks(&chapter) {
            let place = format!("{name}, line {}", block.line);
            if let Some(file) = block.words.iter().find_map(|w| w.strip_prefix("file=")) {
                folder.write(file, block.text.join("\n") + "\n");
            }
            if let Some(file) = block.words.iter().find_map(|w| w.strip_prefix("from=")) {
                let original = fs::read_to_string(source().join("../../..").join(file)).unwrap();
                let original: Vec<&str> = original.lines().collect();
                let stands = original.windows(block.text.len()).any(|lines| lines == block.text);
                assert!(stands, "{place}: the block is not in {file}");
            }
            if block.words[0] != "console" {
                continue;
            }
            let needs = |word: &str| block.words.contains(&word);
            if (needs("mpi") || needs("lab")) && !has_mpi {
                println!("skipped: {place} needs a build with MPI");
            } else if needs("lab") && !lab(&folder) {
                println!("skipped: {place} needs a lab");
            } else {
                ran += check(&folder, &place, &block);
            }
        }
    }
    assert!(ran >= 12, "only {ran} commands were found in the book");
}

/// The files that a sentence names.
fn named_files(sentence: &str) -> impl Iterator<Item = &str> {
    let words = sentence.split_whitespace().map(|w| w.trim_matches(|c: char| !c.is_alphanumeric()));
    words.filter(|w| w.contains('/') && (w.ends_with(".rs") || w.ends_with(".md")))
}

#[test]
fn every_block_of_commands_is_run_or_says_why_not() {
    let root = source().join("../../..");
    let chapters = fs::read_dir(source()).unwrap().map(|entry| entry.unwrap().path());
    for path in chapters.chain([root.join("README.md")]) {
        let is_readme = path.ends_with("README.md");
        for block in blocks(&fs::read_to_string(&path).unwrap()) {
            let place = format!("{}, line {}", path.display(), block.line);
            let has_prompts = block.text.iter().any(|line| line.starts_with("$ "));
            match block.words[0] {
                // Run by the test above.
                "console" => assert!(!is_readme, "{place}: the README has no blocks with prompts"),
                "sh" | "bash" => {
                    let comment = block.before.strip_prefix("<!-- ").and_then(|rest| rest.strip_suffix(" -->"));
                    let run = comment.is_some_and(|c| c.starts_with("run as: "));
                    let reason = comment.and_then(|c| c.strip_prefix("not run: "));
                    assert!(
                        (run || reason.is_some()) && !has_prompts,
                        "{place}: the line before is \"{}\"; it says who runs the block, or why it is not run, and a block with \
                         prompts is of the kind console",
                        block.before
                    );
                    for file in named_files(reason.unwrap_or_default()) {
                        assert!(root.join(file).is_file(), "{place}: there is no {file}");
                    }
                }
                kind => assert!(!has_prompts && !kind.is_empty(), "{place}: a block of the kind \"{kind}\""),
            }
        }
    }
}

#[test]
fn every_chapter_is_in_the_summary_and_every_link_leads_somewhere() {
    let summary = fs::read_to_string(source().join("SUMMARY.md")).unwrap();
    for entry in fs::read_dir(source()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(name == "SUMMARY.md" || summary.contains(&format!("({name})")), "{name} is not in SUMMARY.md");
        for link in fs::read_to_string(&path).unwrap().split("](").skip(1) {
            let target = link.split([')', '#']).next().unwrap();
            let there = target.is_empty() || target.contains("://") || source().join(target).exists();
            assert!(there, "{name} has a link to {target}");
        }
    }
}

#[test]
fn what_the_book_shows_is_compared() {
    assert!(fits("a ... c ...", "a b c d") && fits("a", "a  ") && !fits("a", "ab") && !fits("a ... d", "a b c"));
    assert!(shown(&["a", "...", "c"], &["a", "b", "b", "c"]) && shown(&[], &[]) && shown(&["..."], &[]));
    assert!(!shown(&["a", "c"], &["a", "b", "c"]) && !shown(&["a"], &["a", "b"]) && !shown(&["...", "d"], &["a"]));
}

//! Inputs that fuzzing found, and the seeds that it started from: every target takes all of its own, and all of the others'.
//!
//! `fuzz/corpus/TARGET/` holds them; docs/fuzzing.md says how long each target was run.

#[path = "../fuzz/src/lib.rs"]
#[allow(dead_code, reason = "targets use some functions, this test others")]
mod targets;

use std::path::{Path, PathBuf};

fn corpus() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus")
}

fn inputs(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries.map(|e| e.expect("a readable folder").path()).collect();
    paths.sort();
    paths.into_iter().map(|path| (path.clone(), std::fs::read(&path).expect("a readable file"))).collect()
}

#[test]
fn every_target_returns_for_every_input() {
    let mut count = 0;
    for (name, target) in targets::TARGETS {
        let own = inputs(&corpus().join(name));
        assert!(own.len() >= 3, "fuzz/corpus/{name} has {} inputs; at least three seeds are expected", own.len());
        for (path, data) in own {
            let run = std::panic::catch_unwind(|| target(&data));
            assert!(run.is_ok(), "target {name} panics on {}", path.display());
            count += 1;
        }
    }
    assert!(count >= 3 * targets::TARGETS.len());
}

#[test]
fn every_folder_of_the_corpus_has_a_target() {
    for entry in std::fs::read_dir(corpus()).expect("the corpus") {
        let name = entry.expect("a readable folder").file_name();
        assert!(targets::TARGETS.iter().any(|(target, _)| name == *target), "no target reads {name:?}");
        let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/fuzz_targets").join(&name).with_extension("rs");
        assert!(program.is_file(), "{} is missing", program.display());
    }
}

/// A seed of an older version is refused at its first bytes, and fuzzing would start from nothing. After a change of the format:
/// `OPTIQ_BLESS=1 cargo test --release --workspace --features mpi --test corpora`.
#[test]
fn the_seeds_of_checkpoints_are_of_this_version() {
    let whole = targets::a_checkpoint();
    let cut = whole[..whole.len() / 2].to_vec();
    let mut damaged = whole.clone();
    let at = damaged.len() - 9;
    damaged[at] ^= 1;
    for (name, seed) in [("seed-whole", whole), ("seed-cut", cut), ("seed-damaged", damaged)] {
        let path = corpus().join("checkpoint").join(name);
        if std::env::var_os("OPTIQ_BLESS").is_some() {
            std::fs::write(&path, &seed).expect("a writable corpus");
        }
        assert!(
            std::fs::read(&path).expect("a readable seed") == seed,
            "{} is not what is written now",
            path.display()
        );
    }
}

//! Postcards of real runs under `mpirun`: every marked chunk takes the path of the plan, as the trace of the same run has it; both ends
//! name the line of the program; clocks that differ are found; what is missing is said.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![cfg(feature = "mpi")]

mod common;

use optiq_trace::Run;
use optiq_trace::postcards::{
    CallSites, Clocks, Collection, ComponentKind, GapPlace, Gathered, Joined, Path as ChunkPath, Postcard,
    RankPostcards, decode_rank, join,
};
use optiq_trace::profile::job::JobProfile;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;
use tempfile::TempDir;

const EVERY: u64 = 4;
const CALLS: u64 = 3;

fn program() -> &'static Path {
    static PROGRAM: OnceLock<std::path::PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("postcards-program");
        common::compile_c("tests/c/postcards.c", &program);
        program
    })
}

/// Four ranks at the corners of a square, over planned paths with relays; the folder with traces and postcards, and the line.
fn run(arguments: &[&str], more: &[(&str, &str)]) -> (TempDir, u32) {
    let (folder, run) = started(arguments, more);
    assert!(run.success && run.output.contains("all is well"), "{}", run.output);
    let line = run.output.lines().find_map(|l| l.strip_prefix("line ")).unwrap().parse().unwrap();
    (folder, line)
}

/// The folder, and how the run ended.
fn started(arguments: &[&str], more: &[(&str, &str)]) -> (TempDir, common::Run) {
    let folder = TempDir::new().unwrap();
    let (trace, cards) = (folder.path().join("trace"), folder.path().join("cards"));
    let every = EVERY.to_string();
    let environment = [
        &[
            ("OPTIQ_TOPOLOGY", "torus:2x2"),
            ("OPTIQ_PLACEMENT", "rank"),
            ("OPTIQ_ALGORITHM", "multipath"),
            ("OPTIQ_PLANNER", "heu2"),
            ("OPTIQ_CHUNK", "16KiB"),
            ("OPTIQ_TRACE", trace.to_str().unwrap()),
            ("OPTIQ_POSTCARDS", cards.to_str().unwrap()),
            ("OPTIQ_POSTCARDS_EVERY", every.as_str()),
        ],
        more,
    ]
    .concat();
    let run = common::mpirun(4, program(), arguments, &environment);
    (folder, run)
}

fn files(folder: &TempDir) -> Vec<RankPostcards> {
    let mut paths: Vec<_> =
        std::fs::read_dir(folder.path().join("cards")).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths.iter().map(|path| decode_rank(path, &std::fs::read(path).unwrap()).unwrap()).collect()
}

fn joined(gathered: Gathered) -> (Collection, Clocks, Joined) {
    let sites = CallSites::of(gathered.call_stacks());
    assert!(sites.notes.is_empty(), "{:?}", sites.notes);
    let collection = gathered.collection(|stack| sites.line(stack));
    collection.check().unwrap();
    let clocks = Clocks::estimate(&collection);
    let joined = join(&collection, &clocks);
    (collection, clocks, joined)
}

/// Ranks have their components in order, if all are there.
fn chain(way: &ChunkPath) -> Vec<u32> {
    way.hops.iter().map(|hop| hop.component.0).collect()
}

fn chains(joined: &Joined) -> Vec<Vec<u32>> {
    let mut all: Vec<_> = joined.paths.iter().map(chain).collect();
    all.sort();
    all
}

#[test]
fn every_marked_chunk_takes_the_path_of_the_plan_and_names_its_line() {
    for transport in ["two-sided", "one-sided"] {
        let (folder, line) = run(&[], &[("OPTIQ_TRANSPORT", transport)]);
        // By ranks: how many chunks the trace has, in all exchanges.
        let mut traced: BTreeMap<Vec<u32>, u64> = BTreeMap::new();
        let trace = Run::load(&folder.path().join("trace")).unwrap().remove(0);
        for journey in trace.journeys(None).values() {
            *traced.entry(journey.steps.iter().map(|step| step.rank.0).collect()).or_default() += 1;
        }
        assert!(traced.keys().any(|ranks| ranks.len() > 2), "no relay: {traced:?}");
        let gathered = Gathered::read(&[folder.path().join("cards")]).unwrap();
        assert!(gathered.notes.is_empty(), "{:?}", gathered.notes);
        let (collection, _, joined) = joined(gathered);
        assert_eq!((collection.components.len(), collection.overwritten(), joined.unused), (4, 0, 0));
        assert!(collection.components.iter().all(|log| log.kind == ComponentKind::Rank { tap: None }));
        let broken: Vec<_> = joined.paths.iter().filter(|way| !way.is_intact()).collect();
        assert!(broken.is_empty(), "{transport}: {broken:?}");
        let mut marked: BTreeMap<Vec<u32>, u64> = BTreeMap::new();
        joined.paths.iter().for_each(|way| *marked.entry(chain(way)).or_default() += 1);
        assert!(marked.keys().all(|ranks| traced.contains_key(ranks)), "{marked:?}, but the trace has {traced:?}");
        for (ranks, chunks) in &traced {
            // One in EVERY of each path and exchange, rounded up or down; several paths may pass the same ranks.
            let (found, expected) = (marked.get(ranks).copied().unwrap_or(0), chunks / EVERY);
            assert!(found.abs_diff(expected) <= 2 * CALLS, "{ranks:?}: {found} marked of {chunks} chunks");
        }
        for way in &joined.paths {
            for end in [way.issued.unwrap(), way.received.unwrap()] {
                let context = &collection.contexts[end.context as usize];
                assert!(context.file.ends_with("tests/c/postcards.c"), "{context:?}");
                assert_eq!((context.line, context.function.as_str()), (line, "move_blocks"));
            }
            assert!(way.hops.iter().all(|hop| hop.left_ns >= hop.arrived_ns));
        }
    }
}

#[test]
fn an_unchanged_program_names_its_line_as_well() {
    let library = common::preload_library();
    let (folder, line) = run(&["mpi"], &[("LD_PRELOAD", &library)]);
    let (collection, _, joined) = joined(Gathered::read(&[folder.path().join("cards")]).unwrap());
    assert!(!joined.paths.is_empty() && joined.paths.iter().all(ChunkPath::is_intact));
    let context = &collection.contexts[joined.paths[0].issued.unwrap().context as usize];
    assert!(context.file.ends_with("tests/c/postcards.c") && context.function == "move_blocks_by_mpi", "{context:?}");
    assert_eq!(context.line, line);
}

/// Moves all times of a rank.
fn shift(file: &mut RankPostcards, by: u64) {
    for postcard in &mut file.postcards {
        match postcard {
            Postcard::Issued { at, .. } | Postcard::Received { at, .. } => *at += by,
            Postcard::Injected { seen, left, last_left, .. } => {
                [seen, left, last_left].into_iter().for_each(|t| *t += by)
            }
            Postcard::Forwarded { arrived, left, .. } => [arrived, left].into_iter().for_each(|t| *t += by),
            Postcard::Arrived { arrived, complete, .. } => [arrived, complete].into_iter().for_each(|t| *t += by),
        }
    }
}

#[test]
fn clocks_that_differ_are_found_and_what_is_missing_is_said() {
    const MS: u64 = 1_000_000;
    let (folder, _) = run(&[], &[]);
    let (_, clocks, whole) = joined(Gathered::of_ranks(files(&folder)).unwrap());
    // Each rank's clock another millisecond ahead, and rank 2's by far more.
    let ahead = |rank: usize| if rank == 2 { 5000 * MS } else { rank as u64 * MS };
    let mut skewed = files(&folder);
    skewed.iter_mut().enumerate().for_each(|(rank, file)| shift(file, ahead(rank)));
    let (_, found, again) = joined(Gathered::of_ranks(skewed).unwrap());
    assert!(again.paths.iter().all(ChunkPath::is_intact));
    assert_eq!(chains(&again), chains(&whole));
    let offset = |clocks: &Clocks, rank: usize| clocks.estimates[rank].unwrap().offset_ns;
    for rank in 1..4 {
        let (before, after) = (offset(&clocks, rank) - offset(&clocks, 0), offset(&found, rank) - offset(&found, 0));
        assert!((after - before - ahead(rank) as f64).abs() < 16.0, "rank {rank}: {before} became {after}");
    }
    // Rank 1 has died before its file was made, and rank 3 while it wrote.
    let cards = folder.path().join("cards");
    let all = files(&folder);
    std::fs::remove_file(&all[1].path).unwrap();
    let bytes = std::fs::read(&all[3].path).unwrap();
    std::fs::write(&all[3].path, &bytes[..bytes.len() - 50]).unwrap();
    let gathered = Gathered::read(&[cards]).unwrap();
    let notes = gathered.notes.join("\n");
    assert!(notes.contains("no file of 1 of 4 ranks: 1"), "{notes}");
    assert!(notes.contains("rank 3 has died or is running; what it wrote is joined"), "{notes}");
    let (collection, _, rest) = joined(gathered);
    let missing = rest.paths.iter().flat_map(|way| &way.gaps).filter(|gap| collection.name(gap.first) == "rank 1");
    assert!(missing.clone().count() > 0 && missing.clone().all(|gap| gap.place != GapPlace::Beginning));
    let intact = rest.paths.iter().filter(|way| way.is_intact()).count();
    let without = whole.paths.iter().filter(|way| !chain(way).contains(&1)).count();
    assert!(intact > 0 && intact <= without, "{intact} of {without}");
}

/// Rank 2 is killed before the last of three calls, with postcards and a profile: what all have written before is joined, and the rest is said.
#[test]
fn a_rank_that_is_killed_leaves_what_it_wrote() {
    let library = common::preload_library();
    let profile = TempDir::new().unwrap();
    let more = [("LD_PRELOAD", library.as_str()), ("OPTIQ_PROFILE", profile.path().to_str().unwrap())];
    let (folder, run) = started(&["mpi", "killed"], &more);
    assert!(!run.success, "{}", run.output);
    let gathered = Gathered::read(&[folder.path().join("cards")]).unwrap();
    let notes = gathered.notes.join("\n");
    assert!(notes.contains("rank 2 has died or is running; what it wrote is joined"), "{notes}");
    let (_, _, joined) = joined(gathered);
    // Those of two calls of three at least, through relays as well.
    let intact: Vec<_> = joined.paths.iter().filter(|way| way.is_intact()).map(chain).collect();
    assert!(intact.iter().any(|ranks| ranks.len() > 2), "{intact:?}");
    let JobProfile { missing, files, .. } = JobProfile::load(profile.path()).unwrap();
    assert!(missing == [2] && files.len() == 3 && files.iter().all(|f| !f.complete), "{missing:?}");
    let sent: u64 = files.iter().flat_map(|f| &f.regions).flat_map(|r| &r.sent).map(|row| row.2).sum();
    // Of each of two calls 900,000 and 300,000 bytes, by one leg at least; only rank 2's legs are missing.
    assert!(sent >= 2 * 600_000, "{sent}");
}

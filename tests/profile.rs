//! The profiler of the preload library under Open MPI: its counts are those of Open MPI's own monitoring file, byte for byte, and
//! those of a count by hand; regions sum to the whole; what goes wrong costs the program nothing.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![cfg(feature = "mpi")]

mod common;

use optiq_studies::real_runs::monitored_pairs;
use optiq_trace::profile::job::{JobProfile, Moved, Traffic};
use optiq_trace::profile::rank_file::FileTraffic;
use optiq_transport::mpi::Library;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;
use tempfile::TempDir;

/// By (from, to).
type Pairs = BTreeMap<(u32, u32), Traffic>;

const KINDS: [&str; 6] = ["ring", "bcast", "alltoall", "alltoallv", "reduce", "scatter"];

/// The program, or a word about why there is nothing to test.
fn program() -> Option<&'static Path> {
    if Library::CURRENT != Library::OpenMpi {
        println!("skipped: only Open MPI counts messages");
        return None;
    }
    Some(any_program())
}

/// The program, whatever the MPI library.
fn any_program() -> &'static Path {
    static PROGRAM: OnceLock<std::path::PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("profile-traffic");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/preload/traffic.c");
        let flags = ["-std=gnu99", "-Wall", "-Wextra", "-Werror", "-O1", "-g", "-o"];
        let output =
            std::process::Command::new(common::mpicc()).args(flags).arg(&program).arg(source).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        program
    })
}

/// Runs the program under the library, whatever MPI library it is, and returns the profile.
fn profiled_anywhere(ranks: u32, kinds: &[&str], more: &[(&str, &str)]) -> JobProfile {
    let folder = TempDir::new().unwrap();
    let library = common::preload_library();
    let environment =
        [&[("LD_PRELOAD", library.as_str()), ("OPTIQ_PROFILE", folder.path().to_str().unwrap())], more].concat();
    common::mpirun(ranks, any_program(), kinds, &environment).all_well(ranks, &format!("{kinds:?}"));
    JobProfile::load(folder.path()).unwrap()
}

/// The bytes of each line of the program that called MPI, by its function and the call that stands there.
fn bytes_of_lines(profile: &JobProfile, moved: Moved) -> BTreeMap<String, u64> {
    let source =
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/preload/traffic.c")).unwrap();
    let lines: Vec<&str> = source.lines().collect();
    let found = profile.call_lines();
    let mut bytes = BTreeMap::new();
    profile.for_each_record(moved, |file, region, _, _, t| {
        let Some(number) = region.call_site.and_then(|site| found.number(file, site)) else { return };
        let line = &found.lines[number as usize];
        assert!(line.file.ends_with("traffic.c"), "{line:?}");
        let text = lines[line.line as usize - 1];
        let call = text.split("MPI_").nth(1).unwrap_or_default().split('(').next().unwrap_or_default();
        // Messages without bytes, as a window's own, belong to whichever line comes next.
        if t.bytes > 0 {
            *bytes.entry(call.to_owned()).or_default() += t.bytes;
        }
    });
    bytes
}

#[test]
fn lines_of_the_program_have_what_their_calls_sent() {
    if program().is_none() {
        return;
    }
    let kinds = ["ring", "bcast", "alltoall", "reduce", "put", "outside"];
    let (profile, own, _) = profiled(4, &kinds, &[("OPTIQ_PROFILE_CALL_SITES", "1")]);
    assert_eq!(profile.pairs(Moved::Sent), own);
    let by_line = bytes_of_lines(&profile, Moved::Sent);
    let region =
        |name: &str| -> u64 { profile.clone().only(name).unwrap().pairs(Moved::Sent).values().map(|t| t.bytes).sum() };
    assert_eq!(by_line["Sendrecv"], 60_000, "{by_line:?}");
    for (call, name) in [("Bcast", "bcast"), ("Alltoall", "alltoall"), ("Reduce", "reduce")] {
        assert_eq!(by_line[call], region(name), "{by_line:?}");
    }
    assert_eq!(bytes_of_lines(&profile, Moved::Put), BTreeMap::from([("Put".to_owned(), 4000)]));
    assert_eq!(bytes_of_lines(&profile, Moved::Got), BTreeMap::from([("Get".to_owned(), 500)]));
    // The ring is called three times in each of two regions; what is in no call is what MPI_Init and others send.
    let ring = |name: &str| {
        let regions = profile.files[0].regions.iter().filter(|r| r.name == name && r.call_site.is_some());
        regions.map(|r| r.entries).max().unwrap()
    };
    assert_eq!((ring("ring"), ring("bcast")), (3, 1));
}

#[test]
fn files_are_counted_by_region() {
    let profile = profiled_anywhere(2, &["files", "ring"], &[]);
    for file in &profile.files {
        let of = |name: &str| file.regions.iter().find(|r| r.name == name).unwrap().files;
        let FileTraffic { reads, read_bytes, writes, written_bytes } = of("files");
        assert_eq!([reads, read_bytes, writes, written_bytes], [1, 1000, 1, 3000]);
        assert!(of("ring").is_none() && of("").is_none());
    }
}

/// The arguments of calls, where the MPI library does not count: the program's own messages, and nothing of collectives.
#[test]
fn calls_are_counted_by_their_arguments() {
    let calls = [("OPTIQ_PROFILE_SOURCE", "calls"), ("OPTIQ_PROFILE_CALL_SITES", "1")];
    let profile = profiled_anywhere(4, &["ring", "bcast", "alltoall", "put"], &calls);
    assert!(profile.files.iter().all(|f| f.source.name == "calls" && !f.source.collectives));
    let by_hand: Pairs =
        (0..4).map(|r| ((r, (r + 1) % 4), Traffic { messages: 3, bytes: 3000 * (u64::from(r) + 1) })).collect();
    assert_eq!(profile.pairs(Moved::Sent), by_hand);
    assert_eq!(bytes_of_lines(&profile, Moved::Sent), BTreeMap::from([("Sendrecv".to_owned(), 30_000)]));
    let one = |moved| profile.pairs(moved).into_iter().map(|(pair, t)| (pair, t.bytes)).collect::<Vec<_>>();
    assert_eq!((one(Moved::Put), one(Moved::Got)), (vec![((0, 1), 4000)], vec![((1, 0), 500)]));
    // What OPTIQ's own transports carry, leg by leg.
    let planned = [
        ("OPTIQ_PROFILE_SOURCE", "calls"),
        ("OPTIQ_TOPOLOGY", "torus:2x2"),
        ("OPTIQ_PLACEMENT", "rank"),
        ("OPTIQ_ALGORITHM", "multipath"),
    ];
    let profile = profiled_anywhere(4, &["alltoallv"], &planned);
    let bytes: u64 =
        [Moved::Sent, Moved::Put].iter().flat_map(|m| profile.pairs(*m).into_values()).map(|t| t.bytes).sum();
    let demands: u64 =
        (0..4).flat_map(|r| (0..4).filter(move |i| *i != r).map(move |i| 20_000 + 100 * r + 10 * i)).sum();
    assert!(bytes >= demands && bytes <= 3 * demands, "{bytes} of {demands}");
}

/// Which interface carried how much to whom: the kernel's counts of this process's connections.
#[test]
fn connections_tell_what_each_interface_carried() {
    if program().is_none() {
        return;
    }
    let tcp = [("OMPI_MCA_btl", "tcp,self"), ("OMPI_MCA_btl_tcp_if_include", "lo"), ("OMPI_MCA_pml", "ob1")];
    let (profile, own, _) = profiled(2, &["bulk"], &tcp);
    for file in &profile.files {
        let sent: u64 = own.iter().filter(|((from, _), _)| *from == file.rank).map(|(_, t)| t.bytes).sum();
        let lo = file.connections.iter().find(|c| c.interface == "lo").unwrap();
        // With MPI's headers, and what the launcher says to its processes.
        let most = sent + sent / 20 + 100_000;
        assert!((sent..most).contains(&lo.sent_bytes), "{sent} bytes, and {lo:?}");
    }
}

/// A rank is killed while the others wait for it: they are ended by the launcher, and have written what they had sent.
#[test]
fn a_rank_that_is_killed_is_a_gap_and_the_others_are_there() {
    if program().is_none() {
        return;
    }
    let folder = TempDir::new().unwrap();
    let library = common::preload_library();
    let environment = [("LD_PRELOAD", library.as_str()), ("OPTIQ_PROFILE", folder.path().to_str().unwrap())];
    let run = common::mpirun(4, program().unwrap(), &["ring", "killed"], &environment);
    assert!(!run.success, "{}", run.output);
    let profile = JobProfile::load(folder.path()).unwrap();
    assert_eq!(profile.missing, [1], "{:?}", profile.gaps());
    assert!(profile.files.iter().all(|f| !f.complete));
    let pairs = profile.clone().only("ring").unwrap().pairs(Moved::Sent);
    assert_eq!(pairs[&(2, 3)], Traffic { messages: 3, bytes: 9000 });
    let gaps = profile.gaps().join("; ");
    assert!(
        gaps.contains("no profile of rank 1") && gaps.contains("rank 0, 2-3 did not come to MPI_Finalize"),
        "{gaps}"
    );
}

/// Runs the program under the library, and returns the profile, Open MPI's own count, and what was printed.
fn profiled(ranks: u32, kinds: &[&str], more: &[(&str, &str)]) -> (JobProfile, Pairs, String) {
    let folder = TempDir::new().unwrap();
    let (profile, own) = (folder.path().join("profile"), folder.path().join("own"));
    let library = common::preload_library();
    let environment = [
        &[
            ("LD_PRELOAD", library.as_str()),
            ("OPTIQ_PROFILE", profile.to_str().unwrap()),
            ("OMPI_MCA_pml_monitoring_enable_output", "3"),
            ("OMPI_MCA_pml_monitoring_filename", own.to_str().unwrap()),
        ],
        more,
    ]
    .concat();
    let output = common::mpirun(ranks, program().unwrap(), kinds, &environment).all_well(ranks, &format!("{kinds:?}"));
    let own_pairs = monitored_pairs(&own, ranks).unwrap();
    (JobProfile::load(&profile).unwrap(), own_pairs, output)
}

#[test]
fn counts_are_those_of_open_mpi_to_the_byte() {
    if program().is_none() {
        return;
    }
    for ranks in [2, 5, 16] {
        for kind in KINDS {
            let (profile, own, _) = profiled(ranks, &[kind], &[]);
            let pairs = profile.pairs(Moved::Sent);
            assert!(!pairs.is_empty() && pairs == own, "{kind} on {ranks} ranks: {pairs:?}, but Open MPI has {own:?}");
            assert!(profile.gaps().is_empty() && profile.files[0].source.collectives);
        }
    }
}

#[test]
fn messages_are_those_of_a_count_by_hand() {
    if program().is_none() {
        return;
    }
    for ranks in [2u32, 7] {
        let (profile, _, _) = profiled(ranks, &["ring"], &[]);
        let pairs = profile.only("ring").unwrap().pairs(Moved::Sent);
        let by_hand =
            (0..ranks).map(|r| ((r, (r + 1) % ranks), Traffic { messages: 3, bytes: 3000 * (u64::from(r) + 1) }));
        assert_eq!(pairs, by_hand.collect());
    }
}

#[test]
fn regions_sum_to_the_whole_and_have_their_own_messages() {
    if program().is_none() {
        return;
    }
    let kinds = [&KINDS[..], &["nested", "outside"]].concat();
    let (profile, own, _) = profiled(4, &kinds, &[]);
    assert_eq!(profile.pairs(Moved::Sent), own);
    let expected = [&[""][..], &KINDS, &["nested", "nested/inner"]].concat();
    assert_eq!(profile.regions(), expected);
    let bytes = |region: &str| -> u64 {
        profile.clone().only(region).unwrap().pairs(Moved::Sent).values().map(|t| t.bytes).sum()
    };
    // 3 (1 + 2 + 3 + 4) kB; the outer one has the inner one's.
    assert_eq!((bytes("ring"), bytes("nested/inner"), bytes("nested")), (30_000, 30_000, 60_000));
    // And what MPI_Barrier sends without bytes.
    assert_eq!(bytes(""), 30_000);
    // Broadcast trees send a block to each other rank once, whatever the tree.
    assert_eq!(bytes("bcast"), 3 * 50_000);
    let of_kinds: u64 = KINDS.iter().map(|kind| bytes(kind)).sum();
    assert_eq!(of_kinds + bytes("nested") + bytes(""), own.values().map(|t| t.bytes).sum::<u64>());
    assert!(profile.files.iter().all(|f| f.unmatched_ends == 0 && f.merged_entries == 0 && !f.host.is_empty()));
    let entered = profile.files[0].regions.iter().all(|r| r.entries == 1 && r.seconds >= 0.0);
    assert!(entered, "{:?}", profile.files[0]);
}

#[test]
fn components_that_are_named_get_the_monitoring_one_as_well() {
    if program().is_none() {
        return;
    }
    let (profile, own, _) = profiled(2, &["alltoall"], &[("OMPI_MCA_pml", "ob1")]);
    assert_eq!(profile.pairs(Moved::Sent), own);
}

#[test]
fn monitoring_that_leaves_collectives_apart_is_said_to() {
    if program().is_none() {
        return;
    }
    let (profile, own, output) = profiled(2, &["bcast", "ring"], &[("OMPI_MCA_pml_monitoring_enable", "2")]);
    assert!(!profile.files[0].source.collectives);
    assert_eq!(output.matches("the profile leaves out messages inside collectives").count(), 1, "{output}");
    let bytes = |pairs: &Pairs| pairs.values().map(|t| t.bytes).sum::<u64>();
    assert_eq!((bytes(&profile.pairs(Moved::Sent)), bytes(&own)), (9_000, 59_000));
}

#[test]
fn one_sided_traffic_is_counted_at_its_origin() {
    if program().is_none() {
        return;
    }
    let (profile, _, _) = profiled(2, &["put"], &[]);
    let one = |moved| profile.pairs(moved).into_iter().map(|(pair, t)| (pair, t.bytes)).collect::<Vec<_>>();
    // What is got comes from its owner.
    assert_eq!((one(Moved::Put), one(Moved::Got)), (vec![((0, 1), 4000)], vec![((1, 0), 500)]));
}

/// A program that is linked with liboptiq, while liboptiq_pmpi is preloaded: two libraries with states of their own.
#[test]
fn programs_that_know_optiq_mark_regions_by_its_functions() {
    if program().is_none() {
        return;
    }
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("profile-regions");
    common::compile_c("tests/c/regions.c", &program);
    common::mpirun(2, &program, &[], &[]).all_well(2, "without a profiler");
    let folder = TempDir::new().unwrap();
    let library = common::preload_library();
    let environment = [("LD_PRELOAD", library.as_str()), ("OPTIQ_PROFILE", folder.path().to_str().unwrap())];
    common::mpirun(2, &program, &[], &environment).all_well(2, "with a profiler");
    let profile = JobProfile::load(folder.path()).unwrap();
    let sent = profile.clone().only("solve/halo").unwrap().pairs(Moved::Sent);
    assert_eq!(sent.into_iter().collect::<Vec<_>>(), [((0, 1), Traffic { messages: 1, bytes: 100 })]);
    // The second end.
    assert!(profile.files.iter().all(|f| f.unmatched_ends == 1));
}

/// OPTIQ's executor sends messages of MPI: what it forwards is counted at every leg.
#[test]
fn planned_exchanges_are_counted_leg_by_leg() {
    if program().is_none() {
        return;
    }
    let planned = [
        ("OPTIQ_TOPOLOGY", "torus:4x4"),
        ("OPTIQ_PLACEMENT", "rank"),
        ("OPTIQ_ALGORITHM", "multipath"),
        ("OPTIQ_REPORT", "1"),
    ];
    let (profile, own, output) = profiled(16, &["alltoallv"], &planned);
    assert!(output.contains("MPI_Alltoallv: 16 served by planned paths"), "{output}");
    assert_eq!(profile.pairs(Moved::Sent), own);
    let bytes: u64 = own.values().map(|t| t.bytes).sum();
    // 20000 + 100 r + 10 i to each other rank, all of which has arrived (the program looks), by at least one leg each.
    let demands: u64 =
        (0..16).flat_map(|r| (0..16).filter(move |i| *i != r).map(move |i| 20_000 + 100 * r + 10 * i)).sum();
    assert!(bytes >= demands, "{bytes} of {demands}");
}

#[test]
fn a_signal_writes_what_there_is() {
    if program().is_none() {
        return;
    }
    let (profile, own, _) = profiled(2, &["ring", "wait", "ring"], &[("OPTIQ_PROFILE_SIGNAL", "USR1")]);
    // Both went on to the end, and wrote again.
    assert!(profile.files.iter().all(|f| f.complete));
    assert_eq!(profile.pairs(Moved::Sent), own);
}

#[test]
fn a_folder_that_cannot_be_written_is_one_warning() {
    if program().is_none() {
        return;
    }
    let library = common::preload_library();
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    let gone = folder.path().join("gone");
    let wrong = folder.path().join("not-made");
    for (place, kind, signal) in [(file.join("below"), "ring", ""), (gone, "gone", ""), (wrong.clone(), "ring", "HUP")]
    {
        let place = place.to_str().unwrap();
        let environment =
            [("LD_PRELOAD", library.as_str()), ("OPTIQ_PROFILE", place), ("OPTIQ_PROFILE_SIGNAL", signal)];
        let output = common::mpirun(4, program().unwrap(), &[kind], &environment).all_well(4, kind);
        assert_eq!(output.matches("no profile is written").count(), 1, "{output}");
        assert_eq!(output.matches("warning").count(), 1, "{output}");
    }
    assert!(!wrong.exists());
}

/// A file system that is full before all ranks have written: a sentence, a program that goes on, and no part of a file.
#[test]
fn a_full_disk_costs_files_and_nothing_else() {
    let may = std::process::Command::new("unshare").args(["-rm", "true"]).status().is_ok_and(|s| s.success());
    if program().is_none() || !may {
        println!("skipped: no user namespaces here, in which a file system could be mounted");
        return;
    }
    let library = common::preload_library();
    let (full, seen) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let places = [full.path(), seen.path()].map(|path| path.to_str().unwrap().to_owned());
    let inside = format!(
        "mount -t tmpfs -o size=8k none {0} && \"$@\"; status=$?; cp -r {0} {1}/copy; exit $status",
        places[0], places[1]
    );
    let environment = [("LD_PRELOAD", library.as_str()), ("OPTIQ_PROFILE", places[0].as_str())];
    let prefix = ["unshare", "-rm", "sh", "-c", &inside, "sh"];
    let run = common::mpirun_under(
        &prefix,
        6,
        program().unwrap(),
        &["ring", "bcast", "alltoall", "reduce", "nested"],
        &environment,
    );
    let output = run.all_well(6, "on a full disk");
    // Two pages have place for two of six files; who comes first is chance.
    let copy = seen.path().join("copy");
    let left: Vec<_> = std::fs::read_dir(&copy).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(left.len() < 6 && left.iter().all(|name| name.to_str().unwrap().ends_with(".json")), "{left:?}");
    // The first rank of a host speaks for all of them, if it is among those that cannot write.
    let is_said = output.contains("no profile is written") && output.contains("No space left");
    assert_eq!(is_said, !copy.join("optiq-profile-00000.json").exists(), "{output}");
    match JobProfile::load(&copy) {
        Ok(profile) => assert!(profile.unreadable.is_empty() && profile.missing.len() == 6 - left.len()),
        Err(error) => assert!(left.is_empty(), "{error}"),
    }
}

#[test]
fn nothing_is_written_and_nothing_said_if_it_is_not_asked_for() {
    if program().is_none() {
        return;
    }
    let library = common::preload_library();
    for more in [&[][..], &[("OPTIQ_PROFILE", "")], &[("OPTIQ_PROFILE", "never-made"), ("OPTIQ_DISABLE", "1")]] {
        let environment = [&[("LD_PRELOAD", library.as_str())], more].concat();
        let output = common::mpirun(2, program().unwrap(), &["ring"], &environment).all_well(2, "ring");
        assert!(!output.contains("optiq"), "{output}");
        assert!(!Path::new(env!("CARGO_MANIFEST_DIR")).join("never-made").exists());
    }
}

//! Programs that know nothing of OPTIQ, run with and without its preload library: results, errors and output must be the
//! same. The programs, in C and Fortran, check every element themselves.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![cfg(feature = "mpi")]

mod common;

use common::{Run, preload_library as library};
use optiq_transport::mpi::Library;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;

const IS_MPICH: bool = matches!(Library::CURRENT, Library::Mpich);

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/preload").join(name)
}

/// Compiles a program, once for all tests.
fn compile(compiler: &str, name: &str, flags: &[&str], into: &str) -> PathBuf {
    static ONE: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());
    let mut done = ONE.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let program = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(into);
    if !done.contains(&program) {
        let output = Command::new(compiler).args(["-O1", "-o"]).arg(&program).arg(source(name)).args(flags).output();
        let output = output.unwrap_or_else(|e| panic!("{compiler} does not start: {e}"));
        assert!(output.status.success(), "{compiler} {name}: {}", String::from_utf8_lossy(&output.stderr));
        done.push(program.clone());
    }
    program
}

fn c_program(name: &str) -> PathBuf {
    let flags = ["-Wall", "-Wextra", "-Werror", "-lpthread", "-ldl"];
    compile(&common::mpicc(), &format!("{name}.c"), &flags, &format!("preload-{name}"))
}

const PLANNED: [(&str, &str); 4] = [
    ("OPTIQ_TOPOLOGY", "torus:4x4"),
    ("OPTIQ_PLACEMENT", "rank"),
    ("OPTIQ_ALGORITHM", "multipath"),
    ("OPTIQ_PRELOAD", "alltoallv,alltoall"),
];
const AUTO: [(&str, &str); 3] =
    [("OPTIQ_TOPOLOGY", "torus:4x4"), ("OPTIQ_PLACEMENT", "rank"), ("OPTIQ_PRELOAD", "alltoallv,alltoall")];

/// Runs under the library, with a report.
fn preloaded(ranks: u32, program: &Path, arguments: &[&str], options: &[(&str, &str)]) -> Run {
    let library = library();
    let environment = [&[("LD_PRELOAD", library.as_str()), ("OPTIQ_REPORT", "1")][..], options].concat();
    common::mpirun(ranks, program, arguments, &environment)
}

/// Runs and requires that every rank says that all is well; returns what was printed.
fn passes(ranks: u32, program: &Path, arguments: &[&str], options: &[(&str, &str)]) -> String {
    let what = format!("{} {arguments:?} {options:?}", program.display());
    preloaded(ranks, program, arguments, options).all_well(ranks, &what)
}

/// How many calls of a function went which way, as the report says: by planned paths, by plain MPI through OPTIQ, passed on.
fn counts(output: &str, function: &str) -> [u64; 3] {
    let line = output.lines().find(|l| l.trim_start().starts_with(&format!("{function}: ")));
    let line = line.unwrap_or_else(|| panic!("the report has no {function}:\n{output}"));
    let numbers: Vec<u64> = line.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
    numbers.try_into().unwrap_or_else(|n| panic!("{n:?} in {line}"))
}

fn reason(output: &str, words: &str) -> u64 {
    let line = output.lines().find(|l| l.contains(words));
    line.and_then(|l| l.trim().split(':').next()?.parse().ok()).unwrap_or(0)
}

#[test]
fn nothing_changes_and_nothing_is_served_without_a_topology() {
    let traps = c_program("traps");
    let plain = common::mpirun(4, &traps, &[], &[]);
    assert!(plain.success, "the test itself is wrong:\n{}", plain.output);
    let output = passes(4, &traps, &[], &[]);
    let [planned, mpi, passed] = counts(&output, "MPI_Alltoallv");
    assert!(planned == 0 && mpi == 0 && passed > 500, "{output}");
    assert_eq!(reason(&output, "OPTIQ_TOPOLOGY is not set"), passed, "{output}");
}

#[test]
fn nothing_changes_where_everything_is_planned() {
    let output = passes(4, &c_program("traps"), &[], &PLANNED);
    let [planned, mpi, passed] = counts(&output, "MPI_Alltoallv");
    assert!(planned > 200 && mpi > 0 && passed > 0, "{output}");
    for words in [
        "counts disagree",
        "datatypes with gaps",
        "inter-communicators",
        "communicators of one rank",
        "that MPI refuses",
    ] {
        assert!(reason(&output, words) > 0, "{words}:\n{output}");
    }
    assert_eq!(counts(&output, "MPI_Alltoall"), [20, 0, 0], "{output}");
    if !IS_MPICH {
        // Open MPI keeps what it does not know with the communicator: one with a key that leaves it to MPI, one with an
        // option that does not exist, one whose ranks do not agree.
        assert_eq!(reason(&output, "OPTIQ_ALGORITHM=mpi"), 4 * 4, "{output}");
        assert!(reason(&output, "does not fit the communicator") >= 2 * 4 * 4, "{output}");
        assert!(output.contains("the communicator: there is no option \"optiq_nonsense\""), "{output}");
        assert!(output.contains("there is no option \"optiq_nonsense\""), "{output}");
    }
}

#[test]
fn nothing_changes_where_optiq_decides() {
    let output = passes(4, &c_program("traps"), &[], &AUTO);
    assert!(reason(&output, "first calls on a communicator") > 0, "{output}");
    // On three ranks there is no inter-communicator; on seven not everybody is a power of two.
    if !IS_MPICH {
        passes(3, &c_program("traps"), &[], &AUTO);
        passes(7, &c_program("traps"), &[], &PLANNED);
    }
}

#[test]
fn threads_on_communicators_of_their_own() {
    for options in [&PLANNED[..], &AUTO] {
        passes(4, &c_program("traps"), &["threads"], options);
    }
    let output = passes(2, &c_program("traps"), &["threads"], &PLANNED);
    assert!(counts(&output, "MPI_Alltoallv")[0] > 0, "{output}");
}

const STARTED: [(&str, &str); 4] = [
    ("OPTIQ_TOPOLOGY", "torus:2x2"),
    ("OPTIQ_PLACEMENT", "rank"),
    ("OPTIQ_ALGORITHM", "multipath"),
    ("OPTIQ_PRELOAD", "alltoallv,ialltoallv"),
];

#[test]
fn exchanges_that_go_on_while_the_program_does_something_else() {
    let program = c_program("nonblocking");
    let plain = common::mpirun(4, &program, &["nonblocking"], &[]);
    assert!(plain.success, "the test itself is wrong:\n{}", plain.output);
    let output = passes(4, &program, &["nonblocking"], &STARTED);
    let [planned, mpi, passed] = counts(&output, "MPI_Ialltoallv");
    // 15 rounds of six, and 5 on communicators that are freed, on four ranks.
    assert!(planned > 200 && planned + mpi == 95 * 4 && passed == 0, "{output}");
    assert!(reason(&output, "datatypes with gaps") > 0, "{output}");
    // Where OPTIQ decides, and where the topology does not fit all communicators.
    let auto = [&STARTED[..2], &STARTED[3..]].concat();
    passes(4, &program, &["nonblocking"], &auto);
    passes(3, &program, &["nonblocking"], &STARTED);
}

/// Two ranks a host, on two hosts.
const SMALL: [(&str, &str); 4] = [
    ("OPTIQ_TOPOLOGY", "torus:2"),
    ("OPTIQ_PLACEMENT", "rank:2"),
    ("OPTIQ_MIN_BYTES", "1GB"),
    ("OPTIQ_PRELOAD", "alltoallv,ialltoallv"),
];

#[test]
fn small_exchanges_that_go_on_are_combined() {
    let program = c_program("nonblocking");
    let always = [&SMALL[..], &[("OPTIQ_COMBINE", "always")]].concat();
    let output = passes(4, &program, &["nonblocking"], &always);
    let line = |function: &str| output.lines().find(|l| l.trim_start().starts_with(function)).unwrap_or_default();
    assert!(line("MPI_Ialltoallv: ").contains("by combined messages"), "{output}");
    passes(4, &program, &["nonblocking"], &SMALL);
    // MPICH 4.0's own persistent exchanges do not survive the program.
    if !IS_MPICH {
        let output = passes(4, &program, &["persistent"], &always);
        let line = output.lines().find(|l| l.trim_start().starts_with("MPI_Alltoallv_init: ")).unwrap_or_default();
        assert!(line.contains("by combined messages"), "{output}");
        passes(4, &program, &["persistent"], &SMALL);
    }
}

#[test]
fn more_communicators_than_streams() {
    // Sixty-four threads a rank, all of which spin inside MPICH: four ranks take 90 s on two cores.
    let ranks = if IS_MPICH { 2 } else { 4 };
    let output = passes(ranks, &c_program("nonblocking"), &["many"], &STARTED);
    let [planned, mpi, passed] = counts(&output, "MPI_Ialltoallv");
    assert!(planned > 0 && planned + mpi + passed == 140 * u64::from(ranks), "{output}");
    assert!(reason(&output, "too many communicators") > 0, "{output}");
}

#[test]
fn persistent_exchanges_are_started_in_any_order() {
    let program = c_program("nonblocking");
    let output = passes(4, &program, &["persistent", "late"], &STARTED);
    // Four cycles of four, and one, of which two only MPI can serve: in place, and a datatype with gaps.
    let left = if IS_MPICH { 0 } else { 8 };
    assert_eq!(counts(&output, "MPI_Alltoallv_init"), [68 - left, left, 0], "{output}");
    // MPICH 4.0's own persistent exchanges do not survive the program.
    if IS_MPICH {
        return;
    }
    let plain = common::mpirun(4, &program, &["persistent"], &[]);
    assert!(plain.success, "the test itself is wrong:\n{}", plain.output);
    let auto = [&STARTED[..2], &STARTED[3..]].concat();
    passes(4, &program, &["persistent"], &auto);
    passes(3, &program, &["persistent"], &STARTED);
}

#[test]
fn what_is_started_needs_threads_and_must_be_asked_for() {
    let program = c_program("nonblocking");
    let both = [("nonblocking", "MPI_Ialltoallv"), ("persistent", "MPI_Alltoallv_init")];
    // MPICH 4.0's own persistent exchanges do not survive the program.
    for &(what, function) in &both[..if IS_MPICH { 1 } else { 2 }] {
        let output = passes(4, &program, &[what, "single"], &STARTED);
        let [planned, mpi, passed] = counts(&output, function);
        assert!(planned == 0 && mpi == 0 && passed > 0, "{output}");
        assert_eq!(reason(&output, "MPI_THREAD_MULTIPLE was not provided"), passed, "{output}");
    }
    let output = passes(4, &program, &["nonblocking"], &STARTED[..2]);
    let [_, _, passed] = counts(&output, "MPI_Ialltoallv");
    assert_eq!((reason(&output, "not in the list of OPTIQ_PRELOAD"), passed), (380, 380), "{output}");
}

const NEIGHBOURS: [(&str, &str); 4] = [
    ("OPTIQ_TOPOLOGY", "torus:2x3"),
    ("OPTIQ_PLACEMENT", "rank"),
    ("OPTIQ_ALGORITHM", "multipath"),
    ("OPTIQ_PRELOAD", "neighbor_alltoallv,neighbor_alltoall,ineighbor_alltoallv"),
];

#[test]
fn exchanges_among_neighbours_are_planned() {
    let program = c_program("neighbours");
    for what in ["cartesian", "graphs"] {
        let plain = common::mpirun(6, &program, &[what], &[]);
        assert!(plain.success, "the test itself is wrong:\n{}", plain.output);
        let output = passes(6, &program, &[what], &NEIGHBOURS);
        // Three communicators and their duplicates, six rounds of which one has no byte to move, six ranks.
        assert_eq!(counts(&output, "MPI_Neighbor_alltoallv"), [180, 36, 0], "{what}: {output}");
        assert_eq!(counts(&output, "MPI_Neighbor_alltoall"), [90, 18, 0], "{what}: {output}");
        // Where OPTIQ decides, and where the topology does not fit.
        passes(6, &program, &[what], &[&NEIGHBOURS[..2], &NEIGHBOURS[3..]].concat());
        passes(4, &program, &[what], &[&[("OPTIQ_TOPOLOGY", "torus:2")], &NEIGHBOURS[1..]].concat());
    }
    // Too small for an agreement on each call, with three ranks a host whose messages may travel together.
    for combine in ["auto", "always"] {
        let options = [("OPTIQ_TOPOLOGY", "torus:2"), ("OPTIQ_PLACEMENT", "rank:3"), ("OPTIQ_COMBINE", combine)];
        let output = passes(6, &program, &["many"], &[&options, &NEIGHBOURS[3..]].concat());
        assert!(output.contains("MPI_Neighbor_alltoallv: ") && output.contains("MPI_Neighbor_alltoall: "), "{output}");
    }
    let output = passes(6, &program, &["types"], &NEIGHBOURS);
    // Ten rounds, of which two have no byte to move, and two with gaps.
    assert_eq!(counts(&output, "MPI_Neighbor_alltoallv"), [48, 24, 0], "{output}");
    assert_eq!(reason(&output, "datatypes with gaps"), 2, "{output}");
}

#[test]
fn neighbours_that_do_not_fit_are_left_to_mpi_on_all_ranks() {
    let program = c_program("neighbours");
    const WHY: &str = "a neighbour is there twice, or lists of neighbours disagree";
    for (what, each, equal) in [("left", 216, 108), ("disagreeing", 24, 0)] {
        let plain = common::mpirun(6, &program, &[what], &[]);
        assert!(plain.success, "the test itself is wrong:\n{}", plain.output);
        let output = passes(6, &program, &[what], &NEIGHBOURS);
        assert_eq!(counts(&output, "MPI_Neighbor_alltoallv"), [0, 0, each], "{what}: {output}");
        assert_eq!(reason(&output, WHY), each, "{what}: {output}");
        if equal > 0 {
            assert_eq!(counts(&output, "MPI_Neighbor_alltoall"), [0, 0, equal], "{what}: {output}");
        }
    }
    let output = passes(6, &program, &["refused"], &NEIGHBOURS);
    // What follows the errors is served, but for a round without a byte.
    assert_eq!(counts(&output, "MPI_Neighbor_alltoallv")[..2], [12, 6], "{output}");
    assert_eq!(reason(&output, "that MPI refuses"), if IS_MPICH { 0 } else { 54 }, "{output}");
    // They are not taken over unless that is asked for.
    let output = passes(6, &program, &["cartesian"], &NEIGHBOURS[..3]);
    assert_eq!(counts(&output, "MPI_Neighbor_alltoallv"), [0, 0, 216], "{output}");
}

#[test]
fn exchanges_among_neighbours_that_go_on() {
    let program = c_program("neighbours");
    let plain = common::mpirun(6, &program, &["started"], &[]);
    assert!(plain.success, "the test itself is wrong:\n{}", plain.output);
    let output = passes(6, &program, &["started"], &NEIGHBOURS);
    // Eight on six ranks, one of which has no byte to move: on a grid and a ring, not where a neighbour is there twice, and on a distributed
    // graph after lists were compared.
    assert_eq!(counts(&output, "MPI_Ineighbor_alltoallv"), [3 * 42, 3 * 6, 2 * 48], "{output}");
    assert_eq!(counts(&output, "MPI_Neighbor_alltoallv"), [6, 0, 0], "{output}");
    // MPICH 4.0's own persistent exchanges do not survive the program of the others.
    if !IS_MPICH {
        let output = passes(6, &program, &["persistent"], &NEIGHBOURS);
        assert_eq!(counts(&output, "MPI_Neighbor_alltoallv_init"), [12, 0, 6], "{output}");
    }
}

#[test]
fn a_configuration_that_cannot_be_used_is_one_warning() {
    let threads = c_program("traps");
    let no_file = [("OPTIQ_TOPOLOGY", "file:no/such/net.toml"), ("OPTIQ_ALGORITHM", "multipath")];
    let wrong = [("OPTIQ_TOPOLOGY", "tours:4x4"), ("OPTIQ_ALGORITHM", "multipath")];
    let small = [("OPTIQ_TOPOLOGY", "torus:2"), ("OPTIQ_PLACEMENT", "rank"), ("OPTIQ_ALGORITHM", "multipath")];
    let option = [("OPTIQ_TOPOLOGY", "torus:2x2"), ("OPTIQ_K", "many")];
    for (options, words) in
        [(&no_file[..], "no/such/net.toml"), (&wrong, "tours"), (&small, "4 ranks need 4 hosts"), (&option, "many")]
    {
        let output = passes(4, &threads, &["threads"], options);
        assert_eq!(output.matches("warning").count(), 1, "{output}");
        assert!(output.contains(words), "{output}");
        assert_eq!(counts(&output, "MPI_Alltoallv")[0], 0, "{output}");
    }
}

#[test]
fn the_kill_switch_leaves_nothing() {
    let options = [&PLANNED[..], &[("OPTIQ_DISABLE", "1")]].concat();
    let run = preloaded(4, &c_program("traps"), &["threads"], &options);
    assert!(run.success && !run.output.contains("optiq"), "{}", run.output);
    // And without a report, nothing is printed at all.
    let library = library();
    let quiet = [&PLANNED[..], &[("LD_PRELOAD", library.as_str())]].concat();
    let run = common::mpirun(4, &c_program("traps"), &["threads"], &quiet);
    assert!(run.success && !run.output.contains("optiq"), "{}", run.output);
}

#[test]
fn calls_outside_of_mpi_are_mpis_own_business() {
    let outside = c_program("outside");
    for when in ["before", "after"] {
        let plain = common::mpirun(2, &outside, &[when], &[]);
        let with = preloaded(2, &outside, &[when], &PLANNED);
        assert!(!plain.success && !with.success, "{when}: {}", with.output);
        let words = |run: &Run| ["before MPI_INIT", "after MPI_FINALIZE", "Alltoallv"].map(|w| run.output.contains(w));
        assert_eq!(words(&plain), words(&with), "{}\n{}", plain.output, with.output);
    }
}

/// The wrapper of gfortran for this MPI library, if there is one that compiles.
fn mpifort() -> Option<String> {
    let names = if IS_MPICH { ["mpifort.mpich", "mpifort"] } else { ["mpifort.openmpi", "mpifort"] };
    let works = |name: &&&str| Command::new(name).arg("--version").output().is_ok_and(|o| o.status.success());
    names.iter().find(works).map(ToString::to_string)
}

#[test]
fn fortran_by_all_three_interfaces() {
    let Some(mpifort) = mpifort() else {
        println!("skipped: there is no gfortran behind an mpifort of this MPI library");
        return;
    };
    let include = format!("-I{}", source("").display());
    for name in ["mpifh", "usempi", "usempif08"] {
        let flags = [include.as_str(), "-fallow-argument-mismatch", "-w"];
        let program = compile(&mpifort, &format!("{name}.f90"), &flags, &format!("preload-{name}"));
        let plain = common::mpirun(4, &program, &[], &[]);
        assert!(plain.success && plain.output.matches("all is well").count() == 4, "{name}: {}", plain.output);
        passes(4, &program, &[], &[]);
        passes(4, &program, &[], &AUTO);
        let output = passes(4, &program, &[], &PLANNED);
        let [planned, mpi, passed] = counts(&output, "MPI_Alltoallv");
        // Six rounds: one call and one in place, which are planned, and one from MPI_BOTTOM, which only MPI can serve.
        let more = if name == "usempif08" { 4 } else { 0 };
        assert_eq!([planned, mpi, passed], [48 + more, 24, 0], "{name}: {output}");
        assert_eq!(counts(&output, "MPI_Alltoall"), [24, 0, 0], "{name}: {output}");
        for function in ["MPI_Neighbor_alltoallv", "MPI_Neighbor_alltoall"] {
            assert_eq!(counts(&output, function), [0, 0, 12], "{name}: {output}");
        }
        // Three rounds on four ranks.
        let neighbours = [&PLANNED[..3], &[("OPTIQ_PRELOAD", "neighbor_alltoallv,neighbor_alltoall")]].concat();
        let output = passes(4, &program, &[], &neighbours);
        for function in ["MPI_Neighbor_alltoallv", "MPI_Neighbor_alltoall"] {
            assert_eq!(counts(&output, function), [12, 0, 0], "{name}: {output}");
        }
    }
}

#[test]
fn buffers_in_gpu_memory_are_left_to_mpi() {
    let gpu = c_program("gpu");
    for (file, define) in [("libcuda.so.1", "-DCUDA"), ("libamdhip64.so.6", "-DHIP")] {
        let soname = format!("-Wl,-soname,{file}");
        let driver = compile("cc", "driver.c", &["-shared", "-fPIC", define, &soname], file);
        let output = passes(4, &gpu, &[driver.to_str().unwrap()], &PLANNED);
        // Six exchanges on four ranks, of which one rank's buffers are the GPU's in two.
        assert_eq!(counts(&output, "MPI_Alltoallv"), [16, 8, 0], "{file}: {output}");
        assert_eq!(reason(&output, "GPU memory"), 2, "{file}: {output}");
    }
}

/// How many calls the profiler has seen on rank 0.
fn profiled(output: &str) -> u64 {
    let line = output.lines().find_map(|l| l.split("profiler: ").nth(1)).unwrap_or_default();
    line.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

#[test]
fn profilers_before_and_behind() {
    let traps = c_program("traps");
    let ours = library();
    for (chain, define) in [(false, "-DDIRECT"), (true, "-DCHAIN")] {
        let name = if chain { "libprofiler-chain.so" } else { "libprofiler.so" };
        let profiler = compile(&common::mpicc(), "profiler.c", &["-shared", "-fPIC", define, "-ldl"], name);
        let profiler = profiler.to_str().unwrap();
        for (order, first) in [(format!("{ours}:{profiler}"), true), (format!("{profiler}:{ours}"), false)] {
            for options in [&PLANNED[..], &[]] {
                let environment = [&[("LD_PRELOAD", order.as_str()), ("OPTIQ_REPORT", "1")][..], options].concat();
                let run = common::mpirun(2, &traps, &["threads"], &environment);
                assert!(run.success && run.output.matches("all is well").count() == 2, "{}", run.output);
                // 4 threads of 30 calls. Behind us, it sees what is passed on; before us, it sees everything, and asks us
                // only if it asks the next one.
                let seen = profiled(&run.output);
                let served = counts_or_none(&run.output)[0];
                match (first, chain, options.is_empty()) {
                    (_, _, true) | (false, _, false) => assert_eq!(seen, 120, "{}", run.output),
                    (true, _, false) => assert!(seen < 120 && served > 0, "{}", run.output),
                }
                if !first && chain && !options.is_empty() {
                    assert!(served > 0, "{}", run.output);
                }
            }
        }
    }
}

/// Every communicator would pay for it otherwise, which is much where ranks wait for a processor (decision 087).
#[test]
fn one_reduction_finds_a_program_on_one_host() {
    let flags = ["-shared", "-fPIC", "-DREDUCTIONS", "-DCHAIN", "-ldl"];
    let profiler = compile(&common::mpicc(), "profiler.c", &flags, "libprofiler-reductions.so");
    let libraries = format!("{}:{}", library(), profiler.display());
    let environment = [
        ("LD_PRELOAD", libraries.as_str()),
        ("OPTIQ_REPORT", "1"),
        ("OPTIQ_TOPOLOGY", "auto"),
        ("OPTIQ_PRELOAD", "alltoallv,alltoall"),
    ];
    // The first calls are on MPI_COMM_WORLD; info keys that one rank alone has come later.
    let traps = c_program("traps");
    let output = common::mpirun(4, &traps, &[], &environment).all_well(4, "one thread");
    assert_eq!(profiled(&output), 1, "{output}");
    let [planned, mpi, passed] = counts(&output, "MPI_Alltoallv");
    assert!(planned == 0 && mpi == 0 && passed > 500, "{output}");
    assert!(reason(&output, "communicators whose ranks are all on one host") > 400, "{output}");
    if !IS_MPICH {
        assert!(output.contains("its info keys optiq_* are not used"), "{output}");
    }
    // Threads find it out in any order, so that each of four communicators asks.
    let output = common::mpirun(4, &traps, &["threads"], &environment).all_well(4, "threads");
    assert_eq!(profiled(&output), 4, "{output}");
}

fn counts_or_none(output: &str) -> [u64; 3] {
    if output.contains("MPI_Alltoallv: ") { counts(output, "MPI_Alltoallv") } else { [0; 3] }
}

#[test]
fn programs_without_mpi_do_not_notice() {
    let library = library();
    for command in [&["ls", "/"][..], &["sh", "-c", "true && ls / | wc -l"], &["env", "-i", "true"]] {
        let run = |preload: Option<&str>| {
            let mut program = Command::new(command[0]);
            program.args(&command[1..]).env("OPTIQ_TOPOLOGY", "torus:4x4").env("OPTIQ_REPORT", "1");
            program.envs(preload.map(|p| (OsString::from("LD_PRELOAD"), OsString::from(p))));
            program.output().unwrap()
        };
        let (plain, with) = (run(None), run(Some(&library)));
        assert_eq!(
            (plain.status, &plain.stdout, &plain.stderr),
            (with.status, &with.stdout, &with.stderr),
            "{command:?}"
        );
    }
}

/// Every process of a job loads the library, shells too: nothing may be loaded or run at its start that MPI programs do not have anyway.
#[test]
fn loading_it_loads_no_other_library_and_runs_nothing() {
    let tool = |name: &str, arguments: &[&str]| {
        let output = Command::new(name).args(arguments).output().ok().filter(|o| o.status.success());
        output.map(|o| String::from_utf8_lossy(&o.stdout).into_owned())
    };
    let (library, program) = (library(), c_program("traps"));
    let needed = |file: &str| Some(tool("ldd", &[file])?.lines().filter_map(file_name).collect::<Vec<_>>());
    let (Some(ours), Some(programs)) = (needed(&library), needed(program.to_str().unwrap())) else {
        println!("skipped: there is no ldd");
        return;
    };
    assert!(programs.iter().any(|name| name.starts_with("libmpi")), "{programs:?}");
    let more: Vec<_> = ours.iter().filter(|name| !programs.contains(name)).collect();
    // What Rust unwinds with, and mathematics: small, and in most programs.
    assert!(more.iter().all(|name| name.starts_with("libgcc_s.") || name.starts_with("libm.")), "{more:?}");
    let Some(dynamic) = tool("readelf", &["-dW", &library]) else {
        println!("skipped: there is no readelf");
        return;
    };
    let line = dynamic.lines().find(|l| l.contains("(INIT_ARRAYSZ)"));
    let bytes: usize = line.and_then(|l| l.split_whitespace().nth(2)?.parse().ok()).unwrap_or(0);
    // The compiler's own, and one of Rust's library; HiGHS has 164.
    assert!(bytes <= 2 * size_of::<usize>(), "{dynamic}");
}

/// The library of a line of `ldd`, without its directory.
fn file_name(line: &str) -> Option<String> {
    let name = line.split_whitespace().next()?;
    Some(name.rsplit('/').next()?.to_string())
}

#[test]
fn the_planner_that_is_not_in_it_is_replaced_with_a_word() {
    let options = [&PLANNED[..], &[("OPTIQ_PLANNER", "lp")]].concat();
    let output = passes(4, &c_program("traps"), &["threads"], &options);
    assert!(counts(&output, "MPI_Alltoallv")[0] > 0, "{output}");
    assert_eq!(output.matches("the planner is optimal").count(), 1, "{output}");
    assert_eq!(output.matches("warning").count(), 1, "{output}");
}

#[test]
fn only_mpis_names_are_exported() {
    let output = Command::new("nm").args(["-D", "--defined-only", &library()]).output();
    let Ok(output) = output else {
        println!("skipped: there is no nm");
        return;
    };
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let names: Vec<&str> = text.lines().filter_map(|l| l.split_whitespace().last()).collect();
    assert!(names.contains(&"MPI_Alltoallv") && names.contains(&"MPI_Finalize"), "{text}");
    let foreign: Vec<_> = names.iter().filter(|n| !n.to_lowercase().starts_with("mpi")).collect();
    assert!(foreign.is_empty(), "{foreign:?}");
}

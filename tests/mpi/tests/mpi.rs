//! The multi-rank suite: starts `optiq-mpi-tests` under `mpirun`, with a timeout, for 2, 4, 7 and 16 ranks.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]
#![cfg(feature = "mpi")]

#[path = "../../common/mod.rs"]
mod common;

use common::Run;
use optiq_transport::mpi::Library;
use std::path::Path;

fn mpirun(ranks: u32, arguments: &[&str], environment: &[(&str, &str)]) -> Run {
    common::mpirun(ranks, Path::new(env!("CARGO_BIN_EXE_optiq-mpi-tests")), arguments, environment)
}

/// Runs and requires that every rank has said that all is well.
fn passes(ranks: u32, arguments: &[&str], environment: &[(&str, &str)]) -> String {
    let what = format!("optiq-mpi-tests {arguments:?} {environment:?}");
    mpirun(ranks, arguments, environment).all_well(ranks, &what)
}

const ALL: [u32; 4] = [2, 4, 7, 16];

#[test]
fn two_sided_conforms() {
    ALL.iter().for_each(|&n| drop(passes(n, &["conformance", "two-sided", "12"], &[])));
}

#[test]
fn one_sided_conforms() {
    for ranks in ALL {
        // MPI_Win_flush waits until the target has answered, which it does when its turn on a processor comes: milliseconds per
        // chunk where ranks spin. Each order of sending still has its round.
        let rounds = if common::ranks_spin() && ranks > 4 { "3" } else { "12" };
        passes(ranks, &["conformance", "one-sided", rounds], &[]);
    }
}

#[test]
fn pulling_conforms() {
    for ranks in ALL {
        let rounds = if common::ranks_spin() && ranks > 4 { "3" } else { "12" };
        passes(ranks, &["conformance", "pull", rounds], &[]);
    }
    if Library::CURRENT == Library::OpenMpi {
        // Gets that its component makes of messages, which need the owner's progress.
        passes(4, &["conformance", "pull", "12"], &[("OMPI_MCA_osc", "pt2pt"), ("OMPI_MCA_btl", "tcp,self")]);
    }
}

#[test]
fn one_sided_conforms_where_puts_need_the_target() {
    let (rounds, environment) = match Library::CURRENT {
        // UCX emulates puts with messages. Not over TCP, as for Open MPI: MPI_Finalize of MPICH 4.0 hangs there now and then,
        // whatever the program (a rank closes its connections, waits for acknowledgements, then answers no more).
        Library::Mpich => ("3", &[("MPIR_CVAR_NOLOCAL", "1")][..]),
        _ => ("12", &[("OMPI_MCA_osc", "pt2pt"), ("OMPI_MCA_btl", "tcp,self")][..]),
    };
    passes(4, &["conformance", "one-sided", rounds], environment);
}

/// As over TCP on stock Open MPI; MPICH has windows everywhere.
#[test]
fn where_windows_cannot_be_had_two_sided_carries() {
    if Library::CURRENT == Library::OpenMpi {
        let none = ("OMPI_MCA_osc", "^sm,pt2pt,rdma,ucx,portals4,monitoring");
        let options = [("OPTIQ_TOPOLOGY", "torus:2x2"), ("OPTIQ_PLACEMENT", "rank"), ("OPTIQ_TRANSPORT", "one-sided")];
        let output = passes(4, &["alltoallv"], &[&options[..], &[none]].concat());
        assert!(output.contains("one-sided transport cannot be had (MPI_Win_allocate failed"), "{output}");
    }
}

#[test]
fn cases_over_both_back_ends() {
    for ranks in [2, 3, 4, 5, 9, 16] {
        passes(ranks, &["cases", "two-sided"], &[]);
        passes(ranks, &["cases", "one-sided"], &[]);
        passes(ranks, &["cases", "pull"], &[]);
    }
}

/// A network with as many hosts as there are ranks, and ways around.
fn topology(ranks: u32) -> &'static str {
    match ranks {
        2 => "torus:2",
        4 => "torus:2x2",
        7 => "torus:7",
        _ => "torus:4x4",
    }
}

#[test]
fn alltoallv_equals_mpi() {
    for ranks in ALL {
        for transport in ["two-sided", "one-sided", "pull"] {
            // A minute and a half on two processors; `one_sided_conforms` has 16 of them.
            if common::ranks_spin() && transport != "two-sided" && ranks > 7 {
                continue;
            }
            let environment = [
                ("OPTIQ_TOPOLOGY", topology(ranks)),
                ("OPTIQ_PLACEMENT", "rank:1"),
                ("OPTIQ_ALGORITHM", "multipath"),
                ("OPTIQ_TRANSPORT", transport),
            ];
            let output = passes(ranks, &["alltoallv"], &environment);
            assert!(output.contains("served by planned paths"), "nothing was served:\n{output}");
        }
    }
}

#[test]
fn alltoallv_equals_mpi_with_several_ranks_per_host_and_a_small_budget() {
    for (ranks, topology, placement) in
        [(16, "torus:2x2", "rank:4"), (7, "torus:4", "rank:2"), (7, "torus:4x4", "rank:1")]
    {
        let environment = [
            ("OPTIQ_TOPOLOGY", topology),
            ("OPTIQ_PLACEMENT", placement),
            ("OPTIQ_ALGORITHM", "multipath"),
            ("OPTIQ_BUDGET", "64KiB"),
            ("OPTIQ_CHUNK", "2000"),
        ];
        passes(ranks, &["alltoallv"], &environment);
    }
}

/// Where exchanges are too small for agreements, whatever they are: datatypes with gaps, in place, messages of their own beside combined
/// ones, uneven hosts, every radix.
#[test]
fn combined_messages_equal_mpi() {
    let uneven = |hosts: &[u32]| {
        let lines = hosts.iter().enumerate().flat_map(|(host, &ranks)| vec![format!("{host}\n"); ranks as usize]);
        lines.collect::<String>()
    };
    let directory = tempfile::tempdir().unwrap();
    // Nodes with 7 and 8 ranks and with one; ranks of a host that are not neighbours.
    let files = [("a", uneven(&[7, 8, 1])), ("b", uneven(&[3, 1, 2, 1])), ("c", "0\n1\n2\n0\n1\n2\n0\n".into())];
    for (name, text) in &files {
        std::fs::write(directory.path().join(name), text).unwrap();
    }
    let file = |name: &str| format!("file:{}", directory.path().join(name).display());
    for (ranks, placement, how) in [
        (16, file("a"), "always"),
        (16, "rank:2".into(), "always,radix=2,carriers=2,message=256"),
        (16, "rank:2".into(), "always,radix=3,carriers=1,message=5000"),
        (7, file("b"), "always,radix=2"),
        (7, file("c"), "always,radix=2,message=100KiB"),
        (4, "rank:2".into(), "always,message=16"),
    ] {
        let environment = [
            ("OPTIQ_TOPOLOGY", "star:8"),
            ("OPTIQ_PLACEMENT", &placement),
            ("OPTIQ_MIN_BYTES", "1GB"),
            ("OPTIQ_COMBINE", how),
        ];
        let output = passes(ranks, &["alltoallv"], &environment);
        let combined = output.matches("served by combined messages").count();
        assert!(combined > 30, "{how}, {placement}: {combined} cases\n{output}");
    }
}

/// By itself a session measures both ways, whichever is faster here, and every byte is right meanwhile.
#[test]
fn small_calls_are_right_combined_or_not() {
    let environment = [("OPTIQ_TOPOLOGY", "star:4"), ("OPTIQ_PLACEMENT", "rank:3"), ("OPTIQ_LOG", "debug")];
    let output = passes(8, &["small", "8,300", "3"], &environment);
    assert!(output.contains("messages of up to 4096 bytes are combined"), "nothing was prepared:\n{output}");
    let never = passes(8, &["small", "8", "1"], &[&environment[..], &[("OPTIQ_COMBINE", "no")]].concat());
    assert!(never.contains("combined in 0 of 7") && !never.contains("are combined, in"), "{never}");
}

/// Bytes between some ranks only, on uneven hosts: ranks with nothing to wait for are ahead of the others, and hosts without bytes get no
/// messages.
#[test]
fn sparse_calls_are_combined_where_there_are_bytes() {
    let directory = tempfile::tempdir().unwrap();
    for (hosts, how) in [
        ("2,2,2,2,2", "always"),
        ("3,1,2,1", "always,carriers=1"),
        ("3,1,2,1", "always,radix=2"),
        ("1,4,1,2", "always,carriers=3"),
        ("2,3,2", "auto"),
    ] {
        let sizes: Vec<usize> = hosts.split(',').map(|n| n.parse().unwrap()).collect();
        let lines = sizes.iter().enumerate().flat_map(|(host, &ranks)| vec![format!("{host}\n"); ranks]);
        let path = directory.path().join("placement");
        std::fs::write(&path, lines.collect::<String>()).unwrap();
        let placement = format!("file:{}", path.display());
        let environment = [
            ("OPTIQ_TOPOLOGY", "star:5"),
            ("OPTIQ_PLACEMENT", &placement),
            ("OPTIQ_MIN_BYTES", "1GB"),
            ("OPTIQ_COMBINE", how),
        ];
        let output = passes(sizes.iter().sum::<usize>() as u32, &["small-sparse", hosts], &environment);
        if how == "always" {
            // Radix 2 takes three rounds whatever there is to carry.
            for pattern in ["one pair of hosts", "nothing", "a ring of hosts"] {
                let line = output.lines().find(|line| line.starts_with(pattern)).unwrap_or_default();
                assert!(line.contains("in 1 round"), "{line}\n{output}");
            }
        }
    }
}

#[test]
fn counts_that_disagree_in_combined_messages_are_an_error_where_they_are_seen() {
    let environment = [("OPTIQ_TOPOLOGY", "star:4"), ("OPTIQ_PLACEMENT", "rank:2"), ("OPTIQ_COMBINE", "always")];
    passes(4, &["small-disagreeing"], &environment);
}

/// Started exchanges that are left to MPI travel together as well: two at a time, waited for in either order, with blocking calls between.
#[test]
fn started_small_exchanges_are_combined() {
    for (ranks, placement, how) in [
        (8, "rank:2", "always"),
        (7, "rank:3", "always,radix=2"),
        (8, "rank:4", "always,message=64"),
        (6, "rank:2", "auto"),
    ] {
        let environment = [
            ("OPTIQ_TOPOLOGY", "star:4"),
            ("OPTIQ_PLACEMENT", placement),
            ("OPTIQ_MIN_BYTES", "1GB"),
            ("OPTIQ_COMBINE", how),
        ];
        let output = passes(ranks, &["persistent"], &environment);
        let combined = output.contains("persistent exchange served by combined messages");
        assert!(combined || how == "auto", "{how}, {placement}:\n{output}");
        passes(ranks, &["handles"], &environment);
        passes(ranks, &["crossing"], &environment);
    }
}

/// Without memory for it, MPI serves.
#[test]
fn combined_messages_that_do_not_fit_the_budget_are_not_combined() {
    let environment = [
        ("OPTIQ_TOPOLOGY", "star:4"),
        ("OPTIQ_PLACEMENT", "rank:2"),
        ("OPTIQ_BUDGET", "1KiB"),
        ("OPTIQ_COMBINE", "always"),
        ("OPTIQ_LOG", "info"),
    ];
    let output = passes(4, &["small", "8", "1"], &environment);
    assert!(output.contains("are not combined: 512 bytes of each rank are too few"), "{output}");
    assert!(output.contains("combined in 0 of 7"), "{output}");
}

#[test]
fn small_messages_of_a_hosts_ranks_are_gathered() {
    for (ranks, topology, placement, transport) in [
        (16, "torus:2x2", "rank:4", "two-sided"),
        (7, "torus:4", "rank:3", "two-sided"),
        (8, "torus:2x2", "rank:2", "one-sided"),
    ] {
        let environment = [
            ("OPTIQ_TOPOLOGY", topology),
            ("OPTIQ_PLACEMENT", placement),
            ("OPTIQ_ALGORITHM", "multipath"),
            ("OPTIQ_TRANSPORT", transport),
            ("OPTIQ_LOG", "debug"),
        ];
        for test in ["alltoallv", "persistent"] {
            let output = passes(ranks, &[test], &environment);
            assert!(output.contains("packed in shared memory"), "{test}: {output}");
        }
    }
}

/// On a ring most ways are longer than a hop.
#[test]
fn alltoallv_equals_mpi_stopping_at_every_host() {
    for (ranks, ring) in [(7, "torus:7"), (16, "mesh:4x4")] {
        for transport in ["two-sided", "one-sided"] {
            // As in one_sided_conforms: milliseconds per chunk.
            if transport == "one-sided" && ranks > 7 && common::ranks_spin() {
                continue;
            }
            let options = [
                ("OPTIQ_TOPOLOGY", ring),
                ("OPTIQ_PLACEMENT", "rank"),
                ("OPTIQ_LEGS", "hops"),
                ("OPTIQ_TRANSPORT", transport),
                ("OPTIQ_ALGORITHM", "multipath"),
            ];
            let output = passes(ranks, &["alltoallv"], &options);
            assert!(output.contains("served by planned paths"), "nothing was served:\n{output}");
        }
    }
}

#[test]
fn alltoallv_equals_mpi_when_everything_is_handed_over() {
    passes(4, &["alltoallv"], &[]);
    passes(
        4,
        &["alltoallv"],
        &[("OPTIQ_TOPOLOGY", "torus:2x2"), ("OPTIQ_PLACEMENT", "rank"), ("OPTIQ_ALGORITHM", "mpi")],
    );
    // With the defaults, small messages go to plain MPI and larger ones do not; either way the bytes are right.
    passes(4, &["alltoallv"], &[("OPTIQ_TOPOLOGY", "torus:2x2"), ("OPTIQ_PLACEMENT", "rank")]);
}

const FORCED: [(&str, &str); 3] =
    [("OPTIQ_TOPOLOGY", "torus:2x2"), ("OPTIQ_PLACEMENT", "rank"), ("OPTIQ_ALGORITHM", "multipath")];

#[test]
fn bad_arguments_are_errors_on_every_rank_and_nothing_hangs() {
    passes(4, &["errors"], &FORCED);
    passes(4, &["errors-before-and-after"], &FORCED);
}

#[test]
fn a_bad_argument_without_a_topology_ends_the_job_as_in_mpi() {
    let run = mpirun(4, &["errors-without-topology"], &[]);
    assert!(!run.success && run.output.contains("the send count for rank 0 is -5"), "{}", run.output);
    assert!(!run.output.contains("should have ended") && !run.output.contains("killed"), "{}", run.output);
}

#[test]
fn finalize_may_be_forgotten_and_communicators_come_and_go() {
    passes(4, &["lifetimes"], &FORCED);
}

/// A configuration that cannot be used: one warning from rank 0, and the right bytes by plain MPI.
fn falls_back(environment: &[(&str, &str)], warning: &str) {
    let output = passes(4, &["alltoallv"], environment);
    assert_eq!(output.matches("warning").count(), 1, "{output}");
    assert!(output.contains(warning) && output.contains("[rank 0]"), "{output}");
    // What is wrong is the reason of the calls, not an option that is not set.
    assert!(!output.contains("OPTIQ_ALGORITHM=mpi"), "{output}");
    let strict: Vec<_> = environment.iter().copied().chain([("OPTIQ_STRICT", "1")]).collect();
    let output = passes(4, &["strict"], &strict);
    assert!(output.contains(warning), "{output}");
}

#[test]
fn a_wrong_configuration_falls_back_with_one_warning_or_fails_if_strict() {
    falls_back(&[("OPTIQ_TOPOLOGY", "tours:4x4")], "tours");
    falls_back(&[("OPTIQ_TOPOLOGY", "torus:3"), ("OPTIQ_PLACEMENT", "rank")], "4 ranks need 4 hosts");
    falls_back(&[("OPTIQ_TOPOLOGY", "torus:2x2"), ("OPTIQ_K", "many")], "OPTIQ_K is \"many\"");
    falls_back(&[("OPTIQ_TOPOLOGY", "torus:2x2"), ("OPTIQ_PLACEMENT", "names")], "is not a host of the topology");
    let large = [("OPTIQ_TOPOLOGY", "torus:1024x1024"), ("OPTIQ_PLACEMENT", "rank")];
    falls_back(&large, "has 1048576 hosts and switches; at most 131072 are permitted");
    let small = [("OPTIQ_TOPOLOGY", "torus:2x2"), ("OPTIQ_PLACEMENT", "rank"), ("OPTIQ_MAX_HOSTS", "3")];
    falls_back(&small, "OPTIQ_MAX_HOSTS raises the limit");
    let nowhere = [("OPTIQ_TOPOLOGY", "torus:2x2"), ("OPTIQ_BACKGROUND", "no/such/file")];
    falls_back(&nowhere, "OPTIQ_BACKGROUND: background file no/such/file");
}

#[test]
fn a_file_says_where_ranks_are() {
    let file = std::env::temp_dir().join(format!("optiq-mpi-placement-{}", std::process::id()));
    std::fs::write(&file, "h3\nh1\n(0,0)\n2\n").unwrap();
    let placement = format!("file:{}", file.display());
    let environment =
        [("OPTIQ_TOPOLOGY", "torus:2x2"), ("OPTIQ_PLACEMENT", &placement), ("OPTIQ_ALGORITHM", "multipath")];
    let output = passes(4, &["alltoallv"], &environment);
    assert!(output.contains("served by planned paths"), "nothing was served:\n{output}");
    std::fs::write(&file, "h3\nh1\nh0\n").unwrap();
    falls_back(&environment, "it has the hosts of 3 ranks; 4 are expected");
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn exchanges_beside_background_load() {
    let file = std::env::temp_dir().join(format!("optiq-mpi-background-{}", std::process::id()));
    std::fs::write(&file, "* * 10%\nh0 * 50%\n").unwrap();
    let environment = [&FORCED[..], &[("OPTIQ_BACKGROUND", file.to_str().unwrap())]].concat();
    let output = passes(4, &["alltoallv"], &environment);
    assert!(output.contains("served by planned paths"), "nothing was served:\n{output}");
    std::fs::write(&file, "h0 h1 50%\nh0 h1 50%\n").unwrap();
    falls_back(&environment, ":2: nothing is left of link h0 -> h1");
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn an_unknown_option_is_warned_about() {
    let output = passes(2, &["alltoallv"], &[("OPTIQ_TOPOLGY", "torus:2")]);
    assert!(output.contains("OPTIQ_TOPOLGY is set, but OPTIQ has no such option"), "{output}");
}

#[test]
fn ranks_that_disagree_about_the_topology_fall_back() {
    let output = passes(4, &["different-topologies"], &[("OPTIQ_PLACEMENT", "rank"), ("OPTIQ_ALGORITHM", "multipath")]);
    assert!(output.contains("not the same network on all ranks"), "{output}");
}

/// One would compare counts with a collective call that the other does not make.
#[test]
fn ranks_that_disagree_about_options_fall_back() {
    let environment = [("OPTIQ_TOPOLOGY", "torus:2x2"), ("OPTIQ_PLACEMENT", "rank"), ("OPTIQ_ALGORITHM", "multipath")];
    let output = passes(4, &["different-options"], &environment);
    assert!(output.contains("options that all ranks must share are not the same"), "{output}");
}

#[test]
fn exchanges_that_are_started() {
    for ranks in [2, 4, 7] {
        for transport in ["two-sided", "one-sided"] {
            let environment = [
                ("OPTIQ_TOPOLOGY", topology(ranks)),
                ("OPTIQ_PLACEMENT", "rank"),
                ("OPTIQ_ALGORITHM", "multipath"),
                ("OPTIQ_TRANSPORT", transport),
            ];
            let output = passes(ranks, &["persistent"], &environment);
            assert!(
                output.contains("persistent exchange served by") && output.contains("paths by planner"),
                "{output}"
            );
        }
    }
    passes(4, &["handles"], &FORCED);
    // And by plain MPI, without a topology.
    passes(4, &["persistent"], &[]);
    passes(4, &["handles"], &[]);
}

/// Ranks that have started an exchange forward its messages also in a call that plain MPI serves without an agreement.
#[test]
fn started_exchanges_go_on_before_small_calls() {
    let environment = [("OPTIQ_TOPOLOGY", topology(4)), ("OPTIQ_PLACEMENT", "rank"), ("OPTIQ_LEGS", "hops")];
    let output = passes(4, &["crossing"], &environment);
    assert!(output.contains("crossing exchange served by") && output.contains("paths by planner"), "{output}");
}

/// Ranks that wait for the exchange of one communicator forward in that of another one.
#[test]
fn exchanges_of_two_communicators_are_waited_for_in_any_order() {
    for (topology, transport) in [("torus:2x2", "two-sided"), ("torus:2x2", "one-sided"), ("torus:4", "two-sided")] {
        let environment = [
            ("OPTIQ_TOPOLOGY", topology),
            ("OPTIQ_PLACEMENT", "rank"),
            ("OPTIQ_ALGORITHM", "multipath"),
            ("OPTIQ_LEGS", "hops"),
            ("OPTIQ_TRANSPORT", transport),
        ];
        let output = passes(4, &["two-communicators"], &environment);
        assert!(output.contains("second exchange served by") && output.contains("paths by planner"), "{output}");
    }
}

/// On a torus of six, where messages are forwarded, with little memory, with windows of one chunk, with a thread that advances them, and where
/// they move one at a time.
#[test]
fn exchanges_of_several_classes() {
    let torus = [("OPTIQ_TOPOLOGY", "torus:2x3"), ("OPTIQ_PLACEMENT", "rank"), ("OPTIQ_ALGORITHM", "multipath")];
    let hops = ("OPTIQ_LEGS", "hops");
    let settings: [&[(&str, &str)]; 7] = [
        &[],
        &[hops],
        &[hops, ("OPTIQ_WINDOW", "1"), ("OPTIQ_CHUNK", "1000")],
        &[hops, ("OPTIQ_BUDGET", "100000")],
        &[hops, ("OPTIQ_PROGRESS", "1")],
        &[("OPTIQ_DIRECT_ORDER", "timetable")],
        &[("OPTIQ_TRANSPORT", "pull")],
    ];
    for setting in settings {
        passes(6, &["priorities"], &[&torus, setting].concat());
    }
    passes(2, &["priorities"], &[("OPTIQ_TOPOLOGY", "torus:2"), torus[1], torus[2]]);
    // Packed in shared memory where they are of class 0.
    let hosts = [("OPTIQ_TOPOLOGY", "torus:3"), ("OPTIQ_PLACEMENT", "rank:2"), torus[2]];
    passes(6, &["priorities"], &hosts);
    passes(4, &["priorities"], &[]);
    passes(6, &["priorities-overtake", "yes"], &[&torus[..], &[hops]].concat());
    let one_at_a_time = [("OPTIQ_TRANSPORT", "one-sided"), ("OPTIQ_TRANSPORT", "pull")];
    for transport in one_at_a_time.into_iter().filter(|_| !common::ranks_spin()) {
        passes(6, &["priorities-overtake", "no"], &[&torus[..], &[transport]].concat());
    }
    passes(4, &["priorities-wrong"], &FORCED);
}

#[test]
fn a_thread_advances_what_was_started() {
    let environment = [&FORCED[..], &[("OPTIQ_PROGRESS", "1")]].concat();
    passes(4, &["progress-thread"], &environment);
    // Where MPI does not allow one, it is said, and all works without.
    let output = passes(4, &["persistent"], &environment);
    assert!(output.contains("needs MPI_THREAD_MULTIPLE"), "{output}");
}

/// A cost model that finds planned paths worth it even on one machine, because the links are said to be slow.
fn slow_links(name: &str) -> std::path::PathBuf {
    let file = std::env::temp_dir().join(format!("optiq-{name}-{}", std::process::id()));
    std::fs::write(&file, "agreement_seconds = 1e-4\nlatency_seconds = 1e-5\nchunk_seconds = 1e-6\n").unwrap();
    file
}

/// How many small calls, large ones, and calls of both in turn went along planned paths, as `forecasts` prints it.
fn planned_calls(output: &str) -> Vec<usize> {
    let counts = output.split("calls [").nth(1).and_then(|rest| rest.split(']').next()).unwrap_or_default();
    counts.split(", ").filter_map(|n| n.parse().ok()).collect()
}

#[test]
fn ranks_agree_only_where_it_may_pay() {
    let file = slow_links("calibration");
    let environment = [
        ("OPTIQ_TOPOLOGY", "torus:7,capacity=10MB/s"),
        ("OPTIQ_PLACEMENT", "rank"),
        ("OPTIQ_CALIBRATION", file.to_str().unwrap()),
    ];
    let output = passes(7, &["forecasts"], &environment);
    let planned = planned_calls(&output);
    // Which of both is faster on this machine is measured, and not asserted; that plans are tried is.
    assert!(planned.len() == 3 && planned[0] == 0 && planned[1] > 0, "{output}");
    std::fs::write(&file, "agreement_seconds = often\n").unwrap();
    falls_back(&environment, "OPTIQ_CALIBRATION: calibration file");
    std::fs::remove_file(&file).unwrap();
}

/// The model has planned paths at half of their bound, which is what they save, and MPI at all of its own, on links that nothing reaches:
/// all that is measured takes longer than was predicted of the plan.
#[test]
fn paths_that_were_predicted_to_gain_nothing_are_used_where_all_else_is_slower() {
    let file = std::env::temp_dir().join(format!("optiq-slower-{}", std::process::id()));
    let text = "agreement_seconds = 1e-7\nlatency_seconds = 1e-8\nchunk_seconds = 1e-9\nplanned_link_efficiency = 0.5\n\
                store_and_forward_link_efficiency = 0.5\nmpi_link_efficiency = 1\n";
    std::fs::write(&file, text).unwrap();
    let environment = [
        ("OPTIQ_TOPOLOGY", "torus:7,capacity=100GB/s"),
        ("OPTIQ_PLACEMENT", "rank"),
        ("OPTIQ_CALIBRATION", file.to_str().unwrap()),
    ];
    // Where other processes take the processors, an agreement can take as long as a hundred calls, and 400 calls have too few of them.
    let attempts: Vec<String> = (0..3).map(|_| passes(7, &["forecasts"], &environment)).collect();
    let counts: Vec<_> = attempts.iter().map(|output| planned_calls(output)).collect();
    assert!(counts.iter().all(|planned| planned.len() == 3 && planned[0] == 0), "{attempts:?}");
    assert!(counts.iter().any(|planned| planned[1] >= 2), "{attempts:?}");
    std::fs::remove_file(&file).unwrap();
}

/// Plans are found by what all ranks have; a rank's own blocks do not tell several demand sets from each other.
#[test]
fn demand_sets_in_turn_are_planned_once() {
    let environment = |plans: &'static str| {
        let planned = ("OPTIQ_ALGORITHM", "multipath");
        [("OPTIQ_TOPOLOGY", "torus:5"), ("OPTIQ_PLACEMENT", "rank"), planned, ("OPTIQ_PLANS", plans)]
    };
    passes(5, &["in-turn", "4"], &environment("4"));
    // The least recently used makes room, on all ranks the same.
    passes(5, &["in-turn", "12"], &environment("3"));
}

/// Calls 1 to 6 have one plan, which is carried over; the seventh has another one, and so have those behind it.
#[test]
fn plans_are_carried_over_to_demands_that_are_nearly_the_same() {
    let planned = ("OPTIQ_ALGORITHM", "multipath");
    let environment = [("OPTIQ_TOPOLOGY", "torus:6"), ("OPTIQ_PLACEMENT", "rank"), planned, ("OPTIQ_LOG", "debug")];
    let output = passes(6, &["nearly-the-same"], &environment);
    let carried = |number: u32| output.matches(&format!("plan {number} is carried over")).count();
    assert_eq!([1, 7].map(carried), [5, 2], "{output}");
    assert_eq!(output.matches("is carried over").count(), 7, "{output}");
}

#[test]
fn counts_are_checked_on_request() {
    let environment = [("OPTIQ_TOPOLOGY", "torus:2x2"), ("OPTIQ_PLACEMENT", "rank"), ("OPTIQ_CHECK", "1")];
    passes(4, &["checked"], &environment);
}

use super::*;

fn record() -> MachineRecord {
    let samples = Samples { count: 7, first_quartile: 1e-5, median: 2e-5, third_quartile: 0.3 };
    let measurement = Measurement {
        command: "optiq calibrate --topology torus:4x4".into(),
        at: "2026-11-22T21:40:11Z".into(),
        version: "0.1.0".into(),
        mpi_library: "Open MPI v4.1.4, package: Debian OpenMPI # 1".into(),
        ranks: 16,
        hosts: 4,
        topology: "torus:4x4".into(),
        network: Fingerprint(77),
        transport: "mpi-two-sided".into(),
        cases: "disjoint, 1MB; overlap, 1MB".into(),
        samples: [Some(samples), None, Some(samples), None, None, Some(samples)],
    };
    let model = CostModel { latency_seconds: 3e-6, mpi_link_efficiency: 0.7, ..CostModel::default() };
    MachineRecord { model, measurement: Some(measurement) }
}

#[test]
fn files_are_read_and_refused() {
    let folder = std::env::temp_dir().join(format!("optiq-calibration-{}", std::process::id()));
    let file = &folder;
    let written = CostModel { latency_seconds: 3e-6, mpi_link_efficiency: 0.9, ..CostModel::default() };
    std::fs::write(file, format!("# of a machine\n{written}")).unwrap();
    let read = MachineRecord::read(file).unwrap();
    assert_eq!(read, MachineRecord { model: written, measurement: None });
    assert_eq!(read.model_on(Fingerprint(1), Some("any")), (written, None), "it does not say where it is from");
    for (text, what) in [
        ("latency_seconds", ":1: \"latency_seconds\" is found; a line such as"),
        ("\nlatency_seconds = 0", ":2: latency_seconds is 0; a number above 0"),
        ("mpi_link_efficiency = 1.5", "at most 1 is expected"),
        ("speed = 1", "there is no parameter \"speed\""),
        ("chunk_seconds = NaN", "chunk_seconds is NaN"),
    ] {
        std::fs::write(file, text).unwrap();
        let error = MachineRecord::read(file).unwrap_err();
        assert!(error.contains(what), "{error}");
    }
    std::fs::write(file, vec![b'#'; LARGEST_FILE as usize + 1]).unwrap();
    assert!(MachineRecord::read(file).unwrap_err().contains("larger than 1 MiB"));
    std::fs::remove_file(file).unwrap();
    assert!(MachineRecord::read(file).unwrap_err().contains("calibration file"));
}

#[test]
fn what_is_written_is_read() {
    let record = record();
    assert_eq!(MachineRecord::parse(&record.to_string(), "f").unwrap(), record);
    // Order and comments do not matter, and parameters that are missing keep their defaults.
    let mut lines: Vec<String> = record.to_string().lines().map(|l| format!("  {l} # comment")).collect();
    lines.retain(|l| !l.contains("chunk_seconds"));
    lines.reverse();
    let read = MachineRecord::parse(&lines.join("\r\n"), "f").unwrap();
    assert_eq!(read.model, record.model);
    assert_eq!(read.measurement.unwrap().mpi_library, "Open MPI v4.1.4, package: Debian OpenMPI # 1");
}

#[test]
fn measured_lines_are_refused_with_file_and_line() {
    let text = record().to_string();
    let with = |from: &str, to: &str| MachineRecord::parse(&text.replace(from, to), "f").unwrap_err();
    for (from, to, what) in [
        ("\"torus:4x4\"", "torus:4x4", "f:13: measured_topology: found torus:4x4; text in double quotes is expected"),
        ("\"torus:4x4\"", "\"torus:4x4", "text in double quotes"),
        ("\"torus:4x4\"", "\"torus:4x4\" 7", "text in double quotes"),
        ("\"torus:4x4\"", "\"\"", "its text has 0 characters; 1 to 1000 are expected"),
        ("\"torus:4x4\"", "\"  \"", "its text has 0 characters"),
        ("\"torus:4x4\"", "\"a\u{1b}[31mb\"", "the control character U+001B"),
        ("measured_at = \"2026", "measured_at = \"26", "f: measured_at is"),
        ("measured_ranks = \"16\"", "measured_ranks = \"0\"", "f: measured_ranks is \"0\"; a number from 1 on"),
        ("measured_hosts = \"4\"", "measured_hosts = \"-4\"", "measured_hosts is \"-4\""),
        ("measured_hosts = \"4\"\n", "", "f: measured_hosts is missing"),
        ("measured_hosts", "measured_house", "f:12: there is no parameter \"measured_house\""),
        ("measured_hosts = \"4\"", "measured_hosts", "f:12: a line such as measured_ranks"),
        ("measured_hosts", "measured_ranks", "f:12: measured_ranks stands in the file twice"),
        ("4d\"", "4\"", "is not a fingerprint"),
        (", 7 samples", ", 0 samples", "f:17: measured_agreement_seconds is \"median"),
        ("median 2e-5", "median 2e-7", "text such as \"median 1e-4"),
        ("to 3e-1", "to inf", "text such as"),
    ] {
        let error = with(from, to);
        assert!(error.contains(what) && !error.contains('\n'), "{from:?} to {to:?}: {error}");
    }
    let long = format!("measured_command = \"{}\"\n", "x".repeat(LONGEST_TEXT + 1));
    let error = MachineRecord::parse(&long, "f").unwrap_err();
    assert!(error.contains("its text has 1001 characters") && error.len() < 200, "{error}");
    let error = MachineRecord::parse(&format!("{} = 1", "y".repeat(100_000)), "f").unwrap_err();
    assert!(error.len() < 200, "{error}");
}

#[test]
fn elsewhere_only_the_times_are_used() {
    let record = record();
    let library = record.measurement.as_ref().unwrap().mpi_library.clone();
    // The library's own words are compared as they would have been written.
    let same = library.replace("package", "\n package");
    assert_eq!(record.model_on(Fingerprint(77), Some(&same)), (record.model, None));
    assert_eq!(record.model_on(Fingerprint(77), None), (record.model, None));
    for (network, mpi, words) in [
        (Fingerprint(78), &library[..], &["another network (torus:4x4, "][..]),
        (
            Fingerprint(77),
            "MPICH Version: 4.0.2",
            &["another MPI library (Open MPI v4.1.4", "not MPICH Version: 4.0.2)"],
        ),
        (Fingerprint(78), "MPICH", &["another network", " and with another MPI library"]),
    ] {
        let (model, note) = record.model_on(network, Some(mpi));
        let default = CostModel::default();
        assert_eq!(model, CostModel { latency_seconds: 3e-6, ..default });
        let note = note.unwrap();
        assert!(words.iter().all(|w| note.contains(w)) && note.lines().count() == 1, "{note}");
        assert!(
            note.contains("agreement_seconds, latency_seconds and chunk_seconds are used; planned_link_efficiency"),
            "{note}"
        );
        assert!(note.ends_with("the defaults 0.85, 0.85 and 0.98 take their place"), "{note}");
    }
}

#[test]
fn texts_become_one_line() {
    assert_eq!(one_line(" a\t\"b\"\n\u{7}c "), "a 'b' c");
    assert_eq!(one_line(&"ab ".repeat(1000)).chars().count(), LONGEST_TEXT);
    let mut record = record();
    if let Some(m) = &mut record.measurement {
        m.command = "optiq \"x\"\n # y".into();
    }
    let read = MachineRecord::parse(&record.to_string(), "f").unwrap();
    assert_eq!(read.measurement.unwrap().command, "optiq 'x' # y");
}

//! `OPTIQ_TOPOLOGY=auto`: a network that is discovered, and one without a description, where it is one switch, where it is something else, and where there
//! is none.
//!
//! Has a main of its own because the lab starts the running binary again. The cases in the lab are skipped, with the reason,
//! where the system permits no namespaces. Every run has a hard limit.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[path = "../../common/mod.rs"]
mod common;
mod in_lab;

use optiq_lab::{End, Lab, LabError, RunOptions, network_at};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// No run takes longer, however busy the machine.
const LIMIT: Duration = Duration::from_secs(100);

const PROGRAM: &str = env!("CARGO_BIN_EXE_optiq-mpi-tests");

const FORCED: [&str; 3] = ["OPTIQ_TOPOLOGY=auto", "OPTIQ_ALGORITHM=multipath", "OPTIQ_LOG=info"];
const WORDS: [&str; 4] = ["fault", "few", "300000", "rounds=2"];

type InTheLab = (&'static str, &'static str, fn(&Lab));

fn main() {
    let labs: [InTheLab; 4] = [
        ("one_switch_is_guessed_and_measured", "star:4", one_switch_is_guessed_and_measured),
        ("names_of_one_host", "star:4", names_of_one_host),
        ("a_slow_host_is_not_the_rate", "star:4", a_slow_host_is_not_the_rate),
        ("a_torus_is_no_switch", "torus:4x4", a_torus_is_no_switch),
    ];
    let local: [(&str, fn()); 3] = [
        ("on_one_machine", on_one_machine),
        ("switches_that_slurm_tells", switches_that_slurm_tells),
        ("files_that_a_machine_has", files_that_a_machine_has),
    ];
    let selected = in_lab::begin(local.iter().map(|case| case.0).chain(labs.iter().map(|lab| lab.0)));
    for (name, case) in local.into_iter().filter(|(name, _)| selected.has(name)) {
        case();
        println!("test {name} ... ok");
    }
    for (name, spec, case) in labs.into_iter().filter(|(name, ..)| selected.has(name)) {
        let root = Root(env::temp_dir().join(format!("optiq-guess-{}", std::process::id())));
        match up(spec, &root.0) {
            Ok(lab) => {
                case(&lab);
                lab.down().expect("down");
                println!("test {name} ... ok");
            }
            Err(LabError::Missing(why)) => println!("test {name} ... skipped: {why}"),
            Err(e) => panic!("{e}"),
        }
    }
}

/// Where this test keeps its lab.
struct Root(PathBuf);

impl Drop for Root {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn up(spec: &str, root: &Path) -> Result<Lab, LabError> {
    in_lab::up("guess", &network_at(spec, "100Mbit/s".parse()?)?, root)
}

/// What `ranks` ranks say in the lab; each has found every byte in its place.
fn run(lab: &Lab, ranks: usize, per_host: usize, environment: &[&str], command: &[&str]) -> String {
    let options = RunOptions { timeout: Some(LIMIT), capture: true, ranks_per_host: per_host, ..RunOptions::default() };
    // What is logged as well.
    let merged = ["sh", "-c", "exec \"$@\" 2>&1", "sh"];
    let words = ["env"].iter().chain(environment).chain(&merged).chain(command);
    let program: Vec<OsString> = words.map(OsString::from).collect();
    let outcome = lab.run(&program, &options).expect("run");
    let output = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert_eq!((outcome.end, outcome.status), (End::Exited, 0), "{output}");
    assert_eq!(output.matches("all is well").count(), ranks, "{output}");
    output
}

fn program<'a>(words: &[&'a str]) -> Vec<&'a str> {
    [&[PROGRAM], words].concat()
}

/// The bytes per second that were found.
fn rate(output: &str) -> f64 {
    let line = output
        .lines()
        .find(|l| l.contains("guessed from") && l.contains("links of "))
        .unwrap_or_else(|| panic!("{output}"));
    let text = line.split("links of ").nth(1).and_then(|l| l.split("MB/s").next());
    1e6 * text.and_then(|t| t.parse::<f64>().ok()).unwrap_or_else(|| panic!("{line}"))
}

/// One host is no network: everything goes to MPI, and that is said. Ranks that guess and ranks that do not fall back together.
fn on_one_machine() {
    let mpirun = |environment: &[(&str, &str)], words: &[&str]| {
        let run = common::mpirun(4, Path::new(PROGRAM), words, environment);
        assert!(run.success && run.output.matches("all is well").count() == 4, "{}", run.output);
        run.output
    };
    let auto = [("OPTIQ_TOPOLOGY", "auto"), ("OPTIQ_LOG", "info"), ("OPTIQ_ALGORITHM", "multipath")];
    let output = mpirun(&auto, &WORDS);
    assert!(!output.contains("paths by planner") && !output.contains("network: one switch"), "{output}");
    assert!(output.contains("all ranks are on one host"), "{output}");
    // Told that each rank is a host of its own, OPTIQ measures between them, and serves.
    let output = mpirun(&[&auto[..], &[("OPTIQ_PLACEMENT", "rank:1")]].concat(), &WORDS);
    assert!(output.contains("network: one switch with 4 hosts, guessed from OPTIQ_PLACEMENT"), "{output}");
    assert!(output.contains("paths by planner"), "{output}");
    for (name, value, says) in [
        ("OPTIQ_BACKGROUND", "load.txt", "OPTIQ_BACKGROUND names links of a network that is known"),
        ("OPTIQ_PLACEMENT", "file:ranks.txt", "OPTIQ_TOPOLOGY=auto has no hosts that it could name"),
        ("OPTIQ_MAX_HOSTS", "2", "OPTIQ_MAX_HOSTS raises the limit"),
    ] {
        let place = if name == "OPTIQ_PLACEMENT" { value } else { "rank:1" };
        let output = mpirun(&[&auto[..], &[("OPTIQ_PLACEMENT", place), (name, value)]].concat(), &WORDS);
        assert!(output.contains(says) && !output.contains("paths by planner"), "{output}");
    }
}

/// What four ranks say that are hosts of their own, each with variables of its own: `variables` is a piece of shell in which `$r` is
/// the rank. Every byte is in its place.
fn discovered(variables: &str) -> String {
    let script = format!("r=${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}; export {variables}; exec \"$@\"");
    let environment = [
        ("OPTIQ_TOPOLOGY", "auto"),
        ("OPTIQ_PLACEMENT", "rank:1"),
        ("OPTIQ_LOG", "info"),
        ("OPTIQ_ALGORITHM", "multipath"),
    ];
    let words = [&["-c", &script, "sh", PROGRAM], &WORDS[..]].concat();
    let run = common::mpirun(4, Path::new("sh"), &words, &environment);
    assert!(run.success && run.output.matches("all is well").count() == 4, "{}", run.output);
    assert!(run.output.contains("paths by planner"), "{}", run.output);
    run.output
}

/// Two leaves below one switch, as the ranks' variables say together; and variables that contradict each other.
fn switches_that_slurm_tells() {
    let pattern = "SLURM_TOPOLOGY_ADDR_PATTERN=switch.switch.node";
    let output = discovered(&format!("SLURM_TOPOLOGY_ADDR=top.leaf$((r / 2)).n$r {pattern}"));
    let told = "process-manager found 3 switches with 4 hosts, told by Slurm (SLURM_TOPOLOGY_ADDR)";
    assert_eq!(output.matches(told).count(), 1, "{output}");
    assert!(output.contains("network: 3 switches with 4 hosts, told by Slurm"), "{output}");
    let output = discovered(&format!("SLURM_TOPOLOGY_ADDR=top$((r % 2)).leaf$((r / 2)).n$r {pattern}"));
    let said = "warning: SLURM_TOPOLOGY_ADDR: switch \"leaf0\" is below \"top0\" in the address of \"n0\", and below \"top1\" in that of \
                \"n1\"; it is not used";
    assert_eq!(output.matches(said).count(), 1, "{output}");
    assert!(output.contains("network: one switch with 4 hosts, guessed from OPTIQ_PLACEMENT"), "{output}");
    // The environment of one rank has none.
    let output = discovered(&format!("SLURM_TOPOLOGY_ADDR=$(test $r = 2 || echo top.leaf.n$r) {pattern}"));
    assert!(output.contains("SLURM_TOPOLOGY_ADDR names switches at rank 0 and none at rank 2"), "{output}");
}

/// `OPTIQ_TOPOLOGY_FILES`, on all ranks and on all but one.
fn files_that_a_machine_has() {
    let folder = tempfile();
    let file = folder.0.join("topology.conf");
    fs::write(&file, "SwitchName=a Nodes=n[0-1]\nSwitchName=b Nodes=n[2-3]\nSwitchName=t Switches=a,b\n").unwrap();
    let file = file.display();
    let output = discovered(&format!("OPTIQ_TOPOLOGY_FILES={file}"));
    assert_eq!(output.matches("topology: files found topology.conf (4 hosts, 3 switches)").count(), 1, "{output}");
    let output = discovered(&format!("OPTIQ_TOPOLOGY_FILES=$(test $r = 3 && echo no/such/file || echo {file})"));
    assert!(output.contains("OPTIQ_TOPOLOGY_FILES: topology file no/such/file"), "{output}");
    assert!(output.contains("network: one switch with 4 hosts, guessed from OPTIQ_PLACEMENT"), "{output}");
}

fn one_switch_is_guessed_and_measured(lab: &Lab) {
    let output = run(lab, 8, 2, &FORCED, &program(&WORDS));
    assert!(output.contains("network: one switch with 4 hosts, guessed from processor names"), "{output}");
    assert!(output.contains("paths by planner"), "{output}");
    println!("links of {} B/s in a lab of 12.5 MB/s", rate(&output));
    // A rate that a calibration of this machine has is not measured again; one of another machine is named and not used.
    let folder = tempfile();
    let file = folder.0.join("machine.calibration");
    let record = |topology: &str, fingerprint: &str| {
        let text = format!(
            "latency_seconds = 1e-4\nmeasured_command = \"x\"\nmeasured_at = \"2026-11-23T12:00:00Z\"\nmeasured_version = \"0\"\n\
             measured_mpi_library = \"none\"\nmeasured_ranks = \"4\"\nmeasured_hosts = \"4\"\nmeasured_topology = \"{topology}\"\n\
             measured_network = \"{fingerprint}\"\nmeasured_transport = \"t\"\nmeasured_cases = \"c\"\n"
        );
        fs::write(&file, text).unwrap();
    };
    let calibration = format!("OPTIQ_CALIBRATION={}", file.display());
    let with = [&FORCED[..], &[&calibration]].concat();
    let fingerprint = "00000000000000000000000000000001";
    record("star:8,capacity=7MB/s", fingerprint);
    let output = run(lab, 8, 2, &with, &program(&WORDS));
    assert!(output.contains("links of 7MB/s, as in ") && output.contains("paths by planner"), "{output}");
    record("torus:4x4", fingerprint);
    let output = run(lab, 8, 2, &with, &program(&WORDS));
    assert!(output.contains("is of another machine (torus:4x4, 4 hosts), and is not used"), "{output}");
    assert!(output.contains("measured in") && output.contains("paths by planner"), "{output}");
}

fn tempfile() -> Root {
    let folder = Root(env::temp_dir().join(format!("optiq-guess-files-{}", std::process::id())));
    fs::create_dir_all(&folder.0).unwrap();
    folder
}

/// Ranks of a host that see its name in another case and with a domain: the host stays one.
fn names_of_one_host(lab: &Lab) {
    // A name of its own for every odd rank, which no other rank sees.
    let script = "case $OMPI_COMM_WORLD_RANK in *[13579]) exec unshare --uts sh -c \
                  'hostname $(hostname | tr h H).cluster && exec \"$@\"' sh \"$@\";; *) exec \"$@\";; esac";
    let output = run(lab, 8, 2, &FORCED, &[&["sh", "-c", script, "sh"], &program(&WORDS)[..]].concat());
    assert!(output.contains("network: one switch with 4 hosts"), "{output}");
    if output.contains("differ only in case or domain") {
        assert_eq!(output.matches("differ only in case or domain").count(), 1, "{output}");
    } else {
        println!("MPI does not look at names that are changed late; the names are those of the lab");
    }
}

/// The bytes are right, and the others' links are not taken for slow.
fn a_slow_host_is_not_the_rate(lab: &Lab) {
    for (from, to) in [("h0", "s0"), ("s0", "h0")] {
        lab.set_rate(from, to, "10Mbit/s".parse().unwrap()).expect("set rate");
    }
    let output = run(lab, 4, 1, &FORCED, &program(&WORDS));
    println!("links of {} B/s beside a host of 1.25 MB/s", rate(&output));
    assert!(rate(&output) > 2.5e6, "{output}");
}

/// A wrong guess costs speed and no byte. Pairs that share links are seen, unless the machine is too busy to measure.
fn a_torus_is_no_switch(lab: &Lab) {
    let line = "the network does not look like one switch";
    let seen = (0..3).any(|_| {
        let output = run(lab, 16, 1, &FORCED, &program(&WORDS));
        assert!(output.contains("paths by planner"), "{output}");
        assert!(output.matches(line).count() <= 1, "{output}");
        output.contains(line)
    });
    println!("a torus {} for one switch", if seen { "is not taken" } else { "is taken" });
}

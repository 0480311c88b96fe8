//! `optiq wrap`: what it sets, for whom, and what it becomes. Runs under MPI are in tests/preload.rs.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::process::{Command, Output};

/// A library that can be preloaded into everything: the C library, as this test has loaded it.
fn library() -> String {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let paths = maps.lines().filter_map(|l| l.split_whitespace().nth(5));
    paths.filter(|p| p.contains("libc.so") || p.contains("libc-")).map(str::to_owned).next().unwrap()
}

fn optiq(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_optiq"));
    for (name, _) in std::env::vars().filter(|(n, _)| n.starts_with("OPTIQ_")) {
        command.env_remove(name);
    }
    command.arg("wrap").args(arguments).env_remove("LD_PRELOAD").output().unwrap()
}

fn sentence(arguments: &[&str]) -> String {
    let output = optiq(arguments);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && output.stdout.is_empty() && text.lines().count() == 1, "{text}");
    text
}

#[test]
fn it_becomes_the_command() {
    let library = library();
    let script = "echo $LD_PRELOAD $OPTIQ_TOPOLOGY $OPTIQ_REPORT $OPTIQ_BUDGET; exit 7";
    let output = optiq(&[
        "--library",
        &library,
        "--topology",
        "torus:2x2",
        "--report",
        "--option",
        "OPTIQ_BUDGET=1MiB",
        "--",
        "sh",
        "-c",
        script,
    ]);
    assert_eq!(output.status.code(), Some(7));
    let resolved = std::fs::canonicalize(&library).unwrap();
    let expected = format!("{} torus:2x2 1 1MiB\n", resolved.display());
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
    let output = optiq(&["--library", &library, "--", "sh", "-c", "kill -TERM $$"]);
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&output.status), Some(15));
}

#[test]
fn a_launcher_hands_the_variables_on() {
    let library = library();
    let arguments = ["--library", &library, "--take", "alltoall", "--json", "--", "mpirun.openmpi", "-n", "2", "a"];
    let output = optiq(&arguments);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["launcher"], "openmpi");
    assert!(document["environment"].as_object().unwrap().is_empty());
    let command: Vec<&str> = document["command"].as_array().unwrap().iter().filter_map(|w| w.as_str()).collect();
    assert_eq!(command[..2], ["mpirun.openmpi", "-x"]);
    assert!(command[2].starts_with("LD_PRELOAD=/") && command.contains(&"OPTIQ_PRELOAD=alltoall"), "{command:?}");
    // Nobody has said which network it is.
    assert_eq!(command[5..], ["-x", "OPTIQ_TOPOLOGY=auto", "-n", "2", "a"]);
}

#[test]
fn a_network_that_is_given_wins_over_the_guess() {
    let library = library();
    let folder = tempfile::tempdir().unwrap();
    let conf = folder.path().join("optiq.conf");
    std::fs::write(&conf, "topology = star:3\n").unwrap();
    let topology = |variables: &[(&str, &str)], arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_optiq"));
        for (name, _) in std::env::vars().filter(|(n, _)| n.starts_with("OPTIQ_")) {
            command.env_remove(name);
        }
        command.env("OPTIQ_CONF", "none").envs(variables.iter().copied()).args(["wrap", "--library", &library]);
        let output = command.args(arguments).args(["--", "sh", "-c", "echo $OPTIQ_TOPOLOGY"]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    };
    assert_eq!(topology(&[], &[]), "auto");
    assert_eq!(topology(&[("OPTIQ_TOPOLOGY", " ")], &[]), "auto");
    assert_eq!(topology(&[("OPTIQ_TOPOLOGY", "star:2")], &[]), "star:2");
    assert_eq!(topology(&[("OPTIQ_TOPOLOGY", "star:2")], &["--topology", "auto"]), "auto");
    assert_eq!(topology(&[], &["--topology", "torus:4"]), "torus:4");
    assert_eq!(topology(&[], &["--option", "OPTIQ_TOPOLOGY=torus:5"]), "torus:5");
    // The program reads the file itself.
    assert_eq!(topology(&[("OPTIQ_CONF", conf.to_str().unwrap())], &[]), "");
}

#[test]
fn what_cannot_be_used_is_one_sentence() {
    let library = library();
    let missing = sentence(&["--library", "no/such.so", "--", "true"]);
    assert!(missing.contains("the library no/such.so cannot be used"), "{missing}");
    let text = sentence(&["--library", "Cargo.toml", "--", "true"]);
    assert!(text.contains("is no shared library"), "{text}");
    let topology = sentence(&["--library", &library, "--topology", "tours:4", "--", "true"]);
    assert!(topology.contains("tours"), "{topology}");
    let option = sentence(&["--library", &library, "--option", "OPTIQ_NOTHING=1", "--", "true"]);
    assert!(option.contains("OPTIQ_NOTHING"), "{option}");
    let value = sentence(&["--library", &library, "--take", "bcast", "--", "true"]);
    assert!(value.contains("OPTIQ_PRELOAD is \"bcast\""), "{value}");
    let command = sentence(&["--library", &library]);
    assert!(command.contains("COMMAND"), "{command}");
}

#[test]
fn a_program_that_cannot_be_run_has_the_status_of_a_shell() {
    let library = library();
    for (program, status) in [("no-such-command-of-anybody", 127), ("./no/such/program", 127), ("./Cargo.toml", 126)] {
        let output = optiq(&["--library", &library, "--", program]);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(status), "{text}");
        assert!(
            text.starts_with(&format!("optiq: {program} cannot be started: ")) && text.lines().count() == 1,
            "{text}"
        );
    }
}

/// A file that is taken for a static program: an ELF header with one program header, which loads something. It is no program
/// of this processor, so that what becomes of it is left to the shell.
#[test]
fn nothing_can_be_preloaded_into_a_static_program() {
    use std::os::unix::fs::PermissionsExt;
    let library = library();
    let directory = tempfile::tempdir().unwrap();
    let program = directory.path().join("program");
    let mut bytes = vec![0u8; 120];
    bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
    (bytes[16], bytes[32], bytes[54], bytes[56], bytes[64]) = (2, 64, 56, 1, 1);
    std::fs::write(&program, bytes).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let program = program.to_str().unwrap();
    let output = optiq(&["--library", &library, "--", program]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.contains(&format!("optiq: calls of {program}: none can be taken over, because it is statically linked"))
    );
    assert!(!output.status.success(), "{text}");
    let output = optiq(&["--library", &library, "--json", "--", "mpirun.openmpi", "-n", "2", program, "input"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["statically_linked"], program);
}

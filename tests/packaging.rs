//! The recipes in packaging/: what they would run is what `cargo xtask install` takes. Stand-ins for Spack and EasyBuild are in
//! tests/packaging/recipes.py.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use serde_json::Value;
use std::path::Path;
use std::process::Command;

#[test]
fn recipes_run_an_installation_that_there_is() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let script = root.join("tests/packaging/recipes.py");
    // -B: no compiled copies in the checkout.
    let Ok(output) = Command::new("python3").arg("-B").arg(script).arg(root).output() else {
        println!("skipped: there is no python3");
        return;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let recipes: Value = serde_json::from_slice(&output.stdout).unwrap();

    let help = std::fs::read_to_string(root.join("xtask/src/deploy/mod.rs")).unwrap();
    let words = |line: &Value| -> Vec<String> {
        line.as_array().unwrap().iter().map(|w| w.as_str().unwrap().to_string()).collect()
    };
    let ran: Vec<Vec<String>> = recipes["ran"].as_array().unwrap().iter().map(words).collect();
    assert_eq!(ran[0], ["cargo", "xtask", "install", "--no-install", "--prefix", "/prefix"]);
    assert_eq!(ran[1][6..], ["--no-highs"]);
    assert_eq!(ran[2], ["/prefix/bin/optiq", "info", "--json"]);
    let easyconfig = &recipes["easyconfig"];
    let command = easyconfig["install_cmd"].as_str().unwrap();
    assert!(command.contains(" cargo xtask install --no-install --prefix %(installdir)s"), "{command}");
    for option in ran.concat().iter().map(String::as_str).chain(command.split(' ')).filter(|w| w.starts_with("--")) {
        assert!(option == "--json" || help.contains(&format!("\n  {option} ")), "cargo xtask install has no {option}");
    }

    // The checkout, and this version of it.
    let git = recipes["git"].as_str().unwrap().strip_prefix("file://").unwrap();
    assert_eq!(Path::new(git).canonicalize().unwrap(), root.canonicalize().unwrap());
    assert_eq!(easyconfig["version"], env!("CARGO_PKG_VERSION"));
    let depends = words(&recipes["directives"]["depends_on"]);
    for dependency in ["mpi", "rust@1.88:", "llvm+clang", "cmake@3.15:"] {
        assert!(depends.iter().any(|d| d == dependency), "{dependency} is not among {depends:?}");
    }
    for variables in recipes["environment"].as_array().unwrap() {
        assert!(variables.as_object().unwrap().keys().all(|name| !name.starts_with("OPTIQ_")), "{variables}");
    }
}

//! Which crate may use which, which modules of a crate may use each other, and what ARCHITECTURE.md says about both.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod map;
mod modules;

use modules::{Modules, circles};
use std::collections::BTreeSet;
use std::path::Path;

/// (crate, crates of the workspace that it may use). Data flows one way: network, candidates, plan, schedule,
/// transport. What plans and what moves do not know each other; `optiq` joins them.
const ALLOWED: &[(&str, &[&str])] = &[
    ("optiq-files", &[]),
    ("optiq-measure", &[]),
    ("optiq-net", &["optiq-files"]),
    ("optiq-probe", &["optiq-measure", "optiq-net"]),
    ("optiq-solver", &["optiq-files", "optiq-measure", "optiq-net"]),
    ("optiq-trace", &["optiq-files"]),
    ("optiq-transport", &["optiq-measure", "optiq-trace"]),
    ("optiq-lower", &["optiq-files", "optiq-measure", "optiq-net", "optiq-solver", "optiq-transport"]),
    (
        "optiq-sim",
        &[
            "optiq-files",
            "optiq-lower",
            "optiq-measure",
            "optiq-net",
            "optiq-probe",
            "optiq-solver",
            "optiq-trace",
            "optiq-transport",
        ],
    ),
    ("optiq", &["optiq-lower", "optiq-measure", "optiq-net", "optiq-solver", "optiq-trace", "optiq-transport"]),
    ("optiq-pmpi", &["optiq"]),
    ("optiq-lab", &["optiq-files", "optiq-measure", "optiq-net"]),
    ("optiq-view", &["optiq-measure", "optiq-net", "optiq-solver", "optiq-trace"]),
    (
        "optiq-studies",
        &[
            "optiq",
            "optiq-files",
            "optiq-lower",
            "optiq-measure",
            "optiq-net",
            "optiq-probe",
            "optiq-sim",
            "optiq-solver",
            "optiq-trace",
            "optiq-transport",
            "optiq-view",
        ],
    ),
    (
        "optiq-cli",
        &[
            "optiq",
            "optiq-files",
            "optiq-lab",
            "optiq-lower",
            "optiq-measure",
            "optiq-net",
            "optiq-probe",
            "optiq-sim",
            "optiq-solver",
            "optiq-studies",
            "optiq-trace",
            "optiq-transport",
            "optiq-view",
        ],
    ),
    (
        "tests/mpi",
        &[
            "optiq",
            "optiq-lab",
            "optiq-lower",
            "optiq-net",
            "optiq-pmpi",
            "optiq-solver",
            "optiq-suite",
            "optiq-trace",
            "optiq-transport",
        ],
    ),
    ("xtask", &[]),
];

fn manifest(folder: &str) -> toml::Table {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder).join("Cargo.toml");
    std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display())).parse().unwrap()
}

/// The workspace's crates that a manifest names, in any kind of dependency.
fn edges(manifest: &toml::Table) -> BTreeSet<String> {
    ["dependencies", "dev-dependencies", "build-dependencies"]
        .iter()
        .filter_map(|kind| manifest.get(*kind)?.as_table())
        .flat_map(|t| t.keys().cloned())
        .filter(|name| name == "optiq" || name.starts_with("optiq-"))
        .collect()
}

#[test]
fn crates_use_only_what_they_may() {
    for (name, allowed) in ALLOWED {
        let allowed: BTreeSet<String> = allowed.iter().map(ToString::to_string).collect();
        let found = edges(&manifest(name));
        let more: Vec<_> = found.difference(&allowed).collect();
        assert!(more.is_empty(), "{name} must not use {more:?}");
        let unused: Vec<_> = allowed.difference(&found).collect();
        assert!(unused.is_empty(), "{name} does not use {unused:?}; take the edge off the list");
    }
}

#[test]
fn the_list_covers_the_workspace() {
    let root = manifest("");
    let members = root["workspace"]["members"].as_array().unwrap();
    let members: BTreeSet<&str> = members.iter().filter_map(toml::Value::as_str).collect();
    let listed: BTreeSet<&str> = ALLOWED.iter().map(|(name, _)| *name).collect();
    assert_eq!(members, listed);
}

fn source(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name).join("src")
}

/// Circles that are known, each with the reason why it stays.
const CIRCLES: &[(&str, &[&str], &str)] = &[];

#[test]
fn modules_do_not_use_each_other_in_circles() {
    let mut wrong = Vec::new();
    for (name, _) in ALLOWED {
        let modules = Modules::read(&source(name));
        let edges = modules.edges();
        for circle in circles(&edges) {
            let named: Vec<String> =
                circle.iter().map(|m| if m.is_empty() { "the root".into() } else { m.join("::") }).collect();
            if CIRCLES.iter().any(|(crate_name, members, _)| crate_name == name && *members == named) {
                continue;
            }
            let arrows = circle.iter().map(|m| {
                let to: Vec<String> = edges[m].iter().filter(|t| circle.contains(t)).map(|t| t.join("::")).collect();
                format!("    {} uses {}", m.join("::"), to.join(", "))
            });
            wrong.push(format!("{name}: {}\n{}", named.join(", "), arrows.collect::<Vec<_>>().join("\n")));
        }
    }
    assert!(wrong.is_empty(), "modules use each other in circles:\n{}", wrong.join("\n"));
}

#[test]
fn modules_import_from_where_a_thing_is_defined() {
    let mut wrong = Vec::new();
    for (name, _) in ALLOWED {
        let found = Modules::read(&source(name)).through_root();
        wrong.extend(
            found.iter().map(|u| format!("{name}: {} uses {} through the crate root", u.module.join("::"), u.path)),
        );
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn circles_are_found() {
    let path = |text: &str| text.split("::").map(str::to_owned).collect::<Vec<_>>();
    let edges = |list: &[(&str, &[&str])]| {
        list.iter().map(|(from, to)| (path(from), to.iter().map(|t| path(t)).collect())).collect()
    };
    assert!(circles(&edges(&[("a", &["b", "c"]), ("b", &["c"]), ("c", &[])])).is_empty());
    let found = circles(&edges(&[("a", &["b"]), ("b", &["c::d"]), ("c::d", &["a"]), ("e", &["a"])]));
    assert_eq!(found, [vec![path("a"), path("b"), path("c::d")]]);
}

#[test]
fn only_the_mpi_feature_brings_mpi() {
    // Planning must build on a machine without MPI.
    for name in ["optiq-net", "optiq-solver", "optiq-lab", "xtask"] {
        assert!(!edges_of_any_kind(name).contains("mpi"), "{name} uses mpi");
    }
    for name in ["optiq-transport", "optiq", "optiq-cli"] {
        let table = manifest(name);
        assert_eq!(table["dependencies"]["mpi"]["optional"].as_bool(), Some(true), "{name}");
        let default = table["features"]["default"].as_array().unwrap();
        assert!(default.iter().all(|f| f.as_str() != Some("mpi")), "{name} has mpi by default");
    }
}

fn edges_of_any_kind(name: &str) -> BTreeSet<String> {
    let table = manifest(name);
    table.get("dependencies").and_then(|d| d.as_table()).map(|d| d.keys().cloned().collect()).unwrap_or_default()
}

#[test]
fn files_stay_readable() {
    let mut long = Vec::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if name.ends_with(".rs") {
                let lines = std::fs::read_to_string(&path).unwrap().lines().count();
                if lines > 800 {
                    long.push(format!("{} has {lines} lines", path.display()));
                }
            }
        }
    }
    assert!(long.is_empty(), "{}", long.join("\n"));
}

#[test]
fn no_merge_is_left_half_done() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    let mut folders = vec![root.to_path_buf()];
    while let Some(folder) = folders.pop() {
        for path in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() && name != "target" && !name.starts_with('.') {
                folders.push(path);
            } else if [".rs", ".md", ".toml", ".json", ".c", ".h", ".f90"].iter().any(|end| name.ends_with(end)) {
                let text = std::fs::read_to_string(&path).unwrap();
                if text.lines().any(|l| ["<".repeat(7), ">".repeat(7)].iter().any(|mark| l.starts_with(mark.as_str())))
                {
                    found.push(path.display().to_string());
                }
            }
        }
    }
    assert!(found.is_empty(), "conflict markers in {}", found.join(", "));
}

#[test]
fn the_map_is_right() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("ARCHITECTURE.md")).unwrap();
    let missing = map::missing(&text, root);
    assert!(missing.is_empty(), "ARCHITECTURE.md names files that do not exist: {missing:?}");
    assert!(map::named(&text, root) > 50, "the paths of ARCHITECTURE.md are not found any more");
    let numbers = map::numbers(&text, "\n## Invariants");
    assert!(numbers.len() > 10 && numbers.iter().copied().eq(1..=numbers.len()), "invariants are numbered {numbers:?}");
    let described: BTreeSet<&str> = map::crates(&text).into_iter().collect();
    let listed: BTreeSet<&str> = ALLOWED.iter().map(|(name, _)| *name).collect();
    assert_eq!(described, listed, "the table of crates in ARCHITECTURE.md, and the crates");
}

#[test]
fn bincode_has_the_users_that_the_map_names() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut users = BTreeSet::new();
    for (name, _) in ALLOWED {
        let mut folders = vec![source(name)];
        while let Some(folder) = folders.pop() {
            for path in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
                let text = || std::fs::read_to_string(&path).unwrap();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|e| e == "rs") && text().contains("bincode::config") {
                    users.insert(path.strip_prefix(root).unwrap().display().to_string());
                }
            }
        }
    }
    let named = ["optiq-solver/src/plan/codec.rs", "optiq-trace/src/codec.rs"];
    assert_eq!(users, named.map(String::from).into(), "files that encode by bincode; ARCHITECTURE.md names them");
}

//! `optiq fabric import`: exit statuses, and what its file is to other commands.
#![allow(clippy::unwrap_used, reason = "helpers of tests panic as tests do")]

mod support;

use support::Folder;

/// A file of data/fabrics/.
fn data(name: &str) -> Vec<u8> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../data/fabrics").join(name);
    std::fs::read(path).unwrap()
}

#[test]
fn a_whole_fabric_becomes_a_network_file() {
    let folder = Folder::new("fabric-whole");
    for name in ["ibnetdiscover.txt", "opensm-lfts.dump"] {
        folder.write(name, data(name));
    }
    let text = folder.succeed("fabric import ibnetdiscover.txt opensm-lfts.dump --output net.toml --routes routes.csv");
    assert!(text.contains("pairs of hosts") && text.contains("240, of which 240 arrive"), "{text}");
    let shown = folder.succeed("topology file:net.toml --route node0001 node0016");
    assert!(shown.contains("a table of next hops") && shown.contains("node0001 L-00 S2-1 L-03 node0016"), "{shown}");
    let routes = String::from_utf8(folder.read("routes.csv")).unwrap();
    assert!(routes.contains("node0001,node0016,1>L-00/1 8>S2-1/2 8>L-03/8 4>node0016/1\n"), "{routes}");
}

#[test]
fn what_is_left_out_is_listed_with_status_3() {
    let folder = Folder::new("fabric-cut");
    folder.write("cables.txt", data("ibnetdiscover.txt"));
    let tables = data("opensm-lfts.dump");
    folder.write("tables.txt", &tables[..tables.len() / 2]);
    let arguments = ["fabric", "import", "cables.txt", "tables.txt", "--output", "net.toml", "--json"];
    let output = folder.command(&arguments).output().unwrap();
    assert_eq!(output.status.code(), Some(3), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty());
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["hosts"], 16);
    let number = |key: &str| document[key].as_u64().unwrap();
    assert!(number("pairs_resolved") < 240 && number("pairs_resolved") + number("pairs_unresolved") == 240);
    let listed: u64 = document["unresolved"].as_array().unwrap().iter().map(|u| u["pairs"].as_u64().unwrap()).sum();
    assert_eq!(listed, number("pairs_unresolved"));
    let warnings = document["warnings"].to_string();
    assert!(warnings.contains("as if it were cut") && warnings.contains("no file has its table"), "{warnings}");
    // What is there is a network all the same.
    folder.succeed("topology file:net.toml");
}

#[test]
fn standard_input_and_output_serve() {
    let folder = Folder::new("fabric-pipe");
    folder.write("joined.txt", [data("ibsim.net"), data("opensm-lfts.dump")].concat());
    let input = std::fs::File::open(folder.path("joined.txt")).unwrap();
    let output = folder.command(&["fabric", "import", "-", "--output", "-"]).stdin(input).output().unwrap();
    assert!(output.status.success());
    assert!(String::from_utf8(output.stdout).unwrap().starts_with("# Made by optiq fabric import.\n[network]\n"));
    assert!(String::from_utf8(output.stderr).unwrap().contains("240 arrive"));
}

#[test]
fn an_imported_fabric_is_shown_and_drawn() {
    let folder = Folder::new("fabric-show");
    // A switch without hosts that is joined to both spines, as leaves are.
    let cables = String::from_utf8(data("ibsim.net")).unwrap().replace("Switch\t8 \"S2", "Switch\t10 \"S2");
    folder.write("fabric.net", cables + "\nSwitch 8 \"empty\"\n[1] \"S2-0\"[9]\n[2] \"S2-1\"[9]\n");
    folder.command(&["fabric", "import", "fabric.net", "--output", "net.toml"]).output().unwrap();
    let shown = folder.succeed("fabric show net.toml --svg fabric.svg --report fabric.html --json");
    let document: serde_json::Value = serde_json::from_str(&shown).unwrap();
    let found = ["arrangement", "hosts", "levels", "rails", "unpopulated_leaves"].map(|key| document[key].clone());
    assert_eq!(found, [serde_json::json!("tree"), 16.into(), 2.into(), 1.into(), 1.into()], "{shown}");
    let svg = String::from_utf8(folder.read("fabric.svg")).unwrap();
    assert!(
        svg.starts_with("<svg xmlns=") && svg.contains(">node0001</text>") && svg.contains(">leaf switches</text>")
    );
    assert!(String::from_utf8(folder.read("fabric.html")).unwrap().contains("\"optiq-fabric-picture/1\""));
    // The same lines in another order: the same picture.
    let text = String::from_utf8(folder.read("net.toml")).unwrap();
    let (head, links) = text.split_at(text.find("[[links]]").unwrap());
    let mut tables: Vec<&str> = links.split("[[links]]").skip(1).collect();
    tables.reverse();
    folder.write(
        "turned.toml",
        head.to_owned() + &tables.iter().map(|t| format!("[[links]]{}\n", t.trim_end())).collect::<String>(),
    );
    folder.succeed("fabric show turned.toml --svg turned.svg");
    assert_eq!(svg, String::from_utf8(folder.read("turned.svg")).unwrap());
}

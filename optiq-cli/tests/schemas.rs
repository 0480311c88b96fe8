//! Every command's JSON document against the JSON Schema that is installed for it, `optiq-cli/schemas/`: what is required is
//! there, what is there has its type, and no key is without an entry in the schema.
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests panic as tests do")]

mod support;

use serde_json::Value;
use std::path::Path;
use support::Folder;

/// The schema that a document names.
fn schema_of(document: &Value) -> Value {
    let id = document["schema"].as_str().unwrap_or_else(|| panic!("there is no schema in {document}"));
    let name = id.strip_prefix("optiq-").and_then(|id| id.split_once('/')).unwrap().0;
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas").join(format!("{name}.json"));
    let text = std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
    let schema: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(schema["$id"], id, "{}", file.display());
    schema
}

fn has_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the schema has a type \"{other}\""),
    }
}

/// The part of JSON Schema that ours use. Keys that a schema does not have are mistakes here, though not to readers: a later
/// version of OPTIQ may add some.
fn check(value: &Value, schema: &Value, at: &str) {
    if let Some(constant) = schema.get("const") {
        assert_eq!(value, constant, "{at}");
    }
    match &schema["type"] {
        Value::String(name) => assert!(has_type(value, name), "{at} is {value}; {name} is expected"),
        Value::Array(names) => {
            let known = names.iter().filter_map(Value::as_str).any(|name| has_type(value, name));
            assert!(known, "{at} is {value}; {names:?} are expected");
        }
        _ => {}
    }
    if let Some(object) = value.as_object() {
        for key in schema["required"].as_array().into_iter().flatten() {
            assert!(object.contains_key(key.as_str().unwrap()), "{at} has no {key}");
        }
        for (key, inner) in object {
            let known = schema["properties"].get(key).or_else(|| schema.get("additionalProperties"));
            let known = known.unwrap_or_else(|| panic!("{at}.{key} is not in the schema"));
            check(inner, known, &format!("{at}.{key}"));
        }
    }
    for (i, inner) in value.as_array().into_iter().flatten().enumerate() {
        check(inner, &schema["items"], &format!("{at}[{i}]"));
    }
}

/// A document's name with its version.
fn id_of(name: &str) -> String {
    let version = if name == "profile-rank" { 2 } else { 1 };
    format!("optiq-{name}/{version}")
}

/// Checks what a command printed; other text may follow the document.
fn valid(name: &str, text: &str) {
    let document = serde_json::Deserializer::from_str(text).into_iter::<Value>().next();
    let document = document.unwrap_or_else(|| panic!("{name}: nothing")).unwrap_or_else(|e| panic!("{name}: {e}"));
    assert_eq!(document["schema"], id_of(name));
    check(&document, &schema_of(&document), name);
}

/// Two jobs each: three sets of them, and a sweep; a table of probes, and a demand.
fn write_job_files(folder: &Folder) {
    folder.write("t.toml", include_str!("../../fuzz/corpus/probe_table/seed-small"));
    folder.write("one.txt", "0 3 1MB\n");
    let pairs = "hosts = 4\nprogram = \"pairs,message=4KB\"\n";
    let io = "hosts = 2\nservers = \"spread-target:2\"\nprogram = \"io-write,request=1MB\"\n";
    folder.write(
        "two.toml",
        format!("network = \"fattree:2x4:1x2\"\n[[job]]\nname = \"a\"\n{pairs}[[job]]\nname = \"b\"\n{io}"),
    );
    let many = "hosts = 8\nprogram = \"pairs,message=4KB,samples=5\"\n";
    folder.write(
        "three.toml",
        format!(
            "network = \"fattree:4x4:1x2\"\n[[job]]\nname = \"a\"\n{many}[[job]]\nname = \"b\"\n{io}measured = false\n"
        ),
    );
    let exchange = "hosts = 4\nplacement = \"contiguous\"\nprogram = \"alltoallv,message=64KB,samples=2\"\n";
    folder.write(
        "cures.toml",
        format!(
            "network = \"fattree:2x4:1x2\"\n[[job]]\nname = \"a\"\n{exchange}[[job]]\nname = \"b\"\n{io}samples = 3\n"
        ),
    );
    let swept = "[sweep]\n\"job.a.program.think\" = [\"0\", \"1us\"]\n";
    folder.write(
        "sweep.toml",
        format!("network = \"fattree:2x4:1x2\"\n[[job]]\nname = \"a\"\n{pairs}[[job]]\nname = \"b\"\n{io}{swept}"),
    );
}

/// The files of two ranks, with all ways of moving bytes, twice.
fn write_profile(folder: &Folder) {
    std::fs::create_dir(folder.path("other")).unwrap();
    for rank in 0..2u32 {
        let rows = serde_json::json!([[1 - rank, 2, 1000]]);
        let region = |name: &str| {
            let (put, got) = (&rows, &rows);
            serde_json::json!({
                "name": name, "entries": 1, "seconds": 0.25, "sent": rows, "put": put, "got": got,
                "files": {"reads": 1, "read_bytes": 8, "writes": 1, "written_bytes": 9},
            })
        };
        let mut at_call_site = region("solve");
        at_call_site["call_site"] = 0.into();
        let file = serde_json::json!({
            "schema": "optiq-profile-rank/2", "job": "1", "rank": rank, "ranks": 2, "host": format!("h{rank}"),
            "library": "Open MPI v4.1.4", "source": {"name": "pml_monitoring", "collectives": true}, "complete": true,
            "unmatched_ends": 0, "merged_entries": 0,
            "interfaces": [{"name": "eth0", "sent_bytes": 1, "received_bytes": 2}],
            "connections": [{"interface": "eth0", "peer": "10.0.0.1", "connections": 1, "sent_bytes": 3, "received_bytes": 4}],
            "call_sites": [{"module": "/gone/app", "base": 0, "address": 32}],
            "regions": [region(""), region("solve"), at_call_site],
        });
        folder.write(&format!("optiq-profile-{rank:05}.json"), file.to_string());
        folder.write(&format!("other/optiq-profile-{rank:05}.json"), file.to_string());
    }
}

/// Small files of several kinds.
fn write_small_files(folder: &Folder) {
    folder.write("buffers.toml", "[router]\nbuffer_bytes = 65536\nlocal_buffer_bytes = 16384\n");
    folder.write("background.txt", "* * 10%\n");
    folder.write("ring.goal", "num_ranks 2\nrank 0 {\nl1: send 8b to 1\n}\nrank 1 {\nl1: recv 8b from 0\n}\n");
    folder
        .write("tree.conf", "SwitchName=s0 Nodes=a[1-2]\nSwitchName=s1 Nodes=b[1-2]\nSwitchName=s2 Switches=s[0-1]\n");
}

/// A program without a dynamic loader: the header of a 64-bit one with one program header, which loads something.
fn write_static_program(folder: &Folder) {
    let mut program = [0; 120];
    program[..6].copy_from_slice(b"\x7fELF\x02\x01");
    (program[16], program[32], program[54], program[56], program[64]) = (2, 64, 56, 1, 1);
    folder.write("static", program);
}

#[test]
fn documents_are_as_their_schemas_say() {
    let folder = Folder::new("schemas");
    write_small_files(&folder);
    write_static_program(&folder);
    write_job_files(&folder);
    write_profile(&folder);
    let library = std::env::current_exe().unwrap();
    let wrap = format!("wrap --library {} --topology torus:2x2 --json -- mpirun.openmpi -n 2 true", library.display());
    let profile_run = wrap.replace("wrap", "profile").replace(" --topology torus:2x2", "");
    let wrap_static = format!("wrap --library {} --json -- ./static", library.display());
    for (name, line) in [
        ("topology", "topology torus:4x4,io=0@2GB/s+10 --route h0 h5 --neighbours h0 --json"),
        ("topology", "topology fattree:k=4 --html t.html --json"),
        ("fabric-import", "fabric import tree.conf --output fabric.toml --routes fabric.csv --json"),
        ("paths", "paths --topology torus:4x4 --from h0 --to h5 --k 3 --json"),
        ("paths", "paths --topology torus:4x4 --hosts 0-3 --output p.paths --json"),
        (
            "plan",
            "plan --topology torus:4x4 --demands pattern:random,count=9,classes=2 --background background.txt --html a.html \
                  --output a.plan --links l.csv --time-limit 10 --json",
        ),
        ("plan", "plan --topology torus:4x4,capacity=2GB/s --demands pattern:disjoint --planner heu2 --compare --json"),
        ("plan", "plan --topology torus:4x4 --paths p.paths --demands one.txt --compare --json"),
        (
            "plan",
            "plan --topology fattree:2x2:1x2,rails=2 --demands pattern:alltoall --output b.plan --links l.json --json",
        ),
        ("explain", "explain b.plan --topology fattree:2x2:1x2,rails=2 --html e.html --json"),
        ("explain", "explain --topology torus:4x4 --demands pattern:overlap --background background.txt --json"),
        ("transfers-plan", "transfers plan --topology torus:2x2 --to 0 --bytes 750KB --output b.jobs --json"),
        ("transfers-show", "transfers show b.jobs --json"),
        (
            "simulate",
            "simulate --topology torus:4x4 --demands pattern:subset --message 16kB --compare --series s.csv --queues q.csv --json",
        ),
        ("simulate", "simulate --topology torus:4x4 --demands pattern:subset --message 16kB --routing adaptive --json"),
        (
            "simulate",
            "simulate --topology star:4 --demands pattern:alltoall --message 16kB --model buffers.toml --json",
        ),
        ("simulate-jobs", "simulate --jobs three.toml --report j.html --json"),
        ("simulate-jobs", "simulate --jobs two.toml --only alone --seed 4 --json"),
        ("sweep", "sweep sweep.toml --output swept --json"),
        ("sweep-plan", "sweep sweep.toml --plan-only --json"),
        ("probe-predict", "probe predict t.toml --html slowdowns.html --json"),
        ("throttle", "throttle --jobs two.toml --target slowdown=1.5 --json"),
        ("cures", "cures --jobs cures.toml --json"),
        ("postcards-record", "postcards record --jobs two.toml --one-in 2 --lost 5% --output p.postcards --json"),
        ("postcards-join", "postcards join p.postcards --report p.html --json"),
        ("interfere", "interfere --jobs two.toml --advise --seeds 1 --json"),
        ("congestion", "congestion --topology star:10 --samples 2 --json"),
        ("simulate-goal", "simulate --topology star:2 --goal ring.goal --json"),
        ("reproduce", "reproduce O4 --nodes 512 --output r --json"),
        ("wrap", &wrap),
        ("profile-run", &profile_run),
        ("profile", "profile show . --json"),
        ("profile", "profile show . --region solve --json"),
        ("traffic", "traffic --topology fattree:2x2:1x1 --profile . --region solve --what-if plan --json"),
        ("traffic", "traffic --topology torus:2x2 --profile . --profile other --one-sided add --json"),
        ("fabric-show", "fabric show fattree:2x2:1x1,rails=2 --json"),
        ("fabric-show", "fabric show dragonfly+:p=2,l=2,s=2,h=2 --svg d.svg --report d.html --json"),
        ("wrap", &wrap_static),
        ("info", "info --json"),
        ("info-options", "info -cf --json"),
        ("info-constants", "info --constants --json"),
        ("info-discovery", "info --discovery --json"),
        ("info-scores", "info --scores --topology torus:4x4 --json"),
        ("generate", "generate conf --output g --json"),
    ] {
        valid(name, &folder.succeed(line));
    }
    // Tables that lead nowhere: exit status 3.
    folder.write("cables.txt", "Switch 4 \"s\"\n[1] \"a\"[1]\n[2] \"b\"[1]\n\nHca 1 \"a\"\n\nHca 1 \"b\"\n");
    folder
        .write("tables.txt", "Unicast lids [0-9] of switch Lid 1 guid 0x01 (s):\n0x0002 001 # CA portguid 0x11: 'a'\n");
    let output = folder.command(&["fabric", "import", "cables.txt", "tables.txt", "--json"]).output().unwrap();
    valid("fabric-import", &String::from_utf8(output.stdout).unwrap());
    valid("profile-rank", &String::from_utf8(folder.read("optiq-profile-00001.json")).unwrap());
    let run = std::fs::read_dir(folder.path("swept/runs")).unwrap().next().unwrap().unwrap().path();
    valid("sweep-run", &std::fs::read_to_string(run).unwrap());
    valid("plan-links", &String::from_utf8(folder.read("l.json")).unwrap());
}

/// The command writes the files of this directory, and all of them; each is the schema that its name says.
#[test]
fn schemas_are_installed() {
    let folder = Folder::new("schemas-installed");
    folder.succeed("generate schemas --output schemas");
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas");
    let mut names: Vec<_> = std::fs::read_dir(&directory).unwrap().map(|e| e.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(std::fs::read_dir(folder.path("schemas")).unwrap().count(), names.len());
    for name in names {
        let name = name.to_str().unwrap();
        let written = folder.read(&format!("schemas/{name}"));
        assert_eq!(written, std::fs::read(directory.join(name)).unwrap(), "{name}");
        let schema: Value = serde_json::from_slice(&written).unwrap();
        let id = id_of(name.trim_end_matches(".json"));
        assert_eq!(
            (&schema["$id"], &schema["properties"]["schema"]["const"]),
            (&Value::from(id.clone()), &Value::from(id))
        );
    }
}

#[cfg(feature = "mpi")]
mod under_mpirun {
    use super::{Folder, valid};

    /// What rank 0 prints.
    fn printed(folder: &Folder, ranks: &str, line: &str, variables: &[(&str, &str)]) -> String {
        let mut command = folder.mpirun("mpirun");
        command.args(["-n", ranks, env!("CARGO_BIN_EXE_optiq")]).args(line.split_whitespace());
        let output = command.envs(variables.iter().copied()).output().unwrap();
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn documents_of_measurements() {
        let folder = Folder::new("schemas-mpi");
        folder.succeed("transfers plan --topology star:2 --to 0 --bytes 75KB --output b.jobs");
        let placed = [
            ("OPTIQ_TOPOLOGY", "star:2,io=0"),
            ("OPTIQ_PLACEMENT", "rank"),
            ("OPTIQ_TRACE", "traces"),
            ("OMPI_MCA_io", "ompio"),
        ];
        for (name, line) in [
            ("bench-alltoallv", "bench alltoallv --message 100kB --repetitions 2 --force --json"),
            ("bench-calls", "bench calls --message 100kB --calls 2 --json"),
            (
                "bench-classes",
                "bench classes --bulk-message 100kB --urgent pattern:random,count=1 --repetitions 1 --json",
            ),
            ("bench-alltoallv-cases", "bench alltoallv --message 1B,10B --repetitions 2 --json"),
            ("bench-io", "bench io --repetitions 2 --least 7KB --most 8KB --json"),
            ("bench-job", "bench job --program alltoall,message=10KB,samples=2 --json"),
            ("probe-run", "probe impact --interval 1ms --samples 30 --json"),
            ("probe-run", "probe compression --samples 3 --json"),
            ("probe-run", "probe link --interval 1ms --samples 3 --json"),
            ("probe-run", "probe proxy VPFFT --samples 1 --json"),
        ] {
            valid(name, &printed(&folder, "2", line, &placed));
        }
        let own = printed(&folder, "2", "transfers run b.jobs --repetitions 1 --json", &placed[1..2]);
        valid("transfers-run", &own);
        let calibrate = "calibrate --topology torus:2x2,capacity=10MB/s --output try.cal --repetitions 1 --json";
        valid("calibrate", &printed(&folder, "4", calibrate, &[("OPTIQ_PLACEMENT", "rank:1")]));
        valid("trace", &folder.succeed("trace traces --pair 0:1 --json"));
    }

    /// Where a lab is possible.
    #[test]
    fn documents_of_a_lab() {
        let folder = Folder::new("schemas-lab");
        let up = folder.run("lab up --name schemas --topology torus:2x2 --lifetime 120 --json");
        if !up.status.success() {
            let said = String::from_utf8_lossy(&up.stderr).into_owned();
            assert!(said.contains("namespace") || said.contains("is not installed"), "{said}");
            println!("skipped: {said}");
            return;
        }
        valid("lab", &String::from_utf8(up.stdout).unwrap());
        let jobs = "[[job]]\nname = \"a\"\nplacement = \"hosts:0-1\"\nprogram = \"pairs,message=10KB,samples=2\"\n[[job]]\nname = \"b\"\n\
                    placement = \"hosts:2-3\"\nprogram = \"uniform,message=10KB\"\nmeasured = false\n";
        folder.write("jobs.toml", format!("network = \"torus:2x2,capacity=100Mbit/s\"\n{jobs}"));
        folder.write("other.toml", format!("network = \"torus:2x2\"\n{jobs}"));
        let other = folder.run("lab jobs other.toml --name schemas");
        let said = String::from_utf8_lossy(&other.stderr).into_owned();
        assert_eq!(other.status.code(), Some(2), "{said}");
        assert!(
            said.contains("its network is torus:2x2,") && said.contains("but the lab is torus:2x2,capacity"),
            "{said}"
        );
        for (name, line) in [
            ("lab-jobs", "lab jobs jobs.toml --name schemas --repetitions 1 --json"),
            (
                "lab-jobs",
                "lab jobs jobs.toml --name schemas --repetitions 1 --only-together --samples --no-simulation --json",
            ),
            ("lab-outcomes", "lab run --name schemas --json --job a@h0=true --job b@h1=true"),
            ("lab-load", "lab load --name schemas --json --flow h0:h1=1Mbit/s --seconds 0.1"),
            ("lab-counters", "lab counters --name schemas --json"),
            ("lab-links", "lab rate --name schemas --json h0 h1 10Mbit/s"),
            ("lab-list", "lab status --json"),
            ("lab-outcome", "lab run --name schemas --json -- true"),
            ("lab-down", "lab down --name schemas --json"),
        ] {
            let output = folder.run(line);
            assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
            valid(name, &String::from_utf8(output.stdout).unwrap());
        }
        valid("demo", &folder.succeed("demo --topology torus:2x2 --repetitions 1 --message 100kB --json"));
    }
}

//! The Fortran modules as Fortran programs see them, with each of MPI's three interfaces: compiled from source with the
//! MPI wrapper of gfortran, and run under `mpirun`. A program checks itself, and says "all is well" on rank 0.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

#[cfg(feature = "mpi")]
mod common;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn source(file: &str) -> String {
    fs::read_to_string(root().join(file)).unwrap()
}

#[cfg(feature = "mpi")]
mod programs {
    use super::*;
    use std::path::PathBuf;
    use std::process::Command;
    use std::sync::OnceLock;

    const MODULES: [&str; 2] = ["optiq/fortran/optiq.f90", "optiq/fortran/optiq_f08.f90"];
    /// What our own code has to stand. A program with `mpif.h` cannot: the library's file is of an older kind.
    const STRICT: [&str; 5] = ["-std=f2018", "-pedantic", "-Wall", "-Wextra", "-Werror"];
    const INTERFACES: [&str; 3] = ["mpifh", "usempi", "usempif08"];
    const PLACED: (&str, &str) = ("OPTIQ_PLACEMENT", "rank");
    const TORUS: (&str, &str) = ("OPTIQ_TOPOLOGY", "torus:4x4");
    const MULTIPATH: (&str, &str) = ("OPTIQ_ALGORITHM", "multipath");

    fn folder() -> PathBuf {
        PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("fortran")
    }

    /// Runs the compiler in the directory that the modules are in.
    fn compiler(arguments: &[&str]) {
        let wrapper = common::mpifort();
        let output = Command::new(wrapper).current_dir(folder()).args(arguments).output().expect("the wrapper starts");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Compiles a program and links it with the modules and the shared library.
    fn build(name: &str, file: &str, flags: &[&str]) {
        let library = common::library().display().to_string();
        let (file, rpath) = (root().join(file), format!("-Wl,-rpath,{library}"));
        let link = ["-o", name, file.to_str().unwrap(), "optiq.o", "optiq_f08.o", "-L", &library, "-loptiq", &rpath];
        compiler(&[flags, &link].concat());
    }

    /// Compiles the modules and all programs, once; false, with a word about it, where there is no Fortran compiler.
    fn ready() -> bool {
        static READY: OnceLock<bool> = OnceLock::new();
        *READY.get_or_init(|| {
            fs::create_dir_all(folder()).unwrap();
            let trial = folder().join("trial.f90");
            fs::write(&trial, "program trial\n  use mpi_f08\n  call MPI_Init()\nend program\n").unwrap();
            let wrapper = common::mpifort();
            let tried = Command::new(&wrapper).current_dir(folder()).args(["-o", "trial", "trial.f90"]).output();
            if !tried.is_ok_and(|o| o.status.success()) {
                println!("skipped: {wrapper} does not compile a Fortran program that uses mpi_f08");
                return false;
            }
            for module in MODULES {
                compiler(&[&STRICT[..], &["-c", root().join(module).to_str().unwrap()]].concat());
            }
            for name in INTERFACES {
                let flags: &[&str] = if name == "mpifh" { &["-Wall"] } else { &STRICT };
                build(name, &format!("tests/fortran/{name}.f90"), flags);
            }
            build("plan", "tests/fortran/plan.f90", &STRICT);
            for name in ["alltoallv", "aggregate"] {
                build(name, &format!("examples/{name}.f90"), &STRICT);
            }
            true
        })
    }

    fn run(name: &str, ranks: u32, arguments: &[&str], environment: &[(&str, &str)]) -> common::Run {
        common::mpirun(ranks, &folder().join(name), arguments, environment)
    }

    /// A self-checking program ends well.
    fn passes(name: &str, ranks: u32, arguments: &[&str], environment: &[(&str, &str)]) {
        let run = run(name, ranks, arguments, environment);
        let well = run.success && run.output.contains("all is well");
        assert!(well, "{name} {arguments:?} on {ranks} ranks {environment:?}:\n{}", run.output);
    }

    /// A directory for the files of one program.
    fn directory(name: &str) -> String {
        let directory = folder().join(format!("{name}-files"));
        fs::create_dir_all(&directory).unwrap();
        directory.to_str().unwrap().to_string()
    }

    #[test]
    fn exchanges_of_all_kinds() {
        for name in INTERFACES.into_iter().filter(|_| ready()) {
            passes(name, 16, &["served"], &[PLACED, TORUS, MULTIPATH]);
            passes(name, 5, &["plain"], &[]);
        }
    }

    #[test]
    fn in_place_before_any_call_of_mpi() {
        for name in INTERFACES.into_iter().filter(|_| ready()) {
            passes(name, 4, &["early"], &[]);
            passes(name, 4, &["early"], &[PLACED, ("OPTIQ_TOPOLOGY", "torus:2x2"), MULTIPATH]);
        }
    }

    #[test]
    fn jobs_and_everything_of_table_iv() {
        for name in INTERFACES.into_iter().filter(|_| ready()) {
            passes(name, 16, &["jobs", &directory(name)], &[PLACED, TORUS]);
        }
    }

    #[test]
    fn files_by_way_of_the_io_hosts() {
        for name in INTERFACES.into_iter().filter(|_| ready()) {
            let directory = directory(name);
            // Where it ends matters, and opening a file does not shorten it.
            let _ = fs::remove_file(format!("{directory}/file.dat"));
            // MPI itself may count more numbers than there are before the end.
            let options = [PLACED, ("OPTIQ_TOPOLOGY", "torus:2x2,io=0+3"), ("OPTIQ_ALGORITHM", "multipath")];
            passes(name, 4, &["files", &directory], &options);
        }
    }

    #[test]
    fn an_error_without_a_status_argument_ends_the_program() {
        for name in INTERFACES.into_iter().filter(|_| ready()) {
            let run = run(name, 2, &["fails", &directory(name)], &[]);
            assert!(!run.success, "{}", run.output);
            for text in
                ["said before the end", "optiq: error: optiq_job_read_jobs_from_file: ", "none.txt: No such file"]
            {
                assert!(run.output.contains(text), "{text}: {}", run.output);
            }
            assert!(!run.output.contains("not so"), "{}", run.output);
        }
    }

    #[test]
    fn source_example_1() {
        if !ready() {
            return;
        }
        let run_ = run("alltoallv", 16, &["1000000"], &[PLACED, TORUS, MULTIPATH]);
        assert!(run_.success && run_.output.contains("all bytes are right; served by"), "{}", run_.output);
        assert!(run_.output.contains("paths by planner"), "{}", run_.output);
        for ranks in [1, 3] {
            let run = run("alltoallv", ranks, &["1000"], &[]);
            assert!(run.success && run.output.contains("right; served by MPI_Alltoallv"), "{}", run.output);
        }
    }

    #[test]
    fn source_example_2() {
        if !ready() {
            return;
        }
        let directory = directory("aggregate");
        let (jobs, output) = (format!("{directory}/jobs"), format!("{directory}/out.dat"));
        let _ = fs::remove_file(&output);
        passes("plan", 16, &[&jobs], &[PLACED, TORUS]);
        let run = run("aggregate", 16, &[&jobs, &output], &[PLACED, TORUS]);
        assert!(run.success && run.output.contains("paths by planner jobs"), "{}", run.output);
        let expected: Vec<u8> =
            (0..16u64).flat_map(|r| vec![r as u8; 700_000 + (r as usize * 7919) % 100_000]).collect();
        assert!(fs::read(&output).unwrap() == expected, "the file is not the one that MPI_File_write_at would make");
    }
}

/// A parameter: its type without `const`, whether it is an address, and its name.
type Parameter = (String, bool, String);

/// The functions of the header: by name, what they return and take.
fn of_the_header() -> BTreeMap<String, (String, Vec<Parameter>)> {
    let header = source("optiq/include/optiq.h");
    // Without comments and directives.
    let mut text = String::new();
    let mut rest = header.as_str();
    while let Some((before, after)) = rest.split_once("/*") {
        text += before;
        rest = after.split_once("*/").map_or("", |(_, behind)| behind);
    }
    text += rest;
    let lines = text.lines().map(|l| l.split("//").next().unwrap()).filter(|l| !l.starts_with('#'));
    let text = lines.collect::<Vec<_>>().join(" ");
    let mut functions = BTreeMap::new();
    for statement in text.split([';', '{', '}']) {
        // A member of a struct that is a function.
        if statement.contains("(*") {
            continue;
        }
        let Some((head, parameters)) = statement.split_once('(') else { continue };
        let (returned, name) = head.trim().rsplit_once([' ', '*']).unwrap();
        let parameter = |p: &str| {
            let words = p.replace("const ", "");
            let (of, name) = words.trim().rsplit_once([' ', '*']).unwrap();
            let is_address = words.contains('*');
            (of.replace('*', "").trim().to_string(), is_address, name.trim().to_lowercase())
        };
        let parameters = parameters.trim().trim_end_matches(')');
        let parameters = parameters.split(',').filter(|p| p.trim() != "void").map(parameter).collect();
        functions.insert(name.to_string(), (returned.trim().to_string(), parameters));
    }
    functions
}

/// The interfaces of the module: by the name in C, what each function returns and takes, and the module's own name for it.
fn of_the_module() -> BTreeMap<String, (String, Vec<Parameter>, String)> {
    let text = source("optiq/fortran/optiq_c.inc").replace("&\n", " ");
    let mut interfaces = BTreeMap::new();
    let mut lines = text.lines().map(str::trim);
    while let Some(line) = lines.next() {
        let Some(head) = line.strip_prefix("function ") else { continue };
        let (name, rest) = head.split_once('(').unwrap();
        let (arguments, rest) = rest.split_once(')').unwrap();
        let label = rest.split('"').nth(1).unwrap().to_string();
        let result = rest.rsplit_once("result(").unwrap().1.trim_end_matches(')');
        let mut types = BTreeMap::new();
        for line in lines.by_ref().take_while(|l| *l != "end function") {
            let Some((of, names)) =
                line.split_once(" :: ").filter(|_| !line.starts_with(['!', 'i']) || line.starts_with("integer"))
            else {
                continue;
            };
            for name in names.split(',') {
                let kind = of.split(", ").next().unwrap();
                types.insert(name.trim().to_lowercase(), (kind.to_string(), !of.contains("value")));
            }
        }
        let parameter = |name: &str| {
            let name = name.trim().to_lowercase();
            let (of, is_address) = types.get(&name).unwrap_or_else(|| panic!("{label}: {name} has no type")).clone();
            (of, is_address, name)
        };
        let parameters = arguments.split(',').filter(|a| !a.trim().is_empty()).map(parameter).collect();
        interfaces.insert(label, (types[result].0.clone(), parameters, name.to_string()));
    }
    interfaces
}

/// Fortran's word for a type of C's.
fn fortran(c: &str) -> String {
    match c {
        "int" | "MPI_Comm" | "MPI_Datatype" | "MPI_File" | "MPI_Info" | "MPI_Status" => "integer(c_int)".into(),
        "int64_t" | "MPI_Offset" => "integer(c_int64_t)".into(),
        "uintptr_t" => "integer(c_size_t)".into(),
        "double" => "real(c_double)".into(),
        "char" => "character(kind=c_char)".into(),
        "void" => "type(*)".into(),
        handle if handle.starts_with("optiq_") => format!("type({handle})"),
        other => panic!("{other}: which type is that in Fortran?"),
    }
}

/// Functions that Fortran has no form of: their table is one of functions with C's calling convention.
const ONLY_IN_C: [&str; 1] = ["optiq_set_transport"];

#[test]
fn the_module_has_every_function_of_the_header() {
    let (header, module) = (of_the_header(), of_the_module());
    assert!(header.len() > 40, "{:?}", header.keys());
    let text = source("optiq/fortran/optiq.f90");
    let public: Vec<&str> = text
        .lines()
        .filter_map(|l| l.trim().strip_prefix("public ::"))
        .flat_map(|l| l.split(','))
        .map(str::trim)
        .collect();
    for (name, (returned, parameters)) in header.iter().filter(|(name, _)| !ONLY_IN_C.contains(&name.as_str())) {
        // Handles of MPI's are integers in Fortran: such functions have a form for it.
        let own = name.replacen("optiq_", "optiq_fortran_", 1);
        let has_handles = parameters.iter().any(|(of, ..)| of.starts_with("MPI_"));
        let label = if has_handles { &own } else { name };
        let (result, taken, _) = module.get(label).unwrap_or_else(|| panic!("optiq_c.inc has no {label}, for {name}"));
        assert_eq!(result, if returned == "int" { "integer(c_int)" } else { "type(c_ptr)" }, "{name}");
        // `main`'s arguments are none of Fortran's.
        if name != "optiq_init" {
            let expected: Vec<Parameter> =
                parameters.iter().map(|(of, is_address, n)| (fortran(of), *is_address, n.clone())).collect();
            assert_eq!(taken, &expected, "{name}");
        }
        // The form for 64 bits is behind the same name as the other.
        let offered = name.trim_end_matches("_c");
        assert!(public.contains(&offered), "optiq.f90 does not offer {offered}");
    }
    for label in module.keys() {
        let plain = label.replacen("optiq_fortran_", "optiq_", 1);
        let known = header.contains_key(&plain) || header.contains_key(plain.trim_end_matches("_c"));
        assert!(known || label == "strlen", "optiq_c.inc has {label}, which optiq.h does not know");
    }
}

#[test]
fn the_module_has_every_constant_of_the_header() {
    let (header, module) = (source("optiq/include/optiq.h"), source("optiq/fortran/optiq.f90"));
    let mut found = 0;
    for line in header.lines().map(str::trim) {
        let Some((name, value)) = line.strip_suffix(',').and_then(|l| l.split_once(" = ")) else { continue };
        found += 1;
        let declared = format!("integer(c_int), parameter, public :: {name} = {value}");
        assert!(module.lines().any(|l| l.trim() == declared), "optiq.f90 has no line \"{declared}\"");
    }
    assert!(found >= 14, "{found}");
}

#[test]
fn both_modules_take_handles_in_the_same_places() {
    // Whatever takes a communicator as an integer takes one of mpi_f08 as well.
    let f08 = source("optiq/fortran/optiq_f08.f90");
    for (name, (_, parameters)) in of_the_header() {
        if parameters.iter().any(|(of, ..)| of.starts_with("MPI_")) {
            let interface = format!("interface {}", name.trim_end_matches("_c"));
            assert!(f08.lines().any(|l| l.trim() == interface), "optiq_f08.f90 has no \"{interface}\"");
        }
    }
}

//! The test of an installed tree: programs of its users, built and run away from the checkout.
//!
//! A prefix and copies of the projects in tests/install are in a temporary directory. What they know of OPTIQ they have from
//! variables that a module file sets. The libraries are built without HiGHS, which alone compiles for minutes.

use super::layout::PRELOADED;
use super::options::{Build, Options};
use super::place;
use crate::failure::{Failure, Outcome};
use crate::mpi::Library;
use crate::process::{self, Project};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Far above what a program takes, in seconds.
const TIMEOUT: &str = "120";

/// How the libraries are compiled here: a second time, as cargo-c shares no objects with cargo, so in the shortest time.
pub const FAST_BUILD: &[&str] =
    &["--release", "--config=profile.release.opt-level=1", "--config=profile.release.debug=false"];

/// Some of what must be there, beside the header and the libraries that the programs use.
const EXPECTED: &[&str] = &[
    "bin/optiq",
    "include/optiq.h",
    "lib/liboptiq.a",
    "lib/liboptiq.so",
    "lib/pkgconfig/optiq.pc",
    "share/bash-completion/completions/optiq",
    "share/fish/vendor_completions.d/optiq.fish",
    "share/man/man1/optiq.1",
    "share/man/man1/optiq-plan.1",
    "share/man/man3/optiq_alltoallv.3",
    "share/man/man3/optiq_init.3",
    "share/man/man5/optiq.conf.5",
    "share/man/man7/optiq-topology.7",
    "share/optiq/examples/optiq.conf",
    "share/optiq/examples/topologies/ring4.toml",
    "share/optiq/install-manifest.txt",
    "share/optiq/schemas/plan.json",
    "share/zsh/site-functions/_optiq",
];

/// Installs into a temporary prefix and runs all checks; `passed` counts them.
pub fn test(project: &Project, library: Library, command: Build, install: bool, passed: &mut u64) -> Outcome {
    let folder = tempfile::Builder::new()
        .prefix("optiq-install-test-")
        .tempdir()
        .map_err(|e| Failure::Failed(format!("no temporary folder can be made: {e}")))?;
    let options = Options {
        prefix: folder.path().join("prefix"),
        libdir: "lib".into(),
        destdir: None,
        library: Some(library),
        command,
        libraries: Build { highs: false, cargo_options: FAST_BUILD },
        install,
    };
    place::check_writable(&options.prefix)?;
    super::run(project, &options)?;
    let user = User { project, library, folder: folder.path(), prefix: &options.prefix };
    let mut check = |title: &str, action: &dyn Fn() -> Outcome| {
        process::step(title, action)?;
        *passed += 1;
        Ok(())
    };
    check("the tree is whole and does not know the checkout", &|| user.tree())?;
    check("a C program by pkg-config, with the shared and the static library", &|| user.c())?;
    check("a C program by CMake", &|| user.cmake("cmake"))?;
    check("a Fortran program by CMake", &|| user.cmake("fortran"))?;
    check("it is uninstalled without a rest", &|| {
        place::remove(&options.prefix)?;
        if fs::read_dir(&options.prefix).is_ok_and(|mut left| left.next().is_some()) {
            return Err(Failure::Failed(format!("something is left in {}", options.prefix.display())));
        }
        Ok(())
    })
}

/// Somebody who has only the installed tree.
struct User<'a> {
    project: &'a Project,
    library: Library,
    folder: &'a Path,
    prefix: &'a Path,
}

impl User<'_> {
    /// A program in the user's directory, with the variables of the module file and of the MPI library.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>, folder: &Path) -> Command {
        let mut command = Command::new(program);
        for (name, _) in env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO") || text.starts_with("OPTIQ_") {
                command.env_remove(name);
            }
        }
        let lib = self.prefix.join("lib");
        command.env("LD_LIBRARY_PATH", &lib).env("PKG_CONFIG_PATH", lib.join("pkgconfig"));
        command.env("CMAKE_PREFIX_PATH", self.prefix).current_dir(folder);
        command.envs(self.library.environment());
        command
    }

    /// A copy of a project, whose name is that of its folder in tests/install.
    fn copy(&self, name: &str) -> Outcome<PathBuf> {
        let (from, to) = (self.project.root().join("tests/install"), self.folder.join(name));
        let copied = || {
            fs::create_dir_all(&to)?;
            for entry in fs::read_dir(from.join(name))? {
                let path = entry?.path();
                fs::copy(&path, to.join(path.file_name().unwrap_or_default()))?;
            }
            fs::copy(from.join("c/client.c"), to.join("client.c")).map(drop)
        };
        copied().map_err(|e| Failure::Failed(format!("project {name} cannot be copied: {e}")))?;
        Ok(to)
    }

    fn tree(&self) -> Outcome {
        let expected = EXPECTED.iter().map(ToString::to_string);
        let preloaded = PRELOADED.iter().map(|file| format!("lib/{file}"));
        let missing: Vec<_> = expected.chain(preloaded).filter(|f| !self.prefix.join(f).exists()).collect();
        if !missing.is_empty() {
            return Err(Failure::Failed(format!("not installed: {missing:?}")));
        }
        let manifest = fs::read_to_string(self.prefix.join(place::MANIFEST)).unwrap_or_default();
        let checkout = self.project.root().to_string_lossy().into_owned();
        for file in manifest.lines() {
            // Programs and libraries have the checkout's paths in their debug information.
            let text = fs::read_to_string(self.prefix.join(file)).unwrap_or_default();
            for word in [checkout.as_str(), "@VERSION@", "@PREFIX@", "@LIBDIR@", "@UP@", "@SONAME@"] {
                if text.contains(word) {
                    return Err(Failure::Failed(format!("{file} has \"{word}\" in it")));
                }
            }
        }
        process::capture(self.command(self.prefix.join("bin/optiq"), self.folder).args(["info", "--json"])).map(drop)
    }

    fn c(&self) -> Outcome {
        let folder = self.copy("c")?;
        let wrapper: OsString = self.library.compiler().unwrap_or_else(|| "mpicc".into());
        process::run(self.command("make", &folder).env("MPICC", wrapper))?;
        self.run(&folder.join("client"), true)?;
        self.run(&folder.join("client-static"), false)
    }

    fn cmake(&self, name: &str) -> Outcome {
        let folder = self.copy(name)?;
        let build = folder.join("build");
        let define = |name: &str, value: OsString| {
            let mut word = OsString::from(format!("-D{name}="));
            word.push(value);
            word
        };
        let mut configure = self.command("cmake", &folder);
        configure.args(["-S", ".", "-B", "build", "-DCMAKE_BUILD_TYPE=Release"]);
        configure.arg(define("MPI_C_COMPILER", self.library.compiler().unwrap_or_else(|| "mpicc".into())));
        if name == "fortran" {
            configure.arg(define("MPI_Fortran_COMPILER", self.library.fortran_compiler()));
        }
        process::capture(&mut configure)?;
        process::capture(self.command("cmake", &folder).args(["--build", "build"]))?;
        self.run(&build.join("client"), true)?;
        for (other, shared) in [("client_f08", true), ("client-static", false)] {
            if build.join(other).exists() {
                self.run(&build.join(other), shared)?;
            }
        }
        Ok(())
    }

    /// Runs a client on 4 ranks over planned paths. `shared` says whether it must take the installed shared library.
    fn run(&self, program: &Path, shared: bool) -> Outcome {
        let libraries = process::capture(self.command("ldd", self.folder).arg(program))?;
        let line = libraries.lines().find(|l| l.contains("liboptiq.so."));
        let installed = self.prefix.to_string_lossy();
        if line.is_some() != shared || line.is_some_and(|l| !l.contains(installed.as_ref())) {
            return Err(Failure::Failed(format!("{} is linked with {line:?}", program.display())));
        }
        let launcher = self.library.launcher().unwrap_or_else(|| "mpirun".into());
        let mut command = self.command("timeout", self.folder);
        command.arg(TIMEOUT).arg(launcher).args(["-n", "4"]).arg(program);
        command.env("OPTIQ_TOPOLOGY", "torus:4").env("OPTIQ_PLACEMENT", "rank:1").env("OPTIQ_ALGORITHM", "multipath");
        command.stdin(Stdio::null()).stderr(Stdio::inherit());
        let output = process::capture(&mut command)?;
        print!("{output}");
        if output.contains("client: all bytes are right") {
            Ok(())
        } else {
            Err(Failure::Failed(format!("{} said: {output}", program.display())))
        }
    }
}

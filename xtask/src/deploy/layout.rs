//! What is installed besides cargo-c's part, and where.

use super::cargo_c;
use super::options::Options;
use crate::failure::{Failure, Outcome};
use crate::process::{self, Project};
use std::fs;
use std::path::{Path, PathBuf};

/// Shared objects that are preloaded, not linked, into the library directory.
pub const PRELOADED: &[&str] = &["liboptiq_pmpi.so"];

/// Files of the checkout: (from, to below the prefix), as they are. A folder means the files in it.
const COPIED: &[(&str, &str)] = &[
    ("examples/alltoallv.c", "share/optiq/examples/alltoallv.c"),
    ("examples/aggregate.c", "share/optiq/examples/aggregate.c"),
    ("examples/alltoallv.f90", "share/optiq/examples/alltoallv.f90"),
    ("examples/aggregate.f90", "share/optiq/examples/aggregate.f90"),
    ("examples/topologies", "share/optiq/examples/topologies"),
    ("optiq/fortran", "share/optiq/fortran"),
    ("LICENSE", "share/doc/optiq/LICENSE"),
    ("README.md", "share/doc/optiq/README.md"),
];

/// Files of packaging/templates with words between @ to fill in; (from, to), where LIB stands for the library directory
/// and VERSION for the version.
const TEMPLATES: &[(&str, &str)] = &[
    ("OPTIQConfig.cmake.in", "LIB/cmake/OPTIQ/OPTIQConfig.cmake"),
    ("OPTIQConfigVersion.cmake.in", "LIB/cmake/OPTIQ/OPTIQConfigVersion.cmake"),
    ("modulefile.in", "share/optiq/modulefiles/optiq/VERSION"),
    ("modulefile.lua.in", "share/optiq/modulefiles/optiq/VERSION.lua"),
];

/// Where the command's completions go: (as it writes them, below the prefix).
const COMPLETIONS: &[(&str, &str)] = &[
    ("optiq.bash", "share/bash-completion/completions/optiq"),
    ("_optiq", "share/zsh/site-functions/_optiq"),
    ("optiq.fish", "share/fish/vendor_completions.d/optiq.fish"),
];

const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Builds the command, and what is preloaded.
pub fn build_command(project: &Project, options: &Options) -> Outcome {
    let highs: &[&str] = if options.command.highs { &[] } else { &["--no-default-features"] };
    // All of the workspace in one build, so that its crates have one set of features.
    let what = [options.command.cargo_options, &["--workspace", "--lib", "--bin", "optiq", "--features", "mpi"], highs]
        .concat();
    process::run(project.cargo("build", what).envs(options.environment()))
}

/// Puts everything that cargo-c did not into the stage; `staged` is the prefix there.
pub fn complete(project: &Project, options: &Options, staged: &Path) -> Outcome {
    let root = project.root();
    let lib = staged.join(&options.libdir);
    copy(&project.program("optiq"), &staged.join("bin/optiq"))?;
    for file in PRELOADED {
        copy(&project.program(file), &lib.join(file))?;
    }
    for (from, to) in COPIED {
        copy_all(&root.join(from), &staged.join(to))?;
    }
    pages(project, options, staged)?;
    let words = Words::new(options, &lib)?;
    for (from, to) in TEMPLATES {
        let file = root.join("packaging/templates").join(from);
        let text = fs::read_to_string(&file).map_err(|e| failed(&file, "read", &e))?;
        let to = to.replace("LIB", &options.libdir.to_string_lossy()).replace("VERSION", VERSION);
        write(&staged.join(to), &words.fill(&text))?;
    }
    Ok(())
}

/// The command's own manual pages, completions and sample configuration.
fn pages(project: &Project, options: &Options, staged: &Path) -> Outcome {
    let generate = |what: &str, folder: &Path| {
        let mut command = project.command(project.program("optiq"));
        command.args(["generate", what, "--output"]).arg(folder).envs(options.environment());
        process::capture(&mut command).map(drop)
    };
    generate("man", &staged.join("share/man"))?;
    generate("conf", &staged.join("share/optiq/examples"))?;
    generate("schemas", &staged.join("share/optiq/schemas"))?;
    let folder = staged.join("completions");
    generate("completions", &folder)?;
    for (from, to) in COMPLETIONS {
        copy(&folder.join(from), &staged.join(to))?;
    }
    process::remove_all(&folder)
}

/// The words that templates have between @.
struct Words(Vec<(&'static str, String)>);

impl Words {
    fn new(options: &Options, lib: &Path) -> Outcome<Self> {
        let depth = options.libdir.components().count() + 2;
        let private = cargo_c::private_libraries(&lib.join("pkgconfig/optiq.pc"))?;
        Ok(Words(vec![
            ("@VERSION@", VERSION.into()),
            ("@PREFIX@", options.prefix.to_string_lossy().into()),
            ("@LIBDIR@", options.libdir.to_string_lossy().into()),
            ("@UP@", vec![".."; depth].join("/")),
            ("@SONAME@", soname(lib)?),
            ("@PRIVATE_LIBRARIES@", private.join(";")),
        ]))
    }

    fn fill(&self, text: &str) -> String {
        self.0.iter().fold(text.to_string(), |text, (word, value)| text.replace(word, value))
    }
}

/// The name that programs are linked with: that of the link to the library which is not the plain one.
fn soname(lib: &Path) -> Outcome<String> {
    let links = fs::read_dir(lib).map_err(|e| failed(lib, "read", &e))?.flatten().filter(|e| e.path().is_symlink());
    links
        .map(|e| e.file_name().to_string_lossy().into_owned())
        .find(|name| name.starts_with("liboptiq.so."))
        .ok_or_else(|| Failure::Failed(format!("cargo-c made no liboptiq.so with a version in {}", lib.display())))
}

fn copy_all(from: &Path, to: &Path) -> Outcome {
    if !from.is_dir() {
        return copy(from, to);
    }
    for entry in fs::read_dir(from).map_err(|e| failed(from, "read", &e))? {
        let path = entry.map_err(|e| failed(from, "read", &e))?.path();
        copy_all(&path, &to.join(path.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

fn copy(from: &Path, to: &Path) -> Outcome {
    folder_of(to)?;
    fs::copy(from, to)
        .map(drop)
        .map_err(|e| Failure::Failed(format!("{} cannot be copied to {}: {e}", from.display(), to.display())))
}

fn write(to: &Path, text: &str) -> Outcome {
    folder_of(to)?;
    fs::write(to, text).map_err(|e| failed(to, "written", &e))
}

fn folder_of(file: &Path) -> Outcome {
    let folder: PathBuf = file.parent().unwrap_or(Path::new("/")).into();
    fs::create_dir_all(&folder).map_err(|e| failed(&folder, "made", &e))
}

fn failed(path: &Path, what: &str, error: &std::io::Error) -> Failure {
    Failure::Failed(format!("{} cannot be {what}: {error}", path.display()))
}

//! `cargo xtask install` and `uninstall`: OPTIQ below a prefix, as C, Fortran and administrators expect it.
//!
//! The libraries, the header and the pkg-config file are cargo-c's work ([`cargo_c`]); the command writes its own manual
//! pages and completions; the rest are files of the checkout with some words filled in ([`layout`]). Everything is put
//! together below the target directory first and then copied as a whole ([`place`]), so that nothing half installed is
//! ever below the prefix. [`clients`] checks an installed tree with programs of its users.

mod cargo_c;
pub mod clients;
mod layout;
pub mod options;
mod place;

use crate::args::Args;
use crate::failure::{Failure, Outcome};
use crate::install::Needs;
use crate::mpi::Library;
use crate::process::{self, Project};
use crate::requirements::{BUILD, BUILD_BARE, MPICH, OPEN_MPI};
use options::{Build, Options, below};
use std::path::{Component, Path, PathBuf};

const HELP: &str = "\
cargo xtask install --prefix DIR [OPTIONS]

Builds OPTIQ and installs it below DIR: libraries, header, pkg-config and CMake files, Fortran source, the command, manual
pages, shell completions, environment modules, examples. What is there from an earlier installation is replaced. cargo-c
builds the libraries; if it is not there, it is built once, in target/tools (two minutes on two cores).

  --prefix DIR    where to; a directory that need not be there yet
  --libdir DIR    where the libraries go, below the prefix (lib)
  --destdir DIR   put everything below DIR instead of /, for packages; the files still name the prefix
  --mpi NAME      openmpi or mpich; by default the library of MPICC or, without that, of mpicc
  --no-highs      without HiGHS, and with it without the planner `lp`, which saves minutes
  --no-install    install no system packages; if something is missing, name the packages and exit with status 2

Example:

  cargo xtask install --prefix $HOME/optiq";

const UNINSTALL: &str = "\
cargo xtask uninstall --prefix DIR [--destdir DIR]

Removes what `cargo xtask install` put below DIR, by the list in DIR/share/optiq/install-manifest.txt.

Example:

  cargo xtask uninstall --prefix $HOME/optiq";

pub fn install(arguments: &[String]) -> Outcome {
    let Some(mut args) = Args::new("install", HELP, arguments) else { return Ok(()) };
    let (mut prefix, mut libdir, mut destdir, mut named) = (None, PathBuf::from("lib"), None, None);
    let (mut highs, mut install) = (true, true);
    while let Some(flag) = args.next()? {
        match flag.as_str() {
            "--prefix" => prefix = Some(absolute("install --prefix", &args.value(&flag)?)?),
            "--destdir" => destdir = Some(absolute("install --destdir", &args.value(&flag)?)?),
            "--libdir" => libdir = args.value(&flag)?.into(),
            "--mpi" => {
                named = match args.value(&flag)?.as_str() {
                    "openmpi" => Some(Library::OpenMpi),
                    "mpich" => Some(Library::Mpich),
                    other => {
                        return Err(Failure::Usage(format!(
                            "install --mpi is \"{other}\", and openmpi or mpich is expected"
                        )));
                    }
                }
            }
            "--no-highs" => highs = !args.switch(&flag)?,
            "--no-install" => install = !args.switch(&flag)?,
            _ => return Err(args.unknown(&flag)),
        }
    }
    let Some(prefix) = prefix else {
        return Err(Failure::Usage("install needs --prefix DIR; cargo xtask install --help tells more".into()));
    };
    let libdir = below_prefix(&prefix, libdir)?;
    let library = match named {
        Some(library) => Some(library),
        None => Library::in_front(),
    };
    let build = Build { highs, cargo_options: &["--release"] };
    let options = Options { prefix, libdir, destdir, library, command: build, libraries: build, install };
    let mut needs = match options.library {
        Some(Library::OpenMpi) => Needs::default().required(OPEN_MPI),
        Some(Library::Mpich) => Needs::default().required(MPICH),
        // A wrapper of another library; the build finds out whether it does.
        None => Needs::default(),
    };
    needs = needs.required(if highs { BUILD } else { BUILD_BARE });
    place::check_writable(&options.root())?;
    needs.meet(install)?;
    let manifest = run(&Project::locate()?, &options)?;
    println!("installed {} files below {}", manifest.len(), options.root().display());
    println!(
        "to use them: module use {0}/share/optiq/modulefiles && module load optiq, or PATH={0}/bin:$PATH \
         PKG_CONFIG_PATH={0}/{1}/pkgconfig",
        options.prefix.display(),
        options.libdir.display()
    );
    Ok(())
}

pub fn uninstall(arguments: &[String]) -> Outcome {
    let Some(mut args) = Args::new("uninstall", UNINSTALL, arguments) else { return Ok(()) };
    let (mut prefix, mut destdir) = (None, None);
    while let Some(flag) = args.next()? {
        match flag.as_str() {
            "--prefix" => prefix = Some(absolute("uninstall --prefix", &args.value(&flag)?)?),
            "--destdir" => destdir = Some(absolute("uninstall --destdir", &args.value(&flag)?)?),
            _ => return Err(args.unknown(&flag)),
        }
    }
    let Some(prefix) = prefix else {
        return Err(Failure::Usage("uninstall needs --prefix DIR".into()));
    };
    let root = below(destdir.as_deref(), &prefix);
    let removed = place::remove(&root)?;
    println!("removed {removed} files below {}", root.display());
    Ok(())
}

/// Builds and installs. Gives the paths of what was installed, below the prefix.
pub fn run(project: &Project, options: &Options) -> Outcome<Vec<PathBuf>> {
    // The MPI crates do not notice a change of library, so each has a target directory.
    let aside = (options.library == Some(Library::Mpich)).then(|| project.aside("mpich"));
    let builds = aside.as_ref().unwrap_or(project);
    let stage = builds.target().join("install-stage");
    process::remove_all(&stage)?;
    let staged = below(Some(&stage), &options.prefix);
    let library = cargo_c::Stage { project: builds, stage: &stage, options };
    let tool = cargo_c::tool(project, options.install)?;
    process::step("build the libraries with cargo-c", || library.build(&tool))?;
    process::step("build the command", || layout::build_command(builds, options))?;
    process::step(&format!("install below {}", options.root().display()), || {
        layout::complete(builds, options, &staged)?;
        let manifest = place::copy(&staged, &options.root())?;
        process::remove_all(&stage)?;
        Ok(manifest)
    })
}

/// An absolute path that can stand in files of shells, pkg-config and modules.
fn absolute(option: &str, value: &str) -> Outcome<PathBuf> {
    let refuse = |why: &str| Failure::Usage(format!("{option} is \"{value}\", and {why}"));
    if value.is_empty() {
        return Err(refuse("a directory is expected"));
    }
    if value.chars().any(|c| c.is_whitespace() || "\"'\\$`;".contains(c)) {
        return Err(refuse("white space, quotation marks, $ and ; cannot stand in the files that will name it"));
    }
    let path = std::path::absolute(value).map_err(|e| refuse(&format!("the working directory cannot be read: {e}")))?;
    if path.components().any(|c| c == Component::ParentDir) {
        return Err(refuse("a path without .. is expected"));
    }
    Ok(path)
}

/// The library directory as a path below the prefix.
fn below_prefix(prefix: &Path, libdir: PathBuf) -> Outcome<PathBuf> {
    let relative = libdir.strip_prefix(prefix).unwrap_or(&libdir);
    let plain = relative.components().all(|c| matches!(c, Component::Normal(_)));
    let text = relative.to_string_lossy();
    if !plain || text.is_empty() || text.chars().any(|c| c.is_whitespace() || "\"'\\$`;".contains(c)) {
        let found = libdir.display();
        return Err(Failure::Usage(format!(
            "install --libdir is \"{found}\", and a directory below the prefix is expected, such as lib64"
        )));
    }
    Ok(relative.to_path_buf())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stage_stands_before_the_prefix() {
        assert_eq!(below(Some(Path::new("/s/t")), Path::new("/opt/optiq")), Path::new("/s/t/opt/optiq"));
        assert_eq!(below(None, Path::new("/opt/optiq")), Path::new("/opt/optiq"));
    }

    #[test]
    fn prefixes_that_would_break_files_are_refused() {
        for value in ["", "a b", "/opt/$x", "/opt/../etc", "a;b", "it's"] {
            let refused = absolute("install --prefix", value);
            assert!(matches!(&refused, Err(Failure::Usage(text)) if text.contains("--prefix")), "{value}: {refused:?}");
        }
        assert!(absolute("install --prefix", "here").is_ok_and(|p| p.is_absolute() && p.ends_with("here")));
    }

    #[test]
    fn libraries_go_below_the_prefix() {
        let of = |libdir: &str| below_prefix(Path::new("/opt/optiq"), libdir.into()).ok();
        assert_eq!(of("lib/x86_64-linux-gnu"), Some("lib/x86_64-linux-gnu".into()));
        assert_eq!(of("/opt/optiq/lib64"), Some("lib64".into()));
        for libdir in ["/usr/lib", "../lib", "", "/opt/optiq", "my lib"] {
            assert_eq!(of(libdir), None, "{libdir}");
        }
    }
}

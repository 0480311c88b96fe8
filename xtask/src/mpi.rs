//! The MPI libraries that OPTIQ is tested with, and how a build is told which.
//!
//! Two libraries on one machine have programs of the same names (`mpicc`, `mpirun`), of which one is in front; Debian has
//! each of them under a name of its own as well. A build goes by the compiler wrapper in `MPICC`.

use crate::failure::Outcome;
use crate::process::{self, Project};
use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// An MPI library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Library {
    OpenMpi,
    Mpich,
}

impl Library {
    /// The name for messages.
    pub fn name(self) -> &'static str {
        match self {
            Library::OpenMpi => "Open MPI",
            Library::Mpich => "MPICH",
        }
    }

    /// The compiler wrapper: what `MPICC` says, `mpicc`, or what Debian calls it, whichever is of this library.
    pub fn compiler(self) -> Option<OsString> {
        let names = match self {
            Library::OpenMpi => ["mpicc", "mpicc.openmpi"],
            Library::Mpich => ["mpicc.mpich", "mpicc"],
        };
        env::var_os("MPICC").into_iter().chain(names.map(OsString::from)).find(|c| self.is_of(c))
    }

    /// Whether a compiler wrapper finds this library's `mpi.h`, by a macro that only this library defines.
    fn is_of(self, compiler: &OsString) -> bool {
        let mut command = Command::new(compiler);
        command.args(["-E", "-dM", "-include", "mpi.h", "-x", "c", "/dev/null"]);
        let Ok(output) = command.stdin(Stdio::null()).stderr(Stdio::null()).output() else { return false };
        let wanted = match self {
            Library::OpenMpi => "OPEN_MPI",
            Library::Mpich => "MPICH_NUMVERSION",
        };
        output.status.success() && defines(&String::from_utf8_lossy(&output.stdout), wanted)
    }

    /// The library of the compiler wrapper that a build takes by itself: that of `MPICC`, or `mpicc`. None if it is another
    /// library's; Open MPI if there is no wrapper.
    pub fn in_front() -> Option<Self> {
        let front = env::var_os("MPICC").unwrap_or_else(|| "mpicc".into());
        let found = [Library::OpenMpi, Library::Mpich].into_iter().find(|l| l.is_of(&front));
        let works =
            || process::succeeds(Command::new(&front).args(["-E", "-include", "mpi.h", "-x", "c", "/dev/null"]));
        found.or_else(|| (!works()).then_some(Library::OpenMpi))
    }

    /// The Fortran compiler wrapper that belongs to the C compiler wrapper.
    pub fn fortran_compiler(self) -> OsString {
        let compiler = self.compiler().unwrap_or_else(|| "mpicc".into());
        let path = PathBuf::from(&compiler);
        let name = path.file_name().unwrap_or_default().to_string_lossy().replacen("mpicc", "mpifort", 1);
        path.with_file_name(name).into()
    }

    /// Whether the launcher is there.
    pub fn has_launcher(self) -> bool {
        self.launcher().is_some()
    }

    /// The launcher.
    pub fn launcher(self) -> Option<PathBuf> {
        let names = match self {
            Library::OpenMpi => ["mpirun.openmpi", "mpirun"],
            Library::Mpich => ["mpiexec.hydra", "mpirun.mpich"],
        };
        names.iter().find_map(|n| process::find(n))
    }

    /// The variables that a build and its tests need where the user has not set them.
    pub fn environment(self) -> Vec<(OsString, OsString)> {
        let mut variables: Vec<(OsString, OsString)> = match self {
            Library::OpenMpi => OPEN_MPI.iter().map(|&(n, v)| (n.into(), v.into())).collect(),
            // [`yielding`] is for its ranks only, not for what is built.
            Library::Mpich => Vec::new(),
        };
        variables.retain(|(name, _)| env::var_os(name).is_none());
        // `mpicc` is what a build takes anyway. Where that is another library's, or MPICC names another, it must be told.
        if let Some(compiler) = self.compiler().filter(|c| c != "mpicc" || env::var_os("MPICC").is_some()) {
            variables.push(("MPICC".into(), compiler));
        }
        variables
    }
}

/// Open MPI as a test machine needs it: as root, with more ranks than processors, which must not spin, and without the
/// copies between processes that containers forbid.
const OPEN_MPI: [(&str, &str); 5] = [
    ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
    ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
    ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
    ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
    ("OMPI_MCA_mpi_yield_when_idle", "1"),
];

/// The variable in which tests find [`yielding`]'s library; `tests/common/mod.rs` reads it.
const YIELDS: &str = "MPICH_YIELD_LIBRARY";

/// Builds the library that lets MPICH's ranks yield while they wait, in the target directory; the variable that names it to tests.
pub fn yielding(project: &Project) -> Outcome<(OsString, OsString)> {
    let (source, library) = (project.root().join("xtask/src/ucx_yield.c"), project.target().join("ucx_yield.so"));
    let mut compiler = project.command("cc");
    compiler
        .args(["-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", "-o"])
        .arg(&library)
        .arg(&source)
        .arg("-ldl");
    process::run(&mut compiler)?;
    Ok((YIELDS.into(), library.into()))
}

/// Whether a list of `#define NAME VALUE` lines has the name.
fn defines(macros: &str, name: &str) -> bool {
    macros.lines().any(|l| l.strip_prefix("#define ").is_some_and(|d| d.split_whitespace().next() == Some(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_told_by_a_macro_of_that_very_name() {
        let macros = "#define OMPI_MPI_H \n#define OPEN_MPI 1\n#define NOT_MPICH_NUMVERSION 3\n";
        assert!(defines(macros, "OPEN_MPI"));
        assert!(!defines(macros, "MPICH_NUMVERSION") && !defines(macros, "OPEN") && !defines("", "OPEN_MPI"));
    }

    #[test]
    fn a_compiler_that_is_not_there_is_of_no_library() {
        for library in [Library::OpenMpi, Library::Mpich] {
            assert!(!library.is_of(&"no-such-mpicc".into()), "{library:?}");
        }
    }
}

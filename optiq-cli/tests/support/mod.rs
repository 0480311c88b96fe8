//! What the tests of the command share: a directory of their own, and the built binary run in it.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// A directory for one test, empty at first, and removed at its end.
pub struct Folder(TempDir);

impl Folder {
    pub fn new(name: &str) -> Self {
        let mut builder = tempfile::Builder::new();
        // A test that fails leaves its files to be looked at.
        let folder = builder.prefix(&format!("{name}-")).tempdir_in(env!("CARGO_TARGET_TMPDIR"));
        Folder(folder.unwrap())
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        fs::write(self.path(name), contents).unwrap();
    }

    #[allow(dead_code, reason = "not every test program asks")]
    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.path(name)).unwrap()
    }

    /// Names of everything in the directory.
    #[allow(dead_code, reason = "not every test program asks")]
    pub fn names(&self) -> Vec<String> {
        let mut names: Vec<String> =
            fs::read_dir(self.0.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The command with these words, in this directory, with nothing to read and its output to be collected.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_optiq"));
        command.args(words).current_dir(self.0.path()).env_remove("OPTIQ_LOG").env("XDG_RUNTIME_DIR", self.0.path());
        // Options of a file that this machine may have are not the test's.
        command.env("OPTIQ_CONF", "none");
        command.stdin(Stdio::null());
        command
    }

    /// `launcher`, an `mpirun` of Open MPI, in this directory, with nothing to read and no variable of OPTIQ's.
    #[allow(dead_code, reason = "not every test program has ranks")]
    pub fn mpirun(&self, launcher: &str) -> Command {
        let mut command = Command::new(launcher);
        command.args(["--oversubscribe", "--mca", "btl_vader_single_copy_mechanism", "none"]);
        command.current_dir(self.0.path()).stdin(Stdio::null());
        for (name, _) in std::env::vars().filter(|(n, _)| n.starts_with("OPTIQ_")) {
            command.env_remove(name);
        }
        command.env("OPTIQ_CONF", "none").env("OMPI_MCA_mpi_yield_when_idle", "1");
        command.env("OMPI_ALLOW_RUN_AS_ROOT", "1").env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1");
        // Each job's own, also of two in one test: see `tests/common/mod.rs`.
        let sessions = tempfile::Builder::new().prefix("mpirun-").disable_cleanup(true).tempdir_in(self.0.path());
        command.env("OMPI_MCA_orte_tmpdir_base", sessions.unwrap().path());
        command
    }

    /// Runs the command with the words of `line`.
    pub fn run(&self, line: &str) -> Output {
        self.command(&line.split_whitespace().collect::<Vec<_>>()).output().unwrap()
    }

    /// Runs it, which must succeed and write nothing to standard error, and returns what it printed.
    #[allow(dead_code, reason = "not every test program asks")]
    pub fn succeed(&self, line: &str) -> String {
        let output = self.run(line);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && error.is_empty(), "optiq {line}: {} {error}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.0.disable_cleanup(std::thread::panicking());
    }
}

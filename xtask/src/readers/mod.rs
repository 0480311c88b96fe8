//! README and book, followed as an administrator, the author of an application and a network researcher would.
//!
//! Each of them has a directory of their own, an environment without anything of the checkout or of the caller's, the
//! system's programs, an MPI program, and what the documents tell them to install. Where root runs this, the checkout and what was built
//! in it are hidden from their commands, so that an installed tree that needs either is noticed. A command must end with
//! status 0; where the document says what it shows, that must be in its output.
//!
//! Which blocks they run, the comments before them say ([`markdown`]); optiq-cli/tests/book.rs runs the blocks with
//! prompts, and requires that all others say who runs them or why they are not run.

mod markdown;

use crate::deploy::options::{Build, Options};
use crate::deploy::{self, clients};
use crate::failure::{Failure, Outcome};
use crate::mpi::Library;
use crate::process::{self, Project};
use crate::requirements::namespaces_are_permitted;
use markdown::Block;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The words that comments use.
const READERS: [&str; 3] = ["administrator", "author", "researcher"];

/// Far above what a command takes, in seconds.
const TIMEOUT: &str = "300";

const PRELUDE: &str = include_str!("prelude.sh");

/// Where documents have programs of all users; a reader's own directory stands for it.
const FOR_ALL: &str = "/opt/optiq";

/// Where their shells look for the system's programs.
const SEARCHED: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Follows the documents as each reader in turn; `passed` counts commands.
pub fn test(project: &Project, library: Library, command: Build, install: bool, passed: &mut u64) -> Outcome {
    let documents = documents(project.root())?;
    let folder = tempfile::Builder::new()
        .prefix("optiq-readers-")
        .tempdir()
        .map_err(|e| Failure::Failed(format!("no temporary folder can be made: {e}")))?;
    for name in READERS {
        process::step(&format!("follow README and book as {name}"), || {
            let reader = Reader::new(project, library, command, install, name, &folder.path().join(name))?;
            let mut theirs = documents.iter().filter(|(_, block)| block.readers.iter().any(|r| r == name));
            let outcome = theirs.try_for_each(|(document, block)| {
                *passed += reader.follow(document, block)?;
                Ok(())
            });
            if outcome.is_err() {
                // A lab would outlast the directory that its state is in. There may be none.
                let _ = reader.run(name, "optiq lab down");
            }
            outcome
        })?;
    }
    Ok(())
}

/// The blocks of README and book that somebody runs, in the order of the book's contents, each with its document's name.
fn documents(root: &Path) -> Outcome<Vec<(String, Block)>> {
    let book = Path::new("docs/book/src");
    let read = |name: &Path| {
        let file = root.join(name);
        fs::read_to_string(&file).map_err(|e| Failure::Failed(format!("{} cannot be read: {e}", file.display())))
    };
    let summary = read(&book.join("SUMMARY.md"))?;
    let chapters = summary.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    let mut found = Vec::new();
    for name in std::iter::once(PathBuf::from("README.md")).chain(chapters.map(|c| book.join(c))) {
        let title = name.display().to_string();
        for block in markdown::blocks(&title, &read(&name)?)? {
            if let Some(reader) = block.readers.iter().find(|r| !READERS.contains(&r.as_str())) {
                let line = block.line;
                let all = READERS.join(", ");
                return Err(Failure::Failed(format!(
                    "{title}:{line}: no reader is called \"{reader}\"; there are {all}"
                )));
            }
            found.push((title.clone(), block));
        }
    }
    Ok(found)
}

/// One of the readers.
struct Reader<'a> {
    project: &'a Project,
    library: Library,
    command: Build,
    install: bool,
    home: PathBuf,
    /// What is not theirs: the prelude, what shells hand on to the next one, directories of programs and sockets.
    aside: PathBuf,
    /// See [`hidden`].
    hide: Option<String>,
    has_lab: bool,
}

impl<'a> Reader<'a> {
    fn new(
        project: &'a Project,
        library: Library,
        command: Build,
        install: bool,
        name: &str,
        folder: &Path,
    ) -> Outcome<Self> {
        let (home, aside) = (folder.join("home"), folder.join("aside"));
        let (hide, has_lab) = (hidden(project, &home), namespaces_are_permitted());
        let reader = Reader { project, library, command, install, home, aside, hide, has_lab };
        reader.furnish().map_err(|e| Failure::Failed(format!("a directory for {name} cannot be made: {e}")))?;
        let program = reader.project.root().join("tests/readers/app.c");
        process::run(reader.system("mpicc").arg(program).args(["-o", "app"]))?;
        fs::copy(reader.home.join("app"), reader.home.join("my-mpi-program"))
            .map_err(|e| Failure::Failed(format!("my-mpi-program cannot be made: {e}")))?;
        Ok(reader)
    }

    /// Directories, the launcher and the compiler of the MPI library under their common names, and the programs and files that the
    /// documents take for granted.
    fn furnish(&self) -> std::io::Result<()> {
        for directory in ["programs", "run"] {
            fs::create_dir_all(self.aside.join(directory))?;
        }
        fs::set_permissions(self.aside.join("run"), fs::Permissions::from_mode(0o700))?;
        fs::create_dir_all(&self.home)?;
        fs::write(self.aside.join("prelude.sh"), PRELUDE)?;
        fs::write(self.aside.join("state.sh"), "")?;
        let compiler = self.library.compiler().and_then(|c| process::find(&c.to_string_lossy()));
        for (name, program) in [("mpirun", self.library.launcher()), ("mpicc", compiler)] {
            if let Some(program) = program {
                symlink(program, self.aside.join("programs").join(name))?;
            }
        }
        fs::copy(self.project.root().join("examples/alltoallv.c"), self.home.join("program.c"))?;
        fs::write(self.home.join("input.nml"), "")
    }

    /// A program of the system in the reader's directory and environment.
    fn system(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let path = format!("{}:{SEARCHED}", self.aside.join("programs").display());
        command.env_clear().env("PATH", path).env("HOME", &self.home).env("LANG", "C.UTF-8");
        command.env("XDG_RUNTIME_DIR", self.aside.join("run")).current_dir(&self.home);
        command.envs(self.library.environment().into_iter().filter(|(name, _)| name.as_os_str() != "MPICC"));
        command.stdin(Stdio::null());
        command
    }

    /// Runs the commands of a block, and gives how many.
    fn follow(&self, document: &str, block: &Block) -> Outcome<u64> {
        let place = format!("{document}:{}", block.line);
        if block.in_a_lab && !self.has_lab {
            eprintln!("    skipped: {place} needs a machine that permits network namespaces");
            return Ok(0);
        }
        let mut output = String::new();
        for command in &block.commands {
            // Readers write to no directory but their own.
            let command = command.replace(FOR_ALL, &self.home.join("optiq-for-all").to_string_lossy());
            eprintln!("    {place}: {command}");
            if command.starts_with("cargo ") {
                self.install(&place, &command)?;
            } else {
                output += &self.run(&place, &command)?;
            }
        }
        match block.shows.as_deref().filter(|text| !output.contains(text)) {
            Some(text) => Err(Failure::Failed(format!("{place}: \"{text}\" is not in what it printed:\n{output}"))),
            None => Ok(block.commands.len() as u64),
        }
    }

    /// `cargo xtask install --prefix DIR`, as it is but for the profile: the documents' own would build everything a second
    /// time.
    fn install(&self, place: &str, command: &str) -> Outcome {
        let words: Vec<String> =
            command.split_whitespace().map(|w| w.replace("$HOME", &self.home.to_string_lossy())).collect();
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        let prefix = match words.as_slice() {
            ["cargo", "xtask", "install", "--prefix", prefix] => prefix,
            ["cargo", "xtask", "install", "--prefix", prefix, "--mpi", "openmpi"]
                if self.library == Library::OpenMpi =>
            {
                prefix
            }
            _ => {
                return Err(Failure::Failed(format!(
                    "{place}: \"{command}\" cannot be followed; of cargo's commands only cargo xtask install --prefix DIR \
                     can; let the comment say why it is not run"
                )));
            }
        };
        let options = Options {
            prefix: prefix.into(),
            libdir: "lib".into(),
            destdir: None,
            library: Some(self.library),
            command: self.command,
            libraries: Build { highs: false, cargo_options: clients::FAST_BUILD },
            install: self.install,
        };
        deploy::run(self.project, &options).map(drop)
    }

    /// Runs a command in a shell that has the variables of the one before, and gives what it printed.
    fn run(&self, place: &str, command: &str) -> Outcome<String> {
        let script = format!(
            ". {0}/prelude.sh\n. {0}/state.sh\n{command}\nstatus=$?\nexport -p >{0}/state.sh\nexit $status\n",
            self.aside.display()
        );
        let mut shell = match &self.hide {
            None => self.system("timeout"),
            Some(hide) => {
                let mut shell = self.system("unshare");
                shell.args(["--mount", "sh", "-c", hide, "timeout", "timeout"]);
                shell
            }
        };
        shell.args([TIMEOUT, "bash", "-c", &script]);
        let output = shell.output().map_err(|e| Failure::Failed(format!("{place}: a shell cannot be started: {e}")))?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        if output.status.success() {
            Ok(text)
        } else {
            Err(Failure::Failed(format!("{place}: {command}: {}\n{text}", output.status)))
        }
    }
}

/// A shell's command that hides the checkout and what was built in it, and becomes its arguments; none where that is not
/// permitted, or would hide the reader as well.
fn hidden(project: &Project, home: &Path) -> Option<String> {
    let is_root = fs::metadata("/proc/self").is_ok_and(|m| m.uid() == 0);
    let permitted = is_root && process::succeeds(Command::new("unshare").args(["--mount", "true"]));
    let places = [project.target(), project.root()];
    if !permitted || places.iter().any(|place| home.starts_with(place)) {
        return None;
    }
    let quoted = |place: &&Path| format!("'{}'", place.display().to_string().replace('\'', "'\\''"));
    let mounts: Vec<String> =
        places.iter().filter(|p| p.is_dir()).map(quoted).map(|p| format!("mount -t tmpfs none {p}")).collect();
    Some(format!("{} && exec \"$@\"", mounts.join(" && ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The documents of this checkout: every block says who runs it, and every reader has something to do.
    #[test]
    fn every_reader_has_commands_to_follow() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let documents = documents(&root).unwrap();
        for name in READERS {
            assert!(documents.iter().any(|(_, block)| block.readers.iter().any(|r| r == name)), "{name}");
        }
        assert!(documents.iter().all(|(_, block)| !block.commands.is_empty()));
    }

    #[test]
    fn module_files_are_read_as_the_module_command_does() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("modules/optiq/0.1.0");
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "#%Module1.0\nconflict optiq\nset prefix /p\nprepend-path A $prefix/a\n").unwrap();
        fs::write(file.with_extension("0.lua"), "local prefix = \"/q\"\n").unwrap();
        let script =
            format!("{PRELUDE}\nmodule use \"$1\"\nmodule load optiq && echo $A\nmodule load other || echo none");
        let mut shell = Command::new("bash");
        shell.args(["-c", &script, "bash"]).arg(folder.path().join("modules")).env("A", "/b");
        let output = shell.stderr(Stdio::null()).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stdout), "/p/a:/b\nnone\n");
    }
}

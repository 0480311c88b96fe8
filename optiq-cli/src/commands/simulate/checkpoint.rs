//! Checkpoints of a long run: where they are kept, and the one that a run resumes from.

use crate::arguments::duration;
use crate::failure::Failure;
use crate::target::Target;
use clap::Args;
use optiq_files::input::{self, STANDARD};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Arguments of checkpoints.
#[derive(Debug, Args)]
pub struct Checkpointing {
    /// Keep a checkpoint in this file when the run is ended before its end, by Ctrl-C or by a limit; - is standard output
    #[arg(long, value_name = "FILE", conflicts_with_all = ["compare", "jobs"])]
    checkpoint: Option<PathBuf>,
    /// And each time when it has run for this many seconds more; not to standard output
    #[arg(long, value_name = "SECONDS", requires = "checkpoint", value_parser = duration)]
    every: Option<Duration>,
    /// Go on from a checkpoint of the same simulation, on as many threads as it had; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["compare", "jobs"])]
    resume: Option<PathBuf>,
}

/// What a run needs of them.
pub struct Files {
    target: Option<Target>,
    every: Option<Duration>,
    resume: Option<(PathBuf, Vec<u8>)>,
}

impl Checkpointing {
    /// Whether a run is kept or resumed.
    pub fn is_used(&self) -> bool {
        self.checkpoint.is_some() || self.resume.is_some()
    }

    /// Looks whether the one can be written, and reads the other.
    pub fn open(&self) -> Result<Files, Failure> {
        if self.every.is_some() && self.checkpoint.as_deref() == Some(Path::new(STANDARD)) {
            let why = "with --every, each checkpoint replaces the last one, which standard output cannot do; a file is expected";
            return Err(Failure::Input(format!("--checkpoint -: {why}")));
        }
        let target = self.checkpoint.as_deref().map(Target::new).transpose()?;
        let read = |path: &PathBuf| match optiq_sim::read_checkpoint(path) {
            Ok(bytes) => Ok((path.clone(), bytes)),
            Err(e) => Err(Failure::Input(e.to_string())),
        };
        let resume = self.resume.as_ref().map(read).transpose()?;
        if resume.is_some() {
            // A forged checkpoint can lead the simulation to a panic, which becomes an error of one sentence.
            std::panic::set_hook(Box::new(|panic| log::debug!("{panic}")));
        }
        Ok(Files { target, every: self.every, resume })
    }
}

impl Files {
    /// Writes a checkpoint in place of the last one; an error is a sentence.
    pub fn keep(&self, bytes: &[u8]) -> Result<(), String> {
        let Some(target) = &self.target else { return Ok(()) };
        target.write(|out| out.write_all(bytes)).map_err(|failure| failure.sentence().to_owned())
    }

    /// How often, if checkpoints are to be kept at all.
    pub fn wanted(&self) -> Option<Option<Duration>> {
        self.target.is_some().then_some(self.every)
    }

    /// The checkpoint to resume from.
    pub fn resume(&self) -> Option<&[u8]> {
        self.resume.as_ref().map(|(_, bytes)| &bytes[..])
    }

    /// An error with the file's name, where it is about the checkpoint to resume from.
    pub fn named(&self, error: optiq_sim::SimError) -> Failure {
        match (&self.resume, &error) {
            (Some((path, _)), optiq_sim::SimError::Checkpoint(text)) if !text.starts_with("cannot write") => {
                Failure::Input(format!("{}: {text}", input::name(path)))
            }
            _ => error.into(),
        }
    }

    /// How to resume a run that was ended early.
    pub fn hint(&self) -> String {
        let path = self.target.as_ref().map(|target| target.path().display().to_string());
        path.map_or(String::new(), |path| format!("to go on: the same command with --resume {path}\n"))
    }
}

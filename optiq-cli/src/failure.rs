//! How a command fails: one sentence, one exit status.

use optiq_lab::LabError;
use optiq_net::NetError;
use optiq_sim::SimError;
use optiq_solver::{CodecError, DemandError, PathFileError, PlanError};
use optiq_studies::failure::Failure as StudyFailure;
use optiq_view::plan::TooManyLinks;
use std::io::{self, Write};
use std::process::ExitCode;

/// Why a command did not do what it was asked to.
#[derive(Debug, PartialEq)]
pub enum Failure {
    /// What the user gave is wrong: an argument, a file, a place to write to. Exit status 2.
    Input(String),
    /// The work itself failed. Exit status 1.
    Work(String),
    /// The program that was to be run is not found. Exit status 127, as of a shell.
    NotFound(String),
    /// The program that was to be run cannot be executed. Exit status 126, as of a shell.
    NotExecutable(String),
    /// The reader of standard output has gone (`optiq ... | head`). It prints nothing; the exit status is 0.
    Closed,
}

impl Failure {
    /// An argument that clap refused, as one sentence.
    pub fn arguments(error: &clap::Error) -> Failure {
        let text = error.render().to_string();
        let text = text.strip_prefix("error: ").unwrap_or(&text);
        // clap writes paragraphs: what is wrong (a list goes on in indented lines), tips, the usage.
        let what = text.split("\n\n").next().unwrap_or_default();
        let tips = text.lines().filter_map(|line| line.trim().strip_prefix("tip: "));
        let mut sentence = what.lines().map(str::trim).collect::<Vec<_>>().join(" ");
        for tip in tips {
            sentence.push_str("; ");
            sentence.push_str(tip);
        }
        Failure::Input(sentence)
    }

    /// The sentence; empty if there is nothing to say.
    pub fn sentence(&self) -> &str {
        match self {
            Failure::Input(sentence)
            | Failure::Work(sentence)
            | Failure::NotFound(sentence)
            | Failure::NotExecutable(sentence) => sentence,
            Failure::Closed => "",
        }
    }

    /// Writes the sentence to standard error and gives the exit status.
    pub fn report(&self) -> ExitCode {
        let (status, sentence) = match self {
            Failure::Input(sentence) => (2, sentence),
            Failure::Work(sentence) => (1, sentence),
            Failure::NotFound(sentence) => (127, sentence),
            Failure::NotExecutable(sentence) => (126, sentence),
            Failure::Closed => return ExitCode::SUCCESS,
        };
        // If standard error cannot be written, the exit status still says it.
        let _ = writeln!(io::stderr(), "optiq: {}", one_line(sentence));
        ExitCode::from(status)
    }
}

/// The text in one line, without control characters, whatever names and file contents it quotes.
fn one_line(text: &str) -> String {
    let visible: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    visible.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl From<TooManyLinks> for Failure {
    fn from(e: TooManyLinks) -> Self {
        Failure::Input(e.to_string())
    }
}

impl From<PathFileError> for Failure {
    fn from(e: PathFileError) -> Self {
        Failure::Input(e.to_string())
    }
}

impl From<CodecError> for Failure {
    fn from(e: CodecError) -> Self {
        match e {
            CodecError::Encode(_) => Failure::Work(e.to_string()),
            _ => Failure::Input(e.to_string()),
        }
    }
}

impl From<StudyFailure> for Failure {
    fn from(e: StudyFailure) -> Self {
        match e {
            StudyFailure::Input(sentence) => Failure::Input(sentence),
            StudyFailure::Work(sentence) => Failure::Work(sentence),
        }
    }
}

/// Errors that a study may have as well: whose fault they are is said there.
macro_rules! as_of_studies {
    ($($error:ty),*) => {
        $(impl From<$error> for Failure {
            fn from(e: $error) -> Self {
                StudyFailure::from(e).into()
            }
        })*
    };
}

as_of_studies!(NetError, DemandError, PlanError, SimError);

impl From<LabError> for Failure {
    fn from(e: LabError) -> Self {
        match e {
            LabError::Topology(_) | LabError::Argument(_) => Failure::Input(e.to_string()),
            _ => Failure::Work(e.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_stays_in_its_line() {
        assert_eq!(one_line("bad\n  \u{1b}[31mname\tx"), "bad [31mname x");
    }

    #[test]
    fn clap_is_cut_to_a_sentence() {
        let command = clap::Command::new("t").arg(clap::Arg::new("topology").long("topology").required(true));
        let missing = command.clone().try_get_matches_from(["t"]).unwrap_err();
        let Failure::Input(sentence) = Failure::arguments(&missing) else { panic!() };
        assert_eq!(sentence, "the following required arguments were not provided: --topology <topology>");
        let wrong = command.try_get_matches_from(["t", "--topologie", "x"]).unwrap_err();
        let Failure::Input(sentence) = Failure::arguments(&wrong) else { panic!() };
        assert!(
            sentence.starts_with("unexpected argument '--topologie' found; a similar argument exists"),
            "{sentence}"
        );
    }
}

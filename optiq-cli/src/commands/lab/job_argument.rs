//! `--job NAME@HOSTS=COMMAND` of `optiq lab run`.

use optiq_lab::{LabJob, MAX_NAMESPACES};
use optiq_net::expand_host_list;
use std::ffi::OsString;
use std::str::FromStr;

/// A job on the command line.
#[derive(Clone, Debug, PartialEq)]
pub struct JobArgument(pub LabJob);

const FORM: &str = "NAME@HOSTS=COMMAND is expected, such as a@h[0-3]=./program";

impl FromStr for JobArgument {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, rest) = text.split_once('@').ok_or_else(|| format!("there is no @; {FORM}"))?;
        let (hosts, command) = rest.split_once('=').ok_or_else(|| format!("there is no = behind the hosts; {FORM}"))?;
        if name.is_empty() || name.chars().any(|c| c.is_control() || c.is_whitespace()) {
            return Err(format!("the name \"{}\" is empty or has spaces; {FORM}", name.escape_debug()));
        }
        let hosts = expand_host_list(hosts, MAX_NAMESPACES).map_err(|e| e.to_string())?;
        let program: Vec<OsString> = words(command)?.into_iter().map(OsString::from).collect();
        if program.is_empty() {
            return Err(format!("there is no command; {FORM}"));
        }
        Ok(Self(LabJob { name: name.to_owned(), hosts, one_rank_each: false, program }))
    }
}

/// The words of a command: separated by spaces, which quotes keep together.
fn words(text: &str) -> Result<Vec<String>, String> {
    let mut all = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in text.chars() {
        match quote {
            Some(open) if c == open => quote = None,
            None if c == '"' || c == '\'' => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            None if c.is_whitespace() => all.extend(word.take()),
            _ => word.get_or_insert_default().push(c),
        }
    }
    match quote {
        Some(open) => Err(format!("the command has a quote {open} that is not closed")),
        None => {
            all.extend(word);
            Ok(all)
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn arguments_are_read() {
        let JobArgument(job) = "solver@h[0-1],h7=./run 'a b' --x=1 \"\"".parse().unwrap();
        assert_eq!((job.name.as_str(), job.hosts), ("solver", ["h0", "h1", "h7"].map(String::from).to_vec()));
        assert_eq!(job.program, ["./run", "a b", "--x=1", ""].map(OsString::from));
        for (text, expected) in [
            ("solver", "there is no @"),
            ("a@h0", "there is no = behind the hosts"),
            ("a b@h0=x", "is empty or has spaces"),
            ("a@h0=", "there is no command"),
            ("a@h0=x 'y", "a quote ' that is not closed"),
            ("a@h[0=x", "list of names"),
        ] {
            let error = text.parse::<JobArgument>().unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}

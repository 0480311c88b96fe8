//! Command lines: options with and without a value, and nothing else.

use crate::failure::{Failure, Outcome};
use std::str::FromStr;

/// The options of one subcommand, taken off one after the other.
pub struct Args<'a> {
    command: &'static str,
    rest: std::slice::Iter<'a, String>,
}

/// An option as it was written: `--name` or `--name=value`.
pub struct Flag<'a> {
    pub name: &'a str,
    inline: Option<&'a str>,
}

impl<'a> Args<'a> {
    /// The arguments that follow `cargo xtask command`. Prints `help` and gives nothing if they ask for it.
    pub fn new(command: &'static str, help: &str, arguments: &'a [String]) -> Option<Self> {
        if arguments.iter().any(|a| a == "--help" || a == "-h") {
            println!("{help}");
            return None;
        }
        Some(Args { command, rest: arguments.iter() })
    }

    /// The next option, if there is one.
    pub fn next(&mut self) -> Option<Flag<'a>> {
        let argument = self.rest.next()?;
        Some(match argument.split_once('=') {
            Some((name, value)) => Flag { name, inline: Some(value) },
            None => Flag { name: argument, inline: None },
        })
    }

    /// The option's value: what follows `=`, or the next argument.
    pub fn value(&mut self, flag: &Flag<'a>) -> Outcome<&'a str> {
        flag.inline
            .or_else(|| self.rest.next().map(String::as_str))
            .ok_or_else(|| Failure::Usage(format!("{} {} needs a value", self.command, flag.name)))
    }

    /// The option's value, which must parse; `expected` describes it in the error.
    pub fn parsed<T: FromStr>(&mut self, flag: &Flag<'a>, expected: &str) -> Outcome<T> {
        let value = self.value(flag)?;
        value.parse().map_err(|_| {
            Failure::Usage(format!("{} {} is \"{value}\", and {expected} is expected", self.command, flag.name))
        })
    }

    /// Checks that an option that takes no value has none.
    pub fn switch(&self, flag: &Flag<'a>) -> Outcome<bool> {
        match flag.inline {
            None => Ok(true),
            Some(value) => {
                Err(Failure::Usage(format!("{} {} takes no value, but has \"{value}\"", self.command, flag.name)))
            }
        }
    }

    /// The error for an option that the subcommand does not have.
    pub fn unknown(&self, flag: &Flag<'a>) -> Failure {
        Failure::Usage(format!(
            "{} has no option \"{}\"; cargo xtask {} --help lists them",
            self.command, flag.name, self.command
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(arguments: &[&str]) -> Vec<String> {
        arguments.iter().map(|a| a.to_string()).collect()
    }

    #[test]
    fn values_stand_after_the_name_or_after_an_equals_sign() {
        for arguments in [owned(&["--repetitions", "7", "--json"]), owned(&["--repetitions=7", "--json"])] {
            let mut args = Args::new("demo", "", &arguments).unwrap();
            let flag = args.next().unwrap();
            assert_eq!(flag.name, "--repetitions");
            assert_eq!(args.parsed::<u32>(&flag, "a number").unwrap(), 7);
            let flag = args.next().unwrap();
            assert!(args.switch(&flag).unwrap());
            assert!(args.next().is_none());
        }
    }

    #[test]
    fn mistakes_are_named_with_the_option_and_the_value() {
        let arguments = owned(&["--repetitions", "many", "--json=yes", "--rate"]);
        let mut args = Args::new("demo", "", &arguments).unwrap();
        let flag = args.next().unwrap();
        let error = args.parsed::<u32>(&flag, "a number").unwrap_err().to_string();
        assert_eq!(error, "demo --repetitions is \"many\", and a number is expected");
        let flag = args.next().unwrap();
        assert_eq!(args.switch(&flag).unwrap_err().to_string(), "demo --json takes no value, but has \"yes\"");
        let flag = args.next().unwrap();
        assert_eq!(args.value(&flag).unwrap_err().to_string(), "demo --rate needs a value");
        assert_eq!(
            args.unknown(&flag).to_string(),
            "demo has no option \"--rate\"; cargo xtask demo --help lists them"
        );
    }

    #[test]
    fn help_anywhere_stops_everything_else() {
        assert!(Args::new("demo", "", &owned(&["--json", "--help"])).is_none());
    }
}

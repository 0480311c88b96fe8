//! Command lines, taken apart by lexopt: options with and without a value, and nothing else.

use crate::failure::{Failure, Outcome};
use lexopt::Arg;
use std::str::FromStr;

/// The options of one subcommand, taken off one after the other.
pub struct Args {
    command: &'static str,
    parser: lexopt::Parser,
}

impl Args {
    /// The arguments that follow `cargo xtask command`. Prints `help` and gives nothing if they ask for it.
    pub fn new(command: &'static str, help: &str, arguments: &[String]) -> Option<Self> {
        if arguments.iter().any(|a| a == "--help" || a == "-h") {
            println!("{help}");
            return None;
        }
        Some(Args { command, parser: lexopt::Parser::from_args(arguments) })
    }

    /// The next option as it was written, without its value; also what is no option, which no subcommand has.
    pub fn next(&mut self) -> Outcome<Option<String>> {
        let option = self.parser.next().map_err(|e| Failure::Usage(format!("{}: {e}", self.command)))?;
        Ok(option.map(|option| match option {
            Arg::Long(name) => format!("--{name}"),
            Arg::Short(letter) => format!("-{letter}"),
            Arg::Value(text) => text.to_string_lossy().into_owned(),
        }))
    }

    /// The value of the option that [`Args::next`] gave: what follows `=`, or the next argument.
    pub fn value(&mut self, option: &str) -> Outcome<String> {
        let value =
            self.parser.value().map_err(|_| Failure::Usage(format!("{} {option} needs a value", self.command)))?;
        Ok(value.to_string_lossy().into_owned())
    }

    /// The option's value, which must parse; `expected` describes it in the error.
    pub fn parsed<T: FromStr>(&mut self, option: &str, expected: &str) -> Outcome<T> {
        let value = self.value(option)?;
        value.parse().map_err(|_| {
            Failure::Usage(format!("{} {option} is \"{value}\", and {expected} is expected", self.command))
        })
    }

    /// Checks that an option that takes no value has none.
    pub fn switch(&mut self, option: &str) -> Outcome<bool> {
        match self.parser.optional_value() {
            None => Ok(true),
            Some(value) => Err(Failure::Usage(format!(
                "{} {option} takes no value, but has \"{}\"",
                self.command,
                value.to_string_lossy()
            ))),
        }
    }

    /// The error for an option that the subcommand does not have.
    pub fn unknown(&self, option: &str) -> Failure {
        Failure::Usage(format!(
            "{} has no option \"{option}\"; cargo xtask {} --help lists them",
            self.command, self.command
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
            let flag = args.next().unwrap().unwrap();
            assert_eq!(flag, "--repetitions");
            assert_eq!(args.parsed::<u32>(&flag, "a number").unwrap(), 7);
            let flag = args.next().unwrap().unwrap();
            assert!(args.switch(&flag).unwrap());
            assert!(args.next().unwrap().is_none());
        }
    }

    #[test]
    fn mistakes_are_named_with_the_option_and_the_value() {
        let arguments = owned(&["--repetitions", "many", "--json=yes", "--rate"]);
        let mut args = Args::new("demo", "", &arguments).unwrap();
        let flag = args.next().unwrap().unwrap();
        let error = args.parsed::<u32>(&flag, "a number").unwrap_err().to_string();
        assert_eq!(error, "demo --repetitions is \"many\", and a number is expected");
        let flag = args.next().unwrap().unwrap();
        assert_eq!(args.switch(&flag).unwrap_err().to_string(), "demo --json takes no value, but has \"yes\"");
        let flag = args.next().unwrap().unwrap();
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

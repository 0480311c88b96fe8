//! Profiles: what kind of network a lab emulates, beside its shape and its rates.

use crate::error::LabError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How the lab's hosts and links behave. Every profile but [`Profile::Kernel`] changes one thing of [`Profile::Tuned`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Profile {
    /// Loses nothing in ordinary use.
    #[default]
    Tuned,
    /// TCP as the machine has it.
    Kernel,
    /// Short queues.
    Shallow,
    /// Long queues, and windows that fill them.
    Deep,
    /// Random loss.
    Lossy,
    /// A host that runs half of the time.
    SlowHost,
}

impl Profile {
    /// All of them, the default first.
    pub const ALL: [Profile; 6] =
        [Profile::Tuned, Profile::Kernel, Profile::Shallow, Profile::Deep, Profile::Lossy, Profile::SlowHost];

    /// As `--profile` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Profile::Tuned => "tuned",
            Profile::Kernel => "kernel",
            Profile::Shallow => "shallow",
            Profile::Deep => "deep",
            Profile::Lossy => "lossy",
            Profile::SlowHost => "slow-host",
        }
    }

    /// What it is, in a few words.
    pub fn description(self) -> &'static str {
        match self {
            Profile::Tuned => "windows of 20 ms, queues that hold 16 of them, packets of 9,000 bytes: nothing is lost",
            Profile::Kernel => "this machine's own TCP settings, queues of 18 ms, packets of 1,500 bytes",
            Profile::Shallow => "tuned, but with queues of 32 kB",
            Profile::Deep => "tuned, but with queues of 100 ms and this machine's TCP buffers, which fill them",
            Profile::Lossy => "tuned, but every link loses 0.1 % of its packets at random",
            Profile::SlowHost => "tuned, but the processes of the last host run half of the time",
        }
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Profile {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Self, LabError> {
        Profile::ALL.into_iter().find(|p| p.name() == text).ok_or_else(|| {
            let names = Profile::ALL.map(Profile::name);
            let (last, others) = names.split_last().unwrap_or((&"", &[]));
            LabError::Argument(format!(
                "the profile \"{text}\" is not known; {} or {last} is expected",
                others.join(", ")
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_and_written_alike() {
        for profile in Profile::ALL {
            assert_eq!(profile.to_string().parse::<Profile>().unwrap(), profile);
            assert_eq!(serde_json::to_value(profile).unwrap(), profile.name());
        }
        assert_eq!(Profile::ALL[0], Profile::default());
        assert_eq!(
            "fast".parse::<Profile>().unwrap_err().to_string(),
            "the profile \"fast\" is not known; tuned, kernel, shallow, deep, lossy or slow-host is expected"
        );
    }
}

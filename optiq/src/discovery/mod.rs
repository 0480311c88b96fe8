//! Where a program's network comes from: providers are asked in a fixed order, and the first that finds one is taken (thesis 4.2.5:
//! "functions to read system's information such as topology, coordinate, torus, size"; decision 074).
//!
//! A named topology (`OPTIQ_TOPOLOGY`) is an answer by itself: a specification to the first provider, a file to the second. With
//! `auto` the second looks at `OPTIQ_TOPOLOGY_FILES`, the third at what the process manager says, and the last takes one switch.
//!
//! All ranks come to the same: what only one process can know is in its [`RankStatement`], which all ranks have of all ranks before
//! any provider is asked, and the rest is compared when a session begins.

mod file_network;
mod files;
mod host_list;
mod process_manager;
mod processors;
mod provider;
mod specification;
mod statement;

pub use file_network::FileNetwork;
pub use provider::{Answer, DiscoveryError, Found, Provider, Surroundings};
pub use statement::RankStatement;

use files::Files;
use optiq_net::spec::is_auto;
use process_manager::ProcessManager;
use processors::Processors;
use specification::Specification;

/// All providers, in the order in which they are asked.
pub const PROVIDERS: [&dyn Provider; 4] = [&Specification, &Files, &ProcessManager, &Processors];

/// What every provider that was asked has answered, in order; the last answer is the one that counts.
pub type Answers = Vec<(&'static str, Result<Answer, DiscoveryError>)>;

/// Asks the providers in order until one finds a network. With a named topology, a contradiction ends it as well; with `auto` the next
/// provider is asked.
pub fn discover(surroundings: &Surroundings<'_>) -> Answers {
    let mut answers = Answers::new();
    let is_named = surroundings.topology.is_some_and(|topology| !is_auto(topology));
    for provider in PROVIDERS {
        let answer = provider.discover(surroundings);
        let ends = match &answer {
            Ok(Answer::Nothing(_)) => false,
            Ok(Answer::Found(_) | Answer::Partial(_)) => true,
            Err(_) => is_named,
        };
        answers.push((provider.name(), answer));
        if ends {
            break;
        }
    }
    answers
}

/// One line about all answers: who found what, and why those before did not.
pub fn summary(answers: &Answers) -> String {
    let line = |(name, answer): &(&'static str, Result<Answer, DiscoveryError>)| match answer {
        Ok(Answer::Found(found)) => format!("{name} found {}", found.describe()),
        Ok(Answer::Partial(text)) => format!("{name}: {text}"),
        Ok(Answer::Nothing(why)) => format!("not by {name} ({why})"),
        Err(error) => format!("not by {name} ({error})"),
    };
    answers.iter().rev().map(line).collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests;

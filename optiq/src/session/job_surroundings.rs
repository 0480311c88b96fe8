//! What the ranks of a communicator tell each other before its network is looked for, and what they find.

use crate::config::Config;
use crate::discovery::{self, Answer, FileNetwork, Found, RankStatement, Surroundings};
use crate::error::Error;
use crate::logger;
use crate::networks;
use optiq_lower::choices::Algorithm;
use optiq_net::spec::is_auto;
use optiq_transport::mpi::Communicator;

/// The statements of all ranks, and what this one read.
pub(super) struct JobSurroundings {
    ranks: Vec<RankStatement>,
    files: Option<FileNetwork>,
}

impl JobSurroundings {
    /// Collective, whatever a rank's configuration is.
    pub(super) fn gather(comm: &Communicator, config: &Config) -> Result<Self, Error> {
        let processor = comm.processor_name()?;
        let discovers = config.topology.as_deref().is_some_and(is_auto) && config.algorithm != Algorithm::Mpi;
        let files = config.topology_files.as_deref().filter(|_| discovers);
        let files = files.map(|files| FileNetwork::read(files, config.max_hosts));
        let statement = if discovers {
            RankStatement::new(&processor, &|name| std::env::var(name).ok(), files.as_ref())
        } else {
            RankStatement::of_processor(&processor)
        };
        let texts = comm.all_texts(&statement.text())?;
        Ok(Self { ranks: texts.iter().map(|text| RankStatement::parse(text)).collect(), files })
    }

    /// The names of all ranks' processors.
    pub(super) fn processors(&self) -> Vec<String> {
        self.ranks.iter().map(|rank| rank.processor.clone()).collect()
    }

    /// Asks the providers. The rank that `speaks` says what was found, and what contradicts itself or the job.
    pub(super) fn discover(&self, config: &Config, speaks: bool) -> Result<Found, String> {
        let surroundings = Surroundings {
            topology: config.topology.as_deref(),
            files: self.files.as_ref(),
            placement: &config.placement,
            max_hosts: config.max_hosts,
            ranks: &self.ranks,
            in_job: true,
        };
        let mut answers = discovery::discover(&surroundings);
        if speaks {
            log::info!("topology: {}", discovery::summary(&answers));
        }
        let Some((_, last)) = answers.pop() else { return Err("no network is found".into()) };
        if speaks {
            let contradictions = answers.iter().filter_map(|(_, answer)| answer.as_ref().err());
            contradictions.for_each(|error| logger::warn_once(&format!("{error}; it is not used")));
        }
        match last {
            Ok(Answer::Found(found)) => {
                if matches!(found, Found::Network(..)) && surroundings.topology.is_some_and(is_auto) {
                    networks::guessed(found.describe());
                }
                Ok(found)
            }
            Ok(Answer::Nothing(why) | Answer::Partial(why)) => Err(why),
            Err(error) => Err(error.0),
        }
    }
}

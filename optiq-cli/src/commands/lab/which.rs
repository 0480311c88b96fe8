//! Which lab a command is about.

use clap::Args;
use optiq_lab::Lab;

/// Which lab.
#[derive(Debug, Args)]
pub(super) struct Which {
    /// The lab's name, where there are several
    #[arg(long, default_value = Lab::DEFAULT_NAME)]
    pub(super) name: String,
    /// Print one JSON document
    #[arg(long)]
    pub(super) json: bool,
}

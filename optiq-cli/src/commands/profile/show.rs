//! `optiq profile show`: what the ranks' files hold.

use super::document::ProfileDocument;
use crate::csv::quoted;
use crate::failure::Failure;
use crate::output::{self, Schema};
use clap::Args;
use optiq_trace::profile::job::{JobProfile, Moved};
use std::path::PathBuf;
use std::process::ExitCode;

/// Show what optiq profile has counted: totals of regions and ranks, and who sent what to whom
///
/// Messages are counted by their sender, so what a rank received is what the others say that they sent to it. If files of ranks are
/// missing or cannot be read, the rest is shown, and the status is 1.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq profile show run1
  optiq profile show run1 --region solve
  optiq profile show run1 --csv > pairs.csv
  optiq profile show run1 --json")]
pub struct Arguments {
    /// The directory with the ranks' files
    #[arg(value_name = "DIR")]
    directory: PathBuf,
    /// Only this region and those inside it, such as solve or solve/halo; \"\" is what is in no region
    #[arg(long, value_name = "REGION")]
    region: Option<String>,
    /// Print a line for each region, pair of ranks and way of moving bytes (sent, put, got) as CSV
    #[arg(long, conflicts_with = "json")]
    csv: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Arguments {
    pub fn run(self) -> Result<ExitCode, Failure> {
        let mut profile = JobProfile::load(&self.directory)?;
        if let Some(region) = &self.region {
            profile = profile.only(region)?;
        }
        if self.csv {
            output::print(&csv(&profile))?;
        } else {
            let document = ProfileDocument::new(&profile, self.region.as_deref());
            if self.json {
                output::print_json(Schema::Profile, &document)?;
            } else {
                output::print(&document.text())?;
            }
        }
        complete(&profile.gaps())
    }
}

/// Success if nothing is missing in a profile: these are the gaps.
///
/// # Errors
/// [`Failure::Work`] with what is missing.
pub fn complete(gaps: &[String]) -> Result<ExitCode, Failure> {
    match gaps {
        [] => Ok(ExitCode::SUCCESS),
        gaps => Err(Failure::Work(format!("the profile has gaps: {}", gaps.join("; ")))),
    }
}

fn csv(profile: &JobProfile) -> String {
    let mut text = String::from("region,moved,from_rank,to_rank,messages,bytes\n");
    for (moved, word) in [(Moved::Sent, "sent"), (Moved::Put, "put"), (Moved::Got, "got")] {
        profile.for_each(moved, |region, from, to, t| {
            text.push_str(&format!("{},{word},{from},{to},{},{}\n", quoted(region), t.messages, t.bytes));
        });
    }
    text
}

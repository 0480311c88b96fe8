//! How fast the simulator is, and what it predicts beside what was measured ([`super::predictions`]).

use super::lab::LabContent;
use super::predictions::{self, OTHER_PROFILES, Prediction};
use super::profiles::ProfilesContent;
use crate::failure::Failure;
use crate::markdown::{self, MarkdownBlock};
use crate::measurement_cases::{self, Platform};
use crate::selection::Selection;
use crate::workspace::{self, Workspace};
use serde::{Deserialize, Serialize};
use std::fmt::Write;

/// The name for `--cases` of the speed benchmark.
const SPEED: &str = "speed";

/// What was simulated.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SimulatorContent {
    /// What the speed benchmark printed.
    speed: Vec<MarkdownBlock>,
    predictions: Vec<Prediction>,
}

/// The names that `--cases` takes.
///
/// # Errors
/// As [`measurement_cases::groups`].
pub fn case_names() -> Result<Vec<String>, Failure> {
    let groups = measurement_cases::groups()?.into_iter().filter(|group| group.platform == Platform::Lab);
    Ok(groups.map(|group| group.name).chain([OTHER_PROFILES, SPEED].map(String::from)).collect())
}

/// Simulates the selected cases of what was measured of labs, in their own profile and in `profiles`. All of them take a few minutes, most of them
/// for the speed.
///
/// # Errors
/// [`Failure::Work`] if a program fails or prints what is not understood.
pub fn run(
    workspace: &Workspace,
    labs: &LabContent,
    profiles: Option<&ProfilesContent>,
    selection: &Selection,
) -> Result<SimulatorContent, Failure> {
    let mut speed = Vec::new();
    if selection.includes(SPEED) {
        let text = workspace::capture(&mut workspace.cargo("bench", ["--package", "optiq-sim", "--bench", "speed"]))?;
        speed = markdown::parse(&text);
        speed.retain(|block| matches!(block, MarkdownBlock::Table(_)));
    }
    let predictions = predictions::predict(workspace, labs, profiles, selection)?;
    Ok(SimulatorContent { speed, predictions })
}

impl SimulatorContent {
    /// Of the page.
    pub const TITLE: &'static str = "The simulator: its speed, and its predictions";

    /// The page below its circumstances.
    pub fn body(&self) -> String {
        let mut page = String::from("## Speed\n\n");
        if self.speed.is_empty() {
            page.push_str(&not_run(SPEED));
        } else {
            let _ = write!(
                page,
                "`cargo bench -p optiq-sim --bench speed`: uniform random messages of 4 KB, one a microsecond from each host, the \
                 middle one of three runs. Events are arrivals, what hosts do, and wake-ups of channels. The target on one core is \
                 5 M events/s, 400 k packets/s, at most 12 events a packet and 500 MB.\n\n{}",
                markdown::render(&self.speed)
            );
        }
        page.push_str("\n## Predictions\n\n");
        page.push_str(&predictions::section(&self.predictions));
        page
    }
}

/// What the page says in place of a part that was not selected.
fn not_run(cases: &str) -> String {
    format!("Not part of this run; `cargo xtask results --only simulator --cases {cases}` runs it.\n")
}

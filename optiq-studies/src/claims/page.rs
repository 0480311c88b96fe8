//! What a document has of a claim, and the page that is made from it.

use super::list::Tuning;
use crate::findings::Findings;
use serde::{Deserialize, Serialize};

/// A claim and what its run found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimContent {
    /// `O1` and the like.
    pub id: String,
    /// Table or figure, and what it is of.
    pub title: String,
    /// What was published, a sentence.
    pub statement: String,
    /// By what it is judged.
    pub shown_when: String,
    /// Whether it rests on tuned constants.
    pub tuning: Tuning,
    /// What was found.
    pub findings: Findings,
}

impl ClaimContent {
    /// The page; `about` is its paragraph on circumstances, `picture` the name of a file beside it.
    pub fn page(&self, about: &str, picture: &str) -> String {
        let picture = match &self.findings.plot {
            Some(plot) => format!("![{}]({picture})\n\n", plot.title),
            None => String::new(),
        };
        let tuning = match self.tuning.sentence() {
            "" => String::new(),
            sentence => format!("{sentence}\n\n"),
        };
        format!(
            "# {}: {}\n\n{} Shown when: {}.\n\nVerdict: **{}**.\n\n{about}\n\n{tuning}{picture}{}",
            self.id,
            self.title,
            self.statement,
            self.shown_when,
            self.findings.verdict().sentence(),
            self.findings.markdown()
        )
    }
}

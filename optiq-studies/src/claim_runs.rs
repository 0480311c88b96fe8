//! Claims as they are asked for: which, on which partition, how often; checked before the work begins.

use crate::circumstances::Circumstances;
use crate::claims::list::{CLAIMS, Claim, OF_CASES, SCALED};
use crate::claims::page::ClaimContent;
use crate::claims::setting::Setting;
use crate::claims::thesis_cases::{self, Case};
use crate::document::{StudyContent, StudyDocument};
use crate::failure::Failure;
use crate::findings::Findings;
use crate::progress::Progress;
use crate::published::Published;
use optiq_solver::planner::{self, PlannerName, PlannerOptions};
use std::path::PathBuf;

/// The partitions of a Blue Gene/Q that the thesis used.
const PARTITIONS: [u32; 4] = [512, 1024, 2048, 4096];

/// The planner of the 91 cases unless another is asked for.
const PLANNER: PlannerName = PlannerName::Optimal;

/// Plans of which a time is the median, unless another number is asked for.
pub const REPETITIONS: usize = 5;

/// How claims are run.
#[derive(Clone, Debug)]
pub struct ClaimOptions {
    /// A partition of 512, 1024, 2048 or 4096 nodes instead of the published one.
    pub nodes: Option<u32>,
    /// Plans of which a time is the median; at least 1.
    pub repetitions: usize,
    /// The planner of claim 91.
    pub planner: Option<PlannerName>,
    /// A file like `data/thesis91.toml`, for the claims in [`OF_CASES`].
    pub cases: Option<PathBuf>,
    /// Divide all bytes by this instead of the claim's own divisor, for the claims in [`SCALED`].
    pub scale: Option<u64>,
    /// Packets this many times as large as the machine's instead of the claim's own factor, for the claims in [`SCALED`].
    pub packets: Option<u64>,
}

impl Default for ClaimOptions {
    fn default() -> Self {
        ClaimOptions { nodes: None, repetitions: REPETITIONS, planner: None, cases: None, scale: None, packets: None }
    }
}

impl ClaimOptions {
    /// Everything that can be refused before work begins.
    fn check(&self, claims: &[&Claim]) -> Result<(), Failure> {
        let refuse = |sentence: String| Err(Failure::Input(sentence));
        if let Some(nodes) = self.nodes.filter(|n| !PARTITIONS.contains(n)) {
            return refuse(format!("--nodes is {nodes}; 512, 1024, 2048 or 4096 is expected"));
        }
        // Claims of other documents are about networks of their own.
        if let Some(claim) = claims.iter().find(|c| self.nodes.is_some() && !c.id.starts_with(['O', '9'])) {
            return refuse(format!("--nodes is given, but {} is not about a partition of Blue Gene/Q", claim.id));
        }
        if self.repetitions == 0 {
            return refuse("--repetitions is 0; at least 1 is expected".into());
        }
        let any = |ids: &[&str]| claims.iter().any(|c| ids.contains(&c.id));
        if self.planner.is_some() && !any(&["91"]) {
            return refuse("--planner is given, but of the claims only 91 takes one".into());
        }
        if self.cases.is_some() && !any(&OF_CASES) {
            return refuse("--cases is given, but of the claims only 91, O6 and O15 take cases".into());
        }
        for (name, given) in [("--scale", self.scale), ("--packets", self.packets)] {
            if given.is_some() && !any(&SCALED) {
                return refuse(format!("{name} is given, but of the claims only {} can be scaled", SCALED.join(", ")));
            }
        }
        if let Some(name) = self.planner {
            planner::create(name, &PlannerOptions::default())?;
        }
        Ok(())
    }

    /// The command that runs one claim with these options.
    fn command(&self, claim: &Claim) -> String {
        let mut command = format!("optiq reproduce {}", claim.id);
        let mut add = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                command.push_str(&format!(" --{name} {value}"));
            }
        };
        add("nodes", self.nodes.map(|n| n.to_string()));
        add("repetitions", Some(self.repetitions).filter(|&n| n != REPETITIONS).map(|n| n.to_string()));
        add("planner", self.planner.filter(|_| claim.id == "91").map(|p| p.to_string()));
        let scaled = SCALED.contains(&claim.id);
        add("scale", self.scale.filter(|_| scaled).map(|n| n.to_string()));
        add("packets", self.packets.filter(|_| scaled).map(|n| n.to_string()));
        let takes_cases = OF_CASES.contains(&claim.id);
        add("cases", self.cases.as_ref().filter(|_| takes_cases).map(|p| p.display().to_string()));
        command
    }

    /// The name of a claim's files: `o1`, `cases-91`; with `-512` and the like where the partition was chosen.
    fn file_name(&self, claim: &Claim) -> String {
        let name = if claim.id == "91" { "cases-91".to_owned() } else { claim.id.to_lowercase() };
        self.nodes.map_or(name.clone(), |nodes| format!("{name}-{nodes}"))
    }
}

/// Claims that are ready to run.
pub struct ClaimRuns {
    claims: Vec<&'static Claim>,
    options: ClaimOptions,
    cases: Vec<Case>,
    published: Published,
}

impl ClaimRuns {
    /// Checks what is asked for; claims run in the order of `ids`, each once.
    ///
    /// # Errors
    /// [`Failure::Input`] for an unknown claim, an option that is out of range or that no claim takes, or a file of cases that
    /// cannot be read.
    pub fn new(ids: &[String], options: ClaimOptions) -> Result<Self, Failure> {
        let claims = named(ids)?;
        options.check(&claims)?;
        let cases = match &options.cases {
            Some(path) => thesis_cases::read(path)?,
            None => thesis_cases::built_in()?,
        };
        Ok(ClaimRuns { claims, options, cases, published: Published::load()? })
    }

    /// The claims, in their order.
    pub fn claims(&self) -> &[&'static Claim] {
        &self.claims
    }

    /// The name of a claim's files, without an ending.
    pub fn file_name(&self, claim: &Claim) -> String {
        self.options.file_name(claim)
    }

    /// The command that runs this claim alone in the same way.
    pub fn command(&self, claim: &Claim) -> String {
        self.options.command(claim)
    }

    /// Runs one claim, for seconds to many minutes.
    ///
    /// # Errors
    /// As its planners and simulations have them.
    pub fn run(&self, claim: &Claim, progress: &Progress) -> Result<Findings, Failure> {
        let ClaimOptions { nodes, repetitions, scale, packets, .. } = self.options;
        let (published, cases) = (&self.published, &self.cases[..]);
        let setting = Setting { published, nodes, repetitions, scale, packets, cases, progress };
        (claim.run)(&setting, self.options.planner.unwrap_or(PLANNER))
    }

    /// The document of what a claim's run found.
    pub fn document(&self, claim: &Claim, findings: Findings, circumstances: &Circumstances) -> StudyDocument {
        let content = ClaimContent {
            id: claim.id.into(),
            title: claim.title.into(),
            statement: claim.statement.into(),
            shown_when: claim.shown_when.into(),
            tuning: claim.tuning,
            findings,
        };
        let (name, command) = (self.file_name(claim), self.command(claim));
        StudyDocument::new(name, command, circumstances.clone(), StudyContent::Claim(content))
    }
}

/// The claims of these names, each once, in their given order.
fn named(ids: &[String]) -> Result<Vec<&'static Claim>, Failure> {
    let mut claims: Vec<&Claim> = Vec::with_capacity(ids.len());
    for id in ids {
        let Some(claim) = CLAIMS.iter().find(|c| c.id.eq_ignore_ascii_case(id)) else {
            let known: Vec<&str> = CLAIMS.iter().map(|c| c.id).collect();
            return Err(Failure::Input(format!("there is no claim \"{id}\"; the claims are {}", known.join(", "))));
        };
        if !claims.iter().any(|c| c.id == claim.id) {
            claims.push(claim);
        }
    }
    Ok(claims)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn claims_have_names_of_their_own() {
        let ids: std::collections::BTreeSet<&str> = CLAIMS.iter().map(|c| c.id).collect();
        assert_eq!(ids.len(), CLAIMS.len());
        for id in SCALED.into_iter().chain(OF_CASES) {
            assert!(ids.contains(id), "{id}");
        }
        for id in ["O1", "O2", "O3", "O4", "O5", "O12", "O13", "O14", "O15", "O16", "O17", "91"] {
            assert!(ids.contains(id), "{id}");
        }
        let twice = named(&["o2".into(), "O1".into(), "O2".into()]).unwrap();
        assert_eq!(twice.iter().map(|c| c.id).collect::<Vec<_>>(), ["O2", "O1"]);
    }

    #[test]
    fn an_unknown_claim_is_told_the_known_ones() {
        let Err(Failure::Input(sentence)) = named(&["O99".into()]) else { panic!() };
        assert_eq!(
            sentence,
            "there is no claim \"O99\"; the claims are O1, O2, O3, O4, O5, O6, O7, O8, O9, O10, O11, O12, O13, O14, O15, O16, O17, O18, O19, O20, O21, B1, B2, B3, B4, B5, B6, B7, B8, B9, B10, B11, B12, B13, B14, B15, B16, B17, B18, K1, K2, K3, K4, K5, K6, K7, K8, C1, C2, C3, C4, C5, C6, Y1, Y2, Y3, Y4, Y5, 91"
        );
    }
}

//! The methods by which candidate paths are found.

use crate::error::PlanError;
use optiq_net::Network;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// How candidate paths are found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum CandidateMethod {
    /// [`Diverse`](CandidateMethod::Diverse) where hosts are joined directly (every host has ports to choose from,
    /// and on a dense graph the diameter would leave Yen's paths no way around), [`Via`](CandidateMethod::Via) on
    /// networks with switches.
    #[default]
    Auto,
    /// The k shortest loopless paths, [`super::yen`].
    Yen,
    /// Port-pair-diverse paths, [`super::diverse`].
    Diverse,
    /// The fabric's own routes and detours through one intermediate host, [`super::via`].
    Via,
    /// The paths that a plan of `optimal` puts most bytes on: for these demands, not for pairs alone. Found by
    /// [`crate::pipeline::candidates`]; `optimal` itself, which finds such paths on its way, begins with those of `Auto`.
    Priced,
}

impl CandidateMethod {
    /// What `Auto` means on `net`.
    pub fn resolve(self, net: &Network) -> Self {
        match self {
            CandidateMethod::Auto if net.vertices() == net.hosts() => CandidateMethod::Diverse,
            CandidateMethod::Auto => CandidateMethod::Via,
            other => other,
        }
    }
}

impl fmt::Display for CandidateMethod {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            CandidateMethod::Auto => "auto",
            CandidateMethod::Yen => "yen",
            CandidateMethod::Diverse => "diverse",
            CandidateMethod::Via => "via",
            CandidateMethod::Priced => "priced",
        })
    }
}

impl FromStr for CandidateMethod {
    type Err = PlanError;
    fn from_str(s: &str) -> Result<Self, PlanError> {
        match s {
            "auto" => Ok(CandidateMethod::Auto),
            "yen" => Ok(CandidateMethod::Yen),
            "diverse" => Ok(CandidateMethod::Diverse),
            "via" => Ok(CandidateMethod::Via),
            "priced" => Ok(CandidateMethod::Priced),
            other => Err(PlanError::UnknownMethod(other.to_owned())),
        }
    }
}

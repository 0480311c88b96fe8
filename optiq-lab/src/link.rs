//! A link of the lab.

use crate::rate::Rate;
use serde::{Deserialize, Serialize};

/// One directed link of the lab, at the index of its [`optiq_net::LinkId`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LabLink {
    /// Name of the vertex that sends.
    pub from: String,
    /// Name of the vertex that receives.
    pub to: String,
    /// Index of the namespace that sends.
    pub namespace: usize,
    /// The device there whose queue is this link.
    pub device: String,
    /// Its speed; all lanes of a bundle together.
    pub rate: Rate,
    /// Whether it is cut at present.
    pub cut: bool,
}

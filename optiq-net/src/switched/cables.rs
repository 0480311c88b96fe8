//! What switched networks are wired with, and how large they may be.

use crate::limits::{MAX_HOSTS, MAX_LINKS};

/// What a link joins; each class may have a capacity of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A host and its switch.
    Terminal,
    /// Two switches of a group, or of a fat tree.
    Local,
    /// Two groups.
    Global,
}

/// A bundle in both directions: two vertices, its lanes and its class.
pub(crate) type Cable = (u32, u32, u32, Class);

/// Refuses a network that is too large, in one sentence.
pub(super) fn check_size(vertices: u64, directed_links: u64) -> Result<(), String> {
    if vertices > MAX_HOSTS as u64 || directed_links > MAX_LINKS as u64 {
        return Err(format!(
            "the network would have {vertices} hosts and switches and {directed_links} links; at most {MAX_HOSTS} and \
             {MAX_LINKS} are supported"
        ));
    }
    Ok(())
}

/// The product of all, or `u64::MAX` if it is larger.
pub(super) fn product(factors: impl IntoIterator<Item = u32>) -> u64 {
    factors.into_iter().fold(1u64, |p, f| p.saturating_mul(u64::from(f)))
}

//! The keys of a pattern, `KEY=VALUE`, and how their values are read.

use crate::demands::demand::Demand;
use optiq_net::{NodeId, units};

/// The keys that were given.
pub(super) struct Keys<'a>(pub(super) Vec<(&'a str, &'a str)>);

impl Keys<'_> {
    pub(super) fn has(&self, key: &str) -> bool {
        self.0.iter().any(|(k, _)| *k == key)
    }

    pub(super) fn get<T>(&self, key: &str, default: T, read: impl Fn(&str) -> Result<T, String>) -> Result<T, String> {
        match self.0.iter().find(|(k, _)| *k == key) {
            Some((_, value)) => read(value).map_err(|e| format!("{key}={value}: {e}")),
            None => Ok(default),
        }
    }
}

/// A whole number.
pub(super) fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "a whole number is expected".into())
}

/// A whole number above zero.
pub(super) fn positive(text: &str) -> Result<usize, String> {
    match whole(text)? {
        0 => Err("at least 1 is expected".into()),
        n => usize::try_from(n).map_err(|_| "the number is too large".into()),
    }
}

/// A number of bytes, with or without a unit.
pub(super) fn size(text: &str) -> Result<u64, String> {
    units::parse_bytes(text).map_err(|e| e.to_string())
}

/// Adds a demand, unless it is of a host to itself.
pub(super) fn push(demands: &mut Vec<Demand>, src: usize, dst: usize, bytes: u64) {
    if src != dst {
        demands.push(Demand::new(NodeId(src as u32), NodeId(dst as u32), bytes));
    }
}

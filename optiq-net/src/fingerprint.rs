//! Fingerprints that are the same on every machine and in every version: xxh3-128 over little-endian words.

use serde::{Deserialize, Serialize};
use std::fmt;
use xxhash_rust::xxh3::Xxh3;

/// 128 bits that stand for a network, a demand list or a file's contents. Not cryptographic.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fingerprint(pub u128);

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Fingerprint({self})")
    }
}

impl From<Fingerprint> for String {
    fn from(f: Fingerprint) -> String {
        f.to_string()
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = String;
    fn try_from(s: String) -> Result<Self, String> {
        match u128::from_str_radix(&s, 16) {
            // from_str_radix alone would also take a sign.
            Ok(v) if s.len() == 32 && !s.starts_with('+') => Ok(Fingerprint(v)),
            _ => Err(format!("\"{s}\" is not a fingerprint; 32 hexadecimal digits are expected")),
        }
    }
}

/// Feeds words and bytes into a [`Fingerprint`].
pub struct Hasher(Xxh3);

impl Hasher {
    /// `what` separates fingerprints of different things, and versions of the same thing.
    pub fn new(what: &str) -> Self {
        let mut h = Hasher(Xxh3::new());
        h.bytes(what.as_bytes());
        h
    }

    /// Adds one word.
    pub fn u64(&mut self, v: u64) {
        self.0.update(&v.to_le_bytes());
    }

    /// Adds bytes, with their length.
    pub fn bytes(&mut self, b: &[u8]) {
        self.u64(b.len() as u64);
        self.0.update(b);
    }

    /// The fingerprint of all that was added.
    pub fn finish(&self) -> Fingerprint {
        Fingerprint(self.0.digest128())
    }
}

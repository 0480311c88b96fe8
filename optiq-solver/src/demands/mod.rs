//! Demands: which bytes go where, from built-in patterns, from files, or from a program's counts.

mod application;
mod demand;
mod file;
mod keys;
mod pattern;

pub use demand::{Demand, MAX_DEMANDS, by_pair, fingerprint};
pub use file::class_word;

use crate::error::DemandError;
use optiq_files::input::STANDARD;
use optiq_net::Network;
use std::borrow::Cow;
use std::path::Path;

/// `text` as it stands, or with `file:` before it if it has neither that nor `pattern:` and is the path of a regular file.
pub fn with_form(text: &str) -> Cow<'_, str> {
    let has_form = ["pattern:", "file:"].iter().any(|form| text.starts_with(form));
    if has_form || !Path::new(text).is_file() { Cow::Borrowed(text) } else { Cow::Owned(format!("file:{text}")) }
}

/// Demands from their textual form, `pattern:NAME[,KEY=VALUE...]` or `file:PATH`, or just `PATH` if there is such a file;
/// `-` is `file:-`, standard input.
///
/// Patterns, for a network of `P` hosts (thesis 6.4.2 and 6.4.4.2; `S` sources with `K` destinations each; every
/// demand has `message_bytes` bytes, and a host's demand to itself is left out):
///
/// | name | node `i < S` sends to | keys |
/// | --- | --- | --- |
/// | `disjoint` | `P/2 + K i .. P/2 + K i + K-1` | `sources`, `destinations` |
/// | `overlap` | `S/2 + K i .. S/2 + K i + K-1` (`S/2 = P/32` by default) | `sources`, `destinations` |
/// | `subset` | `K i .. K i + K-1` | `sources`, `destinations` |
/// | `alltoall` | every host, from every host | |
/// | `random` | `count` pairs of different hosts, each equally likely; sizes equally likely in `min..=max` | `count`, `seed`, `min`, `max`, `classes` |
/// | `coupling` | hosts of another range, in `pairs` different pairs of hosts, each choice equally likely; `messages` messages between the `ranks` ranks of either host of a pair, with 1 to `points` points of `message_bytes` bytes each, merged to one demand for each pair (thesis 6.5.1) | `from`, `to`, `pairs`, `messages`, `ranks`, `points`, `seed` |
/// | `aggregate` | its default I/O host, from every host: what `ranks` ranks have, each with `min..=max` bytes, equally likely (thesis 6.5.3) | `ranks`, `min`, `max`, `seed` |
///
/// Every pattern takes `class=N`, the class of all its demands ([`Demand::class`]). `random` takes `classes=N` instead:
/// each demand's class is one of `0..N`, equally likely; pairs and sizes are those of the same seed without it.
///
/// Defaults: `S = P/16` and `K = 8` from 128 hosts on (the thesis's shape); below, `S = P/4` and `K = (P/2)/S`, each
/// at least 1. `random`: `count = P`, `seed = 1`, and `message_bytes` for `min` and `max` where they are not given; so in
/// `aggregate`. `coupling`: `from` and `to` are all hosts (`FIRST-LAST`, as numbers, otherwise), `pairs = P`, `messages = pairs`.
/// `ranks` and `points` are 1.
///
/// A demand file has one demand per line, `SRC DST BYTES [class=N]`: hosts by name, number or coordinates, sizes with or
/// without a unit (`8MiB`), the class from 0 (the least urgent, and the default) to 255, `#` starting a comment. Lines of a host to itself need no network and are left out.
/// Lines of the same pair and class are one demand, where the first of them stands.
/// Files up to 256 MiB and [`MAX_DEMANDS`] demands are read; `message_bytes` does not matter to them.
///
/// # Errors
/// [`DemandError`], naming the key or the file and line.
pub fn parse(text: &str, net: &Network, message_bytes: u64) -> Result<Vec<Demand>, DemandError> {
    let text = &*with_form(text);
    if let Some(pattern) = text.strip_prefix("pattern:") {
        pattern::parse(pattern, net, message_bytes)
            .map_err(|problem| DemandError::Pattern { pattern: pattern.to_owned(), problem })
    } else if let Some(path) = text.strip_prefix("file:").or((text == STANDARD).then_some(STANDARD)) {
        file::read(path, net)
    } else {
        Err(DemandError::Form(text.to_owned()))
    }
}

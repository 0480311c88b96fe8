//! Known background load: what others already use of the links' capacities.
//!
//! ```text
//! # FROM TO USED
//! nid00004 nid00005 50%          # half of the capacity of that link, which is directed
//! 4 5 100Mbit/s                  # so much of it; vertices by name, number or coordinates
//! (0,1) * 10%                    # every link that leaves a vertex; * for FROM: every link that enters one
//! * * 1%                         # every link
//! ```
//!
//! A program that measures the load while it runs (`OPTIQ_BUSY_LINKS`) adds `# since TIME` to the lines of links that it took for busy.
//!
//! `USED` is a rate above zero or a share of the capacity from `0%` to `100%`, both of the link without background
//! load and, for a bundle of parallel links, of all of them together. What several lines say of a link adds up. `#`
//! starts a comment and blank lines are skipped. A link must be left with a millionth of its capacity: plans around
//! broken links are plans for a topology without them.
//!
//! The network that is left has the same vertices, links, routing and [`Network::unit_capacity`], so that figures *per
//! unit link* can be compared with and without the load; capacities and fingerprint are others.

use crate::error::NetError;
use crate::ids::{Link, LinkId, NodeId};
use crate::network::{Derived, Network};
use crate::text_file::{self, shorten};
use crate::units::parse_rate;
use std::io::Write;
use std::path::Path;

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// How often links may be visited in all; only files with many `* *` on large networks come near it.
const MAX_VISITS: usize = 1 << 28;

/// The share of a link's capacity that must be left.
const LEAST: f64 = 1e-6;

/// Background load as a file describes it, for any network that has its links.
#[derive(Clone, Debug, PartialEq)]
pub struct Background {
    label: String,
    lines: Vec<Line>,
}

#[derive(Clone, Debug, PartialEq)]
struct Line {
    number: usize,
    /// `None` for every vertex.
    from: Option<String>,
    to: Option<String>,
    used: Used,
    /// What is behind "# since".
    since: Option<String>,
}

/// A link that a program took for busy.
#[derive(Clone, Debug, PartialEq)]
pub struct BusyLink {
    /// Which.
    pub link: LinkId,
    /// The share of its capacity that others use, from 0 to 1.
    pub share_used: f64,
    /// When that was found, as it was written.
    pub since: String,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Used {
    /// Bytes per second.
    Rate(f64),
    /// A part of the capacity, at most 1.
    Share(f64),
}

impl Background {
    /// Reads the file at `path`.
    ///
    /// # Errors
    /// [`NetError::BackgroundFile`] if it cannot be read, is no regular file or larger than 16 MiB; and as
    /// [`Background::parse`].
    pub fn from_file(path: &Path) -> Result<Self, NetError> {
        let label = optiq_files::input::name(path);
        let bad = |problem| NetError::BackgroundFile { path: label.clone(), problem };
        let text = text_file::read(path, MAX_BYTES).map_err(bad)?;
        Self::parse(&text, &label)
    }

    /// The background load that `text` describes; `label` names the file in messages.
    ///
    /// # Errors
    /// [`NetError::Background`] for the first line that is not of the form above.
    pub fn parse(text: &str, label: &str) -> Result<Self, NetError> {
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            let bad = |problem: String| NetError::Background { path: label.to_owned(), line: number, problem };
            let (said, comment) = line.split_once('#').unwrap_or((line, ""));
            let words: Vec<&str> = said.split_whitespace().collect();
            let [from, to, used @ ..] = words.as_slice() else {
                if words.is_empty() {
                    continue;
                }
                return Err(bad("1 word; FROM TO USED are expected".into()));
            };
            if used.is_empty() {
                return Err(bad("2 words; FROM TO USED are expected".into()));
            }
            // A space may stand between a number and its unit.
            let used = self::used(&used.join(" ")).map_err(bad)?;
            let end = |word: &str| (word != "*").then(|| word.to_owned());
            let since = comment.trim().strip_prefix("since ").map(str::to_owned);
            lines.push(Line { number, from: end(from), to: end(to), used, since });
        }
        Ok(Background { label: label.to_owned(), lines })
    }

    /// The links that a program took for busy, in the order of the lines that say since when.
    ///
    /// # Errors
    /// [`NetError::Background`] for such a line with a vertex or link that `net` does not have.
    pub fn busy_links(&self, net: &Network) -> Result<Vec<BusyLink>, NetError> {
        let mut found = Vec::new();
        for line in &self.lines {
            let (Some(since), Used::Share(share_used)) = (&line.since, line.used) else { continue };
            let links = self.links(line, net)?.into_iter();
            found.extend(links.map(|link| BusyLink { link, share_used, since: since.clone() }));
        }
        Ok(found)
    }

    /// Writes a file that says these, whole or not at all.
    ///
    /// # Errors
    /// [`NetError::BackgroundFile`] if it cannot be written.
    pub fn write_busy_links(path: &Path, net: &Network, busy: &[BusyLink]) -> Result<(), NetError> {
        let line = |busy: &BusyLink| {
            let link = net.link(busy.link);
            let percent = 100.0 * busy.share_used;
            format!("{} {} {percent:.1}% # since {}\n", net.name(link.from), net.name(link.to), busy.since)
        };
        let text: String = busy.iter().map(line).collect();
        optiq_files::output::write(path, 0o644, |out| out.write_all(text.as_bytes())).map_err(|e| {
            NetError::BackgroundFile { path: path.display().to_string(), problem: format!("it cannot be written: {e}") }
        })
    }

    fn bad(&self, line: &Line, problem: String) -> NetError {
        NetError::Background { path: self.label.clone(), line: line.number, problem }
    }

    /// The links of `net` that a line speaks of.
    fn links(&self, line: &Line, net: &Network) -> Result<Vec<LinkId>, NetError> {
        let end = |text: &Option<String>| -> Result<Option<NodeId>, NetError> {
            text.as_deref().map(|t| net.resolve(t).map_err(|e| self.bad(line, e.to_string()))).transpose()
        };
        let found = match (end(&line.from)?, end(&line.to)?) {
            (Some(from), Some(to)) => {
                let none = || format!("there is no link from {} to {}", net.name(from), net.name(to));
                vec![net.link_between(from, to).ok_or_else(|| self.bad(line, none()))?]
            }
            (Some(from), None) => net.out_links(from).collect(),
            (None, Some(to)) => net.in_links(to).to_vec(),
            (None, None) => (0..net.links().len() as u32).map(LinkId).collect(),
        };
        if found.is_empty() {
            let word = |text: &Option<String>| shorten(text.as_deref().unwrap_or("*"));
            let problem = format!("no link leads from {} to {}", word(&line.from), word(&line.to));
            return Err(self.bad(line, problem));
        }
        Ok(found)
    }
}

/// A rate or a share; the error is the rest of a sentence.
fn used(text: &str) -> Result<Used, String> {
    let Some(number) = text.strip_suffix('%') else {
        return parse_rate(text).map(Used::Rate).map_err(|e| e.to_string());
    };
    let number = number.trim_end();
    // Rust's own reading of numbers would take signs, inf and nan.
    let plain = number.starts_with(|c: char| c.is_ascii_digit());
    match number.parse::<f64>() {
        Ok(percent) if plain && percent <= 100.0 => Ok(Used::Share(percent / 100.0)),
        _ => Err(format!("\"{}\" is not a share of a link; 0% to 100% is expected", shorten(text))),
    }
}

impl Network {
    /// The network that `background` leaves: the same with smaller capacities. [`Network::spec`] and
    /// [`Network::unit_capacity`] stay as they are, the fingerprint does not.
    ///
    /// ```
    /// use optiq_net::{Background, Network};
    ///
    /// let ring = Network::from_spec("torus:4")?;
    /// let left = ring.with_background(&Background::parse("h0 h1 50%", "load.txt")?)?;
    /// let link = left.link_between(left.resolve("h0")?, left.resolve("h1")?).unwrap();
    /// assert_eq!((left.link(link).capacity, left.unit_capacity()), (0.5e9, 1e9));
    /// # Ok::<(), optiq_net::NetError>(())
    /// ```
    ///
    /// # Errors
    /// [`NetError::Background`] for a line with a vertex or link that the network does not have, and for one that
    /// leaves a link less than a millionth of its capacity.
    pub fn with_background(self, background: &Background) -> Result<Self, NetError> {
        let mut left: Vec<f64> = self.links.iter().map(|l| l.capacity).collect();
        let mut visits = 0usize;
        for line in &background.lines {
            let links = background.links(line, &self)?;
            visits = visits.saturating_add(links.len());
            if visits > MAX_VISITS {
                let problem = format!("the lines up to here name links more than {MAX_VISITS} times");
                return Err(background.bad(line, problem));
            }
            for id in links {
                let link = self.link(id);
                let left = &mut left[id.index()];
                *left -= match line.used {
                    Used::Rate(rate) => rate,
                    Used::Share(share) => share * link.capacity,
                };
                if *left < link.capacity * LEAST {
                    let (from, to) = (self.name(link.from), self.name(link.to));
                    let capacity = crate::units::format_rate(link.capacity);
                    let problem = format!(
                        "nothing is left of link {from} -> {to}, which has {capacity}; some of its capacity must be left"
                    );
                    return Err(background.bad(line, problem));
                }
            }
        }
        Ok(self.with_capacities(left))
    }

    /// The network that is left where each link, in the order of [`Network::links`], carries this number of bytes per second, as somebody
    /// has measured. Each keeps at least `least` of its capacity, a part above zero: whoever needs a link that is full
    /// gets some of it all the same. What stays as it is, is as for [`Network::with_background`]. Panics if there is not one number for each
    /// link, or `least` is not above zero.
    ///
    /// ```
    /// use optiq_net::Network;
    ///
    /// let ring = Network::from_spec("torus:4")?;
    /// let left = ring.with_measured_load(&[0.5e9; 8], 0.1);
    /// assert!(left.links().iter().all(|link| link.capacity == 0.5e9));
    /// # Ok::<(), optiq_net::NetError>(())
    /// ```
    #[must_use]
    pub fn with_measured_load(self, used: &[f64], least: f64) -> Self {
        assert!(used.len() == self.links.len() && least > 0.0, "one number for each link, and a part above zero");
        let left = |(link, used): (&Link, &f64)| (link.capacity - used).max(link.capacity * least);
        let left = self.links.iter().zip(used).map(left).collect();
        self.with_capacities(left)
    }

    /// The same with these capacities by link, and "per unit link" as it was.
    fn with_capacities(mut self, left: Vec<f64>) -> Self {
        self.unit_capacity = Some(self.unit_capacity());
        for (link, left) in self.links.iter_mut().zip(left) {
            link.capacity = left;
        }
        self.derived = Derived::default();
        self
    }
}

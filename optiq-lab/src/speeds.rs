//! Links with speeds of their own.

use crate::error::LabError;
use crate::link::LabLink;
use crate::rate::Rate;
use optiq_net::{Background, Network, NodeId};
use std::fmt::Write;
use std::str::FromStr;

/// Another speed than the topology's for some links: `h0:h1=20Mbit/s`, `h0:*=20Mbit/s`, `*:h1=20Mbit/s`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkRate {
    /// The vertex that sends, by name, number or coordinates; none for every one.
    pub from: Option<String>,
    /// The vertex that receives, likewise.
    pub to: Option<String>,
    /// The speed; all lanes of a bundle together.
    pub rate: Rate,
}

impl FromStr for LinkRate {
    type Err = LabError;

    fn from_str(text: &str) -> Result<Self, LabError> {
        let bad = || LabError::Argument(format!("found \"{text}\"; FROM:TO=RATE such as h0:h1=20Mbit/s is expected"));
        let (ends, rate) = text.rsplit_once('=').ok_or_else(bad)?;
        let (from, to) = ends.split_once(':').ok_or_else(bad)?;
        let (from, to) = (from.trim(), to.trim());
        if from.is_empty() || to.is_empty() {
            return Err(bad());
        }
        let end = |name: &str| (name != "*").then(|| name.to_string());
        Ok(LinkRate { from: end(from), to: end(to), rate: rate.parse()? })
    }
}

/// Gives links their own speeds; later entries prevail. Returns what is to be told to programs that know the topology
/// only: the missing part of each slower link as [background load](optiq_net::Background); nothing if no link is slower.
///
/// # Errors
/// [`LabError::Argument`] for an entry without a link, or one that makes a link faster than the topology says: background load
/// cannot say that.
pub(crate) fn apply(network: &Network, rates: &[LinkRate], links: &mut [LabLink]) -> Result<Option<String>, LabError> {
    let nominal: Vec<Rate> = links.iter().map(|l| l.rate).collect();
    for entry in rates {
        let end = |name: &Option<String>| -> Result<Option<NodeId>, LabError> {
            let resolve =
                |n: &String| network.resolve(n).map_err(|e| LabError::Argument(format!("a link's rate: {e}")));
            name.as_ref().map(resolve).transpose()
        };
        let (from, to) = (end(&entry.from)?, end(&entry.to)?);
        let mut found = false;
        for (i, link) in network.links().iter().enumerate() {
            if from.is_some_and(|v| v != link.from) || to.is_some_and(|v| v != link.to) {
                continue;
            }
            found = true;
            if entry.rate > nominal[i] {
                return Err(LabError::Argument(format!(
                    "the link {} -> {} cannot be given {}: the topology says {}, and single links can only be slower; \
                     raise the topology's rate and slow the others down",
                    links[i].from, links[i].to, entry.rate, nominal[i]
                )));
            }
            links[i].rate = entry.rate;
        }
        if !found {
            let word = |name: &Option<String>| name.clone().unwrap_or_else(|| "*".into());
            return Err(LabError::Argument(format!(
                "the topology {} has no link from {} to {}; two neighbours are expected",
                network.spec(),
                word(&entry.from),
                word(&entry.to)
            )));
        }
    }
    let mut text = String::new();
    for (link, nominal) in links.iter().zip(&nominal).filter(|(link, nominal)| link.rate < **nominal) {
        let _ = writeln!(text, "{} {} {}bit/s", link.from, link.to, nominal.bits() - link.rate.bits());
    }
    if text.is_empty() {
        return Ok(None);
    }
    // What programs will read must mean what is built.
    let told = network.clone().with_background(&Background::parse(&text, "the links' own rates")?)?;
    let differs = |(i, link): &(usize, &LabLink)| (told.links()[*i].capacity - link.rate.bytes()).abs() > 1.0;
    if let Some((_, link)) = links.iter().enumerate().find(differs) {
        return Err(LabError::Argument(format!(
            "the rate of the link {} -> {} cannot be told to programs: its vertices' names are not unique",
            link.from, link.to
        )));
    }
    Ok(Some(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blueprint::{Blueprint, network_at};
    use crate::profile::Profile;
    use crate::tuning::Tuning;

    fn blueprint(spec: &str, rates: &[&str]) -> Result<(Blueprint, Option<String>), LabError> {
        let network = network_at(spec, "100mbit".parse().unwrap()).unwrap();
        let rates: Vec<LinkRate> = rates.iter().map(|r| r.parse()).collect::<Result<_, _>>()?;
        Blueprint::new(&network, Profile::Tuned, None, &rates).map(|(blueprint, wiring)| (blueprint, wiring.background))
    }

    #[test]
    fn single_links_and_all_links_of_a_vertex() {
        let (blueprint, background) = blueprint("star:3", &["h0:*=20Mbit/s", "*:h2=5MB/s", "s0:h2=50mbit"]).unwrap();
        let rate = |from, to| blueprint.links[blueprint.link(from, to).unwrap()].rate.to_string();
        assert_eq!(rate("h0", "s0"), "20 Mbit/s");
        assert_eq!(rate("s0", "h0"), "100 Mbit/s");
        assert_eq!(rate("s0", "h2"), "50 Mbit/s");
        assert_eq!(rate("h2", "s0"), "100 Mbit/s");
        assert_eq!(background.as_deref(), Some("h0 s0 80000000bit/s\ns0 h2 50000000bit/s\n"));
        // Buffers are made for the slowest link.
        assert_eq!(blueprint.tuning, Tuning::new(Profile::Tuned, "20mbit".parse().unwrap()));
    }

    #[test]
    fn coordinates_and_nothing_to_tell() {
        let slow = blueprint("torus:4x4", &["(0,1):(0,2)=10mbit"]).unwrap();
        assert_eq!(slow.1.as_deref(), Some("h1 h2 90000000bit/s\n"));
        assert_eq!(blueprint("torus:4x4", &["h0:h1=100mbit"]).unwrap().1, None);
        assert_eq!(blueprint("torus:4x4", &[]).unwrap().1, None);
    }

    #[test]
    fn refuses_in_one_sentence() {
        for (rate, piece) in [
            ("h0:h1", "FROM:TO=RATE"),
            ("h0=20mbit", "FROM:TO=RATE"),
            (":h1=20mbit", "FROM:TO=RATE"),
            ("h0:h1=fast", "fast"),
            ("h0:h2=20mbit", "no link from h0 to h2"),
            ("h0:h99=20mbit", "h99"),
            ("h0:h1=200mbit", "the link h0 -> h1 cannot be given 200 Mbit/s: the topology says 100 Mbit/s"),
        ] {
            match blueprint("torus:4x4", &[rate]) {
                Err(LabError::Argument(sentence)) => assert!(sentence.contains(piece), "{sentence}"),
                other => panic!("{rate}: {other:?}"),
            }
        }
    }
}

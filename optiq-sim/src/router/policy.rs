//! Which routing a run has, by its name.

use crate::error::SimError;
use optiq_net::{Network, ShapeKind};
use std::fmt;
use std::str::FromStr;

/// How packets are routed: by the fabric's own routes, which are known when a packet leaves, or hop by hop. What each
/// one does, and why it cannot deadlock, is at the head of its file in `adaptive/`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub enum Policy {
    /// The fabric's own routes ([`optiq_net::Network::route`]).
    #[default]
    Fabric,
    /// On a torus or mesh: any direction that leads closer, by the space behind it (Duato 1993).
    MinimalAdaptive,
    /// In a fat tree: up by any port, each as likely.
    RandomUp,
    /// In a fat tree: up by the port with the shortest queue.
    AdaptiveUp,
    /// In a dragonfly: through a random other group (Valiant 1982; Kim et al., ISCA 2008).
    Valiant,
    /// In a dragonfly: minimally or as [`Policy::Valiant`], whichever the source's router thinks shorter (Singh 2005).
    Ugal,
    /// As [`Policy::Ugal`], but the source's group may change its mind once (Jiang, Kim, Dally, ISCA 2009).
    Par,
    /// In a Dragonfly+: fully progressive adaptive routing (Shpiner et al., HiPINEB 2017).
    Fpar {
        /// The share of a port's queue, from 0 to 1, above which it counts as occupied. With 0 packets never leave minimal
        /// paths, as no longer one is ever below it.
        threshold: f64,
    },
}

impl Policy {
    /// The threshold of Kang et al., section 3.1.2: half the queue, as longer paths need twice as many global links.
    pub const FPAR_THRESHOLD: f64 = 0.5;

    /// The names that [`Policy::from_str`] knows, `fpar` also with a threshold (`fpar=0.3`).
    pub const NAMES: [&str; 8] = ["fabric", "adaptive", "random-up", "adaptive-up", "valiant", "ugal", "par", "fpar"];

    /// The strongest adaptive routing that such a network can have; `None` where there is one way only, or nothing is known of
    /// its shape.
    pub fn adaptive_of(network: &Network) -> Option<Self> {
        let shape = network.switched_shape();
        let several = shape.as_ref().is_some_and(|shape| shape.rails() > 1);
        match shape.map(|shape| shape.kind()) {
            Some(ShapeKind::Dragonfly { .. } | ShapeKind::DragonflyPlus { .. }) if several => None,
            Some(ShapeKind::FatTree { children, .. }) => (children.len() > 1).then_some(Policy::AdaptiveUp),
            Some(ShapeKind::DragonflyPlus { .. }) => Some(Policy::Fpar { threshold: Policy::FPAR_THRESHOLD }),
            Some(ShapeKind::Dragonfly { .. }) => Some(Policy::Par),
            Some(_) => None,
            None => network.geometry().grid().map(|_| Policy::MinimalAdaptive),
        }
    }

    /// What packets do on a network where this is asked for: the fabric's own routing is adaptive where the network says so
    /// ([`optiq_net::Routing::MinimalAdaptive`]).
    pub fn on(self, network: &Network) -> Self {
        if self == Policy::Fabric && network.routing().is_adaptive() { Policy::MinimalAdaptive } else { self }
    }

    /// Without its threshold.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Policy::Fabric => "fabric",
            Policy::MinimalAdaptive => "adaptive",
            Policy::RandomUp => "random-up",
            Policy::AdaptiveUp => "adaptive-up",
            Policy::Valiant => "valiant",
            Policy::Ugal => "ugal",
            Policy::Par => "par",
            Policy::Fpar { .. } => "fpar",
        }
    }
}

impl fmt::Display for Policy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self {
            Policy::Fpar { threshold } if *threshold != Self::FPAR_THRESHOLD => write!(f, "={threshold}"),
            _ => Ok(()),
        }
    }
}

impl FromStr for Policy {
    type Err = SimError;

    fn from_str(text: &str) -> Result<Self, SimError> {
        let short: String = text.chars().take(40).collect();
        Ok(match text {
            "fabric" => Policy::Fabric,
            "adaptive" => Policy::MinimalAdaptive,
            "random-up" => Policy::RandomUp,
            "adaptive-up" => Policy::AdaptiveUp,
            "valiant" => Policy::Valiant,
            "ugal" => Policy::Ugal,
            "par" => Policy::Par,
            "fpar" => Policy::Fpar { threshold: Self::FPAR_THRESHOLD },
            _ => {
                let Some(number) = text.strip_prefix("fpar=") else {
                    let names = Self::NAMES.join(", ");
                    let text = format!("there is no routing \"{short}\"; {names} or fpar=THRESHOLD is expected");
                    return Err(SimError::Routing(text));
                };
                let threshold = number.parse().ok().filter(|t| (0.0..=1.0).contains(t));
                let wrong = || {
                    SimError::Routing(format!(
                        "the threshold of \"{short}\" is wrong; a number from 0 to 1 is expected"
                    ))
                };
                Policy::Fpar { threshold: threshold.ok_or_else(wrong)? }
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_with_adaptive_routing_is_simulated_so() {
        let on = |spec: &str, policy: Policy| policy.on(&Network::from_spec(spec).unwrap());
        assert_eq!(on("torus:4x4,routing=adaptive", Policy::Fabric), Policy::MinimalAdaptive);
        assert_eq!(on("torus:4x4", Policy::Fabric), Policy::Fabric);
        assert_eq!(on("torus:4x4", Policy::MinimalAdaptive), Policy::MinimalAdaptive);
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in Policy::NAMES.into_iter().chain(["fpar=0.3", "fpar=0", "fpar=1"]) {
            assert_eq!(name.parse::<Policy>().unwrap().to_string(), name);
        }
        for (wrong, why) in [
            ("minimal", "there is no routing \"minimal\"; fabric, adaptive,"),
            ("fpar=2", "the threshold of \"fpar=2\" is wrong"),
            ("fpar=NaN", "from 0 to 1"),
            ("", "there is no routing"),
        ] {
            let text = wrong.parse::<Policy>().unwrap_err().to_string();
            assert!(text.contains(why), "{text}");
        }
    }
}

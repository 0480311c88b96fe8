//! Whether other paths than the network's own can help at all, and what makes them better, in a sentence.
//!
//! Four figures decide: the congestion `d` of the network's own routes and `c` of the plan, the proved bound `b` over
//! every routing, and, where software cannot choose switches, the proved bound `s` over everything that software can
//! do, `b <= s <= c <= d`. What is not proved is not said.

use crate::constants::VERDICT_CLOSE;
use crate::plan::Plan;

/// Figures that differ by less are taken to be equal in what is said: 1 %.
pub const CLOSE: f64 = VERDICT_CLOSE;

/// What [`verdict`] has found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Whether it is proved that the network's own routes are the best to within [`CLOSE`], so that nothing need be
    /// forwarded.
    pub direct_suffices: bool,
    /// The sentence, without a full stop.
    pub text: String,
}

/// What makes a plan better than the network's own routes, and what else could.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Gain {
    /// Hosts forward bytes.
    pub forwarding: bool,
    /// What they forward passes switches without hosts that the network's own routes do not pass.
    pub other_spines: bool,
    /// Hosts send by other links than the network's own routes take.
    pub further_rails: bool,
    /// Congestion of the network's own routes striped over all rails, in seconds, where hosts have several.
    pub striped_seconds: Option<f64>,
}

impl Gain {
    /// The subject of a sentence.
    fn what(&self) -> &'static str {
        match (self.further_rails, self.forwarding, self.other_spines) {
            (true, false, _) => "sending over further rails",
            (true, true, _) => "sending over further rails, with forwarding,",
            (false, true, true) => "forwarding over other spines",
            (false, true, false) => "forwarding",
            (false, false, _) => "the plan",
        }
    }

    /// How a plan of this congestion stands against routes striped over all rails, as the end of a sentence.
    fn against_striping(&self, congestion: f64) -> String {
        let Some(striped) = self.striped_seconds else { return String::new() };
        if striped > congestion * (1.0 + CLOSE) {
            let gain = striped / congestion;
            format!("; over messages striped across all rails, as MPI libraries send large ones, it gains {gain:.2}x")
        } else if striped >= congestion * (1.0 - CLOSE) {
            "; an MPI library that stripes messages across all rails does as well".into()
        } else {
            let better = congestion / striped;
            format!("; an MPI library that stripes messages across all rails is {better:.2}x better")
        }
    }
}

/// What `plan` and its bound say about other paths. `over_legs` is a lower bound in seconds on the congestion of
/// everything that software can do on the plan's network, where that is known to be less than every routing; it is used
/// if it says more than the plan's own bound. `gain` says what the plan does that the network does not. `None` if
/// nothing is to be moved.
pub fn verdict(plan: &Plan, over_legs: Option<f64>, gain: &Gain) -> Option<Verdict> {
    let (direct, congestion, bound) = (plan.direct_congestion_seconds, plan.congestion_seconds, plan.bound_seconds);
    if !(direct > 0.0 && bound > 0.0) {
        return None;
    }
    let software = over_legs.filter(|s| s.is_finite() && *s > bound).unwrap_or(bound).min(congestion);
    let limit = || format!("the limit of {:.1}x would need switches to be chosen", direct / bound);
    let (direct_suffices, text) = if direct <= bound * (1.0 + CLOSE) {
        (true, format!("the network's own routes {} the limit; forwarding cannot help", within(direct, bound, "reach")))
    } else if direct <= software * (1.0 + CLOSE) {
        let best = match percent(direct, software) {
            None => "direct is the best that software can do on this network".into(),
            Some(percent) => format!("direct is within {percent} of the best that software can do on this network"),
        };
        (true, format!("{best}; {}", limit()))
    } else if congestion < direct {
        let one = if gain.striped_seconds.is_some() { ", which take one rail," } else { "" };
        let gains = format!("{} gains {:.2}x over the network's own routes{one}", gain.what(), direct / congestion);
        let text = if congestion <= bound * (1.0 + CLOSE) {
            format!("{gains} and {} the limit", within(congestion, bound, "reaches"))
        } else if congestion <= software * (1.0 + CLOSE) {
            format!("{gains} and {} what software can do; {}", within(congestion, software, "reaches"), limit())
        } else {
            let most = direct / software;
            format!("{}; whether more is possible, up to {most:.2}x, is not proved", gains.trim_end_matches(','))
        };
        (false, text + &gain.against_striping(congestion))
    } else {
        let most = direct / software;
        let striping = gain.against_striping(congestion);
        (
            false,
            format!(
                "no better paths than the network's own were found; {most:.2}x is not proved to be out of reach{striping}"
            ),
        )
    };
    Some(Verdict { direct_suffices, text })
}

/// As [`verdict`] where the network's own routes leave equal paths unused ([`optiq_net::Network::unused_equal_paths`]): no
/// fabric routes like that, so it says what the plan reaches, and no gain.
pub fn without_rival(plan: &Plan, gain: &Gain) -> Option<Verdict> {
    let (direct, congestion, bound) = (plan.direct_congestion_seconds, plan.congestion_seconds, plan.bound_seconds);
    if direct <= bound * (1.0 + CLOSE) {
        return verdict(plan, None, gain);
    }
    let reaches = if congestion <= bound * (1.0 + CLOSE) {
        format!("{} the limit", within(congestion, bound, "reaches"))
    } else {
        format!("is within {:.2}x of the limit", congestion / bound)
    };
    let text = format!(
        "the plan {reaches}; what forwarding gains is not known, because the routes that it is compared with leave equal paths \
         unused (routing shortest), as no fabric does"
    );
    (direct > 0.0 && bound > 0.0).then_some(Verdict { direct_suffices: false, text })
}

/// By how much `value` is above `of`, unless that rounds to nothing.
fn percent(value: f64, of: f64) -> Option<String> {
    let percent = (value / of - 1.0) * 100.0;
    (percent >= 0.05).then(|| format!("{percent:.1} %"))
}

/// `reach`, or `are already within 0.3 % of` in the number of the verb.
fn within(value: f64, of: f64, reach: &str) -> String {
    match percent(value, of) {
        None => reach.into(),
        Some(percent) if reach == "reach" => format!("are already within {percent} of"),
        Some(percent) => format!("is within {percent} of"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    const FORWARDING: Gain =
        Gain { forwarding: true, other_spines: false, further_rails: false, striped_seconds: None };

    fn plan(direct: f64, congestion: f64, bound: f64) -> Plan {
        let net = optiq_net::Network::from_spec("star:2").unwrap();
        Plan {
            version: crate::PLAN_VERSION,
            planner: "test".into(),
            network: net.fingerprint(),
            demands_fingerprint: crate::demands::fingerprint(&[]),
            demands: vec![],
            flows: vec![],
            congestion_seconds: congestion,
            direct_congestion_seconds: direct,
            bound_seconds: bound,
            binding: String::new(),
        }
    }

    #[test]
    fn sentences() {
        let say = |d, c, b, legs| verdict(&plan(d, c, b), legs, &FORWARDING).unwrap();
        let cases = [
            (
                (1.003, 1.003, 1.0, None),
                true,
                "the network's own routes are already within 0.3 % of the limit; forwarding cannot help",
            ),
            ((2.0, 2.0, 2.0, None), true, "the network's own routes reach the limit; forwarding cannot help"),
            (
                (2.1, 2.1, 1.0, Some(2.1)),
                true,
                "direct is the best that software can do on this network; the limit of 2.1x would need switches to be chosen",
            ),
            (
                (2.0, 2.0, 1.0, Some(1.99)),
                true,
                "direct is within 0.5 % of the best that software can do on this network; the limit of 2.0x would need \
                 switches to be chosen",
            ),
            (
                (4.0, 2.0, 2.0, None),
                false,
                "forwarding gains 2.00x over the network's own routes and reaches the limit",
            ),
            (
                (4.0, 2.01, 1.0, Some(2.0)),
                false,
                "forwarding gains 1.99x over the network's own routes and is within 0.5 % of what software can do; the \
                 limit of 4.0x would need switches to be chosen",
            ),
            (
                (4.0, 3.0, 1.0, Some(2.0)),
                false,
                "forwarding gains 1.33x over the network's own routes; whether more is possible, up to 2.00x, is not proved",
            ),
            // A bound over legs that says less than the bound over every routing adds nothing.
            (
                (4.0, 4.0, 2.0, Some(1.0)),
                false,
                "no better paths than the network's own were found; 2.00x is not proved to be out of reach",
            ),
        ];
        for ((d, c, b, legs), suffices, text) in cases {
            let found = say(d, c, b, legs);
            assert_eq!((found.direct_suffices, found.text.as_str()), (suffices, text));
        }
        assert_eq!(verdict(&plan(0.0, 0.0, 0.0), None, &FORWARDING), None);
        assert_eq!(without_rival(&plan(0.0, 0.0, 0.0), &FORWARDING), None);
        assert!(without_rival(&plan(2.0, 2.0, 2.0), &FORWARDING).unwrap().direct_suffices);
        let against_one_spine = without_rival(&plan(4.0, 2.0, 2.0), &FORWARDING).unwrap();
        assert!(against_one_spine.text.starts_with("the plan reaches the limit; what forwarding gains is not known"));
        assert!(!against_one_spine.text.contains("2.00x") && !against_one_spine.direct_suffices);
    }

    /// Nothing is credited to forwarding where nothing is forwarded, and rails are compared with striping.
    #[test]
    fn what_gains_is_named() {
        let say = |gain: Gain| verdict(&plan(4.0, 2.0, 2.0), None, &gain).unwrap().text;
        let rails = Gain { further_rails: true, striped_seconds: Some(2.0), ..Gain::default() };
        assert_eq!(
            say(rails),
            "sending over further rails gains 2.00x over the network's own routes, which take one rail, and reaches the \
             limit; an MPI library that stripes messages across all rails does as well"
        );
        let both = Gain { striped_seconds: Some(3.0), forwarding: true, ..rails };
        assert!(say(both).starts_with("sending over further rails, with forwarding, gains 2.00x"), "{}", say(both));
        assert!(say(both).ends_with("striped across all rails, as MPI libraries send large ones, it gains 1.50x"));
        let worse = say(Gain { striped_seconds: Some(1.0), ..rails });
        assert!(worse.ends_with("that stripes messages across all rails is 2.00x better"), "{worse}");
        let spines = say(Gain { other_spines: true, ..FORWARDING });
        assert!(spines.starts_with("forwarding over other spines gains 2.00x over"), "{spines}");
    }
}

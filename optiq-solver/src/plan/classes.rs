//! Figures per class of urgency (thesis 7.2.3).
//!
//! If the bytes of more urgent classes go first on every link, those of class `k` have left link `l` after
//! `(sum of the bytes of classes k and above on l) / c_l` seconds, and the class is done when they have left the last
//! link that any of them takes:
//!
//! ```text
//! congestion_k = max over links l with bytes of class k of  load_l(classes >= k) / c_l
//! ```
//!
//! The most urgent class's is that of its demands alone. The largest over all classes is the plan's congestion: on the
//! most loaded link the least urgent class there waits for everything else.

use super::Plan;
use crate::demands::Demand;
use optiq_net::{LinkId, LinkLoad, NetError, Network};
use serde::Serialize;

/// The figures of one class.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClassFigures {
    /// The class; higher ones are more urgent.
    pub class: u8,
    /// Demands of the class.
    pub demands: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Seconds until the class is done, if more urgent ones go first on every link; at least.
    pub congestion_seconds: f64,
    /// The same for the fabric's own routes.
    pub direct_congestion_seconds: f64,
}

/// The classes that some demand has, the most urgent first.
pub(crate) fn classes(demands: &[Demand]) -> Vec<u8> {
    let mut there = [false; 256];
    demands.iter().for_each(|d| there[usize::from(d.class)] = true);
    (0..=u8::MAX).rev().filter(|&class| there[usize::from(class)]).collect()
}

impl Plan {
    /// Whether its demands are of more than one class.
    pub fn has_classes(&self) -> bool {
        self.demands.windows(2).any(|pair| pair[0].class != pair[1].class)
    }

    /// The figures of every class that some demand has, the most urgent first. `net` is the network that the plan was
    /// made for.
    ///
    /// # Errors
    /// [`NetError`] if it was not.
    pub fn classes(&self, net: &Network) -> Result<Vec<ClassFigures>, NetError> {
        let classes = classes(&self.demands);
        if let &[class] = classes.as_slice() {
            // The plan's own figures, which need not be summed up again.
            return Ok(vec![ClassFigures {
                class,
                demands: self.demands.len(),
                bytes: self.demands.iter().map(|d| d.bytes).fold(0, u64::saturating_add),
                congestion_seconds: self.congestion_seconds,
                direct_congestion_seconds: self.direct_congestion_seconds,
            }]);
        }
        let (mut load, mut direct) = (Done::new(net), Done::new(net));
        let mut figures = Vec::with_capacity(classes.len());
        let mut route = Vec::new();
        for class in classes {
            let of_class = || self.demands.iter().zip(&self.flows).filter(|(d, _)| d.class == class);
            for (demand, flows) in of_class() {
                for flow in flows {
                    load.add(&flow.links, flow.bytes)?;
                }
                if demand.bytes > 0 {
                    route.clear();
                    net.route(demand.src, demand.dst, &mut route)?;
                    direct.add(&route, demand.bytes)?;
                }
            }
            figures.push(ClassFigures {
                class,
                demands: of_class().count(),
                bytes: of_class().map(|(d, _)| d.bytes).fold(0, u64::saturating_add),
                congestion_seconds: load.seconds(),
                direct_congestion_seconds: direct.seconds(),
            });
        }
        Ok(figures)
    }
}

/// Loads that grow class by class.
struct Done<'n> {
    net: &'n Network,
    load: LinkLoad,
    /// Per link, whether the current class takes it.
    touched: Vec<bool>,
}

impl<'n> Done<'n> {
    fn new(net: &'n Network) -> Self {
        Done { net, load: LinkLoad::empty(net), touched: vec![false; net.links().len()] }
    }

    fn add(&mut self, path: &[LinkId], bytes: u64) -> Result<(), NetError> {
        path.iter().for_each(|l| self.touched[l.index()] = true);
        self.load.add(self.net, path, bytes)
    }

    /// When the current class is done. The next one begins.
    fn seconds(&mut self) -> f64 {
        let links = self.net.links().iter().zip(&self.load.bytes).zip(&mut self.touched);
        let seconds = |((link, &bytes), touched): ((&optiq_net::Link, &u64), &mut bool)| {
            if std::mem::take(touched) { bytes as f64 / link.capacity } else { 0.0 }
        };
        links.map(seconds).fold(0.0, f64::max)
    }
}

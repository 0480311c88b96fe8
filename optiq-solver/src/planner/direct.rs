//! The fabric's own route for every demand: what happens without OPTIQ, as a planner among planners.
//! What is on the links already makes no difference to it.

use crate::checks::unconnected;
use crate::error::PlanError;
use crate::planner::interface::Planner;
use crate::planner::name::PlannerName;
use crate::problem::{Assignment, Problem, Share};

/// See the [module](self).
#[derive(Clone, Copy, Debug)]
pub struct Direct;

impl Planner for Direct {
    fn id(&self) -> PlannerName {
        PlannerName::Direct
    }

    fn needs_candidates(&self) -> bool {
        false
    }

    fn assign(&self, problem: &Problem) -> Result<Assignment, PlanError> {
        let (net, demands) = (problem.net(), problem.demands());
        let mut shares = Vec::with_capacity(demands.len());
        for (i, d) in demands.iter().enumerate() {
            let mut links = Vec::new();
            net.route(d.src, d.dst, &mut links).map_err(|e| unconnected(net, demands, i, e))?;
            shares.push(if d.bytes > 0 { vec![Share { links, bytes: d.bytes }] } else { vec![] });
        }
        Ok(Assignment { shares, ..Assignment::default() })
    }
}

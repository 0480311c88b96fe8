//! The fabric's own route for every demand: what happens without OPTIQ, as a planner among planners.
//! What is on the links already makes no difference to it.

use crate::checks::unconnected;
use crate::demands::Demand;
use crate::error::PlanError;
use crate::parallel::in_two;
use crate::plan::MANY;
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
        let list = |part: &[Demand]| {
            let (mut shares, mut links) = (Vec::with_capacity(part.len()), Vec::new());
            for d in part {
                links.clear();
                net.route(d.src, d.dst, &mut links)?;
                shares.push(if d.bytes > 0 { vec![Share { links: links.clone(), bytes: d.bytes }] } else { vec![] });
            }
            Ok(shares)
        };
        let (first, second) = in_two(demands, demands.len() >= MANY, list);
        let both = first.and_then(|mut shares: Vec<Vec<Share>>| {
            shares.extend(second.transpose()?.unwrap_or_default());
            Ok(shares)
        });
        let shares = both.map_err(|e| {
            let routed = |d: &Demand| net.route(d.src, d.dst, &mut Vec::new()).is_ok();
            unconnected(net, demands, demands.iter().position(|d| !routed(d)).unwrap_or(0), e)
        })?;
        Ok(Assignment { shares, ..Assignment::default() })
    }
}

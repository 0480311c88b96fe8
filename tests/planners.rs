//! Every case with every planner: bytes conserved, bounds respected, the hand-derived optimum reached.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use optiq_solver::planner;
use optiq_solver::{Plan, pipeline};
use optiq_suite::cases;

/// To which `optimal` plans here: half of what is allowed below.
const GAP: f64 = 5e-4;

const PLANNERS: &[&str] = &["direct", "heu1", "heu2", "lp", "optimal"];

#[test]
fn all_cases_with_all_planners() {
    let cases = cases::all().unwrap();
    assert!(cases.len() >= 10, "only {} cases were found", cases.len());
    let mut failures = Vec::new();
    let mut skipped = 0;
    for case in &cases {
        for planner in PLANNERS {
            if *planner == "lp" && cfg!(not(feature = "highs")) {
                skipped += 1;
            } else if let Some(reason) = case.exceptions.get(*planner) {
                println!("{} is not planned with {planner}: {reason}", case.name);
                skipped += 1;
            } else if let Err(e) = check(case, planner) {
                failures.push(format!("{} with {planner}: {e}", case.name));
            }
        }
    }
    println!("{} cases, {} planners, {skipped} exceptions", cases.len(), PLANNERS.len());
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn check(case: &cases::Case, planner: &str) -> Result<(), String> {
    let network = case.network()?;
    let demands = case.demands(&network)?;
    // Small chunks, so that heuristic 2 can split small messages.
    let chunk = demands.iter().map(|d| d.bytes / 64).max().unwrap_or(0).max(1);
    // Without slack, `optimal` has only its gap to stay within.
    let (slack, gap) = (0.0, GAP);
    let options = pipeline::PlanOptions { planner: planner.parse().unwrap(), chunk, slack, gap, ..Default::default() };
    let planned = pipeline::run(&network, &demands, &options).map_err(|e| e.to_string())?;
    let plan = &planned.plan;
    plan.check(&network)?;
    let unit = network.unit_capacity();
    let (worst, direct, bound) =
        (plan.congestion_seconds * unit, plan.direct_congestion_seconds * unit, plan.bound_seconds * unit);
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-3 * b + 1.0;
    if !close(direct, case.direct) {
        return Err(format!("the fabric's routes put {direct} bytes on the worst link, not {}", case.direct));
    }
    if bound > case.optimum * (1.0 + 1e-9) {
        return Err(format!("the bound {bound} is above the optimum {}", case.optimum));
    }
    if worst < case.optimum * (1.0 - 1e-9) {
        return Err(format!("{worst} bytes on the worst link are below the optimum {}", case.optimum));
    }
    let allowed = match planner {
        "direct" => case.direct,
        "optimal" => case.optimum,
        _ => case.optimum * case.within.get(planner).copied().unwrap_or(1.0),
    };
    if worst > allowed * 1.001 + 1.0 {
        return Err(format!("{worst} bytes on the worst link; at most {allowed} are allowed"));
    }
    // The same inputs give the same bytes, and the bytes give the plan back.
    let again = pipeline::run(&network, &demands, &options).map_err(|e| e.to_string())?.plan;
    let bytes = plan.to_bytes().map_err(|e| e.to_string())?;
    if again.to_bytes().map_err(|e| e.to_string())? != bytes {
        return Err("planning twice gives different bytes".into());
    }
    let json = plan.to_json().map_err(|e| e.to_string())?;
    let read = Plan::from_bytes(&bytes, &network).map_err(|e| e.to_string())?;
    let read_json = Plan::from_json(&json, &network).map_err(|e| e.to_string())?;
    if read != *plan || read_json != *plan {
        return Err("a plan does not survive its file".into());
    }
    Ok(())
}

#[test]
fn the_list_of_planners_is_complete() {
    let mut known: Vec<&str> = planner::NAMES.to_vec();
    let mut tested = PLANNERS.to_vec();
    known.sort_unstable();
    tested.sort_unstable();
    assert_eq!(known, tested);
}

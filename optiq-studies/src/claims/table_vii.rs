//! O1 to O4: Table VII, the most loaded link at 1,024 nodes.

use super::setting::{MESSAGE, Setting, bound_megabytes, with_planner, worst_megabytes};
use crate::failure::Failure;
use crate::findings::{Column, Findings, Row, Verdict, column, no_more, prints_as};
use crate::published::PATTERNS;
use optiq_solver::CandidateMethod;
use optiq_solver::pipeline::{K, PlanOptions};
use optiq_solver::planner::PlannerName;

/// How far the mean of paths per link may be from the published one, relatively.
const MEAN_WITHIN: f64 = 0.05;

const MPI: &[Column] = &[
    column("pattern", "pattern", 0),
    column("published paths", "published_paths", 0),
    column("ours", "paths", 0),
    column("published paths on a link, most", "published_paths_per_link_max", 0),
    column("ours", "paths_per_link_max", 0),
    column("published, mean", "published_paths_per_link_mean", 2),
    column("ours", "paths_per_link_mean", 2),
    column("published worst link, MB", "published_megabytes_per_link_max", 2),
    column("ours", "megabytes_per_link_max", 2),
];

/// O1: what `MPI_Alltoallv` puts on the links under the fabric's own routing.
pub fn mpi(setting: &Setting) -> Result<Findings, Failure> {
    let published = &setting.published.table_vii;
    let partition = setting.partition(published.nodes)?;
    let net = &partition.net;
    let mut rows = Vec::new();
    let mut selves = 0;
    for (p, pattern) in PATTERNS.into_iter().enumerate() {
        let demands = setting.pattern(pattern, net)?;
        // A host's pair with itself is left out of the demands, but is a path in the thesis's count.
        let pairs = net.hosts() / 16 * 8;
        selves += pairs - demands.len();
        let Some(planned) = setting.plan(net, &demands, &with_planner(PlannerName::Direct), None)? else { continue };
        let report = &planned.report;
        let (megabytes, mpi) = (worst_megabytes(&planned), &published.mpi);
        let mean = mpi.paths_per_link_mean[p];
        let equal = pairs == mpi.paths
            && report.paths_per_link_max == mpi.paths_per_link_max
            && prints_as(megabytes, mpi.megabytes[p], 2);
        let off = report.paths_per_link_mean / mean - 1.0;
        let verdict = match partition.published {
            false => Verdict::NotJudged,
            true if !equal => Verdict::NotShown("paths or the worst link differ".into()),
            true => Verdict::of(off.abs() <= MEAN_WITHIN, || {
                format!("the mean of paths per link is {:.1} % off", off * 100.0)
            }),
        };
        rows.push(Row::new(
            vec![
                pattern.into(),
                mpi.paths.into(),
                pairs.into(),
                mpi.paths_per_link_max.into(),
                report.paths_per_link_max.into(),
                mean.into(),
                report.paths_per_link_mean.into(),
                mpi.megabytes[p].into(),
                megabytes.into(),
            ],
            verdict,
        ));
    }
    let mut notes = vec![
        "Means are over links that some path takes; they may be 5 % off. Published amounts are cut after two decimals, \
         not rounded: 134,217,728 bytes are 134.21 MB there."
            .to_owned(),
    ];
    if selves > 0 {
        notes.push(format!(
            "{selves} of the pairs {} of a host with itself: a path in the thesis's count, none on the network.",
            if selves == 1 { "is" } else { "are" }
        ));
    }
    Ok(Findings::new(MPI, rows, notes))
}

const PLANS: &[Column] = &[
    column("pattern", "pattern", 0),
    column("planner", "planner", 0),
    column("candidates", "candidate_method", 0),
    column("published worst link, MB", "published_megabytes_per_link_max", 2),
    column("ours", "megabytes_per_link_max", 2),
    column("no routing below, MB", "bound_megabytes_per_link_max", 2),
    column("gap, %", "gap_percent", 2),
    column("paths", "paths", 0),
    column("plan, s", "median_seconds", 3),
];

/// Whose candidate paths a row has: ours by which the claim is judged, or the thesis's 50 shortest, which stand beside.
const CANDIDATES: [(CandidateMethod, &str); 2] =
    [(CandidateMethod::Diverse, "ours"), (CandidateMethod::Yen, "the thesis's")];

/// O2: the LP, beside the bound over all routings.
pub fn optimization(setting: &Setting) -> Result<Findings, Failure> {
    plans(setting, &[PlannerName::Optimal, PlannerName::LinearProgram], setting.published.table_vii.opt.megabytes)
}

/// O3: heuristic 2.
pub fn heuristic2(setting: &Setting) -> Result<Findings, Failure> {
    plans(setting, &[PlannerName::Heuristic2], setting.published.table_vii.heu2.megabytes)
}

/// O4: heuristic 1 with maxload 16.
pub fn heuristic1(setting: &Setting) -> Result<Findings, Failure> {
    plans(setting, &[PlannerName::Heuristic1], setting.published.table_vii.heu1.megabytes)
}

fn plans(setting: &Setting, planners: &[PlannerName], published: [f64; 3]) -> Result<Findings, Failure> {
    let partition = setting.partition(setting.published.table_vii.nodes)?;
    let net = &partition.net;
    let mut rows = Vec::new();
    let mut notes = Vec::new();
    let mut thesis = (0, 0);
    for (pattern, published) in PATTERNS.into_iter().zip(published) {
        let demands = setting.pattern(pattern, net)?;
        // Planner optimal adds paths to its candidates, whatever these are.
        let all = planners.iter().flat_map(|&planner| CANDIDATES.map(|candidates| (planner, candidates)));
        let tried = all
            .filter(|(planner, (method, _))| *planner != PlannerName::Optimal || *method == CandidateMethod::Diverse);
        for (planner, (method, whose)) in tried {
            setting.progress.now(format!("{pattern} on {} nodes with {planner}", partition.nodes));
            let options =
                PlanOptions { method, k: (method == CandidateMethod::Yen).then_some(K), ..with_planner(planner) };
            let Some((planned, seconds)) = setting.timed(net, &demands, &options)? else {
                let left_out = format!("Planner {planner} is not in this build.");
                if !notes.contains(&left_out) {
                    notes.push(left_out);
                }
                continue;
            };
            let megabytes = worst_megabytes(&planned);
            let holds = no_more(megabytes, published, 2);
            if method == CandidateMethod::Yen {
                thesis = (thesis.0 + usize::from(holds), thesis.1 + 1);
            }
            let verdict = match partition.published && method == CandidateMethod::Diverse {
                true => Verdict::of(holds, || format!("{megabytes:.2} MB is more")),
                false => Verdict::NotJudged,
            };
            rows.push(Row::new(
                vec![
                    pattern.into(),
                    planner.as_str().into(),
                    whose.into(),
                    published.into(),
                    megabytes.into(),
                    bound_megabytes(&planned, net).into(),
                    (planned.report.gap * 100.0).into(),
                    planned.report.paths.into(),
                    seconds.into(),
                ],
                verdict,
            ));
        }
    }
    notes.push(format!(
        "Judged are plans over this project's candidates, which the thesis did not have. Over its own, the {K} shortest paths of each pair, \
         {} of {} are no more than published: which of equally short paths it had is not known.",
        thesis.0, thesis.1
    ));
    notes.push(format!(
        "Up to {K} candidate paths for each pair (optimal has its own number), {} for each. Our amounts are \
         rounded, and compared after cutting to the two decimals of the published ones. Seconds, medians of {}, are from the demands to the checked plan.",
        optiq_net::units::format_bytes(MESSAGE),
        setting.repetitions
    ));
    Ok(Findings::new(PLANS, rows, notes))
}

#[cfg(test)]
mod tests {
    use optiq_solver::demands;

    #[test]
    fn pairs_with_themselves_are_the_subset_s_only() {
        let net = optiq_net::Network::from_spec("bgq:512").unwrap();
        let count = |p: &str| demands::parse(&format!("pattern:{p}"), &net, 1).unwrap().len();
        assert_eq!([count("disjoint"), count("overlap"), count("subset")], [256, 256, 255]);
    }
}

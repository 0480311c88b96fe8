//! The published numbers, from `data/published.toml`.

use crate::compared_method::ComparedMethod;
use crate::failure::Failure;
use crate::published_dragonfly_plus::DragonflyPlus;
use crate::published_interference::Interference;
use crate::published_postcards::PublishedPostcards;
use crate::published_probes::PublishedProbes;
use crate::published_traffic::PublishedTraffic;
use optiq_solver::planner::PlannerName;
use serde::Deserialize;

const TEXT: &str = include_str!("../../data/published.toml");

/// The patterns, in the order of all lists over patterns.
pub const PATTERNS: [&str; 3] = ["disjoint", "overlap", "subset"];

/// What the thesis published. Throughputs in GB/s, amounts in MB (decimal), times in seconds; see the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    pub table_vi: TableVi,
    pub table_vii: TableVii,
    pub table_viii: TableViii,
    pub figure_12: Figure12,
    pub figure_13: Figure13,
    pub figure_14: Figure14,
    pub table_ix: TableIx,
    pub table_x: TableX,
    pub table_xi: TableXi,
    pub heuristic2: Range,
    pub table_xii: TableXii,
    pub table_xiii: TableXiii,
    pub table_xiv: TableXiv,
    pub couplings: Couplings,
    pub hacc: Hacc,
    pub dragonfly_plus: DragonflyPlus,
    pub postcards: PublishedPostcards,
    pub traffic: PublishedTraffic,
    pub interference: Interference,
    pub probes: PublishedProbes,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableVi {
    pub nodes: [u32; 4],
    pub optimization_percent: [f64; 4],
    pub heuristic2_percent: [f64; 4],
    pub heuristic1_percent: [f64; 4],
}

impl TableVi {
    /// The row of a planner, in per cent.
    pub fn of(&self, method: ComparedMethod) -> &[f64; 4] {
        match method {
            ComparedMethod::Planned(PlannerName::Heuristic1) => &self.heuristic1_percent,
            ComparedMethod::Planned(PlannerName::Heuristic2) => &self.heuristic2_percent,
            _ => &self.optimization_percent,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableViii {
    pub nodes: u32,
    pub disjoint: Positions,
    pub overlap: Positions,
    pub subset: Positions,
}

/// By position of the destinations.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Positions {
    pub distance_max: [u64; 4],
    pub distance_mean: [f64; 4],
    pub optimization_paths: [usize; 4],
    pub heuristic1_paths: [usize; 4],
    pub heuristic2_paths: [usize; 4],
}

impl Positions {
    /// How many paths a planner's plans had; not said of others.
    pub fn paths(&self, method: ComparedMethod) -> Option<&[usize; 4]> {
        match method {
            ComparedMethod::Planned(PlannerName::Heuristic1) => Some(&self.heuristic1_paths),
            ComparedMethod::Planned(PlannerName::Heuristic2) => Some(&self.heuristic2_paths),
            ComparedMethod::Planned(PlannerName::Optimal | PlannerName::LinearProgram) => {
                Some(&self.optimization_paths)
            }
            _ => None,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure12 {
    pub nodes: u32,
    pub sources: u32,
    pub destinations: [u32; 4],
    /// What the project's list of claims asks for at each.
    pub times_mpi: f64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure13 {
    pub nodes: u32,
    pub message_bytes: [u64; 7],
    /// For each of the sizes.
    pub best_chunk: [String; 7],
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Figure14 {
    pub nodes: u32,
    /// From this size of messages on planned paths must be faster, as the project's list of claims asks.
    pub crossover_bytes: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableIx {
    pub nodes: u32,
    pub draws: u32,
    pub opt: [f64; 3],
    pub heu2: [f64; 3],
    pub heu1: [f64; 3],
    pub mpi: [f64; 3],
    /// What the project's list of claims asks for.
    pub times_mpi: f64,
}

impl TableIx {
    /// The averages of a planner, or of MPI, by pattern.
    pub fn of(&self, method: ComparedMethod) -> &[f64; 3] {
        match method {
            ComparedMethod::Planned(PlannerName::Heuristic1) => &self.heu1,
            ComparedMethod::Planned(PlannerName::Heuristic2) => &self.heu2,
            ComparedMethod::Planned(PlannerName::Optimal) => &self.opt,
            _ => &self.mpi,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableVii {
    pub nodes: u32,
    pub opt: Amounts,
    pub heu2: Amounts,
    pub heu1: Amounts,
    pub mpi: Mpi,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Amounts {
    pub megabytes: [f64; 3],
    pub gigabytes_per_second: [f64; 3],
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mpi {
    pub megabytes: [f64; 3],
    pub gigabytes_per_second: [f64; 3],
    pub paths: usize,
    pub paths_per_link_max: u64,
    pub paths_per_link_mean: [f64; 3],
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableX {
    pub nodes: u32,
    pub maxload: [u32; 6],
    pub best: [u32; 2],
    pub gigabytes_per_second: [[f64; 6]; 3],
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableXi {
    pub nodes: u32,
    pub maxload: [u32; 6],
    pub seconds: [[f64; 6]; 3],
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Range {
    pub nodes: u32,
    pub seconds: [f64; 2],
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableXii {
    pub nodes: u32,
    pub k: [usize; 4],
    pub gigabytes_per_second: [[f64; 4]; 3],
    /// By pattern.
    pub mpi: [f64; 3],
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableXiii {
    pub nodes: u32,
    pub model_seconds: [[f64; 4]; 3],
    pub solve_seconds: [[f64; 4]; 3],
}

impl TableXiii {
    /// Model and solution of a pattern at the largest k.
    pub fn whole(&self, pattern: usize) -> f64 {
        self.model_seconds[pattern][3] + self.solve_seconds[pattern][3]
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TableXiv {
    pub nodes: u32,
    pub cplex_seconds: f64,
    pub snopt_seconds: f64,
}

/// Tables XV and XVI.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Couplings {
    pub nodes: u32,
    /// Of each node.
    pub ranks: u32,
    /// Of a message, at most.
    pub points: u32,
    pub point_bytes: u64,
    /// The first and the last of its ranks.
    pub coupler: [u32; 2],
    pub coupling: Vec<Coupling>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coupling {
    pub name: String,
    /// The first and the last of the model's ranks.
    pub ranks: [u32; 2],
    pub rank_pairs: usize,
    pub node_pairs: usize,
    /// MPI, heuristic 2, optimization.
    pub gigabytes_per_second: [f64; 3],
}

/// Figure 19.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Hacc {
    pub cores_per_node: usize,
    pub demands: String,
    /// The least and the most.
    pub times_mpi: [f64; 2],
    pub topologies: Vec<String>,
}

impl Published {
    /// The numbers that are built in.
    ///
    /// # Errors
    /// [`Failure::Work`] if they are not of this form, which a test excludes.
    pub fn load() -> Result<Self, Failure> {
        toml::from_str(TEXT).map_err(|e| Failure::Work(format!("data/published.toml: {}", e.message())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_is_of_its_form() {
        let published = Published::load().unwrap();
        // Table VII's first column is 8 MiB times 16 paths, cut to two decimals.
        let exact = (8u64 << 20) as f64 * published.table_vii.mpi.paths_per_link_max as f64 / 1e6;
        assert!(published.table_vii.mpi.megabytes.iter().all(|&m| (exact * 100.0).floor() / 100.0 == m));
        // 308 to 1,157 seconds for an LP plan at 2,048 nodes.
        let whole: Vec<u64> = (0..3).map(|p| published.table_xiii.whole(p).round() as u64).collect();
        assert_eq!(whole, [308, 729, 1157]);
        // Table 1 of document 004: rows of 83, 24, 30, 59, 25 and 21.
        let rows = published.probes.slowdown_percent.map(|row| row.iter().sum::<f64>());
        assert_eq!(rows, [83.0, 24.0, 30.0, 59.0, 25.0, 21.0]);
        // Sleeps of Table 2 fall.
        assert!(published.probes.training_sleep_cycles.is_sorted_by(|a, b| a > b));
        // The couplings of 46, 23 and 29 %, and partitions of 2,048 to 32,768 cores.
        let gain =
            |c: &Coupling| ((c.gigabytes_per_second[2] / c.gigabytes_per_second[0] - 1.0) * 100.0).round() as u64;
        assert_eq!(published.couplings.coupling.iter().map(gain).collect::<Vec<_>>(), [46, 23, 29]);
        let cores = published
            .hacc
            .topologies
            .iter()
            .map(|spec| optiq_net::Network::from_spec(spec).unwrap().hosts() * published.hacc.cores_per_node);
        assert_eq!(cores.collect::<Vec<_>>(), [2048, 4096, 8192, 16384, 32768]);
    }
}

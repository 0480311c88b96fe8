//! The published numbers, from `data/published.toml`.

use crate::failure::Failure;
use serde::Deserialize;

const TEXT: &str = include_str!("../../../../data/published.toml");

/// The patterns, in the order of all lists over patterns.
pub const PATTERNS: [&str; 3] = ["disjoint", "overlap", "subset"];

/// What the thesis published. Throughputs in GB/s, amounts in MB (decimal), times in seconds; see the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    pub table_vii: TableVii,
    pub table_x: TableX,
    pub table_xi: TableXi,
    pub heuristic2: Range,
    pub table_xii: TableXii,
    pub table_xiii: TableXiii,
    pub table_xiv: TableXiv,
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
    }
}

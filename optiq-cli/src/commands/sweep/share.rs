//! Which runs this process makes, where several were started by `mpirun` or `srun`: no MPI is needed for that.
//!
//! Run `i` is of rank `(i + i / size) mod size`: each block of `size` runs is dealt out beginning with another rank, so that a list
//! whose length divides `size` does not leave one rank all of its slow values. Ranks do not talk. If one dies, its runs are left to
//! the next start, which makes all that have no document, whatever the number of ranks then is (decision 041).

use std::thread;

/// The variables in which launchers tell a process its rank, and the number of ranks: Open MPI, MPICH's Hydra and PMIx, Slurm.
const VARIABLES: [(&str, &str); 4] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("PMIX_RANK", "PMIX_SIZE"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
];

/// This process among those that make the runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Share {
    /// Its number.
    pub rank: u64,
    /// How many there are, at least one.
    pub size: u64,
}

impl Share {
    /// What the environment says; all runs if it says nothing that makes sense.
    pub fn of_environment(get: impl Fn(&str) -> Option<String>) -> Self {
        let number = |name: &str| get(name)?.trim().parse::<u64>().ok();
        let found =
            VARIABLES.iter().filter_map(|(rank, size)| Some(Share { rank: number(rank)?, size: number(size)? }));
        found
            .filter(|share| share.rank < share.size)
            .max_by_key(|share| share.size > 1)
            .unwrap_or(Share { rank: 0, size: 1 })
    }

    /// Whether a run is this process's.
    pub fn has(&self, run: u64) -> bool {
        (run + run / self.size) % self.size == self.rank
    }

    /// Whether it prints for all.
    pub fn prints(&self) -> bool {
        self.rank == 0
    }

    /// A launcher starts a process for each core.
    pub fn default_threads(&self) -> usize {
        if self.size > 1 { 1 } else { thread::available_parallelism().map_or(1, usize::from) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(variables: &[(&str, &str)]) -> Share {
        Share::of_environment(|name| variables.iter().find(|(n, _)| *n == name).map(|(_, v)| (*v).to_owned()))
    }

    #[test]
    fn launchers_are_known_by_their_variables() {
        assert_eq!(of(&[]), Share { rank: 0, size: 1 });
        assert_eq!(of(&[("OMPI_COMM_WORLD_RANK", "3"), ("OMPI_COMM_WORLD_SIZE", "4")]), Share { rank: 3, size: 4 });
        assert_eq!(of(&[("PMI_RANK", "1"), ("PMI_SIZE", "2")]), Share { rank: 1, size: 2 });
        // mpirun on the first node of a Slurm allocation: Slurm's own task is one of one.
        let both = [("SLURM_PROCID", "0"), ("SLURM_NTASKS", "1"), ("PMI_RANK", "1"), ("PMI_SIZE", "8")];
        assert_eq!(of(&both), Share { rank: 1, size: 8 });
        for odd in [[("PMI_RANK", "2"), ("PMI_SIZE", "2")], [("PMI_RANK", "x"), ("PMI_SIZE", "2")]] {
            assert_eq!(of(&odd), Share { rank: 0, size: 1 });
        }
    }

    #[test]
    fn every_run_is_of_one_rank_and_slow_values_are_spread() {
        for size in 1..6 {
            let shares: Vec<Share> = (0..size).map(|rank| Share { rank, size }).collect();
            for run in 0..100 {
                assert_eq!(shares.iter().filter(|share| share.has(run)).count(), 1, "{run} of {size}");
            }
            for share in &shares {
                let mine = (0..60 * size).filter(|&run| share.has(run)).count();
                assert_eq!(mine, 60);
            }
        }
        // Every second run is slow: each of two ranks has half of these.
        let slow = (0..40).filter(|run| run % 2 == 1 && Share { rank: 0, size: 2 }.has(*run)).count();
        assert_eq!(slow, 10);
    }
}

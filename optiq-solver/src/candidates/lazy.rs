//! Candidate paths that are searched when a planner first asks for them: some plans need none.

use crate::candidates::set::Candidates;
use crate::error::PlanError;
use std::fmt;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::Instant;

/// Where a planner gets its candidate paths.
pub(crate) trait CandidateSource: Sync + fmt::Debug {
    /// The candidates, searched for if they were not yet.
    fn get(&self) -> Result<&Candidates, PlanError>;
}

/// A search that runs once, if at all.
pub(crate) struct LazyCandidates<F> {
    search: Mutex<Option<F>>,
    /// What was found, and the seconds that it took.
    found: OnceLock<(Result<Candidates, PlanError>, f64)>,
}

impl<F: FnOnce() -> Result<Candidates, PlanError> + Send> LazyCandidates<F> {
    pub fn new(search: F) -> Self {
        LazyCandidates { search: Mutex::new(Some(search)), found: OnceLock::new() }
    }

    /// Seconds that the search took; 0 if it has not run.
    pub fn seconds(&self) -> f64 {
        self.found.get().map_or(0.0, |found| found.1)
    }
}

impl<F: FnOnce() -> Result<Candidates, PlanError> + Send> CandidateSource for LazyCandidates<F> {
    fn get(&self) -> Result<&Candidates, PlanError> {
        let found = self.found.get_or_init(|| {
            let start = Instant::now();
            let search = self.search.lock().unwrap_or_else(PoisonError::into_inner).take();
            // `get_or_init` runs this once, so the search is still there.
            let found = search.map_or(Err(PlanError::NoCandidates("")), |search| search());
            (found, start.elapsed().as_secs_f64())
        });
        found.0.as_ref().map_err(Clone::clone)
    }
}

impl<F> fmt::Debug for LazyCandidates<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LazyCandidates").field("found", &self.found.get().is_some()).finish_non_exhaustive()
    }
}

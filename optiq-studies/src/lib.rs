//! Published claims shown again, races against other systems, and the pages with their results.
//!
//! Every study goes the same way: it is **run**, what it found becomes a **document** ([`document::StudyDocument`], JSON with a
//! version of its schema, in `docs/results/data/`), and the **page** in `docs/results/` is made from the document alone. A page
//! can be made again without measuring anything; no page is made from another page.
//!
//! - `published`: what others published, from `data/published.toml`;
//! - [`measurement_cases`]: the cases of measurements, divided into training and held-out ones, from `data/cases.toml`;
//! - [`claims`], run by [`claim_runs`]: the claims of the thesis (`optiq reproduce`);
//! - [`studies`]: everything else that is measured (`optiq-studies results`, `optiq-studies race-codes`);
//! - [`index`]: the page that lists the others;
//! - [`real_jobs`]: jobs with real messages, which `optiq lab jobs` runs beside each other;
//! - [`presets`]: which preset of the simulator stands behind a page, and why;
//! - [`proxies`]: the communication of six applications, as files of steps;
//! - [`repeated_calls`]: who serves the same exchange again and again, as a session decides;
//! - [`real_runs`]: programs under `mpirun` with the profiler; [`simulated_subnet`]: InfiniBand subnets that `ibsim` simulates and OpenSM
//!   routes;
//! - `bench`: what `optiq bench` measures under mpirun, with the feature `mpi`.

#[cfg(feature = "mpi")]
pub mod bench;
pub mod browser;
pub mod circumstances;
pub mod claim_runs;
pub mod claims;
pub mod closeness;
pub mod compared_method;
pub mod constants;
pub mod document;
pub mod failure;
pub mod findings;
pub mod index;
pub mod markdown;
pub mod measurement_cases;
pub mod plot;
pub mod presets;
pub mod progress;
pub mod proxies;
mod published;
mod published_dragonfly_plus;
mod published_interference;
mod published_postcards;
mod published_probes;
mod published_traffic;
pub mod quartiles;
pub mod readme;
pub mod real_jobs;
pub mod real_runs;
pub mod repeated_calls;
pub mod selection;
pub mod simulated_subnet;
pub mod studies;
pub mod workspace;

//! Candidate paths: what planners choose from (thesis 4.2.1).
//!
//! | method | paths | where |
//! | --- | --- | --- |
//! | [`yen`] | the k shortest, none longer than the diameter; as published | any network |
//! | [`diverse`] | through all pairs of ports, up to 4 hops longer than the shortest; on tori as templates | `auto` where there are no switches |
//! | [`via`] | the fabric's own routes by every port, and through one intermediate host | `auto` on networks with switches |
//!
//! Whatever the method, the fabric's own route is among the candidates, so that no planner need be worse than it,
//! and every candidate can be executed: it falls into legs ([`crate::legs`]). On a grid every path does; on a
//! switched network, where software cannot choose switches, few do, and [`via`] finds them by composing legs.

pub mod diverse;
pub mod file;
mod generator;
mod lazy;
mod limits;
mod method;
mod set;
mod table;
mod template;
pub mod via;
pub mod yen;

pub(crate) use lazy::{CandidateSource, LazyCandidates};
pub use limits::{MAX_K, MAX_PATHS};
pub use method::CandidateMethod;
pub use set::Candidates;
pub use table::{PathBuffer, PathTable};

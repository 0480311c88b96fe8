//! GOAL schedules, and how they run in the simulator.
//!
//! GOAL (T. Hoefler, C. Siebert and A. Lumsdaine, "Group Operation Assembly Language - A Flexible Way to Express Collective
//! Communication", ICPP 2009) says for each rank what it sends, receives and computes, and what waits for what. It is the
//! format of LogGOPSim (T. Hoefler, T. Schneider and A. Lumsdaine, "LogGOPSim - Simulating Large-Scale Applications in the
//! LogGOPS Model", LSAP 2010) and of ATLAHS, whose tools make it from traces of MPI and NCCL programs.
//!
//! ```text
//! num_ranks 2
//! rank 0 {
//!   l1: send 8b to 1 tag 5 cpu 0 nic 0    // bytes; tag, cpu and nic are 0 where they are left out
//!   l2: calc 100                          // nanoseconds
//!   l2 requires l1                        // l2 begins when l1 has ended
//! }
//! rank 1 {
//!   l1: recv 8b from 0 tag 5              // -1 stands for any rank, or any tag
//!   l2: calc 50 cpu 1
//!   l2 irequires l1                       /* l2 begins when l1 has begun */
//! }
//! ```
//!
//! A statement ends with its line, at a semicolon or before a brace. The dependencies of a rank form a directed graph;
//! [`schedule::Goal::parse`] refuses one with a cycle (found by removing what waits for nothing; A. B. Kahn, "Topological
//! sorting of large networks", CACM 5(11), 1962), because nothing in a cycle could ever begin.

mod matching;
mod parse;
pub mod replay;
pub mod schedule;

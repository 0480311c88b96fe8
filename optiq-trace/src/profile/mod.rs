//! Profiles: how many messages and bytes each rank of a job sent to each other one, by region of its code.
//!
//! Each rank writes one file ([`rank_file::RankProfile`]); the files of a folder are one job ([`job::JobProfile`]). What is counted, and
//! what is not, depends on who counts: [`rank_file::Source`].

pub mod call_lines;
pub mod job;
pub mod rank_file;

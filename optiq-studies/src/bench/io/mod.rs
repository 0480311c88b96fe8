//! Collective file access: all ranks' bytes to one file through the I/O hosts, as HACC writes its checkpoints (thesis 6.5.3).

mod file;
pub mod measure;
pub mod result;

//! How every other crate opens the files that it reads and makes the files that it writes.
//!
//! Both happen in directories that others may write to. So nothing is read before it is known to be a regular file of a size that
//! its reader accepts ([`input`]), and nothing is written to a name that somebody else could have taken ([`output`]).

pub mod input;
pub mod output;

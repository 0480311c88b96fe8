//! Switched networks with closed forms: extended generalised fat trees, dragonflies and Dragonfly+.
//!
//! Hosts hang on switches and never forward. The next hop towards a host is computed from the numbers of the vertices,
//! so that no table is kept however large the network. Distances between hosts are closed forms as well.

pub(crate) mod cables;
pub(crate) mod closed_form;
pub(crate) mod dragonfly;
pub(crate) mod dragonfly_plus;
pub(crate) mod fat_tree;
pub(crate) mod rails;

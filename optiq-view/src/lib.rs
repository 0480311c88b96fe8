//! Every picture: axes, one palette, tables, and the template of a self-contained page.

pub mod axis;
pub mod chart;
pub mod colours;
pub mod context;
pub mod curves;
pub mod heat;
mod layers;
mod layout;
mod maps;
pub mod page;
pub mod plan;
pub mod table;
pub mod timeline;
mod trace;

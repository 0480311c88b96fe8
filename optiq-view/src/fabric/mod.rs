//! Pictures of a fabric with what its links carry, each end of a link in the colour of what is sent there: a page with a canvas that
//! people move about in, and an SVG file for papers.
//!
//! `layout` places the vertices, with `tree` and `sweeps`; `data` is what the page's scripts read; `page` and `svg` are the two
//! pictures.

mod data;
mod layout;
mod page;
mod svg;
mod sweeps;
mod tree;

pub use data::{FabricPicture, LinkMakers, LinkPart, LinkSeries};
pub use layout::FabricLayout;

#[cfg(test)]
mod tests;

//! Paths as lists of links: one buffer for the paths of one demand, one table for those of all.

use optiq_net::LinkId;
use std::ops::Range;

/// Some paths, one after the other in one list of links. Cleared and filled again it does not allocate.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathBuffer {
    /// Path `p` is `links[ends[p - 1]..ends[p]]` (from 0 for the first).
    pub(super) ends: Vec<usize>,
    pub(super) links: Vec<LinkId>,
}

impl PathBuffer {
    /// No paths.
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets all paths.
    pub fn clear(&mut self) {
        self.ends.clear();
        self.links.clear();
    }

    /// Appends a path.
    pub fn push(&mut self, path: &[LinkId]) {
        self.links.extend_from_slice(path);
        self.ends.push(self.links.len());
    }

    /// Number of paths.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The links of one path.
    pub fn path(&self, path: usize) -> &[LinkId] {
        let start = if path == 0 { 0 } else { self.ends[path - 1] };
        &self.links[start..self.ends[path]]
    }

    /// All paths.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[LinkId]> {
        (0..self.len()).map(|p| self.path(p))
    }

    /// The links of all paths, one path after the other.
    pub fn links(&self) -> &[LinkId] {
        &self.links
    }

    /// Per path, where it ends in [`PathBuffer::links`].
    pub fn ends(&self) -> &[usize] {
        &self.ends
    }

    pub(super) fn append(&mut self, other: &PathBuffer) {
        let before = self.links.len();
        self.links.extend_from_slice(&other.links);
        self.ends.extend(other.ends.iter().map(|end| before + end));
    }
}

/// The paths of all demands: for each demand a range of paths. Demands of the same pair share theirs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PathTable {
    pub(super) rows: Vec<Range<u32>>,
    pub(super) stored: PathBuffer,
}

impl PathTable {
    /// Number of demands.
    pub fn demands(&self) -> usize {
        self.rows.len()
    }

    /// Number of distinct paths stored.
    pub fn stored_paths(&self) -> usize {
        self.stored.len()
    }

    /// The numbers of the paths of a demand, for [`PathTable::path`].
    pub fn of(&self, demand: usize) -> Range<u32> {
        self.rows[demand].clone()
    }

    /// The links of one path.
    pub fn path(&self, path: u32) -> &[LinkId] {
        self.stored.path(path as usize)
    }

    /// The paths of a demand, each as its links from source to destination.
    pub fn paths(&self, demand: usize) -> impl ExactSizeIterator<Item = &[LinkId]> {
        let row = self.rows[demand].clone();
        (row.start as usize..row.end as usize).map(|p| self.path(p as u32))
    }
}

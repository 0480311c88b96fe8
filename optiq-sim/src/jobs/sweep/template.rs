//! Texts that are made from another one by replacing parts of it, and which line of it each place came from.

use optiq_net::text_file::line_at;
use std::ops::Range;

/// A part that is replaced; an empty one is a place where something is put in.
pub(super) struct Edit {
    pub(super) place: Range<usize>,
    pub(super) with: String,
    /// Where messages about the new text point to.
    pub(super) origin: usize,
}

/// A text that was made.
pub(super) struct Made<'a> {
    source: &'a str,
    pub(super) text: String,
    /// Where pieces of it begin, where they come from, and whether they were copied.
    pieces: Vec<(usize, usize, bool)>,
}

impl<'a> Made<'a> {
    /// From edits that do not overlap, by place.
    pub(super) fn new(source: &'a str, edits: impl IntoIterator<Item = Edit>) -> Self {
        let mut made = Made { source, text: String::with_capacity(source.len() + 64), pieces: Vec::new() };
        let mut done = 0;
        for edit in edits {
            made.add(&source[done..edit.place.start], done, true);
            made.add(&edit.with, edit.origin, false);
            done = edit.place.end;
        }
        made.add(&source[done..], done, true);
        made
    }

    fn add(&mut self, text: &str, origin: usize, copied: bool) {
        self.pieces.push((self.text.len(), origin, copied));
        self.text.push_str(text);
    }

    /// The line of the source for an offset in the text.
    pub(super) fn line(&self, offset: usize) -> usize {
        let before = self.pieces.partition_point(|piece| piece.0 <= offset);
        let origin = match before.checked_sub(1).map(|last| self.pieces[last]) {
            Some((start, origin, true)) => origin + (offset - start),
            Some((_, origin, false)) => origin,
            None => 0,
        };
        line_at(self.source, origin)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_of_the_source() {
        let source = "a\nb\nc\nd\n";
        let edit = |place, with: &str, origin| Edit { place, with: with.into(), origin };
        let made = Made::new(source, [edit(0..0, "x\ny\n", 6), edit(2..4, "", 2), edit(4..5, "C", 4)]);
        assert_eq!(made.text, "x\ny\na\nC\nd\n");
        let line = |what: &str| made.text.find(what).map(|at| made.line(at));
        assert_eq!(["x", "y", "a", "C", "d"].map(line), [Some(4), Some(4), Some(1), Some(3), Some(4)]);
    }
}

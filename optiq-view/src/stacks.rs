//! Level bars of parts that belong to different owners, each in its own colour, as an SVG within a page that needs no script.

use crate::axis::Axis;
use crate::svg::{Anchor, Drawing};
use maud::Markup;

const WIDTH: f64 = 1180.0;
const ROW: f64 = 22.0;
const BAR: f64 = 14.0;
const TOP: f64 = 8.0;
const CHARACTER: f64 = 6.8;
const MOST_CHARACTERS: usize = 40;

/// The colours of owners, of those of [`crate::curves`]: not those of [`crate::jobs::ALONE`] and [`crate::jobs::TOGETHER`].
const OWNERS: [usize; 5] = [1, 2, 4, 5, 6];

/// The number of an owner's colour.
pub fn colour(owner: usize) -> usize {
    OWNERS[owner % OWNERS.len()]
}

/// One bar.
pub struct Stack {
    /// What stands before it.
    pub name: String,
    /// Bytes of each owner.
    pub parts: Vec<u64>,
    /// What stands behind it.
    pub words: String,
    /// What a reader sees who points at it.
    pub tip: String,
}

/// The bars of bytes, with the classes of [`crate::bars::style`]; `None` if there is nothing to be drawn.
pub fn svg(label: &str, horizontal: &str, stacks: &[Stack]) -> Option<Markup> {
    let high = stacks.iter().map(|stack| stack.parts.iter().map(|&b| b as f64).sum()).fold(0.0, f64::max);
    if high <= 0.0 {
        return None;
    }
    let cut = |words: &str| words.chars().take(MOST_CHARACTERS).collect::<String>();
    let longest = |words: &dyn Fn(&Stack) -> &str| {
        let lengths = stacks.iter().map(|stack| words(stack).chars().count().min(MOST_CHARACTERS));
        lengths.max().unwrap_or(0) as f64 * CHARACTER
    };
    let (left, right) = (longest(&|stack| &stack.name) + 14.0, WIDTH - longest(&|stack| &stack.words) - 16.0);
    let bottom = TOP + stacks.len() as f64 * ROW;
    let x = Axis::linear((0.0, high), (left, right));
    let mut drawing = Drawing::default();
    let ticks = x.byte_ticks(8);
    for (value, _) in &ticks {
        drawing.line("grid", (x.at(*value), TOP - 4.0), (x.at(*value), bottom));
    }
    drawing.ticks(&x, &ticks, bottom, f64::INFINITY);
    drawing.words("soft", Anchor::Middle, ((left + right) / 2.0, bottom + 40.0), horizontal);
    for (i, stack) in stacks.iter().enumerate() {
        let top = TOP + i as f64 * ROW;
        let (upper, middle) = (top + (ROW - BAR) / 2.0, top + ROW / 2.0 + 4.0);
        drawing.words("", Anchor::End, (left - 8.0, middle), &cut(&stack.name));
        let mut from = 0.0;
        for (owner, &bytes) in stack.parts.iter().enumerate().filter(|part| *part.1 > 0) {
            let to = from + bytes as f64;
            let class = format!("bar b{}", colour(owner));
            drawing.rect(&class, (x.at(from), upper), (x.at(to) - x.at(from), BAR), Some(&stack.tip));
            from = to;
        }
        drawing.words("", Anchor::Start, (x.at(from) + 8.0, middle), &cut(&stack.words));
    }
    Some(drawing.finish("bars", (WIDTH, bottom + 48.0), label))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn parts_are_as_long_as_they_say_in_the_colours_of_their_owners() {
        let stack = Stack { name: "a".into(), parts: vec![300, 0, 100], words: "<w>".into(), tip: "t".into() };
        let svg = svg("l", "bytes", &[stack]).unwrap().into_string();
        let (left, right) = (CHARACTER + 14.0, WIDTH - 3.0 * CHARACTER - 16.0);
        let first = format!("class=\"bar b1\" x=\"{left:.1}\" y=\"12.0\" width=\"{:.1}\"", 0.75 * (right - left));
        let second = format!("class=\"bar b4\" x=\"{:.1}\"", left + 0.75 * (right - left));
        assert!(svg.contains(&first) && svg.contains(&second) && !svg.contains("b2\""), "{first} {second} {svg}");
        assert!(svg.contains("&lt;w&gt;"));
        assert!(super::svg("l", "bytes", &[]).is_none());
    }
}

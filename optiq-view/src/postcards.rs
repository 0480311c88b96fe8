//! The page of paths from postcards: when whose packets took how long, where they stayed, and the slowest ones hop by hop.

use crate::bars::{self, Bars};
use crate::curves;
use crate::heat::{self, Heat};
use crate::page::{self, Drawn};
use crate::table;
use maud::{Markup, html};

/// What the page shows.
pub struct PostcardsPage {
    /// The heading, which is the page's title as well.
    pub heading: String,
    /// What was joined, and how well.
    pub subtitle: String,
    /// What is missing or cannot be told.
    pub notes: Vec<String>,
    /// Numbers with what they are.
    pub cards: Vec<(String, String)>,
    /// Senders over the time at which their packets began, each cell as dark as its slowest packet was slow; and what stands in the
    /// middle and at the end of the scale.
    pub senders: Option<(Heat, [String; 2])>,
    /// Where packets stayed longest in all.
    pub components: Bars,
    /// Lines of programs: the names of the columns, then the rows.
    pub lines: Vec<Vec<String>>,
    /// The slowest packets, with how long each was at each hop.
    pub ways: Vec<(String, Bars)>,
}

impl PostcardsPage {
    /// The page.
    pub fn page(&self) -> String {
        let body = html! {
            main {
                (page::header(&self.heading, &self.subtitle, &self.notes))
                div.cards { @for (number, what) in &self.cards { (page::card(number, what, None)) } }
                @if let Some((heat, [half, high])) = &self.senders {
                    section aria-labelledby="senders-heading" {
                        h2 #senders-heading { "Senders over time" }
                        div.panel.wide { (heat.svg()) (heat::legend("time of the slowest packet", half, high)) }
                        p.note { (SENDERS) }
                    }
                }
                (bars("Where packets stayed", &self.components, COMPONENTS))
                @if self.lines.len() > 1 {
                    section {
                        h2 { "Lines of programs" }
                        div.scroll { (table::with_heads(&self.lines)) }
                    }
                }
                @for (title, way) in &self.ways { (bars(title, way, "")) }
                footer #footer { "optiq " (env!("CARGO_PKG_VERSION")) }
            }
        };
        let style = [&curves::style(), &bars::style(), &heat::style(), include_str!("sweep.css")].concat();
        page::page(&self.heading, Drawn::Already, &style, body)
    }
}

fn bars(title: &str, bars: &Bars, note: &str) -> Markup {
    html! {
        @if let Some(picture) = bars.svg() {
            section {
                h2 { (title) }
                div.panel.wide { (picture) }
                @if !note.is_empty() { p.note { (note) } }
            }
        }
    }
}

const SENDERS: &str = "A row is a sender, or several that follow each other; a cell is coloured if one of their marked packets began then. Packets that \
    take turns lie on a diagonal, packets that all meet at one place become darker together.";

const COMPONENTS: &str = "The time of all marked packets there, from the arrival of a packet's head to its departure. At a source it begins with the \
    command, at a destination it ends with the whole message.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bars::{Bar, Measure};
    use crate::heat::Row;

    #[test]
    fn a_page_has_all_pictures_and_no_markup_of_names() {
        let one = |name: &str| Bars {
            label: "l".into(),
            horizontal: "time".into(),
            measure: Measure::Time,
            bars: vec![Bar {
                name: name.into(),
                number: 0,
                parts: vec![1e-6],
                least: None,
                words: "1 us".into(),
                tip: "t".into(),
            }],
            bound: None,
        };
        let rows = vec![Row { label: "h0 <b>".into(), tip: "t".into(), cells: vec![0.0, 1.0] }];
        let heat = Heat { label: "senders".into(), rows, interval: 1e-6, end: 2e-6 };
        let page = PostcardsPage {
            heading: "Paths".into(),
            subtitle: "of run.postcards".into(),
            notes: vec!["2 <i>".into()],
            cards: vec![("7".into(), "paths".into())],
            senders: Some((heat, ["1 us".into(), "2 us".into()])),
            components: one("s<3>"),
            lines: vec![vec!["line".into(), "paths".into()], vec!["a.c:3".into(), "7".into()]],
            ways: vec![("h0 to h1".into(), one("s0"))],
        }
        .page();
        for expected in ["h0 &lt;b&gt;", "s&lt;3&gt;", "2 &lt;i&gt;", "a.c:3", "h0 to h1", "Senders over time"] {
            assert!(page.contains(expected), "{expected}");
        }
        assert!(!page.contains("<b>h") && !page.contains("<i>"));
    }
}

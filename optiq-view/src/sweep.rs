//! The page of a sweep: curves over a swept value, box plots of runs, and all runs in a table.

use crate::boxes::{self, Boxes};
use crate::curves;
use crate::lines::{self, Lines};
use crate::page::{self, Drawn, card};
use crate::table;
use maud::html;

/// A picture with what stands above it, and the names of its lines by the number of their colour.
pub struct Figure {
    /// What it is of.
    pub title: String,
    /// The names of lines; none if there is one line without a name.
    pub keys: Vec<(usize, String)>,
    /// The lines.
    pub lines: Lines,
}

/// What the page shows.
pub struct SweepPage {
    /// The heading, which is the page's title as well.
    pub heading: String,
    /// On what, and what was swept.
    pub subtitle: String,
    /// Headline numbers, and what they are.
    pub cards: Vec<(String, String)>,
    /// Curves over the value that is swept.
    pub figures: Vec<Figure>,
    /// How curves are to be read.
    pub curves_note: String,
    /// Box plots, each with what it is of.
    pub boxes: Vec<(String, Boxes)>,
    /// How box plots are to be read, and what was left out.
    pub boxes_note: String,
    /// The names of the columns of the table.
    pub heads: Vec<String>,
    /// The runs.
    pub rows: Vec<Vec<String>>,
    /// What the table leaves out.
    pub table_note: String,
}

impl SweepPage {
    /// The page.
    pub fn page(&self) -> String {
        let heads: Vec<&str> = self.heads.iter().map(String::as_str).collect();
        let body = html! {
            main {
                header {
                    h1 { (self.heading) }
                    p #subtitle { (self.subtitle) }
                }
                section.cards aria-label="Headline numbers" {
                    @for (number, what) in &self.cards { (card(number, what, None)) }
                }
                section aria-labelledby="curves-heading" {
                    h2 #curves-heading { "Times and slowdowns" }
                    @for figure in &self.figures {
                        @if let Some(picture) = figure.lines.svg() {
                            h3 { (figure.title) }
                            div.legend {
                                @for (number, name) in &figure.keys { span { (curves::key(*number)) " " (name) } }
                            }
                            div.panel.wide { (picture) }
                        }
                    }
                    p.note { (self.curves_note) }
                }
                section aria-labelledby="boxes-heading" {
                    h2 #boxes-heading { "How operations spread" }
                    @for (title, boxes) in &self.boxes {
                        @if let Some(picture) = boxes.svg() {
                            h3 { (title) }
                            div.panel.wide { (picture) }
                        }
                    }
                    p.note { (self.boxes_note) }
                }
                section aria-labelledby="table-heading" {
                    h2 #table-heading { "Every run" }
                    div.scroll { (table::markup(&heads, heads.len(), self.rows.iter().cloned())) }
                    p.note { (self.table_note) }
                }
                footer #footer { "optiq " (env!("CARGO_PKG_VERSION")) }
            }
        };
        let style = [curves::style(), lines::style(), boxes::style(), include_str!("sweep.css").to_owned()].concat();
        page::page(&self.heading, Drawn::Already, &style, body)
    }
}

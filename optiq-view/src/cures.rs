//! The page of cures for jobs that slow each other: what each cure brings and costs, and what limits planned exchanges.

use crate::boxes::{self, Boxes};
use crate::curves;
use crate::page::{self, Drawn};
use crate::table;
use maud::html;

/// A table with what stands above it.
pub struct Table {
    /// What it is of.
    pub title: String,
    /// The names of the columns, then the rows.
    pub rows: Vec<Vec<String>>,
}

/// What the page shows.
pub struct CuresPage {
    /// The heading, which is the page's title as well.
    pub heading: String,
    /// On what, and how.
    pub subtitle: String,
    /// What was not tried, or is missing.
    pub notes: Vec<String>,
    /// The names of the columns of the figures, and a row for each cure and job; the first two columns are words.
    pub figures: Vec<Vec<String>>,
    /// By job: its name, and its samples with each cure.
    pub boxes: Vec<(String, Boxes)>,
    /// What limits planned exchanges.
    pub limits: Vec<Table>,
}

impl CuresPage {
    /// The page.
    pub fn page(&self) -> String {
        let body = html! {
            main {
                (page::header(&self.heading, &self.subtitle, &self.notes))
                section aria-labelledby="figures-heading" {
                    h2 #figures-heading { "Cures" }
                    div.scroll.figures { (table::with_heads(&self.figures)) }
                    p.note { (FIGURES) }
                }
                @for (name, boxes) in &self.boxes {
                    @if let Some(picture) = boxes.svg() {
                        section {
                            h2 { (name) }
                            div.panel.wide { (picture) }
                        }
                    }
                }
                @for limits in &self.limits {
                    section {
                        h2 { (limits.title) }
                        div.scroll { (table::with_heads(&limits.rows)) }
                        p.note { (LIMITS) }
                    }
                }
                footer #footer { "optiq " (env!("CARGO_PKG_VERSION")) }
            }
        };
        let style = [&curves::style(), &boxes::style(), include_str!("sweep.css"), STYLE].concat();
        page::page(&self.heading, Drawn::Already, &style, body)
    }
}

const STYLE: &str = ".figures td:nth-child(2), .figures th:nth-child(2) { text-align: left; }\n";

const FIGURES: &str = "Times are of an operation beside the other jobs. Slowdown: the mean beside the others over the mean alone, both with the cure. \
    Cycle: the mean time from the start of an operation to the start of the next one, over that as it is; what a cure costs the job that it \
    is applied to. Boxes go from quartile to quartile, with a line at the median and a dot at the mean; whiskers go to the smallest \
    and the largest sample, with a small mark at 99 %.";

const LIMITS: &str = "What the most loaded link takes, headers included. On what the others leave, each link has what their load, measured in a run without \
    this job, leaves of it, and a tenth at least. Others that wait for their own messages may give way, so that a run can be faster than this bound.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boxes::TimeBox;

    #[test]
    fn a_page_has_every_cure_and_no_markup_of_names() {
        let one = TimeBox {
            name: "as it is".into(),
            number: 0,
            minimum: 1e-6,
            quartiles: [2e-6, 3e-6, 4e-6],
            p99: 5e-6,
            maximum: 6e-6,
            mean: 3e-6,
        };
        let boxes = Boxes { label: "of a job".into(), horizontal: "time".into(), boxes: vec![one] };
        let row = |cells: [&str; 3]| cells.map(String::from).to_vec();
        let page = CuresPage {
            heading: "Cures: two jobs".into(),
            subtitle: "on a ring".into(),
            notes: vec!["not tried: placement <b>".into()],
            figures: vec![row(["cure", "job", "mean"]), row(["placement contiguous", "a", "3 us"])],
            boxes: vec![("a".into(), boxes)],
            limits: vec![Table { title: "a beside the others".into(), rows: vec![row(["what", "x", "y"])] }],
        }
        .page();
        for expected in ["placement contiguous", "&lt;b&gt;", "a beside the others", "<svg"] {
            assert!(page.contains(expected), "{expected}");
        }
        assert!(!page.contains("<b>"));
    }
}

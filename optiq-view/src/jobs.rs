//! The page of jobs that share a network: what each of them takes alone and beside the others, what happened over time, and
//! the links on which they meet. It needs no script.

use crate::bars;
use crate::boxes::{self, Boxes};
use crate::colours::SERIES;
use crate::curves::{self, Curves};
use crate::page::{self, Drawn};
use crate::stacks::{self, Stack};
use crate::table;
use maud::{Markup, html};

/// A job, in the order of their colours.
pub struct Job {
    /// Its name.
    pub name: String,
    /// What its ranks do, and where they are.
    pub subtitle: String,
    /// How much slower it is beside the others; `None` if that is not known.
    pub slowdown: Option<String>,
    /// The samples of its runs.
    pub boxes: Boxes,
    /// Bytes that arrived over time.
    pub delivered: Curves,
    /// How long operations took, by the time at which they started.
    pub latency: Curves,
}

/// What the page shows.
pub struct JobsReport {
    /// What was simulated, on what.
    pub heading: String,
    /// How: what else there is to know.
    pub subtitle: String,
    /// The title of the model.
    pub model: String,
    /// What limits the figures, such as a run that was ended early.
    pub notes: Vec<String>,
    /// The names of the columns of the figures, and a row for each job and run.
    pub figures: Vec<Vec<String>>,
    /// The jobs.
    pub jobs: Vec<Job>,
    /// The busiest links, and how many have bytes of several jobs.
    pub links: Vec<Stack>,
    /// What there is to say about them.
    pub links_note: String,
}

impl JobsReport {
    /// The page.
    pub fn page(&self) -> String {
        let title = format!("OPTIQ jobs: {}; model {}", self.heading, self.model);
        let style = curves::style() + &bars::style() + &boxes::style() + include_str!("report.css") + STYLE;
        let (heads, rows) = self.figures.split_first().map_or((&[][..], &[][..]), |(heads, rows)| (&heads[..], rows));
        let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
        let links = stacks::svg("Bytes of each job on the busiest links", "bytes, headers included", &self.links);
        let body = html! {
            main {
                header {
                    h1 #title { (self.heading) }
                    p #subtitle { (self.subtitle) }
                    @for note in &self.notes { p.note.partial { (note) } }
                }
                div.cards {
                    @for job in &self.jobs {
                        (page::card(job.slowdown.as_deref().unwrap_or("-"), &format!("slowdown of {}", job.name), None))
                    }
                }
                section aria-labelledby="figures-heading" {
                    h2 #figures-heading { "Figures" }
                    div.scroll.figures { (table::markup(&heads, heads.len(), rows.iter().cloned())) }
                    p.note { (FIGURES) }
                }
                @for job in &self.jobs { (one(job)) }
                section aria-labelledby="links-heading" {
                    h2 #links-heading { "The busiest links" }
                    div.roles {
                        @for (i, job) in self.jobs.iter().enumerate() {
                            span { span class=(format!("swatch s{}", stacks::colour(i))) {} (job.name) }
                        }
                    }
                    (panel(links))
                    p.note { (self.links_note) }
                }
            }
        };
        let swatches: String = (0..SERIES.len()).map(|i| format!(".s{i} {{ background: var(--c{i}); }}\n")).collect();
        page::page(&title, Drawn::Already, &(style + &swatches), body)
    }
}

const STYLE: &str = "\
.swatch { width: 1.4em; height: 0.9em; border-radius: 2px; print-color-adjust: exact; -webkit-print-color-adjust: exact; }\n\
.job { break-inside: avoid; }\n.job .panel { margin-top: 8px; }\n\
.figures td:nth-child(2), .figures th:nth-child(2) { text-align: left; }\n";

fn panel(picture: Option<Markup>) -> Markup {
    html! {
        div.panel.wide {
            @match picture {
                Some(svg) => (svg),
                None => p.note { "Nothing was recorded." },
            }
        }
    }
}

fn one(job: &Job) -> Markup {
    html! {
        section.job {
            h2 { (job.name) }
            p.note { (job.subtitle) }
            (panel(job.boxes.svg()))
            div.roles { span { (curves::key(ALONE)) "alone" } span { (curves::key(TOGETHER)) "together" } }
            (panel(job.delivered.svg()))
            (panel(job.latency.svg()))
        }
    }
}

/// The colour of what a job does alone.
pub const ALONE: usize = 0;
/// The colour of what it does beside the others.
pub const TOGETHER: usize = 3;

const FIGURES: &str = "Boxes go from quartile to quartile, with a line at the median and a dot at the mean; whiskers go to the \
    smallest and the largest sample, with a small mark at 99 %. In brackets: intervals at 95 %, for which nodes, not samples, are \
    drawn with replacement; they do not cover other seeds and placements. A slowdown is a figure beside the other jobs over the \
    same figure alone.";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boxes::TimeBox;
    use crate::curves::{Curve, Panel};

    fn curves() -> Curves {
        let curve = Curve { number: ALONE, name: "alone".into(), points: vec![(0.0, 1.0)], end: 2.0 };
        Curves {
            label: "l".into(),
            vertical: "v".into(),
            horizontal: "h".into(),
            logarithmic: false,
            high: None,
            panels: vec![Panel { title: String::new(), curves: vec![curve] }],
        }
    }

    #[test]
    fn names_are_escaped_and_what_is_missing_is_said() {
        let one = TimeBox {
            name: "alone".into(),
            number: ALONE,
            minimum: 1.0,
            quartiles: [1.0, 2.0, 3.0],
            p99: 4.0,
            maximum: 5.0,
            mean: 2.0,
        };
        let job = Job {
            name: "<job>".into(),
            subtitle: "s".into(),
            slowdown: None,
            boxes: Boxes { label: "l".into(), horizontal: "time".into(), boxes: vec![one] },
            delivered: curves(),
            latency: curves(),
        };
        let page = JobsReport {
            heading: "<h>".into(),
            subtitle: "s".into(),
            model: "bgq".into(),
            notes: vec!["<note>".into()],
            figures: vec![vec!["job".into()], vec!["<job>".into()]],
            jobs: vec![job],
            links: Vec::new(),
            links_note: "n".into(),
        }
        .page();
        assert!(!page.contains("<job>") && !page.contains("<note>") && !page.contains("<h>"), "{page}");
        assert!(page.contains("&lt;note&gt;") && page.contains("class=\"boxes\""));
        // Two series, but no links.
        assert_eq!((page.matches("class=\"curves\"").count(), page.matches("Nothing was recorded").count()), (2, 1));
    }
}

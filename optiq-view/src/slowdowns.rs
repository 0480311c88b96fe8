//! Who slows whom: a matrix of slowdowns for each method, and for what was measured where that is known.
//!
//! All matrices have one scale, whose end is twice the time alone, so that they can be compared by eye; the numbers stand beside the
//! colours.

use crate::heat;
use crate::page::{self, Drawn};
use crate::table::percent;
use maud::{Markup, html};
use std::fmt::Write;

/// The slowdown at the end of the scale: 1 is twice as long.
const HIGHEST: f64 = 1.0;

/// Slowdowns of each application beside each; 0.5 for one and a half times as long.
#[derive(Clone, Debug, PartialEq)]
pub struct Slowdowns {
    /// Of what.
    pub title: String,
    /// Of the applications.
    pub names: Vec<String>,
    /// A row for each that is slowed, with a value for each that is beside it.
    pub values: Vec<Vec<f64>>,
}

fn style() -> String {
    let mut style = heat::style();
    style.push_str(
        ".matrices { display: flex; flex-wrap: wrap; gap: 1.5rem; }\n.matrices h2 { font-size: 1rem; margin: 0 0 .4rem; }\n\
         table.slowdowns { border-collapse: collapse; font-size: .85rem; }\ntable.slowdowns th { font-weight: 500; padding: .2rem .45rem; }\n\
         table.slowdowns th[scope=row] { text-align: right; }\n\
         table.slowdowns td { padding: .2rem .45rem; text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }\n\
         .swatch { display: inline-block; width: .85em; height: .85em; margin-right: .4em; vertical-align: -.1em; background: var(--idle); }\n",
    );
    for shade in 1..=heat::SHADES {
        // Writing to a string does not fail.
        let _ = writeln!(style, ".s{shade} {{ background: var(--h{shade}); }}");
    }
    style
}

impl Slowdowns {
    fn table(&self) -> Markup {
        html! {
            section {
                h2 { (self.title) }
                table.slowdowns {
                    thead {
                        tr {
                            th scope="col" { "slowed \\ beside" }
                            @for name in &self.names { th scope="col" { (name) } }
                        }
                    }
                    tbody {
                        @for (name, row) in self.names.iter().zip(&self.values) {
                            tr {
                                th scope="row" { (name) }
                                @for &value in row {
                                    td { span class=(format!("swatch s{}", heat::shade(value / HIGHEST))) {} (percent(value)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// A page with all matrices under one scale; `lead` is a sentence.
pub fn page(title: &str, lead: &str, matrices: &[Slowdowns]) -> String {
    let body = html! {
        main {
            h1 { (title) }
            p { (lead) }
            (heat::legend("slower by", "50 %", "100 % or more"))
            div.matrices { @for matrix in matrices { (matrix.table()) } }
        }
    };
    page::page(title, Drawn::Already, &style(), body)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_shades_stand_in_the_page() {
        let names = vec!["FFTW".to_owned(), "<A>".to_owned()];
        let values = vec![vec![0.5, 0.0], vec![2.38, -0.01]];
        let found = page("Slowdowns", "of two", &[Slowdowns { title: "Queue".into(), names, values }]);
        for expected in
            ["Queue", "50.0 %", "238.0 %", "-1.0 %", "&lt;A&gt;", "swatch s10\"", "swatch s20\"", "swatch s0\""]
        {
            assert!(found.contains(expected), "{expected}");
        }
        assert!(!found.contains("<A>"));
    }
}

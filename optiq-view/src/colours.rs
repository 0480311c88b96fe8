//! The colours of all pages and charts, each of them light and dark.

use std::fmt::Write;

/// A colour on light paper and on dark paper.
pub type Shade = (&'static str, &'static str);

/// The paper.
pub const PAPER: Shade = ("#ffffff", "#14171b");
/// Words.
pub const INK: Shade = ("#1b1f24", "#e8ebef");
/// Words and lines that stand back.
pub const SOFT: Shade = ("#59636e", "#a3adb8");
/// Borders, and lines behind a chart.
pub const EDGE: Shade = ("#d9dde3", "#343a42");

/// As the style sheets of pages know them.
const NAMED: [(&str, Shade); 10] = [
    ("paper", PAPER),
    ("panel", ("#f7f8fa", "#1b1f25")),
    ("edge", EDGE),
    ("ink", INK),
    ("soft", SOFT),
    ("idle", ("#dfe3e8", "#333941")),
    ("direct", ("#c04a00", "#ff9a52")),
    ("plan", ("#0067a8", "#62b5f5")),
    ("tip", ("#1b1f24", "#f2f4f7")),
    ("tip-ink", ("#ffffff", "#14171b")),
];

/// Colours of series, apart for most who see colours otherwise (after Okabe and Ito).
pub const SERIES: [Shade; 7] = [
    ("#6b7480", "#a3adba"),
    ("#c96f00", "#f0a33c"),
    ("#00855f", "#2fc79a"),
    ("#0067a8", "#5fb3ea"),
    ("#a8397e", "#e08bc0"),
    ("#7a5b00", "#d8c24a"),
    ("#1b1f24", "#e6e9ed"),
];

/// The colours of a page as `--NAME`.
pub fn named() -> String {
    let (light, dark) = variables(NAMED.iter().map(|&(name, shade)| (name.to_owned(), shade)));
    format!(":root{{color-scheme:light dark;{light}}}\n@media (prefers-color-scheme: dark) {{ :root{{{dark}}} }}\n")
}

/// The colours of series as `--c0`, `--c1`, ..., also for print, where the paper is light.
pub fn series() -> String {
    let (light, dark) = variables(SERIES.iter().enumerate().map(|(i, &shade)| (format!("c{i}"), shade)));
    format!(
        ":root{{{light}}}\n@media (prefers-color-scheme: dark) {{ :root{{{dark}}} }}\n@media print {{ :root{{{light}}} }}\n"
    )
}

fn variables(shades: impl Iterator<Item = (String, Shade)>) -> (String, String) {
    let (mut light, mut dark) = (String::new(), String::new());
    for (name, (day, night)) in shades {
        // Writing to a string does not fail.
        let _ = write!(light, "--{name}:{day};");
        let _ = write!(dark, "--{name}:{night};");
    }
    (light, dark)
}

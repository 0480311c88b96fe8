//! The one palette: the colours of all pages and charts, each of them on light and on dark paper.

use std::fmt::Write;

/// A colour on light paper, and on dark paper.
pub type Shade = (&'static str, &'static str);

/// The paper.
pub const PAPER: Shade = ("#ffffff", "#14171b");
/// Words.
pub const INK: Shade = ("#1b1f24", "#e8ebef");
/// Words and lines that matter less.
pub const SOFT: Shade = ("#59636e", "#a3adb8");
/// Borders, and lines behind a chart.
pub const EDGE: Shade = ("#d9dde3", "#343a42");

/// As the style sheets of pages know them.
const NAMED: [(&str, Shade); 12] = [
    ("paper", PAPER),
    ("panel", ("#f7f8fa", "#1b1f25")),
    ("edge", EDGE),
    ("ink", INK),
    ("soft", SOFT),
    ("idle", ("#dfe3e8", "#333941")),
    ("direct", ("#c04a00", "#ff9a52")),
    ("plan", ("#0067a8", "#62b5f5")),
    ("copying", ("#2c7a4b", "#6cc48d")),
    ("plain", ("#7a5195", "#bf9bd8")),
    ("tip", ("#1b1f24", "#f2f4f7")),
    ("tip-ink", ("#ffffff", "#14171b")),
];

/// Where a page is printed: everything light, with more contrast.
const PRINTED: [(&str, &str); 8] = [
    ("paper", "#ffffff"),
    ("panel", "#ffffff"),
    ("edge", "#c4c9d0"),
    ("ink", "#000000"),
    ("soft", "#444444"),
    ("idle", "#dfe3e8"),
    ("direct", "#c04a00"),
    ("plan", "#0067a8"),
];

/// Colours of series that most colour-blind readers can tell apart (after Okabe and Ito).
pub const SERIES: [Shade; 7] = [
    ("#6b7480", "#a3adba"),
    ("#c96f00", "#f0a33c"),
    ("#00855f", "#2fc79a"),
    ("#0067a8", "#5fb3ea"),
    ("#a8397e", "#e08bc0"),
    ("#7a5b00", "#d8c24a"),
    ("#1b1f24", "#e6e9ed"),
];

/// The scale of amounts: viridis (S. van der Walt and N. Smith, matplotlib 1.5), as red, green, blue.
const VIRIDIS: [[u8; 3]; 10] = [
    [68, 1, 84],
    [72, 40, 120],
    [62, 73, 137],
    [49, 104, 142],
    [38, 130, 142],
    [31, 158, 137],
    [53, 183, 121],
    [110, 206, 88],
    [181, 222, 43],
    [253, 231, 37],
];

/// The scale of amounts at `place`, 0 to 1, between its two nearest colours.
fn viridis(place: f64) -> [f64; 3] {
    let place = place.clamp(0.0, 1.0) * (VIRIDIS.len() - 1) as f64;
    let low = (place as usize).min(VIRIDIS.len() - 2);
    let [a, b] = [VIRIDIS[low], VIRIDIS[low + 1]].map(|colour| colour.map(f64::from));
    std::array::from_fn(|i| (a[i] + (b[i] - a[i]) * (place - low as f64)).round())
}

/// The scale of amounts for scripts, as the constant `VIRIDIS`.
pub fn scale_for_scripts() -> String {
    let colours: Vec<String> = VIRIDIS.iter().map(|[r, g, b]| format!("\"#{r:02x}{g:02x}{b:02x}\"")).collect();
    format!("const VIRIDIS = [{}];\n", colours.join(", "))
}

/// `count` shades of amounts as `--h1`, `--h2`, ..., turned so that large amounts stand out from the paper.
pub fn amounts(count: usize) -> String {
    let (mut light, mut dark) = (String::new(), String::new());
    for shade in 1..=count {
        let share = shade as f64 / count as f64;
        for (text, place) in [(&mut light, 0.92 * (1.0 - share)), (&mut dark, 0.25 + 0.75 * share)] {
            let [r, g, b] = viridis(place);
            // Writing to a string does not fail.
            let _ = write!(text, "--h{shade}:rgb({r} {g} {b});");
        }
    }
    on_all_papers(&light, &dark)
}

/// The colours of a page as `--NAME`.
pub fn named() -> String {
    let (light, dark) = variables(NAMED.iter().map(|&(name, shade)| (name.to_owned(), shade)));
    let printed: String = PRINTED.iter().map(|(name, colour)| format!("--{name}:{colour};")).collect();
    format!(
        ":root{{color-scheme:light dark;{light}}}\n@media (prefers-color-scheme: dark) {{ :root{{{dark}}} }}\n\
         @media print {{ :root{{{printed}}} }}\n"
    )
}

/// The colours of series as `--c0`, `--c1`, ..., also for print, where the paper is light.
pub fn series() -> String {
    let (light, dark) = variables(SERIES.iter().enumerate().map(|(i, &shade)| (format!("c{i}"), shade)));
    on_all_papers(&light, &dark)
}

fn on_all_papers(light: &str, dark: &str) -> String {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_and_style_sheets_have_the_same_scale() {
        assert!(scale_for_scripts().starts_with("const VIRIDIS = [\"#440154\", \"#482878\""));
        // Dark paper at the end of the scale: its last colour.
        assert!(amounts(20).contains("--h20:rgb(253 231 37);"));
        assert_eq!(viridis(1.0 / 9.0), [72.0, 40.0, 120.0]);
    }
}

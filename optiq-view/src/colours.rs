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
    ("plan", ("#0067a8", "#4aa0e8")),
    ("copying", ("#45a76a", "#a8f5c0")),
    ("plain", ("#3d1458", "#9a5aa8")),
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

/// Colours of series. Readers with any kind of colour vision can tell each from every other: a test computes how they look to
/// people without one of the three kinds of cones.
pub const SERIES: [Shade; 7] = [
    ("#6b7480", "#8f99a6"),
    ("#c0800e", "#b5811c"),
    ("#45a76a", "#2bf291"),
    ("#034bcd", "#1454f2"),
    ("#5b0f6e", "#ec88ff"),
    ("#53450c", "#f7d81b"),
    ("#1b1f24", "#f2f4f7"),
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

/// The colour of an amount, 0 to 1, on light paper, turned so that large amounts stand out from it.
pub fn amount(share: f64) -> String {
    let [r, g, b] = viridis(0.92 * (1.0 - share));
    format!("rgb({r} {g} {b})")
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
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    type Triple = [f64; 3];

    /// What is left of linear red, green and blue for eyes with all cones, and for those without the cones for long, medium and
    /// short waves (G. Machado, M. Oliveira, L. Fernandes: A physiologically-based model for simulation of color vision
    /// deficiency, 2009; severity 1).
    const EYES: [[Triple; 3]; 4] = [
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
    ];

    fn product(rows: &[Triple; 3], v: Triple) -> Triple {
        rows.map(|row| row.iter().zip(v).map(|(a, b)| a * b).sum())
    }

    /// Linear red, green and blue.
    fn linear(colour: &str) -> Triple {
        std::array::from_fn(|i| {
            let c = f64::from(u8::from_str_radix(&colour[1 + 2 * i..3 + 2 * i], 16).unwrap()) / 255.0;
            if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
        })
    }

    /// CIE L*a*b*, in which just noticeable differences are about 2.3 apart.
    fn lab(colour: &str, eyes: &[Triple; 3]) -> Triple {
        const XYZ: [Triple; 3] = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]];
        const WHITE: Triple = [0.95047, 1.0, 1.08883];
        let xyz = product(&XYZ, product(eyes, linear(colour)).map(|c| c.clamp(0.0, 1.0)));
        let f = |t: f64| if t > 0.008856 { t.cbrt() } else { 7.787 * t + 16.0 / 116.0 };
        let [x, y, z] = std::array::from_fn(|i| f(xyz[i] / WHITE[i]));
        [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
    }

    fn apart(a: &str, b: &str, eyes: &[Triple; 3]) -> f64 {
        lab(a, eyes).iter().zip(lab(b, eyes)).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    }

    /// As WCAG 2 defines it, which asks for 3 for graphics.
    fn contrast(a: &str, b: &str) -> f64 {
        let [a, b] =
            [a, b].map(|c| 0.05 + linear(c).iter().zip([0.2126, 0.7152, 0.0722]).map(|(c, w)| c * w).sum::<f64>());
        a.max(b) / a.min(b)
    }

    /// Colours that stand beside each other are `least` apart for all eyes.
    fn distinct(shades: &[Shade], least: f64) {
        for of in [|shade: &Shade| shade.0, |shade: &Shade| shade.1] {
            for (i, a) in shades.iter().enumerate() {
                for b in &shades[..i] {
                    for eyes in &EYES {
                        let apart = apart(of(a), of(b), eyes);
                        assert!(apart >= least, "{} and {} are only {apart:.1} apart", of(a), of(b));
                    }
                }
            }
        }
    }

    fn named_shade(name: &str) -> Shade {
        NAMED.iter().find(|(found, _)| *found == name).unwrap().1
    }

    #[test]
    fn series_can_be_told_apart_and_stand_out_from_the_paper() {
        distinct(&SERIES, 20.0);
        for shade in SERIES.iter().chain(&["direct", "plan", "copying", "plain"].map(named_shade)) {
            for (colour, paper) in [(shade.0, PAPER.0), (shade.1, PAPER.1)] {
                assert!(contrast(colour, paper) >= 2.95, "{colour} on {paper}: {}", contrast(colour, paper));
            }
        }
    }

    #[test]
    fn what_time_goes_into_can_be_told_apart() {
        distinct(&["direct", "plan"].map(named_shade), 40.0);
        distinct(&["direct", "plan", "copying", "plain", "idle"].map(named_shade), 15.0);
    }

    #[test]
    fn scripts_and_style_sheets_have_the_same_scale() {
        assert!(scale_for_scripts().starts_with("const VIRIDIS = [\"#440154\", \"#482878\""));
        // Dark paper at the end of the scale: its last colour.
        assert!(amounts(20).contains("--h20:rgb(253 231 37);"));
        assert_eq!(viridis(1.0 / 9.0), [72.0, 40.0, 120.0]);
    }
}

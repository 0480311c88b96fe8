//! Tables, as plain text and in pages, and numbers for people.

use maud::{Markup, html};
use optiq_net::units;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Rows of cells; the first column is aligned left, the others right. Columns are two spaces apart.
pub fn table(rows: &[Vec<String>]) -> String {
    aligned(rows, |column| column > 0)
}

/// Rows of cells, all aligned left.
pub fn list(rows: &[Vec<String>]) -> String {
    aligned(rows, |_| false)
}

/// Rows of cells; `right` says which columns are aligned right.
pub fn aligned(rows: &[Vec<String>], right: impl Fn(usize) -> bool) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |c: usize| rows.iter().filter_map(|r| r.get(c)).map(|cell| cell.chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (c, cell) in row.iter().enumerate() {
            let gap = if c > 0 { "  " } else { "" };
            let width = widths[c];
            // Writing to a string does not fail.
            let _ = if right(c) { write!(line, "{gap}{cell:>width$}") } else { write!(line, "{gap}{cell:<width$}") };
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// A table of a page; from column `words_from` on, cells are words that may be broken. Cells are plain text.
pub fn markup(heads: &[&str], words_from: usize, rows: impl IntoIterator<Item = Vec<String>>) -> Markup {
    let class = |column: usize| (column >= words_from).then_some("words");
    html! {
        table {
            thead { tr { @for (i, head) in heads.iter().enumerate() { th scope="col" class=[class(i)] { (head) } } } }
            tbody {
                @for row in rows {
                    tr { @for (i, cell) in row.iter().enumerate() { td class=[class(i)] { (cell) } } }
                }
            }
        }
    }
}

/// As [`markup`], of figures whose first row has the names of the columns.
pub fn with_heads(rows: &[Vec<String>]) -> Markup {
    let (heads, rows) = rows.split_first().map_or((&[][..], &[][..]), |(heads, rows)| (&heads[..], rows));
    let heads: Vec<&str> = heads.iter().map(String::as_str).collect();
    markup(&heads, heads.len(), rows.iter().cloned())
}

/// Whether sizes are shown with binary units. It concerns what people read and nothing else, so it is one for the process.
static BINARY: AtomicBool = AtomicBool::new(false);

/// Has all sizes shown with binary units from now on, as in `16.25 MiB`.
pub fn use_binary_units() {
    BINARY.store(true, Relaxed);
}

/// Whether sizes are shown with binary units.
pub fn has_binary_units() -> bool {
    BINARY.load(Relaxed)
}

/// Bytes with a decimal unit, as rates have it: `16.25 MB`; with a binary one after [`use_binary_units`].
pub fn bytes(bytes: f64) -> String {
    if has_binary_units() { units::format_bytes_rounded_binary(bytes) } else { units::format_bytes_rounded(bytes) }
}

/// As [`bytes`], without two digits that are zero: `4 MB`, for axes.
pub(crate) fn short_bytes(bytes: f64) -> String {
    self::bytes(bytes).replace(".00 ", " ")
}

/// A duration with a unit that leaves three significant digits: `74.6 ms`.
pub fn seconds(seconds: f64) -> String {
    let (value, unit) = match seconds {
        0.0 => (0.0, "s"),
        s if s < 1e-3 => (s * 1e6, "us"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s => (s, "s"),
    };
    let digits = if value >= 100.0 || value == 0.0 {
        0
    } else if value >= 10.0 {
        1
    } else {
        2
    };
    format!("{value:.digits$} {unit}")
}

/// `0.253` as `25.3 %`.
pub fn percent(share: f64) -> String {
    format!("{:.1} %", share * 100.0)
}

/// `1 link`, `2 links`.
pub fn count(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = [vec!["a".to_string(), "10".into()], vec!["bcd".into(), "7".into(), "x".into()]];
        assert_eq!(table(&rows), "a    10\nbcd   7  x\n");
        assert_eq!(list(&rows), "a    10\nbcd  7   x\n");
        assert_eq!(table(&[]), "");
    }

    #[test]
    fn cells_of_pages_are_escaped() {
        let markup = markup(&["a", "b"], 1, [vec!["1".to_string(), "<x>".into()]]).into_string();
        assert!(markup.contains("<th scope=\"col\">a</th><th scope=\"col\" class=\"words\">b</th>"), "{markup}");
        assert!(markup.contains("<td>1</td><td class=\"words\">&lt;x&gt;</td>"), "{markup}");
    }

    #[test]
    fn durations_keep_three_digits() {
        assert_eq!(seconds(0.0), "0 s");
        assert_eq!(seconds(0.0746), "74.6 ms");
        assert_eq!(seconds(2.5e-6), "2.50 us");
        assert_eq!(seconds(123.4), "123 s");
    }
}

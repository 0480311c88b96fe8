//! Manual pages in the `man` macros of roff, from plain text.

use std::fmt::Write;

/// A page that grows from top to bottom.
#[derive(Default)]
pub struct Page(String);

impl Page {
    /// A page with its title line.
    pub fn new(name: &str, section: u8) -> Self {
        Page(title(name, section))
    }

    /// A heading.
    pub fn section(&mut self, name: &str) {
        let _ = writeln!(self.0, ".SH \"{}\"", escape(name));
    }

    /// A heading below a heading.
    pub fn subsection(&mut self, name: &str) {
        let _ = writeln!(self.0, ".SS \"{}\"", escape(name));
    }

    /// A paragraph; what stands between backticks is bold.
    pub fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.0, ".PP\n{}", marked(text));
    }

    /// Text that goes on where the page is; what stands between backticks is bold.
    pub fn text(&mut self, text: &str) {
        let _ = writeln!(self.0, "{}", marked(text));
    }

    /// A term and what it means; both may have backticks.
    pub fn item(&mut self, term: &str, meaning: &str) {
        let _ = writeln!(self.0, ".TP\n{}\n{}", marked(term), marked(meaning));
    }

    /// Lines as they are, indented.
    pub fn code(&mut self, text: &str) {
        let _ = writeln!(self.0, ".PP\n.RS 4\n.nf");
        for line in text.lines() {
            let _ = writeln!(self.0, "{}", literal(line));
        }
        let _ = writeln!(self.0, ".fi\n.RE");
    }

    /// The page's source.
    pub fn finish(self) -> String {
        self.0
    }
}

/// The title line of a page. It has no date: the same source gives the same page on any day. Names of options and
/// functions are not hyphenated.
pub fn title(name: &str, section: u8) -> String {
    format!(
        ".TH \"{}\" \"{section}\" \"\" \"OPTIQ {}\" \"OPTIQ manual\"\n.nh\n.ad l\n",
        escape(&name.to_uppercase()),
        env!("CARGO_PKG_VERSION")
    )
}

/// Characters that roff would read as something else, and those that it would print as their typographic kin.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("\\e"),
            '-' => escaped.push_str("\\-"),
            '\'' => escaped.push_str("\\(aq"),
            '`' => escaped.push_str("\\(ga"),
            '^' => escaped.push_str("\\(ha"),
            '~' => escaped.push_str("\\(ti"),
            '"' => escaped.push_str("\\(dq"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// A line that is not a request, whatever it starts with.
fn literal(line: &str) -> String {
    let escaped = escape(line);
    if escaped.starts_with('.') { format!("\\&{escaped}") } else { escaped }
}

/// Running text, with what stands between backticks in bold.
fn marked(text: &str) -> String {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts: Vec<&str> = text.split('`').collect();
    // A backtick without its partner is a character like others.
    let pairs = parts.len() % 2 == 1;
    let mut line = String::new();
    for (index, part) in parts.iter().enumerate() {
        match (pairs, index) {
            (true, i) if i % 2 == 1 => {
                let _ = write!(line, "\\fB{}\\fR", escape(part));
            }
            (false, i) if i > 0 => {
                let _ = write!(line, "\\(ga{}", escape(part));
            }
            _ => line.push_str(&escape(part)),
        }
    }
    if line.starts_with('.') { format!("\\&{line}") } else { line }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_cannot_become_a_request() {
        assert_eq!(literal(".TH x"), "\\&.TH x");
        assert_eq!(literal("'s"), "\\(aqs");
        assert_eq!(marked(". a\n b"), "\\&. a b");
    }

    #[test]
    fn options_keep_their_hyphens_and_names_are_bold() {
        assert_eq!(marked("`--json` or a-b"), "\\fB\\-\\-json\\fR or a\\-b");
        assert_eq!(marked("one ` alone"), "one \\(ga alone");
        assert_eq!(escape("a\\b"), "a\\eb");
    }
}

//! Manual pages in the `man` macros of roff, from plain text.
//!
//! The crate `roff` writes requests and text; it leaves some characters as they are that troff prints as their typographic
//! kin, and these are named here, so that what a reader copies from a page is what is meant.

use roff::{Inline, Roff, bold, roman};

/// A page that grows from top to bottom.
#[derive(Default)]
pub struct Page(Roff);

impl Page {
    /// A page with its title line. It has no date: the same source gives the same page on any day. Names of options and
    /// functions are not hyphenated.
    pub fn new(name: &str, section: u8) -> Self {
        let mut page = Roff::new();
        let (name, section) = (name.to_uppercase(), section.to_string());
        let version = concat!("OPTIQ ", env!("CARGO_PKG_VERSION"));
        page.control("TH", [name.as_str(), &section, "\"\"", version, "OPTIQ manual"]);
        page.control("nh", []).control("ad", ["l"]);
        Page(page)
    }

    /// A heading.
    pub fn section(&mut self, name: &str) {
        self.0.control("SH", [name]);
    }

    /// A heading below a heading.
    pub fn subsection(&mut self, name: &str) {
        self.0.control("SS", [name]);
    }

    /// A paragraph; what stands between backticks is bold.
    pub fn paragraph(&mut self, text: &str) {
        self.0.control("PP", []).text(marked(text));
    }

    /// Text that goes on where the page is; what stands between backticks is bold.
    pub fn text(&mut self, text: &str) {
        self.0.text(marked(text));
    }

    /// A term and what it means; both may have backticks.
    pub fn item(&mut self, term: &str, meaning: &str) {
        self.0.control("TP", []).text(marked(term)).text(marked(meaning));
    }

    /// Lines as they are, indented.
    pub fn code(&mut self, text: &str) {
        self.0.control("PP", []).control("RS", ["4"]).control("nf", []);
        for line in text.lines() {
            self.0.text([roman(line)]);
        }
        self.0.control("fi", []).control("RE", []);
    }

    /// The page's source.
    pub fn finish(self) -> String {
        let source = self.0.to_roff();
        source.lines().map(|line| if line.starts_with('.') { line.to_owned() } else { typed(line) } + "\n").collect()
    }
}

/// A line of text with the names of characters that troff would print as others.
fn typed(line: &str) -> String {
    let mut named = String::with_capacity(line.len());
    for c in line.chars() {
        match c {
            '\'' => named.push_str("\\(aq"),
            '`' => named.push_str("\\(ga"),
            '^' => named.push_str("\\(ha"),
            '~' => named.push_str("\\(ti"),
            '"' => named.push_str("\\(dq"),
            c => named.push(c),
        }
    }
    named
}

/// Running text, with what stands between backticks in bold.
fn marked(text: &str) -> Vec<Inline> {
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let parts: Vec<&str> = text.split('`').collect();
    // A backtick without its partner is a character like others.
    if parts.len().is_multiple_of(2) {
        return vec![roman(text)];
    }
    let inline = |(i, part): (usize, &&str)| if i % 2 == 1 { bold(*part) } else { roman(*part) };
    parts.iter().enumerate().filter(|(_, part)| !part.is_empty()).map(inline).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn page(fill: impl FnOnce(&mut Page)) -> String {
        let mut page = Page::default();
        fill(&mut page);
        page.finish()
    }

    #[test]
    fn text_cannot_become_a_request() {
        assert_eq!(page(|p| p.code(".TH x\n's")), ".PP\n.RS 4\n.nf\n\\&.TH x\n\\&\\(aqs\n.fi\n.RE\n");
        assert_eq!(page(|p| p.text(". a\n b")), "\\&. a b\n");
    }

    #[test]
    fn options_keep_their_hyphens_and_names_are_bold() {
        assert_eq!(page(|p| p.text("`--json` or a-b")), "\\fB\\-\\-json\\fR or a\\-b\n");
        assert_eq!(page(|p| p.text("one ` alone")), "one \\(ga alone\n");
        assert_eq!(page(|p| p.text("a ~ \"b\"")), "a \\(ti \\(dqb\\(dq\n");
    }

    #[test]
    fn a_title_has_no_date() {
        let page = Page::new("optiq-plan", 1).finish();
        assert!(page.starts_with(".TH OPTIQ-PLAN 1 \"\" \"OPTIQ "), "{page}");
    }
}

//! Reading a line from its beginning, word by word.

/// What is left of a line.
#[derive(Clone, Copy)]
pub(super) struct Scan<'t>(pub &'t str);

impl<'t> Scan<'t> {
    /// Goes on behind spaces.
    pub fn spaces(&mut self) {
        self.0 = self.0.trim_start();
    }

    /// Goes on behind `prefix`, if it comes next.
    pub fn eat(&mut self, prefix: &str) -> bool {
        let rest = self.0.strip_prefix(prefix);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    /// What comes before `end`, and goes on behind that.
    pub fn until(&mut self, end: char) -> Option<&'t str> {
        let (before, rest) = self.0.split_once(end)?;
        self.0 = rest;
        Some(before)
    }

    /// The next word.
    pub fn word(&mut self) -> &'t str {
        self.spaces();
        let end = self.0.find(char::is_whitespace).unwrap_or(self.0.len());
        let (word, rest) = self.0.split_at(end);
        self.0 = rest;
        word
    }

    /// `[number]`, which is the number of a port.
    pub fn bracketed_port(&mut self) -> Option<u32> {
        if !self.eat("[") {
            return None;
        }
        self.until(']')?.trim().parse().ok().filter(|port| *port < MAX_PORT)
    }

    /// What comes next in quotes.
    pub fn quoted(&mut self) -> Option<&'t str> {
        self.spaces();
        if !self.eat("\"") {
            return None;
        }
        self.until('"')
    }
}

/// The most ports of a node, and one more.
pub(super) const MAX_PORT: u32 = 1 << 16;

/// A number in hexadecimal, with `0x` or without.
pub(super) fn hex(text: &str) -> Option<u64> {
    let digits = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")).unwrap_or(text);
    let valid = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
    valid.then(|| u64::from_str_radix(digits, 16).ok()).flatten()
}

/// A number that is hexadecimal with `0x` and decimal without.
pub(super) fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        Some(digits) => hex(digits),
        None if text.bytes().all(|b| b.is_ascii_digit()) => text.parse().ok(),
        None => None,
    }
}

/// The hexadecimal number behind `key` in `text`.
pub(super) fn hex_behind(text: &str, key: &str) -> Option<u64> {
    let rest = text[text.find(key)? + key.len()..].trim_start();
    let rest = rest.strip_prefix("0x").or_else(|| rest.strip_prefix("0X")).unwrap_or(rest);
    let end = rest.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(rest.len());
    hex(&rest[..end])
}

/// The number behind the word `key` in `text`, decimal unless it begins with `0x`.
pub(super) fn number_behind(text: &str, key: &str) -> Option<u64> {
    let mut words = text.split_whitespace();
    words.find(|word| word.eq_ignore_ascii_case(key))?;
    number(words.next()?.trim_end_matches([';', ',', ':', ')']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_in_either_base() {
        assert_eq!(
            (hex("0x1F"), hex("1f"), hex(""), hex("+1"), hex("0x"), hex("g")),
            (Some(31), Some(31), None, None, None, None)
        );
        assert_eq!((number("0x10"), number("10"), number("1f"), number("")), (Some(16), Some(10), None, None));
        assert_eq!(hex_behind("switch Lid 3 guid 0x00ab ('x')", "guid"), Some(0xab));
        assert_eq!(number_behind("base port 0 lid 0x13 lmc 1", "lid"), Some(19));
        assert_eq!(number_behind("base port 0 lid 13 lmc 1", "lmc"), Some(1));
    }

    #[test]
    fn a_line_is_read_from_left_to_right() {
        let mut scan = Scan("[12](ab) \t\"S-1\"[3] # x");
        assert_eq!(scan.bracketed_port(), Some(12));
        assert!(scan.eat("(") && scan.until(')') == Some("ab"));
        assert_eq!((scan.quoted(), scan.bracketed_port(), scan.word(), scan.word()), (Some("S-1"), Some(3), "#", "x"));
        assert_eq!(Scan("[70000]").bracketed_port(), None);
    }
}

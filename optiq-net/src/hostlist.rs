//! Lists of host names as Slurm writes them: `node[001-144]`, `rack[1-4]n[01-18]`, `gpu[1,3-5],login`.
//!
//! Names are separated by commas. Brackets hold numbers, ranges of numbers and further names, also separated by commas, and
//! several brackets in one name give every combination, the last one changing fastest, which is Slurm's order. Brackets
//! may stand inside brackets: `n[1-2,1[0-3]]` is `n1`, `n2`, `n10` to `n13`. A range is padded with zeros to the width of
//! its first number: `[08-10]` is `08`, `09`, `10`.

use crate::error::NetError;
use crate::text_file::shorten;

/// How deep brackets may be nested.
const MAX_DEPTH: usize = 8;

/// The most bytes that all names of a list may have.
const MAX_BYTES: usize = 256 << 20;

/// What a list looks like, for messages.
const EXPECTED: &str = "a list such as node[001-144] or rack[1-4]n[01-18],login[1,3]";

/// Whether `text` is more than a plain name.
pub(crate) fn is_list(text: &str) -> bool {
    text.contains(['[', ']', ','])
}

/// The names of a list as Slurm writes them (`node[001-144],login`), in its order, at most `most`.
///
/// # Errors
/// [`NetError::Spec`] for anything else, or more names.
pub fn expand_host_list(text: &str, most: usize) -> Result<Vec<String>, NetError> {
    expand(text, most).map_err(NetError::Spec)
}

/// The names of the list `text`, at most `most`. The error is the rest of a sentence.
pub(crate) fn expand(text: &str, most: usize) -> Result<Vec<String>, String> {
    let text = text.trim();
    if let Some(c) = text.chars().find(|c| c.is_whitespace() || c.is_control()) {
        return Err(format!("found {c:?} in the list of names \"{}\"; {EXPECTED} is expected", shorten(text)));
    }
    let mut parser = Parser { text, at: 0, most, bytes: 0 };
    let names = parser.list(0).map_err(|why| format!("list of names \"{}\": {why}", shorten(text)))?;
    match parser.next() {
        None => Ok(names),
        Some(c) => Err(format!("list of names \"{}\": found '{c}' that closes nothing", shorten(text))),
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    most: usize,
    /// Bytes of all names that were made so far, also of those that were combined since.
    bytes: usize,
}

impl Parser<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn next(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// Names up to the end or a closing bracket, which is left.
    fn list(&mut self, depth: usize) -> Result<Vec<String>, String> {
        let mut names = Vec::new();
        loop {
            names.extend(if depth > 0 { self.bracketed(depth)? } else { self.name(0)? });
            self.check(names.len(), 0)?;
            match self.next() {
                Some(',') => self.at += 1,
                _ => return Ok(names),
            }
        }
    }

    /// An item between brackets: a range, or a name.
    fn bracketed(&mut self, depth: usize) -> Result<Vec<String>, String> {
        let end = self.rest().find(['[', ']', ',']).unwrap_or(self.rest().len());
        let item = self.rest()[..end].to_string();
        let Some((low, high)) = item.split_once('-') else { return self.name(depth) };
        self.at += end;
        self.range(low, high).ok_or_else(|| {
            format!(
                "found the range \"{}\"; two numbers in ascending order, such as 001-144, are expected",
                shorten(&item)
            )
        })?
    }

    /// The numbers from `low` to `high`, padded as `low` is; nothing if they are no numbers in ascending order.
    fn range(&mut self, low: &str, high: &str) -> Option<Result<Vec<String>, String>> {
        let number = |text: &str| text.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse::<u64>().ok()).flatten();
        let (first, last, width) = (number(low)?, number(high)?, low.len());
        let count = usize::try_from(last.checked_sub(first)?).ok()?.saturating_add(1);
        if let Err(why) = self.check(count, width.max(high.len())) {
            return Some(Err(why));
        }
        Some(Ok((first..=last).map(|i| format!("{i:0width$}")).collect()))
    }

    /// A name, up to a comma or a closing bracket: text and brackets, which are combined.
    fn name(&mut self, depth: usize) -> Result<Vec<String>, String> {
        let mut names = vec![String::new()];
        loop {
            let end = self.rest().find(['[', ']', ',']).unwrap_or(self.rest().len());
            let literal = self.rest()[..end].to_string();
            names.iter_mut().for_each(|name| name.push_str(&literal));
            self.at += end;
            if self.next() != Some('[') {
                break;
            }
            if depth == MAX_DEPTH {
                return Err(format!("brackets are nested more than {MAX_DEPTH} deep"));
            }
            self.at += 1;
            let inner = self.list(depth + 1)?;
            if self.next() != Some(']') {
                return Err("a '[' is not closed".into());
            }
            self.at += 1;
            let longest = |of: &[String]| of.iter().map(String::len).max().unwrap_or(0);
            let length = longest(&names) + longest(&inner);
            self.check(names.len().saturating_mul(inner.len()), length)?;
            names = names.iter().flat_map(|name| inner.iter().map(move |part| format!("{name}{part}"))).collect();
        }
        if names.iter().any(String::is_empty) {
            return Err(format!("a name is missing; {EXPECTED} is expected"));
        }
        Ok(names)
    }

    /// Refuses `count` further names of `length` bytes before they are made.
    fn check(&mut self, count: usize, length: usize) -> Result<(), String> {
        self.bytes = self.bytes.saturating_add(count.saturating_mul(length));
        if count > self.most {
            return Err(format!("it has more than {} names", self.most));
        }
        if self.bytes > MAX_BYTES {
            return Err(format!("its names are longer than {} MiB in all", MAX_BYTES >> 20));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn lists_as_slurm_writes_them() {
        let cases = [
            ("login", "login"),
            ("node[001-003]", "node001 node002 node003"),
            ("node[8-10]", "node8 node9 node10"),
            ("node[08-10,12]", "node08 node09 node10 node12"),
            ("a[1,3],b,c[0-1]-ib", "a1 a3 b c0-ib c1-ib"),
            ("rack[1-2]n[01-02]", "rack1n01 rack1n02 rack2n01 rack2n02"),
            ("n[1-2,1[0-3]]", "n1 n2 n10 n11 n12 n13"),
            (" x[007] ", "x007"),
            ("n[98-101].site.gov", "n98.site.gov n99.site.gov n100.site.gov n101.site.gov"),
            ("[1-2]n", "1n 2n"),
        ];
        for (text, expected) in cases {
            assert_eq!(expand(text, 100).unwrap().join(" "), expected, "{text}");
        }
    }

    #[test]
    fn refusals_say_what_was_expected() {
        let cases = [
            ("", "a name is missing"),
            ("a,,b", "a name is missing"),
            ("a,", "a name is missing"),
            ("a[]", "a name is missing"),
            ("a[1-3", "not closed"),
            ("a]1", "closes nothing"),
            ("a[3-1]", "ascending"),
            ("a[1-]", "ascending"),
            ("a[a-c]", "ascending"),
            ("a[1-99999999999999999999]", "ascending"),
            ("a[1-18446744073709551615]", "more than 1000 names"),
            ("a[1-100]b[1-100]", "more than 1000 names"),
            ("a[1-600],b[1-600]", "more than 1000 names"),
            ("a b", "found ' '"),
            ("a[[[[[[[[[1]]]]]]]]]", "nested"),
        ];
        for (text, expected) in cases {
            let error = expand(text, 1000).unwrap_err();
            assert!(error.contains(expected) && error.len() < 300, "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics_or_grows(text in "[a-b0-9\\[\\],-]{0,30}") {
            if let Ok(names) = expand(&text, 500) {
                prop_assert!(!names.is_empty() && names.len() <= 500);
                prop_assert!(names.iter().all(|n| !n.is_empty() && !is_list(n)));
            }
        }
    }
}

//! The lines of a text of which nothing is known: with any line ends, byte-order marks, and bytes that are not UTF-8.

use std::io::{self, BufRead, BufReader, Cursor, Read};

/// The longest line that is looked at in one piece, in bytes. What is longer is cut there, and its rest is a line of
/// its own: a file of one line without end takes no memory.
const MAX_LINE: u64 = 1 << 20;

/// The most bytes of UTF-16 text, which is converted as a whole.
const MAX_UTF16: u64 = 64 << 20;

/// Lines, one after the other.
pub(super) struct Lines<'r> {
    reader: Box<dyn BufRead + 'r>,
    bytes: Vec<u8>,
    text: String,
    number: u32,
}

/// A line without what ends it.
pub(super) struct Line<'l> {
    /// From 1.
    pub number: u32,
    /// Without spaces behind it.
    pub text: &'l str,
    /// Bytes of all of it.
    pub length: usize,
    /// Whether a line end follows: the last line of a file that was cut has none.
    pub ended: bool,
}

impl<'r> Lines<'r> {
    /// The lines of `input`, without its byte-order mark.
    pub fn new(input: impl Read + 'r) -> io::Result<Self> {
        let mut reader: Box<dyn BufRead + 'r> = Box::new(BufReader::with_capacity(1 << 16, input));
        let start = reader.fill_buf()?;
        if start.starts_with(&[0xEF, 0xBB, 0xBF]) {
            reader.consume(3);
        } else if start.starts_with(&[0xFF, 0xFE]) || start.starts_with(&[0xFE, 0xFF]) {
            let unit: fn([u8; 2]) -> u16 = if start[0] == 0xFF { u16::from_le_bytes } else { u16::from_be_bytes };
            let mut bytes = Vec::new();
            reader.take(MAX_UTF16 + 1).read_to_end(&mut bytes)?;
            if bytes.len() as u64 > MAX_UTF16 {
                let why = format!("it is UTF-16 text of more than {} MiB; UTF-8 is expected", MAX_UTF16 >> 20);
                return Err(io::Error::new(io::ErrorKind::InvalidData, why));
            }
            let units = bytes[2..].chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
            let text: String = char::decode_utf16(units).map(|c| c.unwrap_or(char::REPLACEMENT_CHARACTER)).collect();
            reader = Box::new(Cursor::new(text.into_bytes()));
        }
        Ok(Lines { reader, bytes: Vec::new(), text: String::new(), number: 0 })
    }

    /// The next line, if there is one.
    pub fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.bytes.clear();
        if (&mut self.reader).take(MAX_LINE).read_until(b'\n', &mut self.bytes)? == 0 {
            return Ok(None);
        }
        self.number = self.number.saturating_add(1);
        let ended = self.bytes.ends_with(b"\n");
        let text = match std::str::from_utf8(&self.bytes) {
            Ok(text) => text,
            Err(_) => {
                self.text = String::from_utf8_lossy(&self.bytes).into_owned();
                &self.text
            }
        };
        Ok(Some(Line { number: self.number, text: text.trim_end(), length: self.bytes.len(), ended }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> Vec<(String, bool)> {
        let mut lines = Lines::new(Cursor::new(bytes.to_vec())).unwrap();
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            assert_eq!(line.number as usize, found.len() + 1);
            found.push((line.text.to_owned(), line.ended));
        }
        found
    }

    #[test]
    fn marks_and_line_ends_are_no_part_of_lines() {
        let expected = [("a é".to_owned(), true), (String::new(), true), ("b".to_owned(), false)];
        assert_eq!(all("a é\n\nb".as_bytes()), expected);
        assert_eq!(all("\u{feff}a é \r\n\r\nb".as_bytes()), expected);
        for big in [false, true] {
            let unit = |u: u16| if big { u.to_be_bytes() } else { u.to_le_bytes() };
            let bytes: Vec<u8> = "\u{feff}a é\r\n\r\nb".encode_utf16().flat_map(unit).collect();
            assert_eq!(all(&bytes), expected);
        }
    }

    #[test]
    fn any_bytes_have_lines() {
        assert_eq!(all(b"a\xffb\n"), [("a\u{fffd}b".to_owned(), true)]);
        assert_eq!(all(&vec![b'x'; (MAX_LINE + 1) as usize]).len(), 2);
        assert!(all(b"").is_empty());
    }
}

//! CSV.

/// A name as CSV has it (RFC 4180).
pub fn quoted(name: &str) -> String {
    if name.contains([',', '"', '\n', '\r']) { format!("\"{}\"", name.replace('"', "\"\"")) } else { name.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_with_commas_are_quoted() {
        assert_eq!((quoted("h0").as_str(), quoted("(0,1)").as_str()), ("h0", "\"(0,1)\""));
        assert_eq!(quoted("a\"b"), "\"a\"\"b\"");
    }
}

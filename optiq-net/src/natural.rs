//! The order of names as people read them.

use std::cmp::Ordering;

/// Compares names so that `node9` comes before `node10`; names that differ are never equal.
pub fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut a_rest, mut b_rest) = (a, b);
    loop {
        let digits = |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let (n, m) = (digits(a_rest), digits(b_rest));
        if n > 0 && m > 0 {
            let number = |text: &str, n: usize| text[..n].trim_start_matches('0').to_owned();
            let (x, y) = (number(a_rest, n), number(b_rest, m));
            let order = x.len().cmp(&y.len()).then(x.cmp(&y));
            if order != Ordering::Equal {
                return order;
            }
            (a_rest, b_rest) = (&a_rest[n..], &b_rest[m..]);
            continue;
        }
        let (mut x, mut y) = (a_rest.chars(), b_rest.chars());
        match (x.next(), y.next()) {
            (None, None) => return a.cmp(b),
            (None, _) => return Ordering::Less,
            (_, None) => return Ordering::Greater,
            (Some(c), Some(d)) if c != d => return c.cmp(&d),
            _ => (a_rest, b_rest) = (x.as_str(), y.as_str()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_count_as_numbers() {
        let mut names = ["n10", "n9", "n", "a2b10", "a2b9", "n09", "m11"];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(names, ["a2b9", "a2b10", "m11", "n", "n09", "n9", "n10"]);
    }
}

//! How many tests passed, failed and were skipped, summed over what the test programs print.
//!
//! Two forms of line are understood: libtest's own summary, which every test program under `cargo test` ends with,
//!
//! ```text
//! test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.03s
//! ```
//!
//! and the closing line of this project, `12 passed, 0 failed, 1 skipped`. A program that prints the first and the
//! second would be counted twice; none does.

use std::fmt;

/// Counts of tests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

impl Tally {
    /// Adds the counts of a line of output, if it is one of the two forms.
    pub fn see(&mut self, line: &str) {
        let line = line.trim();
        let counts = match line.strip_prefix("test result: ") {
            Some(summary) => libtest(summary),
            None => closing(line),
        };
        if let Some(counts) = counts {
            self.passed += counts.passed;
            self.failed += counts.failed;
            self.skipped += counts.skipped;
        }
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// `ok. 12 passed; 0 failed; 1 ignored; ...`
fn libtest(summary: &str) -> Option<Tally> {
    let counts = summary.strip_prefix("ok. ").or_else(|| summary.strip_prefix("FAILED. "))?;
    let mut parts = counts.split("; ");
    Some(Tally {
        passed: count(parts.next()?, "passed")?,
        failed: count(parts.next()?, "failed")?,
        skipped: count(parts.next()?, "ignored")?,
    })
}

/// `12 passed, 0 failed, 1 skipped`
fn closing(line: &str) -> Option<Tally> {
    let mut parts = line.split(", ");
    let tally = Tally {
        passed: count(parts.next()?, "passed")?,
        failed: count(parts.next()?, "failed")?,
        skipped: count(parts.next()?, "skipped")?,
    };
    parts.next().is_none().then_some(tally)
}

fn count(text: &str, word: &str) -> Option<u64> {
    text.strip_suffix(word)?.strip_suffix(' ')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str) -> Tally {
        let mut tally = Tally::default();
        text.lines().for_each(|line| tally.see(line));
        tally
    }

    #[test]
    fn sums_the_summaries_of_several_programs() {
        let text = "\
running 2 tests
test a ... ok
test b ... FAILED
test result: FAILED. 1 passed; 1 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s
running 12 tests
test result: ok. 11 passed; 0 failed; 1 ignored; 0 measured; 3 filtered out; finished in 12.34s
7 passed, 0 failed, 2 skipped
";
        assert_eq!(of(text), Tally { passed: 19, failed: 1, skipped: 3 });
    }

    #[test]
    fn a_summary_of_nothing_counts_nothing() {
        let text = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!(of(text), Tally::default());
    }

    #[test]
    fn lines_that_only_look_like_summaries_are_left_alone() {
        for line in [
            "test result: ok",
            "test result: maybe. 1 passed; 0 failed; 0 ignored",
            "1 passed",
            "1 passed, 2 failed",
            "1 passed, 2 failed, 3 skipped, 4 lost",
            "-1 passed, 0 failed, 0 skipped",
            "all 3 passed, 0 failed, 0 skipped",
            "99999999999999999999 passed, 0 failed, 0 skipped",
        ] {
            assert_eq!(of(line), Tally::default(), "{line}");
        }
    }

    #[test]
    fn what_is_printed_is_understood_again() {
        let tally = Tally { passed: 3, failed: 2, skipped: 1 };
        assert_eq!(tally.to_string(), "3 passed, 2 failed, 1 skipped");
        assert_eq!(of(&tally.to_string()), tally);
    }
}

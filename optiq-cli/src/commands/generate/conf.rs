//! `optiq.conf`: the sample and the manual page, from the table of options.

use super::roff::Page;
use optiq::{OPTIONS, OptionRecord};
use std::fmt::Write;

/// Says where the file is, so that it cannot be in the file.
const NOT_IN_FILE: &str = "OPTIQ_CONF";
/// Where the file is looked for, besides what `OPTIQ_CONF` names.
const PLACES: [&str; 2] = ["$HOME/.config/optiq/optiq.conf", "/etc/optiq.conf"];

/// The name of an option in the file.
fn key(option: &OptionRecord) -> String {
    option.name.strip_prefix("OPTIQ_").unwrap_or(option.name).to_lowercase()
}

fn options() -> impl Iterator<Item = &'static OptionRecord> {
    OPTIONS.iter().filter(|o| o.name != NOT_IN_FILE)
}

/// The sample: every option with its default, commented out.
pub fn sample() -> String {
    let mut text = format!(
        "# optiq.conf: options of OPTIQ {}, see optiq.conf(5). KEY = VALUE; environment variables take precedence.\n\
         # The first of these files is read: the one that OPTIQ_CONF names, {}.\n",
        env!("CARGO_PKG_VERSION"),
        PLACES.join(", ")
    );
    for option in options() {
        let _ = write!(text, "\n{}", comment(option.doc));
        let _ = writeln!(text, "# Takes: {}", option.takes);
        let _ = writeln!(text, "{}", format!("#{} = {}", key(option), option.default).trim_end());
    }
    text
}

/// The text in lines of a comment, none wider than about 100 characters.
fn comment(text: &str) -> String {
    let (mut lines, mut line) = (String::new(), String::from("#"));
    for word in text.split_whitespace() {
        if line.len() + word.len() > 100 {
            let _ = writeln!(lines, "{line}");
            line = String::from("#");
        }
        let _ = write!(line, " {word}");
    }
    lines + &line + "\n"
}

/// optiq.conf(5).
pub fn page() -> String {
    let mut page = Page::new("optiq.conf", 5);
    page.section("NAME");
    page.text("optiq.conf - options of OPTIQ");
    page.section("SYNOPSIS");
    page.code(&["$OPTIQ_CONF"].iter().chain(&PLACES).copied().collect::<Vec<_>>().join("\n"));
    page.section("DESCRIPTION");
    page.paragraph(
        "A line of the file is `KEY = VALUE`; lines that are empty or start with `#` are passed over. A key is the name of \
         the environment variable without `OPTIQ_`, in lower case: `OPTIQ_MIN_BYTES` is `min_bytes`. The first of the \
         files above that there is is read; `OPTIQ_CONF` names one by its path.",
    );
    page.paragraph(
        "What a program sets takes precedence over the environment, the environment over the file, the file over the \
         default. An empty value counts as not set. `optiq info` shows the values in force.",
    );
    page.paragraph(
        "Sizes are bytes, or take a unit: `64K`, `128KiB`, `1MiB`, `8 MB`. Switches are 0 or 1. An option that cannot be \
         used is reported with what was found and what is expected; with `strict = 1` that is an error, and otherwise plain \
         MPI serves all calls.",
    );
    page.section("OPTIONS");
    for option in options() {
        let default = match option.default {
            "" => "no default".to_string(),
            default => format!("default: `{default}`"),
        };
        page.item(
            &format!("`{}` = {} ({default})", key(option), option.takes),
            &format!("{} In the environment: `{}`.", option.doc, option.name),
        );
    }
    page.section("FILES");
    for place in PLACES {
        page.item(&format!("`{place}`"), "Read if there is no file before it.");
    }
    page.section("EXAMPLES");
    page.code("# A 4x4x4 torus with links of 12.5 GB/s\ntopology = torus:4x4x4,capacity=12.5GB/s\nmin_bytes = 128KiB\nlog = info");
    page.section("SEE ALSO");
    page.text("`optiq`(1), `optiq_alltoallv`(3)");
    page.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_on_the_page_and_in_the_sample() {
        let (page, sample) = (page(), sample());
        assert!(options().count() > 10);
        for option in options() {
            assert!(page.contains(&format!(".TP\n\\fB{}\\fR = ", key(option))), "{} is not on the page", option.name);
            assert!(page.contains(&format!("\\fB{}\\fR.", option.name)), "{} is not on the page", option.name);
            let line = format!("\n#{} = {}", key(option), option.default);
            assert!(sample.contains(line.trim_end()), "{} is not in the sample", option.name);
        }
    }

    #[test]
    fn nothing_in_the_sample_is_in_force() {
        assert!(sample().lines().all(|l| l.is_empty() || l.starts_with('#')));
    }
}

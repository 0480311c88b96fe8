//! `optiq.conf`: the sample and the manual page, from the table of options.

use super::roff::Page;
use optiq::{OPTIONS, OptionRecord, Scope};
use std::fmt::Write;

/// The file for all users, and each one's own, which is read after it.
const FILES: [&str; 2] = ["/etc/optiq.conf", "~/.config/optiq/optiq.conf"];

/// Options that can stand in a file.
fn options() -> impl Iterator<Item = &'static OptionRecord> {
    OPTIONS.iter().filter(|o| o.scope != Scope::Environment)
}

/// The sample: every option with its default, commented out.
pub fn sample() -> String {
    let mut text = format!(
        "# optiq.conf: options of OPTIQ {}, see optiq.conf(5). KEY = VALUE; environment variables take precedence.\n\
         # Read from {}, or from the file that OPTIQ_CONF names instead.\n",
        env!("CARGO_PKG_VERSION"),
        FILES.join(" and ")
    );
    for option in options() {
        let _ = write!(text, "\n{}", comment(option.doc));
        let _ = writeln!(text, "# Takes: {}", option.takes);
        let _ = writeln!(text, "{}", format!("#{} = {}", option.key(), option.default).trim_end());
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
    page.code(&FILES.join("\n"));
    page.section("DESCRIPTION");
    page.paragraph(
        "A line of the file is `KEY = VALUE`; lines that are empty or start with `#` are passed over, and so is what follows \
         a blank and `#`. A value that holds one stands in double quotes. A key is the name of the environment variable \
         without `OPTIQ_`, in lower case: `OPTIQ_MIN_BYTES` is `min_bytes`.",
    );
    page.paragraph(
        "What a communicator has as info keys (`optiq_min_bytes`) takes precedence over what the program sets with \
         optiq_set_option(), that over the environment, the environment over the file, the file over the default. An empty \
         value counts as not set, and takes back what a file before said. `optiq info -c` shows the values in force and where \
         they come from.",
    );
    page.paragraph(
        "Sizes are bytes, or take a unit: `64K`, `128KiB`, `1MiB`, `8 MB`. Switches are 0 or 1. An unknown option \
         is warned about. One that cannot be used is reported with what was found and what is expected; with `strict = 1` \
         that is an error, and otherwise plain MPI serves all calls.",
    );
    page.section("OPTIONS");
    for option in options() {
        let default = match option.default {
            "" => "no default".to_string(),
            default => format!("default: `{default}`"),
        };
        page.item(
            &format!("`{}` = {} ({default})", option.key(), option.takes),
            &format!("{} In the environment: `{}`.", option.doc, option.name),
        );
    }
    page.section("ENVIRONMENT");
    for option in OPTIONS.iter().filter(|o| o.scope == Scope::Environment) {
        page.item(&format!("`{}` = {}", option.name, option.takes), option.doc);
    }
    page.section("FILES");
    page.item(&format!("`{}`", FILES[0]), "Options for all users of a machine.");
    page.item(
        &format!("`{}`", FILES[1]),
        "A user's own, which count more. The directory is `$XDG_CONFIG_HOME/optiq` where that is set.",
    );
    page.section("EXAMPLES");
    page.code("# A 4x4x4 torus with links of 12.5 GB/s\ntopology = torus:4x4x4,capacity=12.5GB/s\nmin_bytes = 128KiB\nlog = info");
    page.section("SEE ALSO");
    page.text("`optiq`(1), `optiq_alltoallv`(3), `optiq-topology`(7)");
    page.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use optiq::{Config, Settings};
    use std::path::Path;

    #[test]
    fn every_option_is_on_the_page_and_in_the_sample() {
        let (page, sample) = (page(), sample());
        assert!(options().count() > 10);
        for option in options() {
            assert!(page.contains(&format!(".TP\n\\fB{}\\fR = ", option.key())), "{} is not on the page", option.name);
            assert!(page.contains(&format!("\\fB{}\\fR.", option.name)), "{} is not on the page", option.name);
            let line = format!("\n#{} = {}", option.key(), option.default);
            assert!(sample.contains(line.trim_end()), "{} is not in the sample", option.name);
        }
    }

    #[test]
    fn nothing_in_the_sample_is_in_force_and_everything_could_be() {
        let sample = sample();
        assert!(sample.lines().all(|l| l.is_empty() || l.starts_with('#')));
        let uncommented: String = sample
            .lines()
            .filter(|l| !l.starts_with("# "))
            .map(|l| format!("{}\n", l.strip_prefix('#').unwrap_or(l)))
            .collect();
        assert!(uncommented.contains("\nmin_gain = 1.02\n"), "{uncommented}");
        let mut settings = Settings::default();
        settings.add_text(&uncommented, Path::new("optiq.conf"));
        let read = settings.resolve();
        assert_eq!((read.error, read.warnings.len()), (None, 0));
        assert_eq!(read.config, Config::default());
    }
}

//! The manual pages: one for every command, from its arguments, and those of the library.

use super::file::GeneratedFile;
use super::{conf, functions, roff, topology};
use crate::failure::Failure;
use clap::Command;
use clap_mangen::Man;
use std::io;

/// All pages, each in the folder of its section.
pub fn all(command: &Command) -> Result<Vec<GeneratedFile>, Failure> {
    let mut command = command.clone().disable_help_subcommand(true);
    command.build();
    let mut made = Vec::new();
    commands(&command, None, &mut made).map_err(|e| Failure::Work(format!("a manual page cannot be made: {e}")))?;
    let (text, others) = functions::page();
    made.push(GeneratedFile::new(format!("man3/{}.3", functions::MAIN), text));
    for name in others {
        made.push(GeneratedFile::new(format!("man3/{name}.3"), format!(".so man3/{}.3\n", functions::MAIN)));
    }
    made.push(GeneratedFile::new("man5/optiq.conf.5", conf::page()));
    made.push(GeneratedFile::new("man7/optiq-topology.7", topology::page()));
    Ok(made)
}

/// The page of a command, and those of its subcommands.
fn commands(command: &Command, parent: Option<&str>, made: &mut Vec<GeneratedFile>) -> io::Result<()> {
    let name = command.get_display_name().unwrap_or(command.get_name()).to_string();
    made.push(GeneratedFile::new(format!("man1/{name}.1"), page(command, &name, parent)?));
    for subcommand in command.get_subcommands().filter(|s| !s.is_hide_set()) {
        commands(subcommand, Some(&name), made)?;
    }
    Ok(())
}

fn page(command: &Command, name: &str, parent: Option<&str>) -> io::Result<Vec<u8>> {
    // clap's own escapes are made for lines of the terminal's width; the page has its own.
    let man = Man::new(command.clone());
    let mut text = roff::Page::new(name, 1).finish().into_bytes();
    // Names in quotation marks and apostrophes as they are typed.
    text.extend(b".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n");
    man.render_name_section(&mut text)?;
    man.render_synopsis_section(&mut text)?;
    man.render_description_section(&mut text)?;
    if command.get_arguments().any(|a| !a.is_hide_set()) {
        man.render_options_section(&mut text)?;
    }
    if command.get_subcommands().any(|s| !s.is_hide_set()) {
        man.render_subcommands_section(&mut text)?;
    }
    let mut rest = roff::Page::default();
    if let Some(help) = command.get_after_help() {
        examples(&mut rest, &help.to_string());
    }
    rest.section("EXIT STATUS");
    rest.text(
        "0 for success, 2 for bad input or arguments, 1 for other failures, each of the latter two with one sentence.",
    );
    if parent.is_none() {
        rest.section("ENVIRONMENT");
        rest.text("`OPTIQ_LOG` sets what is logged to standard error. All options are in `optiq.conf`(5).");
    }
    rest.section("SEE ALSO");
    let parents = parent.map(|p| format!("`{p}`(1), ")).unwrap_or_default();
    rest.text(&format!("{parents}`optiq_alltoallv`(3), `optiq.conf`(5), `optiq-topology`(7)"));
    text.extend(rest.finish().into_bytes());
    Ok(text)
}

/// What the help says after the options: lines that are indented are to be typed.
fn examples(page: &mut roff::Page, help: &str) {
    page.section("EXAMPLES");
    let mut code: Vec<&str> = Vec::new();
    for line in help.lines().filter(|l| l.trim() != "Examples:").chain([""]) {
        match line.strip_prefix("  ") {
            Some(typed) => code.push(typed),
            None => {
                if !code.is_empty() {
                    page.code(&std::mem::take(&mut code).join("\n"));
                }
                if !line.trim().is_empty() {
                    page.paragraph(line);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use clap::CommandFactory;

    fn check(command: &Command, made: &[GeneratedFile]) {
        let name = command.get_display_name().unwrap_or(command.get_name());
        let path = format!("man1/{name}.1");
        let page = made.iter().find(|m| m.path.as_os_str() == path.as_str()).unwrap_or_else(|| panic!("no {path}"));
        let page = String::from_utf8(page.text.clone()).unwrap();
        for argument in command.get_arguments().filter(|a| !a.is_hide_set()) {
            if let Some(long) = argument.get_long() {
                let option = format!("\\-\\-{}", long.replace('-', "\\-"));
                assert!(page.contains(&option), "--{long} is not in {path}");
            }
        }
        for subcommand in command.get_subcommands() {
            assert!(page.contains(&subcommand.get_name().replace('-', "\\-")), "{} in {path}", subcommand.get_name());
            check(subcommand, made);
        }
    }

    #[test]
    fn every_command_has_a_page_with_every_option() {
        let mut command = crate::Cli::command().disable_help_subcommand(true);
        let made = all(&command).unwrap();
        command.build();
        assert!(command.get_subcommands().count() >= 8);
        check(&command, &made);
    }
}

//! `optiq info --config`: every option, its value, and where that comes from.

use crate::failure::Failure;
use crate::output::{self, Schema};
use optiq::{Scope, Setting, Settings};
use serde::Serialize;
use std::process::ExitCode;

#[derive(Serialize)]
struct OptionsDocument {
    options: Vec<OptionRow>,
    /// What is wrong with the first value or file that cannot be used.
    error: Option<String>,
    warnings: Vec<String>,
}

#[derive(Serialize)]
struct OptionRow {
    name: &'static str,
    key: String,
    value: String,
    origin: String,
    default: &'static str,
    takes: &'static str,
    scope: &'static str,
    description: &'static str,
}

pub fn run(full: bool, json: bool) -> Result<ExitCode, Failure> {
    let settings = Settings::read();
    let read = settings.resolve();
    let (error, all) = (read.error.map(|e| e.to_string()), settings.all());
    if json {
        let options = all.iter().map(option).collect();
        output::print_json(Schema::InfoOptions, &OptionsDocument { options, error, warnings: read.warnings })?;
        return Ok(ExitCode::SUCCESS);
    }
    read.warnings.iter().for_each(|warning| eprintln!("optiq: {warning}"));
    let text: String = all.iter().map(|setting| lines(setting, full)).collect();
    output::print(&text)?;
    // After the listing, which shows where the value comes from.
    error.map_or(Ok(ExitCode::SUCCESS), |error| Err(Failure::Input(error)))
}

fn option(setting: &Setting) -> OptionRow {
    let record = setting.record;
    OptionRow {
        name: record.name,
        key: record.key(),
        value: setting.value.clone(),
        origin: setting.origin.to_string(),
        default: record.default,
        takes: record.takes,
        scope: match record.scope {
            Scope::Environment => "environment",
            Scope::Process => "process",
            Scope::Communicator => "communicator",
        },
        description: record.doc,
    }
}

/// An option as `optiq.conf` has it. Nothing is set by a line that is a comment: options without a value, and the one that
/// says which file is read.
fn lines(setting: &Setting, full: bool) -> String {
    let record = setting.record;
    let mut text = String::new();
    if full {
        let description = record.doc;
        text += &format!("# {description}\n# takes: {}\n", record.takes);
    }
    let silent = setting.value.is_empty() || record.scope == Scope::Environment;
    let value = if setting.value.contains('#') { format!("\"{}\"", setting.value) } else { setting.value.clone() };
    let line = format!("{}{} = {value}", if silent { "# " } else { "" }, record.key());
    text += &format!("{:<40} # {}\n", line.trim_end(), setting.origin);
    if full {
        text.push('\n');
    }
    text
}

//! `optiq generate`: manual pages, shell completions, a sample of `optiq.conf` and the schemas of JSON documents, made from what
//! the command itself is made of, so that they cannot say anything else: its arguments, the table of options, the C header.

mod conf;
mod file;
mod functions;
mod header;
mod pages;
mod roff;
mod topology;

use crate::failure::Failure;
use crate::output::{self, Schema};
use crate::schema;
use crate::target::Target;
use clap::{Args, ValueEnum};
use clap_complete::{Generator, Shell};
use file::GeneratedFile;
use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Write manual pages, shell completions, a sample of optiq.conf or the JSON Schemas of what --json prints, as `cargo xtask
/// install` does
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  optiq generate man --output man
  optiq generate completions --output completions --json
  optiq generate conf --output .
  optiq generate schemas --output schemas

To read a page without installing it: man -l man/man1/optiq.1")]
pub struct Arguments {
    /// What to write
    #[arg(value_name = "WHAT")]
    what: What,
    /// Where to; the directory is made if it does not exist, and existing files are replaced
    #[arg(long, value_name = "DIR")]
    output: PathBuf,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// man1/ has a page for every command, man3/ one for every C function, man5/ that of optiq.conf, man7/ that of topologies
    Man,
    /// optiq.bash, _optiq (zsh) and optiq.fish
    Completions,
    /// optiq.conf with every option and its default, commented out
    Conf,
    /// A JSON Schema for every document that --json prints; the key `schema` of a document says which, as optiq-plan/1
    Schemas,
}

#[derive(Serialize)]
struct GeneratedDocument {
    output: PathBuf,
    files: Vec<PathBuf>,
}

impl Arguments {
    /// Makes everything first, from the whole command line `whole`, then writes it.
    pub fn run(self, whole: &clap::Command) -> Result<ExitCode, Failure> {
        let made = match self.what {
            What::Man => pages::all(whole)?,
            What::Completions => completions(whole),
            What::Schemas => schema::FILES.iter().map(|(name, text)| GeneratedFile::new(*name, *text)).collect(),
            What::Conf => vec![GeneratedFile::new("optiq.conf", conf::sample())],
        };
        for file in &made {
            write(&self.output.join(&file.path), &file.text)?;
        }
        let document = GeneratedDocument { output: self.output, files: made.into_iter().map(|m| m.path).collect() };
        if self.json {
            output::print_json(Schema::Generate, &document)?;
        } else {
            let lines: Vec<String> =
                document.files.iter().map(|f| format!("{}\n", document.output.join(f).display())).collect();
            output::print(&lines.concat())?;
        }
        Ok(ExitCode::SUCCESS)
    }
}

fn write(path: &Path, text: &[u8]) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(|e| Failure::Input(format!("cannot make {}: {e}", folder.display())))?;
    Target::new(path)?.write(|out| out.write_all(text))
}

fn completions(whole: &clap::Command) -> Vec<GeneratedFile> {
    let of = |shell: Shell| {
        let mut text = Vec::new();
        clap_complete::generate(shell, &mut whole.clone(), "optiq", &mut text);
        GeneratedFile::new(shell.file_name("optiq"), text)
    };
    [Shell::Bash, Shell::Zsh, Shell::Fish].map(of).into()
}

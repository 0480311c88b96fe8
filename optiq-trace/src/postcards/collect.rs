//! One collection of several files: of simulations, and of the ranks of real runs.

use super::call_stack::CallStack;
use super::file;
use super::rank_file::{self, RankPostcards};
use super::record::{Collection, Component, ComponentKind, ComponentLog, Context, Packet, Postcard};
use crate::error::TraceError;
use crate::folder::with_extension;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What was read of files, not joined yet.
#[derive(Debug, Default)]
pub struct Gathered {
    collections: Vec<Collection>,
    ranks: Vec<RankPostcards>,
    /// What is missing, a sentence each.
    pub notes: Vec<String>,
}

/// No more missing ranks are named.
const MOST_NAMED: usize = 8;

impl Gathered {
    /// Reads files and, of folders, the files with postcards in them. A file of a folder that cannot be read is left out and noted, as one
    /// rank's bad luck must not hide what the others wrote.
    ///
    /// # Errors
    /// [`TraceError`] for a file that is named and cannot be read, a folder without files that can, and two files of one rank.
    pub fn read(paths: &[PathBuf]) -> Result<Self, TraceError> {
        let mut gathered = Self::default();
        for path in paths {
            if path.is_dir() {
                gathered.add_folder(path)?;
            } else {
                gathered.add(path)?;
            }
        }
        gathered.checked()
    }

    /// The same, of what was read already.
    ///
    /// # Errors
    /// [`TraceError::Set`] for two files of one rank.
    pub fn of_ranks(ranks: Vec<RankPostcards>) -> Result<Self, TraceError> {
        Self { ranks, ..Self::default() }.checked()
    }

    fn checked(self) -> Result<Self, TraceError> {
        let mut gathered = self;
        gathered.ranks.sort_by_key(|file| (file.head.session, file.head.rank));
        for pair in gathered.ranks.windows(2) {
            let [(a, first), (b, second)] = [(&pair[0].head, &pair[0].path), (&pair[1].head, &pair[1].path)];
            let (first, second) = (first.display(), second.display());
            if a.session == b.session && a.rank == b.rank {
                return Err(TraceError::Set(format!("{first} and {second} are both of rank {}", a.rank)));
            }
            if a.session == b.session && a.ranks != b.ranks {
                let what = format!("{first} and {second} are of one session, but of {} and {} ranks", a.ranks, b.ranks);
                return Err(TraceError::Set(what));
            }
        }
        gathered.note_what_is_missing();
        Ok(gathered)
    }

    fn add(&mut self, path: &Path) -> Result<(), TraceError> {
        let bytes = file::bytes(path)?;
        if rank_file::is_rank_file(&bytes) {
            self.ranks.push(rank_file::decode_rank(path, &bytes)?);
        } else {
            let decoded = file::decode(&bytes);
            self.collections.push(decoded.map_err(|what| TraceError::Format { path: path.into(), what })?);
        }
        Ok(())
    }

    fn add_folder(&mut self, folder: &Path) -> Result<(), TraceError> {
        let files = with_extension(folder, file::EXTENSION)?;
        let mut failed = None;
        let mut read = 0;
        for path in files {
            match self.add(&path) {
                Ok(()) => read += 1,
                Err(error) => {
                    self.notes.push(error.to_string());
                    failed.get_or_insert(error);
                }
            }
        }
        failed.filter(|_| read == 0).map_or(Ok(()), Err)
    }

    fn note_what_is_missing(&mut self) {
        for files in self.ranks.chunk_by(|a, b| a.head.session == b.head.session) {
            let there: BTreeSet<u32> = files.iter().map(|file| file.head.rank).collect();
            let ranks = files[0].head.ranks;
            let missing = (0..ranks).filter(|rank| !there.contains(rank)).take(MOST_NAMED);
            let mut names: Vec<String> = missing.map(|rank| rank.to_string()).collect();
            let count = ranks as usize - there.len();
            if count > MOST_NAMED {
                names.push("...".into());
            }
            if count > 0 {
                self.notes.push(format!("no file of {count} of {ranks} ranks: {}", names.join(", ")));
            }
            for file in files.iter().filter(|file| !file.is_complete) {
                let (path, rank) = (file.path.display(), file.head.rank);
                self.notes
                    .push(format!("{path} has no end: rank {rank} has died or is running; what it wrote is joined"));
            }
        }
    }

    /// All call stacks in them.
    pub fn call_stacks(&self) -> impl Iterator<Item = &CallStack> {
        self.ranks.iter().flat_map(|file| &file.call_stacks)
    }

    /// One collection: the components of each file behind those of the one before, with `context` saying which line of which program a
    /// call stack is.
    pub fn collection(self, context: impl Fn(&CallStack) -> Context) -> Collection {
        let mut all = Collection::default();
        for collection in self.collections {
            let (contexts, components) = (all.contexts.len() as u32, all.components.len() as u32);
            all.contexts.extend(collection.contexts);
            for mut log in collection.components {
                match &mut log.kind {
                    ComponentKind::Processor { adapter: other } | ComponentKind::Rank { tap: Some(other) } => {
                        other.0 += components;
                    }
                    ComponentKind::Adapter
                    | ComponentKind::Switch
                    | ComponentKind::Rank { tap: None }
                    | ComponentKind::Tap => {}
                }
                log.postcards.iter_mut().for_each(|p| p.renumber(&|c| Component(c.0 + components), contexts));
                all.components.push(log);
            }
        }
        let several = self.ranks.windows(2).any(|pair| pair[0].head.session != pair[1].head.session);
        let sessions = self.ranks.chunk_by(|a, b| a.head.session == b.head.session);
        for (session, number) in sessions.zip(1..) {
            let suffix = if several { format!(" of session {number}") } else { String::new() };
            add_session(&mut all, session, &suffix, &context);
        }
        all
    }
}

/// Adds the ranks of one session that have a file or are named in one.
fn add_session(all: &mut Collection, files: &[RankPostcards], suffix: &str, context: &impl Fn(&CallStack) -> Context) {
    let named = files.iter().flat_map(|f| &f.postcards).flat_map(Postcard::components).flatten().map(|c| c.0);
    let ranks: BTreeSet<u32> = named.chain(files.iter().map(|f| f.head.rank)).collect();
    let first = all.components.len() as u32;
    // In a lab, the name of a rank's processor is that of its host.
    let taps = all.components.iter().zip((0..).map(Component)).filter(|(log, _)| log.kind == ComponentKind::Tap);
    let tap: BTreeMap<String, Component> = taps.map(|(log, component)| (log.name.clone(), component)).collect();
    let component: BTreeMap<u32, Component> = ranks.iter().copied().zip((first..).map(Component)).collect();
    for rank in &ranks {
        let file = files.iter().find(|file| file.head.rank == *rank);
        let host = file.map_or_else(String::new, |file| format!(" ({})", file.head.host));
        let contexts = all.contexts.len() as u32;
        all.contexts.extend(file.iter().flat_map(|file| &file.call_stacks).map(context));
        let mut postcards = file.map_or_else(Vec::new, |file| file.postcards.clone());
        let renumbered = |c: Component| component.get(&c.0).copied().unwrap_or(c);
        postcards.iter_mut().for_each(|p| p.renumber(&renumbered, contexts));
        all.components.push(ComponentLog {
            name: format!("rank {rank}{suffix}{host}"),
            kind: ComponentKind::Rank { tap: file.and_then(|file| tap.get(&file.head.host).copied()) },
            overwritten: file.map_or(0, |file| file.overwritten),
            postcards,
        });
    }
}

impl Postcard {
    /// Gives its components other numbers, and moves its context.
    fn renumber(&mut self, of: &impl Fn(Component) -> Component, contexts: u32) {
        let header = |packet: &mut Packet| {
            packet.source = of(packet.source);
            packet.destination = of(packet.destination);
        };
        let renamed = |component: &mut Component| *component = of(*component);
        match self {
            Postcard::Issued { context, destination: other, .. }
            | Postcard::Received { context, source: other, .. } => {
                *context += contexts;
                renamed(other);
            }
            Postcard::Injected { packet, next: other, .. } | Postcard::Arrived { packet, previous: other, .. } => {
                header(packet);
                renamed(other);
            }
            Postcard::Forwarded { packet, previous, next, .. } => {
                header(packet);
                renamed(previous);
                renamed(next);
            }
        }
    }
}

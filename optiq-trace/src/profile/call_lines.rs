//! The lines of a program that called MPI, of all ranks of a job: ranks that run the same program have it at different addresses, and several calls
//! may stand in one line.

use super::rank_file::{CallAddress, RankProfile};
use crate::postcards::{CallSites, CallStack, Context, Frame};
use std::collections::BTreeMap;

/// The lines of a job's call sites, each one once.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CallLines {
    /// File, line and function; sorted.
    pub lines: Vec<Context>,
    /// Per file and call site of it: the line's number.
    numbers: Vec<Vec<u32>>,
    /// What is not known of modules, a sentence each.
    pub notes: Vec<String>,
}

impl CallLines {
    /// Of these files. Asks `addr2line` of the GNU binutils, unless there is no call site.
    pub fn of(files: &[RankProfile]) -> Self {
        let stack = |site: &CallAddress| CallStack {
            frames: vec![Frame { module: site.module.clone(), base: site.base, address: site.address }],
            recorded_by: String::new(),
        };
        let stacks: Vec<Vec<CallStack>> =
            files.iter().map(|file| file.call_sites.iter().map(stack).collect()).collect();
        if stacks.iter().all(Vec::is_empty) {
            return Self { numbers: vec![Vec::new(); files.len()], ..Self::default() };
        }
        let sites = CallSites::of(stacks.iter().flatten());
        let found: Vec<Vec<Context>> =
            stacks.iter().map(|stacks| stacks.iter().map(|stack| line(&sites, stack)).collect()).collect();
        let mut numbers: BTreeMap<Context, u32> = found.iter().flatten().map(|line| (line.clone(), 0)).collect();
        numbers.values_mut().zip(0..).for_each(|(number, i)| *number = i);
        let numbered = found.iter().map(|lines| lines.iter().map(|line| numbers[line]).collect()).collect();
        Self { lines: numbers.into_keys().collect(), numbers: numbered, notes: sites.notes }
    }

    /// The line's number of a call site of a file, both by their index.
    pub fn number(&self, file: usize, site: u32) -> Option<u32> {
        self.numbers.get(file)?.get(site as usize).copied()
    }
}

/// The line of one call; a place without debug information is named by its module.
fn line(sites: &CallSites, stack: &CallStack) -> Context {
    let mut line = sites.line(stack);
    if line.function.is_empty() && line.file.is_empty() {
        line.function = "(not known)".into();
    }
    line
}

/// As `solve.c:42 (solve)`, or the function alone.
pub fn words(line: &Context) -> String {
    let file = line.file.rsplit('/').next().unwrap_or_default();
    match (file, line.line) {
        ("", _) | (_, 0) => line.function.clone(),
        (file, number) if line.function.is_empty() => format!("{file}:{number}"),
        (file, number) => format!("{file}:{number} ({})", line.function),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn lines_have_words() {
        let line = |file: &str, line, function: &str| Context { file: file.into(), line, function: function.into() };
        assert_eq!(words(&line("/a/b.c", 7, "f")), "b.c:7 (f)");
        assert_eq!(words(&line("/a/b.c", 7, "")), "b.c:7");
        assert_eq!(words(&line("", 0, "a.out+0x20")), "a.out+0x20");
    }

    #[test]
    fn a_place_in_two_ranks_is_one_line() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let here = a_place_in_two_ranks_is_one_line as fn() as usize as u64;
        let frame = CallStack::new(&[here + 1], 0, &maps).frames.remove(0);
        let site = |moved: u64| CallAddress {
            module: frame.module.clone(),
            base: frame.base + moved,
            address: frame.address + moved,
        };
        let gone = CallAddress { module: "/gone/app".into(), base: 0, address: 0x20 };
        let file = |rank, call_sites| {
            let text = format!(
                r#"{{"schema":"optiq-profile-rank/2","job":"1","rank":{rank},"ranks":2,"host":"h","library":"","source":{{"name":"calls",
                "collectives":false}},"complete":true,"unmatched_ends":0,"merged_entries":0,"interfaces":[],"regions":[]}}"#
            );
            RankProfile { call_sites, ..RankProfile::parse(text.as_bytes()).unwrap() }
        };
        let lines = CallLines::of(&[file(0, vec![gone, site(0)]), file(1, vec![site(0x10000)])]);
        assert_eq!((lines.number(0, 1), lines.number(0, 2), lines.number(2, 0)), (lines.number(1, 0), None, None));
        assert_ne!(lines.number(0, 0), lines.number(0, 1));
        assert!(lines.lines.iter().any(|line| words(line) == "app+0x20"), "{lines:?}");
        assert!(lines.notes[0].contains("/gone/app"), "{lines:?}");
        assert_eq!(CallLines::of(&[file(0, Vec::new())]).lines, []);
    }
}

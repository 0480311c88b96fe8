//! Which shared libraries a program was linked with: the `DT_NEEDED` entries of an ELF file (System V ABI, chapter 5).
//!
//! Only 64-bit little-endian files are read, which is what Linux runs on the machines that labs are for; of anything else,
//! and of a file that is damaged, nothing is known.

use std::fs;
use std::path::Path;

const PT_LOAD: u64 = 1;
const PT_DYNAMIC: u64 = 2;
const DT_NULL: u64 = 0;
const DT_NEEDED: u64 = 1;
const DT_STRTAB: u64 = 5;

/// The names of the libraries that a program file needs; none for a script, or a program that is linked statically.
pub(crate) fn libraries(program: &Path) -> Vec<String> {
    fs::read(program).ok().and_then(|file| parse(&file)).unwrap_or_default()
}

/// A segment of the file: its kind, where it is in the file, where in memory, and how long.
struct Segment {
    kind: u64,
    offset: u64,
    address: u64,
    bytes: u64,
}

fn parse(file: &[u8]) -> Option<Vec<String>> {
    // ELFCLASS64, ELFDATA2LSB.
    if file.get(..6)? != [0x7f, b'E', b'L', b'F', 2, 1] {
        return None;
    }
    let (table, entry, count) = (number(file, 32, 8)?, number(file, 54, 2)?, number(file, 56, 2)?);
    let segments: Option<Vec<Segment>> = (0..count)
        .map(|i| {
            let at = table.checked_add(i * entry)?;
            let field = |offset: u64, bytes| number(file, at.checked_add(offset)?, bytes);
            Some(Segment { kind: field(0, 4)?, offset: field(8, 8)?, address: field(16, 8)?, bytes: field(32, 8)? })
        })
        .collect();
    let segments = segments?;
    let dynamic = segments.iter().find(|s| s.kind == PT_DYNAMIC)?;
    let (mut names, mut strings) = (Vec::new(), None);
    for i in 0..dynamic.bytes / 16 {
        let at = dynamic.offset.checked_add(i * 16)?;
        let (tag, value) = (number(file, at, 8)?, number(file, at.checked_add(8)?, 8)?);
        match tag {
            DT_NULL => break,
            DT_NEEDED => names.push(value),
            DT_STRTAB => strings = Some(value),
            _ => {}
        }
    }
    // The table of strings is given by its address in memory.
    let strings = strings?;
    let holds = |s: &&Segment| s.kind == PT_LOAD && strings.checked_sub(s.address).is_some_and(|d| d < s.bytes);
    let segment = segments.iter().find(holds)?;
    let base = segment.offset.checked_add(strings - segment.address)?;
    names.into_iter().map(|n| text(file, base.checked_add(n)?)).collect()
}

/// The unsigned number of so many bytes at an offset.
fn number(file: &[u8], at: u64, bytes: usize) -> Option<u64> {
    let at = usize::try_from(at).ok()?;
    let found = file.get(at..at.checked_add(bytes)?)?;
    Some(found.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)))
}

/// The text at an offset, up to a zero byte.
fn text(file: &[u8], at: u64) -> Option<String> {
    let rest = file.get(usize::try_from(at).ok()?..)?;
    let end = rest.iter().position(|&b| b == 0)?;
    String::from_utf8(rest[..end].to_vec()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_needs_the_c_library_and_no_mpi() {
        let names = libraries(&std::env::current_exe().unwrap());
        assert!(names.iter().any(|n| n.starts_with("libc.so.") || n.starts_with("libc.musl")), "{names:?}");
        assert!(!names.iter().any(|n| n.starts_with("libmpi")), "{names:?}");
    }

    #[test]
    fn what_is_no_program_or_damaged_needs_nothing_and_harms_nobody() {
        assert!(libraries(Path::new("/no/such/program")).is_empty());
        assert!(parse(b"#!/bin/sh\n").is_none());
        let program = fs::read(std::env::current_exe().unwrap()).unwrap();
        let head = &program[..program.len().min(1 << 12)];
        for end in 0..head.len() {
            let _ = parse(&head[..end]);
        }
        // Every byte of the header and of the table behind it, spoilt.
        let mut spoilt = program.clone();
        for at in 0..spoilt.len().min(1024) {
            for value in [0, 0x80, 0xff] {
                let before = std::mem::replace(&mut spoilt[at], value);
                let _ = parse(&spoilt);
                spoilt[at] = before;
            }
        }
    }
}

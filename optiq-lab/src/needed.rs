//! Which shared libraries a program was linked with: the `DT_NEEDED` entries of an ELF file (System V ABI, chapter 5).
//!
//! Only 64-bit little-endian files are read, which is what Linux runs on the machines that labs are for; of anything else,
//! and of a file that is damaged, nothing is known.

use object::LittleEndian;
use object::elf::{DT_NEEDED, DT_NULL, DT_STRTAB, FileHeader64, PT_LOAD};
use object::read::StringTable;
use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use optiq_files::input;
use std::path::Path;

/// Of larger programs nothing is known, in bytes.
const MAX_PROGRAM: u64 = 4 << 30;

/// The names of the libraries that a program file needs; none for a script, or a program that is linked statically.
pub(crate) fn libraries(program: &Path) -> Vec<String> {
    input::read(program, MAX_PROGRAM).ok().and_then(|file| parse(&file)).unwrap_or_default()
}

fn parse(file: &[u8]) -> Option<Vec<String>> {
    let header = FileHeader64::<LittleEndian>::parse(file).ok()?;
    let endian = header.endian().ok()?;
    let segments = header.program_headers(endian, file).ok()?;
    let dynamic = segments.iter().find_map(|segment| segment.dynamic(endian, file).transpose())?.ok()?;
    let entries = || dynamic.iter().take_while(|entry| entry.tag(endian) != DT_NULL);
    // The table of strings is given by its address in memory.
    let strings = entries().filter(|entry| entry.tag(endian) == DT_STRTAB).last()?.val(endian);
    let offset = segments.iter().filter(|segment| segment.p_type(endian) == PT_LOAD).find_map(|segment| {
        let within =
            strings.checked_sub(segment.p_vaddr(endian)).filter(|&within| within < segment.p_filesz(endian))?;
        segment.p_offset(endian).checked_add(within)
    })?;
    let strings = StringTable::new(file, offset, file.len() as u64);
    let name = |entry: &<FileHeader64<LittleEndian> as FileHeader>::Dyn| {
        let name = strings.get(entry.val32(endian)?).ok()?;
        String::from_utf8(name.to_vec()).ok()
    };
    entries().filter(|entry| entry.tag(endian) == DT_NEEDED).map(name).collect()
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
    fn what_is_no_program_or_damaged_needs_nothing_and_does_no_harm() {
        assert!(libraries(Path::new("/no/such/program")).is_empty());
        assert!(parse(b"#!/bin/sh\n").is_none());
        let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
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

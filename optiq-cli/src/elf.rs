//! Whether a library can be preloaded into a program.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// The type of the program header that names the dynamic loader.
const PT_INTERP: u32 = 3;

/// More program headers than any program has.
const MOST_HEADERS: u16 = 1024;

/// Where a command is: the path itself if it has a slash, or else the first file of that name in `PATH`.
pub fn find(command: &Path) -> Option<PathBuf> {
    if command.components().count() > 1 || command.is_absolute() {
        return command.is_file().then(|| command.to_owned());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|directory| directory.join(command)).find(|file| file.is_file())
}

/// Whether the file is an ELF program that no dynamic loader starts, into which nothing can be preloaded therefore. `None` if
/// it is no ELF program (a script, say) or cannot be read.
pub fn is_static(file: &Path) -> Option<bool> {
    let mut file = File::open(file).ok().filter(|file| file.metadata().is_ok_and(|m| m.is_file()))?;
    let mut start = [0; 64];
    file.read_exact(&mut start).ok()?;
    let wide = match (&start[..4], start[4]) {
        (b"\x7fELF", 1) => false,
        (b"\x7fELF", 2) => true,
        _ => return None,
    };
    let word = Words { little: start[5] == 1 };
    // ET_EXEC or ET_DYN.
    if ![2, 3].contains(&word.two(&start[16..])) {
        return None;
    }
    let (offset, size, count) = match wide {
        true => (word.eight(&start[32..]), word.two(&start[54..]), word.two(&start[56..])),
        false => (u64::from(word.four(&start[28..])), word.two(&start[42..]), word.two(&start[44..])),
    };
    if count == 0 || count > MOST_HEADERS || size < 32 {
        return None;
    }
    let mut headers = vec![0; usize::from(size) * usize::from(count)];
    file.seek(SeekFrom::Start(offset)).ok()?;
    file.read_exact(&mut headers).ok()?;
    Some(!headers.chunks_exact(size.into()).any(|header| word.four(header) == PT_INTERP))
}

/// Reads numbers in the file's order of bytes, from slices that are long enough.
struct Words {
    little: bool,
}

impl Words {
    fn number(&self, bytes: &[u8]) -> u64 {
        let add = |sum: u64, byte: &u8| sum << 8 | u64::from(*byte);
        if self.little { bytes.iter().rev().fold(0, add) } else { bytes.iter().fold(0, add) }
    }

    fn two(&self, bytes: &[u8]) -> u16 {
        self.number(&bytes[..2]) as u16
    }

    fn four(&self, bytes: &[u8]) -> u32 {
        self.number(&bytes[..4]) as u32
    }

    fn eight(&self, bytes: &[u8]) -> u64 {
        self.number(&bytes[..8])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A 64-bit program with these types of program headers.
    fn program(types: &[u32], little: bool) -> Vec<u8> {
        let bytes = |n: u64, length: usize| match little {
            true => n.to_le_bytes()[..length].to_vec(),
            false => n.to_be_bytes()[8 - length..].to_vec(),
        };
        let mut file = vec![0; 64];
        file[..4].copy_from_slice(b"\x7fELF");
        (file[4], file[5]) = (2, if little { 1 } else { 2 });
        file[16..18].copy_from_slice(&bytes(3, 2));
        file[32..40].copy_from_slice(&bytes(64, 8));
        file[54..56].copy_from_slice(&bytes(56, 2));
        file[56..58].copy_from_slice(&bytes(types.len() as u64, 2));
        for kind in types {
            file.extend(bytes((*kind).into(), 4));
            file.extend([0; 52]);
        }
        file
    }

    #[test]
    fn a_program_without_a_loader_is_static() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("program");
        let found = |contents: &[u8]| {
            std::fs::write(&file, contents).unwrap();
            is_static(&file)
        };
        for little in [true, false] {
            assert_eq!(found(&program(&[6, PT_INTERP, 1], little)), Some(false));
            assert_eq!(found(&program(&[1, 1, 4], little)), Some(true));
        }
        assert_eq!(found(b"#!/bin/sh\nexec true\n"), None);
        assert_eq!(found(&program(&[1], true)[..70]), None);
        assert_eq!(is_static(Path::new("/dev/zero")), None);
        let this = std::env::current_exe().unwrap();
        assert_eq!(is_static(&this), Some(false));
        assert!(find(Path::new("sh")).and_then(|sh| is_static(&sh)).is_some());
        assert_eq!(find(Path::new("no-such-command-of-anybody")), None);
    }
}

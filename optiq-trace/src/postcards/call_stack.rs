//! Where in a program a call was made, as return addresses: names, files and lines follow from debug information, which is read later.

use bincode::{Decode, Encode};

/// One function of a call stack: the module that it is in, and where.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Encode, Decode)]
pub struct Frame {
    /// The program's or library's file; empty if no module is there.
    pub module: String,
    /// Where the module's first byte was in memory.
    pub base: u64,
    /// The return address.
    pub address: u64,
}

/// A call stack, from the innermost function on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Encode, Decode)]
pub struct CallStack {
    /// Its functions.
    pub frames: Vec<Frame>,
    /// The module that recorded it.
    pub recorded_by: String,
}

/// No more functions of a call stack are kept.
pub const MOST_FRAMES: usize = 48;

impl CallStack {
    /// The stack of these return addresses in a process with these mappings, in the form of proc(5)'s `/proc/self/maps`; `recorder` is
    /// an address within the code that records.
    pub fn new(addresses: &[u64], recorder: u64, maps: &str) -> Self {
        let mappings: Vec<Mapping<'_>> = maps.lines().filter_map(mapping).collect();
        let module = |address: u64| mappings.iter().find(|m| (m.begin..m.end).contains(&address)).map(|m| m.path);
        let base = |path: &str| mappings.iter().filter(|m| m.path == path).map(|m| m.begin).min().unwrap_or(0);
        let frame = |&address: &u64| match module(address) {
            Some(path) => Frame { module: path.into(), base: base(path), address },
            None => Frame { module: String::new(), base: 0, address },
        };
        let frames = addresses.iter().take(MOST_FRAMES).map(frame).collect();
        Self { frames, recorded_by: module(recorder).unwrap_or_default().into() }
    }
}

/// A file's mapping.
struct Mapping<'a> {
    begin: u64,
    end: u64,
    path: &'a str,
}

/// `7f1c0000-7f1c1000 r-xp 00001000 08:01 42   /usr/lib/a.so`
fn mapping(line: &str) -> Option<Mapping<'_>> {
    let (begin, rest) = line.split_once('-')?;
    let end = rest.split(' ').next()?;
    let path = &line[line.find('/')?..];
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    Some(Mapping { begin: number(begin)?, end: number(end)?, path: path.trim_end_matches(" (deleted)") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_in_their_modules() {
        let maps = "\
55e0000-55e1000 r--p 00000000 08:01 17                        /home/me/a program
55e1000-55e3000 r-xp 00001000 08:01 17                        /home/me/a program
7000000-7001000 rw-p 00000000 00:00 0                         [heap]
7f00000-7f01000 r--p 00000000 08:01 9                         /lib/liboptiq.so (deleted)
7f01000-7f02000 r-xp 00001000 08:01 9                         /lib/liboptiq.so (deleted)
nonsense
";
        let stack = CallStack::new(&[0x7f0_1010, 0x55e_2003, 0x700_0100, 1], 0x7f0_1fff, maps);
        let found: Vec<_> = stack.frames.iter().map(|f| (f.module.as_str(), f.base)).collect();
        assert_eq!(found, [("/lib/liboptiq.so", 0x7f0_0000), ("/home/me/a program", 0x55e_0000), ("", 0), ("", 0)]);
        assert_eq!(stack.recorded_by, "/lib/liboptiq.so");
    }
}

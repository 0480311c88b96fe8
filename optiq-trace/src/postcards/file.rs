//! A collection in a file: magic `OPTIQPCD`, a version as `u32`, and what [`codec`] makes of it.

use super::record::Collection;
use crate::codec;
use crate::error::TraceError;
use optiq_files::input;
use optiq_files::output::{PUBLIC, write as write_file};
use std::io::{self, Write};
use std::path::Path;

/// Of files with postcards.
pub const EXTENSION: &str = "postcards";

const MAGIC: &[u8; 8] = b"OPTIQPCD";
const VERSION: u32 = 1;
const HEAD: usize = 12;
/// No file is larger, in bytes: some 10^8 postcards.
const MOST_BYTES: u64 = 1 << 32;

/// Its bytes.
pub fn encode(collection: &Collection) -> Vec<u8> {
    [&MAGIC[..], &VERSION.to_le_bytes(), &codec::encode(collection)].concat()
}

/// A collection from its bytes.
///
/// # Errors
/// A sentence, if they are none, or name what there is not ([`Collection::check`]).
pub fn decode(bytes: &[u8]) -> Result<Collection, String> {
    let Some((head, body)) = bytes.split_at_checked(HEAD) else {
        return Err(format!("found {} bytes; a head of {HEAD} is expected", bytes.len()));
    };
    let (magic, version) = head.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err("it does not begin with \"OPTIQPCD\"".into());
    }
    if version != VERSION.to_le_bytes() {
        let found = version.iter().rev().fold(0u32, |number, byte| number << 8 | u32::from(*byte));
        return Err(format!("found version {found}; version {VERSION} is expected"));
    }
    let collection: Collection = codec::decode(body).map_err(|e| format!("it is damaged or cut off: {e}"))?;
    collection.check()?;
    Ok(collection)
}

/// Writes a collection, so that the file is whole or not there.
///
/// # Errors
/// [`TraceError::Io`] if the operating system refuses.
pub fn write(path: &Path, collection: &Collection) -> Result<(), TraceError> {
    let failed = |e: io::Error| TraceError::Io { path: path.into(), what: "cannot be written", error: e.to_string() };
    write_file(path, PUBLIC, |out| out.write_all(&encode(collection))).map_err(failed)
}

/// Reads one.
///
/// # Errors
/// [`TraceError::Io`] if it cannot be read, [`TraceError::Format`] if it is none.
pub fn read(path: &Path) -> Result<Collection, TraceError> {
    decode(&bytes(path)?).map_err(|what| TraceError::Format { path: path.into(), what })
}

/// The bytes of a file with postcards.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, TraceError> {
    let failed = |e: io::Error| TraceError::Io { path: path.into(), what: "cannot be read", error: e.to_string() };
    input::read(path, MOST_BYTES).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postcards::{Component, ComponentKind, ComponentLog, Context, Operation, Packet, Postcard};

    fn collection() -> Collection {
        let log = |name: &str, kind, postcards| ComponentLog { name: name.into(), kind, overwritten: 3, postcards };
        let packet = Packet { source: Component(1), destination: Component(1), tag: 7 };
        let issued = Postcard::Issued { context: 0, command: 4, destination: Component(0), at: 1 };
        let injected = Postcard::Injected {
            command: 4,
            operation: Operation::Data,
            packet,
            next: Component(2),
            seen: 2,
            left: 3,
            last_left: 4,
        };
        let adapter = Component(1);
        Collection {
            contexts: vec![Context { file: "a.c".into(), line: 3, function: "main".into() }],
            components: vec![
                log("p0", ComponentKind::Processor { adapter }, vec![issued]),
                log("h0", ComponentKind::Adapter, vec![injected]),
                log("s0", ComponentKind::Switch, Vec::new()),
            ],
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.postcards");
        write(&path, &collection()).unwrap();
        assert_eq!(read(&path).unwrap(), collection());
        let error = read(&folder.path().join("b")).unwrap_err().to_string();
        assert!(error.contains("cannot be read"), "{error}");
    }

    #[test]
    fn what_is_no_collection_is_refused() {
        let refused = |bytes: &[u8], why: &str| {
            let error = decode(bytes).unwrap_err();
            assert!(error.contains(why), "{error}: {why}");
        };
        let bytes = encode(&collection());
        refused(b"OPTIQ", "found 5 bytes; a head of 12 is expected");
        refused(b"OPTIQTRC\x01\0\0\0", "does not begin with \"OPTIQPCD\"");
        refused(b"OPTIQPCD\x09\0\0\0", "found version 9; version 1 is expected");
        for end in HEAD..bytes.len() {
            refused(&bytes[..end], "damaged or cut off");
        }
        let damaged = |change: &dyn Fn(&mut Collection)| {
            let mut collection = collection();
            change(&mut collection);
            encode(&collection)
        };
        refused(&damaged(&|c| c.contexts.clear()), "postcard 1 of p0 names a line of a program that there is not");
        refused(&damaged(&|c| drop(c.components.pop())), "postcard 1 of h0 names a component that there is not");
        refused(&damaged(&|c| c.components[1].kind = ComponentKind::Switch), "the adapter of p0 is component 1");
        let moved = damaged(&|c| c.components[2].postcards = c.components[0].postcards.clone());
        refused(&moved, "postcard 1 of s0 is not of a kind");
    }
}

//! State as bytes, for checkpoints: bincode 2, standard configuration. The only module that calls bincode.

use bincode::{Decode, Encode};

/// The bytes of a value. State is numbers and lists of numbers, which can always be encoded.
pub(crate) fn encode<T: Encode>(thing: &T) -> Vec<u8> {
    bincode::encode_to_vec(thing, bincode::config::standard()).unwrap_or_default()
}

/// What [`encode`] has written, all of it.
pub(crate) fn decode<T: Decode<()>>(bytes: &[u8]) -> Result<T, String> {
    let (thing, read) = bincode::decode_from_slice(bytes, bincode::config::standard()).map_err(|e| e.to_string())?;
    if read == bytes.len() { Ok(thing) } else { Err(format!("{} bytes too many", bytes.len() - read)) }
}

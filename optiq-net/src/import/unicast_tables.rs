//! Forwarding tables as OpenSM (`opensm-lfts.dump`), `dump_lfts`, `dump_fts` and `ibroute` write them:
//!
//! ```text
//! Unicast lids [0x0-0x16] of switch DR path slid 0; dlid 0; 0,1,7 guid 0x0000000000200001 (S2-1):
//!   Lid  Out   Destination
//!        Port     Info
//! 0x0002 001 : (Channel Adapter portguid 0x0000000000100001: 'node0001')
//! 0x0003 002 : (path #2 out of 2: portguid 0x0000000000100001)
//! 21 valid lids dumped
//! ```
//!
//! The heading has a directed route or `Lid 3` for the switch, names in quotes or without; OpenSM writes `#` for `:`.
//! Ports are decimal; LIDs too, if they have no `0x`. Port 255 is none.

use super::collected::{Collected, FIRST_MULTICAST, Place, TableOwner};
use super::scan::{Scan, hex_behind, number, number_behind};
use crate::error::NetError;

/// A table that is being read.
#[derive(Default)]
pub(super) struct TableLines {
    /// Whether its end was seen.
    complete: bool,
    /// Whether it is a table of unicast addresses.
    unicast: bool,
}

/// Whether a line begins a table; those of multicast addresses too, which are then left out.
pub(super) fn is_heading(line: &str) -> bool {
    (line.starts_with("Unicast lids") || line.starts_with("Multicast mlids")) && line.contains("switch")
}

/// Begins the table of a heading.
pub(super) fn heading(line: &str, place: Place, into: &mut Collected) -> TableLines {
    if line.starts_with("Multicast") {
        return TableLines::default();
    }
    let owner = &line[line.find("switch").map_or(0, |at| at + "switch".len())..];
    let name = owner.split_once('(').map_or("", |(_, name)| name.rsplit_once(')').map_or(name, |(name, _)| name));
    // Only the part before the name: it may have any words.
    let ids = owner.split_once('(').map_or(owner, |(ids, _)| ids);
    let guid =
        hex_behind(ids, "guid").or_else(|| ids.split_whitespace().next().filter(|w| w.len() > 8).and_then(number));
    let lid = if ids.contains("DR path") { None } else { number_behind(&ids.to_ascii_lowercase(), "lid") };
    let lid = lid.and_then(|lid| u16::try_from(lid).ok());
    into.table(TableOwner { guid, name: unquoted(name).to_owned(), lid }, place);
    TableLines { complete: false, unicast: true }
}

impl TableLines {
    /// Reads a line of the table; whether it could, or need not.
    ///
    /// # Errors
    /// [`NetError::Spec`] for too many entries.
    pub fn line(&mut self, line: &str, place: Place, into: &mut Collected) -> Result<bool, NetError> {
        let mut scan = Scan(line);
        let first = scan.word();
        if !first.starts_with(|c: char| c.is_ascii_digit()) || !self.unicast {
            return Ok(true);
        }
        if line.ends_with("dumped") {
            self.complete = true;
            return Ok(true);
        }
        let second = scan.word();
        let port = Some(second).filter(|p| p.len() <= 3 && p.bytes().all(|b| b.is_ascii_digit()));
        let (Some(lid), Some(port)) = (number(first), port.and_then(|port| port.parse::<u16>().ok())) else {
            return Ok(false);
        };
        let (Ok(lid), Ok(port)) = (u16::try_from(lid), u8::try_from(port)) else { return Ok(false) };
        if lid == 0 || lid >= FIRST_MULTICAST {
            return Ok(true);
        }
        into.entry(lid, port, place)?;
        if let Some(guid) = hex_behind(scan.0, "portguid") {
            // Further LIDs of a port have the same GUID, and no name in some forms.
            let is_switch = scan.0.contains("Switch portguid");
            into.lid_owner(lid, guid, is_switch, || name_of(scan.0).to_owned());
        }
        Ok(true)
    }

    /// Ends the table, and says whether its last line was missing.
    pub fn is_cut(&self) -> bool {
        self.unicast && !self.complete
    }
}

/// The name in `(Channel Adapter portguid 0x...: 'node0001')`.
fn name_of(comment: &str) -> &str {
    match (comment.find('\''), comment.rfind('\'')) {
        (Some(first), Some(last)) if first < last => &comment[first + 1..last],
        _ => "",
    }
}

fn unquoted(name: &str) -> &str {
    name.trim().trim_matches(['\'', '"'])
}

//! OpenSM's `opensm.fdbs`: forwarding tables with how far destinations are.
//!
//! ```text
//! dump_ucast_routes: Switch 0x0000000000200000
//! LID    : Port : Hops : Optimal
//! 0x0001 : 000  : 00   : yes
//! 0x0003 : UNREACHABLE
//! ```
//!
//! Older ones begin with `__osm_ucast_mgr_dump_ucast_routes: Switch`. Tables have no last line.

use super::collected::{Collected, FIRST_MULTICAST, Place, TableOwner};
use super::scan::{hex_behind, number};
use crate::error::NetError;

/// Whether a line begins a table.
pub(super) fn is_heading(line: &str) -> bool {
    line.contains("dump_ucast_routes: Switch ")
}

/// Begins the table of a heading.
pub(super) fn heading(line: &str, place: Place, into: &mut Collected) {
    let guid = hex_behind(line, "Switch ");
    into.table(TableOwner { guid, ..TableOwner::default() }, place);
}

/// Reads a line of a table; whether it could, or need not.
///
/// # Errors
/// [`NetError::Spec`] for too many entries.
pub(super) fn line(line: &str, place: Place, into: &mut Collected) -> Result<bool, NetError> {
    if !line.starts_with("0x") {
        return Ok(true);
    }
    let mut columns = line.split(':').map(str::trim);
    let lid = columns.next().and_then(number).and_then(|lid| u16::try_from(lid).ok());
    let (Some(lid), Some(port)) = (lid, columns.next()) else { return Ok(false) };
    if port.eq_ignore_ascii_case("unreachable") || lid == 0 || lid >= FIRST_MULTICAST {
        return Ok(true);
    }
    let Some(port) = Some(port).filter(|p| p.len() <= 3).and_then(|p| p.parse::<u8>().ok()) else { return Ok(false) };
    into.entry(lid, port, place)?;
    Ok(true)
}

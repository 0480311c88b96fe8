//! The log on standard error, switched on with `OPTIQ_LOG`.

use crate::failure::Failure;
use log::LevelFilter;

/// Installs the logger with the level of `OPTIQ_LOG`; warnings and errors if it is not set.
///
/// # Errors
/// [`Failure::Input`] if the variable holds no level.
pub fn install() -> Result<(), Failure> {
    let level = match std::env::var_os("OPTIQ_LOG") {
        None => LevelFilter::Warn,
        Some(text) => text.to_str().and_then(|t| t.trim().parse().ok()).ok_or_else(|| {
            let text = text.to_string_lossy();
            Failure::Input(format!("OPTIQ_LOG is \"{text}\"; off, error, warn, info, debug or trace is expected"))
        })?,
    };
    optiq::logger::init("", level);
    Ok(())
}

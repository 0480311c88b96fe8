//! All settings of a session, and where they come from.

mod options;
mod read;
mod values;

pub use options::{OPTIONS, OptionRecord, Scope};
pub use read::{ConfigError, Origin, Read, Setting, Settings};
pub use values::{Config, PlannerChoice, Preload, ProfileSignal, ProfileSource};

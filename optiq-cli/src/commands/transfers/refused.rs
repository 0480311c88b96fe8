//! Which failure a refused transfer list is.

use crate::failure::Failure;

/// An error in a transfer list is an error in the input.
pub fn refused(error: optiq_lower::LowerError) -> Failure {
    Failure::Input(error.to_string())
}

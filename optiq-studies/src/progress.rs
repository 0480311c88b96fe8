//! What a long study tells those who wait.

/// Passes on what is being done now.
pub struct Progress<'a>(&'a (dyn Fn(String) + Sync));

impl<'a> Progress<'a> {
    /// Passes on to `tell`.
    pub fn new(tell: &'a (dyn Fn(String) + Sync)) -> Self {
        Progress(tell)
    }

    /// Says what is being done now.
    pub fn now(&self, doing: impl Into<String>) {
        (self.0)(doing.into());
    }
}

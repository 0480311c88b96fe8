//! The browser of claims, for tests: what fails is a panic.

use optiq_studies::browser;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Where Chromium is; says so if it is nowhere.
pub fn chromium() -> Option<PathBuf> {
    browser::chromium().map_err(|why| println!("skipped: {why}")).ok()
}

/// A browser with one page. It ends with this value.
#[allow(dead_code, reason = "not every test program drives a browser")]
pub struct Browser(browser::Browser);

#[allow(dead_code, reason = "not every test program drives a browser")]
impl Browser {
    /// Opens a file in a window of this size; `profile` is a directory for what the browser keeps.
    pub fn open(chromium: &Path, profile: &Path, file: &Path, window: (u32, u32)) -> Browser {
        Browser(browser::Browser::open(chromium, profile, file, window).unwrap())
    }

    /// The value of an expression in the page; promises are waited for.
    pub fn value(&mut self, expression: &str) -> Value {
        self.0.value(expression).unwrap()
    }

    /// As numbers.
    pub fn numbers(&mut self, expression: &str) -> Vec<f64> {
        self.0.numbers(expression).unwrap()
    }

    /// Waits until an expression holds.
    pub fn wait(&mut self, expression: &str) {
        self.0.wait(expression).unwrap();
    }

    /// Moves the pointer, or presses and releases its button: `mouseMoved`, `mousePressed`, `mouseReleased`.
    pub fn mouse(&mut self, what: &str, at: &[f64]) {
        self.0.mouse(what, at).unwrap();
    }

    /// Moves the pointer with its button pressed.
    pub fn drag(&mut self, to: &[f64]) {
        self.0.drag(to).unwrap();
    }

    /// Turns the wheel: `delta` pixels down.
    pub fn wheel(&mut self, at: &[f64], delta: f64) {
        self.0.wheel(at, delta).unwrap();
    }

    /// Types a text into what has the focus.
    pub fn type_text(&mut self, text: &str) {
        self.0.type_text(text).unwrap();
    }

    /// Presses a key by its name: `ArrowLeft`.
    pub fn key(&mut self, key: &str) {
        self.0.key(key).unwrap();
    }
}

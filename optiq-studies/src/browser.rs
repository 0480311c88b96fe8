//! Headless Chromium, and a driver for it: the DevTools protocol over two pipes, so that claims and tests point, click, turn the wheel and type
//! as people do. <https://chromedevtools.github.io/devtools-protocol/>

use crate::failure::Failure;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long an answer may take before the browser counts as stuck.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Where Chromium is.
///
/// # Errors
/// A sentence, if it is nowhere.
pub fn chromium() -> Result<PathBuf, String> {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let path = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&path).flat_map(|dir| names.map(|n| dir.join(n))).find(|path| path.is_file());
    found.ok_or_else(|| format!("none of {} is in the path", names.join(", ")))
}

/// A browser with one page. It ends with this value.
pub struct Browser {
    child: Child,
    commands: ChildStdin,
    answers: Receiver<Value>,
    session: Option<String>,
    last: u64,
}

impl Browser {
    /// Opens a file in a window of this size; `profile` is a directory for what the browser keeps.
    ///
    /// # Errors
    /// [`Failure::Work`] if the browser cannot be started or does not answer.
    pub fn open(chromium: &Path, profile: &Path, file: &Path, (wide, high): (u32, u32)) -> Result<Browser, Failure> {
        // The protocol has pipes 3 and 4, and the child 0 and 1.
        let mut child = Command::new("sh")
            .args(["-c", "exec \"$0\" \"$@\" 3<&0 4>&1 </dev/null >/dev/null"])
            .arg(chromium)
            .args(["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
            .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
            .args(["--disable-dev-shm-usage", "--remote-debugging-pipe"])
            .arg(format!("--window-size={wide},{high}"))
            .arg(format!("--user-data-dir={}", profile.display()))
            .arg("about:blank")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|e| Failure::Work(format!("{} cannot be started: {e}", chromium.display())))?;
        let (Some(commands), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::Work("the browser has no pipes".into()));
        };
        let mut output = BufReader::new(output);
        let (send, answers) = channel();
        std::thread::spawn(move || {
            let mut message = Vec::new();
            while output.read_until(0, &mut message).is_ok_and(|n| n > 0) {
                let text = message.strip_suffix(&[0]).unwrap_or(&message);
                let Ok(value) = serde_json::from_slice(text) else { break };
                if send.send(value).is_err() {
                    break;
                }
                message.clear();
            }
        });
        let mut browser = Browser { child, commands, answers, session: None, last: 0 };
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))?["targetId"].clone();
        let session = browser.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}))?;
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        let metrics = json!({"width": wide, "height": high, "deviceScaleFactor": 1, "mobile": false});
        browser.call("Emulation.setDeviceMetricsOverride", metrics)?;
        browser.call("Page.enable", json!({}))?;
        browser.call("Page.navigate", json!({"url": format!("file://{}", file.display())}))?;
        browser.wait("document.readyState === 'complete' && document.documentElement.dataset.drawn === 'true'")?;
        Ok(browser)
    }

    /// Calls a method and returns its result.
    ///
    /// # Errors
    /// [`Failure::Work`] with what the browser says, or if it does not answer.
    pub fn call(&mut self, method: &str, parameters: Value) -> Result<Value, Failure> {
        let failed = |why: &str| Failure::Work(format!("the browser, {method}: {why}"));
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        let sent = self.commands.write_all(format!("{message}\0").as_bytes()).and_then(|()| self.commands.flush());
        sent.map_err(|e| failed(&e.to_string()))?;
        loop {
            let answer = self.answers.recv_timeout(TIMEOUT).map_err(|e| failed(&e.to_string()))?;
            if answer["id"] == self.last {
                return match &answer["error"] {
                    Value::Null => Ok(answer["result"].clone()),
                    error => Err(failed(&error.to_string())),
                };
            }
        }
    }

    /// The value of an expression in the page; promises are waited for.
    ///
    /// # Errors
    /// As [`Browser::call`], and for an exception, or an error that the page has noted.
    pub fn value(&mut self, expression: &str) -> Result<Value, Failure> {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let found = self.call("Runtime.evaluate", parameters)?;
        let errors = json!({"expression": "document.documentElement.dataset.errors ?? null", "returnByValue": true});
        let noted = self.call("Runtime.evaluate", errors)?;
        for problem in [&found["exceptionDetails"], &noted["result"]["value"]] {
            if !problem.is_null() {
                return Err(Failure::Work(format!("the page, {expression}: {problem}")));
            }
        }
        Ok(found["result"]["value"].clone())
    }

    /// As numbers.
    ///
    /// # Errors
    /// As [`Browser::value`], and if it is something else.
    pub fn numbers(&mut self, expression: &str) -> Result<Vec<f64>, Failure> {
        let value = self.value(expression)?;
        let numbers = value.as_array().and_then(|all| all.iter().map(Value::as_f64).collect());
        numbers.ok_or_else(|| Failure::Work(format!("the page, {expression}: {value}; numbers are expected")))
    }

    /// Waits until an expression holds.
    ///
    /// # Errors
    /// As [`Browser::value`], and if it does not hold within two minutes.
    pub fn wait(&mut self, expression: &str) -> Result<(), Failure> {
        let deadline = Instant::now() + TIMEOUT;
        while self.value(&format!("Boolean({expression})"))? != json!(true) {
            if Instant::now() >= deadline {
                return Err(Failure::Work(format!("the page: {expression} does not come true")));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// Moves the pointer, or presses and releases its button: `mouseMoved`, `mousePressed`, `mouseReleased`.
    ///
    /// # Errors
    /// As [`Browser::call`].
    pub fn mouse(&mut self, what: &str, at: &[f64]) -> Result<(), Failure> {
        let (button, clicks) = if what == "mouseMoved" { ("none", 0) } else { ("left", 1) };
        let buttons = u32::from(what == "mousePressed");
        let parameters =
            json!({"type": what, "x": at[0], "y": at[1], "button": button, "buttons": buttons, "clickCount": clicks});
        self.call("Input.dispatchMouseEvent", parameters).map(drop)
    }

    /// Moves the pointer with its button pressed.
    ///
    /// # Errors
    /// As [`Browser::call`].
    pub fn drag(&mut self, to: &[f64]) -> Result<(), Failure> {
        let parameters = json!({"type": "mouseMoved", "x": to[0], "y": to[1], "button": "left", "buttons": 1});
        self.call("Input.dispatchMouseEvent", parameters).map(drop)
    }

    /// Turns the wheel: `delta` pixels down.
    ///
    /// # Errors
    /// As [`Browser::call`].
    pub fn wheel(&mut self, at: &[f64], delta: f64) -> Result<(), Failure> {
        let parameters = json!({"type": "mouseWheel", "x": at[0], "y": at[1], "deltaX": 0, "deltaY": delta});
        self.call("Input.dispatchMouseEvent", parameters).map(drop)
    }

    /// Types a text into what has the focus.
    ///
    /// # Errors
    /// As [`Browser::call`].
    pub fn type_text(&mut self, text: &str) -> Result<(), Failure> {
        self.call("Input.insertText", json!({"text": text})).map(drop)
    }

    /// Presses a key by its name: `ArrowLeft`.
    ///
    /// # Errors
    /// As [`Browser::call`].
    pub fn key(&mut self, key: &str) -> Result<(), Failure> {
        for what in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({"type": what, "key": key}))?;
        }
        Ok(())
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! Headless Chromium, and a driver for it: the DevTools protocol over two pipes, so that tests point, click, turn the wheel and type
//! as people do. <https://chromedevtools.github.io/devtools-protocol/>

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// How long an answer may take before the browser counts as stuck.
const TIMEOUT: Duration = Duration::from_secs(120);

/// Where Chromium is; says so if it is nowhere.
pub fn chromium() -> Option<PathBuf> {
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome"];
    let found = std::env::split_paths(&std::env::var_os("PATH")?)
        .flat_map(|dir| names.map(|n| dir.join(n)))
        .find(|path| path.is_file());
    if found.is_none() {
        println!("skipped: none of {} is in the path", names.join(", "));
    }
    found
}

/// A browser with one page. It ends with this value.
#[allow(dead_code, reason = "not every test program drives a browser")]
pub struct Browser {
    child: Child,
    commands: ChildStdin,
    answers: Receiver<Value>,
    session: Option<String>,
    last: u64,
}

#[allow(dead_code, reason = "not every test program drives a browser")]
impl Browser {
    /// Opens a file in a window of this size; `profile` is a directory for what the browser keeps.
    pub fn open(chromium: &Path, profile: &Path, file: &Path, (wide, high): (u32, u32)) -> Browser {
        // The protocol has pipes 3 and 4, and children of tests 0 and 1.
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
            .unwrap();
        let commands = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
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
        let target = browser.call("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let session = browser.call("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        browser.session = session["sessionId"].as_str().map(str::to_owned);
        let metrics = json!({"width": wide, "height": high, "deviceScaleFactor": 1, "mobile": false});
        browser.call("Emulation.setDeviceMetricsOverride", metrics);
        browser.call("Page.enable", json!({}));
        browser.call("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        browser.wait("document.readyState === 'complete' && document.documentElement.dataset.drawn === 'true'");
        browser
    }

    /// Calls a method and returns its result.
    pub fn call(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.commands.write_all(format!("{message}\0").as_bytes()).unwrap();
        self.commands.flush().unwrap();
        loop {
            let answer = self.answers.recv_timeout(TIMEOUT).unwrap_or_else(|e| panic!("{method}: {e}"));
            if answer["id"] == self.last {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
        }
    }

    /// The value of an expression in the page; promises are waited for.
    pub fn value(&mut self, expression: &str) -> Value {
        let parameters = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let found = self.call("Runtime.evaluate", parameters);
        assert!(found["exceptionDetails"].is_null(), "{expression}: {}", found["exceptionDetails"]);
        let errors = json!({"expression": "document.documentElement.dataset.errors ?? null", "returnByValue": true});
        assert_eq!(self.call("Runtime.evaluate", errors)["result"]["value"], Value::Null);
        found["result"]["value"].clone()
    }

    /// As numbers.
    pub fn numbers(&mut self, expression: &str) -> Vec<f64> {
        let value = self.value(expression);
        let all = value.as_array().unwrap_or_else(|| panic!("{expression}: {value}"));
        all.iter().map(|v| v.as_f64().unwrap_or_else(|| panic!("{expression}: {value}"))).collect()
    }

    /// Waits until an expression holds.
    pub fn wait(&mut self, expression: &str) {
        let deadline = Instant::now() + TIMEOUT;
        while self.value(&format!("Boolean({expression})")) != json!(true) {
            assert!(Instant::now() < deadline, "never: {expression}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Moves the pointer, or presses and releases its button: `mouseMoved`, `mousePressed`, `mouseReleased`.
    pub fn mouse(&mut self, what: &str, at: &[f64]) {
        let (button, clicks) = if what == "mouseMoved" { ("none", 0) } else { ("left", 1) };
        let buttons = u32::from(what == "mousePressed");
        let parameters =
            json!({"type": what, "x": at[0], "y": at[1], "button": button, "buttons": buttons, "clickCount": clicks});
        self.call("Input.dispatchMouseEvent", parameters);
    }

    /// Turns the wheel: `delta` pixels down.
    pub fn wheel(&mut self, at: &[f64], delta: f64) {
        let parameters = json!({"type": "mouseWheel", "x": at[0], "y": at[1], "deltaX": 0, "deltaY": delta});
        self.call("Input.dispatchMouseEvent", parameters);
    }

    /// Types a text into what has the focus.
    pub fn type_text(&mut self, text: &str) {
        self.call("Input.insertText", json!({"text": text}));
    }

    /// Presses a key by its name: `ArrowLeft`.
    pub fn key(&mut self, key: &str) {
        for what in ["keyDown", "keyUp"] {
            self.call("Input.dispatchKeyEvent", json!({"type": what, "key": key}));
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

//! One page of a browser, as far as a test needs it.

use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

use base64::Engine;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::net::TcpStream;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async, tungstenite::Message};

/// A page the size of a phone's.
pub(crate) struct Page {
    browser: Child,
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    session: Option<String>,
    sent: u64,
    events: Vec<Value>,
    _profile: TempDir,
}

impl Page {
    /// Starts a browser with an empty page.
    pub(crate) async fn open(program: &Path) -> Self {
        let profile = tempfile::tempdir().unwrap();
        let mut browser = Command::new(program)
            .args([
                "--headless=new",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--no-first-run",
            ])
            .args(["--remote-debugging-port=0", "--window-size=412,915", "--hide-scrollbars"])
            .arg(format!("--user-data-dir={}", profile.path().display()))
            .env("HOME", profile.path())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(browser.stderr.take().unwrap()).lines();
        let url =
            lines.find_map(|line| Some(line.unwrap().strip_prefix("DevTools listening on ")?.to_owned()));
        std::thread::spawn(move || lines.for_each(drop));
        let (socket, _) = connect_async(url.unwrap()).await.unwrap();
        let mut page =
            Self { browser, socket, session: None, sent: 0, events: Vec::new(), _profile: profile };
        let target =
            page.ask("Target.createTarget", json!({ "url": "about:blank" })).await["targetId"].clone();
        let attached =
            page.ask("Target.attachToTarget", json!({ "targetId": target, "flatten": true })).await;
        page.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            page.ask(&format!("{domain}.enable"), json!({})).await;
        }
        page.show_at(412, "light").await;
        page
    }

    /// Gives the page a width and one of the colour schemes, `light` or `dark`.
    pub(crate) async fn show_at(&mut self, width: u32, scheme: &str) {
        let screen = json!({ "width": width, "height": 915, "deviceScaleFactor": 1, "mobile": width < 500 });
        self.ask("Emulation.setDeviceMetricsOverride", screen).await;
        let scheme = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.ask("Emulation.setEmulatedMedia", scheme).await;
    }

    /// Runs no scripts of pages any more, or runs them again.
    pub(crate) async fn disable_scripts(&mut self, disabled: bool) {
        self.ask("Emulation.setScriptExecutionDisabled", json!({ "value": disabled })).await;
    }

    /// Presses and releases a key.
    pub(crate) async fn press(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Enter" => 13,
            other => panic!("{other} is no key that a test presses"),
        };
        let text = if key == "Enter" { "\r" } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let event =
                json!({ "type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code, "text": text });
            self.ask("Input.dispatchKeyEvent", event).await;
        }
    }

    /// Takes a picture of the upper part of the page, as PNG.
    pub(crate) async fn picture(&mut self, width: u32, height: u32) -> Vec<u8> {
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
        let asked = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let answer = self.ask("Page.captureScreenshot", asked).await;
        base64::engine::general_purpose::STANDARD.decode(answer["data"].as_str().unwrap()).unwrap()
    }

    /// Goes to a URL and waits until the page is loaded.
    pub(crate) async fn go(&mut self, url: &str) {
        let loads = self.loads();
        let answer = self.ask("Page.navigate", json!({ "url": url })).await;
        assert!(answer.get("errorText").is_none(), "{url}: {answer}");
        while self.loads() == loads {
            self.next().await;
        }
    }

    /// Returns the value of an expression, awaited.
    pub(crate) async fn evaluate(&mut self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.ask("Runtime.evaluate", asked).await;
        assert!(answer.get("exceptionDetails").is_none(), "{expression}: {answer}");
        answer["result"]["value"].clone()
    }

    /// Errors that the console received.
    pub(crate) fn complaints(&self) -> Vec<String> {
        let is_complaint = |event: &&Value| match event["method"].as_str().unwrap_or_default() {
            "Runtime.exceptionThrown" => true,
            "Runtime.consoleAPICalled" => event["params"]["type"] == "error",
            "Log.entryAdded" => event["params"]["entry"]["level"] == "error",
            _ => false,
        };
        self.events.iter().filter(is_complaint).map(Value::to_string).collect()
    }

    fn loads(&self) -> usize {
        self.events.iter().filter(|event| event["method"] == "Page.loadEventFired").count()
    }

    async fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.sent += 1;
        let mut message = json!({ "id": self.sent, "method": method, "params": parameters });
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        self.socket.send(Message::text(message.to_string())).await.unwrap();
        loop {
            if let Some(answer) = self.next().await {
                assert!(answer.get("error").is_none(), "{method}: {answer}");
                return answer["result"].clone();
            }
        }
    }

    /// Returns the next message: the answer to the last question, or nothing where it was an event.
    async fn next(&mut self) -> Option<Value> {
        let message = self.socket.next().await.unwrap().unwrap();
        let message: Value = serde_json::from_str(message.to_text().unwrap()).unwrap();
        if message["id"] == self.sent {
            return Some(message);
        }
        self.events.push(message);
        None
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        let _ = self.browser.kill();
        let _ = self.browser.wait();
    }
}

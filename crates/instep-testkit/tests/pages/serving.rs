//! A served folder, and requests to it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Stdio},
};

pub(crate) use instep_testkit::folder_with_files as folder;
use instep_testkit::{LONG, instep, wait_for};
use serde_json::Value;

/// The `Accept` of a browser.
pub(crate) const PERSON: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

/// A program that reports its URL in a JSON line.
pub(crate) struct Serving {
    child: Child,
    /// Its base URL.
    pub(crate) base: String,
}

impl Serving {
    /// Serves a folder.
    pub(crate) fn start(folder: &Path, options: &[&str]) -> Self {
        let arguments = ["serve", "--listen", "127.0.0.1:0", "--json"].iter().chain(options);
        Self::spawn(instep(arguments).arg(folder))
    }

    /// Starts a command and waits until it reports that it answers.
    pub(crate) fn spawn(command: &mut std::process::Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let ready = lines.find_map(|line| {
            let line: Value = serde_json::from_str(&line.unwrap()).unwrap();
            (line["type"] == "ready").then(|| line["url"].as_str().unwrap().to_owned())
        });
        // The output must be read; otherwise the program would wait for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, base: ready.unwrap() }
    }

    /// Requests a path below the base URL.
    pub(crate) fn get(&self, path: &str, accept: &str) -> PageAnswer {
        self.get_as(path, self.address(), accept)
    }

    fn address(&self) -> &str {
        self.base.trim_start_matches("http://").trim_end_matches('/')
    }

    /// Requests a path with this `Host`.
    pub(crate) fn get_as(&self, path: &str, host: &str, accept: &str) -> PageAnswer {
        let mut stream = TcpStream::connect(self.address()).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let request =
            format!("GET /{path} HTTP/1.1\r\nHost: {host}\r\nAccept: {accept}\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        PageAnswer { status, head: head.to_ascii_lowercase(), body: body.to_owned() }
    }

    /// Requests a page as a browser does, and checks the rules for every page.
    pub(crate) fn page(&self, path: &str) -> String {
        let answer = self.get(path, PERSON);
        assert_eq!(answer.status, 200, "{path}: {}", answer.body);
        answer.assert_page(path)
    }

    /// Requests a page until it shows something.
    pub(crate) fn wait_for(&self, path: &str, shows: impl Fn(&str) -> bool) -> String {
        wait_for(|| {
            let page = self.page(path);
            if shows(&page) { Ok(page) } else { Err(format!("{path} does not show it: {page}")) }
        })
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// An answer to a request for a page.
pub(crate) struct PageAnswer {
    pub(crate) status: u16,
    /// Status line and headers, in lower case.
    pub(crate) head: String,
    pub(crate) body: String,
}

impl PageAnswer {
    /// Checks the rules for every page: it is HTML under a strict policy, has a heading, contains no inline script,
    /// and loads nothing from other hosts.
    pub(crate) fn assert_page(self, path: &str) -> String {
        let Self { head, body, .. } = self;
        assert!(head.contains("content-type: text/html; charset=utf-8"), "{path}: {head}");
        assert!(
            head.contains("content-security-policy: default-src 'none'; style-src 'self';"),
            "{path}: {head}"
        );
        assert!(!head.contains("unsafe-inline"), "{path}: {head}");
        for inline in ["<style", " style=\"", "<script>", " onclick=", " onload=", "javascript:"] {
            assert!(!body.contains(inline), "{path} has {inline}: {body}");
        }
        for (at, _) in body.match_indices(" src=\"") {
            let address = body[at + 6..].split('"').next().unwrap();
            assert!(!address.contains(':') && !address.starts_with("//"), "{path} loads {address}: {body}");
        }
        assert_eq!(body.matches("<h1>").count(), 1, "{path}: {body}");
        body
    }
}

/// Escapes a value for a query.
pub(crate) fn escaped(value: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    value.bytes().map(byte).collect()
}

//! A subscriber of the hub: a callback that answers as the test sets it.

use std::{
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{Arc, mpsc},
    thread,
};

use instep_testkit::LONG;

/// A request that reached a callback.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) method: String,
    pub(crate) target: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Call {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn parameter(&self, name: &str) -> Option<String> {
        let query = self.target.split_once('?')?.1;
        url::form_urlencoded::parse(query.as_bytes())
            .find(|(own, _)| own == name)
            .map(|(_, value)| value.into_owned())
    }
}

/// A subscriber that answers as the test sets it: its return value is the status and the body, which is the place
/// that a redirect leads to.
pub(crate) struct Subscriber {
    pub(crate) address: SocketAddr,
    pub(crate) calls: mpsc::Receiver<Call>,
}

impl Subscriber {
    pub(crate) fn start(behave: impl Fn(&Call) -> (u16, String) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (sender, calls) = mpsc::channel();
        let behave = Arc::new(behave);
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (behave, sender) = (Arc::clone(&behave), sender.clone());
                thread::spawn(move || while serve_one(&stream, &*behave, &sender).is_some() {});
            }
        });
        Self { address, calls }
    }

    /// Returns one that confirms and takes everything.
    pub(crate) fn willing() -> Self {
        Self::start(|call| (200, call.parameter("hub.challenge").unwrap_or_default()))
    }

    pub(crate) fn callback(&self) -> String {
        format!("http://{}/callback", self.address)
    }

    pub(crate) fn next(&self) -> Call {
        self.calls.recv_timeout(LONG).unwrap()
    }
}

fn serve_one(
    stream: &TcpStream,
    behave: &dyn Fn(&Call) -> (u16, String),
    calls: &mpsc::Sender<Call>,
) -> Option<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
    let mut words = line.split(' ').map(str::to_owned);
    let (method, target) = (words.next()?, words.next()?);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers
        .iter()
        .find(|(name, _)| name == "content-length")
        .map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    let call = Call { method, target, headers, body };
    let (status, text) = behave(&call);
    calls.send(call).ok()?;
    let mut stream = stream;
    let location = if status == 302 { format!("Location: {text}\r\n") } else { String::new() };
    write!(stream, "HTTP/1.1 {status} x\r\n{location}Content-Length: {}\r\n\r\n{text}", text.len()).ok()
}

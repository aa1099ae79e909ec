//! HTTP/1.1 by hand, because no HTTP library would write these faults.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, BufReader, Read},
    net::{Shutdown, TcpListener, TcpStream},
    sync::Arc,
    thread,
    time::Instant,
};

use super::{
    answer,
    shared::{FakeServer, ReceivedRequest},
};

/// Answers connections, a thread each, until the Source is dropped.
pub(super) fn accept(listener: &TcpListener, shared: &Arc<FakeServer>) {
    for (number, stream) in (0..).zip(listener.incoming()) {
        let Ok(stream) = stream else { continue };
        let mut script = shared.script();
        if script.ended {
            return;
        }
        script.connections += 1;
        script.open.extend(stream.try_clone().ok().map(|clone| (number, clone)));
        drop(script);
        let shared = Arc::clone(shared);
        thread::spawn(move || {
            // Many tests are about clients that disconnect.
            drop(converse(&stream, &shared));
            shared.script().open.remove(&number);
        });
    }
}

/// Answers request after request on one connection.
fn converse(stream: &TcpStream, shared: &FakeServer) -> io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream);
    while let Some(request) = read_request(&mut reader)? {
        shared.begin(request.clone());
        let fault = shared.next_fault(&request.path);
        let page = shared.document(&request.path);
        let written = answer::write(stream, &request, page, fault, shared);
        shared.script().under_way -= 1;
        if !written? {
            break;
        }
    }
    stream.shutdown(Shutdown::Write)
}

fn read_request(reader: &mut BufReader<&TcpStream>) -> io::Result<Option<ReceivedRequest>> {
    let mut line = String::new();
    if reader.read_line(&mut line)? == 0 {
        return Ok(None);
    }
    let mut words = line.split_ascii_whitespace().map(str::to_owned);
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return Ok(None);
    };
    let mut headers = BTreeMap::new();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let Some((name, value)) = line.split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = headers.get("content-length").and_then(|length: &String| length.parse().ok()).unwrap_or(0);
    let mut body = Vec::new();
    reader.by_ref().take(length).read_to_end(&mut body)?;
    let path = target.strip_prefix('/').unwrap_or(&target).to_owned();
    Ok(Some(ReceivedRequest { method, path, headers, body, at: Instant::now() }))
}

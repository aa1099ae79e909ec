//! Answers that are odd, and how they are understood.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test ends where something is not as it must be")]

use std::{
    io::{BufRead as _, BufReader, Write as _},
    net::TcpListener,
};

use instep_net::{Client, HttpError, HttpOptions, Request, Scope};
use resourcesync::Uri;

/// Sends a request to a server that gives this answer, and returns the body or the error.
async fn body_of(answer: String) -> Result<String, HttpError> {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/a", listener.local_addr().unwrap());
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let head = BufReader::new(stream.try_clone().unwrap());
        head.lines().map_while(Result::ok).take_while(|line| !line.is_empty()).for_each(drop);
        // The client may hang up before it has read everything.
        let _ = stream.write_all(answer.as_bytes());
    });
    let client = Client::new(HttpOptions::new(Scope::for_source(&url).unwrap())).unwrap();
    let answered = client.send_once(&Request::get(Uri::parse(&url).unwrap())).await;
    let text = match answered {
        Ok(mut response) => {
            let length = response.length();
            let mut text = Vec::new();
            while let Some(data) = response.body.chunk().await? {
                text.extend_from_slice(&data);
            }
            assert!(length.is_none_or(|length| length == text.len() as u64), "{length:?}");
            Ok(String::from_utf8(text).unwrap())
        }
        Err(error) => Err(error),
    };
    server.join().unwrap();
    text
}

#[tokio::test]
async fn o276_a_length_beside_a_transfer_coding_means_nothing() {
    let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n";
    let text = body_of(format!("{head}4\r\ntext\r\n0\r\n\r\n")).await;
    assert_eq!(text.unwrap(), "text");
}

#[tokio::test]
async fn o277_an_answer_in_http_is_not_taken_for_another_protocol() {
    let many: String = (0..200).map(|number| format!("X-{number}: y\r\n")).collect();
    for (answer, told) in [
        (format!("HTTP/1.1 200 OK\r\n{many}\r\n"), "more than 100 headers"),
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 5\r\n\r\ntext".to_owned(),
            "content-length",
        ),
        ("SSH-2.0-OpenSSH\r\n\r\n".to_owned(), "does not answer in HTTP"),
    ] {
        let HttpError::Transfer { source, .. } = body_of(answer).await.unwrap_err() else { panic!("{told}") };
        assert!(source.to_string().contains(told), "{source}: {told}");
    }
}

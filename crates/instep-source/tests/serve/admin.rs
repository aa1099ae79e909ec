//! Row S3 of the threats: changes need the token. Changes that an application reports are published.

use std::{
    fs,
    net::SocketAddr,
    os::unix::fs::{MetadataExt, PermissionsExt},
};

use super::{
    raw::{self, Answer, get, request},
    server::Server,
};

struct Access {
    address: SocketAddr,
    token: String,
}

fn access(server: &Server) -> Access {
    let file = server.path(".instep/admin.json");
    let metadata = fs::metadata(&file).unwrap();
    assert_eq!(metadata.permissions().mode() & 0o777, 0o600);
    let json: serde_json::Value = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    assert_eq!(json["inode"], metadata.ino(), "a copy of the file has another one (O808)");
    let path = fs::canonicalize(server.path(".instep/admin.json")).unwrap();
    assert_eq!(json["path"], &*path.to_string_lossy());
    let address = json["url"].as_str().unwrap().trim_start_matches("http://").trim_end_matches('/');
    Access { address: address.parse().unwrap(), token: json["token"].as_str().unwrap().to_owned() }
}

fn post_changes(access: &Access, body: &str) -> Answer {
    let text = format!(
        "POST /changes HTTP/1.1\r\nHost: x\r\nConnection: close\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n\r\n{body}",
        access.token,
        body.len()
    );
    raw::answer(&raw::send(access.address, text.as_bytes())).unwrap()
}

#[test]
fn s3_every_route_asks_for_the_token() {
    let server = Server::start(&[("a.txt", b"a")]);
    let access = access(&server);
    for target in ["/changes", "/scan", "/compact", "/status", "/", "/absent", "/changes/", "/../changes"] {
        for method in ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"] {
            let wrong = format!("Authorization: Bearer {}x", access.token);
            let basic = format!("Authorization: Basic {}", access.token);
            for header in ["X: none", "Authorization: ", "Authorization: Bearer", &wrong, &basic] {
                let answer = request(access.address, method, target, &[header, "Content-Length: 0"]);
                assert_eq!(answer.status, 401, "{method} {target} {header}");
            }
        }
    }
    let right = format!("Authorization: Bearer {}", access.token);
    assert_eq!(request(access.address, "GET", "/status", &[&right]).status, 200);
    assert_eq!(request(access.address, "GET", "/absent", &[&right]).status, 404);
}

#[test]
fn s3_the_public_listener_has_no_writing_route() {
    let server = Server::start(&[("a.txt", b"a")]);
    let right = format!("Authorization: Bearer {}", access(&server).token);
    for target in ["/changes", "/scan", "/compact"] {
        let answer = request(server.address, "POST", target, &[&right, "Content-Length: 0"]);
        assert_eq!(answer.status, 405, "{target}");
    }
}

#[test]
fn what_an_application_says_appears_in_the_change_list() {
    let mut server = Server::start(&[("a.txt", b"a")]);
    let access = access(&server);
    let said = r#"[{"uri":"http://elsewhere.example/1","change":"created","length":5,"type":"text/plain"}]"#;
    let answer = post_changes(&access, said);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(answer.text().contains("\"created\":1"), "{}", answer.text());
    server.wait_for_change("http://elsewhere.example/1");
    assert_eq!(post_changes(&access, "nonsense").status, 400);
    let file = server.path(".instep/admin.json");
    server.end();
    assert!(!file.exists());
}

#[test]
fn a_scan_can_be_asked_for() {
    let server =
        Server::with(super::server::folder(&[("a.txt", b"a")]), |options| options.live.watch = false);
    let access = access(&server);
    fs::write(server.path("b.txt"), "b").unwrap();
    let right = format!("Authorization: Bearer {}", access.token);
    assert_eq!(request(access.address, "POST", "/scan", &[&right, "Content-Length: 0"]).status, 202);
    server.wait_for_change("b.txt");
    assert_eq!(get(server.address, "/b.txt").status, 200);
}

//! The directives for web servers: the page shows what the program prints, and each server does what they are for.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
};

use instep_testkit::{Run, free_port, instep, peers, wait_until};
use tempfile::TempDir;

use crate::pages::text;

const BASE: &str = "https://example.org/data/";

/// Returns the lines of the block of a language on the page about web servers.
fn block(language: &str) -> String {
    let page = text("docs/how-to/web-server.md");
    let block = page.split(&format!("```{language}\n")).nth(1).unwrap();
    block.split("```").next().unwrap().to_owned()
}

/// Publishes a folder and starts a server over it.
struct WebServer {
    folder: TempDir,
    port: u16,
    process: Child,
}

impl WebServer {
    /// Starts a server whose configuration has the directives of the page in it.
    fn start(program: &Path, configuration: fn(&str, u16, &Path) -> String, arguments: &[&str]) -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("data")).unwrap();
        fs::write(folder.path().join("data/a.txt"), "a").unwrap();
        let mut publish = instep(["publish", "data", "--base-url", BASE, "--quiet"]);
        let _ = Run::of(publish.current_dir(folder.path())).with_code(0);
        let port = free_port().unwrap();
        let file = folder.path().join("server.conf");
        let language = arguments[0];
        fs::write(&file, configuration(&block(language), port, folder.path())).unwrap();
        let mut command = Command::new(program);
        command.args(&arguments[1..]).arg(&file).current_dir(folder.path());
        command.env("HOME", folder.path()).stdin(Stdio::null()).stdout(Stdio::null());
        let server = Self { folder, port, process: command.spawn().unwrap() };
        wait_until(&format!("{language} answers"), || TcpStream::connect(("127.0.0.1", port)).is_ok());
        server
    }

    /// Returns the head of an answer in lower case.
    fn head(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        let answer = String::from_utf8_lossy(&answer).to_lowercase();
        answer.split("\r\n\r\n").next().unwrap().to_owned()
    }

    fn is_set_up(&self) {
        let found = self.head("/.well-known/resourcesync");
        assert!(
            found.contains(" 301 ") && found.contains("location: https://example.org/data/.well-known/"),
            "{found}"
        );
        let description = self.head("/data/.well-known/resourcesync");
        assert!(description.contains(" 200 ") && description.contains("application/xml"), "{description}");
        assert!(self.folder.path().join("data/.instep/catalogue.db").exists());
        let catalogue = self.head("/data/.instep/catalogue.db");
        assert!(catalogue.contains(" 404 "), "{catalogue}");
        let resource = self.head("/data/a.txt");
        let link = "link: <https://example.org/data/resourcesync/capabilitylist.xml>; rel=\"resourcesync\"";
        assert!(resource.contains(" 200 ") && resource.contains(link), "{resource}");
    }
}

impl Drop for WebServer {
    fn drop(&mut self) {
        // TERM first: a server that is killed leaves its workers behind.
        let _ = Command::new("kill").arg(self.process.id().to_string()).status();
        let _ = self.process.wait();
    }
}

fn nginx(directives: &str, port: u16, folder: &Path) -> String {
    let folder = folder.display();
    format!(
        "daemon off; pid {folder}/pid; error_log {folder}/error.log; events {{}}\n\
         http {{ access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; \
         fastcgi_temp_path {folder}/fastcgi; uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;\n\
         server {{ listen 127.0.0.1:{port}; root {folder};\n{directives}}} }}\n"
    )
}

fn apache(directives: &str, port: u16, folder: &Path) -> String {
    let folder = folder.display();
    let modules = ["mpm_event", "authz_core", "alias", "headers", "mime", "dir"];
    let modules =
        modules.map(|name| format!("LoadModule {name}_module /usr/lib/apache2/modules/mod_{name}.so\n"));
    format!(
        "{}ServerName localhost\nListen 127.0.0.1:{port}\nPidFile {folder}/pid\nErrorLog {folder}/error.log\n\
         TypesConfig /dev/null\nDefaultRuntimeDir {folder}\nDocumentRoot {folder}\n\
         <Directory {folder}>\nRequire all granted\n</Directory>\n{directives}",
        modules.concat()
    )
}

fn caddy(directives: &str, port: u16, folder: &Path) -> String {
    let folder = folder.display();
    format!("{{\nadmin off\n}}\nhttp://127.0.0.1:{port} {{\nroot * {folder}\n{directives}file_server\n}}\n")
}

#[test]
fn the_page_shows_the_directives_that_the_program_prints() {
    let folder = TempDir::new().unwrap();
    for server in ["nginx", "apache", "caddy"] {
        let mut setup = instep(["publish", ".", "--base-url", BASE, "--host-setup", server]);
        let printed = Run::of(setup.current_dir(folder.path())).with_code(0).stdout;
        assert!(printed.contains(&format!("\n{}", block(server))), "{server}\n{printed}");
    }
}

#[test]
fn nginx_serves_a_publication_with_the_directives_of_the_page() {
    if let Some([program]) = peers::find(["nginx"]) {
        WebServer::start(&program, nginx, &["nginx", "-c"]).is_set_up();
    }
}

#[test]
fn apache_serves_a_publication_with_the_directives_of_the_page() {
    if let Some([program]) = peers::find(["apache2"]) {
        WebServer::start(&program, apache, &["apache", "-X", "-f"]).is_set_up();
    }
}

#[test]
fn caddy_serves_a_publication_with_the_directives_of_the_page() {
    if let Some([program]) = peers::find(["caddy"]) {
        WebServer::start(&program, caddy, &["caddy", "run", "--adapter", "caddyfile", "--config"])
            .is_set_up();
    }
}

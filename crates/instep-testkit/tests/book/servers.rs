//! The directives for web servers: the page shows what the program prints, and each server does what they are for.

use std::{
    fs,
    io::{Read, Write},
    net::TcpStream,
    path::Path,
    process::{Child, Command, Stdio},
};

use instep_testkit::{Run, free_port, instep, peers, wait_until};
use percent_encoding::percent_decode_str;
use tempfile::TempDir;

use crate::pages::text;

const BASE: &str = "https://example.org/data/";

/// Returns the lines of the block of a language on the page about web servers.
fn block(language: &str) -> String {
    let page = text("docs/how-to/web-server.md");
    let block = page.split(&format!("```{language}\n")).nth(1).unwrap();
    block.split("```").next().unwrap().to_owned()
}

/// The folder of the page, and its name in URIs.
const PLAIN: (&str, &str) = ("data", "data");
/// A folder whose name has characters that mean something to servers, and its name in their answers.
const ODD: (&str, &str) = ("it's $1;b c", "it%27s%20%241;b%20c");

/// Publishes a folder and starts a server over it.
struct WebServer {
    folder: TempDir,
    port: u16,
    process: Child,
}

impl WebServer {
    /// Starts a server of a folder with this name, whose configuration has the directives that the program prints.
    fn start(
        program: &Path,
        configuration: fn(&str, u16, &Path) -> String,
        arguments: &[&str],
        name: &str,
    ) -> Self {
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join(name)).unwrap();
        fs::write(folder.path().join(name).join("a.txt"), "a").unwrap();
        let base = format!("https://example.org/{name}/");
        let mut publish = instep(["publish", name, "--base-url", &base, "--quiet"]);
        let _ = Run::of(publish.current_dir(folder.path())).with_code(0);
        let port = free_port().unwrap();
        let file = folder.path().join("server.conf");
        let language = arguments[0];
        let mut setup = instep(["publish", name, "--base-url", &base, "--host-setup", language]);
        let printed = Run::of(setup.current_dir(folder.path())).with_code(0).stdout;
        let directives: String = printed
            .lines()
            .skip(1)
            .take_while(|line| !line.starts_with('#'))
            .flat_map(|line| [line, "\n"])
            .collect();
        fs::write(&file, configuration(&directives, port, folder.path())).unwrap();
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

    /// Checks the answers for a folder with this name, which has this form in URIs.
    fn is_set_up(&self, (name, path): (&str, &str)) {
        let found = self.head("/.well-known/resourcesync");
        // Each server escapes as much as it likes.
        let location = format!("location: https://example.org/{name}/.well-known/");
        assert!(found.contains(" 301 ") && unescaped(&found).contains(&location), "{found}");
        let description = self.head(&format!("/{path}/.well-known/resourcesync"));
        assert!(description.contains(" 200 ") && description.contains("application/xml"), "{description}");
        assert!(self.folder.path().join(name).join(".instep/catalogue.db").exists());
        let catalogue = self.head(&format!("/{path}/.instep/catalogue.db"));
        assert!(catalogue.contains(" 404 "), "{catalogue}");
        let resource = self.head(&format!("/{path}/a.txt"));
        let link = format!(
            "link: <https://example.org/{name}/resourcesync/capabilitylist.xml>; rel=\"resourcesync\""
        );
        assert!(resource.contains(" 200 ") && unescaped(&resource).contains(&link), "{resource}");
    }
}

fn unescaped(text: &str) -> String {
    percent_decode_str(text).decode_utf8().unwrap().into_owned()
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
    serves("nginx", nginx, &["nginx", "-c"], PLAIN);
}

#[test]
fn apache_serves_a_publication_with_the_directives_of_the_page() {
    serves("apache2", apache, &["apache", "-X", "-f"], PLAIN);
}

#[test]
fn caddy_serves_a_publication_with_the_directives_of_the_page() {
    serves("caddy", caddy, &["caddy", "run", "--adapter", "caddyfile", "--config"], PLAIN);
}

#[test]
fn o262_nginx_serves_a_publication_below_a_path_that_needs_quotes() {
    serves("nginx", nginx, &["nginx", "-c"], ODD);
}

#[test]
fn o262_apache_serves_a_publication_below_a_path_that_needs_quotes() {
    serves("apache2", apache, &["apache", "-X", "-f"], ODD);
}

#[test]
fn o262_caddy_serves_a_publication_below_a_path_that_needs_quotes() {
    serves("caddy", caddy, &["caddy", "run", "--adapter", "caddyfile", "--config"], ODD);
}

fn serves(
    program: &str,
    configuration: fn(&str, u16, &Path) -> String,
    arguments: &[&str],
    folder: (&str, &str),
) {
    if let Some([program]) = peers::find([program]) {
        WebServer::start(&program, configuration, arguments, folder.0).is_set_up(folder);
    }
}

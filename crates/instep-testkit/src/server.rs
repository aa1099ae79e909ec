//! Servers in other processes, and free ports for them.

use std::{
    fs, io,
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
};

use crate::wait_for;

/// A web server of another project over a folder, on a free port of 127.0.0.1. It ends when this value is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    port: u16,
}

impl Server {
    /// Starts nginx with one worker over a folder. Its own files are written to `home`.
    ///
    /// # Errors
    /// If it does not start.
    pub fn nginx(program: &Path, folder: &Path, home: &Path) -> io::Result<Self> {
        let port = free_port()?;
        fs::create_dir_all(home)?;
        let configuration = home.join("nginx.conf");
        fs::write(&configuration, nginx_configuration(port, folder, home))?;
        let mut command = Command::new(program);
        Self::start(command.arg("-p").arg(home).arg("-c").arg(&configuration), port)
    }

    /// Starts Python's `http.server` over a folder.
    ///
    /// # Errors
    /// When it does not start.
    pub fn python(program: &Path, folder: &Path) -> io::Result<Self> {
        let port = free_port()?;
        let mut command = Command::new(program);
        command.args(["-m", "http.server", "--bind", "127.0.0.1", &port.to_string()]);
        Self::start(command.arg("--directory").arg(folder), port)
    }

    /// Starts a command that will listen on a port, and waits until it does.
    ///
    /// # Errors
    /// When it ends.
    ///
    /// # Panics
    /// If it does not listen after [`LONG`](crate::LONG).
    pub fn start(command: &mut Command, port: u16) -> io::Result<Self> {
        let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut server = Self { child: quiet.spawn()?, port };
        wait_for(|| match (TcpStream::connect(("127.0.0.1", port)), server.child.try_wait()) {
            (Ok(_), _) => Ok(Ok(())),
            (_, Ok(Some(status))) => Ok(Err(io::Error::other(format!("{command:?} ended: {status}")))),
            (Err(_), _) => Err(format!("{command:?} does not listen")),
        })?;
        Ok(server)
    }

    /// Returns the URL of its root, with a final slash.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }

    /// Returns the process's id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The master process of nginx ends its worker only if it is asked to end, so SIGKILL is not sent first.
        drop(Command::new("kill").arg(self.child.id().to_string()).status());
        drop(self.child.wait());
    }
}

/// Returns a port without a listener.
///
/// # Errors
/// If there is none.
pub fn free_port() -> io::Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}

fn nginx_configuration(port: u16, folder: &Path, home: &Path) -> String {
    format!(
        "daemon off; worker_processes 1; pid {home}/pid; error_log {home}/error.log;\n\
         events {{ worker_connections 4096; }}\n\
         http {{ access_log off; sendfile on; tcp_nopush on; keepalive_requests 1000000;\n\
         types {{ text/plain txt; application/xml xml; }} default_type application/octet-stream;\n\
         client_body_temp_path {home}/b; proxy_temp_path {home}/p; fastcgi_temp_path {home}/f;\n\
         uwsgi_temp_path {home}/u; scgi_temp_path {home}/s;\n\
         server {{ listen 127.0.0.1:{port}; root {root}; autoindex on; }} }}\n",
        home = home.display(),
        root = folder.display(),
    )
}

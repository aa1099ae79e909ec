//! The server that the copies come from.

use std::{
    fs,
    net::{TcpListener, TcpStream},
    path::Path,
    process::{Child, Command, Stdio},
    thread,
    time::Duration,
};

use anyhow::{Result, bail};

use crate::data;

/// nginx with one worker over a folder; it ends when dropped.
pub struct Nginx {
    child: Child,
    port: u16,
}

impl Nginx {
    /// Serves a folder on a free port of 127.0.0.1.
    pub fn serve(folder: &Path) -> Result<Self> {
        let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
        let home = data::empty("nginx")?;
        let configuration = home.join("nginx.conf");
        fs::write(
            &configuration,
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
            ),
        )?;
        let mut command = Command::new("nginx");
        command.arg("-p").arg(&home).arg("-c").arg(&configuration);
        let child = command.stdin(Stdio::null()).stderr(Stdio::null()).spawn()?;
        let mut server = Self { child, port };
        server.wait()?;
        Ok(server)
    }

    fn wait(&mut self) -> Result<()> {
        for _ in 0..500 {
            if TcpStream::connect(("127.0.0.1", self.port)).is_ok() {
                return Ok(());
            }
            if let Some(status) = self.child.try_wait()? {
                bail!("nginx ended: {status}");
            }
            thread::sleep(Duration::from_millis(10));
        }
        bail!("nginx does not listen")
    }

    /// The URL of its root, with a final slash.
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}/", self.port)
    }
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // The master ends its worker only when it is told to, so no SIGKILL.
        drop(Command::new("kill").args(["-QUIT", &self.child.id().to_string()]).status());
        drop(self.child.wait());
    }
}

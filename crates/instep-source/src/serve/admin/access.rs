//! Access to the listener for applications: its place, its token, and the file that names both.

use std::{
    fs,
    io::{self, Write},
    os::unix::{
        fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt},
        net::{UnixListener, UnixStream},
    },
    path::{Path, PathBuf},
};

use axum::Router;
use serde_json::json;
use tokio::task::JoinHandle;

use super::AdminOptions;
use crate::{
    Error,
    serve::{
        address::Reserved,
        connection::{ServerLimits, serve_on},
    },
};

/// The file in the state folder with the address of the listener and its token; readable only by the operator.
pub const ADMIN_FILE: &str = "admin.json";
/// The prefix of the path of a socket, in place of an address.
const SOCKET: &str = "unix:";

/// The place and the token, and the file that names them, which is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Access {
    place: Option<AdminAddress>,
    token: String,
    file: PathBuf,
    socket: Option<PathBuf>,
}

/// The place that applications connect to.
#[derive(Debug)]
enum AdminAddress {
    Address(Reserved),
    Socket(UnixListener),
}

impl Access {
    pub(crate) fn prepare(options: AdminOptions, state: &Path) -> Result<Self, Error> {
        let socket = options.listen.strip_prefix(SOCKET).map(PathBuf::from);
        let place = match &socket {
            Some(path) => bind(path)
                .map(AdminAddress::Socket)
                .map_err(|source| Error::Listen { address: options.listen.clone(), source }),
            None => loopback(&options.listen).map(AdminAddress::Address),
        };
        let place = place.map_err(for_applications)?;
        let token =
            options.token.unwrap_or_else(|| blake3::hash(&rand::random::<[u8; 32]>()).to_hex().to_string());
        let access = Self { place: Some(place), token, file: state.join(ADMIN_FILE), socket };
        access.write().map_err(Error::write(&access.file))?;
        Ok(access)
    }

    pub(crate) fn token(&self) -> &str {
        &self.token
    }

    /// Answers there, on a task; once.
    pub(crate) fn serve(
        &mut self,
        routes: Router,
        limits: ServerLimits,
    ) -> Result<Option<JoinHandle<()>>, Error> {
        let never = std::future::pending();
        Ok(match self.place.take() {
            None => None,
            Some(AdminAddress::Address(reserved)) => {
                let (listener, _) = reserved.listen()?;
                Some(tokio::spawn(async { drop(serve_on(listener, routes, limits, None, never).await) }))
            }
            Some(AdminAddress::Socket(listener)) => {
                let listener = tokio::net::UnixListener::from_std(listener)
                    .map_err(|source| Error::Listen { address: SOCKET.to_owned(), source })?;
                Some(tokio::spawn(async { drop(serve_on(listener, routes, limits, None, never).await) }))
            }
        })
    }

    fn write(&self) -> io::Result<()> {
        let url = match &self.place {
            Some(AdminAddress::Address(reserved)) => reserved.base_url(false).ok(),
            _ => None,
        };
        let socket = self.socket.as_ref().map(std::path::absolute).transpose()?;
        let _ = fs::remove_file(&self.file);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&self.file)?;
        // A copy of the folder has a copy of this file, with another path and another number, which does not lead to this
        // server. Some file systems give numbers anew, and a container may see the folder at another path.
        let path = fs::canonicalize(&self.file).ok().map(|path| path.to_string_lossy().into_owned());
        let inode = file.metadata()?.ino();
        let access =
            json!({ "url": url, "socket": socket, "token": self.token, "path": path, "inode": inode });
        writeln!(file, "{access}")
    }
}

impl Drop for Access {
    fn drop(&mut self) {
        for file in [Some(&self.file), self.socket.as_ref()].into_iter().flatten() {
            let _ = fs::remove_file(file);
        }
    }
}

/// Names the purpose of an address that cannot be listened on, because the server itself has another one.
fn for_applications(error: Error) -> Error {
    match error {
        Error::Listen { address, source } => {
            Error::Listen { address: format!("{address} for applications"), source }
        }
        error => error,
    }
}

fn loopback(listen: &str) -> Result<Reserved, Error> {
    let reserved = Reserved::bind(listen)?;
    if !reserved.is_loopback() {
        let what = format!("{listen} is not a loopback address; put a proxy with TLS before it");
        return Err(Error::option("admin", what));
    }
    Ok(reserved)
}

/// Opens a socket that only its owner may use. A socket that a killed server left behind is removed first.
fn bind(path: &Path) -> io::Result<UnixListener> {
    let is_socket = fs::symlink_metadata(path).is_ok_and(|it| it.file_type().is_socket());
    if is_socket && UnixStream::connect(path).is_err() {
        fs::remove_file(path)?;
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    listener.set_nonblocking(true)?;
    Ok(listener)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_socket_that_was_left_behind_is_replaced_and_one_in_use_or_a_file_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let first = bind(&path).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(bind(&path).is_err());
        drop(first);
        bind(&path).unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "mine").unwrap();
        assert!(bind(&file).is_err());
        assert_eq!(fs::read(&file).unwrap(), b"mine");
    }

    #[test]
    fn an_address_that_others_reach_is_refused() {
        assert!(matches!(loopback("0.0.0.0:0"), Err(Error::Options { .. })));
    }
}

//! The address to listen on, taken before there is anything to answer with.

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};

use socket2::{Domain, Protocol, Socket, Type};

use crate::Error;

/// A bound address: it is ours, but connections are refused until [`Reserved::listen`].
#[derive(Debug)]
pub(crate) struct Reserved {
    socket: Socket,
    address: SocketAddr,
    host: String,
}

impl Reserved {
    /// Binds `HOST:PORT`.
    pub(crate) fn bind(listen: &str) -> Result<Self, Error> {
        let failed = |source| Error::Listen { address: listen.to_owned(), source };
        let port = listen.rsplit_once(':').map_or("", |(_, port)| port);
        if port.is_empty() || !port.bytes().all(|byte| byte.is_ascii_digit()) {
            let what = format!("{listen:?} has no port; write HOST:PORT, such as 127.0.0.1:8080");
            return Err(Error::option("listen", what));
        }
        let wanted = listen.to_socket_addrs().map_err(failed)?.next().ok_or_else(|| {
            Error::option("listen", format!("{listen:?} names no address; write HOST:PORT"))
        })?;
        let bound = || {
            let socket = Socket::new(Domain::for_address(wanted), Type::STREAM, Some(Protocol::TCP))?;
            // A restart must not wait until connections of the last run are forgotten.
            socket.set_reuse_address(true)?;
            socket.bind(&wanted.into())?;
            let address = socket.local_addr()?.as_socket().unwrap_or(wanted);
            Ok((socket, address))
        };
        let (socket, address) = bound().map_err(failed)?;
        let host = listen.rsplit_once(':').map_or(listen, |(host, _)| host).to_owned();
        Ok(Self { socket, address, host })
    }

    /// Returns the base URL of this address.
    ///
    /// # Errors
    /// If it is a wildcard, which no client could use, or names an interface, which no URL can do.
    pub(crate) fn base_url(&self, is_tls: bool) -> Result<String, Error> {
        let needed =
            |why: &str| Error::option("base URL", format!("is needed to listen on {}: {why}", self.address));
        if self.address.ip().is_unspecified() {
            return Err(needed("no client can use that address"));
        }
        if self.host.contains('%') {
            return Err(needed("no URL can name the interface of an address"));
        }
        let scheme = if is_tls { "https" } else { "http" };
        Ok(format!("{scheme}://{}:{}/", self.host, self.address.port()))
    }

    /// Returns `true` if only this machine can connect to it.
    pub(crate) fn is_loopback(&self) -> bool {
        self.address.ip().is_loopback()
    }

    /// Lets clients connect.
    pub(crate) fn listen(self) -> Result<(tokio::net::TcpListener, SocketAddr), Error> {
        let Self { socket, address, .. } = self;
        let listening = || {
            socket.listen(1024)?;
            socket.set_nonblocking(true)?;
            tokio::net::TcpListener::from_std(TcpListener::from(socket))
        };
        let failed = |source| Error::Listen { address: address.to_string(), source };
        Ok((listening().map_err(failed)?, address))
    }
}

/// Returns the number of connections for which there are descriptors: each may take a second one for the file that it is
/// sent, and publications, the catalogue and other listeners need theirs.
pub(super) fn most_connections() -> usize {
    const OTHERS: u64 = 64;
    const FEWEST: u64 = 8;
    usize::try_from((instep_store::open_files_limit().saturating_sub(OTHERS) / 2).max(FEWEST))
        .unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ErrorKind;

    #[test]
    fn a_wildcard_needs_a_base_url_and_a_loopback_address_is_one() {
        assert!(Reserved::bind("0.0.0.0:0").unwrap().base_url(false).is_err());
        let reserved = Reserved::bind("127.0.0.1:0").unwrap();
        assert_eq!(
            reserved.base_url(true).unwrap(),
            format!("https://127.0.0.1:{}/", reserved.address.port())
        );
        for listen in ["nonsense", "127.0.0.1", "[::1]", "127.0.0.1:", "localhost:http"] {
            let refused = Reserved::bind(listen).unwrap_err();
            assert_eq!(refused.kind(), ErrorKind::Usage, "{listen}");
            assert!(refused.to_string().contains(listen), "{refused}");
        }
    }

    #[test]
    fn o478_an_address_with_an_interface_needs_a_base_url() {
        let local = Reserved::bind("127.0.0.1:0").unwrap();
        let error = Reserved { host: "[fe80::1%4]".to_owned(), ..local }.base_url(false).unwrap_err();
        assert!(error.to_string().contains("interface"), "{error}");
    }

    #[test]
    fn a_reserved_address_answers_nobody() {
        let reserved = Reserved::bind("127.0.0.1:0").unwrap();
        assert!(std::net::TcpStream::connect(reserved.address).is_err());
    }
}

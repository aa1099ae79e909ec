//! A proxy to a server that cuts the connection at a given message.

use std::{
    io::{Read as _, Write as _},
    net::{Shutdown, TcpListener, TcpStream},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicI64, Ordering},
    },
    thread,
};

/// Passes messages to a server and back, until it cuts a connection once.
#[derive(Debug)]
pub struct Cutter {
    /// The port of the proxy.
    pub port: u16,
    left: Arc<AtomicI64>,
}

impl Cutter {
    /// Starts a proxy to the server at a port. With `answers_are_lost`, the message at which the connection is cut
    /// arrives, but its answer does not; otherwise neither arrives.
    ///
    /// # Panics
    /// If there is no port for it.
    pub fn before(server: u16, answers_are_lost: bool) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let port = listener.local_addr().expect("an address").port();
        let left = Arc::new(AtomicI64::new(0));
        let counter = Arc::clone(&left);
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                hand_on(client, server, &counter, answers_are_lost);
            }
        });
        Self { port, left }
    }

    /// Cuts after this number of messages from now on; 0 means never.
    pub fn cut_at(&self, message: i64) {
        self.left.store(message, Ordering::SeqCst);
    }

    /// Returns `true` if a connection was cut.
    pub fn has_cut(&self) -> bool {
        self.left.load(Ordering::SeqCst) <= 0
    }
}

fn hand_on(client: TcpStream, server: TcpStream, left: &Arc<AtomicI64>, answers_are_lost: bool) {
    let is_cut = Arc::new(AtomicBool::new(false));
    let (mut from_server, mut to_client) =
        (server.try_clone().expect("a socket"), client.try_clone().expect("a socket"));
    let cut = Arc::clone(&is_cut);
    thread::spawn(move || {
        let mut buffer = [0; 65_536];
        while let Ok(length @ 1..) = from_server.read(&mut buffer) {
            if cut.load(Ordering::SeqCst) || to_client.write_all(&buffer[..length]).is_err() {
                break;
            }
        }
        let _ = (to_client.shutdown(Shutdown::Both), from_server.shutdown(Shutdown::Both));
    });
    let (mut from_client, mut to_server, left) = (client, server, Arc::clone(left));
    thread::spawn(move || {
        let mut buffer = [0; 65_536];
        while let Ok(length @ 1..) = from_client.read(&mut buffer) {
            if left.load(Ordering::SeqCst) > 0 && left.fetch_sub(1, Ordering::SeqCst) == 1 {
                is_cut.store(true, Ordering::SeqCst);
                if !answers_are_lost {
                    break;
                }
            }
            if to_server.write_all(&buffer[..length]).is_err() {
                break;
            }
            if is_cut.load(Ordering::SeqCst) {
                // The other thread closes both connections once the answer has arrived.
                return;
            }
        }
        let _ = (from_client.shutdown(Shutdown::Both), to_server.shutdown(Shutdown::Both));
    });
}

//! TCP connections to one of several addresses of a host: the first that answers is used (RFC 8305).

use std::{
    collections::VecDeque,
    io,
    net::{IpAddr, SocketAddr},
    time::Duration,
};

use tokio::{net::TcpStream, task::JoinSet, time::sleep};

/// The time that an address has to answer before the next one is tried beside it. RFC 8305 recommends it; a host whose
/// first address is dead costs no more than that for each connection.
const HEAD_START: Duration = Duration::from_millis(250);

/// Connects to the first address that answers. The attempts to the others end then. The caller limits the time.
///
/// # Errors
/// The error of the last attempt, if each of them failed.
pub(crate) async fn dial(host: &str, addresses: &[IpAddr], port: u16) -> io::Result<TcpStream> {
    let mut left = VecDeque::from(alternating(addresses));
    let mut attempts = JoinSet::new();
    let mut last = io::Error::new(io::ErrorKind::NotFound, format!("{host} has no address"));
    loop {
        if let Some(address) = left.pop_front() {
            attempts.spawn(TcpStream::connect(SocketAddr::new(address, port)));
        }
        let ended = tokio::select! {
            ended = attempts.join_next() => ended,
            () = sleep(HEAD_START), if !left.is_empty() => continue,
        };
        match ended {
            Some(Ok(Ok(stream))) => return Ok(stream),
            Some(Ok(Err(error))) => last = error,
            Some(Err(error)) => last = error.into(),
            None => return Err(last),
        }
    }
}

/// Returns the addresses so that those of IPv4 and IPv6 take turns: a network may have only one of the two.
fn alternating(addresses: &[IpAddr]) -> Vec<IpAddr> {
    let (first, second): (Vec<IpAddr>, Vec<IpAddr>) = addresses
        .iter()
        .partition(|address| Some(address.is_ipv4()) == addresses.first().map(IpAddr::is_ipv4));
    let (mut first, mut second) = (first.into_iter(), second.into_iter());
    let pairs = std::iter::from_fn(|| Some([first.next(), second.next()]).filter(|pair| *pair != [None; 2]));
    pairs.flatten().flatten().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_both_families_take_turns_in_their_order() {
        let parse = |text: &str| text.split(' ').map(|address| address.parse().unwrap()).collect::<Vec<_>>();
        for (given, tried) in [
            ("::1 ::2 ::3 10.0.0.1", "::1 10.0.0.1 ::2 ::3"),
            ("10.0.0.1 10.0.0.2 ::1", "10.0.0.1 ::1 10.0.0.2"),
            ("10.0.0.1", "10.0.0.1"),
        ] {
            assert_eq!(alternating(&parse(given)), parse(tried), "{given}");
        }
    }
}

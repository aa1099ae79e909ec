//! Several servers of one database: their URL, as libpq writes it (`postgres://me@one:5432,two/copies`), and connecting to
//! one after the other.

use std::{
    borrow::Cow,
    collections::BTreeMap,
    iter,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::timeout;
use tokio_postgres::{
    Client, Config, Connection, Error, Socket,
    config::{Host, LoadBalanceHosts, TargetSessionAttrs},
    tls::MakeTlsConnect,
};

/// The port of a server without one.
const PORT: &str = "5432";

/// The place of the host that took the last connection, for each list of hosts. After a failover the first of them may be a
/// machine that does not answer, and each connection would wait for it again.
static LAST: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());

/// Returns a URL whose servers are parameters, if it has several, because other parsers accept this form too. Of
/// several servers the one that accepts writes is used, unless the URL says otherwise.
pub(crate) fn as_parameters(text: &str) -> Cow<'_, str> {
    let Some((scheme, rest)) = text.split_once("://") else { return text.into() };
    let (authority, tail) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (login, hosts) = authority.rsplit_once('@').unwrap_or(("", authority));
    if !hosts.contains(',') {
        return text.into();
    }
    let (path, query) = tail.split_once('?').unwrap_or((tail, ""));
    let mut parameters: Vec<String> =
        query.split('&').filter(|one| !one.is_empty()).map(str::to_owned).collect();
    let (user, password) = login.split_once(':').unwrap_or((login, ""));
    let login = [("user", user), ("password", password)].into_iter().filter(|(_, value)| !value.is_empty());
    // A plus is an ordinary character in a login and means a blank in a query.
    parameters.extend(login.map(|(name, value)| format!("{name}={}", value.replace('+', "%2B"))));
    let mut ports = Vec::new();
    for server in hosts.split(',') {
        let (host, port) = match server.rsplit_once(':') {
            Some((host, port)) if !port.contains(']') => (host, port),
            _ => (server, PORT),
        };
        parameters.push(format!("host={}", host.trim_matches(['[', ']'])));
        ports.push(if port.is_empty() { PORT } else { port });
    }
    parameters.push(format!("port={}", ports.join(",")));
    if !query.contains("target_session_attrs=") {
        parameters.push("target_session_attrs=read-write".to_owned());
    }
    let path = if path.is_empty() { "/" } else { path };
    format!("{scheme}://{path}?{}", parameters.join("&")).into()
}

/// Connects to the first host that takes the connection within this time; the one that took the last connection is tried
/// first. If none does, returns the error of the last one; `None` if that did not answer.
pub(crate) async fn connect<T>(
    config: &Config,
    tls: T,
    within: Duration,
) -> Option<Result<(Client, Connection<Socket, T::Stream>), Error>>
where
    T: MakeTlsConnect<Socket> + Clone,
{
    let (hosts, list) = (each_host(config), list_of(config));
    let first = list.as_deref().map_or(0, last_of).min(hosts.len() - 1);
    let others = (0..hosts.len()).filter(move |place| *place != first);
    let mut last = None;
    for place in iter::once(first).chain(others) {
        last = timeout(within, hosts[place].connect(tls.clone())).await.ok();
        if matches!(last, Some(Ok(_))) {
            note_last(list, place);
            break;
        }
    }
    last
}

/// Returns the list of hosts in a configuration, if one of them is to accept writes; `None` if any will do, so that their order
/// is the operator's.
fn list_of(config: &Config) -> Option<String> {
    let is_one_of_them = config.get_target_session_attrs() == TargetSessionAttrs::ReadWrite;
    let list = || format!("{:?} {:?} {:?}", config.get_hosts(), config.get_hostaddrs(), config.get_ports());
    is_one_of_them.then(list)
}

/// Returns the place of the host of a list that took the last connection; that of the first host if none has.
fn last_of(list: &str) -> usize {
    let last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    last.get(list).copied().unwrap_or_default()
}

/// Remembers the place of the host of a list that has taken a connection.
fn note_last(list: Option<String>, place: usize) {
    if let Some(list) = list {
        LAST.lock().unwrap_or_else(PoisonError::into_inner).insert(list, place);
    }
}

/// Returns the configuration for each host, in the order in which they are tried. The client of PostgreSQL waits without
/// end for a host that takes a connection and says nothing, so that each one needs a limit. In an order by chance the next
/// attempt begins with another one.
fn each_host(config: &Config) -> Vec<Config> {
    let (hosts, addresses, ports) = (config.get_hosts(), config.get_hostaddrs(), config.get_ports());
    let count = hosts.len().max(addresses.len());
    // The client refuses numbers that do not fit each other.
    let fits = [hosts.len(), addresses.len()].into_iter().all(|given| given == 0 || given == count)
        && (ports.len() < 2 || ports.len() == count);
    if count < 2 || !fits || config.get_load_balance_hosts() != LoadBalanceHosts::Disable {
        return vec![config.clone()];
    }
    let one = |index: usize| {
        let mut one = without_hosts(config);
        match hosts.get(index) {
            Some(Host::Tcp(name)) => {
                one.host(name);
            }
            Some(Host::Unix(folder)) => {
                one.host_path(folder);
            }
            None => {}
        }
        if let Some(address) = addresses.get(index) {
            one.hostaddr(*address);
        }
        if let Some(port) = ports.get(index).or(ports.first()) {
            one.port(*port);
        }
        one
    };
    (0..count).map(one).collect()
}

/// Returns everything in a configuration but its hosts.
fn without_hosts(config: &Config) -> Config {
    let mut rest = Config::new();
    rest.ssl_mode(config.get_ssl_mode())
        .ssl_negotiation(config.get_ssl_negotiation())
        .channel_binding(config.get_channel_binding())
        .target_session_attrs(config.get_target_session_attrs())
        .keepalives(config.get_keepalives())
        .keepalives_idle(config.get_keepalives_idle());
    if let Some(user) = config.get_user() {
        rest.user(user);
    }
    if let Some(password) = config.get_password() {
        rest.password(password);
    }
    if let Some(name) = config.get_dbname() {
        rest.dbname(name);
    }
    if let Some(options) = config.get_options() {
        rest.options(options);
    }
    if let Some(name) = config.get_application_name() {
        rest.application_name(name);
    }
    if let Some(time) = config.get_connect_timeout() {
        rest.connect_timeout(*time);
    }
    if let Some(time) = config.get_tcp_user_timeout() {
        rest.tcp_user_timeout(*time);
    }
    if let Some(time) = config.get_keepalives_interval() {
        rest.keepalives_interval(time);
    }
    if let Some(count) = config.get_keepalives_retries() {
        rest.keepalives_retries(count);
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_servers_become_parameters_and_one_stays_as_it_is() {
        for one in
            ["postgres://me@h:5432/d?schema=s", "postgres:///d?host=a", "nothing", "postgres://[::1]:5/d"]
        {
            assert_eq!(as_parameters(one), one);
        }
        assert_eq!(
            as_parameters("postgres://me:a+b%40@one:5433,[::1],two/d?schema=s"),
            "postgres:///d?schema=s&user=me&password=a%2Bb%40&host=one&host=::1&host=two&port=5433,5432,5432\
             &target_session_attrs=read-write"
        );
        let any = "postgres://a,b?target_session_attrs=any";
        assert_eq!(as_parameters(any), "postgres:///?target_session_attrs=any&host=a&host=b&port=5432,5432");
    }

    #[test]
    fn each_of_several_hosts_is_reached_as_the_url_says() {
        let url = "postgres:///d?user=me&password=p&options=-c%20a=b&host=one&host=/run/two&port=1,2&keepalives_retries=7";
        let config: Config = url.parse().unwrap();
        let hosts = each_host(&config);
        let one: Config = url.replace("&host=/run/two", "").replace("1,2", "1").parse().unwrap();
        let two: Config = url.replace("host=one&", "").replace("1,2", "2").parse().unwrap();
        assert!(hosts == [one.clone(), two]);
        assert!(each_host(&one) == [one]);
    }
}

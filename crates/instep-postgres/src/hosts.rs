//! URLs with several servers, as libpq writes them: `postgres://me@one:5432,two/copies`.

use std::borrow::Cow;

/// The port of a server without one.
const PORT: &str = "5432";

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

#[cfg(test)]
mod tests {
    use super::as_parameters;

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
}

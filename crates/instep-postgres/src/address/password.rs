//! The password of a login whose URL has none: that of the environment, or of the password file of libpq.

use std::{env, fs, path::PathBuf};

use tokio_postgres::{Config, config::Host};

/// Returns the password of the environment, or that of the password file of libpq.
pub(super) fn password(config: &Config, passfile: Option<PathBuf>) -> Option<String> {
    if let Some(password) = env::var("PGPASSWORD").ok().filter(|password| !password.is_empty()) {
        return Some(password);
    }
    let home = || Some(PathBuf::from(env::var_os("HOME")?).join(".pgpass"));
    let file = passfile.or_else(|| env::var_os("PGPASSFILE").map(PathBuf::from)).or_else(home)?;
    let text = fs::read_to_string(file).ok()?;
    let host = config.get_hosts().first().map_or_else(
        || "localhost".to_owned(),
        |host| match host {
            Host::Tcp(host) => host.clone(),
            // As in libpq: a socket is the local host.
            Host::Unix(_) => "localhost".to_owned(),
        },
    );
    let port = config.get_ports().first().copied().unwrap_or(5_432).to_string();
    let user = config.get_user().unwrap_or_default();
    let database = config.get_dbname().unwrap_or(user);
    text.lines().find_map(|line| password_in(line, [&host, &port, database, user]))
}

/// Returns the password of a line of a password file, if the line is about a login.
pub(super) fn password_in(line: &str, login: [&str; 4]) -> Option<String> {
    if line.starts_with('#') {
        return None;
    }
    let mut fields = vec![String::new()];
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            // The password is the rest.
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => fields.last_mut()?.extend(characters.next()),
            character => fields.last_mut()?.push(character),
        }
    }
    let password = (fields.len() == 5).then(|| fields.pop()).flatten()?;
    let fits = fields.iter().zip(login).all(|(field, value)| field == "*" || field == value);
    fits.then_some(password)
}

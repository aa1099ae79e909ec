//! Addresses of databases, and what is refused in them.

use super::{Address, Trust, password::password_in};

#[test]
fn a_password_is_never_shown() {
    for url in [
        "postgres://me:secret@db.example/copies?schema=mirror&sslmode=require",
        "postgresql://me@db.example/copies?password=secret&connect_timeout=3",
    ] {
        let address = Address::parse(url).unwrap();
        assert_eq!(address.config.get_password(), Some(&b"secret"[..]));
        assert!(!format!("{address:?}").contains("secret"), "{address:?}");
        assert!(address.shown.starts_with("postgres"));
    }
    for url in
        ["postgres://me:secret@h/d?sslmode=maybe", "postgres://me:secret@h:x/d", "mysql://me:secret@h/d"]
    {
        let refused = Address::parse(url).unwrap_err().to_string();
        assert!(!refused.contains("secret"), "{refused}");
    }
}

#[test]
fn o311_a_url_without_a_scheme_is_answered_with_one_and_a_parameter_is_there_once() {
    for text in ["/srv/state", "db.example/copies", "state"] {
        let refused = Address::parse(text).unwrap_err().to_string();
        assert!(refused.contains("write postgres://USER@HOST/DATABASE"), "{text}: {refused}");
    }
    for twice in ["copy=a&copy=b", "schema=a&sslmode=require&schema=a"] {
        let refused = Address::parse(&format!("postgres://me@h/d?{twice}")).unwrap_err().to_string();
        assert!(refused.contains("= twice"), "{twice}: {refused}");
    }
    assert!(Address::parse("postgres://me@h:1,g:2/d?copy=a").is_ok());
}

#[test]
fn what_is_shown_is_a_url_of_the_same_state() {
    let address = Address::parse("postgres://me:x@h:5433/d?schema=s&copy=c&sslmode=verify-full").unwrap();
    assert_eq!((address.schema.as_str(), address.copy.as_deref()), ("s", Some("c")));
    assert_eq!(address.trust, Trust::Verified(None));
    let again = Address::parse(&address.shown).unwrap();
    assert_eq!((again.schema, again.trust), (address.schema, address.trust));
    assert_eq!(again.config.get_ports(), [5_433]);
    assert_eq!(Address::parse("postgres://me@h/d").unwrap().schema, "instep");
    let several = Address::parse("postgres://me:secret@h:1,g:2/d?schema=s").unwrap();
    assert_eq!((several.config.get_hosts().len(), several.config.get_ports()), (2, &[1, 2][..]));
    let again = Address::parse(&several.shown).unwrap();
    assert_eq!(
        (again.config.get_hosts(), again.config.get_ports()),
        (several.config.get_hosts(), &[1, 2][..])
    );
    assert!(!several.shown.contains("secret") && several.config.get_password() == Some(b"secret"));
}

#[test]
fn o468_what_is_recorded_leads_to_a_server_that_is_verified_as_before() {
    let url = "postgres://me:secret@h/d?sslmode=require&sslrootcert=/etc/ca.pem&passfile=/etc/logins";
    let address = Address::parse(url).unwrap();
    assert!(!address.recorded.contains("secret"), "{}", address.recorded);
    let again = Address::parse(&address.recorded).unwrap();
    assert_eq!(again.trust, Trust::Verified(Some("/etc/ca.pem".into())));
    assert_eq!(again.recorded, address.recorded);
    assert!(again.recorded.contains("passfile="), "{}", again.recorded);
    // The state is the same one, whatever file has the authorities, also for a note without them.
    assert!(address.is_that_of("postgres://me@h/d?sslmode=require") && address.is_that_of(&again.recorded));
    assert!(!address.is_that_of("postgres://me@h/other?sslmode=require"));
    // A path is that of the folder in which the URL was given.
    let relative = Address::parse("postgres://me@h/d?sslmode=verify-full&sslrootcert=ca.pem").unwrap();
    let Trust::Verified(Some(file)) = Address::parse(&relative.recorded).unwrap().trust else { panic!() };
    assert_eq!(file, std::path::absolute("ca.pem").unwrap());
}

#[test]
fn o118_a_url_without_a_host_is_a_wrong_url_and_no_server_that_cannot_be_reached() {
    for text in ["postgres://", "postgres:///copies", "postgres:///copies?user=me"] {
        let error = Address::parse(text).unwrap_err();
        assert!(
            matches!(error, super::PostgresError::Url { .. }) && error.to_string().contains("no host"),
            "{text}"
        );
    }
    assert!(Address::parse("postgres:///copies?host=/run/postgresql").is_ok());
}

#[test]
fn a_line_of_the_password_file_is_read_as_libpq_reads_it() {
    let login = ["h", "5432", "d", "me"];
    assert_eq!(password_in("h:5432:d:me:one", login).as_deref(), Some("one"));
    assert_eq!(password_in("*:*:*:me:a\\:b:c", login).as_deref(), Some("a:b:c"));
    for other in ["# h:5432:d:me:one", "h:5432:other:me:one", "h:5432:d:me", ""] {
        assert_eq!(password_in(other, login), None, "{other}");
    }
}

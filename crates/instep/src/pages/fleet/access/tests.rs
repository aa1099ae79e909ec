//! Tests of who may act on the pages of a fleet.

use std::{
    io::Write as _,
    os::{fd::IntoRawFd as _, unix::fs::PermissionsExt as _},
};

use http::HeaderValue;

use super::*;

const TOKEN: &str = "0123456789abcdef";

fn file(text: &str, mode: u32) -> tempfile::NamedTempFile {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(file.path(), text).unwrap();
    fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
    file
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    let pairs = pairs
        .iter()
        .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap()));
    pairs.collect()
}

#[test]
fn an_operator_signs_in_with_a_token_and_acts_with_the_mark_of_a_form() {
    let file = file(&format!("# us\nada {TOKEN}\n"), 0o600);
    let access = OperatorAccess::new(Some(file.path()), None).unwrap();
    assert!(access.sign_in("0123456789abcdeX").is_none());
    let (who, cookie) = access.sign_in(TOKEN).unwrap();
    assert!(who == "ada" && cookie.contains("HttpOnly") && cookie.contains("SameSite=Strict"));
    let cookie = format!("a=b; {}", cookie.split(';').next().unwrap());
    let session = headers(&[("cookie", &cookie)]);
    let mark = access.signed_in(&session).unwrap().mark.unwrap();
    assert_eq!(access.acting(&session, "guess"), None);
    assert!(access.acting(&session, &mark).is_some());
    let elsewhere = headers(&[("cookie", &cookie), ("sec-fetch-site", "cross-site")]);
    assert_eq!(access.acting(&elsewhere, &mark), None);
    access.sign_out(&session);
    assert_eq!(access.signed_in(&session), None);
    let bearer = headers(&[("authorization", &format!("Bearer {TOKEN}"))]);
    assert_eq!(access.acting(&bearer, "").unwrap().who, "ada");
    assert_eq!(access.signed_in(&headers(&[("authorization", "Bearer x")])), None);
    assert_eq!(access.signed_in(&HeaderMap::new()), None);
}

#[test]
fn an_operator_who_is_removed_from_the_file_is_refused_at_once() {
    let file = file(&format!("ada {TOKEN}\nbob {TOKEN}{TOKEN}\n"), 0o600);
    let access = OperatorAccess::new(Some(file.path()), None).unwrap();
    let (_, cookie) = access.sign_in(TOKEN).unwrap();
    let session = headers(&[("cookie", cookie.split(';').next().unwrap())]);
    let bearer = headers(&[("authorization", &format!("Bearer {TOKEN}"))]);
    assert!(access.signed_in(&session).is_some() && access.signed_in(&bearer).is_some());
    fs::write(file.path(), format!("bob {TOKEN}{TOKEN}\n")).unwrap();
    assert!(access.signed_in(&session).is_none() && access.signed_in(&bearer).is_none());
    assert!(access.sign_in(&TOKEN.repeat(2)).is_some());
    fs::remove_file(file.path()).unwrap();
    assert!(access.sign_in(&TOKEN.repeat(2)).is_none() && access.has_operators());
}

#[test]
fn o979_a_session_ends_when_its_operator_gets_another_token() {
    let file = file(&format!("ada {TOKEN}\n"), 0o600);
    let access = OperatorAccess::new(Some(file.path()), None).unwrap();
    let session = |token: &str| {
        let (_, cookie) = access.sign_in(token).unwrap();
        headers(&[("cookie", cookie.split(';').next().unwrap())])
    };
    let before = session(TOKEN);
    assert!(access.signed_in(&before).is_some());
    let other = TOKEN.repeat(2);
    fs::write(file.path(), format!("ada {other}\n")).unwrap();
    assert_eq!(access.signed_in(&before), None);
    let now = session(&other);
    assert!(access.signed_in(&now).is_some());
    // Another line does not end it.
    fs::write(file.path(), format!("bob {TOKEN}\nada {other}\n")).unwrap();
    assert!(access.signed_in(&now).is_some());
}

#[test]
fn o876_signing_in_to_a_second_fleet_of_a_host_leaves_the_session_at_the_first() {
    let file = file(&format!("ada {TOKEN}\n"), 0o600);
    let fleets = [8090, 8091].map(|port| OperatorAccess::new(Some(file.path()), None).unwrap().at_port(port));
    // A browser keeps one cookie of a name for all ports of a host.
    let mut browser = BTreeMap::new();
    for fleet in &fleets {
        let (_, cookie) = fleet.sign_in(TOKEN).unwrap();
        let (name, number) = cookie.split(';').next().unwrap().split_once('=').unwrap();
        browser.insert(name.to_owned(), number.to_owned());
    }
    let cookies: Vec<_> = browser.iter().map(|(name, number)| format!("{name}={number}")).collect();
    let sent = headers(&[("cookie", &cookies.join("; "))]);
    assert!(fleets.iter().all(|fleet| fleet.signed_in(&sent).is_some()));
}

#[test]
fn a_proxy_names_the_operator_in_its_header_and_forms_need_the_mark_of_that_operator() {
    let access = OperatorAccess::new(None, Some(HeaderName::from_static("x-user"))).unwrap();
    let named = headers(&[("x-user", "ada")]);
    let mark = access.signed_in(&named).unwrap().mark.unwrap();
    assert_eq!(access.acting(&named, &mark).unwrap().who, "ada");
    assert_eq!(access.acting(&headers(&[("x-user", "bob")]), &mark), None);
    assert_eq!(access.signed_in(&headers(&[("x-user", " ")])), None);
}

#[test]
fn o1107_a_request_that_names_two_operators_has_none() {
    let access = OperatorAccess::new(None, Some(HeaderName::from_static("x-user"))).unwrap();
    let mut named = headers(&[("x-user", "ada")]);
    assert_eq!(access.signed_in(&named).unwrap().who, "ada");
    named.append("x-user", HeaderValue::from_static("bob"));
    assert_eq!(access.signed_in(&named), None);
}

#[test]
fn o297_a_file_whose_mode_was_corrected_is_read_again() {
    let file = file(&format!("\u{feff}ada {TOKEN}\n"), 0o600);
    let access = OperatorAccess::new(Some(file.path()), None).unwrap();
    let mode = |mode| fs::set_permissions(file.path(), fs::Permissions::from_mode(mode)).unwrap();
    assert_eq!(access.sign_in(TOKEN).unwrap().0, "ada");
    mode(0o644);
    assert!(access.sign_in(TOKEN).is_none());
    mode(0o600);
    assert!(access.sign_in(TOKEN).is_some());
    let scheme = headers(&[("authorization", &format!("bearer {TOKEN}"))]);
    assert_eq!(access.signed_in(&scheme).unwrap().who, "ada");
}

#[test]
fn a_file_of_tokens_is_for_operators_only_and_its_lines_are_checked() {
    for (text, mode, part) in [
        (format!("ada {TOKEN}"), 0o644, "chmod"),
        ("ada short".to_owned(), 0o600, "line 1"),
        (format!("# x\n{TOKEN}"), 0o600, "line 2"),
        ("\n".to_owned(), 0o600, "names no operator"),
    ] {
        let file = file(&text, mode);
        let error = OperatorAccess::new(Some(file.path()), None).err().unwrap();
        assert!(error.to_string().contains(part), "{error}");
    }
}

#[test]
fn o605_operators_who_came_from_a_pipe_stay_when_the_options_are_read_again() {
    let (reader, mut writer) = std::io::pipe().unwrap();
    writeln!(writer, "ada {TOKEN}").unwrap();
    drop(writer);
    // Stays open, so that no other test of this process has the number.
    let number = reader.into_raw_fd();
    let file = PathBuf::from(format!("/dev/fd/{number}"));
    for _ in 0..2 {
        let access = OperatorAccess::new(Some(&file), None).unwrap();
        assert_eq!(access.sign_in(TOKEN).unwrap().0, "ada");
    }
}

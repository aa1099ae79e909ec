//! Advice for errors as the libraries make them.

use super::*;

#[test]
fn b30_an_origin_is_only_offered_where_a_host_is_refused() {
    let helps = |kind, lacks| {
        let problem = Problem::new(kind, "http://h/", &"it is refused").lacking(lacks);
        for_this_problem(&problem).is_some()
    };
    assert!(helps(ProblemKind::OutOfScope, Some(Permission::Origin)));
    assert!(!helps(ProblemKind::OutOfScope, None), "a path that climbs, or too many redirects");
    assert!(helps(ProblemKind::Denied, Some(Permission::Login)));
}

#[test]
fn o114_a_source_that_asks_for_a_login_is_not_said_to_offer_nothing() {
    assert!(for_nothing_found(Some(Permission::Login)).contains("--bearer-file"));
    assert!(for_nothing_found(None).contains("does not offer"));
}

#[test]
fn o425_on_a_full_disk_nothing_is_said_to_be_damaged() {
    for (raw, part) in [(28, "Make room on the disk"), (122, "Make room on the disk"), (24, "ulimit -n")] {
        let cause = || io::Error::from_raw_os_error(raw);
        let copy = DestinationError::Storage { action: "write", path: "copy".into(), source: cause().into() };
        let source = SourceError::Write { path: "data".into(), source: cause() };
        for error in [anyhow::Error::from(copy), source.into()] {
            assert!(for_error(&error).unwrap().contains(part), "{error}");
        }
    }
}

#[test]
fn o752_who_may_not_read_a_copy_is_not_advised_to_make_room() {
    let source = io::Error::from(io::ErrorKind::PermissionDenied).into();
    let error = DestinationError::Storage { action: "read", path: "copy/.instep".into(), source };
    assert!(for_error(&error.into()).unwrap().contains("as the user who keeps the copy"));
}

#[test]
fn o752_who_may_not_write_a_source_is_not_advised_to_make_room() {
    let source = io::Error::from(io::ErrorKind::PermissionDenied);
    let error = SourceError::Write { path: "data/.instep".into(), source };
    assert!(for_error(&error.into()).unwrap().contains("as the user who publishes the Source"));
}

#[test]
fn o1028_who_may_not_write_a_catalogue_is_not_advised_to_restore_it() {
    let fault = rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_READONLY_DIRECTORY);
    let source = rusqlite::Error::SqliteFailure(fault, None).into();
    let error = SourceError::Catalogue { path: "data/.instep".into(), source };
    assert!(for_error(&error.into()).unwrap().contains("as the user who publishes the Source"));
}

#[test]
fn o159_a_proxy_that_asks_for_a_login_is_told_from_a_site_that_offers_nothing() {
    let (url, reasons) = ("http://a.example/".to_owned(), Vec::new());
    let lacks = Some(Permission::ProxyLogin);
    let error = DestinationError::NotResourceSync { url, reasons, lacks };
    assert_eq!(for_error(&error.into()), Some(PROXY_LOGIN));
}

#[test]
fn o362_a_repository_that_asks_for_a_login_is_answered_with_how_to_give_one() {
    for (fault, part) in
        [(UpstreamFault::Denied, "[credentials]"), (UpstreamFault::Unreachable, "Check the URL")]
    {
        let (url, what) = ("http://a.example/oai".to_owned(), "it does not answer".to_owned());
        let error = SourceError::Upstream { url, what, fault };
        assert!(for_error(&error.into()).unwrap().contains(part), "{fault:?}");
    }
}

#[test]
fn o535_a_package_that_cannot_be_made_may_be_a_fault_of_the_storage_of_its_resources() {
    let (name, source) = ("resourcedump.zip".to_owned(), io::Error::other("no answer").into());
    let error = SourceError::Package { name, source };
    assert!(for_error(&error.into()).unwrap().contains("the storage of the resources can be reached"));
}

#[test]
fn o806_a_file_in_the_place_of_a_folder_is_not_answered_with_make_room() {
    for kind in [io::ErrorKind::NotADirectory, io::ErrorKind::AlreadyExists] {
        let copy = DestinationError::Storage {
            action: "open",
            path: "copy".into(),
            source: io::Error::new(kind, "it is not a folder").into(),
        };
        let source = SourceError::Write { path: "documents".into(), source: kind.into() };
        for error in [anyhow::Error::from(copy), source.into()] {
            assert!(for_error(&error).unwrap().contains("is a file, but must be a folder"), "{error}");
        }
    }
}

#[test]
fn o807_a_certificate_that_cannot_be_used_is_not_answered_with_check_the_network() {
    for (failure, part) in [
        (ProtocolFailure::Expired, "Check the clock"),
        (ProtocolFailure::NotYetValid, "Check the clock"),
        (ProtocolFailure::OtherName, "a name that the certificate has"),
        (ProtocolFailure::Authority, "made for a server"),
        (ProtocolFailure::UnknownIssuer, "--ca-file"),
    ] {
        let (url, source) = ("https://a.example/".to_owned(), failure.into());
        let error = DestinationError::Unreachable { url, source };
        assert!(for_error(&error.into()).unwrap().contains(part), "{failure:?}");
    }
}

#[test]
fn o806_a_link_in_the_place_of_a_folder_is_not_answered_with_make_room() {
    let source = "it is blocked by something that is not a folder: move it away".into();
    let error = DestinationError::Storage { action: "use", path: "copy/.instep".into(), source };
    assert_eq!(for_error(&error.into()), None);
}

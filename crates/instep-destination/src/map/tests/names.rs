//! Names that a file system, a shell or another program would take for something else (D7 to D9).

use super::*;

#[test]
fn d8_names_that_mean_something_elsewhere_are_escaped() {
    let mapper = mapper("http://h/", &[]);
    let names = [
        "CON",
        "con",
        "con.txt",
        "Aux.c",
        "NUL",
        "prn.tar.gz",
        "COM1",
        "com9.x",
        "LPT0",
        "COM%C2%B9",
        "CONIN$",
        "conout$",
        "a.",
        "a..",
        "a%20",
        "a%20.",
        "x:y",
        "x:stream:$DATA",
        "x*y",
        "a%3Cb%3E",
        "%22q%22",
        "p%7Cq",
        "w%3Fx",
        "-x",
        "--help",
        "%07bell",
        "%1B%5B31m",
        "%7F",
        "%C2%85",
        "%E2%80%AEgpj.exe",
        "%EF%BB%BFx",
        ".git",
        ".GIT",
        ".gi%E2%80%8Ct",
        "git~1",
        ".instep",
        ".Instep",
        "instep~1",
        "instep.toml",
        ".gitignore",
        ".well-known",
        "desktop.ini",
        "%FF%FE",
    ];
    let mut seen = BTreeSet::new();
    for name in names {
        let path = path(&mapper, &format!("http://h/{name}"));
        assert!(is_safe(&path), "{name} -> {path}");
        assert!(seen.insert(path.clone()), "{name} -> {path}");
    }
    assert_eq!(path(&mapper, "http://h/CON"), "%43ON");
    assert_eq!(path(&mapper, "http://h/.gitignore"), ".gitignore");
}

#[test]
fn d8_o1105_a_source_cannot_place_a_configuration_in_the_copy() {
    let at_host = mapper("http://h/", &["http://h/x/="]);
    let at_folder = mapper("http://h/data/", &[]);
    for (mapper, text, expected) in [
        (&at_host, "http://h/instep.toml", "%69nstep.toml"),
        (&at_host, "http://h/d/INSTEP.toml", "d/%49NSTEP.toml"),
        (&at_host, "http://h/%69nstep%2Etoml", "%69nstep.toml"),
        (&at_host, "http://h/x/instep.toml", "%69nstep.toml"),
        (&at_host, "http://h/instep.toml/a", "%69nstep.toml/a"),
        (&at_folder, "http://h/data/instep.toml", "%69nstep.toml"),
        (&at_folder, "http://h/data/my-instep.toml", "my-instep.toml"),
    ] {
        assert_eq!(path(mapper, text), expected, "{text}");
    }
}

#[test]
fn d9_long_names_are_shortened_and_told_apart() {
    let mapper = mapper("http://h/", &[]);
    let long = |last: char| format!("http://h/{}{last}", "x".repeat(4_999));
    let (a, b) = (path(&mapper, &long('a')), path(&mapper, &long('b')));
    assert!(is_safe(&a) && is_safe(&b) && a != b);
    assert_eq!(a.len(), 255);
    assert_eq!(a, path(&mapper, &long('a')));
    assert!(is_safe(&path(&mapper, &format!("http://h/{}", "%C3%A9".repeat(200)))));
    assert_eq!(path(&mapper, &format!("http://h/{}", "x".repeat(255))).len(), 255);
    let deep = path(&mapper, &format!("http://h/{}z", "d/".repeat(500)));
    assert_eq!(deep.split('/').count(), 501);
    assert!(is_safe(&path(&mapper, &format!("http://{}/x", "h".repeat(300)))));
}

#[test]
fn d7_members_of_a_clash_get_their_digest_and_keep_their_key() {
    let mapper = mapper("http://h/", &[]);
    let of = |text: &str| mapper.map(&uri(text)).unwrap();
    for (a, b) in [("A.txt", "a.TXT"), ("%C3%A9", "e%CC%81"), ("stra%C3%9Fe", "STRASSE"), ("%C5%BF", "s")] {
        let (a, b) = (format!("http://h/{a}"), format!("http://h/{b}"));
        assert_eq!(of(&a).key(), of(&b).key(), "{a} {b}");
        let (a, b) = (of(&a).told_apart(&a), of(&b).told_apart(&b));
        assert_ne!(a.key(), b.key());
        assert!(is_safe(a.as_str()) && is_safe(b.as_str()), "{a} {b}");
    }
    assert_ne!(of("http://h/a").key(), of("http://h/b").key());
}

//! The cases: what is wrong with the Source, and what must hold afterwards.

use std::time::Duration;

use instep_testkit::{FakeSource, Fault};
use resourcesync::{Entry, Uri};

use super::{CHANGED, Case, RESOURCES};

fn change(source: &FakeSource) {
    source.put(CHANGED, "a new text");
}

pub(super) const CASES: &[Case] = &[
    Case {
        name: "loc with /../../../",
        copy_first: false,
        spoil: |source, _| {
            source.list(Entry::new(Uri::parse(&source.url("trav/../../../escape.txt")).unwrap()));
            for path in ["trav/../../../escape.txt", "escape.txt", "../../escape.txt"] {
                source.serve(path, "escaped");
            }
        },
        options: &[],
        peer_options: &[],
        codes: &[3],
        holds: |scene| {
            scene.escaped("escape.txt").map_or(Ok(()), |path| Err(format!("{} was written", path.display())))
        },
    },
    Case {
        name: "wrong digest",
        copy_first: true,
        spoil: |source, _| {
            change(source);
            source.fail_always(CHANGED, Fault::Flip);
        },
        options: &[],
        peer_options: &["--hash", "md5"],
        codes: &[3],
        holds: |scene| scene.expect(CHANGED, "text 0"),
    },
    Case {
        name: "Content-Length 1000, body shorter",
        copy_first: true,
        spoil: |source, _| {
            change(source);
            source.fail_always(CHANGED, Fault::Length(1000));
        },
        options: &[],
        peer_options: &[],
        codes: &[3],
        holds: |scene| scene.expect(CHANGED, "text 0"),
    },
    Case {
        name: "99 deletions by a shrunken list",
        copy_first: true,
        spoil: |source, _| (1..RESOURCES).for_each(|number| source.delete(&format!("f{number:03}.txt"))),
        options: &["--delete"],
        peer_options: &["--delete"],
        codes: &[6],
        holds: |scene| scene.expect("f099.txt", "text 99"),
    },
    Case {
        name: "empty list",
        copy_first: true,
        spoil: |source, _| {
            (0..RESOURCES).for_each(|number| source.delete(&format!("f{number:03}.txt")));
            source.delete("trav/a.txt");
        },
        options: &["--delete"],
        peer_options: &["--delete"],
        codes: &[6],
        holds: |scene| scene.expect("f099.txt", "text 99"),
    },
    Case {
        name: "one 503 with Retry-After: 1",
        copy_first: false,
        spoil: |source, _| source.fail(CHANGED, [Fault::RetryAfter(503, "1".into())]),
        options: &[],
        peer_options: &[],
        codes: &[0],
        holds: |scene| scene.expect(CHANGED, "text 0"),
    },
    Case {
        name: "index part file:///",
        copy_first: false,
        spoil: |source, _| {
            source.lay_out(|layout| layout.part_entries = Some(50));
            source.rewrite("resourcelist.xml", |index| {
                index.replace(
                    "</sitemapindex>",
                    "<sitemap><loc>file:///etc/hostname</loc></sitemap></sitemapindex>",
                )
            });
        },
        options: &[],
        peer_options: &["--noauth"],
        codes: &[3, 5],
        holds: |_| Ok(()),
    },
    Case {
        name: "bearer token, 302 to another host",
        copy_first: false,
        spoil: |source, other| {
            other.serve("stolen", "text 0");
            source.fail_always(CHANGED, Fault::Redirect(other.url("stolen")));
        },
        options: &[],
        peer_options: &[],
        codes: &[0, 3],
        holds: |scene| {
            let told = scene.other.requests().iter().any(|request| request.header("authorization").is_some());
            if told { Err("the token was sent to the other host".into()) } else { Ok(()) }
        },
    },
    Case {
        name: "/a and /a/b",
        copy_first: false,
        spoil: |source, _| {
            source.put("a", "the body");
            source.put("a/b", "below it");
        },
        options: &[],
        peer_options: &[],
        codes: &[0],
        holds: |scene| scene.expect("a/b", "below it").and_then(|()| scene.expect("a/%40body", "the body")),
    },
    Case {
        name: "a byte a second",
        copy_first: false,
        spoil: |source, _| source.fail_always(CHANGED, Fault::Drip(Duration::from_secs(1))),
        options: &["--retries", "0"],
        peer_options: &[],
        codes: &[3],
        holds: |scene| scene.expect("f099.txt", "text 99"),
    },
    Case {
        name: "DTD entity",
        copy_first: false,
        spoil: |source, _| {
            source.rewrite("resourcelist.xml", |list| {
                list.replacen(
                    "<urlset",
                    "<!DOCTYPE urlset [<!ENTITY a SYSTEM \"file:///etc/hostname\">]><urlset",
                    1,
                )
            });
        },
        options: &[],
        peer_options: &[],
        codes: &[5],
        holds: |_| Ok(()),
    },
    Case {
        name: "an index that contains itself",
        copy_first: false,
        spoil: |source, _| {
            source.lay_out(|layout| layout.part_entries = Some(50));
            let own = source.resource_list_url();
            source.rewrite("resourcelist.xml", move |index| {
                index.replace(
                    "</sitemapindex>",
                    &format!("<sitemap><loc>{own}</loc></sitemap></sitemapindex>"),
                )
            });
        },
        options: &[],
        peer_options: &[],
        codes: &[5],
        holds: |_| Ok(()),
    },
];

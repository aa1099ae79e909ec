//! Sites that have a plain Sitemap and nothing of ResourceSync.

use std::{io::Write as _, time::Duration};

use flate2::{Compression, write::GzEncoder};
use instep_destination::LastmodTrust;
use instep_testkit::{FakeSource, Fault, Page};

use crate::support::Copy;

const SITEMAP: &str = "http://www.sitemaps.org/schemas/sitemap/0.9";
const IMAGE: &str = "http://www.google.com/schemas/sitemap-image/1.1";
const VIDEO: &str = "http://www.google.com/schemas/sitemap-video/1.1";
const NEWS: &str = "http://www.google.com/schemas/sitemap-news/0.9";

/// A site of pages, an image and a video, behind an index of two Sitemaps that its robots.txt names. The first one is
/// compressed.
fn site(lastmod: &str) -> Copy {
    let source = FakeSource::start();
    for place in [".well-known/resourcesync", "capabilitylist.xml", "resourcelist.xml", "changelist.xml"] {
        source.fail_always(place, Fault::Status(404));
    }
    let page = |body: &str, etag: &str| {
        Page::from(body).with_header("etag", etag).with_header("content-type", "text/html")
    };
    source.serve("", page("<html>home</html>", "\"home\""));
    source.serve("story.html", page("<html>story</html>", "\"story\""));
    source.serve("about", page("<html>about</html>", "\"about\""));
    source.serve("lead.png", page("image", "\"image\"").with_header("content-type", "image/png"));
    source.serve("clip.mp4", page("video", "\"video\"").with_header("content-type", "video/mp4"));
    let url = |path: &str| source.url(path);
    source.serve("robots.txt", format!("User-agent: *\nDisallow: /x\nSitemap: {}\n", url("maps.xml")));
    source.serve(
        "maps.xml",
        format!(
            "<sitemapindex xmlns='{SITEMAP}'><sitemap><loc>{}</loc></sitemap><sitemap><loc>{}</loc></sitemap></sitemapindex>",
            url("news.xml.gz"),
            url("pages.xml")
        ),
    );
    let news = format!(
        "<urlset xmlns='{SITEMAP}' xmlns:n='{NEWS}' xmlns:i='{IMAGE}' xmlns:video='{VIDEO}'>\
         <url><loc>{story}</loc><lastmod>{lastmod}</lastmod><priority>0.8</priority>\
         <n:news><n:publication><n:name>Daily</n:name><n:language>en</n:language></n:publication>\
         <n:publication_date>2026-01-01</n:publication_date><n:title>Story</n:title></n:news>\
         <i:image><i:loc>{image}</i:loc><i:title>Lead</i:title></i:image>\
         <i:image><i:loc>http://cdn.example.com/elsewhere.png</i:loc></i:image>\
         <video:video><video:thumbnail_loc>{image}</video:thumbnail_loc><video:title>Clip</video:title>\
         <video:content_loc>\n {clip} </video:content_loc><video:player_loc>{player}</video:player_loc></video:video>\
         </url></urlset>",
        story = url("story.html"),
        image = url("lead.png"),
        clip = url("clip.mp4"),
        player = url("player"),
    );
    let mut gzip = GzEncoder::new(Vec::new(), Compression::default());
    gzip.write_all(news.as_bytes()).unwrap();
    source.serve("news.xml.gz", gzip.finish().unwrap());
    let entry = |path: &str| format!("<url><loc>{}</loc><lastmod>{lastmod}</lastmod></url>", url(path));
    source.serve("pages.xml", format!("<urlset xmlns='{SITEMAP}'>{}{}</urlset>", entry(""), entry("about")));
    Copy::of(source)
}

const SECONDS: &str = "2026-01-01T10:00:00Z";

#[test]
fn a_site_is_mirrored_from_its_sitemaps_with_the_images_and_videos_of_its_pages() {
    let copy = site(SECONDS);
    let run = copy.sync();
    let report = run.report();
    assert_eq!((run.exit_code(), report.created, report.unverified), (0, 5, 5), "{:?}", run.heard);
    for (path, bytes) in [
        ("%40index", "<html>home</html>"),
        ("story.html", "<html>story</html>"),
        ("about", "<html>about</html>"),
        ("lead.png", "image"),
        ("clip.mp4", "video"),
    ] {
        assert_eq!(copy.read(path).as_deref(), Some(bytes), "{path}");
    }
    assert_eq!(copy.source.requests_for("player"), 0, "a player is no video");
    let heard = format!("{:?}", run.heard);
    assert!(heard.contains("plain Sitemap: it states no digests"), "{heard}");
    assert!(heard.contains("1 images and videos of pages lie on other hosts"), "{heard}");
}

#[test]
fn o365_an_image_is_found_by_its_relative_place_as_a_page_is() {
    let copy = site(SECONDS);
    let pages = "<url><loc>about</loc><i:image><i:loc>/lead.png</i:loc></i:image></url>";
    copy.source.serve("pages.xml", format!("<urlset xmlns='{SITEMAP}' xmlns:i='{IMAGE}'>{pages}</urlset>"));
    copy.source.serve("robots.txt", format!("Sitemap: {}\n", copy.source.url("pages.xml")));
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().created), (0, 2), "{:?}", run.heard);
    assert_eq!(copy.read("lead.png").as_deref(), Some("image"));
}

#[test]
fn o93_a_sitemap_that_its_index_names_twice_counts_once() {
    let copy = site(SECONDS);
    let url = copy.source.url("pages.xml");
    let part = format!("<sitemap><loc>{url}</loc></sitemap>");
    copy.source.serve("maps.xml", format!("<sitemapindex xmlns='{SITEMAP}'>{part}{part}</sitemapindex>"));
    let run = copy.sync();
    let report = run.report();
    assert_eq!((run.exit_code(), report.created, report.unverified), (0, 2, 2), "{:?}", run.heard);
    assert_eq!((copy.source.requests_for("pages.xml"), copy.source.requests_for("about")), (1, 1));
}

#[test]
fn a_time_that_is_trusted_saves_the_request_and_one_that_is_not_asks_conditionally() {
    let copy = site(SECONDS);
    assert_eq!(copy.sync().exit_code(), 0);
    let pages = ["", "story.html", "about"];
    // The root is also requested by discovery.
    let conditional = || {
        let requests = copy.source.requests();
        let of = |path: &str| {
            requests
                .iter()
                .filter(|request| request.path == path && request.header("if-none-match").is_some())
                .count()
        };
        pages.map(of)
    };
    copy.source.forget_requests();
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().unchanged), (0, 5), "{:?}", run.heard);
    assert_eq!((conditional(), copy.source.requests_for("about")), ([0, 0, 0], 0));

    copy.source.forget_requests();
    let run = copy.sync_with(|options| options.lastmod = LastmodTrust::Ask);
    assert_eq!((run.exit_code(), run.report().unchanged), (0, 5), "{:?}", run.heard);
    assert_eq!(conditional(), [1, 1, 1]);

    // The time stays the same, but the page changes.
    copy.source.serve("about", Page::from("<html>new</html>").with_header("etag", "\"new\""));
    let run = copy.sync_with(|options| options.lastmod = LastmodTrust::Ask);
    assert_eq!((run.exit_code(), run.report().updated), (0, 1), "{:?}", run.heard);
    assert_eq!(copy.read("about").as_deref(), Some("<html>new</html>"));
}

#[test]
fn a_page_that_is_gone_costs_one_request_and_no_second_round() {
    let copy = site("2026-01-01");
    copy.source.fail_always("about", Fault::Status(404));
    let run = copy.sync();
    assert_eq!((run.exit_code(), run.report().created, run.report().failed), (3, 4, 1), "{:?}", run.heard);
    for path in ["story.html", "lead.png", "clip.mp4", "about", "pages.xml", "news.xml.gz"] {
        assert_eq!(copy.source.requests_for(path), 1, "{path}");
    }
}

#[test]
fn the_pause_that_robots_txt_asks_for_is_kept() {
    let copy = site(SECONDS);
    let maps = copy.source.url("maps.xml");
    copy.source.serve("robots.txt", format!("User-agent: *\nCrawl-delay: 0.3\nSitemap: {maps}\n"));
    assert_eq!(copy.sync().exit_code(), 0);
    let requests = copy.source.requests();
    let robots = requests.iter().position(|request| request.path == "robots.txt").unwrap();
    let last = requests.last().unwrap();
    let pauses = u32::try_from(requests.len() - robots).unwrap().saturating_sub(4);
    // Only a lower bound is checked: a busy machine is slower, never faster.
    assert!(last.at - requests[robots].at >= Duration::from_millis(300) * pauses, "{requests:?}");
}

#[test]
fn o570_a_sitemap_that_robots_txt_no_longer_names_is_reported_and_the_copy_is_not_in_step() {
    let copy = site(SECONDS);
    let name = |paths: &[&str]| {
        let lines: Vec<_> =
            paths.iter().map(|path| format!("Sitemap: {}\n", copy.source.url(path))).collect();
        copy.source.serve("robots.txt", lines.concat());
    };
    name(&["pages.xml", "news.xml.gz"]);
    assert_eq!(copy.sync().exit_code(), 0);
    // A line that never led to anything hides nothing.
    for paths in [&["news.xml.gz"][..], &["news.xml.gz", "gone.xml"][..]] {
        name(paths);
        let run = copy.sync_with(|options| options.delete = true);
        let heard = format!("{:?}", run.heard);
        assert!(
            heard.contains("pages.xml any more: 2 resources of it stay as they are"),
            "{paths:?}: {heard}"
        );
        assert!(run.report().coverage.is_some_and(|coverage| !coverage.is_complete()), "{paths:?}");
        assert_eq!(copy.read("about").as_deref(), Some("<html>about</html>"));
        let (audited, _) = copy.audit();
        // Both, and the picture and the video, of which a Sitemap states no time.
        assert_eq!(audited.unwrap().unauditable, 2 + 2, "{paths:?}");
    }
    name(&["news.xml.gz", "pages.xml"]);
    let run = copy.sync();
    assert!(run.report().coverage.is_some_and(|coverage| coverage.is_complete()), "{:?}", run.heard);
}

//! Content codings that servers on the way remove.

use super::*;

/// As Varnish before a server that labels a compressed file with its coding: clients that accept none get it unpacked.
#[tokio::test]
async fn o421_a_compressed_file_that_a_cache_unpacks_is_requested_as_it_is_listed() {
    let body = b"text ".repeat(100);
    let coded = {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        std::io::Write::write_all(&mut encoder, &body).unwrap();
        encoder.finish().unwrap()
    };
    let bench = Bench::new();
    bench.source.serve("a", Page::from(coded.clone()).with_header("content-encoding", "gzip"));
    // The unpacked form, to the first request.
    bench.source.serve("unpacked", body);
    bench.source.fail("a", [Fault::Redirect(bench.source.url("unpacked"))]);
    assert_eq!(bench.bytes(&bench.expecting("a", &coded)).await, coded);
    let sent = bench.source.requests();
    let accepted: Vec<_> = sent.iter().filter_map(|request| request.header("accept-encoding")).collect();
    assert_eq!(accepted, ["identity", "identity", "gzip"]);
    assert_eq!(bench.staged_files(), 1);
}

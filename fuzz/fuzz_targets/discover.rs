//! Discovery: any text of headers, robots.txt and pages.
#![no_main]

#[expect(dead_code, reason = "each target runs one of the bodies")]
#[path = "../bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::discover(data));

//! The `hash` attribute: any text.
#![no_main]

#[expect(dead_code, reason = "each target runs one of the bodies")]
#[path = "../bodies.rs"]
mod bodies;

libfuzzer_sys::fuzz_target!(|data: &[u8]| bodies::hash(data));

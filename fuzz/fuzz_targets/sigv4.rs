#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| liteio::fuzzing::sigv4(data));

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| liteio_auth::fuzzing::session_token(data));

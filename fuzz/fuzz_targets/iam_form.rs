#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| liteio::fuzzing::iam_form(data));

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| liteio_iam::fuzzing::iam_form(data));

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| liteio_policy::fuzzing::policy(data));

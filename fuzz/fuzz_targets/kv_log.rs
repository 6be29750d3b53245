#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| liteio_kv::fuzzing::log(data));

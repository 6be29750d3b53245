#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| liteio_store::fuzzing::kv_log(data));

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| liteio_iceberg::fuzzing::commit(data));

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| liteio_store::fuzzing::blob_footer(data));

#![no_main]
libfuzzer_sys::fuzz_target!(|data: &[u8]| optiq_fuzz::steps(data));

//! The C header that is committed is the one that the source gives.
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

use std::path::Path;

#[test]
fn the_committed_header_is_up_to_date() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let config = cbindgen::Config::from_file(root.join("optiq/cbindgen.toml")).unwrap();
    let mut made = Vec::new();
    cbindgen::Builder::new()
        .with_config(config)
        .with_src(root.join("optiq/src/c_api/mod.rs"))
        .with_src(root.join("optiq/src/error.rs"))
        .generate()
        .unwrap()
        .write(&mut made);
    // What is markup in Rust is noise in C.
    let made =
        String::from_utf8(made).unwrap().replace("# Safety\n", "Requirements:\n").replace("[`", "`").replace("`]", "`");
    let path = root.join("optiq/include/optiq.h");
    if std::env::var_os("OPTIQ_BLESS").is_some() {
        std::fs::write(&path, &made).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    assert!(
        made == committed,
        "optiq/include/optiq.h is not what optiq/src/c_api gives; run OPTIQ_BLESS=1 cargo test --test header"
    );
}

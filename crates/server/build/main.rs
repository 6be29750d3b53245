//! Embeds what the program is built from: commit, target, features, profile. No time, no host and no path, so that the
//! same sources give the same bytes.

mod commit;

use std::env;
use std::path::Path;

fn main() {
    let package = env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let profile = env::var("PROFILE").expect("cargo sets it");
    // Asking git ties the program to the state of its index, and each commit would build all tests again.
    let asks_git = profile == "release";
    let found = commit::of_sources(Path::new(&package), asks_git);
    let given = env::var("LITEIO_BUILD_COMMIT").ok().filter(|it| !it.is_empty());
    println!("cargo::rerun-if-env-changed=LITEIO_BUILD_COMMIT");
    for path in &found.depends_on {
        println!("cargo::rerun-if-changed={}", path.display());
    }
    let commit = given.or(found.commit).unwrap_or_default();
    println!("cargo::rustc-env=LITEIO_BUILT_COMMIT={commit}");
    println!("cargo::rustc-env=LITEIO_BUILT_PROFILE={profile}");
    println!("cargo::rustc-env=LITEIO_BUILT_TARGET={}", env::var("TARGET").expect("cargo sets it"));
    println!("cargo::rustc-env=LITEIO_BUILT_FEATURES={}", features().join(","));
}

/// The enabled features of the package, sorted.
fn features() -> Vec<String> {
    let variables = env::vars().filter_map(|(name, _)| {
        let name = name.strip_prefix("CARGO_FEATURE_")?;
        Some(name.to_ascii_lowercase().replace('_', "-"))
    });
    let mut features: Vec<String> = variables.filter(|name| name != "default").collect();
    features.sort();
    features
}

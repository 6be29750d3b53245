//! Versions of engines, as a `Cargo.lock` has them.

/// The version of a package in the text of a `Cargo.lock`; empty if it is not there.
pub fn locked_version<'a>(lock: &'a str, package: &str) -> &'a str {
    let place = lock.split("[[package]]").find_map(|block| {
        let rest = block.trim_start().strip_prefix("name = \"")?.strip_prefix(package)?;
        rest.strip_prefix("\"\nversion = \"")?.split('"').next()
    });
    place.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_that_of_the_package_of_exactly_this_name() {
        let lock = "[[package]]\nname = \"redb-derive\"\nversion = \"1.0.0\"\n\n\
                    [[package]]\nname = \"redb\"\nversion = \"4.4.0\"\nsource = \"x\"\n";
        assert_eq!(locked_version(lock, "redb"), "4.4.0");
        assert_eq!(locked_version(lock, "sled"), "");
    }
}

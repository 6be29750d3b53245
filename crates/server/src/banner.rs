//! The block that a starting server prints: everything one needs to use it.

use std::fmt::Write as _;
use std::net::SocketAddr;

use crate::config::{Config, CredentialsSource, Durability, Storage};

/// `http://HOST:PORT` to reach a server that listens on `address` from this machine.
pub(crate) fn endpoint(address: SocketAddr) -> String {
    let mut address = address;
    if address.ip().is_unspecified() {
        match address {
            SocketAddr::V4(_) => address.set_ip(std::net::Ipv4Addr::LOCALHOST.into()),
            SocketAddr::V6(_) => address.set_ip(std::net::Ipv6Addr::LOCALHOST.into()),
        }
    }
    format!("http://{address}")
}

/// The block, with a line break at its end. Shows no secret but the default one.
pub(crate) fn banner(config: &Config, address: SocketAddr) -> String {
    let mut endpoint_line = endpoint(address);
    if address.ip().is_unspecified() {
        endpoint_line.push_str(" (all interfaces)");
    }
    let data = match &config.storage {
        Storage::Memory => "in memory".to_owned(),
        Storage::Directory { path, .. } => path.display().to_string(),
    };
    let durability = match &config.storage {
        Storage::Memory => "none: nothing survives this process",
        Storage::Directory { durability: Durability::Fsync, .. } => {
            "fsync: what was acknowledged survives a power cut"
        }
        Storage::Directory { durability: Durability::Os, .. } => {
            "os: what was acknowledged survives this process; a power cut may take the last second"
        }
    };
    let (credentials, access_key, secret_key) = match &config.credentials {
        known @ CredentialsSource::Pair { access_key, secret_key } if known.is_well_known() => {
            (format!("{access_key} / {secret_key} (default)"), &**access_key, &**secret_key)
        }
        CredentialsSource::Pair { access_key, .. } => {
            (format!("{access_key} / the secret key that was set"), &**access_key, "…")
        }
        CredentialsSource::File(path) => (format!("the users of {}", path.display()), "…", "…"),
    };
    let mut block = format!("LiteIO {}\n", env!("CARGO_PKG_VERSION"));
    let rows = [
        ("Endpoint", &*endpoint_line),
        ("Region", &config.region),
        ("Credentials", &credentials),
        ("Data", &data),
        ("Durability", durability),
    ];
    for (name, value) in rows {
        // Writing to a string cannot fail.
        let _ = writeln!(block, "  {name:<12} {value}");
    }
    let _ = writeln!(
        block,
        "\n  AWS_ACCESS_KEY_ID={access_key} AWS_SECRET_ACCESS_KEY={secret_key} AWS_REGION={} \
         aws --endpoint-url {} s3 ls\n",
        config.region,
        endpoint(address)
    );
    block
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> SocketAddr {
        text.parse().expect("a socket address")
    }

    #[test]
    fn the_default_block_is_complete() {
        assert_eq!(
            banner(&Config::default(), address("127.0.0.1:9000")),
            format!(
                "LiteIO {}\n  Endpoint     http://127.0.0.1:9000\n  Region       us-east-1\n  \
                 Credentials  liteio / liteio123 (default)\n  Data         ./data\n  \
                 Durability   fsync: what was acknowledged survives a power cut\n\n  \
                 AWS_ACCESS_KEY_ID=liteio AWS_SECRET_ACCESS_KEY=liteio123 AWS_REGION=us-east-1 \
                 aws --endpoint-url http://127.0.0.1:9000 s3 ls\n\n",
                env!("CARGO_PKG_VERSION")
            )
        );
    }

    #[test]
    fn a_secret_that_was_set_is_never_shown() {
        let credentials = CredentialsSource::Pair {
            access_key: "alice".to_owned(),
            secret_key: "correct horse".to_owned(),
        };
        let config = Config { credentials, storage: Storage::Memory, ..Config::default() };
        let block = banner(&config, address("0.0.0.0:40001"));
        assert!(!block.contains("correct"), "{block}");
        assert!(block.contains("alice / the secret key that was set"), "{block}");
        assert!(block.contains("http://127.0.0.1:40001 (all interfaces)"), "{block}");
        assert!(block.contains("--endpoint-url http://127.0.0.1:40001 s3 ls"), "{block}");
        assert!(block.contains("in memory"), "{block}");
        assert!(!format!("{config:?}").contains("correct"));
    }

    #[test]
    fn endpoints() {
        assert_eq!(endpoint(address("[::]:9000")), "http://[::1]:9000");
        assert_eq!(endpoint(address("192.0.2.1:80")), "http://192.0.2.1:80");
    }
}

//! The block that a starting server prints: everything one needs to use it.

use std::fmt::Write as _;
use std::net::SocketAddr;

use crate::config::{Config, CredentialsSource, Durability, Storage};

/// `http://HOST:PORT`, or `https://…`, to reach a server that listens on `address` from this machine.
pub(crate) fn endpoint(address: SocketAddr, is_encrypted: bool) -> String {
    let mut address = address;
    if address.ip().is_unspecified() {
        match address {
            SocketAddr::V4(_) => address.set_ip(std::net::Ipv4Addr::LOCALHOST.into()),
            SocketAddr::V6(_) => address.set_ip(std::net::Ipv6Addr::LOCALHOST.into()),
        }
    }
    let scheme = if is_encrypted { "https" } else { "http" };
    format!("{scheme}://{address}")
}

/// The part of the block about HTTPS.
pub(crate) struct Encryption {
    /// The first certificate: its file, and its SHA-256.
    pub(crate) certificate: String,
    /// The address of plain HTTP, if it is served too.
    pub(crate) plain_address: Option<SocketAddr>,
}

/// The block, with a line break at its end. Shows no secret but the default one.
pub(crate) fn banner(
    config: &Config,
    address: SocketAddr,
    encryption: Option<&Encryption>,
    websites: Option<SocketAddr>,
) -> String {
    let line = |address: SocketAddr, is_encrypted| {
        let interfaces = if address.ip().is_unspecified() { " (all interfaces)" } else { "" };
        format!("{}{interfaces}", endpoint(address, is_encrypted))
    };
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
    let plain = encryption.and_then(|it| it.plain_address).map(|it| line(it, false));
    let rows = [
        ("Endpoint", Some(line(address, encryption.is_some()))),
        ("Plain HTTP", plain),
        ("Websites", websites.map(|it| line(it, encryption.is_some()))),
        ("Certificate", encryption.map(|it| it.certificate.clone())),
        ("Region", Some(config.region.clone())),
        ("Credentials", Some(credentials)),
        ("Data", Some(data)),
        ("Durability", Some(durability.to_owned())),
    ];
    for (name, value) in rows.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
        // Writing to a string cannot fail.
        let _ = writeln!(block, "  {name:<12} {value}");
    }
    let _ = writeln!(
        block,
        "\n  AWS_ACCESS_KEY_ID={access_key} AWS_SECRET_ACCESS_KEY={secret_key} AWS_REGION={} \
         aws --endpoint-url {} s3 ls\n",
        config.region,
        endpoint(address, encryption.is_some())
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
            banner(&Config::default(), address("127.0.0.1:9000"), None, None),
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
        let block = banner(&config, address("0.0.0.0:40001"), None, None);
        assert!(!block.contains("correct"), "{block}");
        assert!(block.contains("alice / the secret key that was set"), "{block}");
        assert!(block.contains("http://127.0.0.1:40001 (all interfaces)"), "{block}");
        assert!(block.contains("--endpoint-url http://127.0.0.1:40001 s3 ls"), "{block}");
        assert!(block.contains("in memory"), "{block}");
        assert!(!format!("{config:?}").contains("correct"));
    }

    #[test]
    fn endpoints() {
        assert_eq!(endpoint(address("[::]:9000"), false), "http://[::1]:9000");
        assert_eq!(endpoint(address("192.0.2.1:80"), false), "http://192.0.2.1:80");
        assert_eq!(endpoint(address("192.0.2.1:443"), true), "https://192.0.2.1:443");
    }

    #[test]
    fn the_certificate_and_plain_http_are_told() {
        let certificate = "./data/tls/certificate.pem, SHA-256 AB:CD".to_owned();
        let plain_address = Some(address("0.0.0.0:9001"));
        let encryption = Encryption { certificate, plain_address };
        let websites = Some(address("127.0.0.1:9002"));
        let block =
            banner(&Config::default(), address("127.0.0.1:9000"), Some(&encryption), websites);
        let lines = [
            "  Endpoint     https://127.0.0.1:9000\n",
            "  Plain HTTP   http://127.0.0.1:9001 (all interfaces)\n",
            "  Websites     https://127.0.0.1:9002\n",
            "  Certificate  ./data/tls/certificate.pem, SHA-256 AB:CD\n",
            "aws --endpoint-url https://127.0.0.1:9000 s3 ls",
        ];
        for line in lines {
            assert!(block.contains(line), "{line} is not in {block}");
        }
    }
}

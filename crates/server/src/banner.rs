//! The startup banner: everything one needs to use the server.

use std::fmt::Write as _;
use std::net::SocketAddr;
use std::path::PathBuf;

use crate::config::{Config, CredentialsSource, Durability, Storage};
use crate::made_credentials::MadeCredentials;
use liteio_admin::console;

/// The URL, `http://HOST:PORT` or `https://…`, to reach a server that listens on `address` from
/// this machine.
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

/// The HTTPS section of the banner.
pub(crate) struct Encryption {
    /// The first certificate: its file, and its SHA-256.
    pub(crate) certificate: String,
    /// The file of the first certificate, if it is in one.
    pub(crate) file: Option<PathBuf>,
    /// The address of plain HTTP, if served.
    pub(crate) plain_address: Option<SocketAddr>,
}

/// The credentials section of the banner.
pub(crate) struct Credentials {
    /// The text to show.
    told: String,
    /// The access key for the example command.
    access_key: String,
    secret_key: String,
}

/// The credentials section of the banner. It shows a secret only if it is publicly known, or was
/// generated just now.
pub(crate) fn credentials(config: &Config, made: Option<&MadeCredentials>) -> Credentials {
    let (told, access_key, secret_key) = match (&config.credentials, made) {
        (_, Some(MadeCredentials { pair: Some((access_key, secret_key)), path, .. })) => {
            let kept = path.as_ref().map(|path| format!(", and kept in {}", path.display()));
            let kept = kept.unwrap_or_default();
            let told = format!("{access_key} / {secret_key} (generated just now{kept})");
            (told, &**access_key, &**secret_key)
        }
        (_, Some(MadeCredentials { path: Some(path), .. })) => {
            (format!("from {}, generated at the first start", path.display()), "…", "…")
        }
        (CredentialsSource::Made, _) => ("generated at startup".to_owned(), "…", "…"),
        (CredentialsSource::Pair { .. }, _) if config.no_auth => {
            ("any: signatures are NOT checked".to_owned(), "any", "any")
        }
        (known @ CredentialsSource::Pair { access_key, secret_key }, _)
            if known.is_well_known() =>
        {
            (format!("{access_key} / {secret_key} (default)"), &**access_key, &**secret_key)
        }
        (CredentialsSource::Pair { access_key, .. }, _) => {
            (format!("{access_key} / the secret key that was set"), &**access_key, "…")
        }
        (CredentialsSource::File(path), _) => {
            (format!("the users of {}", path.display()), "…", "…")
        }
    };
    let (access_key, secret_key) = (access_key.to_owned(), secret_key.to_owned());
    Credentials { told, access_key, secret_key }
}

/// The banner, with a final line break.
pub(crate) fn banner(
    config: &Config,
    address: SocketAddr,
    credentials: &Credentials,
    encryption: Option<&Encryption>,
    websites: Option<SocketAddr>,
    console: Option<SocketAddr>,
) -> String {
    let line = |address: SocketAddr, is_encrypted| {
        let interfaces = if address.ip().is_unspecified() { " (all interfaces)" } else { "" };
        format!("{}{interfaces}", endpoint(address, is_encrypted))
    };
    let data = match &config.storage {
        Storage::Memory => "in memory".to_owned(),
        // Where it was started from is not seen later.
        Storage::Directory { path, .. } => {
            std::path::absolute(path).as_ref().unwrap_or(path).display().to_string()
        }
        Storage::Cluster(cluster) => {
            format!("cluster {}, as the server {}", cluster.name, cluster.server_name)
        }
    };
    let durability = match &config.storage {
        Storage::Memory => "none: all data is lost when the process ends",
        Storage::Cluster(_) => "as durable as the database and the place of bodies",
        Storage::Directory { durability: Durability::Fsync, .. } => {
            "fsync: acknowledged writes survive a power failure"
        }
        Storage::Directory { durability: Durability::Os, .. } => {
            "os: acknowledged writes survive the end of the process; a power failure may lose the last second"
        }
    };
    let others = if config.takes_any_region { ", and any other" } else { "" };
    let region = format!("{}{others}", config.region);
    let Credentials { access_key, secret_key, .. } = credentials;
    let mut block = format!("LiteIO {}\n", env!("CARGO_PKG_VERSION"));
    let plain = encryption.and_then(|it| it.plain_address).map(|it| line(it, false));
    let console_url = match console {
        Some(own) => Some(line(own, encryption.is_some())),
        None => config
            .console
            .then(|| format!("{}{}", endpoint(address, encryption.is_some()), console::PATH)),
    };
    let rows = [
        ("Endpoint", Some(line(address, encryption.is_some()))),
        ("Plain HTTP", plain),
        ("Console", console_url),
        ("Websites", websites.map(|it| sites(&line(it, encryption.is_some())))),
        ("Certificate", encryption.map(|it| it.certificate.clone())),
        ("Region", Some(region)),
        ("Credentials", Some(credentials.told.clone())),
        ("Data", Some(data)),
        ("Durability", Some(durability.to_owned())),
    ];
    for (name, value) in rows.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))) {
        // Writing to a string cannot fail.
        let _ = writeln!(block, "  {name:<12} {value}");
    }
    let (variable, option) = trust(config, encryption);
    let _ = writeln!(
        block,
        "\n  {variable}AWS_ACCESS_KEY_ID={access_key} AWS_SECRET_ACCESS_KEY={secret_key} AWS_DEFAULT_REGION={} \
         aws --endpoint-url {}{option} s3 ls\n",
        config.region,
        example_endpoint(config, address, encryption.is_some())
    );
    block
}

/// The address of websites: on loopback with a placeholder for the bucket, whose name a browser has to send as the host.
fn sites(line: &str) -> String {
    line.replace("//127.0.0.1:", "//BUCKET.localhost:").replace("//[::1]:", "//BUCKET.localhost:")
}

/// The endpoint of the example command. A certificate of one's own is for a domain, not for the address.
fn example_endpoint(config: &Config, address: SocketAddr, is_encrypted: bool) -> String {
    let has_certificate = config.tls.as_ref().is_some_and(|tls| !tls.certificates.is_empty());
    let mut domains = config.domains.iter();
    match domains.find(|it| has_certificate && *it != "localhost" && !it.ends_with(".localhost")) {
        Some(domain) => format!("https://{domain}:{}", address.port()),
        None => endpoint(address, is_encrypted),
    }
}

/// A variable, or an option, with which the example command accepts a self-signed certificate; empty for others.
fn trust(config: &Config, encryption: Option<&Encryption>) -> (String, &'static str) {
    let is_self_signed = config.tls.as_ref().is_some_and(|tls| tls.certificates.is_empty());
    match encryption {
        Some(Encryption { file: Some(file), .. }) if is_self_signed => {
            let file = std::path::absolute(file).unwrap_or_else(|_| file.clone());
            (format!("AWS_CA_BUNDLE={} ", file.display()), "")
        }
        // In memory, where no variable can name it.
        Some(_) if is_self_signed => (String::new(), " --no-verify-ssl"),
        _ => (String::new(), ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{CertificateFiles, TlsSettings};

    fn address(text: &str) -> SocketAddr {
        text.parse().expect("a socket address")
    }

    fn block_of(
        config: &Config,
        at: &str,
        encryption: Option<&Encryption>,
        websites: Option<SocketAddr>,
    ) -> String {
        banner(config, address(at), &credentials(config, None), encryption, websites, None)
    }

    #[test]
    fn the_default_block_is_complete() {
        assert_eq!(
            block_of(&Config::default(), "127.0.0.1:9000", None, None),
            format!(
                "LiteIO {}\n  Endpoint     http://127.0.0.1:9000\n  \
                 Console      http://127.0.0.1:9000/_liteio/console/\n  Region       us-east-1, and any other\n  \
                 Credentials  liteio / liteio123 (default)\n  Data         {}\n  \
                 Durability   fsync: acknowledged writes survive a power failure\n\n  \
                 AWS_ACCESS_KEY_ID=liteio AWS_SECRET_ACCESS_KEY=liteio123 AWS_DEFAULT_REGION=us-east-1 \
                 aws --endpoint-url http://127.0.0.1:9000 s3 ls\n\n",
                env!("CARGO_PKG_VERSION"),
                std::path::absolute("data").expect("a path").display()
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
        let block = block_of(&config, "0.0.0.0:40001", None, None);
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
        let encryption = Encryption { certificate, file: None, plain_address };
        let websites = Some(address("127.0.0.1:9002"));
        let block = block_of(&Config::default(), "127.0.0.1:9000", Some(&encryption), websites);
        let lines = [
            "  Endpoint     https://127.0.0.1:9000\n",
            "  Plain HTTP   http://127.0.0.1:9001 (all interfaces)\n",
            "  Websites     https://BUCKET.localhost:9002\n",
            "  Certificate  ./data/tls/certificate.pem, SHA-256 AB:CD\n",
            "\n  AWS_ACCESS_KEY_ID=liteio ",
            "aws --endpoint-url https://127.0.0.1:9000 s3 ls",
        ];
        for line in lines {
            assert!(block.contains(line), "{line} is not in {block}");
        }
    }

    #[test]
    fn websites_have_the_bucket_in_their_address() {
        let rows = [
            ("127.0.0.1:80", "http://BUCKET.localhost:80\n"),
            ("[::1]:80", "http://BUCKET.localhost:80\n"),
            ("0.0.0.0:80", "http://BUCKET.localhost:80 (all interfaces)\n"),
            ("192.0.2.1:80", "http://192.0.2.1:80\n"),
        ];
        for (at, expected) in rows {
            let block = block_of(&Config::default(), "127.0.0.1:9000", None, Some(address(at)));
            assert!(block.contains(&format!("  Websites     {expected}")), "{block}");
        }
    }

    #[test]
    fn the_command_names_the_domain_of_a_certificate() {
        let files = CertificateFiles { certificate: "a.pem".into(), key: "a.key".into() };
        let mut config =
            Config { tls: Some(TlsSettings { certificates: vec![files] }), ..Config::default() };
        let encryption = || Encryption {
            certificate: String::new(),
            file: Some(PathBuf::from("a.pem")),
            plain_address: None,
        };
        let block = block_of(&config, "0.0.0.0:9000", Some(&encryption()), None);
        assert!(block.contains("aws --endpoint-url https://127.0.0.1:9000 s3 ls"), "{block}");
        config.domains.push("s3.example.com".to_owned());
        let block = block_of(&config, "0.0.0.0:9000", Some(&encryption()), None);
        assert!(block.contains("aws --endpoint-url https://s3.example.com:9000 s3 ls"), "{block}");
        assert!(block.contains("  Endpoint     https://127.0.0.1:9000 (all"), "{block}");
        // A certificate that the server has made is for the address, too.
        config.tls = Some(TlsSettings { certificates: Vec::new() });
        let block = block_of(&config, "0.0.0.0:9000", Some(&encryption()), None);
        assert!(block.contains("aws --endpoint-url https://127.0.0.1:9000 s3 ls"), "{block}");
    }

    #[test]
    fn the_command_accepts_a_self_signed_certificate() {
        let tls = Some(TlsSettings { certificates: Vec::new() });
        let config = Config { tls, ..Config::default() };
        let block = |file| {
            let encryption = Encryption { certificate: String::new(), file, plain_address: None };
            block_of(&config, "127.0.0.1:9000", Some(&encryption), None)
        };
        let kept = block(Some(PathBuf::from("/srv/data/tls/certificate.pem")));
        let bundle = "\n  AWS_CA_BUNDLE=/srv/data/tls/certificate.pem AWS_ACCESS_KEY_ID=liteio ";
        assert!(kept.contains(bundle) && kept.contains(":9000 s3 ls\n"), "{kept}");
        let in_memory = block(None);
        assert!(in_memory.contains("\n  AWS_ACCESS_KEY_ID=liteio "), "{in_memory}");
        assert!(in_memory.contains(":9000 --no-verify-ssl s3 ls\n"), "{in_memory}");
    }
}

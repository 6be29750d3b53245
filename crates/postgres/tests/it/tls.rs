//! Encrypted connections, and passwords.

use std::fs;
use std::path::Path;

use liteio_kv::database::Database as _;
use liteio_postgres::testing::{Server, free_port};
use liteio_postgres::{Postgres, PostgresConfig};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

use crate::harness::{config, created};

/// An authority, and a certificate of it for a name.
fn certificates(name: &str) -> (String, String, String) {
    let mut params = CertificateParams::new([]).expect("parameters");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let authority =
        CertifiedIssuer::self_signed(params, KeyPair::generate().expect("a key")).expect("signed");
    let key = KeyPair::generate().expect("a key");
    let params = CertificateParams::new([name.to_owned()]).expect("parameters");
    let certificate = params.signed_by(&key, &authority).expect("signed");
    let authority = pem("CERTIFICATE", authority.der());
    (authority, pem("CERTIFICATE", certificate.der()), pem("PRIVATE KEY", &key.serialize_der()))
}

fn pem(label: &str, bytes: &[u8]) -> String {
    let text = base64_simd::STANDARD.encode_to_string(bytes);
    let lines: Vec<&str> =
        text.as_bytes().chunks(64).map(|it| std::str::from_utf8(it).expect("ASCII")).collect();
    format!("-----BEGIN {label}-----\n{}\n-----END {label}-----\n", lines.join("\n"))
}

#[test]
fn a_certificate_is_verified_as_the_mode_says() {
    let port = free_port();
    let server = Server::new(Some(port), &["fsync=off"]);
    let (authority, certificate, key) = certificates("localhost");
    server.write("server.crt", &certificate);
    server.write("server.key", &key);
    let _ = server.query("ALTER SYSTEM SET ssl = on");
    let _ = server.query("SELECT pg_reload_conf()");
    let _ = server.query("ALTER ROLE liteio PASSWORD 'hush hush'");
    let cluster = created(&server).cluster().to_owned();
    let directory = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        fs::write(&path, text).expect("written");
        path
    };
    let roots = write("roots.pem", &authority);
    let others = write("others.pem", &certificates("localhost").0);
    let password = write("password", "hush hush\n");
    let open = |host: &str, parameters: &str, password: Option<&Path>| {
        let url = format!("postgres://liteio@{host}:{port}/postgres?{parameters}");
        let config = config(&url).with_cluster(&cluster).expect("a name");
        let config = match password {
            Some(file) => config.with_password_file(file).expect("a password"),
            None => config,
        };
        Postgres::open(&config).map(|database| {
            database.fetch(&[]).expect("it is fetched");
            let name = cluster.clone();
            let text = format!("SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl AND query LIKE '%{name}%'");
            server.query(&text) != "0"
        })
    };
    let (roots, others) = (roots.display(), others.display());
    for (host, parameters, is_encrypted) in [
        ("localhost", "sslmode=disable".to_owned(), Some(false)),
        ("localhost", String::new(), Some(true)),
        ("localhost", "sslmode=require".to_owned(), Some(true)),
        ("127.0.0.1", format!("sslmode=require&sslrootcert={roots}"), Some(true)),
        ("127.0.0.1", format!("sslmode=require&sslrootcert={others}"), None),
        ("127.0.0.1", format!("sslmode=verify-ca&sslrootcert={roots}"), Some(true)),
        ("localhost", format!("sslmode=verify-ca&sslrootcert={others}"), None),
        ("localhost", "sslmode=verify-ca".to_owned(), None),
        ("localhost", format!("sslmode=verify-full&sslrootcert={roots}"), Some(true)),
        ("127.0.0.1", format!("sslmode=verify-full&sslrootcert={roots}"), None),
        ("localhost", "sslmode=verify-full&sslrootcert=system".to_owned(), None),
    ] {
        let opened = open(host, &parameters, Some(&password));
        match is_encrypted {
            Some(is_encrypted) => {
                assert_eq!(opened.expect(&parameters), is_encrypted, "{parameters}")
            }
            None => {
                let error = opened.expect_err(&parameters).to_string();
                assert!(error.contains("certificate"), "{parameters}: {error}");
            }
        }
    }
    // Without the right password nothing is tried twice, and nothing tells it.
    for wrong in [None, Some(&*write("wrong", "whisper"))] {
        let error = open("localhost", "", wrong).expect_err("no password").to_string();
        assert!(error.contains("password") && !error.contains("whisper"), "{error}");
    }
    let missing = PostgresConfig::parse(
        &format!("postgres://liteio@localhost:{port}/postgres?sslrootcert=/none"),
        |_| None,
    );
    let error = Postgres::open(&missing.expect("valid")).expect_err("no such file").to_string();
    assert!(error.contains("/none"), "{error}");
}

use super::environment::Variables;
use super::*;
use crate::cli::HealthArgs;

/// Reads a command line as the shell would split it, without the environment.
fn arguments(line: &str) -> ServerArgs {
    let mut arguments = ServerArgs::default();
    let mut words = line.split(' ').filter(|word| !word.is_empty());
    while let Some(flag) = words.next() {
        let mut value = || words.next().unwrap_or_default().replace('_', " ");
        match flag {
            "--memory" => arguments.memory = true,
            "--allow-default-credentials" => arguments.allow_default_credentials = true,
            "--address" => arguments.address = Some(value()),
            "--data-dir" => arguments.data_dir = Some(value().into()),
            "--durability" => arguments.durability = Some(value()),
            "--object-ownership" => arguments.object_ownership = Some(value()),
            "--metadata-memory" => {
                arguments.metadata_memory = Some(value().parse().expect("a number"));
            }
            "--access-key" => arguments.access_key = Some(value()),
            "--secret-key" => arguments.secret_key = Some(value()),
            "--credentials-file" => arguments.credentials_file = Some(value().into()),
            "--region" => arguments.region = Some(value()),
            "--domain" => arguments.domain.push(value()),
            "--log" => arguments.log = Some(value()),
            "--log-format" => arguments.log_format = Some(value()),
            other => panic!("no such flag: {other}"),
        }
    }
    arguments
}

#[test]
fn nothing_given_is_the_default() {
    let config = Config::resolve(&arguments("")).expect("the defaults fit together");
    assert_eq!(config, Config::default());
    assert_eq!(config.address.to_string(), "127.0.0.1:9000");
    assert_eq!(config.domains, ["localhost", "s3.localhost"]);
}

#[test]
fn everything_given_is_kept() {
    let config = Config::resolve(&arguments(
        "--address [::]:0 --data-dir /srv/objects --durability os --access-key alice \
         --secret-key long_enough --region eu-central-1 --domain S3.Example.com --domain localhost \
         --object-ownership object-writer --metadata-memory 512 --log warn --log-format json",
    ))
    .expect("these fit together");
    assert_eq!(config.address, ListenAddress { host: "::".to_owned(), port: 0 });
    assert_eq!(config.address.to_string(), "[::]:0");
    let path = "/srv/objects".into();
    assert_eq!(config.storage, Storage::Directory { path, durability: Durability::Os });
    let (access_key, secret_key) = ("alice".to_owned(), "long enough".to_owned());
    assert_eq!(config.credentials, CredentialsSource::Pair { access_key, secret_key });
    assert_eq!(config.region, "eu-central-1");
    assert_eq!(config.metadata_bytes, Some(512 << 20));
    assert_eq!(config.object_ownership, ObjectOwnership::ObjectWriter);
    assert_eq!(config.domains, ["localhost", "s3.localhost", "s3.example.com"]);
    assert_eq!((&*config.log, config.log_format), ("warn", LogFormat::Json));
}

#[test]
fn contradictions_and_bad_values_say_what_to_change() {
    let rows = [
        ("--memory --data-dir d", "--data-dir"),
        ("--memory --durability os", "--durability"),
        ("--access-key alice", "LITEIO_SECRET_KEY"),
        ("--secret-key long_enough", "LITEIO_ACCESS_KEY"),
        (
            "--credentials-file f --access-key alice --secret-key long_enough",
            "--credentials-file (LITEIO_CREDENTIALS_FILE) and --access-key (LITEIO_ACCESS_KEY)",
        ),
        ("--access-key al --secret-key long_enough", "3 to 128"),
        ("--access-key a/b --secret-key long_enough", "'/'"),
        ("--access-key alice --secret-key short", "8 to 128"),
        ("--durability always", "fsync or os"),
        ("--object-ownership nobody", "object-writer"),
        ("--address 127.0.0.1", "HOST:PORT"),
        ("--address 127.0.0.1:", "HOST:PORT"),
        ("--address 127.0.0.1:65536", "HOST:PORT"),
        ("--address 127.0.0.1:+80", "HOST:PORT"),
        ("--address ::1:9000", "HOST:PORT"),
        ("--address [127.0.0.1]:9000", "HOST:PORT"),
        ("--address http://localhost:9000", "HOST:PORT"),
        ("--address a_b:9000", "HOST:PORT"),
        ("--region Europe!", "us-east-1"),
        ("--region --memory", "us-east-1"),
        ("--domain example.com:9000", "host name"),
        ("--domain 127.0.0.1", "host name"),
        ("--domain -a.example", "host name"),
        ("--domain a..b", "host name"),
        ("--metadata-memory 7", "8 to 4096"),
        ("--metadata-memory 4097", "8 to 4096"),
        ("--log liteio=loud", "--log"),
        ("--log-format xml", "text or json"),
        ("--data-dir", "--data-dir"),
    ];
    for (line, advice) in rows {
        let mut given = arguments(line);
        if line == "--region --memory" {
            given.region = Some(String::new());
        }
        let message = Config::resolve(&given).expect_err(line).to_string();
        assert!(message.contains(advice), "{line}: {message}");
        assert!(!message.contains('\n') && !message.contains("long enough"), "{line}: {message}");
    }
}

#[test]
fn the_default_credentials_stay_on_this_machine() {
    let allowed = [
        "--address 127.0.0.1:1",
        "--address 127.1.2.3:1",
        "--address [::1]:1",
        "--address localhost:1",
        "--address 0.0.0.0:1 --allow-default-credentials",
        "--address 0.0.0.0:1 --access-key alice --secret-key long_enough",
        "--address 0.0.0.0:1 --credentials-file f",
    ];
    for line in allowed {
        assert!(Config::resolve(&arguments(line)).is_ok(), "{line}");
    }
    let refused = [
        "--address 0.0.0.0:1",
        "--address :1",
        "--address [::]:1",
        "--address 192.0.2.1:1",
        "--address example.com:1",
        "--address 0.0.0.0:1 --access-key liteio --secret-key liteio123",
    ];
    for line in refused {
        let message = Config::resolve(&arguments(line)).expect_err(line).to_string();
        let names_both =
            message.contains("LITEIO_ACCESS_KEY") && message.contains("LITEIO_SECRET_KEY");
        assert!(names_both, "{line}: {message}");
    }
}

#[test]
fn health_asks_the_given_url_or_the_address() {
    let rows = [
        (Some("http://a:1/x"), Some("0.0.0.0:9"), "http://a:1/x"),
        (None, Some("0.0.0.0:9"), "http://127.0.0.1:9"),
        (None, Some("[::]:9"), "http://[::1]:9"),
        (None, Some(":9"), "http://127.0.0.1:9"),
        (None, Some("example.com:9"), "http://example.com:9"),
        (None, None, "http://127.0.0.1:9000"),
    ];
    for (url, address, expected) in rows {
        let (url, address) = (url.map(str::to_owned), address.map(str::to_owned));
        let arguments = HealthArgs { url, address, ..HealthArgs::default() };
        assert_eq!(resolve_health_url(&arguments, &Variables::default()), Ok(expected.to_owned()));
    }
    let tls = HealthArgs { tls_self_signed: true, ..HealthArgs::default() };
    assert_eq!(
        resolve_health_url(&tls, &Variables::default()),
        Ok("https://127.0.0.1:9000".to_owned())
    );
    let tls = HealthArgs { tls_cert: Some("a.pem".into()), ..HealthArgs::default() };
    assert_eq!(
        resolve_health_url(&tls, &Variables::default()),
        Ok("https://127.0.0.1:9000".to_owned())
    );
}

#[test]
fn a_server_that_checks_signatures_has_no_guard() {
    assert!(Config::default().without_signatures().is_none());
    let open = Config { no_auth: true, ..Config::default() };
    assert_eq!(open.without_signatures().expect("a guard").key, DEFAULT_ACCESS_KEY);
}

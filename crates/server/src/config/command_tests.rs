//! Tests the settings of a command: arguments, variables of ours and of others, profiles.

use super::environment::Variables;
use super::*;
use crate::cli::{Command, HealthArgs, parse};

/// The settings of a command line with these variables of other servers.
fn of(line: &str, variables: &[(&str, &str)]) -> Result<Config, ConfigError> {
    told(line, variables).map(|(config, _)| config)
}

/// The settings with the warnings for the operator.
fn told(line: &str, variables: &[(&str, &str)]) -> Result<(Config, Vec<String>), ConfigError> {
    let arguments = ["liteio"].into_iter().chain(line.split_whitespace()).map(Into::into);
    let command = match parse(arguments) {
        Ok(Command::Server(command)) => command,
        other => panic!("{line}: {other:?}"),
    };
    let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
    Config::of_command(&command.server, &Variables::with_file(variables.collect())?)
}

/// Variables, by name.
type Given = &'static [(&'static str, &'static str)];

fn pair(access_key: &str, secret_key: &str) -> CredentialsSource {
    let (access_key, secret_key) = (access_key.to_owned(), secret_key.to_owned());
    CredentialsSource::Pair { access_key, secret_key }
}

fn directory(path: &str) -> Storage {
    Storage::Directory { path: path.into(), durability: Durability::Fsync }
}

#[test]
fn a_command_of_minio_means_the_same_here() {
    let variables = [("MINIO_ROOT_USER", "admin"), ("MINIO_ROOT_PASSWORD", "long-enough")];
    let rows = [
        "server /data --console-address :9001",
        "server --console-address :9001 /data",
        "server /data --address 127.0.0.1:9000 --quiet --anonymous",
        "server --json /data --certs-dir /nowhere",
    ];
    for line in rows {
        let config = of(line, &variables).expect(line);
        assert_eq!(config.storage, directory("/data"), "{line}");
        assert_eq!(config.credentials, pair("admin", "long-enough"), "{line}");
        assert_eq!(config.address.port, 9000, "{line}");
        assert!(config.tls.is_none() && config.takes_any_region, "{line}");
    }
}

#[test]
fn in_the_place_of_minio_other_machines_can_connect_unless_the_keys_are_public() {
    const OWN: Given = &[("MINIO_ROOT_USER", "admin"), ("MINIO_ROOT_PASSWORD", "long-enough")];
    let rows: [(&str, Given, &str); 7] = [
        ("server /data --profile minio --console-address :9001", OWN, "0.0.0.0:9000"),
        ("--profile minio --port 9100", OWN, "0.0.0.0:9100"),
        ("--profile minio --credentials-file users.toml", &[], "0.0.0.0:9000"),
        ("--profile minio --host 127.0.0.1", OWN, "127.0.0.1:9000"),
        ("--profile minio --address 127.0.0.1:1", OWN, "127.0.0.1:1"),
        ("--profile minio", &[], "127.0.0.1:9000"),
        ("", OWN, "127.0.0.1:9000"),
    ];
    for (line, variables, expected) in rows {
        let config = of(line, variables).expect(line);
        assert_eq!(config.address.to_string(), expected, "{line}");
    }
}

#[test]
fn a_flag_counts_before_ours_and_ours_before_others_and_the_profile_last() {
    let given = of(
        "--access-key flag-key --secret-key flag-secret",
        &[("MINIO_ROOT_USER", "admin"), ("MINIO_ROOT_PASSWORD", "long-enough")],
    );
    assert_eq!(given.expect("settings").credentials, pair("flag-key", "flag-secret"));
    let minio = of(
        "--profile minio",
        &[("MINIO_ACCESS_KEY", "older"), ("MINIO_SECRET_KEY", "long-enough")],
    );
    assert_eq!(minio.expect("settings").credentials, pair("older", "long-enough"));
    let minio = of("--profile minio --address 0.0.0.0:1", &[]).expect("settings");
    assert_eq!(minio.credentials, pair("minioadmin", "minioadmin"));
    assert_eq!(minio.warnings().len(), 1, "{:?}", minio.warnings());
    assert!(minio.preparation.directories_are_buckets);
    assert_eq!(minio.cors_origins, ["*"]);
    let narrow = of("--profile minio --cors-origin https://a.example", &[]).expect("settings");
    assert_eq!(narrow.cors_origins, ["https://a.example"]);
    let aws = [("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE"), ("AWS_SECRET_ACCESS_KEY", "long-enough")];
    let of_container = of("--in-container", &aws).expect("settings");
    assert_eq!(of_container.credentials, pair("AKIAEXAMPLE", "long-enough"));
    let session = [aws[0], aws[1], ("AWS_SESSION_TOKEN", "token")];
    let of_session = of("--in-container", &session).expect("settings");
    assert_eq!(of_session.credentials, CredentialsSource::Made);
    // LocalStack's usual credentials are too weak for a server, so they are ignored.
    let short = [("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test")];
    let (config, notes) = told("--in-container", &short).expect("settings");
    assert_eq!(config.credentials, CredentialsSource::Made);
    assert!(notes[0].contains("AWS_ACCESS_KEY_ID"), "{notes:?}");
    // Those of a developer's shell are for AWS itself.
    let (config, notes) = told("", &aws).expect("settings");
    assert_eq!(config.credentials, CredentialsSource::well_known());
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("AWS_ACCESS_KEY_ID") && !notes[0].contains("AKIA"), "{notes:?}");
    let minio = of("--profile minio", &aws).expect("settings");
    assert_eq!(minio.credentials, pair("minioadmin", "minioadmin"));
}

#[test]
fn a_region_is_strict_only_if_it_was_set() {
    let rows: [(&str, Given, &str, bool); 7] = [
        ("", &[], "us-east-1", true),
        ("--region eu-west-1", &[], "eu-west-1", false),
        ("", &[("MINIO_REGION", "eu-west-1")], "eu-west-1", false),
        ("", &[("AWS_REGION", "eu-west-1")], "eu-west-1", true),
        (
            "",
            &[("AWS_DEFAULT_REGION", "eu-west-2"), ("AWS_REGION", "eu-west-1")],
            "eu-west-1",
            true,
        ),
        ("--region here", &[("MINIO_REGION", "eu-west-1")], "here", false),
        // MinIO has one region, and clients that sign for others.
        ("--profile minio", &[("MINIO_REGION", "eu-west-1")], "eu-west-1", true),
    ];
    for (line, variables, region, takes_any) in rows {
        let config = of(line, variables).expect(line);
        let found = (&*config.region, config.takes_any_region);
        assert_eq!(found, (region, takes_any), "{line} {variables:?}");
    }
}

#[test]
fn emulators_of_aws_are_in_memory_and_check_no_signature() {
    let localstack = of("--profile localstack", &[]).expect("settings");
    assert_eq!(localstack.address.to_string(), "127.0.0.1:4566");
    assert_eq!((localstack.storage, localstack.no_auth), (Storage::Memory, true));
    assert!(localstack.domains.iter().any(|name| name == "s3.localhost.localstack.cloud"));
    let kept = [("PERSISTENCE", "1"), ("GATEWAY_LISTEN", "127.0.0.1:4577,127.0.0.1:443")];
    let kept = of("--profile localstack", &kept).expect("settings");
    assert_eq!(kept.storage, directory("/var/lib/localstack"));
    assert_eq!(kept.address.port, 4577);
    let checked = [("S3_SKIP_SIGNATURE_VALIDATION", "0"), ("DEBUG", "app:*")];
    let checked = of("--profile localstack", &checked).expect("settings");
    assert_eq!((checked.no_auth, checked.credentials), (false, pair("test", "test")));
    let named = [("LOCALSTACK_HOST", "foo:4566"), ("EXTRA_CORS_ALLOWED_ORIGINS", "http://a")];
    let named = of("--profile localstack", &named).expect("settings");
    for name in ["foo", "s3.foo", "s3.localhost.localstack.cloud"] {
        assert!(named.domains.iter().any(|domain| domain == name), "{name}");
    }
    assert!(named.cors_origins.iter().any(|origin| origin == "http://a"));
    // A web page that the developer opens must not use a server that checks no signatures.
    assert!(named.cors_origins.iter().all(|origin| origin != "*"));
    // The names of LocalStack's variables are too common to be read without its profile.
    let unread = [("PERSISTENCE", "maybe"), ("DEBUG", "maybe"), ("GATEWAY_LISTEN", "nonsense")];
    assert_eq!(of("", &unread), Ok(Config::default()));

    let s3mock = of("--profile s3mock", &[]).expect("settings");
    let plain = s3mock.plain_address.expect("an address").to_string();
    assert_eq!((&*s3mock.address.to_string(), &*plain), ("127.0.0.1:9191", "127.0.0.1:9090"));
    assert!(s3mock.tls.is_some() && s3mock.no_auth && s3mock.storage == Storage::Memory);
    let root = ("COM_ADOBE_TESTING_S3MOCK_STORE_ROOT", "/mock");
    let retained = ("COM_ADOBE_TESTING_S3MOCK_STORE_RETAIN_FILES_ON_EXIT", "true");
    let buckets = ("COM_ADOBE_TESTING_S3MOCK_STORE_INITIAL_BUCKETS", "one, two");
    assert_eq!(of("--profile s3mock", &[root]).expect("settings").storage, Storage::Memory);
    let kept = of("--profile s3mock", &[root, retained, buckets]).expect("settings");
    assert_eq!((kept.storage, kept.preparation.buckets.len()), (directory("/mock"), 2));
}

/// Adobe's module for Testcontainers sets these up to 4.x.
#[test]
fn the_short_variables_of_s3mock_count_in_its_profile() {
    let short = [("initialBuckets", "one, two"), ("retainFilesOnExit", "true"), ("root", "/mock")];
    let kept = of("--profile s3mock", &short).expect("settings");
    assert_eq!((kept.storage, kept.preparation.buckets.len()), (directory("/mock"), 2));
    assert_eq!(of("--profile s3mock", &short[2..]).expect("settings").storage, Storage::Memory);
    // These words are too common to be read without the profile.
    let unread = [short[0], ("retainFilesOnExit", "maybe"), short[2], ("validKmsKeys", "one")];
    assert_eq!(of("", &unread), Ok(Config::default()));
}

#[test]
fn variables_that_only_another_profile_reads_are_told() {
    let rows: [(&str, Given, &[&str]); 5] = [
        ("", &[("initialBuckets", "a")], &["LITEIO_PROFILE=s3mock", "LITEIO_BUCKET gives"]),
        (
            "--memory",
            &[("COM_ADOBE_TESTING_S3MOCK_STORE_INITIAL_BUCKETS", "a")],
            &["COM_ADOBE_TESTING_S3MOCK_STORE_INITIAL_BUCKETS has", "LITEIO_BUCKET gives"],
        ),
        ("", &[("validKmsKeys", "a")], &["validKmsKeys has", "the profile of S3Mock"]),
        (
            "--profile minio",
            &[("S3_SKIP_SIGNATURE_VALIDATION", "1")],
            &["--profile localstack; LITEIO_NO_AUTH gives this setting"],
        ),
        ("--profile s3mock", &[("SERVICES", "sqs,s3")], &["SERVICES has", "LocalStack"]),
    ];
    let has_no_effect = |it: &&String| it.contains("has no effect without the profile");
    for (line, variables, parts) in rows {
        let (_, notes) = told(line, variables).expect("settings");
        let found: Vec<_> = notes.iter().filter(has_no_effect).collect();
        assert_eq!(found.len(), 1, "{line} {variables:?}: {notes:?}");
        for part in parts {
            assert!(found[0].contains(part), "{part}: {found:?}");
        }
    }
    // Those of the profile, of settings that are given otherwise, and names that other programs have.
    let silent: [(&str, Given); 5] = [
        ("--profile s3mock", &[("initialBuckets", "one")]),
        ("--profile localstack", &[("S3_SKIP_SIGNATURE_VALIDATION", "1"), ("SERVICES", "s3")]),
        ("--bucket photos", &[("initialBuckets", "photos")]),
        ("", &[("DEBUG", "1"), ("root", "/"), ("PERSISTENCE", "1"), ("SERVICES", "web,worker")]),
        ("", &[("initialBuckets", "")]),
    ];
    for (line, variables) in silent {
        let (_, notes) = told(line, variables).expect("settings");
        assert!(!notes.iter().any(|it| has_no_effect(&it)), "{line} {variables:?}: {notes:?}");
    }
}

#[test]
fn the_kms_keys_of_s3mock_are_made_for_data_in_memory() {
    let made = ["one", "two"].map(str::to_owned).to_vec();
    let list = "arn:aws:kms:us-east-1:1234567890:key/one, two";
    for name in ["validKmsKeys", "COM_ADOBE_TESTING_S3MOCK_DOMAIN_VALID_KMS_KEYS"] {
        let (config, warnings) = told("--profile s3mock", &[(name, list)]).expect("settings");
        assert_eq!(config.keys.master, Some(MasterKeySource::OfProcess(made.clone())), "{name}");
        assert!(warnings.iter().all(|it| !it.contains("KMS")), "{warnings:?}");
        let (config, warnings) =
            told("--profile s3mock --data-dir data", &[(name, list)]).expect("settings");
        assert_eq!(config.keys.master, None, "{name}");
        assert!(warnings.iter().any(|it| it.contains("--kms-key-file")), "{warnings:?}");
    }
}

#[test]
fn the_key_of_minios_kms_may_be_in_a_file() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let key = "my-key:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";
    std::fs::write(&file, format!("{key}\n")).expect("written");
    let path = file.path().to_str().expect("UTF-8");
    let config = of("", &[("MINIO_KMS_SECRET_KEY_FILE", path)]).expect("settings");
    assert_eq!(config.keys.master, Some(MasterKeySource::Text(key.to_owned())));
    let refused = of("", &[("MINIO_KMS_SECRET_KEY_FILE", "/nowhere")]).expect_err("no file");
    assert!(refused.to_string().starts_with("MINIO_KMS_SECRET_KEY_FILE: "), "{refused}");
}

#[test]
fn a_wrong_key_of_minios_kms_is_refused_with_its_variable() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    std::fs::write(&file, "my-key:short\n").expect("written");
    let path = file.path().to_str().expect("UTF-8");
    for (name, value, reason) in [
        ("MINIO_KMS_SECRET_KEY", "my-key:short", "a key is not 32 bytes in base64"),
        ("MINIO_KMS_SECRET_KEY", "my-key:", "there is no key"),
        ("MINIO_KMS_SECRET_KEY", "short", "not in the form NAME:KEY"),
        ("MINIO_KMS_SECRET_KEY_FILE", path, "a key is not 32 bytes in base64"),
    ] {
        let refused = of("", &[(name, value)]).expect_err("no key").to_string();
        assert!(refused.starts_with(&format!("{name}: {reason}")), "{refused}");
    }
}

#[test]
fn an_automatic_encryption_without_a_key_is_refused() {
    let on = ("MINIO_KMS_AUTO_ENCRYPTION", "on");
    let refused = of("", &[on]).expect_err("no key").to_string();
    assert!(refused.starts_with("MINIO_KMS_AUTO_ENCRYPTION: "), "{refused}");
    assert!(refused.contains("MINIO_KMS_SECRET_KEY"), "{refused}");
    let key = ("MINIO_KMS_SECRET_KEY", "k:AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=");
    assert!(of("", &[on, key]).expect("settings").auto_encryption);
    assert!(!of("", &[("MINIO_KMS_AUTO_ENCRYPTION", "off")]).expect("settings").auto_encryption);
}

#[test]
fn without_a_check_of_signatures_other_machines_stay_out() {
    for line in ["--no-auth --address 0.0.0.0:1", "--profile localstack --address :4566"] {
        let refused = of(line, &[]).expect_err(line).to_string();
        assert!(refused.contains("LITEIO_NO_AUTH"), "{refused}");
        let inside = of(&format!("{line} --in-container"), &[]).expect(line);
        assert!(inside.warnings()[0].contains("not checked"), "{line}");
    }
    let refused = of("--no-auth --credentials-file f", &[]).expect_err("two kinds of users");
    assert!(refused.to_string().contains("--credentials-file"));
}

#[test]
fn a_container_listens_everywhere_and_makes_credentials_if_none_are_given() {
    let config = of("--in-container", &[]).expect("settings");
    assert_eq!(config.address.to_string(), "0.0.0.0:9000");
    assert_eq!(config.storage, directory("/data"));
    assert_eq!(config.credentials, CredentialsSource::Made);
    let config = of("--in-container --memory --profile minio", &[]).expect("settings");
    assert_eq!((config.storage, config.credentials.is_well_known()), (Storage::Memory, true));
}

#[test]
fn variables_of_our_ancestor_still_count() {
    let variables = [
        ("LITEIO_PORT", "8000"),
        ("LITEIO_HOST", "localhost"),
        ("LITEIO_DRIVER", "local:///srv/objects"),
        ("LITEIO_NO_FSYNC", "1"),
        ("LITEIO_NO_LOG", "true"),
    ];
    let config = of("", &variables).expect("settings");
    assert_eq!(config.address.to_string(), "localhost:8000");
    let (path, durability) = ("/srv/objects".into(), Durability::Os);
    assert_eq!(config.storage, Storage::Directory { path, durability });
    assert_eq!(config.log, "warn");
    let flags = of("-p 8000 --host localhost -d /srv/objects --no-log", &[]).expect("settings");
    assert_eq!(flags.address, config.address);
    assert_eq!((flags.storage, flags.log), (directory("/srv/objects"), "warn".to_owned()));
    assert_eq!(of("--driver memory://", &[]).expect("settings").storage, Storage::Memory);
    let memory = of("", &[("LITEIO_DRIVER", "memory://"), ("LITEIO_NO_FSYNC", "1")]);
    assert_eq!(memory.expect("settings").storage, Storage::Memory);
}

#[test]
fn a_bad_value_is_one_line_that_names_its_variable() {
    let rows: [(&str, Given, &str); 19] = [
        ("", &[("MINIO_ROOT_USER", "admin")], "MINIO_ROOT_USER needs MINIO_ROOT_PASSWORD"),
        (
            "",
            &[("MINIO_ROOT_PASSWORD", "long-enough")],
            "MINIO_ROOT_PASSWORD needs MINIO_ROOT_USER",
        ),
        (
            "",
            &[("MINIO_ROOT_USER", "ab"), ("MINIO_ROOT_PASSWORD", "long-enough")],
            "MINIO_ROOT_USER: ",
        ),
        (
            "",
            &[("MINIO_ROOT_USER", "admin"), ("MINIO_ROOT_PASSWORD", "short")],
            "MINIO_ROOT_PASSWORD: ",
        ),
        (
            "",
            &[("MINIO_ROOT_USER", "a/b"), ("MINIO_ROOT_PASSWORD", "long-enough")],
            "MINIO_ROOT_USER: ",
        ),
        (
            "",
            &[("MINIO_ROOT_USER_FILE", "/nowhere"), ("MINIO_ROOT_PASSWORD", "p")],
            "MINIO_ROOT_USER_FILE: ",
        ),
        ("", &[("MINIO_CONFIG_ENV_FILE", "/nowhere")], "MINIO_CONFIG_ENV_FILE: "),
        ("", &[("MINIO_REGION", "Moon!")], "MINIO_REGION: "),
        ("", &[("AWS_DEFAULT_REGION", "Moon!")], "AWS_DEFAULT_REGION: "),
        ("", &[("MINIO_DOMAIN", "a..b")], "MINIO_DOMAIN: "),
        ("", &[("MINIO_ADDRESS", "nonsense")], "MINIO_ADDRESS: "),
        ("", &[("MINIO_VOLUMES", "/data{1...4}")], "MINIO_VOLUMES: "),
        ("", &[("MINIO_VOLUMES", "/data1 /data2")], "MINIO_VOLUMES: "),
        ("", &[("MINIO_DEFAULT_BUCKETS", "Not_A_Bucket")], "MINIO_DEFAULT_BUCKETS: "),
        ("", &[("MINIO_API_CORS_ALLOW_ORIGIN", "nonsense")], "MINIO_API_CORS_ALLOW_ORIGIN: "),
        ("", &[("LITEIO_PORT", "many")], "LITEIO_PORT: "),
        ("", &[("LITEIO_DRIVER", "rabbit://x")], "LITEIO_DRIVER: "),
        ("--profile localstack", &[("EDGE_PORT", "many")], "EDGE_PORT: "),
        (
            "--profile s3mock",
            &[("COM_ADOBE_TESTING_S3MOCK_STORE_INITIAL_BUCKETS", "B")],
            "COM_ADOBE_",
        ),
    ];
    for (line, variables, beginning) in rows {
        let refused = of(line, variables).expect_err(beginning).to_string();
        assert!(refused.starts_with(beginning), "{variables:?}: {refused}");
        assert!(!refused.contains('\n') && !refused.contains("long-enough"), "{refused}");
    }
    assert!(of("--profile other", &[]).is_err());
}

#[test]
fn secrets_come_from_files_and_variables_from_the_file_of_minio() {
    let directory = tempfile::tempdir().expect("a directory");
    let write = |name: &str, text: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, text).expect("written");
        path.display().to_string()
    };
    let (user, password) = (write("user", "admin\n"), write("password", "long-enough\n"));
    let files = [("MINIO_ROOT_USER_FILE", &*user), ("MINIO_ROOT_PASSWORD_FILE", &*password)];
    assert_eq!(of("", &files).expect("settings").credentials, pair("admin", "long-enough"));
    for (line, variables) in [
        ("", &[("LITEIO_ACCESS_KEY", "admin"), ("LITEIO_SECRET_KEY_FILE", &*password)][..]),
        ("", &[("LITEIO_ACCESS_KEY_FILE", &*user), ("LITEIO_SECRET_KEY", "long-enough")]),
        ("", &[("LITEIO_ACCESS_KEY_FILE", &*user), ("LITEIO_SECRET_KEY_FILE", &*password)]),
        ("--access-key admin", &[("LITEIO_SECRET_KEY_FILE", &*password)]),
        ("--secret-key long-enough", &[("LITEIO_ACCESS_KEY_FILE", &*user)]),
        ("", &[("MINIO_ROOT_USER", "admin"), ("MINIO_ROOT_PASSWORD_FILE", &*password)]),
        ("", &[("MINIO_ROOT_USER_FILE", &*user), ("MINIO_ROOT_PASSWORD", "long-enough")]),
    ] {
        let config = of(line, variables).expect("settings");
        assert_eq!(config.credentials, pair("admin", "long-enough"), "{line} {variables:?}");
    }
    let text = "# of MinIO\nexport MINIO_ROOT_USER=\"admin\"\nMINIO_ROOT_PASSWORD='long-enough'\n";
    let file = write("env", &format!("{text}MINIO_VOLUMES=/srv/minio\n"));
    let config = of("", &[("MINIO_CONFIG_ENV_FILE", &file), ("MINIO_VOLUMES", "/other")]);
    let config = config.expect("settings");
    assert_eq!(config.credentials, pair("admin", "long-enough"));
    assert_eq!(
        config.storage,
        Storage::Directory { path: "/srv/minio".into(), durability: Durability::Fsync }
    );
    let empty = write("empty", "\n");
    let refused =
        of("", &[("MINIO_ROOT_USER_FILE", &empty), ("MINIO_ROOT_PASSWORD_FILE", &password)]);
    assert!(refused.expect_err("no key").to_string().starts_with("MINIO_ROOT_USER_FILE: "));
}

#[test]
fn a_key_of_the_server_beside_a_credentials_file_is_refused_by_its_name() {
    for name in ["LITEIO_ACCESS_KEY", "LITEIO_SECRET_KEY", "MINIO_ROOT_USER", "MINIO_SECRET_KEY"] {
        for name in [name.to_owned(), format!("{name}_FILE")] {
            let refused = of("--credentials-file f", &[(&*name, "/nowhere")]).expect_err(&name);
            let told =
                format!("--credentials-file (LITEIO_CREDENTIALS_FILE) and {name} contradict");
            assert!(refused.to_string().starts_with(&told), "{refused}");
        }
    }
    let of_clients = [("AWS_ACCESS_KEY_ID", "alice"), ("AWS_SECRET_ACCESS_KEY", "long-enough")];
    let config = of("--credentials-file f", &of_clients).expect("settings");
    assert_eq!(config.credentials, CredentialsSource::File("f".into()));
}

#[test]
fn a_fence_that_is_true_has_the_time_of_a_flag_without_a_value() {
    let fence = |value: &str| {
        let config = of(&format!("--backup file:///backup --fence{value}"), &[]);
        config.map(|config| config.backup.expect("a backup").fence)
    };
    assert_eq!(fence("=true"), fence(""));
    assert!(fence("").expect("settings").is_some());
    let refused = fence("=on").expect_err("no time").to_string();
    assert!(refused.contains("give a time from 2s to 1h, such as --fence=10s"), "{refused}");
}

#[test]
fn an_unknown_variable_of_another_server_is_told_and_an_empty_one_is_none() {
    let names = [("MINIO_COMPRESSION_ENABLE", "on"), ("MINIO_BROWSER", "off"), ("HOME", "/")];
    let variables = names.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
    let variables = Variables::with_file(variables).expect("read");
    let told = super::environment::unknown::lines(&variables, Vec::new);
    assert!(told.len() == 1 && told[0].starts_with("MINIO_COMPRESSION_ENABLE"), "{told:?}");
    let empty = [("MINIO_ROOT_USER", ""), ("MINIO_REGION", " ")];
    assert_eq!(of("", &empty), Ok(Config::default()));
}

#[test]
fn variables_that_kubernetes_makes_of_services_are_no_settings() {
    let of_services = [
        ("LITEIO_PORT", "tcp://10.0.0.7:9000"),
        ("LITEIO_SERVICE_HOST", "10.0.0.7"),
        ("LITEIO_SERVICE_PORT", "9000"),
        ("LITEIO_SERVICE_PORT_S3", "9000"),
        ("LITEIO_PORT_9000_TCP", "tcp://10.0.0.7:9000"),
        ("LITEIO_PORT_9000_TCP_ADDR", "10.0.0.7"),
        ("LITEIO_HOST_PORT_9000_TCP_PORT", "9000"),
        ("MINIO_PORT", "tcp://10.0.0.8:9000"),
        ("MINIO_SERVICE_HOST", "10.0.0.8"),
        ("MINIO_PORT_9000_UDP", "udp://10.0.0.8:9000"),
    ];
    assert_eq!(of("", &of_services), Ok(Config::default()));
    let pairs = of_services.iter().map(|(name, value)| ((*name).into(), (*value).into()));
    let variables = Variables::with_file(pairs.collect()).expect("read");
    assert!(super::environment::unknown::lines(&variables, Vec::new).is_empty());
    let port = of("", &[("LITEIO_PORT", "tcp:/10.0.0.7")]).expect_err("no port");
    assert!(port.to_string().starts_with("LITEIO_PORT: "), "{port}");
    let settings = [("MINIO_API_PORT_NUMBER", "9100"), ("LITEIO_HOST", "127.0.0.1")];
    assert_eq!(of("", &settings).expect("settings").address.port, 9100);
}

#[test]
fn the_higher_of_two_settings_that_contradict_each_other_counts() {
    let directories = [("MINIO_VOLUMES", "/data")];
    assert_eq!(of("--memory", &directories).expect("settings").storage, Storage::Memory);
    let localstack = of("--profile localstack --data-dir /kept", &[]).expect("settings");
    assert_eq!(localstack.storage, directory("/kept"));
    assert!(of("--memory --data-dir /kept", &[]).is_err());
}

#[test]
fn health_asks_where_the_server_would_listen() {
    let rows: [(Option<&str>, Given, &str); 7] = [
        (None, &[("MINIO_ADDRESS", ":9555")], "http://127.0.0.1:9555"),
        (None, &[("LITEIO_PORT", "8000")], "http://127.0.0.1:8000"),
        (Some("localstack"), &[("GATEWAY_LISTEN", "0.0.0.0:5555")], "http://127.0.0.1:5555"),
        (None, &[("GATEWAY_LISTEN", "0.0.0.0:5555")], "http://127.0.0.1:9000"),
        (Some("s3mock"), &[], "http://127.0.0.1:9090"),
        (Some("minio"), &[("MINIO_ROOT_USER", "alone")], "http://127.0.0.1:9000"),
        (Some("localstack"), &[("EDGE_PORT", "4577")], "http://127.0.0.1:4577"),
    ];
    for (profile, variables, expected) in rows {
        let profile = profile.map(str::to_owned);
        let arguments = HealthArgs { profile, ..HealthArgs::default() };
        let variables = variables.iter().map(|(name, value)| ((*name).into(), (*value).into()));
        let variables = Variables::with_file(variables.collect()).expect("read");
        assert_eq!(resolve_health_url(&arguments, &variables), Ok(expected.to_owned()));
    }
}

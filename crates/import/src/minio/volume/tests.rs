//! The states of a volume, and the searches for them.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use super::*;
use crate::cli::{ImportMinioArgs, ImportTargetArgs, MinioKmsArgs};

/// A volume without objects.
fn volume() -> (tempfile::TempDir, Volume) {
    let directory = tempfile::tempdir().expect("a directory");
    let system = directory.path().join(SYSTEM);
    fs::create_dir_all(system.join("tmp")).expect("made");
    let format = r#"{"format":"xl-single","id":"one","xl":{"sets":[["a"]]}}"#;
    fs::write(system.join("format.json"), format).expect("written");
    fs::create_dir_all(directory.path().join("plain/key")).expect("made");
    let volume = Volume::find(directory.path()).expect("a volume");
    (directory, volume)
}

fn write(volume: &Volume, path: &str, bytes: &[u8]) {
    let path = volume.root.join(path);
    fs::create_dir_all(path.parent().expect("a directory")).expect("made");
    fs::write(path, bytes).expect("written");
}

#[test]
fn a_change_of_data_is_seen_and_one_of_other_files_is_not() {
    let (_directory, volume) = volume();
    write(&volume, "plain/key/xl.meta", b"1234");
    let of_now = || volume.survey().expect("readable");
    let first = of_now();
    assert_eq!((first.keys, first.bytes), (1, 4 + 2048));
    for other in
        [".minio.sys/tmp/x", ".minio.sys/buckets/.usage.json/xl.meta", ".liteio/data/x", "top"]
    {
        write(&volume, other, b"other");
        assert_eq!(of_now(), first, "{other}");
    }
    let mut before = first;
    for changed in [
        "plain/key/xl.meta",
        "plain/new/xl.meta",
        "plain/key/id/part.1",
        ".minio.sys/buckets/plain/.metadata.bin/xl.meta",
        ".minio.sys/config/iam/users/alice/identity.json/xl.meta",
    ] {
        write(&volume, changed, b"changed");
        let after = of_now();
        assert_ne!(after.digest, before.digest, "{changed}");
        before = after;
    }
    fs::remove_file(volume.root.join("plain/new/xl.meta")).expect("removed");
    assert_ne!(of_now().digest, before.digest, "a removal");
    write(&volume, ".minio.sys/multipart/key/upload/xl.meta", b"open");
    assert_eq!(of_now().uploads, 1);
}

#[test]
fn a_start_of_minio_changes_the_stamp() {
    let (_directory, volume) = volume();
    let before = stamp(&volume.root);
    write(&volume, "plain/key/xl.meta", b"1");
    assert_eq!(stamp(&volume.root), before, "data alone do not");
    let temporary = volume.root.join(SYSTEM).join("tmp");
    fs::rename(&temporary, temporary.with_extension("old")).expect("renamed");
    assert_ne!(stamp(&volume.root), before);
}

#[test]
fn a_directory_is_a_volume_unless_liteio_keeps_its_own_data_there() {
    let (directory, volume) = volume();
    assert_eq!(volume.data_dir(), directory.path().join(".liteio/data"));
    fs::write(directory.path().join("format"), "liteio 3").expect("written");
    assert!(Volume::find(directory.path()).is_none());
    assert!(Volume::find(tempfile::tempdir().expect("a directory").path()).is_none());
}

#[test]
fn empty_directories_that_minio_does_not_know_become_buckets() {
    let (directory, volume) = volume();
    for name in ["fresh", "known", "Not_A_Bucket", "lost+found", "a:public"] {
        fs::create_dir(directory.path().join(name)).expect("made");
    }
    fs::create_dir_all(directory.path().join(SYSTEM).join("buckets/known")).expect("made");
    let names: Vec<String> = volume.new_directories().iter().map(ToString::to_string).collect();
    assert_eq!(names, ["fresh"]);
}

#[test]
fn a_full_device_is_refused_with_figures() {
    let survey = Survey { bytes: 10 << 30, ..Survey::default() };
    let root = Path::new("/data");
    check_space(root, &survey, 0, None).expect("the system does not say");
    check_space(root, &survey, 0, Some(11 << 30)).expect("enough");
    check_space(root, &survey, 9 << 30, Some(2 << 30)).expect("most is there already");
    let refused = check_space(root, &survey, 0, Some(5 << 30)).expect_err("too few");
    for part in ["/data", "10.19 GiB", "5.00 GiB", "liteio import minio", "MinIO's files stay"] {
        assert!(refused.contains(part), "{part}: {refused}");
    }
    assert_eq!(refused.lines().count(), 1);
}

#[test]
fn webhooks_of_settings_are_kept_unless_the_server_has_them_or_variables_turn_them_off() {
    let (_directory, volume) = volume();
    make_private(&volume.own()).expect("made");
    let former = |name: &str| {
        let url = format!("http://localhost/{name}");
        FormerWebhook { name: name.to_owned(), url, token: None }
    };
    let webhooks = ["own", "off", "kept", "bad"].map(former).into();
    let settings = Settings {
        identity: &IdentitySettings::new(CredentialsSource::Made),
        keys: &KeyRing::default(),
        take_over: TakeOver::default(),
        event_targets: vec![KnownTarget::webhook("own")],
        tiers: Vec::new(),
        new_buckets: NewBuckets::default(),
        turned_off: vec!["off".to_owned()],
        check_webhook: |webhook| match &*webhook.name {
            "bad" => Err("it is bad".to_owned()),
            _ => Ok(()),
        },
        given_up: Arc::default(),
    };
    let mut notes = Vec::new();
    let found = targets::Targets { webhooks, notes: Vec::new() };
    let known = volume.keep_webhooks(found, &settings, &mut notes).expect("kept");
    let expected = ["own", "kept"].map(KnownTarget::webhook);
    assert_eq!(known, expected, "those that notifications may refer to");
    assert_eq!(volume.webhooks(), Ok(vec![former("kept")]));
    let has = |part: &str| notes.iter().any(|note| note.contains(part));
    assert!(notes.len() == 2 && has("off of MinIO's events") && has("it is bad"), "{notes:?}");
}

#[test]
fn markers_are_read_back() {
    let (directory, volume) = volume();
    let survey = volume.survey().expect("readable");
    let own = directory.path();
    let marker = Marker::new(now(), "one", stamp(own), &survey);
    assert_eq!(Marker::taking_over(own), Ok(None));
    marker.begin(own).expect("written");
    assert_eq!(Marker::taking_over(own), Ok(Some(marker.clone())));
    marker.finish(own).expect("written");
    assert_eq!(Marker::taken_over(own), Ok(Some(marker.clone())));
    assert_eq!(Marker::taking_over(own), Ok(None), "it was removed");
    assert!(marker.is_of("one", &survey) && !marker.is_of("two", &survey));
    fs::write(own.join("taken-over.json"), "{").expect("written");
    let refused = Marker::taken_over(own).expect_err("damaged");
    assert!(refused.contains("taken-over.json"), "{refused}");
}

#[test]
#[cfg(target_os = "linux")]
fn a_minio_that_runs_on_the_volume_is_found_by_its_arguments() {
    let (directory, volume) = volume();
    assert_eq!(running::find(&volume.root), None);
    let process = |program: &str, name: &Path| {
        let mut command = Command::new("sh");
        command.arg0(program).args(["-c", "read x", "server"]).arg(name).stdin(Stdio::piped());
        let child = command.current_dir(directory.path()).spawn().expect("it runs");
        // The process has these arguments only once it is executed.
        let path = format!("/proc/{}/cmdline", child.id());
        while !fs::read(&path).is_ok_and(|it| it.starts_with(program.as_bytes())) {
            std::thread::yield_now();
        }
        child
    };
    let end = |mut child: std::process::Child| {
        drop(child.stdin.take());
        child.wait().expect("it ends");
    };
    for (program, name, is_found) in [
        ("minio", Path::new("."), true),
        ("/opt/minio", &*volume.root, true),
        ("minio", Path::new("plain"), false),
        ("other", Path::new("."), false),
    ] {
        let child = process(program, name);
        let expected = is_found.then(|| child.id());
        assert_eq!(running::find(&volume.root), expected, "{program} {}", name.display());
        if is_found {
            let arguments = ImportMinioArgs {
                directory: volume.root.clone(),
                root_user: None,
                root_password: None,
                kms: MinioKmsArgs::default(),
                target: ImportTargetArgs::default(),
            };
            let refused = super::super::run(&arguments, KeyRing::default()).expect_err("refused");
            assert!(refused.contains("MinIO runs on"), "{refused}");
        }
        end(child);
    }
}

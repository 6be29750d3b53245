//! Damages every byte of a drive.

use std::fs;
use std::path::{Path, PathBuf};

use liteio_store::{
    BucketName, ImportedContent, NewBucket, ObjectLock, ObjectMetadata, Owner, Store, StoreConfig,
};
use twox_hash::XxHash64;

use super::*;
use crate::seal::Sealer;

/// A MinIO drive; the page next to it describes it.
const DRIVE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/minio");

/// A version with the imported object, or the reason why it is skipped.
type Read =
    (SourceVersion, Result<(Vec<[u8; 16]>, Option<ETag>, ObjectMetadata, ObjectLock), String>);

/// Reads a key like an import does.
fn read(store: &Store, directory: &Path) -> Result<Vec<Read>, String> {
    let mut key = StoredKey::new(directory);
    let versions = key.versions().map_err(|failure| failure.to_string())?;
    let bucket = store.bucket(&BucketName::new("bucket").expect("a name")).expect("there");
    let sealer = Sealer::default();
    let to = Destination { store, bucket: &bucket, sealer: &sealer };
    let read = versions.into_iter().enumerate().map(|(index, version)| {
        if version.object.is_none() {
            return (version, Err("a delete marker".to_owned()));
        }
        let object = key.read(to, index).map_err(|failure| failure.to_string());
        let facts = object.map(|object| {
            let (ImportedContent::Whole { bodies, .. }
            | ImportedContent::Parts(bodies)
            | ImportedContent::SealedParts(bodies, _)) = object.content;
            let md5s = bodies.iter().map(|body| body.digests().md5).collect();
            (md5s, object.etag, object.metadata, object.lock)
        });
        (version, facts)
    });
    Ok(read.collect())
}

fn store() -> Store {
    let store = Store::open(StoreConfig::memory()).expect("opens");
    let name = BucketName::new("bucket").expect("a name");
    let new = NewBucket::new(name, Owner::default(), String::new());
    store.create_bucket(new).wait().expect("made");
    store
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("made");
    for entry in fs::read_dir(from).expect("readable") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy(&entry.path(), &to),
            false => fs::copy(entry.path(), to).map(drop).expect("copied"),
        }
    }
}

fn files(below: &Path) -> Vec<PathBuf> {
    let entries =
        fs::read_dir(below).expect("readable").map(|entry| entry.expect("an entry").path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

#[test]
fn damage_of_any_byte_is_found_or_has_no_effect() {
    let store = store();
    let directory = tempfile::tempdir().expect("a temporary directory");
    for key in ["plain/hello.txt", "plain/file", "plain/upload", "versions/k", "locked/kept"] {
        let copied = directory.path().join(key);
        copy(&Path::new(DRIVE).join(key), &copied);
        let whole = read(&store, &copied).expect("readable");
        let is_read = |(version, read): &Read| version.object.is_none() || read.is_ok();
        assert!(whole.iter().all(is_read), "{key} {whole:?}");
        for path in files(&copied) {
            let bytes = fs::read(&path).expect("readable");
            for at in 0..bytes.len() {
                let mut damaged = bytes.clone();
                damaged[at] ^= 1 << (at % 8);
                fs::write(&path, &damaged).expect("written");
                let Ok(read) = read(&store, &copied) else { continue };
                assert_eq!(read.len(), whole.len(), "{key} {at}");
                for (read, whole) in read.iter().zip(&whole) {
                    assert_eq!(read.0, whole.0, "{key} {at}");
                    assert!(read.1.is_err() || read.1 == whole.1, "{key} {at}: {read:?}");
                }
            }
            for length in (0..bytes.len()).step_by(3) {
                fs::write(&path, &bytes[..length]).expect("written");
                let read = read(&store, &copied);
                let is_whole = |read: Vec<Read>| {
                    read.iter().any(|(version, read)| version.object.is_some() && read.is_err())
                };
                assert!(read.is_err() || read.is_ok_and(is_whole), "{key} {length}");
            }
            fs::write(&path, &bytes).expect("written");
        }
    }
}

/// Versions with a matching checksum may still be invalid: through an error of MinIO, or on
/// purpose.
#[test]
fn versions_of_any_bytes_are_read_without_harm() {
    for key in ["plain/hello.txt", "plain/upload", "versions/k", "versions/gone"] {
        let bytes = fs::read(Path::new(DRIVE).join(key).join("xl.meta")).expect("readable");
        let mut reader = super::super::msgpack::Reader::new(&bytes[8..]);
        let versions = reader.bytes().expect("versions").to_vec();
        reader.unsigned().expect("a checksum");
        let inline = reader.rest();
        for at in 0..versions.len() {
            for byte in
                [0x00, 0x7f, 0x80, 0x8f, 0x90, 0xc0, 0xc1, 0xc6, 0xcf, 0xdb, 0xdd, 0xdf, 0xff]
            {
                let mut changed = versions.clone();
                changed[at] = byte;
                let length = u32::try_from(changed.len()).expect("short").to_be_bytes();
                let sum = XxHash64::oneshot(0, &changed) as u32;
                let head =
                    [b"XL2 \x01\x00\x03\x00\xc6", &length[..], &changed[..], b"\xce"].concat();
                let whole = [&head[..], &sum.to_be_bytes(), inline].concat();
                let Ok(meta) = XlMeta::parse(&whole) else { continue };
                for version in &meta.versions {
                    let _ = meta.inline(version);
                    let _ = readable(version);
                }
            }
        }
    }
}

/// Block checksums do not protect positions: here the object's ETag differs, as if two blocks or
/// two files had been swapped.
#[test]
fn bytes_of_another_entity_tag_are_left_out() {
    let store = store();
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (key, part) in [("plain/file", "part.1"), ("plain/upload", "part.3")] {
        let copied = directory.path().join(key);
        copy(&Path::new(DRIVE).join(key), &copied);
        let path = files(&copied).into_iter().find(|path| path.ends_with(part)).expect(part);
        let mut content = fs::read(&path).expect("readable").split_off(32);
        let original = content.clone();
        content.rotate_left(1);
        assert_ne!(content, original);
        let stored = [&super::super::bitrot::checksum(&content)[..], &content].concat();
        fs::write(&path, stored).expect("written");
        let read = read(&store, &copied).expect("versions");
        let reason = read[0].1.as_ref().expect_err("other bytes");
        assert!(reason.starts_with("its bytes do not match its entity tag"), "{key} {reason}");
    }
}

#[test]
fn tags_are_compared_where_they_were_made_of_the_parts() {
    let md5s = [[1; 16], [2; 16]];
    let whole = ETag::multipart(&md5s);
    let of_others = Some(ETag::Multipart { md5: [7; 16], parts: 3 });
    for tag in [None, Some(whole), of_others, Some(ETag::Md5([7; 16]))] {
        compare(tag, &md5s).expect("nothing is known against it");
    }
    compare(Some(whole), &[md5s[1], md5s[0]]).expect_err("exchanged parts");
    compare(Some(ETag::Md5([1; 16])), &md5s[..1]).expect("the same");
    compare(Some(ETag::Md5([1; 16])), &md5s[1..]).expect_err("another");
}

#[test]
fn pipes_and_links_are_neither_waited_for_nor_followed() {
    let store = store();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let pipe = |path: &Path| {
        rustix::fs::mknodat(rustix::fs::CWD, path, rustix::fs::FileType::Fifo, mode, 0)
            .expect("made");
    };
    let copied = directory.path().join("file");
    copy(&Path::new(DRIVE).join("plain/file"), &copied);
    let path = files(&copied).into_iter().find(|path| path.ends_with("part.1")).expect("a part");
    let reason = || read(&store, &copied).expect("versions")[0].1.clone().expect_err("no file");
    let kept = directory.path().join("part.1");
    fs::rename(&path, &kept).expect("moved");
    pipe(&path);
    assert!(reason().contains("it is no regular file"), "{}", reason());
    fs::remove_file(&path).expect("removed");
    std::os::unix::fs::symlink(&kept, &path).expect("linked");
    assert!(reason().contains("it is no regular file"), "{}", reason());
    let data = path.parent().expect("a directory");
    fs::remove_file(&path).expect("removed");
    fs::remove_dir(data).expect("removed");
    std::os::unix::fs::symlink(directory.path(), data).expect("linked");
    assert!(reason().contains("it is no directory"), "{}", reason());
    fs::remove_file(copied.join("xl.meta")).expect("removed");
    pipe(&copied.join("xl.meta"));
    assert_eq!(read(&store, &copied), Err("its xl.meta: it is no regular file".to_owned()));
}

//! Keys of the catalog of tables: namespaces, tables and views, and what belongs to tables.

use super::{
    ANSWER, ANSWER_TIME, CATALOG_CHANGE, CATALOG_WATCH, NAMESPACE, PURGE, TABLE, TABLE_ID,
    TABLE_SETTINGS, UNREFERENCED, VIEW, of_bucket, split_bucket,
};
use crate::meta::key::{append_ended, split_ended, successor};
use crate::name::BucketId;

/// The prefix of all keys of namespaces.
pub(crate) const ALL_NAMESPACES: &[u8] = &[NAMESPACE];
/// The prefix of all keys of tables.
pub(crate) const ALL_TABLES: &[u8] = &[TABLE];
/// The prefix of all keys of views.
pub(crate) const ALL_VIEWS: &[u8] = &[VIEW];
/// The prefix of all keys of settings of tables.
pub(crate) const ALL_TABLE_SETTINGS: &[u8] = &[TABLE_SETTINGS];
/// The prefix of all keys of ids of tables.
pub(crate) const ALL_TABLE_IDS: &[u8] = &[TABLE_ID];
/// The prefix of all keys of answers.
pub(crate) const ALL_ANSWERS: &[u8] = &[ANSWER];
/// The prefix of all keys of times of answers.
pub(crate) const ALL_ANSWER_TIMES: &[u8] = &[ANSWER_TIME];
/// The prefix of all keys of purges.
pub(crate) const ALL_PURGES: &[u8] = &[PURGE];
/// The mark of the watch over the catalogs.
pub(crate) const CATALOG_WATCH_KEY: &[u8] = &[CATALOG_WATCH];
/// The prefix of all keys of changes of tables and views.
pub(crate) const ALL_CATALOG_CHANGES: &[u8] = &[CATALOG_CHANGE];
/// The prefix of all keys of files that no table names.
pub(crate) const ALL_UNREFERENCED: &[u8] = &[UNREFERENCED];

/// The prefix of the keys of all namespaces, tables or views of a bucket.
pub(crate) fn catalog_of(bucket: BucketId) -> [Vec<u8>; 3] {
    [NAMESPACE, TABLE, VIEW].map(|tag| of_bucket(tag, bucket, 0))
}

/// The prefixes of the keys of what belongs to the tables of a bucket: settings, ids, files that none names, and purges.
pub(crate) fn of_tables_in(bucket: BucketId) -> [Vec<u8>; 4] {
    [TABLE_SETTINGS, TABLE_ID, UNREFERENCED, PURGE].map(|tag| of_bucket(tag, bucket, 0))
}

/// The prefix of the keys of the namespaces directly in the one with the path `parent`; the name follows. The
/// path of the root is empty.
pub(crate) fn namespaces_in(bucket: BucketId, parent: &str) -> Vec<u8> {
    of_path(NAMESPACE, bucket, parent, "")
}

pub(crate) fn namespace(bucket: BucketId, parent: &str, name: &str) -> Vec<u8> {
    of_path(NAMESPACE, bucket, parent, name)
}

pub(crate) fn table(bucket: BucketId, namespace: &str, name: &str) -> Vec<u8> {
    of_path(TABLE, bucket, namespace, name)
}

pub(crate) fn view(bucket: BucketId, namespace: &str, name: &str) -> Vec<u8> {
    of_path(VIEW, bucket, namespace, name)
}

pub(crate) fn table_settings(bucket: BucketId, namespace: &str, name: &str) -> Vec<u8> {
    of_path(TABLE_SETTINGS, bucket, namespace, name)
}

/// The prefix of the keys of the tables with an id; encoded path and name follow.
pub(crate) fn tables_with_id(bucket: BucketId, id: &[u8; 16]) -> Vec<u8> {
    let mut bytes = of_bucket(TABLE_ID, bucket, id.len());
    bytes.extend_from_slice(id);
    bytes
}

pub(crate) fn table_id(bucket: BucketId, id: &[u8; 16], namespace: &str, name: &str) -> Vec<u8> {
    let mut bytes = tables_with_id(bucket, id);
    append_ended(namespace.as_bytes(), &mut bytes);
    bytes.extend_from_slice(name.as_bytes());
    bytes
}

/// Bucket, id, path and name in a key made by [`table_id`].
pub(crate) fn split_table_id(bytes: &[u8]) -> Option<(BucketId, [u8; 16], String, &str)> {
    let (bucket, rest) = split_bucket(TABLE_ID, bytes)?;
    let (id, rest) = rest.split_first_chunk()?;
    let (path, name) = split_ended(rest)?;
    Some((bucket, *id, String::from_utf8(path).ok()?, std::str::from_utf8(name).ok()?))
}

pub(crate) fn unreferenced(bucket: BucketId, key: &str) -> Vec<u8> {
    let mut bytes = of_bucket(UNREFERENCED, bucket, key.len());
    bytes.extend_from_slice(key.as_bytes());
    bytes
}

/// Bucket and key in a key made by [`unreferenced`].
pub(crate) fn split_unreferenced(bytes: &[u8]) -> Option<(BucketId, &str)> {
    let (bucket, key) = split_bucket(UNREFERENCED, bytes)?;
    Some((bucket, std::str::from_utf8(key).ok()?))
}

/// The answer to the request with a key.
pub(crate) fn answer(key: &[u8; 16]) -> Vec<u8> {
    [&[ANSWER], &key[..]].concat()
}

/// `true` for a key made by [`answer`].
pub(crate) fn is_answer(bytes: &[u8]) -> bool {
    bytes.first() == Some(&ANSWER)
}

/// The key of the request in a key made by [`answer`].
pub(crate) fn key_of_answer(bytes: &[u8]) -> Option<[u8; 16]> {
    bytes.strip_prefix(&[ANSWER])?.try_into().ok()
}

/// The prefix of the times of the answers to an account; time and key of the request follow.
pub(crate) fn answer_times_of(account: &str) -> Vec<u8> {
    let mut bytes = vec![ANSWER_TIME];
    append_ended(account.as_bytes(), &mut bytes);
    bytes
}

/// The time of an answer to an account.
pub(crate) fn answer_time(account: &str, at_ms: u64, key: &[u8; 16]) -> Vec<u8> {
    let mut bytes = answer_times_of(account);
    bytes.extend_from_slice(&at_ms.to_be_bytes());
    bytes.extend_from_slice(key);
    bytes
}

/// Account, time and key of the request in a key made by [`answer_time`].
pub(crate) fn split_answer_time(bytes: &[u8]) -> Option<(String, u64, [u8; 16])> {
    let (account, rest) = split_ended(bytes.strip_prefix(&[ANSWER_TIME])?)?;
    let (at_ms, key) = rest.split_first_chunk()?;
    Some((String::from_utf8(account).ok()?, u64::from_be_bytes(*at_ms), key.try_into().ok()?))
}

/// The first key behind the times of the answers to an account.
pub(crate) fn behind_answer_times_of(account: &str) -> Option<Vec<u8>> {
    successor(&answer_times_of(account))
}

/// The purge of the objects of a bucket whose keys begin with a prefix.
pub(crate) fn purge(bucket: BucketId, prefix: &str) -> Vec<u8> {
    let mut bytes = of_bucket(PURGE, bucket, prefix.len());
    bytes.extend_from_slice(prefix.as_bytes());
    bytes
}

/// Bucket and prefix in a key made by [`purge`].
pub(crate) fn split_purge(bytes: &[u8]) -> Option<(BucketId, &str)> {
    let (bucket, prefix) = split_bucket(PURGE, bytes)?;
    Some((bucket, std::str::from_utf8(prefix).ok()?))
}

/// The note of a change of the table or view with this key.
pub(crate) fn catalog_change(place: &[u8]) -> Vec<u8> {
    [&[CATALOG_CHANGE], place].concat()
}

/// The key of the table (`true`) or view in a key made by [`catalog_change`].
pub(crate) fn split_catalog_change(bytes: &[u8]) -> Option<(bool, &[u8])> {
    let place = bytes.strip_prefix(&[CATALOG_CHANGE])?;
    match place.first() {
        Some(&TABLE) => Some((true, place)),
        Some(&VIEW) => Some((false, place)),
        _ => None,
    }
}

/// Bucket, path and name in a key made by [`namespace`], [`table`], [`view`] or [`table_settings`].
pub(crate) fn split_catalog(bytes: &[u8]) -> Option<(BucketId, String, &str)> {
    let (&tag, _) = bytes.split_first()?;
    let (bucket, rest) = match tag {
        NAMESPACE | TABLE | VIEW | TABLE_SETTINGS => split_bucket(tag, bytes)?,
        _ => return None,
    };
    let (path, name) = split_ended(rest)?;
    Some((bucket, String::from_utf8(path).ok()?, std::str::from_utf8(name).ok()?))
}

/// `true` for a key made by [`namespace`].
pub(crate) fn is_namespace(bytes: &[u8]) -> bool {
    bytes.first() == Some(&NAMESPACE)
}

/// `true` for a key made by [`table_settings`].
pub(crate) fn is_table_settings(bytes: &[u8]) -> bool {
    bytes.first() == Some(&TABLE_SETTINGS)
}

fn of_path(tag: u8, bucket: BucketId, path: &str, name: &str) -> Vec<u8> {
    let mut bytes = of_bucket(tag, bucket, path.len() + 2 + name.len());
    append_ended(path.as_bytes(), &mut bytes);
    bytes.extend_from_slice(name.as_bytes());
    bytes
}

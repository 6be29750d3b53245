//! A row at a target in one round: prepare, warm up, measure, check the data, clean up.

use std::time::Duration;

use super::api::path;
use super::case::{COLD_OBJECTS, Case, KeyShape, SCALE_BYTES, VERSIONED_KEYS, Work};
use super::session::{
    BUCKET, LISTED_VERSIONS, Session, VERSIONED, encrypted_key, fixed_count, fixed_key,
    listing_bucket, metadata, new_key,
};
use crate::client::{Connection, Driven, Limit, Payloads, drive};
use crate::random::{SEED, next};
use crate::run::Failure;

/// Time of a row in one round, if it can be repeated at will, and the number of objects for a round
/// of deletions.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pace {
    pub(crate) time: Duration,
    pub(crate) deletions: u64,
}

/// Limit of bytes that a round of one row writes or reads.
const ROUND_BYTES_MAX: u64 = 1 << 30;
/// Minimum of operations of every client, however slow.
const OPERATIONS_MIN: u64 = 3;
/// Part of the time that runs before the measurement: one in this many.
const WARM_UP: u32 = 10;
/// Limit of the time of a scale row.
const SCALE_TIME: Duration = Duration::from_secs(120);

/// Measures one row in one round. Failures of every kind are counted.
pub(crate) async fn measure(
    session: &mut Session,
    case: &Case,
    round: usize,
    pace: Pace,
) -> Driven {
    let scale = |objects| Scale { objects, prefix: format!("scale-{objects}-{round}/") };
    let driven = match case.work {
        Work::Delete { bytes } => delete(session, bytes, pace.deletions).await,
        Work::DeleteMany { objects } => delete_many(session, objects, pace).await,
        Work::ScaleWrite { objects } => scale(objects).write(session, case.clients).await,
        Work::ScaleList { objects } => scale(objects).list(session, pace).await,
        Work::ScaleDelete { objects } => scale(objects).delete(session, case.clients).await,
        Work::ListDeleted { objects } => list_deleted(session, objects).await,
        Work::GetCold { bytes } => get_cold(session, bytes).await,
        _ => repeat(session, case, pace).await,
    };
    session.close_others();
    driven.unwrap_or_else(|failure| Driven::failed(format!("preparing: {failure}")))
}

/// A row that can be repeated at will.
async fn repeat(session: &mut Session, case: &Case, pace: Pace) -> Result<Driven, Failure> {
    session.prepare(case.work).await?;
    let moved = case.work.bytes_moved().max(1) as u64;
    let operations_max = (ROUND_BYTES_MAX / moved).max(OPERATIONS_MIN);
    let operations_min = OPERATIONS_MIN.max(case.clients as u64).min(operations_max);
    let limit = Limit { time: pace.time, operations_min, operations_max };
    let warm_up =
        Limit { time: pace.time / WARM_UP, operations_min: case.clients as u64, operations_max };

    let mut first = session.take_numbers(0);
    let warmed = run(session, case, warm_up, first).await;
    session.take_numbers(warmed.begun);
    let mut keys: Vec<String> = written(&case.work, first, warmed.begun).collect();

    first = session.take_numbers(0);
    let mut driven = run(session, case, limit, first).await;
    session.take_numbers(driven.begun);
    keys.extend(written(&case.work, first, driven.begun));
    if case.work.writes() {
        let bytes = moved * (warmed.begun + driven.begun);
        session.bytes_put.set(session.bytes_put.get() + bytes);
    }
    check(session, case, first, &mut driven).await;
    session.remove_all(&keys).await;
    Ok(driven)
}

/// The keys of new objects that operations have written.
fn written(work: &Work, first: u64, count: u64) -> impl Iterator<Item = String> {
    let shape = match work {
        Work::Put { key, .. } => Some(*key),
        Work::PutGet { .. }
        | Work::Copy { .. }
        | Work::Multipart { .. }
        | Work::Mixed { .. }
        | Work::PutEncrypted { .. } => Some(KeyShape::Plain),
        _ => None,
    };
    let reads = match work {
        Work::Mixed { reads, .. } => *reads,
        _ => 0,
    };
    (first..first + count)
        .filter(move |number| !is_read(*number, reads))
        .filter_map(move |number| Some(new_key(shape?, number)))
}

/// `true` if the operation with this number reads, when `reads` of 100 do.
fn is_read(number: u64, reads: u64) -> bool {
    next(&mut (number ^ SEED)) % 100 < reads
}

async fn run(session: &mut Session, case: &Case, limit: Limit, first: u64) -> Driven {
    let work = case.work;
    let payloads = session.payloads(work.bytes_max());
    let entries = match work {
        Work::Put { metadata: entries, .. } => metadata(entries),
        _ => Vec::new(),
    };
    let bucket = match work {
        Work::List(listing) => listing_bucket(listing),
        _ => String::new(),
    };
    drive(session.connections(case.clients), limit, async |connection, number| {
        let number = first + number;
        operate(connection, work, number, &payloads, &entries, &bucket).await
    })
    .await
}

/// The operation with this number.
async fn operate(
    connection: &mut Connection,
    work: Work,
    number: u64,
    payloads: &Payloads,
    entries: &[(String, String)],
    bucket: &str,
) -> Result<(), Failure> {
    let fixed = |bytes: usize| {
        let object = number % fixed_count(bytes);
        (path(BUCKET, &fixed_key(bytes, object)), payloads.of(object))
    };
    match work {
        Work::Put { key, .. } => {
            connection.put(&path(BUCKET, &new_key(key, number)), payloads.of(number), entries).await
        }
        Work::Get { bytes } => {
            let (path, payload) = fixed(bytes);
            connection.get(&path, &payload.bytes).await
        }
        Work::PutGet { .. } => {
            let path = path(BUCKET, &new_key(KeyShape::Plain, number));
            let payload = payloads.of(number);
            connection.put(&path, payload, entries).await?;
            connection.get(&path, &payload.bytes).await
        }
        Work::PutEncrypted { .. } => {
            let path = path(BUCKET, &new_key(KeyShape::Plain, number));
            connection.put_encrypted(&path, payloads.of(number)).await
        }
        Work::GetEncrypted { bytes } => {
            let object = number % fixed_count(bytes);
            let path = path(BUCKET, &encrypted_key(bytes, object));
            connection.get(&path, &payloads.of(object).bytes).await
        }
        Work::Range { of, start, bytes } => {
            let (path, payload) = fixed(of);
            connection.get_range(&path, &payload.bytes, start..start + bytes).await
        }
        Work::Mixed { reads, bytes } if is_read(number, reads) => {
            let (path, payload) = fixed(bytes);
            connection.get(&path, &payload.bytes).await
        }
        Work::Mixed { .. } => {
            let path = path(BUCKET, &new_key(KeyShape::Plain, number));
            connection.put(&path, payloads.of(number), &[]).await
        }
        Work::Head { existing: true } => connection.head(&fixed(1 << 10).0, 1 << 10, &[]).await,
        Work::Head { existing: false } => {
            connection.head_missing(&path(BUCKET, &format!("missing/{number}"))).await
        }
        Work::DeleteMissing => connection.delete(&path(BUCKET, &format!("missing/{number}"))).await,
        Work::Copy { bytes } => {
            let to = path(BUCKET, &new_key(KeyShape::Plain, number));
            connection.copy(&fixed(bytes).0, &to).await
        }
        Work::List(listing) => {
            let prefix = if listing.prefix { "folder-001/" } else { "" };
            let delimiter = if listing.delimiter { "/" } else { "" };
            let expected = match listing {
                listing if listing.prefix => listing.keys / listing.folders,
                listing if listing.delimiter => listing.folders,
                listing => listing.keys,
            };
            expect_keys(connection.list(bucket, prefix, delimiter).await?, expected)
        }
        Work::PutVersion { .. } => {
            connection.put(&version_path(number), payloads.of(number), &[]).await
        }
        Work::ListVersions { versions } => {
            expect_keys(connection.list_versions(LISTED_VERSIONS).await?, versions)
        }
        Work::Multipart { parts, .. } => {
            let body: Vec<_> = (0..parts as u64).map(|part| payloads.of(number + part)).collect();
            connection.multipart(&path(BUCKET, &new_key(KeyShape::Plain, number)), &body).await
        }
        Work::BucketCycle => {
            let bucket = format!("bench-cycle-{number}");
            connection.create_bucket(&bucket).await?;
            connection.delete_bucket(&bucket).await
        }
        Work::BucketHead => connection.head_bucket(BUCKET).await,
        // These have a procedure of their own.
        Work::Delete { .. }
        | Work::DeleteMany { .. }
        | Work::ScaleWrite { .. }
        | Work::ScaleList { .. }
        | Work::ScaleDelete { .. }
        | Work::ListDeleted { .. }
        | Work::GetCold { .. } => Err("cannot be repeated".into()),
    }
}

/// Path of the object whose new version has this number.
fn version_path(number: u64) -> String {
    path(VERSIONED, &format!("key-{:03}", number % VERSIONED_KEYS))
}

fn expect_keys(found: usize, expected: usize) -> Result<(), Failure> {
    if found == expected {
        return Ok(());
    }
    Err(format!("{found} keys and prefixes listed instead of {expected}").into())
}

/// Reads back the first, the middle and the last written object. A wrong one is an error of the
/// row.
async fn check(session: &mut Session, case: &Case, first: u64, driven: &mut Driven) {
    let begun = driven.begun;
    if begun == 0 || driven.errors > 0 {
        return;
    }
    for place in [0, begun / 2, begun - 1] {
        let number = first + place;
        let path = match case.work {
            // Its key has a newer version by now.
            Work::PutVersion { .. } if place + VERSIONED_KEYS < begun => continue,
            Work::PutVersion { .. } => version_path(number),
            work => match written(&work, number, 1).next() {
                Some(key) => path(BUCKET, &key),
                None => continue,
            },
        };
        let payloads = session.payloads(case.work.bytes_max());
        let connection = &mut session.connections(1)[0];
        let outcome = match case.work {
            Work::Copy { bytes } => {
                let source = number % fixed_count(bytes);
                connection.get(&path, &payloads.of(source).bytes).await
            }
            Work::Multipart { parts, .. } => {
                let parts = (0..parts as u64).map(|part| &payloads.of(number + part).bytes[..]);
                connection.get(&path, &parts.collect::<Vec<_>>().concat()).await
            }
            Work::Put { bytes, metadata: entries, .. } => {
                match connection.get(&path, &payloads.of(number).bytes).await {
                    Ok(()) => connection.head(&path, bytes, &metadata(entries)).await,
                    failure => failure,
                }
            }
            _ => connection.get(&path, &payloads.of(number).bytes).await,
        };
        if let Err(failure) = outcome {
            driven.fail(format!("checking the data: {failure}"));
        }
    }
}

/// Deletes objects that are put for this purpose.
async fn delete(session: &mut Session, bytes: usize, objects: u64) -> Result<Driven, Failure> {
    let first = session.take_numbers(objects);
    let paths: Vec<String> = (first..first + objects)
        .map(|number| path(BUCKET, &new_key(KeyShape::Plain, number)))
        .collect();
    session.put_all(paths.clone(), bytes).await?;
    let limit = Limit::count(objects);
    let mut driven = drive(session.connections(1), limit, async |connection, number| {
        connection.delete(&paths[number as usize]).await
    })
    .await;
    missing(session, &paths[..1], &mut driven).await;
    Ok(driven)
}

/// Deletes many objects with each request, after putting them.
async fn delete_many(session: &mut Session, objects: usize, pace: Pace) -> Result<Driven, Failure> {
    // Most of the time is spent on putting the objects.
    let requests = (pace.deletions / 200).max(1);
    let count = requests * objects as u64;
    let first = session.take_numbers(count);
    let keys: Vec<String> =
        (first..first + count).map(|number| new_key(KeyShape::Plain, number)).collect();
    let paths: Vec<String> = keys.iter().map(|key| path(BUCKET, key)).collect();
    session.put_all(paths.clone(), SCALE_BYTES).await?;
    let batches: Vec<&[String]> = keys.chunks(objects).collect();
    let limit = Limit::count(requests);
    let mut driven = drive(session.connections(1), limit, async |connection, number| {
        connection.delete_many(BUCKET, batches[number as usize]).await
    })
    .await;
    missing(session, &[&paths[..1], &paths[paths.len() - 1..]].concat(), &mut driven).await;
    Ok(driven)
}

/// Lists a prefix once whose objects were deleted just before: later lists may know from the first one what is
/// gone.
async fn list_deleted(session: &mut Session, objects: usize) -> Result<Driven, Failure> {
    let prefix = format!("deleted-{}/", session.take_numbers(objects as u64));
    let keys: Vec<String> = (0..objects).map(|number| format!("{prefix}{number:06}")).collect();
    session.put_all(keys.iter().map(|key| path(BUCKET, key)).collect(), SCALE_BYTES).await?;
    for keys in keys.chunks(1000) {
        session.connections(1)[0].delete_many(BUCKET, keys).await?;
    }
    let driven = drive(session.connections(1), Limit::count(1), async |connection, _| {
        expect_keys(connection.list(BUCKET, &prefix, "").await?, 0)
    });
    Ok(driven.await)
}

/// Gets objects once each after the page cache has lost them.
async fn get_cold(session: &mut Session, bytes: usize) -> Result<Driven, Failure> {
    let paths: Vec<String> =
        (0..COLD_OBJECTS).map(|number| path(BUCKET, &format!("cold-{bytes}/{number}"))).collect();
    session.put_fixed(&format!("cold {bytes}"), paths.clone(), bytes).await?;
    session.evict()?;
    let payloads = session.payloads(bytes);
    let limit = Limit::count(COLD_OBJECTS);
    let driven = drive(session.connections(1), limit, async |connection, number| {
        connection.get(&paths[number as usize], &payloads.of(number).bytes).await
    });
    Ok(driven.await)
}

/// Checks that objects are gone. An existing one is an error of the row.
async fn missing(session: &mut Session, paths: &[String], driven: &mut Driven) {
    for path in paths {
        if let Err(failure) = session.connections(1)[0].head_missing(path).await {
            driven.fail(format!("checking the data: {failure}"));
        }
    }
}

/// Objects of the scale rows in one round.
struct Scale {
    objects: usize,
    prefix: String,
}

impl Scale {
    fn path(&self, number: u64) -> String {
        path(BUCKET, &format!("{}{number:06}", self.prefix))
    }

    fn limit(&self) -> Limit {
        Limit { time: SCALE_TIME, operations_min: 1, operations_max: self.objects as u64 }
    }

    async fn write(&self, session: &mut Session, clients: usize) -> Result<Driven, Failure> {
        session.fixed.insert(self.prefix.clone());
        let payloads = session.payloads(SCALE_BYTES);
        let connections = session.connections(clients);
        let driven = drive(connections, self.limit(), async |connection, number| {
            connection.put(&self.path(number), payloads.of(number), &[]).await
        })
        .await;
        session.bytes_put.set(session.bytes_put.get() + driven.begun * SCALE_BYTES as u64);
        Ok(driven)
    }

    /// Writes the objects, if the row that writes them was left out.
    async fn ensure(&self, session: &mut Session) -> Result<(), Failure> {
        let paths = (0..self.objects as u64).map(|number| self.path(number));
        session.put_fixed(&self.prefix, paths.collect(), SCALE_BYTES).await
    }

    async fn list(&self, session: &mut Session, pace: Pace) -> Result<Driven, Failure> {
        self.ensure(session).await?;
        let limit =
            Limit { time: pace.time, operations_min: OPERATIONS_MIN, operations_max: u64::MAX };
        let driven = drive(session.connections(1), limit, async |connection, _| {
            expect_keys(connection.list(BUCKET, &self.prefix, "").await?, self.objects)
        });
        Ok(driven.await)
    }

    async fn delete(&self, session: &mut Session, clients: usize) -> Result<Driven, Failure> {
        self.ensure(session).await?;
        let connections = session.connections(clients);
        let mut driven = drive(connections, self.limit(), async |connection, number| {
            connection.delete(&self.path(number)).await
        })
        .await;
        session.fixed.remove(&self.prefix);
        match session.connections(1)[0].list(BUCKET, &self.prefix, "").await {
            Ok(left) if driven.begun == self.objects as u64 && left > 0 => {
                driven.fail(format!("checking the data: {left} objects are left"));
            }
            Ok(_) => {}
            Err(failure) => driven.fail(format!("checking the data: {failure}")),
        }
        Ok(driven)
    }
}

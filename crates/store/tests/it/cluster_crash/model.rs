//! The model: what all servers together must hold, in plain maps.

use std::collections::BTreeMap;

use liteio_store::ETag;

use super::op::{
    Answer, BUCKETS, Condition, KEYS, LOCKABLE, Named, Op, OpId, Place, Seen, ToldEvent, in_order,
};
use super::op::{body, md5};

/// The length of a day of the lifecycle.
pub(super) const DAY_MS: u64 = 600_000;
/// The key whose objects end by the lifecycle.
pub(super) const EXPIRING: usize = 4;

/// A version, by the operation that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Made {
    pub(super) by: OpId,
    pub(super) is_null: bool,
    /// The time of the database when the operation began, and when it committed.
    pub(super) at_ms: (u64, u64),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModelVersion {
    pub(super) made: Made,
    /// `None` of a delete marker.
    pub(super) content: Option<Content>,
    pub(super) until_ms: u64,
    pub(super) is_held: bool,
    /// The upload that it was.
    upload: Option<OpId>,
}

/// Bodies of operations, one after another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Content {
    pieces: Vec<(OpId, usize)>,
    pub(super) etag: String,
}

impl Content {
    fn whole(by: OpId, bytes: usize) -> Self {
        let etag = ETag::Md5(md5(&body(by, bytes))).to_string();
        Self { pieces: vec![(by, bytes)], etag }
    }

    fn of_parts(pieces: Vec<(OpId, usize)>) -> Self {
        let md5s: Vec<_> = pieces.iter().map(|(by, bytes)| md5(&body(*by, *bytes))).collect();
        Self { pieces, etag: ETag::multipart(&md5s).to_string() }
    }

    fn in_one_piece(self) -> Self {
        let etag = ETag::Md5(md5(&self.body())).to_string();
        Self { etag, ..self }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.pieces.iter().map(|(_, bytes)| *bytes as u64).sum()
    }

    pub(super) fn body(&self) -> Vec<u8> {
        self.pieces.iter().flat_map(|(by, bytes)| body(*by, *bytes)).collect()
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Versioning {
    #[default]
    Never,
    Enabled,
    Suspended,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ModelBucket {
    /// The number in record keys.
    pub(super) id: u32,
    pub(super) versioning: Versioning,
    pub(super) is_told: bool,
    pub(super) has_lifecycle: bool,
    document: Option<OpId>,
    /// The versions of each key, the newest first.
    pub(super) keys: BTreeMap<&'static str, Vec<ModelVersion>>,
    pub(super) uploads: BTreeMap<OpId, ModelUpload>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ModelUpload {
    pub(super) place: Place,
    pub(super) parts: BTreeMap<u16, (OpId, usize)>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Model {
    pub(super) buckets: BTreeMap<usize, ModelBucket>,
    /// Number of buckets that there have been.
    created: u32,
    pub(super) users: BTreeMap<u8, OpId>,
    /// Number of changes of users.
    pub(super) users_stamp: u64,
    /// The events that wait, of each key in the order of commits.
    pub(super) events: BTreeMap<String, Vec<ToldEvent>>,
    /// The places of all uploads that there have been.
    pub(super) uploads: BTreeMap<OpId, Place>,
}

/// The circumstances of an operation.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) id: OpId,
    /// The time of the database at its begin.
    pub(super) begun_ms: u64,
    /// The time at which it is decided.
    pub(super) now_ms: u64,
    /// The stamp of the users that the server has read last.
    pub(super) users_stamp: Option<u64>,
    /// The numbers of the events that are forgotten, with their keys.
    pub(super) forgets: Vec<(u64, String, ToldEvent)>,
    /// The numbers of the buckets in which an object is ended.
    pub(super) expires: Vec<u32>,
}

impl Made {
    pub(super) fn is(&self, version: Named) -> bool {
        match version {
            Named::Null => self.is_null,
            Named::Id(by) => !self.is_null && self.by == by,
        }
    }

    pub(super) fn name(&self) -> Named {
        if self.is_null { Named::Null } else { Named::Id(self.by) }
    }
}

/// Time by which the clock of a server may be behind that of the database: as long as an answer of the database may
/// be under way.
pub(super) const BEHIND_MS: u64 = 300_000;

pub(super) type Expected = Answer<Made>;

impl ModelVersion {
    fn seen(&self, key: &str, is_latest: bool) -> Seen<Made> {
        Seen {
            version: self.made.clone(),
            key: key.to_owned(),
            is_marker: self.content.is_none(),
            is_latest,
            bytes: self.content.as_ref().map_or(0, Content::bytes),
            etag: self.content.as_ref().map_or(String::new(), |content| content.etag.clone()),
        }
    }

    fn is_locked(&self, now_ms: u64) -> bool {
        self.is_held || self.until_ms > now_ms
    }
}

impl ModelBucket {
    pub(super) fn versions(&self, key: usize) -> &[ModelVersion] {
        self.keys.get(KEYS[key]).map_or(&[], Vec::as_slice)
    }

    /// The current object.
    pub(super) fn current(&self, key: usize) -> Option<&ModelVersion> {
        self.versions(key).first().filter(|version| version.content.is_some())
    }

    fn all(&self) -> impl Iterator<Item = &ModelVersion> {
        self.keys.values().flatten()
    }

    /// Puts a version before the others.
    fn add(&mut self, key: usize, version: ModelVersion) {
        let versions = self.keys.entry(KEYS[key]).or_default();
        if version.made.is_null {
            versions.retain(|older| !older.made.is_null);
        }
        versions.insert(0, version);
    }

    fn is_null(&self) -> bool {
        self.versioning != Versioning::Enabled
    }
}

impl Model {
    fn tell(&mut self, bucket: usize, key: usize, event: ToldEvent) {
        if self.buckets[&bucket].is_told {
            self.tell_of(format!("{}/{}", BUCKETS[bucket], KEYS[key]), event);
        }
    }

    fn tell_of(&mut self, key: String, event: ToldEvent) {
        self.events.entry(key).or_default().push(event);
    }

    /// Makes a new current object.
    fn publish(
        &mut self,
        (bucket, key): Place,
        facts: &Facts,
        (content, upload): (Content, Option<OpId>),
        event: &'static str,
    ) -> Expected {
        let Some(found) = self.buckets.get_mut(&bucket) else {
            return Answer::Refused("NoSuchBucket");
        };
        let made =
            Made { by: facts.id, is_null: found.is_null(), at_ms: (facts.begun_ms, facts.now_ms) };
        let etag = content.etag.clone();
        let content = Some(content);
        let version = ModelVersion { made, content, until_ms: 0, is_held: false, upload };
        let seen = version.seen(KEYS[key], true);
        found.add(key, version);
        self.tell(bucket, key, (event, Some(etag)));
        Answer::Object(seen)
    }

    fn delete(&mut self, (bucket, key): Place, facts: &Facts) -> Expected {
        let Some(found) = self.buckets.get_mut(&bucket) else {
            return Answer::Refused("NoSuchBucket");
        };
        let existed = found.current(key).is_some();
        if found.versioning == Versioning::Never {
            found.keys.remove(KEYS[key]);
            if existed {
                self.tell(bucket, key, ("ObjectRemoved:Delete", None));
            }
            return Answer::Deleted { existed, is_marker: false, version: None };
        }
        let made =
            Made { by: facts.id, is_null: found.is_null(), at_ms: (facts.begun_ms, facts.now_ms) };
        let version = Some(made.clone());
        let marker =
            ModelVersion { made, content: None, until_ms: 0, is_held: false, upload: None };
        found.add(key, marker);
        let empty = ETag::Md5(md5(&[])).to_string();
        self.tell(bucket, key, ("ObjectRemoved:DeleteMarkerCreated", Some(empty)));
        Answer::Deleted { existed, is_marker: true, version }
    }

    fn delete_version(&mut self, (bucket, key): Place, version: Named, facts: &Facts) -> Expected {
        let Some(found) = self.buckets.get_mut(&bucket) else {
            return Answer::Refused("NoSuchBucket");
        };
        let Some(versions) = found.keys.get_mut(KEYS[key]) else {
            return Answer::Refused("NoSuchVersion");
        };
        let Some(at) = versions.iter().position(|it| it.made.is(version)) else {
            return Answer::Refused("NoSuchVersion");
        };
        if versions[at].is_locked(facts.now_ms) {
            return Answer::Refused("ObjectLocked");
        }
        let removed = versions.remove(at);
        if versions.is_empty() {
            found.keys.remove(KEYS[key]);
        }
        self.tell(bucket, key, ("ObjectRemoved:Delete", None));
        let is_marker = removed.content.is_none();
        Answer::Deleted { existed: true, is_marker, version: Some(removed.made) }
    }

    /// Ends the object of a bucket by its lifecycle, or a marker without older versions, as on AWS. The error says why that
    /// must not be.
    fn expire(&mut self, bucket: usize, facts: &Facts) -> Result<(), &'static str> {
        let found = &self.buckets[&bucket];
        let (ended, is_marker) = match found.versions(EXPIRING) {
            [object, ..] if object.content.is_some() => (object, false),
            [marker] => (marker, true),
            _ => return Err("there was no object to end"),
        };
        let (begun_ms, _) = ended.made.at_ms;
        if !found.has_lifecycle {
            return Err("there was no rule to end it by");
        }
        if facts.now_ms + BEHIND_MS < begun_ms + DAY_MS {
            return Err("an object has ended before its time");
        }
        if is_marker {
            self.buckets.get_mut(&bucket).expect("there").keys.remove(KEYS[EXPIRING]);
            return Ok(());
        }
        let id = facts.id + 1 + bucket as OpId;
        self.delete((bucket, EXPIRING), &Facts { id, ..facts.clone() });
        Ok(())
    }

    /// Does an operation. The answer is what it must be; of one that is refused, or has nothing to do, the model
    /// stays.
    pub(super) fn apply(&mut self, op: &Op, facts: &Facts) -> Expected {
        match op {
            Op::CreateBucket { bucket } => {
                if self.buckets.contains_key(bucket) {
                    return Answer::Refused("BucketAlreadyOwnedByYou");
                }
                let versioning = match *bucket == LOCKABLE {
                    true => Versioning::Enabled,
                    false => Versioning::Never,
                };
                self.created += 1;
                let id = self.created;
                self.buckets.insert(*bucket, ModelBucket { id, versioning, ..Default::default() });
                Answer::Done
            }
            Op::DeleteBucket { bucket } => {
                let Some(found) = self.buckets.get(bucket) else {
                    return Answer::Refused("NoSuchBucket");
                };
                if found.all().next().is_some() {
                    return Answer::Refused("BucketNotEmpty");
                }
                self.buckets.remove(bucket);
                Answer::Done
            }
            Op::SetVersioning { bucket, is_enabled } => {
                let Some(found) = self.buckets.get_mut(bucket) else {
                    return Answer::Refused("NoSuchBucket");
                };
                if *bucket == LOCKABLE && !is_enabled {
                    return Answer::Refused("InvalidBucketState");
                }
                found.versioning = match is_enabled {
                    true => Versioning::Enabled,
                    false => Versioning::Suspended,
                };
                Answer::Done
            }
            Op::SetTold { bucket, is_told } => {
                let Some(found) = self.buckets.get_mut(bucket) else {
                    return Answer::Refused("NoSuchBucket");
                };
                found.is_told = *is_told;
                if *is_told {
                    self.tell_of(format!("{}/", BUCKETS[*bucket]), ("TestEvent", None));
                }
                Answer::Done
            }
            Op::SetDocument { bucket } => {
                let Some(found) = self.buckets.get_mut(bucket) else {
                    return Answer::Refused("NoSuchBucket");
                };
                found.document = Some(facts.id);
                Answer::Done
            }
            Op::SetLifecycle { bucket } => {
                let Some(found) = self.buckets.get_mut(bucket) else {
                    return Answer::Refused("NoSuchBucket");
                };
                found.has_lifecycle = true;
                Answer::Done
            }
            Op::Put { place, bytes, condition } => {
                if let Some(refused) = self.condition(*place, condition) {
                    return Answer::Refused(refused);
                }
                let content = Content::whole(facts.id, *bytes);
                self.publish(*place, facts, (content, None), "ObjectCreated:Put")
            }
            Op::PutStaged { place, staged, bytes } => {
                let content = Content::whole(*staged, *bytes);
                self.publish(*place, facts, (content, None), "ObjectCreated:Put")
            }
            Op::Copy { from, to } => {
                let (Some(source), true) =
                    (self.buckets.get(&from.0), self.buckets.contains_key(&to.0))
                else {
                    return Answer::Refused("NoSuchBucket");
                };
                let Some(content) = source.current(from.1).and_then(|it| it.content.clone()) else {
                    return Answer::Refused("NoSuchKey");
                };
                // A copy of an object in parts has the tag of its bytes.
                let content = content.in_one_piece();
                self.publish(*to, facts, (content, None), "ObjectCreated:Copy")
            }
            Op::Delete { place } => self.delete(*place, facts),
            Op::DeleteAll { bucket } => {
                if !self.buckets.contains_key(bucket) {
                    return Answer::Refused("NoSuchBucket");
                }
                // Each marker has a number of its own.
                let all = (0..KEYS.len()).map(|key| {
                    let id = facts.id + 1 + key as OpId;
                    self.delete((*bucket, key), &Facts { id, ..facts.clone() })
                });
                Answer::DeletedAll(all.collect())
            }
            Op::DeleteVersion { place, version } => self.delete_version(*place, *version, facts),
            Op::Retain { place, until_ms } => self.lock(*place, |version| {
                if version.until_ms > facts.now_ms && *until_ms < version.until_ms {
                    return false;
                }
                version.until_ms = *until_ms;
                true
            }),
            Op::Hold { place, is_held } => self.lock(*place, |version| {
                version.is_held = *is_held;
                true
            }),
            Op::CreateUpload { place } => {
                let Some(found) = self.buckets.get_mut(&place.0) else {
                    return Answer::Refused("NoSuchBucket");
                };
                let upload = ModelUpload { place: *place, parts: BTreeMap::new() };
                found.uploads.insert(facts.id, upload);
                self.uploads.insert(facts.id, *place);
                Answer::Done
            }
            Op::PutPart { place, upload, number, bytes } => {
                let Some(found) = self.buckets.get_mut(&place.0) else {
                    return Answer::Refused("NoSuchBucket");
                };
                let Some(upload) = found.uploads.get_mut(upload) else {
                    return Answer::Refused("NoSuchUpload");
                };
                upload.parts.insert(*number, (facts.id, *bytes));
                Answer::Done
            }
            Op::Complete { place, upload, numbers } => {
                self.complete((*place, *upload), numbers, facts)
            }
            Op::Abort { place, upload } => {
                let Some(found) = self.buckets.get_mut(&place.0) else {
                    return Answer::Refused("NoSuchBucket");
                };
                match found.uploads.remove(upload) {
                    Some(_) => Answer::Done,
                    None => Answer::Refused("NoSuchUpload"),
                }
            }
            Op::ChangeUser { user, if_unchanged } => {
                if *if_unchanged && facts.users_stamp != Some(self.users_stamp) {
                    return Answer::Refused("ChangedMeanwhile");
                }
                self.users.insert(*user, facts.id);
                self.users_stamp += 1;
                Answer::Done
            }
            Op::Lifecycle => {
                let buckets = self.buckets.iter().filter(|(_, it)| facts.expires.contains(&it.id));
                let buckets: Vec<usize> = buckets.map(|(bucket, _)| *bucket).collect();
                for bucket in buckets {
                    // Events of the lifecycle are not told.
                    let is_told =
                        std::mem::take(&mut self.buckets.get_mut(&bucket).expect("there").is_told);
                    if let Err(reason) = self.expire(bucket, facts) {
                        return Answer::Refused(reason);
                    }
                    self.buckets.get_mut(&bucket).expect("there").is_told = is_told;
                }
                Answer::Done
            }
            Op::Forget { .. } => {
                for (_, key, event) in &facts.forgets {
                    let events = self.events.entry(key.clone()).or_default();
                    let Some(at) = events.iter().position(|it| it == event) else {
                        return Answer::Refused("an event that was taken already");
                    };
                    events.remove(at);
                    if events.is_empty() {
                        self.events.remove(key);
                    }
                }
                Answer::Done
            }
            read => self.read(read),
        }
    }

    fn condition(&self, (bucket, key): Place, condition: &Condition) -> Option<&'static str> {
        let Some(found) = self.buckets.get(&bucket) else { return Some("NoSuchBucket") };
        let current = found.current(key).and_then(|it| it.content.as_ref());
        match (condition, current) {
            (Condition::None, _) | (Condition::IsNew, None) => None,
            (Condition::IsNew, Some(_)) => Some("PreconditionFailed"),
            (Condition::Is(_), None) => Some("NoSuchKey"),
            (Condition::Is(etag), Some(content)) => {
                (*etag != content.etag).then_some("PreconditionFailed")
            }
        }
    }

    fn lock(
        &mut self,
        (bucket, key): Place,
        change: impl FnOnce(&mut ModelVersion) -> bool,
    ) -> Expected {
        let Some(found) = self.buckets.get_mut(&bucket) else {
            return Answer::Refused("NoSuchBucket");
        };
        let Some(versions) = found.keys.get_mut(KEYS[key]) else {
            return Answer::Refused("NoSuchKey");
        };
        let current = versions.first_mut().filter(|version| version.content.is_some());
        let Some(version) = current else { return Answer::Refused("NoSuchKey") };
        if bucket != LOCKABLE {
            return Answer::Refused("InvalidRequest");
        }
        match change(version) {
            true => Answer::Object(version.seen(KEYS[key], true)),
            false => Answer::Refused("ObjectLocked"),
        }
    }

    fn complete(&mut self, (place, id): (Place, OpId), numbers: &[u16], facts: &Facts) -> Expected {
        let Some(found) = self.buckets.get_mut(&place.0) else {
            return Answer::Refused("NoSuchBucket");
        };
        let Some(upload) = found.uploads.get(&id) else {
            let current = found.current(place.1).filter(|version| version.upload == Some(id));
            return match current {
                Some(version) => Answer::Object(version.seen(KEYS[place.1], true)),
                None => Answer::Refused("NoSuchUpload"),
            };
        };
        let parts: Option<Vec<_>> =
            numbers.iter().map(|it| upload.parts.get(it).copied()).collect();
        let Some(parts) = parts else { return Answer::Refused("InvalidPart") };
        found.uploads.remove(&id);
        let content = Content::of_parts(parts);
        let event = "ObjectCreated:CompleteMultipartUpload";
        self.publish(place, facts, (content, Some(id)), event)
    }

    fn read(&self, op: &Op) -> Expected {
        let bucket_of = |bucket: &usize| self.buckets.get(bucket);
        const NO_BUCKET: Expected = Answer::Refused("NoSuchBucket");
        match op {
            Op::Get { place } | Op::OpenReader { place } => {
                let Some(found) = bucket_of(&place.0) else { return NO_BUCKET };
                match found.current(place.1) {
                    Some(version) => Answer::Object(version.seen(KEYS[place.1], true)),
                    None => Answer::Refused("NoSuchKey"),
                }
            }
            Op::GetVersion { place, version } => {
                let Some(found) = bucket_of(&place.0) else { return NO_BUCKET };
                let versions = found.versions(place.1);
                match versions.iter().position(|it| it.made.is(*version)) {
                    None => Answer::Refused("NoSuchVersion"),
                    Some(at) if versions[at].content.is_none() => Answer::Refused("IsDeleteMarker"),
                    Some(at) => Answer::Object(versions[at].seen(KEYS[place.1], at == 0)),
                }
            }
            Op::List { bucket, prefix, is_grouped } => {
                let Some(found) = bucket_of(bucket) else { return NO_BUCKET };
                let mut listed: Vec<(String, Option<Seen<Made>>)> = Vec::new();
                for (at, key) in KEYS.iter().enumerate() {
                    let Some(rest) = key.strip_prefix(prefix) else { continue };
                    let Some(current) = found.current(at) else { continue };
                    match rest.find('/').filter(|_| *is_grouped) {
                        Some(end) => {
                            let common = format!("{prefix}{}", &rest[..=end]);
                            if listed.last().is_none_or(|(last, _)| *last != common) {
                                listed.push((common, None));
                            }
                        }
                        None => listed.push(((*key).to_owned(), Some(current.seen(key, true)))),
                    }
                }
                Answer::Listed(listed)
            }
            Op::Versions { bucket } => {
                let Some(found) = bucket_of(bucket) else { return NO_BUCKET };
                let versions = found.keys.iter().flat_map(|(key, versions)| {
                    versions.iter().enumerate().map(|(at, version)| version.seen(key, at == 0))
                });
                Answer::Versions(versions.collect())
            }
            Op::Uploads { bucket } => {
                let Some(found) = bucket_of(bucket) else { return NO_BUCKET };
                let mut uploads: Vec<_> = found.uploads.iter().collect();
                uploads.sort_by_key(|(id, upload)| (KEYS[upload.place.1], **id));
                let name =
                    |(id, upload): (&OpId, &ModelUpload)| (KEYS[upload.place.1].to_owned(), *id);
                Answer::Uploads(uploads.into_iter().map(name).collect())
            }
            Op::Usage { bucket } => {
                let Some(found) = bucket_of(bucket) else { return NO_BUCKET };
                let bytes = found.all().filter_map(|it| it.content.as_ref()).map(Content::bytes);
                let current = (0..KEYS.len()).filter(|key| found.current(*key).is_some()).count();
                let markers = found.all().filter(|it| it.content.is_none()).count();
                let versions = found.all().count();
                Answer::Usage([current as u64, versions as u64, markers as u64, bytes.sum()])
            }
            Op::Settings { bucket } => {
                let Some(found) = bucket_of(bucket) else { return NO_BUCKET };
                Answer::Settings {
                    versioning: match found.versioning {
                        Versioning::Never => "Never",
                        Versioning::Enabled => "Enabled",
                        Versioning::Suspended => "Suspended",
                    },
                    document: found.document,
                    is_told: found.is_told,
                    has_lifecycle: found.has_lifecycle,
                }
            }
            Op::Users => Answer::Users(self.users.iter().map(|(user, by)| (*user, *by)).collect()),
            Op::Events => {
                let events = self.events.iter();
                let events = events.map(|(key, all)| (key.clone(), in_order(all.clone())));
                Answer::Events(events.collect())
            }
            _ => Answer::Done,
        }
    }
}

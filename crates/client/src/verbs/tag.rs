//! `tag`: the tags of a bucket or an object.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use serde::Serialize;

use super::SUCCESS;
use super::properties::tags;
use crate::cli::TagVerb;
use crate::error::Error;
use crate::session::Session;
use crate::target::{Remote, Target};

#[derive(Serialize)]
struct TagList<'a> {
    #[serde(rename = "tagset", skip_serializing_if = "BTreeMap::is_empty")]
    tags: BTreeMap<String, String>,
    status: &'static str,
    url: &'a str,
    #[serde(rename = "versionID")]
    version_id: &'a str,
}

impl fmt::Display for TagList<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self.tags.keys().map(|it| it.chars().count()).max().unwrap_or(0).max(4);
        write!(formatter, "{:<width$} : {}", "Name", self.url)?;
        for (key, value) in &self.tags {
            write!(formatter, "\n{key:<width$} : {value}")?;
        }
        if self.tags.is_empty() { write!(formatter, "\nNo tags found") } else { Ok(()) }
    }
}

#[derive(Serialize)]
struct TagChange<'a> {
    status: &'static str,
    name: &'a str,
    #[serde(rename = "versionID")]
    version_id: &'a str,
    #[serde(skip)]
    done: &'static str,
}

impl fmt::Display for TagChange<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Tags {} for {}.", self.done, self.name)
    }
}

pub(super) async fn run(session: &Arc<Session>, verb: TagVerb) -> Result<(), Error> {
    let (TagVerb::Set { target, version_id, .. }
    | TagVerb::List { target, version_id }
    | TagVerb::Remove { target, version_id }) = &verb;
    let Remote { s3, bucket, key, .. } = Target::bucket(session, target)?;
    let version = version_id.as_deref();
    let version_id = version.unwrap_or_default();
    let change = |done| TagChange { status: SUCCESS, name: target, version_id, done };
    match &verb {
        TagVerb::Set { tags: text, .. } => {
            s3.set_tags(&bucket, &key, version, &tags(text)?).await?;
            session.output.print(&change("set"))
        }
        TagVerb::Remove { .. } => {
            s3.delete_tags(&bucket, &key, version).await?;
            session.output.print(&change("removed"))
        }
        TagVerb::List { .. } => {
            let tags = s3.tags(&bucket, &key, version).await?.into_iter().collect();
            session.output.print(&TagList { tags, status: SUCCESS, url: target, version_id })
        }
    }
}

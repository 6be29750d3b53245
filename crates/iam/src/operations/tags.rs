//! Tags of users, roles and policies.

use super::super::call::{Call, Named};
use super::super::constraint::{self, Rule};
use super::super::error::{self, ApiError, ApiResult};
use super::super::form::Form;
use super::super::records::{PolicyRecord, ProviderRecord, RoleRecord, Tags, UserRecord};
use super::super::xml::Xml;
use super::{Answer, Done};

/// Maximum tags of a resource.
const TAGS_MAX: usize = 50;
/// Maximum characters of a key and of a value.
const KEY_CHARACTERS_MAX: usize = 128;
const VALUE_CHARACTERS_MAX: usize = 256;
/// Their patterns in the service model.
const KEY_PATTERN: &str = r"[\p{L}\p{Z}\p{N}_.:/=+\-@]+";
const VALUE_PATTERN: &str = r"[\p{L}\p{Z}\p{N}_.:/=+\-@]*";

/// A resource with tags.
pub(super) trait Tagged: Named {
    /// A tag replaces one whose key differs by case only, as in AWS. AWS keeps both for policies
    /// and providers, which conditions could not tell apart here, so the second one is refused.
    const REPLACES_OTHER_CASE: bool;

    fn tags(&self) -> &Tags;
    fn tags_mut(&mut self) -> &mut Tags;
    /// The resource named by a request.
    fn of(call: &Call<'_>) -> ApiResult<Self>;
}

macro_rules! tagged {
    ($($record:ident $replaces:literal $of:expr;)*) => {
        $(impl Tagged for $record {
            const REPLACES_OTHER_CASE: bool = $replaces;

            fn tags(&self) -> &Tags {
                &self.tags
            }

            fn tags_mut(&mut self) -> &mut Tags {
                &mut self.tags
            }

            fn of(call: &Call<'_>) -> ApiResult<Self> {
                let of: fn(&Call<'_>) -> ApiResult<Self> = $of;
                of(call)
            }
        })*
    };
}

tagged! {
    UserRecord true |call| call.named();
    RoleRecord true |call| call.named();
    PolicyRecord false |call| call.policy_of_arn(call.policy_arn()?);
    ProviderRecord false super::providers::provider_of;
}

/// The tags in a request.
pub(super) fn new_tags(form: &Form) -> ApiResult<Tags> {
    let (keys, values) = (form.list("Tags", "Key"), form.list("Tags", "Value"));
    if keys.len().max(values.len()) > TAGS_MAX {
        return Err(Rule::LongerThan(TAGS_MAX).of_iam("Tags"));
    }
    let mut tags = Tags::default();
    for number in 1..=keys.len().max(values.len()) {
        let field = |part: &str| format!("Tags.{number}.member.{part}");
        let missing = |part: &str| Rule::NotNull.of_iam(&field(part));
        let key = keys.get(number - 1).ok_or_else(|| missing("key"))?;
        let value = values.get(number - 1).ok_or_else(|| missing("value"))?;
        check_key(key, &field("key"))?;
        check(value, &field("value"), 0..=VALUE_CHARACTERS_MAX, VALUE_PATTERN)?;
        if key.to_lowercase().starts_with("aws:") {
            return Err(error::validation(
                "Tag keys that begin with aws: are reserved for system tags.",
            ));
        }
        tags.add(key, value).map_err(|_| duplicate())?;
    }
    Ok(tags)
}

fn check_key(key: &str, field: &str) -> ApiResult<()> {
    check(key, field, 1..=KEY_CHARACTERS_MAX, KEY_PATTERN)
}

/// Checks a key or a value. The message has AWS's words.
fn check(
    text: &str,
    field: &str,
    range: std::ops::RangeInclusive<usize>,
    pattern: &str,
) -> ApiResult<()> {
    let is_allowed = |it: char| {
        it.is_alphanumeric() || (it.is_whitespace() && !it.is_control()) || "_.:/=+-@".contains(it)
    };
    if let Some(rule) = constraint::length(text.chars().count(), *range.start(), *range.end()) {
        return Err(rule.of_iam(field));
    }
    match text.chars().all(is_allowed) {
        true => Ok(()),
        false => Err(Rule::Pattern(pattern).of_iam(field)),
    }
}

/// AWS's refusal of a list with two keys that are equal, ignoring case.
fn duplicate() -> ApiError {
    error::invalid_input(
        "Duplicate tag keys found. Please note that Tag keys are case insensitive.",
    )
}

fn check_count(tags: &Tags) -> ApiResult<()> {
    match tags.len() <= TAGS_MAX {
        true => Ok(()),
        false => Err(error::limit_exceeded(format!("A resource has at most {TAGS_MAX} tags."))),
    }
}

/// Writes the tags as an element, if there are any.
pub(super) fn write_tags(xml: &mut Xml, tags: &Tags) {
    if !tags.is_empty() {
        write_all_tags(xml, tags);
    }
}

/// Writes the tags as an element, which may be empty.
pub(super) fn write_all_tags(xml: &mut Xml, tags: &Tags) {
    xml.list("Tags", tags, write_tag);
}

fn write_tag(xml: &mut Xml, (key, value): (&String, &String)) {
    xml.text("Key", key);
    xml.text("Value", value);
}

pub(super) fn tag<R: Tagged>(call: &mut Call<'_>) -> Done {
    let mut record = R::of(call)?;
    for (key, value) in new_tags(call.form)? {
        let known = record.tags().same(&key);
        if !R::REPLACES_OTHER_CASE && known.is_some_and(|known| known != key) {
            return Err(duplicate());
        }
        record.tags_mut().set(key, value);
    }
    check_count(record.tags())?;
    call.draft.put(record);
    Ok(None)
}

pub(super) fn untag<R: Tagged>(call: &mut Call<'_>) -> Done {
    let mut record = R::of(call)?;
    let keys = call.form.list("TagKeys", "");
    if keys.len() > TAGS_MAX {
        return Err(Rule::LongerThan(TAGS_MAX).of_iam("TagKeys"));
    }
    for (number, key) in (1..).zip(keys) {
        check_key(key, &format!("TagKeys.{number}.member"))?;
        record.tags_mut().remove(key);
    }
    call.draft.put(record);
    Ok(None)
}

pub(super) fn list<R: Tagged>(call: &mut Call<'_>) -> Answer {
    let record = R::of(call)?;
    let page = call.page(record.tags().iter().map(|tag| (tag.0.clone(), tag)))?;
    let mut xml = Xml::default();
    page.write(&mut xml, "Tags", write_tag);
    Ok(Some(xml))
}

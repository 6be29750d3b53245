//! Tags of users, roles and policies.

use super::super::call::{Call, Named};
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
    PolicyRecord false |call| call.policy_of_arn(call.form.required("PolicyArn")?);
    ProviderRecord false super::providers::provider_of;
}

/// The tags in a request.
pub(super) fn new_tags(form: &Form) -> ApiResult<Tags> {
    let (keys, values) = (form.list("Tags", "Key"), form.list("Tags", "Value"));
    if keys.len() != values.len() {
        return Err(error::validation("Every tag needs a Key and a Value."));
    }
    let mut tags = Tags::default();
    for (key, value) in keys.into_iter().zip(values) {
        let allowed = |text: &str, max: usize| {
            let is_allowed = |it: char| it.is_alphanumeric() || " _.:/=+-@".contains(it);
            text.chars().count() <= max && text.chars().all(is_allowed)
        };
        if key.is_empty()
            || !allowed(key, KEY_CHARACTERS_MAX)
            || !allowed(value, VALUE_CHARACTERS_MAX)
            || key.to_lowercase().starts_with("aws:")
        {
            return Err(error::validation(
                "A tag is not valid: a key has 1 to 128 characters and does not begin with aws:, a value \
                 has up to 256; both hold letters, digits, spaces and _.:/=+-@",
            ));
        }
        tags.add(key, value).map_err(|_| duplicate())?;
    }
    check_count(&tags)?;
    Ok(tags)
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
        xml.list("Tags", tags, write_tag);
    }
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
    for key in call.form.list("TagKeys", "") {
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

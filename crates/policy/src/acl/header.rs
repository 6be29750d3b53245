//! The values of `x-amz-grant-*` headers: `id="…", uri="…", emailAddress="…"`.

/// A grantee as named by a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NamedGrantee {
    /// By canonical id.
    Id(String),
    /// A group, by URI.
    Uri(String),
    /// By the email address of an account.
    Email(String),
}

/// The error for a malformed grant header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MalformedGrants;

/// Parses the grantees in the value of a grant header. Quotes are optional, as in S3.
///
/// # Errors
/// [`MalformedGrants`] if the value is not a list of at least one grantee.
pub fn parse_grants(value: &str) -> Result<Vec<NamedGrantee>, MalformedGrants> {
    let mut grantees = Vec::new();
    let mut rest = value.trim();
    loop {
        let (kind, behind) = rest.split_once('=').ok_or(MalformedGrants)?;
        let (name, behind) = take_value(behind.trim_start())?;
        if name.is_empty() {
            return Err(MalformedGrants);
        }
        grantees.push(match kind.trim_end() {
            kind if kind.eq_ignore_ascii_case("id") => NamedGrantee::Id(name),
            kind if kind.eq_ignore_ascii_case("uri") => NamedGrantee::Uri(name),
            kind if kind.eq_ignore_ascii_case("emailAddress") => NamedGrantee::Email(name),
            _ => return Err(MalformedGrants),
        });
        match behind.trim_start() {
            "" => return Ok(grantees),
            behind => rest = behind.strip_prefix(',').ok_or(MalformedGrants)?.trim_start(),
        }
    }
}

/// Splits off one value, in quotes or up to the next comma.
fn take_value(text: &str) -> Result<(String, &str), MalformedGrants> {
    match text.strip_prefix('"') {
        Some(quoted) => {
            let (value, behind) = quoted.split_once('"').ok_or(MalformedGrants)?;
            Ok((value.to_owned(), behind))
        }
        None => {
            let (value, behind) = text.split_at(text.find(',').unwrap_or(text.len()));
            match value.contains(['"', '=']) {
                true => Err(MalformedGrants),
                false => Ok((value.trim_end().to_owned(), behind)),
            }
        }
    }
}

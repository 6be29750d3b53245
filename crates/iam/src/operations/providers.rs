//! Providers of web identities (OpenID Connect).

use super::super::call::Call;
use super::super::constraint;
use super::super::error::{self, ApiResult};
use super::super::records::ProviderRecord;
use super::super::state::provider_arn;
use super::super::xml::Xml;
use super::tags::{new_tags, write_tags};
use super::{Answer, Done};

/// Maximum providers of an account (as AWS).
const PROVIDERS_MAX: usize = 100;
/// Maximum audiences of a provider (as AWS).
const CLIENT_IDS_MAX: usize = 100;

/// Maximum thumbprints of a provider (as AWS), and the characters of one.
const THUMBPRINTS_MAX: usize = 5;
const THUMBPRINT: usize = 40;

/// The provider named by its ARN in the request.
pub(super) fn provider_of(call: &Call<'_>) -> ApiResult<ProviderRecord> {
    let arn = call.form.required("OpenIDConnectProviderArn")?;
    let providers = call.draft.state.providers.values();
    let mut found = providers.filter(|it| provider_arn(call.account(), &it.url) == arn);
    found.next().map(|provider| ProviderRecord::clone(provider)).ok_or_else(|| {
        let arn: String = arn.chars().take(256).collect();
        error::no_such_entity(format!("OpenIDConnect Provider not found for arn {arn}"))
    })
}

pub(super) fn create(call: &mut Call<'_>) -> Answer {
    let url = call.form.required("Url")?;
    let short = url.strip_prefix("https://").unwrap_or_default().trim_end_matches('/');
    let is_url = url.len() <= 255
        && url.parse::<http::Uri>().is_ok_and(|uri| uri.host().is_some() && uri.query().is_none())
        && !short.is_empty()
        && !short.contains(['@', '#']);
    if !is_url {
        return Err(error::validation(
            "Invalid Open ID Connect Provider URL: give https://HOST/PATH.",
        ));
    }
    let client_ids = strings(call, "ClientIDList", 1, 255)?;
    if client_ids.len() > CLIENT_IDS_MAX {
        return Err(error::limit_exceeded(
            "Cannot exceed quota for ClientIdsPerOpenIdConnectProvider: 100",
        ));
    }
    let thumbprints = thumbprints(call)?;
    let provider = ProviderRecord {
        url: short.to_owned(),
        created: call.now,
        client_ids,
        thumbprints,
        tags: new_tags(call.form)?,
    };
    if call.draft.state.get::<ProviderRecord>(short).is_some() {
        return Err(error::already_exists(format!("Provider with url {url} already exists.")));
    }
    if call.draft.state.providers.len() >= PROVIDERS_MAX {
        return Err(error::limit_exceeded(format!(
            "Cannot exceed quota for OpenIdConnectProvidersPerAccount: {PROVIDERS_MAX}"
        )));
    }
    let mut xml = Xml::default();
    xml.text("OpenIDConnectProviderArn", &provider_arn(call.account(), short));
    write_tags(&mut xml, &provider.tags);
    call.draft.put(provider);
    Ok(Some(xml))
}

fn strings(call: &Call<'_>, name: &str, min: usize, max: usize) -> ApiResult<Vec<String>> {
    let items = call.form.list(name, "");
    for (number, item) in (1..).zip(&items) {
        if let Some(rule) = constraint::length(item.chars().count(), min, max) {
            return Err(rule.of_iam(&format!("{name}.{number}.member")));
        }
    }
    Ok(items.into_iter().map(str::to_owned).collect())
}

fn thumbprints(call: &Call<'_>) -> ApiResult<Vec<String>> {
    let thumbprints = strings(call, "ThumbprintList", THUMBPRINT, THUMBPRINT)?;
    match thumbprints.len() <= THUMBPRINTS_MAX {
        true => Ok(thumbprints),
        false => Err(error::invalid_input("Thumbprint list must contain fewer than 5 entries.")),
    }
}

pub(super) fn get(call: &mut Call<'_>) -> Answer {
    let provider = provider_of(call)?;
    let mut xml = Xml::default();
    xml.text("Url", &provider.url);
    xml.texts("ClientIDList", provider.client_ids.iter().map(String::as_str));
    xml.texts("ThumbprintList", provider.thumbprints.iter().map(String::as_str));
    xml.time("CreateDate", provider.created);
    write_tags(&mut xml, &provider.tags);
    Ok(Some(xml))
}

pub(super) fn list(call: &mut Call<'_>) -> Answer {
    let mut xml = Xml::default();
    let providers = call.draft.state.providers.values();
    xml.list("OpenIDConnectProviderList", providers, |xml, provider| {
        xml.text("Arn", &provider_arn(call.account(), &provider.url));
    });
    Ok(Some(xml))
}

pub(super) fn delete(call: &mut Call<'_>) -> Done {
    let provider = provider_of(call)?;
    call.draft.delete::<ProviderRecord>(&provider.url);
    Ok(None)
}

pub(super) fn add_client_id(call: &mut Call<'_>) -> Done {
    let mut provider = provider_of(call)?;
    let id = call.form.required("ClientID")?.to_owned();
    if !provider.client_ids.contains(&id) {
        provider.client_ids.push(id);
    }
    if provider.client_ids.len() > CLIENT_IDS_MAX {
        return Err(error::limit_exceeded(
            "Cannot exceed quota for ClientIdsPerOpenIdConnectProvider: 100",
        ));
    }
    call.draft.put(provider);
    Ok(None)
}

pub(super) fn remove_client_id(call: &mut Call<'_>) -> Done {
    let mut provider = provider_of(call)?;
    let id = call.form.required("ClientID")?;
    provider.client_ids.retain(|other| other != id);
    call.draft.put(provider);
    Ok(None)
}

pub(super) fn update_thumbprint(call: &mut Call<'_>) -> Done {
    let mut provider = provider_of(call)?;
    provider.thumbprints = thumbprints(call)?;
    call.draft.put(provider);
    Ok(None)
}

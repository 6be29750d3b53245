//! Resolves the targets of the audit log.

use super::environment::Variables;
use super::{AuditPosts, AuditRotation, AuditSettings, AuditWebhook, ConfigError, error};
use crate::cli::ServerArgs;

/// MinIO's variables, each with the suffix `_NAME` if there are several webhooks.
const ENDPOINT: &str = "MINIO_AUDIT_WEBHOOK_ENDPOINT";
const ENABLE: &str = "MINIO_AUDIT_WEBHOOK_ENABLE";
const TOKEN: &str = "MINIO_AUDIT_WEBHOOK_AUTH_TOKEN";

/// Largest audit file, 1 TiB.
const SIZE_MIB_MAX: u32 = 1 << 20;
/// Rotated files to keep by default, and at most: each rotation renames all of them.
const KEPT: u32 = 10;
const KEPT_MAX: u32 = 1000;

/// The targets in the arguments.
///
/// # Errors
/// [`ConfigError`] for an invalid webhook, for a token without a webhook, and for a rotation that
/// is invalid or has no file.
pub(super) fn resolve(arguments: &ServerArgs) -> Result<AuditSettings, ConfigError> {
    let token = arguments.audit_webhook_token.clone();
    let mut webhooks = Vec::new();
    match &arguments.audit_webhook {
        Some(url) => webhooks.push(AuditWebhook::new(url, token)?),
        None if token.is_some() => {
            return error("--audit-webhook-token needs --audit-webhook: give the URL, too");
        }
        None => {}
    }
    Ok(AuditSettings {
        file: arguments.audit_file.clone(),
        rotation: rotation(arguments)?,
        webhooks,
    })
}

fn rotation(arguments: &ServerArgs) -> Result<Option<AuditRotation>, ConfigError> {
    let Some(mib) = arguments.audit_file_size else {
        return match arguments.audit_files_kept {
            Some(_) => error("--audit-files-kept needs --audit-file-size: give the size, too"),
            None => Ok(None),
        };
    };
    if arguments.audit_file.is_none() {
        return error("--audit-file-size needs --audit-file: give the file, too");
    }
    if !(1..=SIZE_MIB_MAX).contains(&mib) {
        return error(format!("--audit-file-size is from 1 to {SIZE_MIB_MAX} MiB"));
    }
    let kept = arguments.audit_files_kept.unwrap_or(KEPT);
    if !(1..=KEPT_MAX).contains(&kept) {
        return error(format!("--audit-files-kept is from 1 to {KEPT_MAX}"));
    }
    Ok(Some(AuditRotation { bytes: u64::from(mib) << 20, kept }))
}

/// True for a MinIO variable that [`of_minio`] reads.
pub(super) fn is_of_minio(name: &str) -> bool {
    [ENDPOINT, ENABLE, TOKEN].iter().any(|known| {
        name.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('_'))
    })
}

/// The webhooks that MinIO's variables enable.
///
/// # Errors
/// [`ConfigError`] for an enabled webhook without a valid URL.
pub(super) fn of_minio(variables: &Variables) -> Result<Vec<AuditWebhook>, ConfigError> {
    let mut webhooks = Vec::new();
    for (name, value) in variables.beginning_with(ENABLE) {
        let suffix = name.strip_prefix(ENABLE).unwrap_or_default();
        match value.to_ascii_lowercase().as_str() {
            "on" | "true" | "1" | "yes" => {}
            "off" | "false" | "0" | "no" => continue,
            _ => return error(format!("{name}: {value:?} is neither on nor off")),
        }
        let endpoint = format!("{ENDPOINT}{suffix}");
        let Some(url) = variables.get(&endpoint) else {
            return error(format!("{name} needs {endpoint}: set both"));
        };
        let token = variables.get(&format!("{TOKEN}{suffix}")).map(str::to_owned);
        let webhook = AuditWebhook::new(url, token);
        let webhook = webhook.map_err(|error| ConfigError(format!("{endpoint}: {error}")))?;
        // Receivers made for MinIO expect one document per post.
        webhooks.push(AuditWebhook { posts: AuditPosts::Single, ..webhook });
    }
    Ok(webhooks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_minio_give_webhooks() {
        let of = |pairs: &[(&str, &str)]| of_minio(&Variables::of(pairs));
        assert_eq!(of(&[]), Ok(Vec::new()));
        let webhooks = of(&[
            ("MINIO_AUDIT_WEBHOOK_ENABLE_a", "on"),
            ("MINIO_AUDIT_WEBHOOK_ENDPOINT_a", "http://localhost/a"),
            ("MINIO_AUDIT_WEBHOOK_AUTH_TOKEN_a", "secret"),
            ("MINIO_AUDIT_WEBHOOK_ENABLE_b", "off"),
        ]);
        let expected = AuditWebhook {
            url: "http://localhost/a".to_owned(),
            token: Some("secret".to_owned()),
            posts: AuditPosts::Single,
        };
        assert_eq!(webhooks, Ok(vec![expected]));
        assert!(of(&[("MINIO_AUDIT_WEBHOOK_ENABLE", "on")]).is_err());
        assert!(of(&[("MINIO_AUDIT_WEBHOOK_ENABLE", "perhaps")]).is_err());
        assert!(is_of_minio("MINIO_AUDIT_WEBHOOK_ENDPOINT_x"));
        assert!(!is_of_minio("MINIO_AUDIT_WEBHOOK_ENDPOINTS"));
    }
}

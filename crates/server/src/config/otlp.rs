//! Resolves the OpenTelemetry collector.

use http::{HeaderName, HeaderValue};

use super::environment::Variables;
use super::{ConfigError, OtlpSettings, error};

/// The collector in the arguments or in OpenTelemetry's variables. Without the feature, the
/// variables are ignored, because they may be set for all programs of a machine.
///
/// # Errors
/// [`ConfigError`] for an invalid endpoint or headers, and for an endpoint without the feature.
pub(super) fn resolve(
    given: Option<&str>,
    variables: &Variables,
) -> Result<Option<OtlpSettings>, ConfigError> {
    if !cfg!(feature = "otlp") {
        return match given {
            None => Ok(None),
            Some(_) => error(
                "this binary was built without OTLP: build it with --features otlp, or remove \
                 --otlp-endpoint out",
            ),
        };
    }
    let endpoint = match (given, variables.get("OTEL_EXPORTER_OTLP_ENDPOINT")) {
        (Some(endpoint), _) => endpoint,
        (None, Some(endpoint)) if variables.get("OTEL_SDK_DISABLED") != Some("true") => endpoint,
        (None, _) => return Ok(None),
    };
    let mut settings = OtlpSettings::new(endpoint)?;
    if let Some(name) = variables.get("OTEL_SERVICE_NAME") {
        settings.service_name = name.to_owned();
    }
    let pairs = variables.get("OTEL_EXPORTER_OTLP_HEADERS").unwrap_or_default().split(',');
    for pair in pairs.filter(|pair| !pair.trim().is_empty()) {
        let pair = pair.split_once('=').map(|(name, value)| {
            let value = percent_encoding::percent_decode_str(value.trim()).decode_utf8_lossy();
            (name.trim().to_owned(), value.into_owned())
        });
        let is_valid = |(name, value): &(String, String)| {
            HeaderName::try_from(name).is_ok() && HeaderValue::try_from(value).is_ok()
        };
        match pair.filter(is_valid) {
            Some(pair) => settings.headers.push(pair),
            None => return error("OTEL_EXPORTER_OTLP_HEADERS is not valid: give NAME=VALUE,…"),
        }
    }
    Ok(Some(settings))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_counts_before_the_variables_and_no_error_shows_a_secret() {
        let variables = Variables::of(&[
            ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/"),
            ("OTEL_SERVICE_NAME", "photos"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20hush, x-tenant=a"),
        ]);
        let settings = resolve(None, &variables).expect("valid").expect("a collector");
        assert_eq!(settings.url, "http://collector:4318/v1/traces");
        assert_eq!(settings.service_name, "photos");
        assert_eq!(settings.headers[0], ("authorization".into(), "Bearer hush".into()));
        assert!(!format!("{settings:?}").contains("hush"));
        let given = resolve(Some("https://other"), &variables).expect("valid");
        assert_eq!(given.expect("a collector").url, "https://other/v1/traces");
        assert_eq!(resolve(None, &Variables::of(&[])), Ok(None));
        for (endpoint, headers) in [
            ("collector:4318", ""),
            ("http://hush@a", ""),
            ("http://a?hush", ""),
            ("http://a", "hush"),
        ] {
            let variables = Variables::of(&[("OTEL_EXPORTER_OTLP_HEADERS", headers)]);
            let error = resolve(Some(endpoint), &variables).expect_err(endpoint).to_string();
            assert!(!error.contains("hush"), "{error}");
        }
    }
}

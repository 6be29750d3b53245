//! POST policies, signed here.

use serde_json::Value;

use super::exchange::{DATE, DATE_UNIX_SECONDS, SIGNER, authenticate, read};
use super::post_form::{long_form_head, push_field, push_file};
use crate::{Identity, PostForm};

/// Input: a policy as JSON, an empty line, and form fields as lines `name: value`.
///
/// The form is refused, or the policy permits all of it according to a second, simpler check.
pub fn post_policy(data: &[u8]) {
    let end = memchr::memmem::find(data, b"\n\n").unwrap_or(data.len());
    let (policy, lines) = data.split_at(end);
    let lines = String::from_utf8_lossy(lines);
    let given = lines.lines().filter_map(|line| line.split_once(": "));
    // A quote would end the name of a field.
    let given = given.filter(|(name, _)| name.bytes().all(|b| b.is_ascii_graphic() && b != b'"'));
    let encoded = base64_simd::STANDARD.encode_to_string(policy);
    let signature = SIGNER.sign(&encoded);
    let credential = SIGNER.credential();
    let mut fields: Vec<(&str, &str)> = vec![
        ("policy", &encoded),
        ("x-amz-algorithm", "AWS4-HMAC-SHA256"),
        ("x-amz-credential", &credential),
        ("x-amz-date", DATE),
        ("x-amz-signature", &signature),
    ];
    fields.extend(given);
    let mut body = Vec::new();
    for (name, value) in &fields {
        push_field(&mut body, name, value);
    }
    push_file(&mut body, b"contents");
    let Ok(request) = authenticate(&long_form_head(), &body, 0) else { return };
    let form = request.extensions().get::<PostForm>().expect("it came as a form");
    assert_eq!(form.bucket, "bucket");
    assert!(matches!(request.extensions().get(), Some(Identity::User(_))));
    let (_, result) = read(request.into_body());
    let policy: Value = serde_json::from_slice(policy).expect("an accepted policy is JSON");
    let fields: Vec<_> = fields
        .iter()
        .map(|(name, value)| (name.to_ascii_lowercase(), value.replace("${filename}", "name.txt")))
        .collect();
    allows(&policy, &fields, result.is_ok());
}

fn allows(policy: &Value, fields: &[(String, String)], file_is_whole: bool) {
    let expiration = policy["expiration"].as_str().expect("an expiration");
    let expires: jiff::Timestamp = expiration.parse().expect("a time");
    assert!(expires.as_second() >= DATE_UNIX_SECONDS, "expired {expiration}");
    let mut covered = Vec::new();
    let mut values = |name: &str| -> Vec<String> {
        let name = name.to_ascii_lowercase();
        let values = match name.as_str() {
            "bucket" => vec!["bucket".to_owned()],
            _ => fields.iter().filter(|field| field.0 == name).map(|f| f.1.clone()).collect(),
        };
        covered.push(name);
        // A missing field counts as empty.
        if values.is_empty() { vec![String::new()] } else { values }
    };
    for condition in policy["conditions"].as_array().expect("conditions") {
        if let Some(pairs) = condition.as_object() {
            for (name, operand) in pairs {
                assert!(values(name).iter().all(|value| operand == value), "{condition}");
            }
            continue;
        }
        let operator = condition[0].as_str().expect("an operator").to_ascii_lowercase();
        if operator == "content-length-range" {
            let number = |value: &Value| match value {
                Value::String(digits) => digits.parse::<u64>().ok(),
                other => other.as_u64(),
            };
            let (min, max) = (number(&condition[1]), number(&condition[2]));
            let fits = min.expect("a number") <= 8 && 8 <= max.expect("a number");
            assert!(fits || !file_is_whole, "{condition}");
            continue;
        }
        let name = condition[1].as_str().and_then(|name| name.strip_prefix('$')).expect("a field");
        let operand = condition[2].as_str().expect("a value");
        for value in values(name) {
            let holds = match operator.as_str() {
                "eq" => value == operand,
                "starts-with" if name.eq_ignore_ascii_case("content-type") => {
                    value.starts_with(operand)
                        || value.split(',').all(|item| item.trim().starts_with(operand))
                }
                "starts-with" => value.starts_with(operand),
                other => panic!("accepted with the operator {other:?}"),
            };
            assert!(holds, "{condition} for {value:?}");
        }
    }
    for (name, _) in fields {
        let is_exempt =
            matches!(name.as_str(), "policy" | "x-amz-signature") || name.starts_with("x-ignore-");
        assert!(is_exempt || covered.contains(name), "nothing allows {name}");
    }
    assert!(covered.iter().any(|name| name == "bucket"), "nothing allows the bucket");
}

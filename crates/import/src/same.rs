//! The comparison of documents that other stores write in another order.

use serde_json::Value;

/// `true` if two policies differ at most in the order of their lists, which MinIO changes with each
/// answer, and in lists of one.
pub(crate) fn are_same_policies(one: &[u8], other: &[u8]) -> bool {
    fn sorted(value: Value) -> Value {
        match value {
            Value::Array(mut values) if values.len() == 1 => sorted(values.swap_remove(0)),
            Value::Array(values) => {
                let mut values: Vec<Value> = values.into_iter().map(sorted).collect();
                values.sort_by_cached_key(Value::to_string);
                Value::Array(values)
            }
            Value::Object(members) => {
                members.into_iter().map(|(name, member)| (name, sorted(member))).collect()
            }
            value => value,
        }
    }
    let parsed = |document: &[u8]| serde_json::from_slice(document).ok().map(sorted);
    let one = parsed(one);
    one.is_some() && one == parsed(other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_are_the_same_in_any_order() {
        let policy = |actions: &str, resource: &str| {
            format!(
                r#"{{"Statement":[{{"Action":{actions},"Resource":{resource}}}],"Version":"1"}}"#
            )
        };
        let kept = policy(r#"["s3:GetObject","s3:PutObject"]"#, r#""a""#);
        for (actions, resource, are_same) in [
            (r#"["s3:PutObject","s3:GetObject"]"#, r#"["a"]"#, true),
            (r#"["s3:GetObject"]"#, r#""a""#, false),
            (r#"["s3:GetObject","s3:PutObject"]"#, r#""b""#, false),
        ] {
            let other = policy(actions, resource);
            let found = are_same_policies(kept.as_bytes(), other.as_bytes());
            assert_eq!(found, are_same, "{other}");
        }
        assert!(!are_same_policies(b"{", b"{"));
    }
}

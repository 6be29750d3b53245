//! Predefined policies: AWS's managed policies for the services of this server, and MinIO's.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use liteio_policy::{Kind, Policy};

/// A predefined policy.
#[derive(Debug)]
pub struct ManagedPolicy {
    /// The name, which ends its ARN.
    pub name: &'static str,
    /// Its description.
    pub description: &'static str,
    /// The document.
    pub document: &'static str,
}

/// The ARN prefix of every managed policy; the name follows.
pub const MANAGED_ARN: &str = "arn:aws:iam::aws:policy/";

/// The policies, sorted by name.
pub const MANAGED_POLICIES: [ManagedPolicy; 11] = [
    ManagedPolicy {
        name: "AdministratorAccess",
        description: "Provides full access to AWS services and resources.",
        document: r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}"#,
    },
    ManagedPolicy {
        name: "AmazonS3FullAccess",
        description: "Provides full access to all buckets via the AWS Management Console.",
        document: r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:*","s3-object-lambda:*"],"Resource":"*"}]}"#,
    },
    ManagedPolicy {
        name: "AmazonS3ReadOnlyAccess",
        description: "Provides read only access to all buckets via the AWS Management Console.",
        document: r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:Get*","s3:List*","s3:Describe*","s3-object-lambda:Get*","s3-object-lambda:List*"],"Resource":"*"}]}"#,
    },
    ManagedPolicy {
        name: "IAMFullAccess",
        description: "Provides full access to IAM via the AWS Management Console.",
        document: r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["iam:*"],"Resource":"*"}]}"#,
    },
    ManagedPolicy {
        name: "IAMReadOnlyAccess",
        description: "Provides read only access to IAM via the AWS Management Console.",
        document: r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["iam:GenerateCredentialReport","iam:GenerateServiceLastAccessedDetails","iam:Get*","iam:List*","iam:SimulateCustomPolicy","iam:SimulatePrincipalPolicy"],"Resource":"*"}]}"#,
    },
    ManagedPolicy {
        name: "ReadOnlyAccess",
        description: "Provides read-only access to AWS services and resources.",
        document: r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["iam:Get*","iam:List*","s3:Get*","s3:List*","s3:Describe*","s3vectors:Get*","s3vectors:List*","s3vectors:QueryVectors","sts:GetAccessKeyInfo","sts:GetCallerIdentity"],"Resource":"*"}]}"#,
    },
    // MinIO's policies, under its names.
    ManagedPolicy {
        name: "consoleAdmin",
        description: "Provides full access to all buckets and to the administration of the server.",
        document: r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["admin:*"]},{"Effect":"Allow","Action":["kms:*"]},{"Effect":"Allow","Action":["s3:*"],"Resource":["arn:aws:s3:::*"]}]}"#,
    },
    ManagedPolicy {
        name: "diagnostics",
        description: "Provides access to information about the state of the server.",
        document: r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["admin:Profiling","admin:ServerTrace","admin:ConsoleLog","admin:ServerInfo","admin:TopLocksInfo","admin:OBDInfo","admin:BandwidthMonitor","admin:Prometheus"]}]}"#,
    },
    ManagedPolicy {
        name: "readonly",
        description: "Provides access to objects of known names in all buckets.",
        document: r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:GetBucketLocation","s3:GetObject"],"Resource":["arn:aws:s3:::*"]}]}"#,
    },
    ManagedPolicy {
        name: "readwrite",
        description: "Provides full access to all buckets.",
        document: r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:*"],"Resource":["arn:aws:s3:::*"]}]}"#,
    },
    ManagedPolicy {
        name: "writeonly",
        description: "Provides the right to put objects into all buckets.",
        document: r#"{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:PutObject"],"Resource":["arn:aws:s3:::*"]}]}"#,
    },
];

/// All of them, parsed, by name.
static PARSED: LazyLock<HashMap<&str, Arc<Policy>>> = LazyLock::new(|| {
    let parsed = MANAGED_POLICIES.iter().filter_map(|managed| {
        let policy = Policy::parse(managed.document.as_bytes(), Kind::Identity).ok()?;
        Some((managed.name, Arc::new(policy)))
    });
    parsed.collect()
});

/// The managed policy with this ARN.
pub fn managed(arn: &str) -> Option<(&'static ManagedPolicy, &'static Arc<Policy>)> {
    let name = arn.strip_prefix(MANAGED_ARN)?;
    let managed = MANAGED_POLICIES.iter().find(|managed| managed.name == name)?;
    Some((managed, PARSED.get(name)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_of_them_are_policies() {
        assert!(MANAGED_POLICIES.is_sorted_by_key(|managed| managed.name));
        for ManagedPolicy { name, .. } in &MANAGED_POLICIES {
            assert!(managed(&format!("{MANAGED_ARN}{name}")).is_some(), "{name}");
        }
        assert!(managed("arn:aws:iam::aws:policy/Other").is_none());
        assert!(managed("AdministratorAccess").is_none());
    }
}

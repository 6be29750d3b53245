//! Subresources: names in a query that choose another operation than the method and the path alone.

/// The subresources in the model of S3 (botocore 1.44), sorted.
const SUBRESOURCES: [&str; 41] = [
    "abac",
    "accelerate",
    "acl",
    "analytics",
    "annotation",
    "attributes",
    "cors",
    "delete",
    "encryption",
    "intelligent-tiering",
    "inventory",
    "legal-hold",
    "lifecycle",
    "location",
    "logging",
    "metadataAnnotationTable",
    "metadataConfiguration",
    "metadataInventoryTable",
    "metadataJournalTable",
    "metadataTable",
    "metrics",
    "notification",
    "object-lock",
    "ownershipControls",
    "policy",
    "policyStatus",
    "publicAccessBlock",
    "renameObject",
    "replication",
    "requestPayment",
    "restore",
    "retention",
    "select",
    "session",
    "tagging",
    "torrent",
    "uploadId",
    "uploads",
    "versioning",
    "versions",
    "website",
];

/// True for the name of a subresource.
pub(super) fn is_subresource(name: &str) -> bool {
    SUBRESOURCES.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_and_compared_whole() {
        assert!(SUBRESOURCES.is_sorted());
        assert!(is_subresource("acl") && is_subresource("website"));
        assert!(!is_subresource("ac") && !is_subresource("versionId") && !is_subresource(""));
    }
}

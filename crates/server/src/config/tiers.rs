//! The tiers that bodies move to.

use std::path::PathBuf;

use liteio_access::tiers::{Tier, TierKind};
use liteio_identity::tables::{self, Fields};
use liteio_wire::private_file;

/// The tiers that are configured, besides those that are added at run time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TierSettings {
    /// Tiers given individually.
    pub tiers: Vec<Tier>,
    /// A TOML file with more of them.
    pub file: Option<PathBuf>,
}

impl TierSettings {
    /// All tiers, including the file's, checked.
    ///
    /// # Errors
    /// One line with advice, without any secret.
    pub(crate) fn all_tiers(&self) -> Result<Vec<Tier>, String> {
        let mut all = Vec::new();
        for tier in &self.tiers {
            all.push(tier.clone().checked()?);
        }
        if let Some(path) = &self.file {
            all.extend(private_file::parsed(path, of_toml)?);
        }
        for (place, tier) in all.iter().enumerate() {
            let others = &all[..place];
            if others.iter().any(|other| other.name == tier.name) {
                return Err(format!("two tiers have the name {}", tier.name));
            }
            let is_taken =
                |class: &&String| others.iter().any(|other| other.classes.contains(class));
            if let Some(class) = tier.classes.iter().find(is_taken) {
                return Err(format!("the class {class} stands for two tiers"));
            }
        }
        Ok(all)
    }
}

/// Parses a file of tiers: `[[tier]]` tables.
fn of_toml(text: &str) -> Result<Vec<Tier>, String> {
    let document = tables::document(text, &["tier"])?;
    let tiers = tables::tables(&document, "tier", &KNOWN)?;
    match tiers.is_empty() {
        true => Err("there is no [[tier]] table".to_owned()),
        false => tiers.iter().map(of_table).collect(),
    }
}

const KNOWN: [&str; 10] = [
    "name",
    "kind",
    "url",
    "bucket",
    "prefix",
    "access_key",
    "secret_key",
    "region",
    "storage_class",
    "classes",
];

fn of_table(fields: &Fields<'_>) -> Result<Tier, String> {
    let wrong = |reason: String| format!("{}: {reason}", fields.label);
    let kind = match fields.text("kind")? {
        None => TierKind::S3,
        Some(name) => {
            TierKind::of_name(&name).ok_or_else(|| wrong("kind must be minio or s3".to_owned()))?
        }
    };
    let tier = Tier {
        name: fields.required("name")?,
        kind,
        url: fields.required("url")?,
        bucket: fields.required("bucket")?,
        prefix: fields.text("prefix")?.unwrap_or_default(),
        access_key: fields.required("access_key")?,
        secret_key: fields.required("secret_key")?,
        region: fields.text("region")?,
        storage_class: fields.text("storage_class")?,
        classes: fields.texts("classes")?.unwrap_or_default(),
        is_made: false,
    };
    tier.checked().map_err(wrong)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_names_tiers_and_no_error_shows_a_secret() {
        let file = "[[tier]]\nname = 'COLD'\nurl = 'http://localhost:9'\nbucket = 'cold'\n\
                    access_key = 'user'\nsecret_key = 'hush'\nclasses = ['GLACIER']\n";
        let tiers = of_toml(file).expect("valid");
        assert_eq!((&*tiers[0].bucket, &*tiers[0].prefix), ("cold", ""));
        assert!(!format!("{tiers:?}").contains("hush"));
        for (from, to, expected) in [
            ("'COLD'", "'cold'", "upper-case"),
            ("'COLD'", "'GLACIER'", "is a storage class"),
            ("'GLACIER'", "'STANDARD'", "is not one of"),
            ("'http://localhost:9'", "'http://me:hush@localhost'", "without a user"),
            ("secret_key", "password", "unknown key \"password\""),
        ] {
            let error = of_toml(&file.replace(from, to)).expect_err(expected);
            assert!(error.contains(expected) && !error.contains("hush"), "{error}");
        }
        let twice = TierSettings { tiers: [&tiers[..], &tiers].concat(), file: None };
        assert!(twice.all_tiers().expect_err("twice").contains("two tiers"));
    }
}

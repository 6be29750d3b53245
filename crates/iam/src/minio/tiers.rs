//! Tiers, which have a secret as access keys do. They are for all buckets of the server, so only the
//! first account manages them.

use liteio_access::tiers::Tier;

use super::super::records::TierRecord;
use super::super::state::seal_secret;
use super::error;
use super::{AdminResult, Desk};

/// Tiers of a server.
const TIERS_MAX: usize = 100;

impl Desk<'_> {
    /// Refuses users of other accounts than the first.
    ///
    /// # Errors
    /// `AccessDenied`.
    pub fn may_manage_tiers(&self) -> AdminResult<()> {
        match self.is_of_first_account() {
            true => Ok(()),
            false => Err(error::access_denied(
                "Tiers are for all accounts, so users of the first one manage them.",
            )),
        }
    }

    /// Refuses users of other accounts than the first, who may not see the settings of the server.
    ///
    /// # Errors
    /// `AccessDenied`.
    pub fn may_see_server(&self) -> AdminResult<()> {
        match self.is_of_first_account() {
            true => Ok(()),
            false => Err(error::access_denied(
                "Settings are for all accounts, so users of the first one see them.",
            )),
        }
    }

    fn is_of_first_account(&self) -> bool {
        let first = self.directory.first_account();
        first.is_some_and(|first| first.id == self.account())
    }

    /// Adds a new tier, or replaces the one with its name. The fields are checked already.
    ///
    /// # Errors
    /// `XMinioAdminTierAlreadyExists` for a new one whose name is taken,
    /// `XMinioAdminResourceInvalidArgument` for too many; the errors of sealing its secret.
    pub fn put_tier(&mut self, tier: &Tier, is_new: bool) -> AdminResult<()> {
        let is_known = self.draft.state.get::<TierRecord>(&tier.name).is_some();
        if is_known && is_new {
            return Err(error::tier_exists(&tier.name));
        }
        if !is_known && self.draft.state.tiers.len() >= TIERS_MAX {
            return Err(error::too_many(format!("A server has at most {TIERS_MAX} tiers.")));
        }
        let sealed = seal_secret(tier.secret_key.as_bytes(), self.secrets);
        self.draft.put(TierRecord {
            name: tier.name.clone(),
            kind: tier.kind.name().to_owned(),
            url: tier.url.clone(),
            bucket: tier.bucket.clone(),
            prefix: tier.prefix.clone(),
            access_key: tier.access_key.clone(),
            secret: sealed.map_err(|error| error::of_store(&error))?,
            region: tier.region.clone(),
            storage_class: tier.storage_class.clone(),
            created: self.now,
        });
        Ok(())
    }

    /// Removes a tier that was added at run time.
    ///
    /// # Errors
    /// `XMinioAdminTierNotFound`.
    pub fn remove_tier(&mut self, name: &str) -> AdminResult<()> {
        let found = self.draft.state.get::<TierRecord>(name);
        if found.is_none_or(|tier| tier.name != name) {
            return Err(error::tier_not_found(name));
        }
        self.draft.delete::<TierRecord>(name);
        Ok(())
    }
}

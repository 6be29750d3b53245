//! Resolves the settings: from raw arguments and variables to a [`Config`].

use super::environment::{self, Variables};
use super::{
    Config, ConfigError, ListenAddress, MasterKeySource, MetricsAuth, OidcIssuer, Profile,
    ReplicationSettings, Storage, TierSettings, named_by,
};
use super::{
    address, audit, background, backup, buckets, cluster, console_oidc, credentials, domains,
    events, exposure, keys, log, network, notify, otlp, ownership, storage, tables, take_over,
    test_api,
};
use crate::cli::ServerArgs;

/// A key that ends with the process would make data that stays unreadable.
const KMS_KEYS_IN_VAIN: &str = "S3Mock's list of KMS keys has no effect on data that stays or has a master key: give \
     --kms-key-file FILE (`liteio key new FILE --name NAME` adds a key to one)";

impl Config {
    /// Checks the arguments, individually and together. Opens no file and no socket.
    ///
    /// # Errors
    /// [`ConfigError`] with advice.
    pub(crate) fn resolve(arguments: &ServerArgs) -> Result<Config, ConfigError> {
        let named = |setting| move |error| named_by(arguments, setting, error);
        let profile = arguments.profile.as_deref().map(Profile::parse).transpose();
        let profile = profile.map_err(named("profile"))?;
        let address = match &arguments.address {
            Some(address) => ListenAddress::parse(address).map_err(named("address"))?,
            None => {
                let port = arguments.port(profile);
                ListenAddress::parse(&format!("{}:{port}", arguments.host()))
                    .map_err(named("host"))?
            }
        };
        let tls = network::resolve_tls(arguments)?;
        let region = arguments.region.as_deref().map(|region| (region, "region"));
        let told = arguments.told_region.as_deref().map(|region| (region, "told_region"));
        let (region, setting) = region.or(told).unwrap_or((domains::DEFAULT_REGION, "region"));
        let plain_address = network::resolve_plain_address(arguments, tls.is_some());
        let console_address = network::resolve_console_address(arguments, profile, &address);
        let storage = storage::resolve(arguments)?;
        let mut keys = keys::resolve_keys(&arguments.keys)?;
        // A key that ends with the process is for data that ends with it.
        if arguments.aws_defaults && storage == Storage::Memory && keys.master.is_none() {
            keys.master = Some(MasterKeySource::OfProcess(arguments.kms_keys.clone()));
        }
        // Objects would be stored as plain ones, unnoticed.
        if arguments.auto_encryption && keys.master.is_none() {
            let message = "there is no key to encrypt with: set MINIO_KMS_SECRET_KEY=NAME:KEY, or --master-key-file FILE \
                 (`liteio key new FILE` makes one)";
            return Err(named("auto_encryption")(ConfigError(message.to_owned())));
        }
        let config = Config {
            address,
            console: arguments.console.unwrap_or(true),
            console_address: console_address.map_err(named("console_address"))?,
            plain_address: plain_address.map_err(named("plain_address"))?,
            tls,
            website_address: network::resolve_website_address(arguments)
                .map_err(named("website_address"))?,
            iceberg_address: network::resolve_iceberg_address(arguments)
                .map_err(named("iceberg_address"))?,
            trusted_proxies: network::resolve_proxies(&arguments.trusted_proxy)
                .map_err(named("trusted_proxy"))?,
            storage,
            metadata_bytes: storage::resolve_metadata_memory(arguments.metadata_memory)
                .map_err(named("metadata_memory"))?,
            credentials: credentials::resolve(arguments, profile)?,
            keys,
            allow_insecure_sse_c: arguments.allow_insecure_sse_c,
            allow_signature_v2: arguments.allow_signature_v2,
            no_auth: arguments.no_auth,
            region: domains::resolve_region(region).map_err(named(setting))?,
            // MinIO's clients ask for the region of a bucket, and make one, in a default region.
            takes_any_region: arguments.region.is_none() || profile == Some(Profile::Minio),
            profile,
            take_over: take_over::resolve(arguments).map_err(named("take_over"))?,
            domains: domains::resolve_domains(&arguments.domain).map_err(named("domain"))?,
            object_ownership: ownership::resolve(arguments.object_ownership.as_deref())
                .map_err(named("object_ownership"))?,
            aws_defaults: arguments.aws_defaults,
            auto_encryption: arguments.auto_encryption,
            preparation: buckets::resolve_preparation(arguments, profile)
                .map_err(named("bucket"))?,
            cors_origins: buckets::resolve_cors_origins(&arguments.cors_origin)
                .map_err(named("cors_origin"))?,
            log: log::resolve_log(arguments.log.as_deref().unwrap_or(log::DEFAULT_LOG))
                .map_err(named("log"))?,
            log_format: log::resolve_log_format(arguments).map_err(named("log_format"))?,
            scrub: background::resolve_scrub(arguments)?,
            lifecycle_day: background::resolve_lifecycle_day(arguments.lifecycle_day)?,
            restore_delay: background::resolve_restore_delay(arguments.restore_delay)?,
            reports: background::resolve_reports(arguments.access_log_interval)?,
            tables: tables::resolve(arguments)?,
            events: events::resolve(arguments)?,
            replication: ReplicationSettings {
                targets: Vec::new(),
                file: arguments.replication_file.clone(),
            },
            tiers: TierSettings { tiers: Vec::new(), file: arguments.tier_file.clone() },
            metrics_auth: arguments
                .metrics_auth
                .as_deref()
                .map_or(Ok(MetricsAuth::default()), MetricsAuth::parse)
                .map_err(named("metrics_auth"))?,
            audit: audit::resolve(arguments)?,
            otlp: None,
            backup: None,
            is_standby: arguments.is_standby,
            test_api: test_api::resolve(arguments.test_api.as_deref())
                .map_err(named("test_api"))?,
            oidc_issuers: arguments.oidc_issuer.iter().map(|it| OidcIssuer::parse(it)).collect(),
            console_sign_in: None,
        };
        config.check_exposure(arguments)?;
        Ok(config)
    }

    /// Resolves the settings of a command: the arguments, then `variables`, then the profile's
    /// defaults. Reads the files that variables name. Also returns warnings to log.
    ///
    /// # Errors
    /// [`ConfigError`] with advice.
    pub(crate) fn of_command(
        arguments: &ServerArgs,
        variables: &Variables,
    ) -> Result<(Config, Vec<String>), ConfigError> {
        let mut arguments = arguments.clone();
        let profile = arguments.profile.as_deref().map(Profile::parse).transpose();
        let profile = profile.map_err(|error| named_by(&arguments, "profile", error))?;
        storage::take_directory(&mut arguments)?;
        environment::fill(&mut arguments, profile, variables)?;
        address::check_parts(&mut arguments)?;
        network::take_minio_certificates(&mut arguments, profile, variables);
        if let Some(profile) = profile {
            profile.fill(&mut arguments);
        }
        exposure::open_as_minio(&mut arguments, profile);
        let mut config = Config::resolve(&arguments)?;
        let cluster = cluster::resolve(&arguments.cluster)?;
        config.storage = cluster.map_or(config.storage, |it| Storage::Cluster(Box::new(it)));
        config.audit.webhooks.extend(audit::of_minio(variables)?);
        notify::add_minios(&mut config.events, variables)?;
        config.otlp = otlp::resolve(arguments.otlp_endpoint.as_deref(), variables)?;
        config.backup = backup::resolve(&arguments, variables, &config.storage)?;
        backup::check_standby(&config)?;
        cluster::check(&config, &arguments)?;
        config.console_sign_in = console_oidc::resolve(&arguments.console_oidc)?;
        let in_vain = backup::in_vain(&arguments);
        let are_made = matches!(config.keys.master, Some(MasterKeySource::OfProcess(_)));
        let kms_in_vain = (!arguments.kms_keys.is_empty() && !are_made).then_some(KMS_KEYS_IN_VAIN);
        let mut notes = arguments.notes;
        notes.extend(in_vain);
        notes.extend(kms_in_vain.map(str::to_owned));
        notes.extend(config.warnings());
        Ok((config, notes))
    }
}

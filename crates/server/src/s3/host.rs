//! Virtual-host addressing: `bucket.domain`.

use s3s::S3Result;
use s3s::host::{S3Host, VirtualHost};

use crate::front::target::Target;

/// The domains whose subdomains are buckets: lower-case names without a port.
pub(super) struct Domains(pub(super) Vec<String>);

impl S3Host for Domains {
    fn parse_host_header<'a>(&'a self, host: &'a str) -> S3Result<VirtualHost<'a>> {
        let target = Target::of(host, "/", &self.0);
        let virtual_host = VirtualHost::new(host);
        Ok(match target.virtual_host {
            true => virtual_host.with_bucket(target.bucket),
            false => virtual_host,
        })
    }
}

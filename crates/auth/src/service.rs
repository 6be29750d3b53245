//! The services that requests are signed for.

/// The service that a request was signed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Service {
    /// Objects and buckets.
    S3,
    /// Objects and buckets, by clients that take a bucket for a directory bucket: the name of the
    /// service is all that differs.
    S3Express,
    /// Vector buckets and indexes.
    S3Vectors,
    /// The security token service.
    Sts,
    /// Users and their policies.
    Iam,
    /// Tables: the Iceberg REST catalog, as clients of S3 Tables sign for it.
    S3Tables,
    /// The gateway of AWS for APIs of others, for which clients of Iceberg REST catalogs sign unless told otherwise.
    ExecuteApi,
}

impl Service {
    /// The name in a credential scope.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Service::S3 => "s3",
            Service::S3Express => "s3express",
            Service::S3Vectors => "s3vectors",
            Service::Sts => "sts",
            Service::Iam => "iam",
            Service::S3Tables => "s3tables",
            Service::ExecuteApi => "execute-api",
        }
    }

    /// The service in the credential scope of an unverified `Authorization` header. Use it only to
    /// choose the error format of a refusal.
    #[must_use]
    pub fn claimed(authorization: &str) -> Option<Service> {
        Service::parse(Service::claimed_name(authorization)?)
    }

    /// The name of the service there, which may be one that is not here.
    #[must_use]
    pub fn claimed_name(authorization: &str) -> Option<&str> {
        let (_, credential) = authorization.split_once("Credential=")?;
        name_in(credential.split([',', ' ']).next()?)
    }

    /// The service in an unverified credential.
    pub(super) fn of_credential(credential: &str) -> Option<Service> {
        Service::parse(name_in(credential)?)
    }

    pub(super) fn parse(name: &str) -> Option<Service> {
        let all = [
            Service::S3,
            Service::S3Express,
            Service::S3Vectors,
            Service::Sts,
            Service::Iam,
            Service::S3Tables,
            Service::ExecuteApi,
        ];
        all.into_iter().find(|service| service.name() == name)
    }

    /// `true` if clients need not declare the hash of the body that they have signed.
    pub(super) fn implies_hash(self) -> bool {
        !matches!(self, Service::S3 | Service::S3Express)
    }

    /// `true` for a global service: clients sign for its one region, whatever region is configured.
    pub(super) fn is_global(self) -> bool {
        matches!(self, Service::Sts | Service::Iam)
    }
}

/// The name of the service in the scope of a credential.
fn name_in(credential: &str) -> Option<&str> {
    credential.strip_suffix("/aws4_request")?.rsplit('/').next()
}

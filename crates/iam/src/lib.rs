//! IAM and STS: users, groups, roles, policies and temporary keys that are made at run time.
//!
//! A request is a form, an answer XML. Records are in the key space and held in memory. With the users of the
//! configuration they become the directory that requests are authenticated against. A change is durable before it
//! is answered, and takes effect with the answer.
//!
//! ```text
//! form ──► service ──► permission ──► operations ──► records (key space)
//!                 └──► sts                              │
//!                                                       ▼
//! credentials file, settings ──► users ◄──── state ──► Directory (of `liteio_identity`)
//! ```
//!
//! | Module | Content |
//! |---|---|
//! | `service`, `call`, `form`, `xml`, `error`, `constraint` | The service: forms in, XML out |
//! | `operations` | The table of IAM's operations, one file per family |
//! | `permission` | The decision about a request, with the facts for conditions |
//! | `sts`, `web_identity`, `jwt` | Temporary keys; tokens of OpenID Connect, verified with the keys of their issuer |
//! | `asker`, `published` | Requests to issuers, and the documents that they publish |
//! | `sign_in`, `exchanges` | Sign-in to the console by OpenID Connect: the authorization code flow, and the number of codes exchanged at a time |
//! | `records`, `tag_set`, `state`, `limits` | Records of users, groups, roles, policies and providers; their state in memory; AWS's default quotas |
//! | `users` | The directory of all users; the credentials file is read again when it changes |
//! | [`minio`] | The same users for MinIO's admin API |
//! | [`settings`] | Sources of credentials, issuers of web identities |
//! | `fuzzing`, `exercise` | Forms against an account in memory (feature `fuzzing`) |
//!
//! The crate must not know S3, vectors or axum: `admin` calls [`minio`], and `space` passes requests that are
//! signed for IAM or STS.
//!
//! ```
//! use liteio_iam::settings::{CredentialsSource, IdentitySettings, OidcIssuer};
//!
//! let mut settings = IdentitySettings::new(CredentialsSource::well_known());
//! assert!(settings.credentials.is_well_known());
//!
//! settings.oidc_issuers.push(OidcIssuer::parse("https://login.example.com,storage"));
//! assert_eq!(settings.oidc_issuers[0].audiences, ["storage"]);
//!
//! assert!(liteio_iam::operation_names().any(|name| name == "CreateUser"));
//! ```

mod asker;
mod call;
mod constraint;
mod error;
mod exchanges;
#[cfg(any(test, feature = "fuzzing"))]
mod exercise;
mod form;
#[cfg(any(test, feature = "fuzzing"))]
pub mod fuzzing;
mod jwt;
mod limits;
pub mod minio;
mod operations;
mod permission;
mod published;
mod records;
mod service;
pub mod settings;
mod sign_in;
mod state;
mod sts;
mod tag_set;
mod users;
mod web_identity;
mod xml;

pub use self::error::{for_sts, refusal};
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) use self::exercise::exercise;
pub use self::operations::operation_names;
pub use self::permission::{Circumstances, check, is_denied};
pub use self::service::{Api, Iam, is_web_identity};
pub use self::sign_in::{Begun, Returned, SignIn, SignedIn};
pub use self::sts::STS_OPERATIONS;
pub use self::users::{
    ConfiguredUsers, Users, Watch, check_secrets, other_owner_of_all, reseal_secrets,
};

//! The spaces of a server: a single one, or the spaces of the test API. No other module knows which.

#[cfg(feature = "testkit")]
mod testkit;

use std::sync::Arc;

use http::Request;
use liteio_store::{Store, StoreImage};
#[cfg(feature = "testkit")]
use liteio_testkit::{TestApi, TestControl};

use crate::config::Config;
use crate::made_credentials::MadeCredentials;
use crate::open::{OpenError, Opened, TestHooks};
use liteio_observe::delivery::Follower;
use liteio_space::{MAIN, Space, SpaceParts};
use liteio_wire::front::body::RequestBody;
use liteio_wire::front::{Allowance, Observer};
use liteio_wire::origin::Origin;
use liteio_wire::reply::Reply;

/// The spaces of a server.
#[derive(Clone)]
pub(crate) enum Spaces {
    /// A single space.
    One(Arc<Space>),
    /// The spaces of the test API.
    #[cfg(feature = "testkit")]
    Many(Arc<TestApi>),
}

/// The opened spaces, and the parts that a server has once.
pub(crate) struct OpenedSpaces {
    pub(crate) spaces: Spaces,
    pub(crate) followers: Vec<Arc<dyn Follower>>,
    /// The generated credentials, if none were given.
    pub(crate) made: Option<MadeCredentials>,
}

/// Opens the main space, and the test API around it, if it is enabled. `endpoint` is the server's
/// URL.
///
/// # Errors
/// [`OpenError`].
pub(crate) async fn open(
    config: &Config,
    store: Option<Store>,
    #[cfg_attr(
        not(feature = "testkit"),
        expect(unused_variables, reason = "only the test API tells it")
    )]
    endpoint: String,
) -> Result<OpenedSpaces, OpenError> {
    #[cfg(feature = "testkit")]
    if let Some(access) = config.test_api {
        return testkit::open(config, store, endpoint, access).await;
    }
    let name = MAIN.to_owned();
    let (main, followers, made) = open_space(config, name, None, None, store).await?;
    Ok(OpenedSpaces { spaces: Spaces::One(Arc::new(main)), followers, made })
}

/// Opens a space, over this store if there is one, or with the contents of this image.
///
/// # Errors
/// [`OpenError`].
async fn open_space(
    config: &Config,
    name: String,
    hooks: Option<&TestHooks>,
    image: Option<Arc<StoreImage>>,
    store: Option<Store>,
) -> Result<(Space, Vec<Arc<dyn Follower>>, Option<MadeCredentials>), OpenError> {
    let opened = crate::open::open(config, hooks, image, store).await?;
    let Opened { app, users, targets, followers, made } = opened;
    let (no_auth, is_clock_shifted) = (config.without_signatures(), hooks.is_some());
    let (reports, tables) = (config.reports, config.tables.clone());
    let parts =
        SpaceParts { name, app, users, targets, reports, tables, no_auth, is_clock_shifted };
    let space = Space::new(parts);
    Ok((space, followers, made))
}

impl Spaces {
    /// The main space, for requests that name no other.
    pub(crate) fn main(&self) -> Arc<Space> {
        match self {
            Spaces::One(space) => Arc::clone(space),
            #[cfg(feature = "testkit")]
            Spaces::Many(tests) => tests.main(),
        }
    }

    /// True if another space can take the place of the main one.
    pub(crate) fn can_be_replaced(&self) -> bool {
        !matches!(self, Spaces::One(_))
    }

    /// The observer of requests that the test API has.
    pub(crate) fn observer(&self) -> Option<Arc<dyn Observer>> {
        match self {
            Spaces::One(_) => None,
            #[cfg(feature = "testkit")]
            Spaces::Many(tests) => Some(tests.observer()),
        }
    }

    /// The control of the test API, for programs that embed the server.
    #[cfg(feature = "testkit")]
    pub(crate) fn test_control(&self) -> Option<TestControl> {
        match self {
            Spaces::One(_) => None,
            Spaces::Many(tests) => Some(TestControl::new(Arc::clone(tests))),
        }
    }

    /// The test API, if it is enabled and the request is one to it.
    #[cfg(feature = "testkit")]
    pub(crate) fn test_api(&self, origin: &Origin) -> Option<Arc<TestApi>> {
        match self {
            Spaces::Many(tests) if TestApi::claims(origin) => Some(Arc::clone(tests)),
            Spaces::One(_) | Spaces::Many(_) => None,
        }
    }

    /// Answers a request for a service.
    pub(crate) async fn call(
        &self,
        request: Request<RequestBody>,
        origin: &Arc<Origin>,
        allowance: &Allowance,
    ) -> Reply {
        match self {
            Spaces::One(space) => space.call(request, origin, allowance).await,
            #[cfg(feature = "testkit")]
            Spaces::Many(tests) => Box::pin(tests.call(request, origin, allowance)).await,
        }
    }

    /// Ends all waits of the test API, because the server stops.
    pub(crate) fn stop(&self) {
        match self {
            Spaces::One(_) => {}
            #[cfg(feature = "testkit")]
            Spaces::Many(tests) => tests.stop(),
        }
    }
}

//! The test API around the main space, and the spaces that it makes.

use std::sync::Arc;

use liteio_iam as iam;
use liteio_s3 as s3;
use liteio_s3vectors as vectors;
use liteio_store::{ShiftedClock, Store, SystemClock};
use liteio_tables as tables;
use liteio_testkit::{Contents, Events, Making, Setup, Tap, TestAccess, TestApi};

use super::{OpenedSpaces, Spaces, open_space};
use crate::config::{AuditSettings, Config, CredentialsSource, Preparation, Storage};
use crate::open::{OpenError, TestHooks, prepare_bucket};
use liteio_space::{MAIN, Space};

/// Opens the main space, and the test API for these clients around it.
///
/// # Errors
/// [`OpenError`].
pub(super) async fn open(
    config: &Config,
    store: Option<Store>,
    endpoint: String,
    access: TestAccess,
) -> Result<OpenedSpaces, OpenError> {
    let clock = Arc::new(ShiftedClock::new(Arc::new(SystemClock)));
    let events = Arc::<Events>::default();
    let tap = Tap::new(&events, MAIN);
    let (name, hooks) = (MAIN.to_owned(), hooks(&clock, &tap));
    let (main, followers, made) = open_space(config, name, Some(&hooks), None, store).await?;
    // A space that replaces this one must have the same users.
    let credentials = made.as_ref().map_or(&config.credentials, |made| &made.source);
    let config = Config { credentials: credentials.clone(), ..config.clone() };
    let setup = Setup {
        access,
        domains: config.domains.clone(),
        region: config.region.clone(),
        endpoint,
        main,
        clock,
        events,
        tap,
        is_in_memory: config.storage == Storage::Memory,
        operations: s3::operation_names()
            .chain(vectors::operation_names())
            .chain(iam::operation_names())
            .chain(iam::STS_OPERATIONS)
            .collect(),
        other_operations: tables::operation_names().collect(),
        prepare: Box::new({
            let config = config.clone();
            move |app, name| {
                let config = config.clone();
                Box::pin(async move {
                    let prepared = prepare_bucket(&config, &app, name).await;
                    prepared.map_err(|error| error.to_string())
                })
            }
        }),
        make: Box::new(move |making| Box::pin(make_space(config.clone(), making))),
    };
    let spaces = Spaces::Many(Arc::new(TestApi::new(setup)));
    Ok(OpenedSpaces { spaces, followers, made })
}

fn hooks(clock: &Arc<ShiftedClock>, tap: &Arc<Tap>) -> TestHooks {
    TestHooks { clock: Arc::clone(clock), events: Arc::clone(tap) as _ }
}

/// Makes a space.
async fn make_space(config: Config, making: Making) -> Result<Space, String> {
    let Making { name, credentials, clock, tap, contents } = making;
    // Audit log and spans are recorded once, for all spaces.
    let (audit, otlp, backup) = (AuditSettings::default(), None, None);
    let mut config = Config { audit, otlp, backup, ..config };
    // Events to drop were deleted at startup.
    config.events.dropped.clear();
    if let Some((access_key, secret_key)) = credentials {
        config.credentials = CredentialsSource::Pair { access_key, secret_key };
    }
    let (image, store) = match contents {
        Contents::Prepared => (None, None),
        Contents::Image(image) => {
            config.preparation = Preparation::default();
            (Some(image), None)
        }
        Contents::Emptied(store) => (None, Some(store)),
    };
    if store.is_none() {
        config.storage = Storage::Memory;
    }
    let opened = open_space(&config, name, Some(&hooks(&clock, &tap)), image, store).await;
    opened.map(|(space, ..)| space).map_err(|error| error.to_string())
}

//! [`SharedConnection`]: the connection to a server that the messages of all events go over, opened anew after it has failed.

use std::time::Duration;

use tokio::sync::Mutex;

use super::target::NotTaken;

/// Time limit of a message with its answer, and of waiting for the connection that it needs.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Time limit of a connection with the sign-in. The others wait for it.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The connection, if there is one, and how many there were.
pub(super) struct SharedConnection<C>(Mutex<(Option<C>, u64)>);

impl<C> Default for SharedConnection<C> {
    fn default() -> Self {
        Self(Mutex::new((None, 0)))
    }
}

impl<C: Clone> SharedConnection<C> {
    /// The connection with its number: without one, that of `connect`.
    pub(super) async fn get(
        &self,
        connect: impl Future<Output = Result<C, NotTaken>>,
    ) -> Result<(C, u64), NotTaken> {
        let get = async {
            let (open, number) = &mut *self.0.lock().await;
            if let Some(connection) = open {
                return Ok((connection.clone(), *number));
            }
            let connection = within(CONNECT_TIMEOUT, connect).await?;
            *number += 1;
            Ok((open.insert(connection).clone(), *number))
        };
        within(TIMEOUT, get).await
    }

    /// Forgets a connection that has failed, unless there is a newer one.
    pub(super) async fn forget(&self, number: u64) {
        let (open, newest) = &mut *self.0.lock().await;
        if *newest == number {
            *open = None;
        }
    }
}

/// The result of a message, unless its answer takes too long.
pub(super) async fn answered<T>(
    answer: impl Future<Output = Result<T, NotTaken>>,
) -> Result<T, NotTaken> {
    within(TIMEOUT, answer).await
}

async fn within<T>(
    limit: Duration,
    work: impl Future<Output = Result<T, NotTaken>>,
) -> Result<T, NotTaken> {
    tokio::time::timeout(limit, work).await.unwrap_or_else(|_| Err(late(limit)))
}

pub(super) fn late(limit: Duration) -> NotTaken {
    NotTaken(format!("no answer within {} s", limit.as_secs()))
}

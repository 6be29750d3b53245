//! The watch over one of several servers: lines in the log about what it has lost, and its end.

use std::time::Duration;

use liteio_store::{ClusterFigures, Store};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};

/// Interval of looks. They ask nobody but this process.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The reason why a server can never serve again, once there is one.
pub(crate) type Over = watch::Receiver<Option<String>>;

/// Starts the watch over a server, until it stops. `None` for a server that is alone.
pub(crate) fn start(store: Store, mut stopping: watch::Receiver<bool>) -> Option<Over> {
    let figures = store.cluster_figures()?;
    let (told, over) = watch::channel(None);
    tokio::spawn(async move {
        let mut looks = interval(LOOK_EVERY);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut seen = Seen { figures, lost: 0 };
        loop {
            tokio::select! {
                _ = looks.tick() => {}
                _ = stopping.wait_for(|it| *it) => return,
            }
            let Some(figures) = store.cluster_figures() else { return };
            seen.lose(store.stats().kv.commits_lost);
            if let Some(reason) = seen.look(figures) {
                told.send_replace(Some(reason));
                return;
            }
        }
    });
    Some(over)
}

/// The figures of the last look.
struct Seen {
    figures: ClusterFigures,
    /// Commits that were lost so far.
    lost: u64,
}

impl Seen {
    /// Tells of commits that the database had acknowledged, and has lost since.
    fn lose(&mut self, lost: u64) {
        let new = lost.saturating_sub(self.lost);
        if new > 0 {
            tracing::error!(
                commits = new,
                since_start = lost,
                "the database has lost commits that this server had acknowledged: its failover went to a standby that \
                 lagged behind, see docs/cluster.md"
            );
        }
        self.lost = lost;
    }

    /// Tells what has changed. Returns the reason why it can never serve again, if that is so.
    fn look(&mut self, figures: ClusterFigures) -> Option<String> {
        let before = std::mem::replace(&mut self.figures, figures);
        let figures = &self.figures;
        match (&before.suspended, &figures.suspended) {
            (_, Some(reason)) if figures.is_over => return Some(reason.clone()),
            (None, Some(reason)) => tracing::error!(reason, "requests are answered by 503"),
            (Some(_), None) => {
                tracing::info!("the database is reached again, requests are answered")
            }
            (None, None) | (Some(_), Some(_)) => {}
        }
        match (&before.blobs_failure, &figures.blobs_failure) {
            (None, Some(reason)) => tracing::error!(reason, "the place of bodies is away"),
            (Some(_), None) => tracing::info!("the place of bodies is reached again"),
            (None, None) | (Some(_), Some(_)) => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use liteio_store::vectors::MirrorFigures;

    use super::*;

    #[test]
    fn only_a_server_that_the_others_have_ended_is_over() {
        let well = ClusterFigures {
            suspended: None,
            is_over: false,
            blobs_failure: None,
            runs_waiting: 0,
            vectors: MirrorFigures::default(),
        };
        let mut seen = Seen { figures: well.clone(), lost: 0 };
        let away = ClusterFigures {
            suspended: Some("no database".to_owned()),
            blobs_failure: Some("no bodies".to_owned()),
            ..well.clone()
        };
        assert_eq!(seen.look(away.clone()), None);
        assert_eq!(seen.look(well), None);
        let over = ClusterFigures { is_over: true, ..away };
        assert_eq!(seen.look(over).as_deref(), Some("no database"));
    }
}

//! [`Control`]: requests to a running standby, as files in its data directory.
//!
//! The right to write there is the right to promote. A request is `promote`, written at once, and its
//! answer `promote.answer`.

use std::fmt;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use liteio_identity::random_id;
use liteio_store::{DirectoryUse, Role, Store};
use serde::{Deserialize, Serialize};

use super::CommandError;
use crate::cli::PromoteArgs;
use crate::output::say;

/// Time in which a standby takes a request: it may be applying a long segment.
const TAKEN: Duration = Duration::from_secs(30);
/// Time in which it answers: the fence of the primary, and the rest of its backup.
const ANSWERED: Duration = Duration::from_secs(2 * 60 * 60);
/// Time after which the command tells what it waits for.
const SOON: Duration = Duration::from_secs(1);
/// Pause between two looks.
const PAUSE: Duration = Duration::from_millis(20);

/// A request to promote.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Request {
    /// Of the request, so that its answer is not taken for another's.
    id: String,
    pub(super) primary_is_dead: bool,
}

/// The answer of a standby.
#[derive(Debug, Serialize, Deserialize)]
struct Answer {
    id: String,
    /// The reason for which it was not promoted.
    error: Option<String>,
}

/// The requests of a data directory.
#[derive(Clone, Debug)]
pub(super) struct Control(PathBuf);

impl Control {
    pub(super) fn of(directory: &Path) -> Control {
        Control(directory.to_owned())
    }

    /// `true` if there is a request.
    pub(super) fn is_asked(&self) -> bool {
        self.0.join(REQUEST).exists()
    }

    /// Takes the request, if there is one.
    pub(super) fn take(&self) -> Option<Request> {
        let path = self.0.join(REQUEST);
        let text = fs::read(&path).ok()?;
        // One that stays would be taken again.
        fs::remove_file(&path).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Answers a request.
    pub(super) fn answer(&self, request: &Request, answer: &Result<(), String>) {
        let answer = Answer { id: request.id.clone(), error: answer.clone().err() };
        if let Err(error) = write(&self.0, ANSWER, &answer) {
            tracing::error!(%error, "the answer to `liteio promote` cannot be written");
        }
    }
}

const REQUEST: &str = "promote";
const ANSWER: &str = "promote.answer";

/// Writes a file as a whole.
fn write(directory: &Path, name: &str, contents: &impl Serialize) -> io::Result<()> {
    let new = directory.join(format!("{name}.new"));
    fs::write(&new, serde_json::to_vec(contents)?)?;
    fs::rename(&new, directory.join(name))
}

/// Runs `liteio promote`.
///
/// # Errors
/// [`CommandError`], also if the standby stays one.
pub(crate) fn promote(arguments: &PromoteArgs) -> Result<bool, CommandError> {
    let PromoteArgs { directory, primary_is_dead } = arguments;
    let failed = |reason: String| CommandError::Failed(reason);
    let shown = directory.display();
    match directory.join("format").try_exists() {
        Ok(true) => {}
        Ok(false) => {
            return Err(failed(format!("{shown} is not a data directory: give the standby's")));
        }
        Err(error) => {
            return Err(failed(format!(
                "{shown}: {error}: run it as the user of the standby, or as root"
            )));
        }
    }
    let used = Store::use_of(directory);
    let used = used.map_err(|error| failed(format!("{shown}: {error}")))?;
    match used {
        DirectoryUse::Nobody => return Err(failed(nobody_on(&shown))),
        DirectoryUse::Writer(Role::Primary) => return Err(failed(primary_on(&shown))),
        DirectoryUse::Writer(Role::Standby) | DirectoryUse::Unknown => {}
    }
    let id = random_id("").map_err(|error| failed(error.to_string()))?;
    let request = Request { id, primary_is_dead: *primary_is_dead };
    let _ = fs::remove_file(directory.join(ANSWER));
    write(directory, REQUEST, &request)
        .map_err(|error| failed(format!("cannot write to {shown}: {error}")))?;
    let begun = Instant::now();
    let mut told = Told::default();
    while directory.join(REQUEST).exists() {
        if begun.elapsed() > TAKEN {
            let _ = fs::remove_file(directory.join(REQUEST));
            return Err(failed(match used {
                DirectoryUse::Writer(_) => {
                    format!("the standby on {shown} is busy: see its log, and repeat the command")
                }
                _ => nobody_on(&shown),
            }));
        }
        told.after(SOON, begun, || format!("{shown}: waiting for the standby, which is busy"));
        thread::park_timeout(PAUSE);
    }
    let mut told = Told::default();
    while begun.elapsed() < ANSWERED {
        let answer = match fs::read(directory.join(ANSWER)) {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            answer => Some(answer.map_err(|error| failed(error.to_string()))?),
        };
        let answer = answer.and_then(|text| serde_json::from_slice::<Answer>(&text).ok());
        if let Some(answer) = answer.filter(|answer| answer.id == request.id) {
            let _ = fs::remove_file(directory.join(ANSWER));
            if let Some(reason) = answer.error {
                return Err(failed(reason));
            }
            let seconds = begun.elapsed().as_secs_f64();
            say!("{shown}: promoted in {seconds:.1} seconds: this server is the primary now");
            return Ok(true);
        }
        told.after(SOON, begun, || match primary_is_dead {
            true => format!("{shown}: the standby applies the rest of the backup"),
            false => format!(
                "{shown}: waiting for the primary, which stores the rest and gives up its lease, or for the end of its \
                 fence"
            ),
        });
        thread::park_timeout(PAUSE);
    }
    Err(failed(format!("the standby on {shown} has not answered: see its log")))
}

/// A line that is printed once.
#[derive(Default)]
struct Told(bool);

impl Told {
    /// Prints the line when this time has passed since the beginning.
    fn after(&mut self, time: Duration, begun: Instant, line: impl FnOnce() -> String) {
        if !self.0 && begun.elapsed() >= time {
            self.0 = true;
            say!("{}", line());
        }
    }
}

fn nobody_on(shown: &impl fmt::Display) -> String {
    format!("no standby runs on {shown}: start `liteio standby` with it, and see its log")
}

fn primary_on(shown: &impl fmt::Display) -> String {
    format!(
        "no standby runs on {shown}, but a primary, or a server without a backup. With a backup, a primary that has lost its \
         lease is made the primary again by removing the object `lease` of the backup, and a restart"
    )
}

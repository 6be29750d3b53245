//! The users of a server: where they come from, and how they change while it runs.

mod users;

pub(crate) use self::users::{Users, Watch};

//! MinIO's admin API, as far as its client needs it to manage users and to look at the server.

mod sealed;

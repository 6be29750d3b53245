//! HTTP as LiteIO speaks it, below every service.
//!
//! Nothing here knows who sent a request or where objects are: no signature, no user, no store.
//!
//! | module | subject |
//! |---|---|
//! | [`serve`] | accepted connections, HTTP/1.1 and HTTP/2, time-outs, graceful stop |
//! | [`front`] | each request before any service: ids, limits, head checks, access log, error documents |
//! | [`origin`] | the peer, the addressed bucket and key, and the ids of a request, worked out once |
//! | [`reply`] | the one error and the one response body |
//! | [`budget`] | connections, requests and bytes that all clients share |
//! | [`connection`] | the state of one connection |
//! | [`proxy`] | the sender behind a trusted proxy, from `Forwarded` headers |
//! | [`cors`] | cross-origin rules, a pure function of rules and request |
//! | [`tls`] | certificates: read, watched, made; client and server settings of rustls |
//! | [`http_client`] | the client for requests of the server itself |
//! | [`settings`] | settings of connections, and the error of a setting |

pub mod budget;
pub mod connection;
pub mod cors;
pub mod file_stamp;
pub mod front;
pub mod http_client;
pub mod origin;
pub mod private_file;
pub mod proxy;
pub mod reply;
pub mod request_id;
pub mod serve;
pub mod settings;
pub mod tls;

pub use file_stamp::FileStamp;

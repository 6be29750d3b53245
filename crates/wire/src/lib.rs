//! HTTP of LiteIO, below every service.
//!
//! A connection is accepted, encrypted if configured, and parsed as HTTP/1.1 or HTTP/2. The front gives each
//! request its ids, checks its head, charges its body to budgets, and passes it to a handler. The handler returns a
//! reply or an error as a value; the front writes the error document and the access log line.
//!
//! ```text
//! socket ──► serve (transport: plain, TLS) ──► front ──► Handler (implemented above)
//!               │                                │
//!               └── budget, connection           └── origin, proxy, reply
//! ```
//!
//! | Module | Content |
//! |---|---|
//! | [`serve`] | Accepting, transports, connections of HTTP/1.1 (by hyper, with header names spelled as on S3) and HTTP/2 (by h2), time-outs, graceful stop |
//! | [`front`] | Ids on every response, limits, memory of a request (`allowance`), minimum speed of a client (`pace`), checks of the head, access log, error documents (XML or JSON); the traits `Handler` and `Observer` |
//! | [`origin`] | The peer, the addressed bucket and key, and the ids of a request, determined once; log lines about failures, which name them |
//! | [`record`] | The record that a request leaves, if it reached a bucket with access logs |
//! | [`request_id`] | The two ids of S3 on every response |
//! | [`reply`] | The one error (`ApiError`) and the one response body (`ReplyBody`) |
//! | [`budget`] | Connections, requests and bytes that all clients share, and the share of one address or user |
//! | [`connection`] | The state of one connection |
//! | [`proxy`] | The sender behind a trusted proxy, a pure function of headers |
//! | [`cors`] | Cross-origin rules, a pure function of rules and request |
//! | [`tls`] | Certificates with their keys: read, checked, watched, made; TLS settings of servers and clients |
//! | [`http_client`] | The client for requests that the server itself sends |
//! | [`dial`] | Connections of the server to services that do not speak HTTP |
//! | [`settings`] | Settings of connections, and the error of any setting |
//! | [`nearest`] | The known name that a mistyped one probably stands for |
//! | [`pinned`] | Futures on the heap that are built where they stay |
//! | [`file_stamp`], [`private_file`] | The state by which a changed file is detected; files that hold a secret |
//!
//! The crate must not know signatures, users, the store or services. Of `liteio_disk` it uses the clock only.
//! `front` does not know `serve`; `reply`, `budget`, `connection` and `origin` know neither of them.
//!
//! ```
//! use liteio_wire::proxy::{Network, Proxies};
//! use liteio_wire::reply::{ApiError, ErrorCode};
//!
//! // Proxies are trusted by network.
//! let network = Network::new("10.0.0.0".parse()?, 8).expect("bits after the first 8 are zero");
//! let proxies = Proxies::new(vec![network]);
//! assert!(proxies.trust("10.1.2.3".parse()?));
//! assert!(!proxies.trust("192.0.2.1".parse()?));
//!
//! // An error stays a value until the response leaves.
//! let error = ApiError::new(ErrorCode::SlowDown, "Please reduce your request rate.");
//! assert_eq!((error.code(), error.status().as_u16()), ("SlowDown", 503));
//! # Ok::<(), std::net::AddrParseError>(())
//! ```

pub mod budget;
pub mod connection;
pub mod cors;
pub mod dial;
pub mod file_stamp;
pub mod front;
pub mod http_client;
pub mod nearest;
pub mod origin;
pub mod pinned;
pub mod private_file;
pub mod proxy;
pub mod record;
pub mod reply;
pub mod request_id;
pub mod serve;
pub mod settings;
pub mod tls;

pub use file_stamp::FileStamp;

//! A receiver of webhooks.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio_rustls::TlsAcceptor;

/// Longer than anything that works takes.
const PATIENCE: Duration = Duration::from_secs(60);

/// A request that a webhook got.
#[derive(Clone, Debug)]
pub(crate) struct Post {
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Post {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("JSON")
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers[name].to_str().expect("text")
    }

    /// The name of the event and the key, or the name of a test event.
    pub(crate) fn event(&self) -> String {
        let told = self.json();
        let record = &told["Records"][0];
        match record["eventName"].as_str() {
            Some(name) => {
                format!("{name} {}", record["s3"]["object"]["key"].as_str().expect("a key"))
            }
            None => told["Event"].as_str().expect("an event").to_owned(),
        }
    }
}

/// The status and the body of an answer.
type Decide = Arc<dyn Fn(&Post) -> (u16, String) + Send + Sync>;

/// A server on a free port, which answers each request as it is told to.
pub(crate) struct Receiver {
    pub(crate) address: SocketAddr,
    posts: mpsc::UnboundedReceiver<Post>,
}

impl Receiver {
    /// One that takes everything.
    pub(crate) async fn start() -> Receiver {
        Receiver::deciding(|_| 200).await
    }

    /// One that answers what `decide` says.
    pub(crate) async fn deciding(
        decide: impl Fn(&Post) -> u16 + Send + Sync + 'static,
    ) -> Receiver {
        Receiver::answering(move |post| (decide(post), String::new())).await
    }

    /// One that answers with the status and the body that `decide` says.
    pub(crate) async fn answering(
        decide: impl Fn(&Post) -> (u16, String) + Send + Sync + 'static,
    ) -> Receiver {
        Receiver::listening(Arc::new(decide), None).await
    }

    /// One that speaks TLS.
    pub(crate) async fn secure(acceptor: TlsAcceptor) -> Receiver {
        Receiver::listening(Arc::new(|_| (200, String::new())), Some(acceptor)).await
    }

    async fn listening(decide: Decide, acceptor: Option<TlsAcceptor>) -> Receiver {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let (sender, posts) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (decide, sender) = (Arc::clone(&decide), sender.clone());
                let acceptor = acceptor.clone();
                tokio::spawn(async move {
                    match acceptor {
                        None => serve(stream, decide, sender).await,
                        Some(acceptor) => {
                            if let Ok(stream) = acceptor.accept(stream).await {
                                serve(stream, decide, sender).await;
                            }
                        }
                    }
                });
            }
        });
        Receiver { address, posts }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}/hook", self.address)
    }

    /// The next request.
    pub(crate) async fn next(&mut self) -> Post {
        let next = tokio::time::timeout(PATIENCE, self.posts.recv()).await;
        next.expect("an event comes").expect("the receiver runs")
    }

    /// The events of the next `count` requests, in the order of their sequencers.
    pub(crate) async fn events(&mut self, count: usize) -> Vec<String> {
        let mut posts = Vec::new();
        for _ in 0..count {
            posts.push(self.next().await);
        }
        posts.sort_by_key(|post| post.header("webhook-id").to_owned());
        posts.iter().map(Post::event).collect()
    }
}

async fn serve(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    decide: Decide,
    sender: mpsc::UnboundedSender<Post>,
) {
    let service = service_fn(move |request: Request<Incoming>| {
        let (decide, sender) = (Arc::clone(&decide), sender.clone());
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.expect("a whole body").to_bytes();
            let post = Post { headers: parts.headers, body };
            let (status, answer) = decide(&post);
            let status = StatusCode::from_u16(status).expect("a status");
            // Nobody listens any more at the end of a test.
            let _ = sender.send(post);
            let answer = Full::new(Bytes::from(answer));
            let response = Response::builder().status(status).body(answer);
            Ok::<_, Infallible>(response.expect("a response"))
        }
    });
    let connection = hyper::server::conn::http1::Builder::new();
    let _ = connection.serve_connection(TokioIo::new(stream), service).await;
}

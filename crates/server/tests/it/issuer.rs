//! An issuer of web identities, which also lets people sign in.

use std::collections::HashMap;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

/// The secret of the client `console`.
pub(crate) const CLIENT_SECRET: &str = "secret of the console";

/// An issuer at a free port, as long as the test runs.
pub(crate) struct Issuer {
    pub(crate) url: String,
    key: Arc<EcdsaKeyPair>,
    state: Arc<Mutex<State>>,
    holds: watch::Sender<Hold>,
}

/// Requests for tokens that wait for their answers.
#[derive(Clone, Copy, Default)]
struct Hold {
    is_on: bool,
    held: usize,
}

#[derive(Default)]
struct State {
    /// Codes that were given, and not exchanged yet.
    codes: HashMap<String, Given>,
    /// The number of codes so far.
    given: usize,
    /// Answers 503 to exchanges.
    is_down: bool,
    /// The requests for tokens: `Authorization` and the form.
    asked: Vec<(String, HashMap<String, String>)>,
}

/// A code: the query of the sign-in, and the claims of its token.
struct Given {
    query: HashMap<String, String>,
    claims: Value,
}

fn coded(bytes: impl AsRef<[u8]>) -> String {
    base64_simd::URL_SAFE_NO_PAD.encode_to_string(bytes)
}

fn fields(text: &str) -> HashMap<String, String> {
    form_urlencoded::parse(text.as_bytes()).into_owned().collect()
}

impl Issuer {
    /// Publishes its documents, and exchanges codes.
    pub(crate) async fn start() -> Issuer {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/realm", listener.local_addr().expect("bound"));
        let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING).expect("a key");
        let issuer = Issuer {
            url,
            key: Arc::new(key),
            state: Arc::default(),
            holds: watch::Sender::default(),
        };
        let (url, key, state, holds) = (
            issuer.url.clone(),
            Arc::clone(&issuer.key),
            Arc::clone(&issuer.state),
            issuer.holds.clone(),
        );
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let answering = Issuer {
                    url: url.clone(),
                    key: Arc::clone(&key),
                    state: Arc::clone(&state),
                    holds: holds.clone(),
                };
                tokio::spawn(async move { answering.answer(stream).await });
            }
        });
        issuer
    }

    /// Its URL without the scheme, as in ARNs.
    pub(crate) fn name(&self) -> &str {
        self.url.trim_start_matches("http://")
    }

    /// The same issuer under another URL, where nobody answers.
    pub(crate) fn at(self, url: &str) -> Issuer {
        Issuer { url: url.to_owned(), ..self }
    }

    /// A token with these claims in place of the usual ones.
    pub(crate) fn token(&self, changed: Value) -> String {
        let now = jiff::Timestamp::now().as_second();
        let mut claims =
            json!({"iss": self.url, "sub": "me", "aud": ["storage", "other"], "exp": now + 60});
        for (name, value) in changed.as_object().expect("claims") {
            claims[name] = value.clone();
        }
        let header = coded(json!({"alg": "ES256", "kid": "1"}).to_string());
        let signed = format!("{header}.{}", coded(claims.to_string()));
        let signature = self.key.sign(&SystemRandom::new(), signed.as_bytes()).expect("signed");
        format!("{signed}.{}", coded(signature))
    }

    /// A person signs in at the page with this address: the state and the code that the browser
    /// brings back. The token will have these claims in place of the usual ones.
    pub(crate) fn sign_in(&self, url: &str, claims: Value) -> (String, String) {
        let (page, query) = url.split_once('?').expect("a query");
        assert_eq!(page, format!("{}/authorize", self.url));
        let query = fields(query);
        assert_eq!((&*query["response_type"], &*query["client_id"]), ("code", "console"));
        assert_eq!(query["code_challenge_method"], "S256");
        assert!(query["scope"].split(' ').any(|it| it == "openid"));
        let mut state = self.state.lock();
        state.given += 1;
        let code = format!("code-{}", state.given);
        let returned = (query["state"].clone(), code.clone());
        state.codes.insert(code, Given { query, claims });
        returned
    }

    /// Fails exchanges from now on, or no longer.
    pub(crate) fn fail(&self, is_down: bool) {
        self.state.lock().is_down = is_down;
    }

    /// Lets requests for tokens wait for their answers from now on, or no longer.
    pub(crate) fn hold(&self, holds: bool) {
        self.holds.send_modify(|it| it.is_on = holds);
    }

    /// Waits until so many requests for tokens wait for their answers.
    pub(crate) async fn held(&self, count: usize) {
        let mut holds = self.holds.subscribe();
        holds.wait_for(|it| it.held >= count).await.expect("the issuer goes on");
    }

    /// The requests for tokens so far.
    pub(crate) fn asked(&self) -> Vec<(String, HashMap<String, String>)> {
        self.state.lock().asked.clone()
    }

    async fn answer(&self, mut stream: TcpStream) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read_u8().await {
                Ok(byte) => head.push(byte),
                Err(_) => return,
            }
        }
        let head = String::from_utf8(head).expect("text");
        let header = |name: &str| {
            let named = |line: &str| {
                let (key, value) = line.split_once(": ")?;
                key.eq_ignore_ascii_case(name).then(|| value.to_owned())
            };
            head.lines().find_map(named).unwrap_or_default()
        };
        let mut body = vec![0; header("content-length").parse().unwrap_or(0)];
        stream.read_exact(&mut body).await.expect("a body");
        let (status, answer) = match head.split(' ').nth(1).expect("a path") {
            "/realm/keys" => (200, self.keys()),
            "/realm/token" => {
                let form = fields(std::str::from_utf8(&body).expect("text"));
                let answer = self.exchange(header("authorization"), form);
                let mut holds = self.holds.subscribe();
                self.holds.send_modify(|it| it.held += 1);
                holds.wait_for(|it| !it.is_on).await.expect("the issuer goes on");
                answer
            }
            _ => {
                let at = |path: &str| format!("{}/{path}", self.url);
                let discovery = json!({
                    "issuer": self.url, "jwks_uri": at("keys"), "token_endpoint": at("token"),
                    "authorization_endpoint": at("authorize"),
                });
                (200, discovery)
            }
        };
        let answer = answer.to_string();
        let answer = format!(
            "HTTP/1.1 {status} Answer\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{answer}",
            answer.len()
        );
        let _ = stream.write_all(answer.as_bytes()).await;
    }

    fn keys(&self) -> Value {
        let point = self.key.public_key().as_ref();
        let (x, y) = (coded(&point[1..33]), coded(&point[33..]));
        json!({"keys": [{"kty": "EC", "crv": "P-256", "kid": "1", "x": x, "y": y}]})
    }

    /// Exchanges a code once, for whom it was given.
    fn exchange(&self, authorization: String, form: HashMap<String, String>) -> (u16, Value) {
        let mut state = self.state.lock();
        state.asked.push((authorization.clone(), form.clone()));
        if state.is_down {
            return (503, json!("down"));
        }
        let pair = base64_simd::STANDARD.encode_to_string("console:secret+of+the+console");
        if authorization != format!("Basic {pair}") {
            return (401, json!({"error": "invalid_client"}));
        }
        let given = state.codes.remove(&form["code"]).filter(|given| {
            let challenge = coded(digest(&SHA256, form["code_verifier"].as_bytes()));
            form["grant_type"] == "authorization_code"
                && given.query["code_challenge"] == challenge
                && given.query["redirect_uri"] == form["redirect_uri"]
                && given.query["client_id"] == form["client_id"]
        });
        let Some(given) = given else { return (400, json!({"error": "invalid_grant"})) };
        let mut claims = json!({"nonce": given.query["nonce"], "aud": "console"});
        for (name, value) in given.claims.as_object().expect("claims") {
            claims[name] = value.clone();
        }
        (200, json!({"access_token": "none", "id_token": self.token(claims)}))
    }
}

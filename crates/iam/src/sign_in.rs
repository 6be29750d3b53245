//! Sign-in to the console by OpenID Connect: the authorization code flow with PKCE, state and
//! nonce.
//!
//! ```text
//! page ── begin ──► server      makes state, nonce and verifier, seals them into the flow
//!      ◄── flow, address of the issuer's page
//! page ── leaves for the issuer, keeps the flow ──► issuer
//!      ◄── code, state ──────────────────────────── issuer
//! page ── finish: flow, code, state ──► server ── code, verifier, secret ──► issuer
//!                                              ◄── ID token ──────────────── issuer
//!      ◄── keys of a role that trusts the token
//! ```
//!
//! The server keeps nothing for a flow that has begun, since anybody may begin one: the flow is
//! sealed like a session token, and the page keeps it. A state that has come back is remembered
//! until its flow has expired, so that it does not count twice.

use std::collections::VecDeque;
use std::sync::Arc;

use aws_lc_rs::digest::{SHA256, digest};
use form_urlencoded::Serializer;
use http::StatusCode;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::error::{self, ApiError, ApiResult};
use super::exchanges::Exchanges;
use super::jwt::Token;
use super::published::Endpoints;
use super::settings::SignInSettings;
use super::sts::{self, trusted_role};
use super::users::Users;
use super::web_identity::{WebIdentities, WebIdentity};
use crate::Circumstances;
use liteio_identity::{Directory, Issuer, SESSION_SECONDS_MAX, Session};
use liteio_store::{RandomSource as _, StoreError, SystemRandom};
use liteio_wire::origin::{Peer, log_failure};

/// The purpose for which flows are sealed.
const PURPOSE: &str = "console sign-in";
/// Time for the pages of the issuer: passwords, second factors, consent.
const FLOW_SECONDS_MAX: i64 = 600;
/// Number of remembered states, so that nobody fills the memory. An older one is forgotten; the
/// issuer still refuses its code.
const STATES_MAX: usize = 4096;
/// Maximum bytes of a code or a state.
const TEXT_BYTES_MAX: usize = 4096;
/// Lifetime of a session, if the role does not end it earlier; as of other sessions of the console.
const SESSION_SECONDS: u32 = 8 * 3600;
const _: () = assert!(SESSION_SECONDS <= SESSION_SECONDS_MAX);
/// Difference of clocks from which a refused token is blamed on them.
const SKEW_SECONDS: i64 = 60;
/// Number of roles that are tried for one token.
const ROLES_MAX: usize = 32;

/// The sign-in by an issuer.
pub struct SignIn {
    settings: SignInSettings,
    users: Arc<Users>,
    web_identities: Arc<WebIdentities>,
    exchanges: Arc<Exchanges>,
    used: Arc<UsedStates>,
}

/// States that have come back, with the ends of their flows.
#[derive(Default)]
pub(super) struct UsedStates(Mutex<VecDeque<(i64, String)>>);

impl UsedStates {
    /// Takes a state; `false` if it was taken before.
    fn take(&self, state: &str, expires: i64, now: i64) -> bool {
        let mut used = self.0.lock();
        used.retain(|(expires, _)| now < *expires);
        if used.iter().any(|(_, other)| other == state) {
            return false;
        }
        if used.len() >= STATES_MAX {
            used.pop_front();
        }
        used.push_back((expires, state.to_owned()));
        true
    }
}

/// A flow that has begun.
pub struct Begun {
    /// The issuer's page to open.
    pub url: String,
    /// The sealed flow, which the page keeps.
    pub flow: String,
}

/// The answer of the issuer, as the page received it.
pub struct Returned<'r> {
    /// The sealed flow.
    pub flow: &'r str,
    /// The code.
    pub code: &'r str,
    /// The state.
    pub state: &'r str,
    /// The issuer, if it names itself (RFC 9207).
    pub issuer: Option<&'r str>,
}

/// A person whom the issuer has proved.
pub struct SignedIn {
    /// The session of the role, without the keys.
    pub session: Session,
    /// The name for the page: email address, user name or subject.
    pub name: String,
    /// The ARN of the session.
    pub arn: String,
}

/// The contents of a flow.
#[derive(Serialize, Deserialize)]
struct Flow {
    state: String,
    nonce: String,
    verifier: String,
    /// The address of the console to which the issuer returns.
    redirect: String,
    expires: i64,
}

impl SignIn {
    pub(super) fn new(
        settings: SignInSettings,
        users: Arc<Users>,
        web_identities: Arc<WebIdentities>,
        used: Arc<UsedStates>,
        exchanges: Arc<Exchanges>,
    ) -> SignIn {
        SignIn { settings, users, web_identities, exchanges, used }
    }

    /// The name of the issuer for the page: its host.
    pub fn issuer_name(&self) -> &str {
        let name = self.settings.issuer.split_once("://").map_or("", |(_, name)| name);
        name.split('/').next().unwrap_or_default()
    }

    /// Begins a flow that returns to `redirect`, an address of the console. An issuer returns only
    /// to addresses that it knows.
    ///
    /// # Errors
    /// A sentence for the page, if the issuer is unknown or does not answer.
    pub async fn begin(&self, redirect: &str, now: i64) -> ApiResult<Begun> {
        let directory = self.users.current().now();
        let (_, endpoints) = self.published(&directory, now).await?;
        let flow = Flow {
            state: random_text()?,
            nonce: random_text()?,
            verifier: random_text()?,
            redirect: redirect.to_owned(),
            expires: now.saturating_add(FLOW_SECONDS_MAX),
        };
        let challenge = coded(digest(&SHA256, flow.verifier.as_bytes()).as_ref());
        let query = Serializer::new(String::new())
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.settings.client_id)
            .append_pair("redirect_uri", redirect)
            .append_pair("scope", &self.settings.scope)
            .append_pair("state", &flow.state)
            .append_pair("nonce", &flow.nonce)
            .append_pair("code_challenge", &challenge)
            .append_pair("code_challenge_method", "S256")
            .finish();
        let mark = if endpoints.authorization.contains('?') { '&' } else { '?' };
        let url = format!("{}{mark}{query}", endpoints.authorization);
        let json = serde_json::to_vec(&flow).unwrap_or_default();
        let sealed = self.users.keys().seal(PURPOSE, &json, &SystemRandom).map_err(failed)?;
        Ok(Begun { url, flow: coded(&sealed) })
    }

    /// Ends a flow. The answer is for a page at `redirect`, from where it began.
    ///
    /// # Errors
    /// A sentence for the page.
    pub async fn finish(
        &self,
        returned: &Returned<'_>,
        redirect: &str,
        now: i64,
        peer: Peer,
    ) -> ApiResult<SignedIn> {
        let flow = self.flow(returned, redirect, now)?;
        let directory = self.users.current().now();
        let (issuer, endpoints) = self.published(&directory, now).await?;
        if returned.issuer.is_some_and(|it| it.trim_end_matches('/') != issuer.url) {
            return Err(refused("The answer is of another issuer. Sign in again."));
        }
        let text = {
            let permit = self.exchanges.begin(peer.address.ip()).await;
            let _permit = permit.ok_or_else(|| {
                error::idp_communication("Too many sign-ins at the same time. Sign in again.")
            })?;
            // Only now: an answer that found no place may come again.
            if !self.used.take(&flow.state, flow.expires, now) {
                return Err(refused("This answer of the issuer was used already. Sign in again."));
            }
            self.exchange(&endpoints, returned.code, &flow).await?
        };
        let identity = self.verify(&text, &directory, now).await?;
        let token = Token::parse(&text).ok_or_else(no_token)?;
        self.check(&token, &identity, &issuer, &flow)?;
        self.session(&token, &identity, &directory, now, peer)
    }

    /// The issuer, and its addresses.
    async fn published(
        &self,
        directory: &Directory,
        now: i64,
    ) -> ApiResult<(Issuer, Arc<Endpoints>)> {
        let (url, account) = (&self.settings.issuer, self.account());
        let issuer = directory.issuer(url, account).ok_or_else(|| {
            refused(format!(
                "The server takes no tokens of {url}: configure it as an issuer with the audience of the client."
            ))
        })?;
        let published = self.web_identities.published(issuer, now).await.ok_or_else(|| {
            error::idp_communication(format!(
                "The issuer {} does not answer, or not as an issuer does: the log of the server has the reason. \
                 Try again in a minute, or sign in with keys.",
                self.issuer_name()
            ))
        })?;
        let endpoints = published.endpoints.clone().ok_or_else(|| {
            error::idp_communication(format!(
                "The issuer {} names no addresses for signing in.",
                self.issuer_name()
            ))
        })?;
        Ok((issuer.clone(), endpoints))
    }

    /// The account of the role; empty while only a claim tells it.
    fn account(&self) -> &str {
        self.settings.role.split(':').nth(4).unwrap_or_default()
    }

    /// The flow of an answer, if it is the answer's, of this page, and still good.
    fn flow(&self, returned: &Returned<'_>, redirect: &str, now: i64) -> ApiResult<Flow> {
        let again = "This sign-in did not begin here. Sign in again.";
        let is_short = |text: &str| text.len() <= TEXT_BYTES_MAX && !text.is_empty();
        if !is_short(returned.flow) || !is_short(returned.code) || !is_short(returned.state) {
            return Err(refused(again));
        }
        let sealed = base64_simd::URL_SAFE_NO_PAD.decode_to_vec(returned.flow).ok();
        let opened = sealed.and_then(|sealed| self.users.keys().open(PURPOSE, &sealed));
        let flow = opened.and_then(|json| serde_json::from_slice::<Flow>(&json).ok());
        let flow = flow.filter(|flow| flow.state == returned.state && flow.redirect == redirect);
        let flow = flow.ok_or_else(|| refused(again))?;
        match now < flow.expires {
            true => Ok(flow),
            false => Err(refused("The sign-in took more than 10 minutes. Sign in again.")),
        }
    }

    /// Exchanges a code for the ID token.
    async fn exchange(&self, to: &Endpoints, code: &str, flow: &Flow) -> ApiResult<String> {
        let settings = &self.settings;
        let (form, authorization) = self.form(to, code, flow);
        let asked = self.web_identities.asker().post(&to.token, authorization, form);
        let (status, answer) = asked.await.map_err(|reason| {
            tracing::warn!(issuer = settings.issuer, reason, "a code could not be exchanged");
            error::idp_communication(format!(
                "The issuer {} does not answer, or not as an issuer does: the log of the server has the reason. \
                 Sign in again.",
                self.issuer_name()
            ))
        })?;
        if status != StatusCode::OK {
            return Err(self.not_exchanged(status, &answer));
        }
        answer.get("id_token").and_then(Value::as_str).map(str::to_owned).ok_or_else(no_token)
    }

    /// The request for the token of a code: its form, and its `Authorization`.
    fn form(&self, to: &Endpoints, code: &str, flow: &Flow) -> (String, Option<String>) {
        let settings = &self.settings;
        let mut form = Serializer::new(String::new());
        form.append_pair("grant_type", "authorization_code")
            .append_pair("code", code)
            .append_pair("redirect_uri", &flow.redirect)
            .append_pair("client_id", &settings.client_id)
            .append_pair("code_verifier", &flow.verifier);
        let mut authorization = None;
        match &settings.client_secret {
            Some(secret) if to.takes_basic => {
                // RFC 6749, section 2.3.1: both are encoded as in forms.
                let encoded =
                    |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect();
                let (id, secret): (String, String) =
                    (encoded(&settings.client_id), encoded(secret.expose()));
                let pair = base64_simd::STANDARD.encode_to_string(format!("{id}:{secret}"));
                authorization = Some(format!("Basic {pair}"));
            }
            Some(secret) => drop(form.append_pair("client_secret", secret.expose())),
            None => {}
        }
        (form.finish(), authorization)
    }

    /// The error for a code that the issuer does not exchange.
    fn not_exchanged(&self, status: StatusCode, answer: &Value) -> ApiError {
        let text = |name: &str| answer.get(name).and_then(Value::as_str).unwrap_or_default();
        let (code, description) = (text("error"), text("error_description"));
        tracing::warn!(issuer = self.settings.issuer, %status, code, description, "a code was refused");
        refused(match code {
            "invalid_grant" => {
                "The issuer refuses the code: it was used already, or it has expired. Sign in again."
                    .to_owned()
            }
            "invalid_client" | "unauthorized_client" => format!(
                "The issuer {} refuses this server: its client id or its client secret is wrong.",
                self.issuer_name()
            ),
            _ => format!(
                "The issuer {} refuses the sign-in: the log of the server has the reason.",
                self.issuer_name()
            ),
        })
    }

    /// The verified identity of a token.
    async fn verify(&self, text: &str, directory: &Directory, now: i64) -> ApiResult<WebIdentity> {
        let verified = self.web_identities.verify(text, directory, self.account(), now).await;
        verified.map_err(|refusal| {
            let token = Token::parse(text);
            let time = |name: &str| token.as_ref().and_then(|token| token.time(name));
            // An issuer gives a token at the moment of the sign-in.
            let is_old = time("exp").is_some_and(|end| now >= end);
            let is_early = time("iat").is_some_and(|it| it > now + SKEW_SECONDS)
                || time("nbf").is_some_and(|it| it > now + SKEW_SECONDS);
            match (is_old || is_early, refusal.message()) {
                (true, _) => clocks_differ(),
                (false, "Incorrect token audience") => refused(format!(
                    "The server takes no tokens for the client {}: add it to the audiences of the issuer.",
                    self.settings.client_id
                )),
                _ => refusal,
            }
        })
    }

    /// Checks the claims of a sign-in, beyond those of every web identity (OpenID Connect Core 1.0,
    /// section 3.1.3.7).
    fn check(
        &self,
        token: &Token<'_>,
        identity: &WebIdentity,
        issuer: &Issuer,
        flow: &Flow,
    ) -> ApiResult<()> {
        if identity.issuer.url != issuer.url {
            return Err(refused("The token is of another issuer. Sign in again."));
        }
        if token.text("nonce") != Some(&flow.nonce) {
            return Err(refused(
                "The token of the issuer does not belong to this sign-in (nonce). Sign in again.",
            ));
        }
        let client = &self.settings.client_id;
        let is_meant = token.texts("aud").contains(client)
            && token.text("azp").is_none_or(|party| party == client);
        match is_meant {
            true => Ok(()),
            false => Err(refused("The token of the issuer is for another client.")),
        }
    }

    /// The session of the first role that trusts the token.
    fn session(
        &self,
        token: &Token<'_>,
        identity: &WebIdentity,
        directory: &Directory,
        now: i64,
        peer: Peer,
    ) -> ApiResult<SignedIn> {
        if token.time("iat").is_some_and(|it| it > now + SKEW_SECONDS) {
            return Err(clocks_differ());
        }
        let named = ["email", "preferred_username", "name", "sub"];
        let name = named.iter().find_map(|claim| token.text(claim).filter(|it| !it.is_empty()));
        let name: String = name.unwrap_or_default().chars().take(200).collect();
        let session_name = session_name(&identity.subject);
        let roles = self.roles(token);
        let issuer = self.issuer_name();
        if roles.is_empty() {
            return Err(refused(format!(
                "{name} is signed in at {issuer}, but the token names no role of this server ({}).",
                self.settings.role
            )));
        }
        let trusting = roles.iter().find_map(|arn| {
            let more = Vec::new();
            let mut context = Circumstances { sender: None, peer, user_agent: None, now, more };
            trusted_role(directory, identity, arn, &session_name, &mut context).ok()
        });
        let Some((role, provider)) = trusting else {
            return Err(refused(format!(
                "{name} is signed in at {issuer}, but no role of this server lets them in. Ask an administrator for one."
            )));
        };
        if role.policies.is_empty() {
            return Err(refused(format!(
                "{name} is signed in at {issuer}, but the role {} has no policy, so it may do nothing.",
                role.name
            )));
        }
        let seconds = role.session_seconds_max.min(SESSION_SECONDS);
        let mut session = Session::new(&role.unique_id, now, seconds);
        session.name = Some(session_name.clone());
        session.provider = Some(provider);
        Ok(SignedIn { session, name, arn: sts::session_arn(role, &session_name) })
    }

    /// The ARNs of the roles that a token may assume, in the order of the claim.
    fn roles(&self, token: &Token<'_>) -> Vec<String> {
        let role = &self.settings.role;
        let Some((before, rest)) = role.split_once('{') else { return vec![role.clone()] };
        let Some((claim, after)) = rest.split_once('}') else { return Vec::new() };
        let values = token.texts(claim).into_iter().take(ROLES_MAX);
        values.map(|value| format!("{before}{value}{after}")).collect()
    }
}

/// The name of a role session: the subject, which alone is unique. A policy may contain it as part
/// of `aws:userid`, so two subjects never have the same name.
fn session_name(subject: &str) -> String {
    let is_of_word = |it: char| it.is_ascii_alphanumeric() || "_+=,.@-".contains(it);
    if (2..=sts::NAME_CHARACTERS_MAX).contains(&subject.len())
        && subject.chars().all(is_of_word)
        && !subject.contains('=')
    {
        return subject.to_owned();
    }
    let plain: String =
        subject.chars().filter(|it| is_of_word(*it) && *it != '=').take(20).collect();
    // Contains a sign that no plain name has.
    let sum = coded(digest(&SHA256, subject.as_bytes()).as_ref());
    format!("{plain}={}", &sum[..40])
}

fn coded(bytes: &[u8]) -> String {
    base64_simd::URL_SAFE_NO_PAD.encode_to_string(bytes)
}

fn random_text() -> ApiResult<String> {
    let mut bytes = [0; 32];
    SystemRandom.fill(&mut bytes).map_err(|error| failed(error.into()))?;
    Ok(coded(&bytes))
}

fn failed(error_of_store: StoreError) -> ApiError {
    log_failure("no sign-in could be begun", &error_of_store);
    error::of_store(&error_of_store)
}

fn refused(message: impl Into<String>) -> ApiError {
    error::access_denied(message)
}

fn no_token() -> ApiError {
    error::idp_communication("The issuer's answer has no valid ID token.")
}

fn clocks_differ() -> ApiError {
    refused(
        "The token of the issuer is not valid at this time: the clocks of the server and of the issuer differ. \
         Compare them, then sign in again.",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_counts_once_until_its_flow_has_ended() {
        let used = UsedStates::default();
        assert!(used.take("a", 10, 0) && !used.take("a", 10, 9) && used.take("b", 12, 9));
        // Nobody asks for it any more: the flow has expired.
        assert!(used.take("a", 20, 10));
        for number in 0..STATES_MAX {
            assert!(used.take(&number.to_string(), 20, 10));
        }
        assert_eq!(used.0.lock().len(), STATES_MAX);
    }

    #[test]
    fn names_of_sessions_are_as_different_as_subjects() {
        assert_eq!(session_name("alice@example.com"), "alice@example.com");
        let rows =
            ["auth0|alice", "auth0 alice", "auth0alice", "a", "ä", "a=b", &"x".repeat(65), ""];
        let names: std::collections::BTreeSet<_> = rows.iter().map(|it| session_name(it)).collect();
        assert_eq!(names.len(), rows.len());
        let is_of_word = |it: char| it.is_ascii_alphanumeric() || "_+=,.@-".contains(it);
        assert!(names.iter().all(|it| (2..=64).contains(&it.len()) && it.chars().all(is_of_word)));
    }
}

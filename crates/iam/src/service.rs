//! The services IAM and STS: from an HTTP request to its answer.

use std::sync::Arc;

use http::header::{CONTENT_TYPE, USER_AGENT};
use http::request::Parts;
use http::{Method, Request};

use super::call::Call;
use super::error::{self, ApiError, ApiResult, for_sts, refusal};
use super::exchanges::Exchanges;
use super::form::Form;
use super::operations;
use super::permission::Circumstances;
use super::settings::SignInSettings;
use super::sign_in::{SignIn, UsedStates};
use super::state::Draft;
use super::sts::{self, Asked};
use super::users::Users;
use super::web_identity::WebIdentities;
use super::xml::{Xml, response};
use liteio_access::state::App;
use liteio_auth::{AuthBody, CollectError, Identity, collect};
use liteio_identity::{AccessKey, KeyError, TokenError};
use liteio_policy::CallerKind;
use liteio_wire::origin::Origin;
use liteio_wire::reply::Reply;

/// Maximum bytes of a request body: policy documents take about 20 KiB when they are encoded.
const BODY_BYTES_MAX: usize = 256 << 10;

const IAM_VERSION: &str = "2010-05-08";
const STS_VERSION: &str = "2011-06-15";
const IAM_NAMESPACE: &str = "https://iam.amazonaws.com/doc/2010-05-08/";
const STS_NAMESPACE: &str = "https://sts.amazonaws.com/doc/2011-06-15/";

/// The service of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Api {
    /// Identity and Access Management.
    Iam,
    /// Security Token Service.
    Sts,
}

/// The services.
pub struct Iam {
    app: Arc<App>,
    users: Arc<Users>,
    web_identities: Arc<WebIdentities>,
    states: Arc<UsedStates>,
    exchanges: Arc<Exchanges>,
    /// Signatures are not checked: all credentials are taken.
    is_open: bool,
}

/// `true` for an unsigned STS request, which a web identity authenticates.
pub fn is_web_identity(head: &Parts) -> bool {
    if head.uri.path() != "/" || head.headers.contains_key(http::header::AUTHORIZATION) {
        return false;
    }
    if head.method == Method::GET {
        let query = head.uri.query().unwrap_or_default().as_bytes();
        let mut fields = form_urlencoded::parse(query);
        return fields.any(|field| field == ("Action".into(), "AssumeRoleWithWebIdentity".into()));
    }
    let content_type = head.headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let essence = content_type.and_then(|it| it.split(';').next()).unwrap_or_default();
    head.method == Method::POST
        && essence.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

impl Iam {
    /// The services for these users; `is_open` if signatures are not checked.
    pub fn new(app: Arc<App>, users: Arc<Users>, is_open: bool) -> Iam {
        let web_identities = Arc::new(WebIdentities::new(users.ca_file().map(Into::into)));
        let (states, exchanges) = (Arc::default(), Arc::new(Exchanges::new()));
        Iam { app, users, web_identities, states, exchanges, is_open }
    }

    /// The sign-in to the console by an issuer.
    pub fn sign_in(&self, settings: SignInSettings) -> SignIn {
        let (users, web_identities) = (Arc::clone(&self.users), Arc::clone(&self.web_identities));
        let (states, exchanges) = (Arc::clone(&self.states), Arc::clone(&self.exchanges));
        SignIn::new(settings, users, web_identities, states, exchanges)
    }

    /// Answers a request.
    pub async fn call(&self, api: Api, request: Request<AuthBody>, origin: &Origin) -> Reply {
        let (head, body) = request.into_parts();
        let answered = self.answer(api, &head, body, origin).await;
        let (action, xml) = answered.map_err(|error| match api {
            Api::Iam => error,
            Api::Sts => for_sts(&error),
        })?;
        let namespace = match api {
            Api::Iam => IAM_NAMESPACE,
            Api::Sts => STS_NAMESPACE,
        };
        Ok(response(namespace, &action, xml, origin.ids.request_id()))
    }

    async fn answer(
        &self,
        api: Api,
        head: &Parts,
        body: AuthBody,
        origin: &Origin,
    ) -> ApiResult<(String, Option<Xml>)> {
        let form = match head.method {
            Method::POST => {
                let bytes = collect(body, BODY_BYTES_MAX).await.map_err(|error| match error {
                    CollectError::TooLarge => error::malformed_query("The request is too long."),
                    CollectError::Body(error) => refusal(&error),
                })?;
                Form::parse(&bytes)?
            }
            _ => Form::parse(head.uri.query().unwrap_or_default().as_bytes())?,
        };
        let action = form.text("Action").ok_or_else(error::missing_action)?;
        let version = form.text("Version").unwrap_or("NO_VERSION_SPECIFIED");
        let expected = match api {
            Api::Iam => IAM_VERSION,
            Api::Sts => STS_VERSION,
        };
        let key = head.extensions.get().and_then(Identity::key);
        if key.is_none() && version == IAM_VERSION {
            return Err(missing_token());
        }
        if version != expected {
            return Err(error::invalid_action(action, version));
        }
        let context = Circumstances {
            sender: None,
            peer: origin.peer,
            user_agent: head.headers.get(USER_AGENT).and_then(|it| it.to_str().ok()),
            now: self.app.now_unix_seconds(),
            more: Vec::new(),
        };
        let xml = match (api, key) {
            (Api::Iam, Some(key)) => self.iam(action, &form, key, context, origin).await?,
            (Api::Sts, key) => {
                let operation = sts::STS_OPERATIONS.into_iter().find(|name| *name == action);
                if let Some(operation) = operation {
                    origin.found.note_operation(operation);
                }
                let key = key.map(|key| self.again(key, &context)).transpose()?;
                let user = key.as_ref().map(|key| &*key.user);
                let directory = self.users.current();
                let context = Circumstances { sender: user, ..context };
                let mut asked = Asked { form: &form, directory, context, found: &origin.found };
                Some(match &key {
                    _ if action == "AssumeRoleWithWebIdentity" => {
                        sts::assume_role_with_web_identity(&mut asked, &self.web_identities).await?
                    }
                    Some(key) if self.is_open && action == "AssumeRole" => {
                        sts::assume_any_role(&asked, &key.user)?
                    }
                    Some(key)
                        if self.app.acts_as_minio
                            && action == "AssumeRole"
                            && !sts::names_role(&asked) =>
                    {
                        sts::assume_no_role(&asked, key)?
                    }
                    Some(key) => sts::signed(&mut asked, action, key)?,
                    None => return Err(not_signed(&form, action)),
                })
            }
            (Api::Iam, None) => return Err(missing_token()),
        };
        Ok((action.to_owned(), xml))
    }

    /// The current state of the key that signed a head. A body may take minutes to arrive, and
    /// meanwhile the key may be removed, or the rights of its user reduced.
    fn again(&self, key: &AccessKey, context: &Circumstances<'_>) -> ApiResult<Arc<AccessKey>> {
        self.users.current().again(key, context.now).map_err(|refused| match refused {
            KeyError::Token(TokenError::Expired) => error::expired_token(),
            KeyError::Unknown | KeyError::Token(TokenError::Invalid) => error::invalid_token(),
        })
    }

    async fn iam(
        &self,
        action: &str,
        form: &Form,
        key: &AccessKey,
        context: Circumstances<'_>,
        origin: &Origin,
    ) -> ApiResult<Option<Xml>> {
        let operation = operations::find(action, IAM_VERSION)?;
        origin.found.note_operation(operation.name);
        let changing = match operation.writes {
            true => Some(self.users.changing().await),
            false => None,
        };
        let key = self.again(key, &context)?;
        let sender = &*key.user;
        let context = Circumstances { sender: Some(sender), ..context };
        // As in AWS, where keys of GetSessionToken reach IAM only with a second factor.
        let is_plain = sender.session.as_ref().is_some_and(|session| !session.is_of_console);
        if is_plain && sender.caller.kind != CallerKind::AssumedRole {
            let message = "Keys of GetSessionToken cannot call IAM: use the user's own keys.";
            return Err(error::access_denied(message));
        }
        let account = sender.account.id.clone();
        let state = self.users.state();
        let mut call = Call {
            form,
            sender,
            key: &key,
            draft: Draft::new(&account, &state.account(&account)),
            directory: self.users.current().now(),
            keys: self.users.keys(),
            now: context.now,
            context,
        };
        call.add_condition_keys(action, operation.on);
        call.check(action, &call.resource(operation.on)?)?;
        let xml = (operation.run)(&mut call)?;
        let (changes, changed) = call.draft.finish();
        if let Some(changing) = changing
            && !changes.is_empty()
        {
            let state = state.with(account, changed);
            let changed = self.users.change(&self.app.store, changing, changes, state).await;
            changed.map_err(|error| error::of_store(&error))?;
            tracing::info!(action, user = sender.name, "users were changed");
        }
        Ok(xml)
    }
}

fn missing_token() -> ApiError {
    ApiError::with_status(
        liteio_wire::reply::Dialect::Iam,
        "MissingAuthenticationToken",
        http::StatusCode::FORBIDDEN,
        "Request is missing Authentication Token",
    )
}

/// The refusal of an unsigned operation.
fn not_signed(form: &Form, action: &str) -> ApiError {
    match action {
        "GetCallerIdentity" | "GetSessionToken" | "AssumeRole" => missing_token(),
        _ => sts::unknown(form, action),
    }
}

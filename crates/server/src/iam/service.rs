//! The requests of IAM and STS.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use http::header::{CONTENT_TYPE, USER_AGENT};
use http::request::Parts;
use http::{Method, Request};

use super::call::Call;
use super::error::{self, ApiError, ApiResult, for_sts, refusal};
use super::form::Form;
use super::operations;
use super::permission::{Circumstances, check};
use super::state::Draft;
use super::sts::{self, Asked};
use super::users::Users;
use super::web_identity::WebIdentities;
use super::xml::{Xml, response};
use crate::auth::{AuthBody, CollectError, Identity, collect};
use crate::identity::User;
use crate::origin::Origin;
use crate::policy::CallerKind;
use crate::reply::Reply;
use crate::state::App;

/// The body of a request: documents of policies take some 20 KiB when they are encoded.
const BODY_BYTES_MAX: usize = 256 << 10;

const IAM_VERSION: &str = "2010-05-08";
const STS_VERSION: &str = "2011-06-15";
const IAM_NAMESPACE: &str = "https://iam.amazonaws.com/doc/2010-05-08/";
const STS_NAMESPACE: &str = "https://sts.amazonaws.com/doc/2011-06-15/";

/// The service that a request is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    Iam,
    Sts,
}

/// The services.
pub(crate) struct Iam {
    app: Arc<App>,
    users: Arc<Users>,
    web_identities: WebIdentities,
    /// One change at a time: each begins with what the last one left.
    changing: tokio::sync::Mutex<()>,
}

/// `true` for a request of STS that nobody signed, because a web identity is its proof.
pub(crate) fn is_web_identity(head: &Parts) -> bool {
    if head.uri.path() != "/" || head.headers.contains_key(http::header::AUTHORIZATION) {
        return false;
    }
    if head.method == Method::GET {
        let query = head.uri.query().unwrap_or_default();
        return query.split('&').any(|pair| pair == "Action=AssumeRoleWithWebIdentity");
    }
    let content_type = head.headers.get(CONTENT_TYPE).and_then(|it| it.to_str().ok());
    let essence = content_type.and_then(|it| it.split(';').next()).unwrap_or_default();
    head.method == Method::POST
        && essence.trim().eq_ignore_ascii_case("application/x-www-form-urlencoded")
}

impl Iam {
    /// The services over these users.
    pub(crate) fn new(app: Arc<App>, users: Arc<Users>) -> Iam {
        let web_identities = WebIdentities::new(users.ca_file().map(Into::into));
        Iam { app, users, web_identities, changing: tokio::sync::Mutex::default() }
    }

    /// Answers a request.
    pub(crate) async fn call(
        &self,
        api: Api,
        request: Request<AuthBody>,
        origin: &Origin,
    ) -> Reply {
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
        let user = head.extensions.get().and_then(Identity::user).map(|user| &**user);
        if user.is_none() && version == IAM_VERSION {
            return Err(missing_token());
        }
        if version != expected {
            return Err(error::invalid_action(action, version));
        }
        let context = Circumstances {
            sender: user,
            peer: origin.peer,
            user_agent: head.headers.get(USER_AGENT).and_then(|it| it.to_str().ok()),
            now: unix_seconds(),
            more: Vec::new(),
        };
        let xml = match (api, user) {
            (Api::Iam, Some(user)) => self.iam(action, &form, user, context, origin).await?,
            (Api::Sts, user) => {
                let directory = self.users.current();
                let mut asked = Asked { form: &form, directory, context };
                Some(match user {
                    _ if action == "AssumeRoleWithWebIdentity" => {
                        sts::assume_role_with_web_identity(&mut asked, &self.web_identities).await?
                    }
                    Some(user) => sts::signed(&mut asked, action, user)?,
                    None => return Err(not_signed(&form, action)),
                })
            }
            (Api::Iam, None) => return Err(missing_token()),
        };
        Ok((action.to_owned(), xml))
    }

    async fn iam(
        &self,
        action: &str,
        form: &Form,
        sender: &User,
        mut context: Circumstances<'_>,
        origin: &Origin,
    ) -> ApiResult<Option<Xml>> {
        let operation = operations::find(action, IAM_VERSION)?;
        origin.found.note_operation(operation.name);
        // As AWS, whose keys of GetSessionToken reach IAM with a second factor only.
        if sender.session.is_some() && sender.caller.kind != CallerKind::AssumedRole {
            let message = "Keys of GetSessionToken cannot call IAM: use those of the user.";
            return Err(error::access_denied(message));
        }
        let _changing = match operation.writes {
            true => Some(self.changing.lock().await),
            false => None,
        };
        let account = sender.account.id.clone();
        let state = self.users.state();
        let mut call = Call {
            form,
            sender,
            draft: Draft::new(&account, &state.account(&account)),
            directory: self.users.current().now(),
            keys: self.users.keys(),
            now: context.now,
        };
        if let Some(arn) = form.text("PolicyArn") {
            context.more.push(("iam:PolicyARN".to_owned(), vec![arn.to_owned()]));
        }
        let tags = form.list("Tags", "Key").into_iter().zip(form.list("Tags", "Value"));
        for (key, value) in tags {
            context.more.push((format!("aws:RequestTag/{key}"), vec![value.to_owned()]));
        }
        let resource = call.resource(operation.on)?;
        check(sender, &format!("iam:{action}"), &resource, &context)?;
        let xml = (operation.run)(&mut call)?;
        let (changes, changed) = call.draft.finish();
        if !changes.is_empty() {
            let written = self.app.store.change_identities(changes).await;
            written.map_err(|error| error::of_store(&error))?;
            self.users.replace(state.with(account, changed));
            tracing::info!(action, user = sender.name, "users were changed");
        }
        Ok(xml)
    }
}

fn unix_seconds() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_secs()).unwrap_or(i64::MAX)
}

fn missing_token() -> ApiError {
    ApiError::with_status(
        crate::reply::Dialect::Iam,
        "MissingAuthenticationToken",
        http::StatusCode::FORBIDDEN,
        "Request is missing Authentication Token",
    )
}

/// The refusal of an operation that must be signed.
fn not_signed(form: &Form, action: &str) -> ApiError {
    match action {
        "GetCallerIdentity" | "GetSessionToken" | "AssumeRole" => missing_token(),
        _ => sts::unknown(form, action),
    }
}

//! Answers to requests with an `Idempotency-Key`: the operation's, or the one that was given before.

use http::StatusCode;
use liteio_access::Granted;
use liteio_iceberg::{Identifier, Namespace};
use liteio_store::StoreError;
use liteio_store::tables::CatalogError;
use liteio_wire::reply::ApiError;
use serde_json::json;

use super::error::{ApiResult, Exception, exception};
use super::namespace::stored;
use super::once::{self, Once};
use super::{Answer, Call, Output, table, view};

/// Runs the operation of a request, unless it was answered before.
pub(crate) fn answer(call: &Call<'_>) -> Answer {
    let answered = (call.route.operation.handler)(call);
    let Some(once) = &call.once else { return answered };
    let exception = match answered {
        Ok(output) => return Ok(output),
        Err(exception) => exception,
    };
    let Some(granted) = once.take_permission() else {
        return match exception.is_forbidden() && call.is_done(once)? {
            // The right was one on the table that this very request has dropped or renamed.
            true => Ok(Output::Empty),
            // Without permission there is no answer to give or to keep.
            false => Err(exception),
        };
    };
    if exception.is_answered() {
        return call.given_before(once, &granted);
    }
    let is_final = exception.is_final();
    let error = ApiError::from(exception);
    if is_final {
        let message: String = error.message().chars().take(2000).collect();
        let status = error.status().as_u16();
        let outcome = json!({ "status": status, "type": error.code(), "message": message });
        // Without a note the next attempt may find another reason, and changes nothing twice.
        let noted = call.store.note_answer(once.answer(&outcome)?).wait();
        if matches!(noted, Err(StoreError::Catalog(CatalogError::Answered))) {
            // The same request on another connection was executed meanwhile, which may be the reason for the refusal.
            return call.given_before(once, &granted);
        }
    }
    Err(Exception::from(error))
}

impl Call<'_> {
    /// The answer that this request has been given, before or meanwhile on another connection.
    fn given_before(&self, once: &Once, granted: &Granted) -> Answer {
        match self.store.answer_of(once.key)? {
            None => Err(Exception::state_unknown(
                "The answer to the request has just expired: look whether it was executed.",
            )),
            Some(before) if before.request != once.request => Err(Exception::unprocessable(
                "The Idempotency-Key was used for another request: use a new one for each.",
            )),
            Some(before) => self.again(granted, &before.answer),
        }
    }

    /// `true` if this very request was executed, and its answer is empty.
    fn is_done(&self, once: &Once) -> ApiResult<bool> {
        let before = self.store.answer_of(once.key)?;
        Ok(before.is_some_and(|it| {
            it.request == once.request && it.answer == once::empty().to_string().into_bytes()
        }))
    }

    /// The answer that was given before.
    fn again(&self, granted: &Granted, answer: &[u8]) -> Answer {
        let unreadable = || Exception::validation("The earlier answer cannot be read.");
        let outcome = liteio_iceberg::json::parse(answer).map_err(|_| unreadable())?;
        if let (Some(status), Some(name)) = (outcome["status"].as_u64(), outcome["type"].as_str()) {
            let status = u16::try_from(status).ok().and_then(|it| StatusCode::from_u16(it).ok());
            let message = outcome["message"].as_str().unwrap_or_default();
            return Err(exception(name.to_owned(), status.ok_or_else(unreadable)?, message));
        }
        if let Some(document) = outcome.get("document") {
            return Output::json(document);
        }
        let Some(namespace) = outcome.get("namespace") else { return Ok(Output::Empty) };
        let namespace = Namespace::from_value(namespace).map_err(|_| unreadable())?;
        let (Some(name), Some(location)) = (outcome["name"].as_str(), outcome["location"].as_str())
        else {
            let found = self.store.namespace(granted.bucket(), &stored(&namespace)?)?;
            let namespace = namespace.to_value();
            return Output::json(
                &json!({ "namespace": namespace, "properties": found.properties }),
            );
        };
        let name = Identifier::new(namespace, name).map_err(|_| unreadable())?;
        match self.route.operation.name {
            "CommitTable" => table::committed_at(self, granted, location),
            "CreateTable" | "RegisterTable" => table::loaded_at(self, granted, &name, location),
            _ => view::loaded_at(self, granted, location),
        }
    }
}

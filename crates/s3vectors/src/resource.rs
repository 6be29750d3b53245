//! Resolves the vector bucket or index that a request names, and authorizes the request on it.

use liteio_store::StoreError;
use liteio_store::vectors::{Index, VectorBucket, VectorName};

use super::Call;
use super::arn;
use super::context::Asked;
use super::error::{ApiResult, Exception};
use super::fields::Fields;
use liteio_access::{Action, Granted, GrantedAccount, Named, Refusal, VectorQuestion};

impl Call {
    /// Authorizes the operation on the account.
    pub(super) fn account(&self) -> ApiResult<GrantedAccount> {
        let asked = Asked::plain(&self.sent);
        let granted = self.buckets.account(&self.question(&[self.action], &asked));
        granted.map_err(|refusal| self.refused(refusal))
    }

    /// Authorizes the creation of the vector bucket with this name.
    pub(super) fn new_bucket(
        &self,
        name: &VectorName,
        asked: &Asked<'_>,
    ) -> ApiResult<GrantedAccount> {
        self.note(name, None);
        let granted = self.buckets.new_bucket(&self.question(self.creation(asked), asked), name);
        granted.map_err(|refusal| self.refused(refusal))
    }

    /// Authorizes the operation on the vector bucket with this name.
    pub(super) fn named_bucket(
        &self,
        name: &VectorName,
        asked: &Asked<'_>,
    ) -> ApiResult<Granted<Named<VectorBucket>>> {
        self.note(name, None);
        let actions = [self.action];
        let question = self.question(&actions, asked);
        let granted = self.buckets.bucket(&self.app.store, &question, name);
        granted.map_err(|refusal| self.refused(refusal))
    }

    /// Authorizes the operation, and an optional additional action, on an index of a vector bucket.
    pub(super) fn named_index(
        &self,
        (bucket, name): (&VectorName, &VectorName),
        also: Option<Action>,
        asked: &Asked<'_>,
    ) -> ApiResult<Granted<Named<Index>>> {
        self.note(bucket, Some(name));
        let actions = [self.action, also.unwrap_or(self.action)];
        let actions = &actions[..1 + usize::from(also.is_some())];
        let question = self.question(actions, asked);
        let granted = self.buckets.index(&self.app.store, &question, bucket, name);
        granted.map_err(|refusal| match refusal {
            // The index that the request names is the one that is missing.
            Refusal::Store(StoreError::NoSuchVectorBucket { bucket }) => {
                Exception::no_bucket_of_index(&bucket)
            }
            refusal => self.refused(refusal),
        })
    }

    /// Authorizes creating an index with this name in the request's vector bucket.
    pub(super) fn bucket_of_new_index(
        &self,
        fields: &mut Fields,
        index: &VectorName,
        asked: &Asked<'_>,
    ) -> ApiResult<Granted<Named<VectorBucket>>> {
        let name = bucket_name(fields)?;
        self.note(&name, Some(index));
        let question = self.question(self.creation(asked), asked);
        let granted = self.buckets.new_index(&self.app.store, &question, &name, index);
        granted.map_err(|refusal| self.refused(refusal))
    }

    /// Finds and authorizes the vector bucket in `vectorBucketName` or `vectorBucketArn`.
    pub(super) fn bucket(&self, fields: &mut Fields) -> ApiResult<Granted<Named<VectorBucket>>> {
        self.named_bucket(&bucket_name(fields)?, &Asked::plain(&self.sent))
    }

    /// Finds and authorizes the index in `vectorBucketName` and `indexName`, or in `indexArn`.
    pub(super) fn index(&self, fields: &mut Fields) -> ApiResult<Granted<Named<Index>>> {
        self.index_for(fields, None)
    }

    /// Like `index`, with an optional additional action.
    pub(super) fn index_for(
        &self,
        fields: &mut Fields,
        also: Option<Action>,
    ) -> ApiResult<Granted<Named<Index>>> {
        let (bucket, name) = index_names(fields)?;
        self.named_index((&bucket, &name), also, &Asked::plain(&self.sent))
    }

    /// The actions of a create request: two if it sets tags.
    fn creation(&self, asked: &Asked<'_>) -> &'static [Action] {
        match (self.action, asked.tags.is_empty()) {
            (Action::CreateIndex, true) => &[Action::CreateIndex],
            (Action::CreateIndex, false) => &[Action::CreateIndex, Action::TagResource],
            (_, true) => &[Action::CreateVectorBucket],
            (_, false) => &[Action::CreateVectorBucket, Action::TagResource],
        }
    }

    /// Notes the names that a request was sent with. Operations take their other fields first, and one that is refused for
    /// such a field is found by its names, too.
    pub(super) fn note_sent(&self, fields: &Fields) {
        let sent = |field: &str| fields.peek(field).map(str::to_owned);
        if let Some((bucket, index)) = sent("indexArn").and_then(|arn| arn::index(&arn).ok()) {
            return self.note(&bucket, Some(&index));
        }
        let bucket = sent("vectorBucketName").and_then(|name| VectorName::bucket(name).ok());
        let of_arn = || sent("vectorBucketArn").and_then(|arn| arn::bucket(&arn).ok());
        if let Some(bucket) = bucket.or_else(of_arn) {
            let index = sent("indexName").and_then(|name| VectorName::index(name).ok());
            self.note(&bucket, index.as_ref());
        }
    }

    /// Notes the names for the log.
    fn note(&self, bucket: &VectorName, index: Option<&VectorName>) {
        if let Some(origin) = &self.sent.origin {
            origin.found.note_vectors(bucket.as_str(), index.map(VectorName::as_str));
        }
    }

    fn question<'q>(&'q self, actions: &'q [Action], asked: &'q Asked<'q>) -> VectorQuestion<'q> {
        let found = self.sent.origin.as_deref().map(|origin| &origin.found);
        VectorQuestion { principal: &self.principal, actions, context: asked, found }
    }

    /// The error for a refused request. The reason goes to the log, not to the client.
    fn refused(&self, refusal: Refusal) -> Exception {
        match refusal {
            Refusal::Denied(denial) => {
                if let Some(origin) = &self.sent.origin {
                    origin.found.note_denial(denial.by(), || denial.to_string());
                }
                Exception::access_denied(denial.message())
            }
            Refusal::AnonymousOverride => Exception::access_denied("Access Denied"),
            Refusal::Store(error) => error.into(),
        }
    }
}

/// The name of the vector bucket in `vectorBucketName` or `vectorBucketArn`.
fn bucket_name(fields: &mut Fields) -> ApiResult<VectorName> {
    let name = fields.string("vectorBucketName")?;
    let arn = fields.string("vectorBucketArn")?;
    match (name, arn) {
        (Some(name), None) => Ok(VectorName::bucket(name)?),
        (None, Some(arn)) => arn::bucket(&arn),
        _ => Err(Exception::invalid(
            "Must specify either vectorBucketName or vectorBucketArn but not both",
        )),
    }
}

/// The names in `vectorBucketName` and `indexName`, or in `indexArn`.
fn index_names(fields: &mut Fields) -> ApiResult<(VectorName, VectorName)> {
    let bucket = fields.string("vectorBucketName")?;
    let name = fields.string("indexName")?;
    let arn = fields.string("indexArn")?;
    match (bucket, name, arn) {
        (Some(bucket), Some(name), None) => {
            Ok((VectorName::bucket(bucket)?, VectorName::index(name)?))
        }
        (None, None, Some(arn)) => arn::index(&arn),
        _ => Err(Exception::invalid(
            "Must specify either indexArn or both vectorBucketName and indexName",
        )),
    }
}

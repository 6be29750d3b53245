//! [`Faulty`]: a bucket in memory that fails on demand.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::ops::Range;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream::BoxStream;
use object_store::memory::InMemory;
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult, MultipartId,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result,
};
use parking_lot::Mutex;

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Call {
    Put,
    Get,
    List,
    Delete,
    Create,
    Part,
    Complete,
    Abort,
}

/// The fate of a request.
#[derive(Clone, Debug)]
pub(super) enum Fault {
    /// It is refused without an effect.
    Refused,
    /// It has its effect, and its answer is lost.
    AnswerLost,
    /// It is never answered, and has no effect.
    Silent,
    /// The credentials are refused.
    Denied,
    /// The answer to a GET ends after so many bytes.
    Cut(usize),
    /// The answer to a GET stops after so many bytes, without an end.
    Stalls(usize),
    /// A bit of the byte at this place of the object is flipped in the answer to a GET.
    Flipped(u64),
}

#[derive(Debug, Default)]
pub(super) struct Faulty {
    pub(super) objects: InMemory,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Faults of the next requests of a kind, the first of which is next.
    next: BTreeMap<Call, Vec<Fault>>,
    /// Faults of all requests of a kind.
    always: BTreeMap<Call, Fault>,
    made: Vec<Call>,
    /// Ranges of all GETs.
    ranges: Vec<Option<Range<u64>>>,
    uploads: BTreeSet<MultipartId>,
    in_flight: usize,
    in_flight_max: usize,
}

impl Faulty {
    /// The next requests of a kind fail so.
    pub(super) fn fail(&self, call: Call, faults: &[Fault]) {
        self.state.lock().next.entry(call).or_default().extend_from_slice(faults);
    }

    /// All requests of a kind fail so from now on; `None`: none.
    pub(super) fn fail_always(&self, call: Call, fault: Option<Fault>) {
        let mut state = self.state.lock();
        match fault {
            Some(fault) => state.always.insert(call, fault),
            None => state.always.remove(&call),
        };
    }

    /// Number of requests of a kind since the last call of [`Faulty::forget`].
    pub(super) fn count(&self, call: Call) -> usize {
        self.state.lock().made.iter().filter(|made| **made == call).count()
    }

    /// The ranges of all GETs since then.
    pub(super) fn ranges(&self) -> Vec<Option<Range<u64>>> {
        self.state.lock().ranges.clone()
    }

    pub(super) fn forget(&self) {
        let mut state = self.state.lock();
        state.made.clear();
        state.ranges.clear();
    }

    /// Uploads that are neither completed nor aborted.
    pub(super) fn open_uploads(&self) -> usize {
        self.state.lock().uploads.len()
    }

    /// Most parts that were sent at the same time.
    pub(super) fn parts_in_flight_max(&self) -> usize {
        self.state.lock().in_flight_max
    }

    /// A GET, with the errors of HTTP.
    async fn get_object(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let answer = self.objects.get_opts(location, options).await;
        answer.map_err(|error| match error {
            Error::Generic { .. } => {
                failed("Server returned non-2xx status code: 416 : InvalidRange")
            }
            error => error,
        })
    }

    fn fault(&self, call: Call) -> Option<Fault> {
        let mut state = self.state.lock();
        state.made.push(call);
        let next = state.next.get_mut(&call).filter(|next| !next.is_empty());
        next.map(|next| next.remove(0)).or_else(|| state.always.get(&call).cloned())
    }

    /// A request with the fault that is its turn.
    async fn with_fault<T>(
        &self,
        call: Call,
        effect: impl Future<Output = Result<T>>,
    ) -> Result<T> {
        match self.fault(call) {
            Some(Fault::Refused) => {
                Err(failed("Server returned non-2xx status code: 503 : SlowDown"))
            }
            Some(Fault::Denied) => {
                Err(Error::PermissionDenied { path: String::new(), source: "AccessDenied".into() })
            }
            Some(Fault::AnswerLost) => {
                effect.await?;
                Err(failed("connection reset"))
            }
            Some(Fault::Silent) => std::future::pending().await,
            _ => effect.await,
        }
    }
}

fn failed(text: &str) -> Error {
    Error::Generic { store: "Faulty", source: text.to_owned().into() }
}

impl fmt::Display for Faulty {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Faulty")
    }
}

#[async_trait]
impl ObjectStore for Faulty {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.with_fault(Call::Put, self.objects.put_opts(location, payload, options)).await
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(failed("not used"))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let range = options.range.as_ref().map(|range| match range {
            object_store::GetRange::Bounded(range) => range.clone(),
            other => panic!("{other:?}"),
        });
        let start = range.as_ref().map_or(0, |range| range.start);
        self.state.lock().ranges.push(range);
        let fault = self.fault(Call::Get);
        if let Some(fault @ (Fault::Refused | Fault::Silent | Fault::Denied | Fault::AnswerLost)) =
            fault
        {
            self.state.lock().next.entry(Call::Get).or_default().insert(0, fault);
            // Counted once.
            self.state.lock().made.pop();
            return self.with_fault(Call::Get, self.get_object(location, options)).await;
        }
        let answer = self.get_object(location, options).await?;
        let Some(fault) = fault else { return Ok(answer) };
        let (meta, range) = (answer.meta.clone(), answer.range.clone());
        let attributes = answer.attributes.clone();
        let mut bytes = answer.bytes().await?.to_vec();
        let mut is_stalled = false;
        match fault {
            Fault::Cut(length) => bytes.truncate(length),
            Fault::Stalls(length) => {
                bytes.truncate(length);
                is_stalled = true;
            }
            Fault::Flipped(place) => {
                if let Some(byte) =
                    place.checked_sub(start).and_then(|at| bytes.get_mut(at as usize))
                {
                    *byte ^= 4;
                }
            }
            _ => {}
        }
        // In pieces of a socket.
        let pieces: Vec<Result<Bytes>> =
            bytes.chunks(16_000).map(|piece| Ok(Bytes::copy_from_slice(piece))).collect();
        let stream = futures_util::stream::iter(pieces);
        let stream = match is_stalled {
            true => stream.chain(futures_util::stream::pending()).boxed(),
            false => stream.boxed(),
        };
        let payload = GetResultPayload::Stream(stream);
        Ok(GetResult { payload, meta, range, attributes, extensions: Default::default() })
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        match self.fault(Call::Delete) {
            None => self.objects.delete_stream(locations),
            Some(_) => {
                futures_util::stream::once(async { Err(failed("connection reset")) }).boxed()
            }
        }
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let listed = self.objects.list(prefix);
        match self.fault(Call::List) {
            None => listed,
            Some(Fault::Cut(count)) => {
                let cut = futures_util::stream::once(async { Err(failed("connection reset")) });
                listed.take(count).chain(cut).boxed()
            }
            Some(_) => {
                futures_util::stream::once(async { Err(failed("connection reset")) }).boxed()
            }
        }
    }

    async fn list_with_delimiter(&self, _: Option<&Path>) -> Result<ListResult> {
        Err(failed("not used"))
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(failed("not used"))
    }
}

#[async_trait]
impl MultipartStore for Faulty {
    async fn create_multipart(&self, path: &Path) -> Result<MultipartId> {
        self.with_fault(Call::Create, async {
            let id = self.objects.create_multipart(path).await?;
            self.state.lock().uploads.insert(id.clone());
            Ok(id)
        })
        .await
    }

    async fn put_part(
        &self,
        path: &Path,
        id: &MultipartId,
        number: usize,
        data: PutPayload,
    ) -> Result<PartId> {
        {
            let mut state = self.state.lock();
            state.in_flight += 1;
            state.in_flight_max = state.in_flight_max.max(state.in_flight);
        }
        // Others have their turn meanwhile.
        tokio::time::sleep(Duration::from_millis(2)).await;
        let put = self.objects.put_part(path, id, number, data);
        let put = self.with_fault(Call::Part, put).await;
        self.state.lock().in_flight -= 1;
        put
    }

    async fn complete_multipart(
        &self,
        path: &Path,
        id: &MultipartId,
        parts: Vec<PartId>,
    ) -> Result<PutResult> {
        self.with_fault(Call::Complete, async {
            if !self.state.lock().uploads.contains(id) {
                let source = "NoSuchUpload".into();
                return Err(Error::NotFound { path: path.to_string(), source });
            }
            let completed = self.objects.complete_multipart(path, id, parts).await?;
            self.state.lock().uploads.remove(id);
            Ok(completed)
        })
        .await
    }

    async fn abort_multipart(&self, path: &Path, id: &MultipartId) -> Result<()> {
        self.with_fault(Call::Abort, async {
            if !self.state.lock().uploads.contains(id) {
                let source = "NoSuchUpload".into();
                return Err(Error::NotFound { path: path.to_string(), source });
            }
            self.objects.abort_multipart(path, id).await?;
            self.state.lock().uploads.remove(id);
            Ok(())
        })
        .await
    }
}

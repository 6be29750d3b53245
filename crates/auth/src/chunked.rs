//! aws-chunked bodies, signed and unsigned, with and without trailers.
//!
//! ```text
//! 10000;chunk-signature=<64 digits>\r\n <65536 bytes> \r\n
//! 0;chunk-signature=<64 digits>\r\n
//! x-amz-checksum-crc32c:sOO8/Q==\r\n
//! x-amz-trailer-signature:<64 digits>\r\n
//! \r\n
//! ```
//! The decoder buffers only the current line; data leaves as slices of the input. A chunk streams
//! out before its signature can be checked, except for its last slice, which leaves only if the
//! signature matches. A body becomes visible only as a whole, so the earlier slices do no harm.
//!
//! # The states of the decoder
//! ```text
//!      size > 0    ┌───────────┐ all bytes,           ┌──────────┐
//!   ┌─────────────►│ ChunkData │ signature fits ─────►│ ChunkEnd │
//!   │              └───────────┘                      └────┬─────┘
//! ChunkHeader ◄────────────────────── CR LF ───────────────┘
//!   │              ┌───────────┐ empty line,          ┌──────────┐
//!   └─────────────►│  Trailer  │ trailer fits ───────►│   Done   │
//!      size 0      └───────────┘                      └──────────┘
//! ```
//! Any other input is an error, as are bytes after `Done` and an end of the input before it. The
//! format and the signatures are defined in the Amazon S3 API Reference, "Transferring payload in
//! multiple chunks (chunked upload)".

use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::amz_date::AmzDate;
use super::limits::{CHUNK_BYTES_MIN, CHUNK_HEADER_BYTES_MAX};
use super::payload::EMPTY_SHA256;
use super::signing_key::{Signature, SigningKey, hex_digest, same_signature};
use super::step::Step;
use super::trailer::TrailerBlock;
use liteio_wire::reply::{ApiError, ErrorCode};

/// Removes the aws-chunked framing of a body and verifies it.
pub(super) struct ChunkedDecoder {
    state: State,
    /// The beginning of an incomplete line.
    line: Vec<u8>,
    /// The declared length (`x-amz-decoded-content-length`).
    decoded_length: u64,
    /// Bytes left of the declared length.
    decoded_remaining: u64,
    /// Number of chunks that have begun.
    chunks: u64,
    /// Size of the last chunk, for the rule that only the last data chunk may be small.
    previous_chunk_bytes: Option<u64>,
    /// Minimum bytes of all chunks but the last.
    chunk_bytes_min: u64,
    chain: Option<Box<ChunkChain>>,
    trailer: Option<TrailerBlock>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    ChunkHeader,
    ChunkData {
        remaining: u64,
    },
    /// CRLF after the data of a chunk; `after_cr` once CR was read.
    ChunkEnd {
        after_cr: bool,
    },
    /// The lines after the final chunk, up to an empty line.
    Trailer,
    Done,
}

/// The chain of chunk signatures: each covers the one before it, so chunks cannot be reordered,
/// dropped or repeated.
pub(super) struct ChunkChain {
    key: SigningKey,
    date: AmzDate,
    scope: String,
    previous: Signature,
    hasher: Sha256,
    /// The signature in the header of the current chunk.
    provided: Signature,
}

impl ChunkChain {
    /// A chain that begins with `seed`, the verified signature of the request's head.
    pub(super) fn new(key: SigningKey, date: AmzDate, scope: &str, seed: Signature) -> Self {
        let scope = scope.to_owned();
        let (hasher, provided) = (Sha256::new(), [0; 64]);
        ChunkChain { key, date, scope, previous: seed, hasher, provided }
    }

    // String to sign (AWS: "Defining the Chunk Body"): algorithm, date, scope, previous signature,
    // then the parts of the caller, one a line.
    fn sign(&self, algorithm: &str, rest: &[&[u8]]) -> Signature {
        let mut parts: [&[u8]; 10] = [b""; 10];
        let head: [&[u8]; 7] = [
            algorithm.as_bytes(),
            self.date.as_str().as_bytes(),
            b"\n",
            self.scope.as_bytes(),
            b"\n",
            &self.previous,
            b"\n",
        ];
        for (place, part) in parts.iter_mut().zip(head.iter().chain(rest)) {
            *place = part;
        }
        self.key.sign(&parts)
    }

    /// Checks the signature of the ended chunk, and makes it the previous one.
    fn verify_chunk(&mut self) -> Result<(), ApiError> {
        let hash = hex_digest(&self.hasher.finalize_reset());
        // The empty hash stands for headers that a chunk could have but never has.
        let expected = self.sign("AWS4-HMAC-SHA256-PAYLOAD\n", &[EMPTY_SHA256, b"\n", &hash]);
        let provided = std::str::from_utf8(&self.provided).unwrap_or_default();
        if !same_signature(&expected, provided) {
            return Err(ApiError::new(
                ErrorCode::SignatureDoesNotMatch,
                "The chunk signature we calculated does not match the signature you provided. \
                 Check your key and signing method.",
            ));
        }
        // The computed one, which equals the provided one, becomes the link of the chain.
        self.previous = expected;
        Ok(())
    }

    fn fits_trailer(&self, canonical: &[u8], provided: &str) -> bool {
        let hash = hex_digest(&Sha256::digest(canonical));
        same_signature(&self.sign("AWS4-HMAC-SHA256-TRAILER\n", &[&hash]), provided)
    }
}

fn malformed(message: &'static str) -> ApiError {
    ApiError::new(ErrorCode::IncompleteBody, message)
}

fn incomplete() -> ApiError {
    ApiError::new(ErrorCode::IncompleteBody, "The request body terminated unexpectedly")
}

impl ChunkedDecoder {
    /// A decoder of signed chunks if `chain` is given, and of a body with trailers if `trailer` is.
    pub(super) fn new(
        decoded_length: u64,
        chain: Option<Box<ChunkChain>>,
        trailer: Option<TrailerBlock>,
    ) -> Self {
        ChunkedDecoder {
            state: State::ChunkHeader,
            line: Vec::new(),
            decoded_length,
            decoded_remaining: decoded_length,
            chunks: 0,
            previous_chunk_bytes: None,
            chunk_bytes_min: CHUNK_BYTES_MIN,
            chain,
            trailer,
        }
    }

    /// The same, with unsigned chunks of any size.
    pub(super) fn with_small_chunks(mut self) -> Self {
        if self.chain.is_none() {
            self.chunk_bytes_min = 0;
        }
        self
    }

    /// Bytes left of the declared length.
    pub(super) fn decoded_remaining(&self) -> u64 {
        self.decoded_remaining
    }

    /// Decodes `input` until it is exhausted or yields data.
    pub(super) fn decode(&mut self, input: &mut Bytes) -> Result<Step, ApiError> {
        while !input.is_empty() {
            match self.state {
                State::ChunkHeader => self.read_chunk_header(input)?,
                State::ChunkData { remaining } => {
                    return self.read_chunk_data(input, remaining).map(Step::Data);
                }
                State::ChunkEnd { after_cr } => self.read_chunk_end(input, after_cr)?,
                State::Trailer => self.read_trailer_line(input)?,
                State::Done => return Err(malformed("There is data after the final chunk.")),
            }
        }
        Ok(Step::NeedsInput)
    }

    /// Ends the input. Only now, with the whole body verified, do the trailers become readable.
    pub(super) fn finish(&mut self) -> Result<(), ApiError> {
        if self.state != State::Done {
            return Err(incomplete());
        }
        if let Some(trailer) = &mut self.trailer {
            trailer.publish();
        }
        Ok(())
    }

    /// Appends the input up to `\n` to `self.line`. `false` if the line is not complete yet.
    fn read_line(&mut self, input: &mut Bytes, bytes_max: usize) -> Result<bool, ApiError> {
        let end = memchr::memchr(b'\n', input);
        let taken = end.unwrap_or(input.len());
        // Checked before copying, so that an endless line cannot grow the buffer.
        if self.line.len() + taken >= bytes_max {
            return Err(malformed("A line of the chunked body is too long."));
        }
        self.line.extend_from_slice(&input[..taken]);
        bytes::Buf::advance(input, taken + usize::from(end.is_some()));
        Ok(end.is_some())
    }

    fn read_chunk_header(&mut self, input: &mut Bytes) -> Result<(), ApiError> {
        if !self.read_line(input, CHUNK_HEADER_BYTES_MAX)? {
            return Ok(());
        }
        let line = std::mem::take(&mut self.line);
        let parsed = ChunkHeader::parse(&line);
        // Keep the allocation for the next header.
        self.line = line;
        self.line.clear();
        self.begin_chunk(parsed?)
    }

    fn begin_chunk(&mut self, header: ChunkHeader) -> Result<(), ApiError> {
        if let Some(chain) = &mut self.chain {
            chain.provided = header
                .signature
                .ok_or_else(|| malformed("A chunk of a signed body has no chunk-signature."))?;
        }
        if header.bytes == 0 {
            return self.begin_final_chunk();
        }
        // Checked at the header, before any data of the chunk: the declared length bounds what the
        // store receives.
        if header.bytes > self.decoded_remaining {
            return Err(self.wrong_length(header.bytes));
        }
        // Checked one chunk late: only a following chunk shows that the previous one was not the
        // last.
        if let Some(bytes) = self.previous_chunk_bytes.filter(|bytes| *bytes < self.chunk_bytes_min)
        {
            return Err(ApiError::new(
                ErrorCode::InvalidChunkSizeError,
                "Only the last chunk is allowed to have a size less than 8192 bytes",
            )
            .with("Chunk", (self.chunks + 1).to_string())
            .with("BadChunkSize", bytes.to_string()));
        }
        self.previous_chunk_bytes = Some(header.bytes);
        self.chunks += 1;
        self.state = State::ChunkData { remaining: header.bytes };
        Ok(())
    }

    /// The error of chunks that hold more or fewer bytes than declared. `next` is the size of the
    /// chunk that begins.
    fn wrong_length(&self, next: u64) -> ApiError {
        let provided = (self.decoded_length - self.decoded_remaining).saturating_add(next);
        let message = "You did not provide the number of bytes specified by the Content-Length \
                       HTTP header";
        ApiError::new(ErrorCode::IncompleteBody, message)
            .with("NumberBytesExpected", self.decoded_length.to_string())
            .with("NumberBytesProvided", provided.to_string())
    }

    fn begin_final_chunk(&mut self) -> Result<(), ApiError> {
        // The final chunk is empty and signed like any other: it proves that none was cut off.
        if let Some(chain) = &mut self.chain {
            chain.verify_chunk()?;
        }
        // The end came too early: fewer bytes than declared.
        if self.decoded_remaining > 0 {
            return Err(self.wrong_length(0));
        }
        self.state = State::Trailer;
        Ok(())
    }

    fn read_chunk_data(&mut self, input: &mut Bytes, remaining: u64) -> Result<Bytes, ApiError> {
        let taken = usize::try_from(remaining).map_or(input.len(), |r| r.min(input.len()));
        let data = input.split_to(taken);
        if let Some(chain) = &mut self.chain {
            chain.hasher.update(&data);
        }
        let remaining = remaining - taken as u64;
        self.decoded_remaining -= taken as u64;
        self.state = State::ChunkData { remaining };
        // Verified before the slice is returned: the last slice of a chunk never leaves unverified.
        if remaining == 0 {
            if let Some(chain) = &mut self.chain {
                chain.verify_chunk()?;
            }
            self.state = State::ChunkEnd { after_cr: false };
        }
        Ok(data)
    }

    fn read_chunk_end(&mut self, input: &mut Bytes, after_cr: bool) -> Result<(), ApiError> {
        let expected = if after_cr { b'\n' } else { b'\r' };
        if input.first() != Some(&expected) {
            return Err(malformed("The data of a chunk does not end with CRLF."));
        }
        bytes::Buf::advance(input, 1);
        self.state = if after_cr { State::ChunkHeader } else { State::ChunkEnd { after_cr: true } };
        Ok(())
    }

    fn read_trailer_line(&mut self, input: &mut Bytes) -> Result<(), ApiError> {
        // Without a trailer only CRLF may follow, and the limit is exclusive.
        let bytes_max = self.trailer.as_ref().map_or(2 + 1, TrailerBlock::line_bytes_max);
        if !self.read_line(input, bytes_max)? {
            return Ok(());
        }
        let line = std::mem::take(&mut self.line);
        let Some(trailer) = &mut self.trailer else {
            if line != b"\r" {
                return Err(malformed("The final chunk does not end with CRLF."));
            }
            self.state = State::Done;
            return Ok(());
        };
        if trailer.push_line(&line)? {
            let chain = self.chain.as_ref();
            // The trailer's signature continues the chain, so a trailer of another body does not
            // verify.
            trailer.check(|canonical, signature| {
                chain.is_some_and(|chain| chain.fits_trailer(canonical, signature))
            })?;
            self.state = State::Done;
        }
        Ok(())
    }
}

struct ChunkHeader {
    bytes: u64,
    signature: Option<Signature>,
}

impl ChunkHeader {
    /// Parses `size[;name=value]…\r`.
    fn parse(line: &[u8]) -> Result<ChunkHeader, ApiError> {
        let line = line
            .strip_suffix(b"\r")
            .ok_or_else(|| malformed("A chunk header does not end with CRLF."))?;
        let mut fields = line.split(|byte| *byte == b';');
        let digits = fields.next().unwrap_or_default();
        if !(1..=16).contains(&digits.len()) {
            return Err(malformed("A chunk header has no valid size."));
        }
        let mut bytes = 0_u64;
        for digit in digits {
            let value = char::from(*digit).to_digit(16);
            let value = value.ok_or_else(|| malformed("A chunk header has no valid size."))?;
            // At most 16 digits, so this cannot overflow.
            bytes = bytes << 4 | u64::from(value);
        }
        let mut signature = None;
        for field in fields {
            // S3 defines no other extensions; ignore them.
            let Some(value) = field.strip_prefix(b"chunk-signature=") else { continue };
            let value = Signature::try_from(value)
                .map_err(|_| malformed("A chunk-signature must have 64 digits."))?;
            // Two signatures would leave open which one was checked.
            if signature.replace(value).is_some() {
                return Err(malformed("A chunk header has two signatures."));
            }
        }
        Ok(ChunkHeader { bytes, signature })
    }
}

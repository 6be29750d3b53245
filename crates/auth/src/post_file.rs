//! [`FileDecoder`]: extracts the file of a form upload while it streams.

use bytes::{Buf, Bytes};
use memchr::memmem;

use super::error;
use super::limits::{FORM_EPILOGUE_BYTES_MAX, FORM_EPILOGUE_FIELDS_BYTES_MAX, FORM_FILE_BYTES_MAX};
use super::step::Step;
use liteio_wire::reply::{ApiError, ErrorCode};

/// The allowed size of a file in bytes, both bounds included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LengthRange {
    pub(super) min: u64,
    pub(super) max: u64,
}

impl Default for LengthRange {
    fn default() -> Self {
        LengthRange { min: 0, max: FORM_FILE_BYTES_MAX }
    }
}

/// Finds the delimiter that ends the file, and counts the file's bytes.
pub(super) struct FileDecoder {
    /// `\r\n--boundary`. A boundary contains no CR, so CR occurs only at the start of the
    /// delimiter: when a partial match fails, no new match can begin inside of it.
    delimiter: Bytes,
    finder: memmem::Finder<'static>,
    state: State,
    length: LengthRange,
    file_bytes: u64,
    /// The start of the epilogue, which is searched for a second file.
    epilogue: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// In the file; the last `matched` bytes of the input so far may begin the delimiter.
    File { matched: usize },
    /// After the delimiter: `--` or CRLF must follow.
    DelimiterEnd { first: Option<u8> },
    /// The epilogue: fields after the file, ignored unless one is another file.
    Epilogue { bytes: usize },
}

pub(super) fn malformed_form() -> ApiError {
    ApiError::new(
        ErrorCode::MalformedPOSTRequest,
        "The body of your POST request is not well-formed multipart/form-data.",
    )
}

/// The error for a form without exactly one file.
pub(super) fn not_one_file() -> ApiError {
    error::invalid_argument("POST requires exactly one file upload per request.")
        .with("ArgumentName", "file")
}

impl FileDecoder {
    /// A decoder for `delimiter`, which is CRLF, two dashes and the boundary.
    pub(super) fn new(delimiter: Bytes, length: LengthRange) -> Self {
        let finder = memmem::Finder::new(&delimiter).into_owned();
        let length = LengthRange { min: length.min, max: length.max.min(FORM_FILE_BYTES_MAX) };
        let state = State::File { matched: 0 };
        FileDecoder { delimiter, finder, state, length, file_bytes: 0, epilogue: Vec::new() }
    }

    pub(super) fn decode(&mut self, input: &mut Bytes) -> Result<Step, ApiError> {
        while !input.is_empty() {
            match self.state {
                State::File { matched: 0 } => {
                    let data = self.split_file(input);
                    if !data.is_empty() {
                        return self.count(data);
                    }
                }
                State::File { matched } => {
                    if let Some(data) = self.go_on_matching(input, matched) {
                        return self.count(data);
                    }
                }
                State::DelimiterEnd { first: None } => {
                    self.state = State::DelimiterEnd { first: Some(input.get_u8()) };
                }
                State::DelimiterEnd { first: Some(first) } => {
                    if !matches!([first, input.get_u8()], [b'-', b'-'] | [b'\r', b'\n']) {
                        return Err(malformed_form());
                    }
                    self.check_end()?;
                    self.state = State::Epilogue { bytes: 0 };
                }
                State::Epilogue { bytes } if bytes > FORM_EPILOGUE_BYTES_MAX => {
                    return Ok(Step::Ended);
                }
                State::Epilogue { bytes } => {
                    self.state = State::Epilogue { bytes: bytes + input.len() };
                    let room = FORM_EPILOGUE_FIELDS_BYTES_MAX - self.epilogue.len();
                    self.epilogue.extend_from_slice(&input[..room.min(input.len())]);
                    input.clear();
                    self.check_epilogue()?;
                }
            }
        }
        Ok(Step::NeedsInput)
    }

    pub(super) fn finish(&self) -> Result<(), ApiError> {
        match self.state {
            State::Epilogue { .. } => Ok(()),
            _ => Err(malformed_form()),
        }
    }

    /// Splits off the input that certainly belongs to the file.
    fn split_file(&mut self, input: &mut Bytes) -> Bytes {
        if let Some(end) = self.finder.find(input) {
            let data = input.split_to(end);
            input.advance(self.delimiter.len());
            self.state = State::DelimiterEnd { first: None };
            return data;
        }
        // The delimiter may be split between two inputs: hold back the longest suffix that can
        // begin it.
        let tail_start = input.len().saturating_sub(self.delimiter.len() - 1);
        let begins = |start: &usize| self.delimiter.starts_with(&input[tail_start + start..]);
        let start = memchr::memchr_iter(b'\r', &input[tail_start..]).find(begins);
        let kept = start.map_or(input.len(), |start| tail_start + start);
        self.state = State::File { matched: input.len() - kept };
        let data = input.split_to(kept);
        input.clear();
        data
    }

    /// Continues a match of `matched` bytes from the last input. Returns these bytes if this input
    /// shows that they belong to the file.
    fn go_on_matching(&mut self, input: &mut Bytes, matched: usize) -> Option<Bytes> {
        let rest = &self.delimiter[matched..];
        let common = rest.len().min(input.len());
        if rest[..common] != input[..common] {
            self.state = State::File { matched: 0 };
            return Some(self.delimiter.slice(..matched));
        }
        self.state = if common == rest.len() {
            State::DelimiterEnd { first: None }
        } else {
            State::File { matched: matched + common }
        };
        input.advance(common);
        None
    }

    fn count(&mut self, data: Bytes) -> Result<Step, ApiError> {
        self.file_bytes += data.len() as u64;
        if self.file_bytes > self.length.max {
            return Err(error::entity_too_large()
                .with("ProposedSize", self.file_bytes.to_string())
                .with("MaxSizeAllowed", self.length.max.to_string()));
        }
        Ok(Step::Data(data))
    }

    /// Refuses a second file: it is ambiguous which one was meant.
    fn check_epilogue(&self) -> Result<(), ApiError> {
        let has = |name: &[u8]| memmem::find(&self.epilogue, name).is_some();
        if has(b"name=\"file\"") || has(b"name=file;") || has(b"name=file\r") {
            return Err(not_one_file());
        }
        Ok(())
    }

    fn check_end(&self) -> Result<(), ApiError> {
        if self.file_bytes < self.length.min {
            let message = "Your proposed upload is smaller than the minimum allowed size";
            return Err(ApiError::new(ErrorCode::EntityTooSmall, message)
                .with("ProposedSize", self.file_bytes.to_string())
                .with("MinSizeAllowed", self.length.min.to_string()));
        }
        Ok(())
    }
}

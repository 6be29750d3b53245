//! Error codes of the layers around the operations.

use http::StatusCode;

/// Defines the codes with their status.
macro_rules! codes {
    ($($name:ident = $status:ident,)*) => {
        /// An error code of S3, with its status.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum ErrorCode {
            $(
                #[doc = concat!("`", stringify!($name), "`")]
                $name,
            )*
        }

        impl ErrorCode {
            /// The code as it stands in the error document.
            pub fn name(self) -> &'static str {
                match self {
                    $(ErrorCode::$name => stringify!($name),)*
                }
            }

            /// The status that S3 answers with this code.
            pub fn status(self) -> StatusCode {
                match self {
                    $(ErrorCode::$name => StatusCode::$status,)*
                }
            }
        }
    };
}

codes! {
    AccessDenied = FORBIDDEN,
    AccessForbidden = FORBIDDEN,
    AuthorizationHeaderMalformed = BAD_REQUEST,
    AuthorizationQueryParametersError = BAD_REQUEST,
    BadRequest = BAD_REQUEST,
    EntityTooLarge = BAD_REQUEST,
    EntityTooSmall = BAD_REQUEST,
    ExpiredToken = BAD_REQUEST,
    IncompleteBody = BAD_REQUEST,
    InvalidAccessKeyId = FORBIDDEN,
    InvalidArgument = BAD_REQUEST,
    InvalidChunkSizeError = FORBIDDEN,
    InvalidPolicyDocument = BAD_REQUEST,
    InvalidRequest = BAD_REQUEST,
    InvalidToken = BAD_REQUEST,
    InvalidURI = BAD_REQUEST,
    KeyTooLongError = BAD_REQUEST,
    MalformedPOSTRequest = BAD_REQUEST,
    MalformedTrailerError = BAD_REQUEST,
    MalformedXML = BAD_REQUEST,
    MaxPostPreDataLengthExceededError = BAD_REQUEST,
    MethodNotAllowed = METHOD_NOT_ALLOWED,
    MissingContentLength = LENGTH_REQUIRED,
    NoSuchKey = NOT_FOUND,
    NotImplemented = NOT_IMPLEMENTED,
    PreconditionFailed = PRECONDITION_FAILED,
    RequestHeaderSectionTooLarge = BAD_REQUEST,
    RequestTimeTooSkewed = FORBIDDEN,
    RequestTimeout = BAD_REQUEST,
    RequestURITooLong = URI_TOO_LONG,
    SignatureDoesNotMatch = FORBIDDEN,
    SlowDown = SERVICE_UNAVAILABLE,
    XAmzContentSHA256Mismatch = BAD_REQUEST,
}

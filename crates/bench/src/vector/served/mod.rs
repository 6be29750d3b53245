//! S3 Vectors through a server, as boto3 speaks it.

pub(crate) mod rows;
pub(crate) mod run;

mod api;
mod body;
mod fill;
mod work;

//! S3 Vectors through a server, in the way of boto3.

pub(crate) mod rows;
pub(crate) mod run;

mod api;
mod body;
mod fill;
mod work;

//! S3 Vectors through a server, as boto3 speaks it.

pub mod body;
pub mod rows;
pub mod run;

mod api;
mod fill;
mod record;
mod work;

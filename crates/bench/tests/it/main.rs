//! The benchmarks from their options to the files of their reports.

mod formats;
mod kv;
mod limits;
mod s3;
mod setup;
mod vector;

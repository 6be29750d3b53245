//! The benchmarks from their options to the files of their reports.

mod kv;
mod s3;
mod vector;

//! Tests of names, requests and JSON.

//! [`CountedDatabase`]: a database whose fetches are counted, each a round trip.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{
    CommitError, Database, Fetched, Fetching, Group, PrimaryId, Settled, View, Want, Worker,
};
use crate::KvError;

/// Passes everything on, and counts the fetches.
#[derive(Debug)]
pub(crate) struct CountedDatabase {
    pub(crate) database: Arc<dyn Database>,
    pub(crate) fetches: Arc<AtomicU64>,
}

#[derive(Debug)]
struct CountedView {
    view: Box<dyn View>,
    fetches: Arc<AtomicU64>,
}

impl Database for CountedDatabase {
    fn run(&self) -> u32 {
        self.database.run()
    }

    fn fetch(&self, wants: &[Want]) -> Result<Fetched, KvError> {
        self.fetches.fetch_add(1, Ordering::Relaxed);
        self.database.fetch(wants)
    }

    fn fetch_later(&self, wants: Vec<Want>) -> Fetching {
        self.fetches.fetch_add(1, Ordering::Relaxed);
        self.database.fetch_later(wants)
    }

    fn commit(&self, worker: Worker, number: u64, group: &Group) -> Result<(), CommitError> {
        self.database.commit(worker, number, group)
    }

    fn settle(&self, worker: Worker, number: u64) -> Result<Settled, KvError> {
        self.database.settle(worker, number)
    }

    fn take_numbers(&self, count: u32, floor: u64) -> Result<u64, KvError> {
        self.database.take_numbers(count, floor)
    }

    fn view(&self) -> Result<Box<dyn View>, KvError> {
        let fetches = Arc::clone(&self.fetches);
        Ok(Box::new(CountedView { view: self.database.view()?, fetches }))
    }

    fn primary(&self) -> Option<PrimaryId> {
        self.database.primary()
    }
}

impl View for CountedView {
    fn fetch(&self, wants: &[Want]) -> Result<Fetched, KvError> {
        self.fetches.fetch_add(1, Ordering::Relaxed);
        self.view.fetch(wants)
    }
}

//! Text search over a metadata key: an inverted index in memory, ranked by Okapi BM25.
//!
//! ```text
//! weight(word) = ln(1 + (N − n + 0.5) / (n + 0.5))             n of N texts have the word
//! score(text)  = Σ weight · count · (k1 + 1) / (count + k1 · (1 − b + b · length / average))
//! ```
//! Search libraries bring their own storage, and support neither our slots and filters nor a limit
//! of memory. Only this much of one would remain in use. Stems and word boundaries come from
//! libraries.

use std::collections::HashMap;

use liteio_vector::{Slot, SlotSet};

use super::cache::{Cache, Derived};
use super::fuse::Scored;
use super::referenced::{Moment, Version};
use super::scope::Scope;
use super::words::Analyzer;
use crate::error::StoreError;
use crate::meta::vector::TextSearch;
use crate::meta::vector_metadata::Metadata;

/// BM25's `k1`, the saturation of repeated words: its usual value.
const SATURATION: f64 = 1.2;
/// BM25's `b`, the normalisation by length: its usual value.
const LENGTH_WEIGHT: f64 = 0.75;

/// Estimated memory of a word beside its bytes.
const WORD_BYTES: usize = 96;
const POSTING_BYTES: usize = size_of::<Posting>();
const DOCUMENT_BYTES: usize = size_of::<Document>() + 4;

/// Code of a slot that is not indexed yet.
const UNKNOWN: u32 = 0;
/// Code of a vector without text.
const ABSENT: u32 = 1;
/// Code of the first text.
const FIRST: u32 = 2;

/// The inverted index of one metadata key: the words, and the texts with each.
#[derive(Debug, Default)]
pub(crate) struct TextIndex {
    postings: HashMap<Box<str>, Vec<Posting>>,
    documents: Vec<Document>,
    /// By slot: unknown, absent, or the place of its text in `documents` plus [`FIRST`].
    codes: Vec<u32>,
    /// Number of forgotten documents.
    forgotten: usize,
    bytes: usize,
    /// Version of the index at which all its slots are indexed.
    complete_at: Option<Version>,
}

#[derive(Clone, Copy, Debug)]
struct Posting {
    document: u32,
    count: u32,
}

/// A text.
#[derive(Clone, Copy, Debug)]
struct Document {
    slot: Slot,
    /// Number of its words.
    length: u32,
    is_forgotten: bool,
}

/// A text with words of a query. `counts` has the position of each word in the query, and its
/// occurrences in the text.
struct Candidate {
    slot: Slot,
    length: u32,
    counts: Vec<(usize, u32)>,
}

/// Statistics over all texts.
#[derive(Clone, Copy, Debug, Default)]
struct Statistics {
    documents: u64,
    words: u64,
}

impl Statistics {
    fn add(&mut self, length: u32) {
        self.documents += 1;
        self.words += u64::from(length);
    }

    /// Inverse document frequency of a word that is in `containing` texts.
    fn weight(&self, containing: u64) -> f64 {
        let (all, containing) = (self.documents as f64, containing as f64);
        ((all - containing + 0.5) / (containing + 0.5)).ln_1p()
    }

    /// The score of `count` occurrences of a word in a text of `length` words.
    fn score(&self, weight: f64, count: u32, length: u32) -> f64 {
        let average = self.words as f64 / (self.documents.max(1)) as f64;
        let relative = f64::from(length) / average.max(f64::MIN_POSITIVE);
        let norm = SATURATION * (1.0 - LENGTH_WEIGHT + LENGTH_WEIGHT * relative);
        let count = f64::from(count);
        weight * count * (SATURATION + 1.0) / (count + norm)
    }
}

impl Derived for TextIndex {
    fn bytes(&self) -> usize {
        self.bytes + self.codes.len() * 4
    }

    fn forget(&mut self, slots: &[Slot]) {
        for slot in slots {
            let Some(code) = self.codes.get_mut(slot.number() as usize) else { continue };
            // The postings of the text stay, and searches skip them.
            if let Some(document) = code.checked_sub(FIRST) {
                self.documents[document as usize].is_forgotten = true;
                self.forgotten += 1;
            }
            *code = UNKNOWN;
        }
        // Mostly garbage. Postings go only with the whole index, which the next search makes anew.
        if self.forgotten > self.documents.len() / 2 + 1024 {
            *self = Self::default();
        }
    }
}

impl TextIndex {
    fn code(&self, slot: Slot) -> u32 {
        self.codes.get(slot.number() as usize).copied().unwrap_or(UNKNOWN)
    }

    fn learn(&mut self, slot: Slot, metadata: &Metadata, key: &str, analyzer: &Analyzer) {
        let place = slot.number() as usize;
        if self.codes.len() <= place {
            self.codes.resize(place + 1, UNKNOWN);
        }
        let mut counts: HashMap<String, u32> = HashMap::new();
        let mut length = 0;
        if let Some(value) = metadata.get(key) {
            analyzer.words_of(value, &mut |word| {
                length += 1;
                match counts.get_mut(word) {
                    Some(count) => *count += 1,
                    None => drop(counts.insert(word.to_owned(), 1)),
                }
            });
        }
        if length == 0 {
            self.codes[place] = ABSENT;
            return;
        }
        let document = self.documents.len() as u32;
        self.codes[place] = document + FIRST;
        self.documents.push(Document { slot, length, is_forgotten: false });
        self.bytes += DOCUMENT_BYTES + counts.len() * POSTING_BYTES;
        for (word, count) in counts {
            let posting = Posting { document, count };
            match self.postings.get_mut(word.as_str()) {
                Some(postings) => postings.push(posting),
                None => {
                    self.bytes += WORD_BYTES + word.len();
                    self.postings.insert(word.into_boxed_str(), vec![posting]);
                }
            }
        }
    }

    /// The slots of `allowed` with words of a query, scored, in any order.
    fn search(&self, words: &[String], moment: &Moment, allowed: &SlotSet) -> Vec<Scored> {
        let is_there =
            |document: &Document| !document.is_forgotten && moment.slots.contains(document.slot);
        // Of the texts of this moment, so that scores do not depend on what else is indexed.
        let mut statistics = Statistics::default();
        let there = self.documents.iter().filter(|document| is_there(document));
        there.for_each(|document| statistics.add(document.length));
        let mut scores = vec![0.0; self.documents.len()];
        let mut found = Vec::new();
        for word in words {
            let Some(postings) = self.postings.get(word.as_str()) else { continue };
            let of = |posting: &Posting| &self.documents[posting.document as usize];
            let there = || postings.iter().filter(|posting| is_there(of(posting)));
            // The weight counts all texts of the moment, also the ones outside `allowed`.
            let weight = statistics.weight(there().count() as u64);
            for posting in there().filter(|posting| allowed.contains(of(posting).slot)) {
                let score = &mut scores[posting.document as usize];
                if *score == 0.0 {
                    found.push(posting.document);
                }
                *score += statistics.score(weight, posting.count, of(posting).length);
            }
        }
        let scored = |document: u32| Scored {
            slot: self.documents[document as usize].slot,
            score: scores[document as usize],
        };
        found.into_iter().map(scored).collect()
    }
}

impl Scope<'_> {
    /// The slots of `allowed` with words of `text`, scored, in any order; `None` if vectors were
    /// replaced meanwhile.
    pub(crate) fn search_text(
        &self,
        search: &TextSearch,
        text: &str,
        allowed: &SlotSet,
        cache: &Cache<TextIndex>,
    ) -> Result<Option<Vec<Scored>>, StoreError> {
        let analyzer = Analyzer::new(search.language);
        let mut words = Vec::new();
        analyzer.words(text, &mut |word| words.push(word.to_owned()));
        words.sort_unstable();
        words.dedup();
        // The stems depend on the language, so each language has an index of its own.
        let name = format!("{:?} {}", search.language, search.key);
        let entry = cache.get(self.index.id, &name);
        {
            let texts = entry.derived.read();
            if texts.complete_at == Some(self.moment.version) {
                return Ok(Some(texts.search(&words, self.moment, allowed)));
            }
        }
        let mut texts = entry.derived.write();
        let slots = &self.moment.slots;
        // Under the write lock: another query may have indexed slots since the read lock.
        let unknown: Vec<Slot> = slots.iter().filter(|slot| texts.code(*slot) == UNKNOWN).collect();
        let mut is_too_large = false;
        let all_known = self.visit(&unknown, slots, &mut |slot, metadata| {
            // `visit` may come with more slots than it was asked for.
            if texts.code(slot) == UNKNOWN {
                texts.learn(slot, metadata, &search.key, &analyzer);
                is_too_large = texts.bytes() > cache.bytes_max();
            }
            !is_too_large
        })?;
        if is_too_large {
            drop(texts);
            cache.remove(self.index.id, &name);
            return self.search_records(&search.key, &words, &analyzer, allowed);
        }
        if !all_known {
            return Ok(None);
        }
        texts.complete_at = Some(self.moment.version);
        let found = texts.search(&words, self.moment, allowed);
        let bytes = texts.bytes();
        drop(texts);
        cache.grown(&entry, bytes);
        Ok(Some(found))
    }

    /// Searches without an index by reading every record, for texts whose index does not fit into
    /// memory.
    fn search_records(
        &self,
        key: &str,
        words: &[String],
        analyzer: &Analyzer,
        allowed: &SlotSet,
    ) -> Result<Option<Vec<Scored>>, StoreError> {
        let mut statistics = Statistics::default();
        let mut containing = vec![0_u64; words.len()];
        let mut candidates = Vec::new();
        let slots = &self.moment.slots;
        let all: Vec<Slot> = slots.iter().collect();
        let all_there = self.visit(&all, slots, &mut |slot, metadata| {
            let Some(value) = metadata.get(key) else { return true };
            let (mut length, mut counts) = (0, vec![0_u32; words.len()]);
            analyzer.words_of(value, &mut |word| {
                length += 1;
                // The words of the query are sorted.
                if let Ok(position) = words.binary_search_by(|other| other.as_str().cmp(word)) {
                    counts[position] += 1;
                }
            });
            if length == 0 {
                return true;
            }
            statistics.add(length);
            let found = counts.into_iter().enumerate().filter(|(_, count)| *count > 0);
            let found: Vec<(usize, u32)> = found.collect();
            found.iter().for_each(|(position, _)| containing[*position] += 1);
            if !found.is_empty() && allowed.contains(slot) {
                candidates.push(Candidate { slot, length, counts: found });
            }
            true
        })?;
        let scored = |candidate: Candidate| {
            let of_word = |(position, count): (usize, u32)| {
                let weight = statistics.weight(containing[position]);
                statistics.score(weight, count, candidate.length)
            };
            let score = candidate.counts.into_iter().map(of_word).sum();
            Scored { slot: candidate.slot, score }
        };
        Ok(all_there.then(|| candidates.into_iter().map(scored).collect()))
    }
}

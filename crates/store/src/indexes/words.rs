//! Text analysis: word boundaries, lower case, stemming.

use frostem::{Algorithm, Stemmer};
use unicode_segmentation::UnicodeSegmentation;

use crate::meta::vector::Language;
use crate::meta::vector_metadata::{MetadataValue, Scalar};

/// Length to which longer words are cut, in bytes. It bounds the memory of a word.
const WORD_BYTES_MAX: usize = 128;

/// Analyzer of texts of one language.
pub(crate) struct Analyzer {
    stemmer: Option<Stemmer>,
    /// Bigrams instead of words, for languages that write without spaces.
    by_pairs: bool,
}

impl Analyzer {
    pub(crate) fn new(language: Option<Language>) -> Self {
        let algorithm = match language {
            Some(Language::English) => Some(Algorithm::English),
            Some(Language::French) => Some(Algorithm::French),
            Some(Language::Spanish) => Some(Algorithm::Spanish),
            Some(Language::Portuguese) => Some(Algorithm::Portuguese),
            Some(Language::Italian) => Some(Algorithm::Italian),
            Some(Language::German) => Some(Algorithm::German),
            // Not `Dutch`: its stems differ from those that earlier versions used.
            Some(Language::Dutch) => Some(Algorithm::DutchPorter),
            Some(Language::Chinese | Language::Japanese | Language::Korean) | None => None,
        };
        let by_pairs =
            matches!(language, Some(Language::Chinese | Language::Japanese | Language::Korean));
        Self { stemmer: algorithm.map(Stemmer::new), by_pairs }
    }

    /// Calls `word` with every word of a query's text, in lower case and stemmed.
    pub(crate) fn words(&self, text: &str, word: &mut dyn FnMut(&str)) {
        self.analyze(text, pairs, word);
    }

    /// Calls `word` with the words of a stored value: of a text, or of all texts in a list.
    pub(crate) fn words_of(&self, value: &MetadataValue, word: &mut dyn FnMut(&str)) {
        for scalar in value.scalars() {
            if let Scalar::String(text) = scalar {
                self.analyze(text, pairs_and_characters, word);
            }
        }
    }

    /// Calls `word` with every word of a text. `split` splits a run of East Asian characters.
    fn analyze(
        &self,
        text: &str,
        split: fn(&str, &mut dyn FnMut(&str)),
        word: &mut dyn FnMut(&str),
    ) {
        let lower = text.to_lowercase();
        // Words end at these runs: Unicode joins Hangul to the Latin letters and digits beside it.
        let is_of_a_run = |character: char| self.by_pairs && is_east_asian(character);
        for token in lower.split(is_of_a_run).flat_map(|piece| piece.unicode_words()) {
            let token = &token[..token.floor_char_boundary(WORD_BYTES_MAX)];
            match &self.stemmer {
                Some(stemmer) => word(&stemmer.stem(token)),
                None => word(token),
            }
        }
        if self.by_pairs {
            for run in lower.split(|character| !is_east_asian(character)) {
                split(run, word);
            }
        }
    }
}

/// Calls `word` with the pairs of a run, and with each of its characters, so that a query of one
/// character finds the text. Longer queries have pairs only: they are more selective.
fn pairs_and_characters(run: &str, word: &mut dyn FnMut(&str)) {
    pairs(run, word);
    // The only character of a run is in the place of a pair already.
    if run.chars().nth(1).is_some() {
        for (start, character) in run.char_indices() {
            word(&run[start..start + character.len_utf8()]);
        }
    }
}

/// Calls `word` with each pair of adjacent characters, or with the only character.
fn pairs(run: &str, word: &mut dyn FnMut(&str)) {
    let mut starts = run.char_indices().map(|(start, _)| start).chain([run.len()]);
    let (Some(mut first), Some(mut second)) = (starts.next(), starts.next()) else { return };
    let mut third = starts.next();
    if third.is_none() {
        word(&run[first..second]);
    }
    while let Some(end) = third {
        word(&run[first..end]);
        (first, second, third) = (second, end, starts.next());
    }
}

/// `true` for kana, CJK ideographs and Hangul syllables.
fn is_east_asian(character: char) -> bool {
    matches!(character,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(language: Option<Language>, text: &str) -> Vec<String> {
        let mut words = Vec::new();
        Analyzer::new(language).words(text, &mut |word| words.push(word.to_owned()));
        words
    }

    #[test]
    fn words_are_found_in_every_language() {
        let rows: [(Option<Language>, &str, &[&str]); 8] = [
            (
                None,
                "The Quick, quick fox's 3.5 km!",
                &["the", "quick", "quick", "fox's", "3.5", "km"],
            ),
            (Some(Language::English), "Running runs", &["run", "run"]),
            (Some(Language::German), "Häuser", &["haus"]),
            (Some(Language::Japanese), "東京都 Tokyo", &["tokyo", "東京", "京都"]),
            (Some(Language::Chinese), "书", &["书"]),
            (Some(Language::Korean), "서울시", &["서울", "울시"]),
            (Some(Language::Korean), "LG전자 3월", &["lg", "3", "전자", "월"]),
            (None, " ,. ", &[]),
        ];
        for (language, text, expected) in rows {
            assert_eq!(words(language, text), expected, "{text}");
        }
        assert_eq!(words(None, &"ü".repeat(1000))[0].len(), 128);
    }

    #[test]
    fn stored_texts_have_each_character_beside_the_pairs() {
        let stored = |text: &str| {
            let value = MetadataValue::Scalar(Scalar::String(text.to_owned()));
            let mut words = Vec::new();
            let analyzer = Analyzer::new(Some(Language::Japanese));
            analyzer.words_of(&value, &mut |word| words.push(word.to_owned()));
            words
        };
        assert_eq!(stored("犬が走る a"), ["a", "犬が", "が走", "走る", "犬", "が", "走", "る"]);
        assert_eq!(stored("犬 猫"), ["犬", "猫"]);
    }

    #[test]
    fn languages_with_stems_have_those_of_their_grammar() {
        let rows: [(Language, &str, &[&str]); 7] = [
            (Language::English, "connections connected", &["connect", "connect"]),
            (Language::French, "continuellement continuité", &["continuel", "continu"]),
            (Language::Spanish, "cheques chicas", &["chequ", "chic"]),
            (Language::Portuguese, "boataria boates", &["boat", "boat"]),
            (Language::Italian, "abbandonata abbandonato", &["abbandon", "abbandon"]),
            (Language::German, "aufeinander aufenthalten", &["aufeinand", "aufenthalt"]),
            (Language::Dutch, "lichamelijk opheffing", &["licham", "opheff"]),
        ];
        for (language, text, expected) in rows {
            assert_eq!(words(Some(language), text), expected, "{text}");
        }
    }

    #[test]
    fn texts_of_any_script_have_words_in_every_language() {
        use Language::*;
        let texts = [
            "Ο Ηλιος ΑΝΑΤΕΛΛΕΙ αΰριο ΐ ΰ σς Σ καλημέρα κόσμε τριακόσιοι",
            "İstanbul ŞİMDİ ǅ ŉ ß ﬃ",
            "привет мир, Москва ёжик",
            "مرحبا بالعالم",
            "नमस्ते दुनिया",
            "e\u{301}te\u{301} \u{301}\u{302} a\u{10ffff}b \u{1f980}s",
            "''s s' 's a'b'c ''''",
            "東京都 서울시 书",
        ];
        let languages = [
            English, French, Spanish, Portuguese, Italian, German, Dutch, Chinese, Japanese, Korean,
        ];
        for language in languages.map(Some).into_iter().chain([None]) {
            for text in texts {
                for suffix in ["", "ing", "ement", "ς", "\u{345}"] {
                    words(language, &text.replace(' ', &format!("{suffix} ")));
                }
                // From every start, so that words begin everywhere.
                for (start, _) in text.char_indices() {
                    words(language, &text[start..]);
                }
            }
            assert!(words(language, texts[0]).len() > 8, "{language:?}");
        }
    }
}

//! Where controllers post their figures, for whoever serves them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// Texts in Prometheus' form, one for each controller. Cloned boards are the same board.
#[derive(Clone, Debug, Default)]
pub struct Board(Arc<Mutex<BTreeMap<&'static str, String>>>);

impl Board {
    /// Replaces what one controller has posted.
    pub fn post(&self, who: &'static str, text: String) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(who, text);
    }

    /// Everything, one after the other.
    pub fn text(&self) -> String {
        let texts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        texts.values().map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_counts() {
        let board = Board::default();
        board.clone().post("b", "b 1\n".to_owned());
        board.post("a", "a 1\n".to_owned());
        board.post("b", "b 2\n".to_owned());
        assert_eq!(board.text(), "a 1\nb 2\n");
    }
}

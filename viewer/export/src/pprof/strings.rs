//! The string table of a profile.

use super::field;
use crate::protobuf::Message;
use std::collections::HashMap;

/// Indices of strings in the table. Each string is written when first used, so indices count up.
#[derive(Debug, Default)]
pub(super) struct Strings {
    places: HashMap<String, i64>,
}

impl Strings {
    /// The index of a string; a new one is added to the message first.
    pub(super) fn id(&mut self, text: &str, message: &mut Message) -> i64 {
        if let Some(&place) = self.places.get(text) {
            return place;
        }
        let place = i64::try_from(self.places.len()).expect("fewer strings than bytes of memory");
        message.bytes(field::STRING_TABLE, text.as_bytes());
        self.places.insert(text.to_owned(), place);
        place
    }
}

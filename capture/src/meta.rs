//! Records of the small tables: a length, then the fields as bincode writes them (little-endian, fixed widths).
//!
//! ```text
//!  +--------+-----------------------------+--------+--------------
//!  | length | fields in declaration order | length | ...
//!  +--------+-----------------------------+--------+--------------
//!   varint
//! ```
//!
//! A record may grow at its end in a later version:
//! - a reader that does not know the new fields ignores what follows those it knows;
//! - a reader that knows them reads a shorter record of an earlier version as if zeros followed, and zeros decode as
//!   the default of every field: 0, false, the empty text or list, none, the first variant.
//!
//! This holds for the record itself. The structs inside its lists never change.

use bincode::config::{Configuration, Fixint, Limit, LittleEndian};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::error::{Error, Malformed};
use crate::format::MAX_RECORD;
use crate::varint;

/// More zeros than the fields of any later version take, and few enough that a hostile record gains nothing.
const PADDING: usize = 512;

const CONFIG: Configuration<LittleEndian, Fixint, Limit<{ MAX_RECORD + PADDING }>> =
    bincode::config::standard().with_fixed_int_encoding().with_limit();

/// Appends a record.
pub(crate) fn put<T: Serialize>(bytes: &mut Vec<u8>, what: &'static str, record: &T) -> Result<(), Error> {
    let encoded =
        bincode::serde::encode_to_vec(record, bincode::config::standard().with_fixed_int_encoding())
            .expect("the model's types are plain data, and a vector takes any length");
    if encoded.len() > MAX_RECORD {
        return Err(Error::TooLarge { what, bytes: encoded.len(), limit: MAX_RECORD });
    }
    put_bytes(bytes, &encoded);
    Ok(())
}

/// Appends a record given as its bytes.
pub(crate) fn put_bytes(bytes: &mut Vec<u8>, record: &[u8]) {
    varint::put(bytes, record.len() as u64);
    bytes.extend_from_slice(record);
}

/// Takes the next record off the front of a payload.
pub(crate) fn take_bytes<'p>(payload: &mut &'p [u8]) -> Result<&'p [u8], Malformed> {
    match usize::try_from(varint::take(payload)?) {
        Ok(length) if length <= MAX_RECORD => {
            payload.split_off(..length).ok_or(Malformed("a record is longer than its chunk"))
        }
        _ => Err(Malformed("a record is longer than the format allows")),
    }
}

/// Takes and decodes the next record. `scratch` is a buffer to reuse.
pub(crate) fn take<T: DeserializeOwned>(payload: &mut &[u8], scratch: &mut Vec<u8>) -> Result<T, Malformed> {
    let record = take_bytes(payload)?;
    scratch.clear();
    scratch.extend_from_slice(record);
    scratch.resize(record.len() + PADDING, 0);
    match bincode::serde::decode_from_slice(scratch, CONFIG) {
        Ok((value, _length)) => Ok(value),
        Err(_) => Err(Malformed("a record's fields do not fit its length")),
    }
}

#[cfg(test)]
mod tests {
    use std::fmt::Debug;

    use proptest::prelude::*;
    use serde::Deserialize;

    use super::*;
    use crate::{Metadata, Module, Process, ProcessId, Summary, Symbolized, Thread};

    fn check_default<T: Default + Debug + PartialEq + DeserializeOwned>() {
        let mut scratch = Vec::new();
        assert_eq!(
            take::<T>(&mut [0].as_slice(), &mut scratch),
            Ok(T::default()),
            "{}",
            std::any::type_name::<T>()
        );
    }

    /// Check that an empty record of each table is the default, which is what fields missing in an older file get.
    #[test]
    fn missing_fields_are_defaults() {
        check_default::<Metadata>();
        check_default::<Module>();
        check_default::<(ProcessId, Process)>();
        check_default::<(crate::ThreadId, Thread)>();
        check_default::<Symbolized>();
        check_default::<Summary>();
        check_default::<(crate::TaskId, crate::Task)>();
    }

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Today {
        path: String,
        size: u64,
    }

    #[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
    struct Tomorrow {
        path: String,
        size: u64,
        tags: Vec<String>,
        owner: Option<u32>,
    }

    /// Check that an older reader ignores fields added at the end, and a newer one fills them in.
    #[test]
    fn records_grow_at_their_end() {
        let (path, mut scratch) = (String::from("/bin/x"), Vec::new());
        let new = Tomorrow { path: path.clone(), size: 7, tags: vec!["a".into()], owner: Some(3) };
        let mut bytes = Vec::new();
        put(&mut bytes, "record", &new).unwrap();
        put(&mut bytes, "record", &Today { path: path.clone(), size: 8 }).unwrap();
        let payload = &mut bytes.as_slice();
        assert_eq!(take(payload, &mut scratch), Ok(Today { path: path.clone(), size: 7 }));
        assert_eq!(take(payload, &mut scratch), Ok(Tomorrow { path, size: 8, ..Tomorrow::default() }));
        assert!(payload.is_empty());
    }

    /// Check that a record above the limit is refused by name before anything is written.
    #[test]
    fn too_large_record_is_refused() {
        let mut bytes = Vec::new();
        let error = put(&mut bytes, "the command line", &vec![0u8; MAX_RECORD]).unwrap_err();
        assert!(error.to_string().starts_with("the command line takes 8388616 bytes"), "{error}");
        assert!(bytes.is_empty());
    }

    proptest! {
        /// Check that arbitrary bytes decode or fail, and that a claimed length never allocates more than is there.
        #[test]
        fn arbitrary_records_decode_or_fail(payload: Vec<u8>) {
            let mut scratch = Vec::new();
            let _either = take::<Process>(&mut payload.as_slice(), &mut scratch);
            let _either = take::<Summary>(&mut payload.as_slice(), &mut scratch);
            prop_assert!(scratch.len() <= payload.len() + PADDING);
        }
    }
}

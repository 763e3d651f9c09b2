//! The fields of a tracepoint's records, as the kernel describes them.
//!
//! ```text
//!  format:
//!          field:unsigned int bytes;    offset:28;    size:4;    signed:0;
//! ```

/// A numeric field in a tracepoint's records.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    offset: usize,
    size: usize,
    is_signed: bool,
}

impl Field {
    /// The field's value in a record; 0 if it is negative. `None` if the record ends before the field.
    pub(crate) fn read(&self, record: &[u8]) -> Option<u64> {
        let bytes = record.get(self.offset..self.offset.checked_add(self.size)?)?;
        let mut all = [0; 8];
        all.get_mut(..self.size)?.copy_from_slice(bytes);
        let value = u64::from_le_bytes(all);
        let is_negative = self.is_signed && bytes.last().is_some_and(|last| last & 0x80 != 0);
        Some(if is_negative { 0 } else { value })
    }
}

/// The numeric fields, except those that all tracepoints have.
pub(crate) fn fields(format: &str) -> Vec<Field> {
    format.lines().filter_map(field).filter(|field| !field.name.starts_with("common_")).collect()
}

fn field(line: &str) -> Option<Field> {
    let mut parts = line.trim().split(';').map(str::trim);
    let declaration = parts.next()?.strip_prefix("field:")?;
    let name = declaration.split_whitespace().last()?;
    let mut number = |key: &str| parts.next()?.strip_prefix(key)?.strip_prefix(':')?.parse::<usize>().ok();
    let (offset, size, signed) = (number("offset")?, number("size")?, number("signed")?);
    let is_number =
        matches!(size, 1 | 2 | 4 | 8) && !name.contains('[') && !declaration.starts_with("__data_loc");
    is_number.then(|| Field {
        name: name.trim_start_matches('*').to_owned(),
        offset,
        size,
        is_signed: signed != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const FORMAT: &str = "name: block_rq_issue
ID: 2104
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:sector_t sector;\toffset:16;\tsize:8;\tsigned:0;
\tfield:unsigned int bytes;\toffset:28;\tsize:4;\tsigned:0;
\tfield:char rwbs[10];\toffset:34;\tsize:10;\tsigned:0;
\tfield:__data_loc char[] cmd;\toffset:60;\tsize:4;\tsigned:0;
\tfield:const char * filename;\toffset:24;\tsize:8;\tsigned:0;
\tfield:long ret;\toffset:16;\tsize:8;\tsigned:1;

print fmt: \"%d\", REC->bytes
";

    /// Check that the numeric fields of a format are found, and read where it says.
    #[test]
    fn numbers_are_read_where_the_format_says() {
        let all = fields(FORMAT);
        let names: Vec<&str> = all.iter().map(|field| field.name.as_str()).collect();
        assert_eq!(names, ["sector", "bytes", "filename", "ret"]);
        let mut record = [0_u8; 64];
        record[16..24].copy_from_slice(&(-11_i64).to_le_bytes());
        record[28..32].copy_from_slice(&4096_u32.to_le_bytes());
        assert_eq!(all[0].read(&record), Some((-11_i64).cast_unsigned()));
        assert_eq!(all[1].read(&record), Some(4096));
        assert_eq!(all[3].read(&record), Some(0), "an error is no size");
        assert_eq!(all[1].read(&record[..31]), None);
    }

    proptest! {
        /// Check that any text has fields or none, and that no field is read beyond a record.
        #[test]
        fn any_format_is_read(format in "(\tfield:[a-z \\[\\]*_;]{0,12};\toffset:[0-9]{1,20};\tsize:[0-9]{1,3};\tsigned:[01];\n|.{0,20}){0,5}", record: Vec<u8>) {
            for field in fields(&format) {
                let _either = field.read(&record);
            }
        }
    }
}

//! A table as a file of Parquet: one group of rows, no nulls, names of types that every engine knows.

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use std::io::Write;
use std::sync::Arc;

/// A column and its name, in the format's own syntax.
pub(super) type Column = (&'static str, Values);

/// The values of a column.
pub(super) enum Values {
    Numbers(Vec<i64>),
    /// Microseconds since 1970: Spark reads no nanoseconds.
    Times(Vec<i64>),
    Texts(Vec<ByteArray>),
}

impl Values {
    pub(super) fn texts(texts: impl IntoIterator<Item = String>) -> Self {
        Self::Texts(texts.into_iter().map(|text| ByteArray::from(text.into_bytes())).collect())
    }
}

/// Writes columns of the same length.
pub(super) fn write<W: Write + Send>(out: W, columns: &[Column]) -> Result<W, ParquetError> {
    let fields = columns.iter().map(|(name, values)| match values {
        Values::Numbers(_) => format!("required int64 {name};"),
        Values::Times(_) => format!("required int64 {name} (timestamp(micros,true));"),
        Values::Texts(_) => format!("required binary {name} (string);"),
    });
    let schema = parse_message_type(&format!("message rows {{ {} }}", fields.collect::<String>()))?;
    let properties =
        WriterProperties::builder().set_compression(Compression::ZSTD(ZstdLevel::default())).build();
    let mut writer = SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))?;
    let mut group = writer.next_row_group()?;
    for (_, values) in columns {
        let Some(mut column) = group.next_column()? else { break };
        match values {
            Values::Numbers(values) | Values::Times(values) => {
                column.typed::<Int64Type>().write_batch(values, None, None)?
            }
            Values::Texts(values) => column.typed::<ByteArrayType>().write_batch(values, None, None)?,
        };
        column.close()?;
    }
    group.close()?;
    writer.into_inner()
}

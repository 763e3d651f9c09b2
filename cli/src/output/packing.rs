//! Documents that are compressed because their name ends that way.

use crate::exit::Failure;
use anyhow::anyhow;
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::path::{Path, PathBuf};

/// How a document is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Packing {
    Gzip,
    Zstd,
}

/// Endings of compressed files, with what we can write.
const ENDINGS: [(&str, Option<Packing>); 7] = [
    ("gz", Some(Packing::Gzip)),
    ("zst", Some(Packing::Zstd)),
    ("br", None),
    ("bz2", None),
    ("lz4", None),
    ("xz", None),
    ("zip", None),
];

impl Packing {
    /// What the name of a document asks for.
    ///
    /// # Errors
    /// When it asks for what we cannot write.
    pub(crate) fn of(path: &Path) -> Result<Option<Packing>, Failure> {
        match found(path) {
            None => Ok(None),
            Some((_, Some(packing))) => Ok(Some(packing)),
            Some((ending, None)) => Err(Failure::usage(anyhow!(
                "{}: .{ending} files are not written. Name it .gz or .zst, or leave .{ending} out.",
                path.display()
            ))),
        }
    }

    /// Writes what `fill` does, compressed.
    pub(super) fn pack(
        self,
        out: &mut dyn Write,
        fill: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        match self {
            Packing::Gzip => {
                let mut packer = GzEncoder::new(out, Compression::default());
                fill(&mut packer)?;
                packer.finish()?;
            }
            Packing::Zstd => {
                let mut packer = zstd::Encoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                fill(&mut packer)?;
                packer.finish()?;
            }
        }
        Ok(())
    }

    /// The name without its ending, which says what is packed.
    pub(crate) fn inner(path: &Path) -> PathBuf {
        if ending(path).is_some() { path.with_extension("") } else { path.to_owned() }
    }
}

/// The ending by which a name asks for a compressed file, in lower case.
pub(super) fn ending(path: &Path) -> Option<&'static str> {
    found(path).map(|(ending, _)| ending)
}

fn found(path: &Path) -> Option<(&'static str, Option<Packing>)> {
    let extension = path.extension()?;
    ENDINGS.into_iter().find(|(ending, _)| extension.eq_ignore_ascii_case(ending))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Read;

    /// Check that names ask for what their ending says, in upper case too, and that what is written unpacks.
    #[test]
    fn documents_are_packed_as_their_names_say() {
        let of = |name: &str| Packing::of(Path::new(name)).ok().flatten();
        assert_eq!(
            (of("a.svg.gz"), of("a.ZST"), of("a.svg"), of("gz")),
            (Some(Packing::Gzip), Some(Packing::Zstd), None, None)
        );
        let refusal = Packing::of(Path::new("a.csv.xz")).unwrap_err().to_text();
        assert!(refusal.contains(".gz or .zst"), "{refusal}");
        assert_eq!(Packing::inner(Path::new("b/a.svg.gz")), Path::new("b/a.svg"));
        assert_eq!(Packing::inner(Path::new("b/a.svg")), Path::new("b/a.svg"));
        let packed = |packing: Packing| {
            let mut bytes = Vec::new();
            packing.pack(&mut bytes, |out| Ok(out.write_all(b"text")?)).unwrap();
            bytes
        };
        let mut text = String::new();
        flate2::read::GzDecoder::new(&packed(Packing::Gzip)[..]).read_to_string(&mut text).unwrap();
        assert_eq!(text, "text");
        assert_eq!(zstd::decode_all(&packed(Packing::Zstd)[..]).unwrap(), b"text");
    }
}

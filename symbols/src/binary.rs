//! The bytes of a module, for callers that read more than names.

use crate::elf::Elf;
use crate::identity::FileIdentity;
use crate::identity::ModuleFile;
use crate::image::Image;
use crate::reason::Reason;

/// A file known to be the one that was mapped.
pub struct Binary {
    image: Image,
    build_id: Vec<u8>,
    identity: FileIdentity,
}

impl Binary {
    /// Opens the file. Costs a mapping and a look at its headers; files of other users are read into memory.
    ///
    /// # Errors
    /// Why it cannot be read, or that it is another file.
    pub fn open(module: &ModuleFile) -> Result<Binary, Reason> {
        let (image, identity) = Image::open(&module.path)?;
        let build_id = Elf::parse(image.bytes())?.build_id().to_vec();
        module.check(&identity, &build_id)?;
        Ok(Binary { image, build_id, identity })
    }

    /// Its bytes.
    pub fn bytes(&self) -> &[u8] {
        self.image.bytes()
    }

    /// Its identity, as a file at `path`.
    pub fn file(&self, path: impl Into<std::path::PathBuf>) -> ModuleFile {
        ModuleFile {
            path: path.into(),
            build_id: self.build_id.clone(),
            device: self.identity.device,
            inode: self.identity.inode,
            modified_ns: self.identity.modified_ns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that a file is opened by what is known of it, and refused as another one.
    #[test]
    fn binary_is_the_one_that_is_meant() {
        let path = std::env::current_exe().unwrap();
        let binary = Binary::open(&ModuleFile::at(&path)).unwrap();
        assert!(binary.bytes().starts_with(b"\x7fELF"));
        let file = binary.file(&path);
        assert!(Binary::open(&file).is_ok());
        let other = ModuleFile { build_id: vec![1, 2, 3], ..file };
        assert_eq!(Binary::open(&other).err(), Some(Reason::FileReplaced));
    }
}

//! What the loader knows about the modules of this process, compared with what their images say.

use crate::support::{Process, is_vdso};
use object::Object;
use std::fs;
use unwind::Modules;

/// Check that the build-id, code and tables of the mapped images are those of the files on disk.
#[test]
fn mapped_images_agree_with_their_files() {
    let process = Process::new();
    for address in [mapped_images_agree_with_their_files as *const () as u64, libc::qsort as *const () as u64]
    {
        let image = process.image(address).expect("code of a module");
        let path = file_of(address);
        let bytes = fs::read(&path).expect("the file of the module");
        let file = object::File::parse(&*bytes).expect("an ELF file");
        let id = image.build_id.as_ref().map(|id| id.as_bytes());
        assert_eq!(id, file.build_id().expect("sound notes"), "{path}");
        let hdr = object::ObjectSection::address(&file.section_by_name(".eh_frame_hdr").expect("tables"));
        assert_eq!(image.tables.as_ref().map(|tables| tables.hdr - image.bias), Some(hdr), "{path}");
        assert!(process.find(address).is_some() && process.is_code(address));
    }
}

/// Check that every module of the process, including the vDSO, has code and tables.
#[test]
fn every_module_is_read() {
    let process = Process::new();
    assert!(process.images().len() >= 4, "executable, libc, loader, vDSO");
    for image in process.images() {
        let code = image.code.as_slice().first().expect("code");
        // The vDSO has none on 64-bit ARM.
        let has_tables = cfg!(target_arch = "x86_64") || !is_vdso(image.bias);
        assert_eq!(process.find(code.start).is_some(), has_tables, "{image:#x?}");
    }
}

/// The file that is mapped at `address`.
fn file_of(address: u64) -> String {
    let maps = fs::read_to_string("/proc/self/maps").expect("our own maps");
    let line = maps.lines().find(|line| {
        let (start, end) =
            line.split_once(' ').and_then(|(range, _)| range.split_once('-')).expect("a range");
        let parse = |text| u64::from_str_radix(text, 16).expect("hexadecimal");
        (parse(start)..parse(end)).contains(&address)
    });
    line.and_then(|line| line.split_whitespace().nth(5)).expect("a file").to_owned()
}

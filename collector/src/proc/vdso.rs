//! The library that the kernel maps into every process.

/// The name captures use for the kernel's own code in each process.
pub(crate) const VDSO: &str = "[vdso]";

/// A copy of our own vdso: the kernel maps the same one into us as into the recorded processes.
pub(crate) fn vdso() -> Option<Vec<u8>> {
    use std::os::unix::fs::FileExt;
    let maps = procfs::process::Process::myself().ok()?.maps().ok()?;
    let map = maps.iter().find(|map| map.pathname == procfs::process::MMapPath::Vdso)?;
    let (start, end) = map.address;
    let mut image = vec![0; usize::try_from(end - start).ok()?];
    std::fs::File::open("/proc/self/mem").ok()?.read_exact_at(&mut image, start).ok()?;
    Some(image)
}

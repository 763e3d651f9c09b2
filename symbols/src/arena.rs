//! Keeps images alive for as long as anything borrows from them.

use crate::image::Image;
use std::sync::OnceLock;

/// Keeps images and lends their bytes for as long as the arena itself is borrowed.
///
/// ```text
/// first ──► [main file] ──► [debug file] ──► [inflated .debug_info] ──► …      a few dozen at most
/// ```
#[derive(Default)]
pub(crate) struct Arena {
    first: OnceLock<Box<Link>>,
}

struct Link {
    image: Option<Image>,
    next: OnceLock<Box<Link>>,
}

impl Arena {
    /// Keeps an image and lends its bytes.
    pub(crate) fn keep(&self, image: Image) -> &[u8] {
        let mut image = Some(image);
        let mut slot = &self.first;
        loop {
            let link = slot.get_or_init(|| Box::new(Link { image: image.take(), next: OnceLock::new() }));
            match (&image, &link.image) {
                (None, Some(kept)) => return kept.bytes(),
                _ => slot = &link.next,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Check that earlier borrows stay valid while more images are added.
    #[test]
    fn loans_outlive_later_images() {
        let arena = Arena::default();
        let loans: Vec<&[u8]> = (0..50).map(|i| arena.keep(Image::Owned(vec![i; 10]))).collect();
        for (i, loan) in loans.iter().enumerate() {
            assert!(loan.iter().all(|&byte| usize::from(byte) == i));
        }
    }
}

//! The constructor of the library.

use super::injected;
use crate::next::real;
use crate::platform::own_call::own_call;
use crate::platform::{own_image, sys};
use crate::record::guard::pause;
use crate::session::join;
use crate::{hooks, modules};

/// Runs when the loader has set everything up, before `main`.
#[ctor::ctor(unsafe)]
fn constructor() {
    real::resolve();
    own_call(own_image::remember_path);
    hooks::find_cxx();
    // A library that was loaded later comes before nothing: no call reaches it unless the collector that loaded it
    // sees to that.
    if !own_call(injected::stands_before_libc) {
        return join::begin_deaf();
    }
    sys::without_signals(|| {
        if join::join() {
            own_call(modules::describe_loaded);
            pause::tell();
        }
    });
}

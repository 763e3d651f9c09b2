//! Names, files and lines of addresses, or the reason why there are none.

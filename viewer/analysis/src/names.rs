//! Names of functions, files and processes, and which functions of a stack a view shows.

pub(crate) mod agent_library;
pub(crate) mod file_name;
pub(crate) mod frames;
pub(crate) mod interpreters;
pub(crate) mod library_frames;
pub(crate) mod namesakes;
pub(crate) mod process_name;
pub(crate) mod same_file;
pub(crate) mod short_name;
pub(crate) mod short_path;
pub(crate) mod table;
pub(crate) mod templates;

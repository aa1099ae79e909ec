//! instep-source

//! instep-destination

//! instep-testkit

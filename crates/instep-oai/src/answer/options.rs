//! The options of a repository.

/// Options of a repository.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct RepositoryOptions {
    /// Its name; `None` for the host's.
    pub name: Option<String>,
    /// The address of its administrator; `None` for the postmaster of the host.
    pub admin_email: Option<String>,
    /// Records in one response; 500.
    pub part: usize,
}

impl Default for RepositoryOptions {
    fn default() -> Self {
        Self { name: None, admin_email: None, part: 500 }
    }
}

//! The number of files and connections that this process may have open at a time.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Returns the limit of open files; `u64::MAX` if there is none.
pub fn open_files_limit() -> u64 {
    getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX)
}

/// Raises the limit of open files to the largest that the system allows. The usual limit of 1,024 is meant for a shell:
/// each connection takes a descriptor, each file that is served another one, and each run of a fleet about ten.
pub fn raise_open_files_limit() {
    let limit = getrlimit(Resource::Nofile);
    if limit.current < limit.maximum || limit.maximum.is_none() {
        // A refusal leaves the limit as it is: work then waits for descriptors.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_may_open_as_many_files_as_the_system_allows() {
        let limit = getrlimit(Resource::Nofile);
        let current = Some(limit.maximum.unwrap_or(u64::MAX).min(1_024));
        setrlimit(Resource::Nofile, Rlimit { current, maximum: limit.maximum }).unwrap();
        raise_open_files_limit();
        assert_eq!(open_files_limit(), limit.maximum.unwrap_or(u64::MAX));
    }
}
